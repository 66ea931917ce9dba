"""What is written for the Firefox profiler and for speedscope is opened in them: the profiler's own front end, which
Mozilla publishes as a command (`viewers/package.json`), and speedscope's page in Chromium.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import browser
import children
import pytest

from seismo import formats
from seismo.formats.function_names import name
from seismo.formats.trace_tracks import steps, trace_tracks

VIEWERS = Path(__file__).parent / "viewers" / "node_modules"


def package(path):
    found = VIEWERS / path
    if not found.exists():
        pytest.skip("the viewers are not installed (make tests/formats/viewers/node_modules/.made; needs Node)")
    return found


def totals(made, track, calls):
    """{path: ns} of a track: how long each path of functions was on its stack."""
    names = [name(row.module, row.qualname) for row in made.functions]
    functions = calls["function"]
    path, last, found = (), 0, Counter()
    for now, step in steps(calls, track):
        for length in range(1, len(path) + 1):
            found[path[:length]] += now - last
        path, last = ((*path, names[functions[step]]) if step >= 0 else path[:-1]), now
    return {path: ns for path, ns in found.items() if ns}


# ---- the Firefox profiler ----


class Profiler:
    """The profiler with a file open."""

    def __init__(self, command, folder):
        self.command = command
        self.environment = {**os.environ, "PROFILER_CLI_SESSION_DIR": str(folder)}

    def ask(self, *words):
        """What a command says, in JSON. None: the profiler is not there yet."""
        command = [*self.command, *words, "--session", "test", "--json"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def tree(self, thread):
        """{path: ns} of a thread's call tree."""
        found = {}

        def walk(node, path):
            for child in node.get("children", ()):
                assert not child.get("childrenElided"), "the tree is not whole"
                below = (*path, child["name"])
                found[below] = round(child["totalSamples"] * 1e6)
                walk(child, below)

        words = ("thread", "samples-top-down", "--thread", thread, "--include-idle", "--max-lines", "1000000")
        walk(self.ask(*words)["regularCallTree"], ())
        return {path: ns for path, ns in found.items() if ns}


@pytest.fixture
def profiler(tmp_path):
    """profiler(recording) opens it."""
    program = package("@firefox-devtools/profiler-cli/dist/profiler-cli.js")
    node = shutil.which("node")
    if node is None:
        pytest.skip("the profiler needs Node")
    started = []

    def open_(made):
        formats.write(made, tmp_path / "x.firefox.json")
        opened = Profiler([node, str(program)], folder)
        words = ["--daemon", str(tmp_path / "x.firefox.json"), "--session", "test"]
        said = (tmp_path / "said").open("w")
        started.append(children.popen([node, program, *words], env=opened.environment, stdout=said, stderr=said))
        said.close()
        until = time.monotonic() + children.SECONDS
        # Whoever asks before the profiler has published its session takes it for a dead one and removes it.
        while not Path(folder, "test.json").exists() or opened.ask("status") is None:
            assert started[0].poll() is None, (tmp_path / "said").read_text()
            assert time.monotonic() < until, "the profiler does not come up"
            time.sleep(0.05)
            time.sleep(0.2)
        return opened

    with tempfile.TemporaryDirectory() as folder:  # it makes a socket there, whose name must not be long
        yield open_
        for child in started:
            with child:
                child.kill()


def threads_of(shown):
    return [thread for process in shown["processes"] for thread in process["threads"]]


def test_the_firefox_profiler_shows_every_path_with_its_time(profiler, recorded):
    shown, found = profiler(recorded), trace_tracks(recorded, 10**9)
    threads = threads_of(shown.ask("profile", "info", "--all"))
    assert [(thread["name"], thread["tid"]) for thread in threads] == [
        (track.label, track.tid) for track in found.tracks
    ]
    for thread, track in zip(threads, found.tracks, strict=True):
        assert shown.tree(thread["threadHandle"]) == pytest.approx(totals(recorded, track, found.calls), abs=2)


def test_the_firefox_profiler_shows_spans_marks_and_counts(profiler, recorded):
    shown = profiler(recorded)
    markers = shown.ask("thread", "markers", "--list", "--thread", "t-0")
    rows = {kind["markerName"]: kind for kind in markers["byType"]}
    (begin, end) = (
        next(said.time_ns for said in recorded.calls.instants if (said.name, said.kind) == ("work", kind))
        for kind in ("begin", "end")
    )
    assert rows["work"]["count"] == rows["half"]["count"] == 1
    assert rows["work"]["topMarkers"][0]["duration"] * 1e6 == pytest.approx(end - begin, abs=2)
    assert rows["work"]["topMarkers"][0]["label"] == '{"rows":3}'
    assert not rows["half"]["isInterval"]
    (process,) = shown.ask("profile", "info", "--all")["processes"]
    (counter,) = process["counters"]
    assert (counter["name"], counter["rangeSampleCount"]) == ("queue", 2)


def test_spans_of_two_processes_stay_apart_in_the_firefox_profiler(profiler, forked):
    """Their spans have the same numbers, since one process is the other's child."""
    shown = profiler(forked)
    lengths = []
    for thread in threads_of(shown.ask("profile", "info", "--all")):
        markers = shown.ask("thread", "markers", "--list", "--thread", thread["threadHandle"])
        for kind in markers["byType"]:
            if kind["markerName"] == "request":
                lengths += [round(one["duration"] * 1e6) for one in kind["topMarkers"]]
    times = {}
    for said in forked.calls.instants:
        if said.name == "request":
            times.setdefault(said.thread, {})[said.kind] = said.time_ns
    assert sorted(lengths) == pytest.approx(sorted(one["end"] - one["begin"] for one in times.values()), abs=2)


# ---- speedscope ----

UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def shown_ns(text):
    """What speedscope shows of a time: `3.25ms (12%)`."""
    number, unit = re.match(r"([\d.]+)(ns|µs|ms|s)\b", text).groups()
    return float(number) * UNITS[unit]


@pytest.mark.browser
def test_speedscope_shows_every_function_with_its_times(recorded, tmp_path):
    index = package("speedscope/dist/release/index.html")
    formats.write(recorded, tmp_path / "x.speedscope.json")
    found = trace_tracks(recorded, 10**9)
    paths = totals(recorded, found.tracks[0], found.calls)
    own, total = Counter(), Counter()
    for path, ns in paths.items():
        own[path[-1]] += ns - sum(paths.get(below, 0) for below in paths if below[:-1] == path)
        total[path[-1]] += ns if path[-1] not in path[:-1] else 0
    with browser.started() as chromium, browser.page(chromium, viewport={"width": 1200, "height": 20_000}) as page:
        page.goto(index.as_uri())
        page.set_input_files("input[type=file]", tmp_path / "x.speedscope.json")
        page.get_by_text("MainThread").first.wait_for()
        page.keyboard.press("3")  # the table of functions
        page.get_by_text(next(iter(own)), exact=True).first.wait_for()
        cells = page.evaluate("[...document.querySelectorAll('tr')].map(r => [...r.cells].map(c => c.innerText))")
    shown = {row[2].strip(): (shown_ns(row[0]), shown_ns(row[1])) for row in cells if len(row) == 3 and "(" in row[0]}
    assert set(own) - set(shown) == set()
    for function, ns in total.items():
        assert shown[function] == pytest.approx((ns, own[function]), rel=0.01, abs=10), function
