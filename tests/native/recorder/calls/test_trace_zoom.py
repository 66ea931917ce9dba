"""The levels of detail that are written while a program is recorded."""

import io
import signal
import textwrap

import pytest
import zoom_decoder
from chunks import payloads
from journals import levels_of, recorded, sums, trace
from recorded import Image

import seismo
from seismo.report.calls.text import write_trace
from seismo.report.paper import Paper

PROGRAM = """
def leaf(): pass
def numbers(n):
    for i in range(n):
        yield i
def work(n):
    for i in numbers(n):
        leaf()
        if i % 100 == 0:
            try:
                fail(3)
            except ValueError:
                pass
def fail(n):
    if n == 0: raise ValueError
    fail(n - 1)
def main(n):
    for _ in range(5): work(n // 5)
"""


def record(path, calls, **settings):
    namespace = {}
    exec(PROGRAM, namespace)
    with seismo.trace(output=path, c_functions="none", **settings):
        namespace["main"](calls)
    return Image(path.read_bytes())


@pytest.mark.parametrize("timing", ["sampled", pytest.param("every", marks=pytest.mark.matrix)])
def test_levels_are_written_beside_the_journal(timing, path):
    image = record(path, 20_000, timing=timing)
    (levels,) = levels_of(image).values()
    assert sorted(levels) == [0, 1]
    assert levels[0][-1]["flags"] & 2
    assert sum(map(len, payloads(image.data, b"LEVL"))) < 0.5 * 40_000  # bytes a call


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A trace of some length."""
    path = tmp_path_factory.mktemp("trace") / "trace.seismo"
    record(path, 30_000)
    return path


def test_a_picture_of_a_recording_shows_all_of_its_calls(long):
    recording = seismo.open(long)
    journal = recording.calls._journal
    assert journal.build(10**9) == 0
    assert sum(recording.calls.overview(columns=100).runs["calls"]) == recording.calls.sums.steps
    drawn = recording.calls.overview(columns=100).runs
    assert len(drawn) < 2 * 101 * (max(drawn["depth"]) + 1)


def test_the_longest_calls_are_noted(long, monkeypatch):
    """A report of a long trace names the longest call of each function, without reading all of it."""
    calls = seismo.open(long).calls
    noted = {row.function: row for row in calls.longest}
    found = {row.function: row for row in calls.sums.longest if row.end_ns > row.start_ns}
    assert set(found) <= set(noted)
    for function, row in found.items():
        unsure = max(row.start_bound_ns, 0) + max(row.end_bound_ns, 0) + 2
        assert noted[function].end_ns - noted[function].start_ns >= row.end_ns - row.start_ns - unsure
    rows = list(calls.window().calls)
    for one in noted.values():  # each is a call that there is, as far as times are known
        assert any(
            row.node == one.node
            and abs(row.start_ns - one.start_ns) <= max(row.start_bound_ns, 0) + 2
            and abs(row.end_ns - one.end_ns) <= max(row.end_bound_ns, 0) + 2
            for row in rows
        )
    monkeypatch.setattr("seismo.report.calls.trace.SOME_BYTES", 0)
    monkeypatch.setattr("seismo.model.trace.calls.Calls.sums", None)
    short = io.StringIO()
    write_trace(Paper(short, 80), seismo.open(long))
    assert "Longest calls" in short.getvalue()
    assert "main" in short.getvalue()


def test_calls_of_folded_paths_are_summed_up_where_they_were(path):
    """Such a call's node hangs elsewhere in the tree: when it has ended, the path is not that of the node's parent."""
    code = """
        def leaf(): pass
        def inner(n):
            leaf()
            if n: inner(n - 1)
        for i in range(100): inner(i % 50)
    """
    trace(code, path, "--max-paths", "20")
    image = Image(path.read_bytes())
    assert image.losses["paths-folded"] > 1000
    (levels,) = zoom_decoder.read(payloads(image.data, b"LEVL")).values()
    assert sum(one["calls"] for one in levels[0]) == sum(row["calls"] for row in image.nodes)
    assert sums(image.data) == recorded(image.nodes)


def test_short_recordings_have_no_levels(path):
    image = record(path, 100)
    assert payloads(image.data, b"LEVL") == []


def test_threads_have_levels_of_their_own(path):
    code = f"""
        import threading
        {textwrap.indent(PROGRAM, " " * 8).strip()}
        threads = [threading.Thread(target=main, args=(6000,)) for _ in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """
    trace(code, path)
    image = Image(path.read_bytes())
    assert len(levels_of(image)) >= 3


def test_killed_programs_leave_levels_as_far_as_they_got(path):
    """What is whole is read, the rest comes from the journal: the picture has all calls that the file has."""
    code = f"""
        import os, signal, time
        {textwrap.indent(PROGRAM, " " * 8).strip()}
        main(30_000)
        name = bytes((76, 69, 86, 76))  # not in letters: the file's head has this command
        while name not in open({str(path)!r}, "rb").read(): time.sleep(0.05)
        main(1000)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    trace(code, path, status=-signal.SIGKILL)
    image = Image(path.read_bytes())
    (levels,) = levels_of(image).values()
    assert levels[0]
    recording = seismo.open(path)
    drawn = recording.calls.overview(columns=200)
    assert drawn.problems == []
    assert sum(drawn.runs["calls"]) == recording.calls.sums.steps
