"""What a recording's file is and holds, as its reader sees it."""

import json

from on_paper import written

from seismo.model import Builder
from seismo.report.about import THREADS, as_json, write_about


def about(recording, path="app.seismo"):
    return written(write_about, recording, path, width=80).splitlines()


def test_golden(json_tool, same_as_golden):
    same_as_golden("about-80.txt", about(json_tool))


def test_many_threads_are_cut():
    """Those that ran longest are shown, in the order of their ids, with the main one and those that are folded."""
    b = Builder()
    process = b.process(pid=1)
    b.thread(process, name="MainThread", main=1, wall_ns=5)
    b.thread(process, name="Thread-* (work)", folded=39000, wall_ns=5)
    for index in range(40000):
        b.thread(process, name=f"worker {index}", wall_ns=1000 + index * 7 % 1000)
    lines = about(b.build({}))
    assert lines[-1] == f"  … {40002 - THREADS:,} more, none of which ran longer (--json lists all)"
    shown = lines[lines.index("Threads") + 2 : -1]
    assert len(shown) == THREADS
    assert shown[0].endswith("MainThread (main)")
    assert shown[1].endswith("Thread-* (work), 39,000 folded")
    assert {int(line.rpartition(" ")[2]) * 7 % 1000 for line in shown[2:]} == {999}
    assert any("79,001 threads" in line for line in lines)


def test_hostile_names_can_do_nothing():
    b = Builder()
    process = b.process(pid=1, host="h\x1b[1m", exit="signal\n", interpreter="p\u202e", clock="c\x07")
    b.thread(process, name="t\x1b]0;x\x07\nforged")
    recording = b.build({"settings": {"\x1b": "\n"}, "seismo": "0\x1b", "recorder": ["\x1b"]})
    recording.problems.append("bad \x1b[31m bytes")
    assert all(line.isprintable() for line in about(recording, "f\x1b\n.seismo"))
    assert json.loads(as_json(recording, "f"))["problems"] == ["bad \x1b[31m bytes"]


def test_json_has_no_infinities():
    b = Builder()
    b.process(pid=1, clock_ns=float("inf"), cost_error=float("nan"))
    row = json.loads(as_json(b.build({}), "f"), parse_constant=lambda word: 1 // 0)["processes"][0]
    assert row["clock_ns"] is None
    assert row["cost_error"] is None


def test_an_empty_recording():
    assert "holds     0 functions, 0 paths, 0 threads, 0 processes, 0 losses and notes" in about(Builder().build({}))
