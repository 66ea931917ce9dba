"""What the viewer's server answers, held against the recording that it is asked about."""

import itertools
import json
import os
from pathlib import Path

import journal_made
import pytest
from page_data import read

import seismo
from seismo import model
from seismo.errors import UsageError
from seismo.model import Builder
from seismo.report.calls.sources import source_of
from seismo.report.sources import Sources
from seismo.view.routes import Routes, ServedRecording
from seismo.view.server import NothingThereError

NO_PROCESS = 2**22 + 1  # beyond the numbers of processes


def inner(number):
    return number + 1


def outer():
    for number in range(400):
        inner(number)
    return [inner(number) for number in range(50)]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "a\x1b[31m.seismo"
    with seismo.trace() as t:
        with seismo.span("all", rows=3):
            outer()
        seismo.count("queue", 4)
        seismo.count("queue", 2)
        seismo.mark("<b>done</b>\u202e", n=1)
    t.save(path)
    return ServedRecording(str(path), seismo.open(path))


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "b.seismo"
    with seismo.profile() as p:
        outer()
    p.save(path)
    return ServedRecording(str(path), seismo.open(path))


def got(answers, path, **query):
    return answers(path, {name: str(value) for name, value in query.items()})


def loaded(answers, path, **query):
    return json.loads(got(answers, path, **query).content)


def test_recordings_are_listed(trace, profile):
    found = loaded(Routes([trace, profile]), "recordings")
    assert [entry["trace"] for entry in found] == [True, False]
    assert found[0]["name"] == "a\\x1b[31m.seismo"
    assert next(label for label, _ in found[0]["facts"]) == "took"


def test_what_is_not_there(trace, profile):
    answers = Routes([trace, profile])
    for path in ("2/rows", "x/rows", "-1/rows", "0/rows/", "0/", "nothing", "99999999999999/rows", "²/rows"):
        with pytest.raises(NothingThereError):
            got(answers, path)
    with pytest.raises(NothingThereError, match="no trace"):
        got(answers, "1/rows")
    with pytest.raises(UsageError, match="from is no number"):
        got(answers, "0/rows", **{"from": "abc"})


def test_names_are_text_without_what_cannot_be_seen(trace):
    said = loaded(Routes([trace]), "0/events")
    marks = [row for row in said["instants"] if row["kind"] == "mark"]
    assert [(row["name"], row["text"]) for row in marks] == [("<b>done</b>\\u202e", "n=1")]
    assert [row["value"] for row in said["instants"] if row["kind"] == "counter"] == [4, 2]
    assert [row["kind"] for row in said["instants"] if row["kind"] in ("begin", "end")] == ["begin", "end"]
    assert said["gaps"] == []


def test_rows_are_the_calls_of_the_trace(trace):
    """Close enough, each row is a call; far away, runs stand for them, and nothing is left out."""
    answers = Routes([trace])
    about = loaded(answers, "0/trace")
    names = about["names"]
    window = trace.recording.calls.window()
    whole = {"from": 0, "to": about["to"]}
    _, rows = read(got(answers, "0/rows", columns=1, **whole).content)
    assert sum(rows["calls"]) == len(window.calls)
    call = next(row for row in window.calls if names[row.function] == "inner")
    near = {"from": call.start_ns, "to": max(call.end_ns, call.start_ns + 1)}
    _, rows = read(got(answers, "0/rows", columns=4096, **near).content)
    found = list(zip(rows["start"], rows["end"], rows["function"], rows["depth"], rows["calls"], strict=True))
    assert (call.start_ns, call.end_ns, call.function, call.depth, 1) in found
    assert [names[number] for number in rows["function"]].count("outer") == 1


def test_the_source_of_a_function(trace):
    """A chosen call shows the text of its function; a C function has none."""
    answers = Routes([trace])
    names = loaded(answers, "0/trace")["names"]
    source = loaded(answers, "0/source", function=names.index("inner"))
    assert source["lines"] == ["def inner(number):", "    return number + 1"]
    assert source["first"] == inner.__code__.co_firstlineno
    assert source["problem"] == ""
    assert source["more"] == 0
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    b.node(-1, thread, b.function("m", "f", "", 0, kind=1), calls=1)
    assert source_of(b.build({}), Sources(b.build({})), 0) is None


def test_density_counts_every_call(trace):
    _, table = read(got(Routes([trace]), "0/density", columns=50).content)
    assert len(table["calls"]) == 50
    assert round(sum(table["calls"])) == len(trace.recording.calls.window().calls)


def test_a_range_adds_up(trace):
    answers = Routes([trace])
    names = loaded(answers, "0/trace")["names"]
    sums = loaded(answers, "0/range", **{"from": 0, "to": 1e15})
    calls = {}
    for function, count in zip(sums["function"], sums["calls"], strict=True):
        calls[names[function]] = calls.get(names[function], 0) + count
    assert not sums["estimated"]
    assert calls["inner"] == 450
    assert calls["outer"] == 1
    outer_path = sums["function"].index(names.index("outer"))
    below = sum(total for total, parent in zip(sums["total"], sums["parent"], strict=True) if parent == outer_path)
    assert sums["own"][outer_path] == pytest.approx(sums["total"][outer_path] - below)


def test_search_goes_from_call_to_call(trace):
    answers = Routes([trace])
    names = loaded(answers, "0/trace")["names"]
    function = names.index("inner")
    starts = [row.start_ns for row in trace.recording.calls.window().calls if row.function == function]
    at, seen = -1, []
    for _ in range(5):
        found = loaded(answers, "0/find", functions=function, **{"from": at})
        at = found["row"]["start"]
        seen.append(at)
    assert seen == sorted(set(starts))[:5]
    assert loaded(answers, "0/find", functions=function, back=1, **{"from": at})["row"]["start"] == seen[3]
    last = loaded(answers, "0/find", functions=function, **{"from": max(starts)})
    assert last["row"] is None
    assert last["done"]
    assert loaded(answers, "0/find", functions="9999,x,", **{"from": 0})["row"] is None


def test_a_file_that_grows_is_followed(tmp_path, trace, profile):
    path = tmp_path / "live.seismo"
    path.write_bytes(Path(profile.path).read_bytes())
    shown = ServedRecording(str(path), seismo.open(path), live=True)
    answers = Routes([shown])
    assert loaded(answers, "0/state") == {"version": 0, "grown": False, "ending": "", "to": 0, "sizes": []}
    path.write_bytes(Path(trace.path).read_bytes())
    found = loaded(answers, "0/state", version=0)
    recording = trace.recording
    sizes = [len(recording.functions), len(recording.threads), len(recording.threads)]  # each thread has a name
    assert found == {"version": 1, "grown": True, "ending": "", "to": recording.calls.end_ns, "sizes": sizes}
    assert loaded(answers, "0/state", version=0)["grown"]  # another window asks, too
    assert not loaded(answers, "0/state", version=1)["grown"]
    assert loaded(answers, "0/trace")["version"] == 1
    path.write_bytes(b"no recording")
    assert not loaded(answers, "0/state", version=1)["grown"]
    assert loaded(answers, "recordings")[0]["trace"]


@pytest.mark.parametrize(
    ("process", "exit_status", "age", "ending"),
    [
        ("there", "", 60, ""),
        ("there", "0", 0, "ended"),
        ("gone", "", 60, "stopped"),
        ("gone", "", 0, ""),  # it may run in a container of its own: the file is still written
        ("unknown", "", 60, ""),
    ],
)
def test_how_the_program_ended_is_told(tmp_path, process, exit_status, age, ending):
    """In order, without an end, or not at all."""
    pid = {"there": os.getpid(), "gone": NO_PROCESS, "unknown": 0}[process]
    path = tmp_path / "live.seismo"
    builder = Builder()
    builder.process(pid=pid, start_ns=10**18, exit=exit_status)
    builder.build({"recorder": "calltree"}).save(path)
    written = path.stat().st_mtime - age
    os.utime(path, (written, written))
    answers = Routes([ServedRecording(str(path), seismo.open(path), live=True)])
    assert loaded(answers, "recordings")[0]["ending"] == ending
    assert loaded(answers, "0/state")["ending"] == ending


def test_reading_again_takes_a_part_of_the_time_only(tmp_path, trace, profile, monkeypatch):
    """The longer a file takes to be read, the later it is read again."""
    now = [0.0]
    read_file = model.read

    def slowly(path, **how):
        now[0] += 2.0
        return read_file(path, **how)

    monkeypatch.setattr("seismo.view.routes.time.monotonic", lambda: now[0])
    monkeypatch.setattr("seismo.view.routes.model.read", slowly)
    path = tmp_path / "live.seismo"
    path.write_bytes(Path(profile.path).read_bytes())
    shown = ServedRecording(str(path), seismo.open(path), live=True)
    for content, seconds, version in [(trace, 0, 1), (profile, 1, 1), (profile, 8, 1), (profile, 2, 2)]:
        path.write_bytes(Path(content.path).read_bytes())
        now[0] += seconds
        shown.refresh()
        assert shown.version == version


def test_a_call_is_found_whole(trace):
    """A stretch that was read may have but a part of a long call."""
    answers = Routes([trace])
    names = loaded(answers, "0/trace")["names"]
    outer_call = next(row for row in trace.recording.calls.window().calls if names[row.function] == "outer")
    middle = (outer_call.start_ns + outer_call.end_ns) // 2
    place = {"thread": outer_call.thread, "depth": outer_call.depth}
    whole = loaded(answers, "0/call", at=middle, **place)["row"]
    assert (whole["start"], whole["end"], whole["fn"]) == (outer_call.start_ns, outer_call.end_ns, outer_call.function)
    assert loaded(answers, "0/call", thread=0, depth=10_000, at=middle)["row"] is None


def test_two_recordings_have_a_page_of_what_changed(trace, profile, tmp_path):
    assert b"seismo-data" in got(Routes([trace, profile]), "0/changes", **{"with": 1}).content
    path = tmp_path / "c.seismo"
    Builder().build({"recorder": "coverage"}).save(path)
    others = Routes([profile, ServedRecording(str(path), seismo.open(path))])
    assert [one["compares"] for one in loaded(others, "recordings")] == [True, False]
    with pytest.raises(UsageError, match="cannot be compared"):
        got(others, "0/changes", **{"with": 1})


def test_a_stretch_has_a_page_of_its_own(trace, monkeypatch):
    answers = Routes([trace])
    assert b"seismo-data" in got(answers, "0/page").content
    call = next(row for row in trace.recording.calls.window().calls if row.depth == 0)
    assert b"seismo-data" in got(answers, "0/page", **{"from": call.start_ns, "to": call.end_ns}).content
    monkeypatch.setattr("seismo.view.routes.MOST_CUT", 10)
    with pytest.raises(UsageError, match="more than can be cut out"):
        got(answers, "0/page", **{"from": 0, "to": 1e15})


def test_what_was_said_comes_in_stretches(trace):
    """One after the other, they have all of it, and nothing twice."""
    answers = Routes([trace])
    end = trace.recording.calls.end_ns + 1
    cuts = [end * part // 7 for part in range(8)]
    parts = [loaded(answers, "0/events", **{"from": first, "to": last}) for first, last in itertools.pairwise(cuts)]
    assert [row for part in parts for row in part["instants"]] == loaded(answers, "0/events")["instants"]


def in_process(pid):
    """A trace of a process with a span number 1 and a count, as each process has them."""
    tree, p = journal_made.lone(unit=1.0)
    p.call(0)
    p.say(1_000 * pid, (3, "request", None, 1), (2, "queue", {"value": pid}), (4, "request", None, 1))
    p.end()
    return journal_made.recording(tree, [p], 1, pid=pid)


def test_spans_and_counts_of_two_processes_stay_apart():
    """Each process numbers its spans from 1, and both count what they call by the same name."""
    said = loaded(Routes([ServedRecording("two.seismo", model.merge([in_process(2), in_process(3)]))]), "0/events")
    spans = {}
    for row in said["instants"]:
        if row["kind"] in ("begin", "end"):
            spans.setdefault(row["span"], []).append((row["thread"], row["time"]))
    assert sorted(spans.values()) == [[(0, 2_000), (0, 6_000)], [(1, 3_000), (1, 9_000)]]
    counters = {row["name"] for row in said["instants"] if row["kind"] == "counter"}
    assert counters == {"queue (process 2)", "queue (process 3)"}
