"""A trace whose program was killed: its tree is as old as the last flush, and its journal tells the rest."""

import array
from operator import sub

import children
import journal_made
import pytest
from journals import recorded, sums

from seismo import model
from seismo.model.combine import with_losses
from seismo.model.trace import crash_recovery

# Calls two functions in turn, sleeps now and then, and is killed by its own hand.
PROGRAM = """\
import os
import signal
import time


def leaf(number):
    return number


def work():
    return [leaf(number) for number in range(50)]


def steps():
    for number in range(3):
        yield number


def main():
    for turn in range(400):
        work()
        sum(steps())
        if turn % 40 == 0:
            time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


main()
"""


@pytest.fixture(scope="module", params=["0.02", "60"], ids=["flushed", "never flushed"])
def killed(request, tmp_path_factory):
    """The file of a program that was killed in the middle of a flush's interval."""
    folder = tmp_path_factory.mktemp("killed")
    script = folder / "app.py"
    script.write_text(PROGRAM)
    path = folder / "t.seismo"
    children.seismo("trace", "-q", "--flush", request.param, "-o", path, script, status=-9)
    return path


def test_it_has_all_calls_that_its_journal_tells(killed):
    """Not those of the last flush: a program that dies within its first second would seem to have done nothing."""
    recording = model.read(killed)
    counts = {row.qualname: (row.calls, row.resumes) for row in recording.functions}
    assert counts["main"] == (1, 0)
    assert 0 < counts["work"][0] <= 400  # what came in its last tenths of a second may not have been written
    assert counts["leaf"][0] >= 50 * (counts["work"][0] - 1)
    raw = recording._raw["nodes"]
    rows = [{name: raw[name][node] for name in ("calls", "resumes", "exceptions")} for node in range(len(raw["id"]))]
    told = sums(killed.read_bytes())  # a flush of the tree may be newer than the journal's last piece
    assert len(told) == len(recorded(rows))
    assert all(min(map(sub, ours, those)) >= 0 for ours, those in zip(recorded(rows), told, strict=True))


def test_it_lasted_as_long_as_its_journal(killed):
    recording = model.read(killed)
    (thread,) = recording.threads
    assert recording.calls.end_ns == thread.end_ns - recording.calls.start_ns
    assert 0.5 * thread.wall_ns <= sum(recording.tree["own_ns"]) <= 1.1 * thread.wall_ns
    own = {row.qualname: row.own_ns for row in recording.functions}
    assert own["sleep" if "sleep" in own else "main"] > 50_000_000


def test_it_says_what_is_counted_how_and_how_much_may_be_missing(killed):
    recording = model.read(killed)
    losses = {row.kind: row.count for row in recording.losses}
    assert losses["cut-short"] == 1
    assert losses.get("caught-up", 0) <= recording.threads[0].wall_ns + 1_000_000


def test_a_merge_and_an_export_of_it_have_them_too(killed, tmp_path):
    model.merge_files([killed], tmp_path / "m.seismo")
    merged = model.read(tmp_path / "m.seismo")
    assert {row.qualname: row.calls for row in merged.functions} == {
        row.qualname: row.calls for row in model.read(killed).functions
    }


def test_who_watches_it_run_sees_the_last_flush(killed):
    """`seismo report --live` and `seismo view --live` read a file again and again: a second more is no news to them."""
    recording = model.read(killed, running=True)
    assert "caught-up" not in list(recording.losses["kind"])
    assert sum(row.calls for row in recording.functions) <= sum(row.calls for row in model.read(killed).functions)


def made(calls):
    """main calls f1 ten times; the tree knows of so many."""
    tree, p = journal_made.lone(start_ns=1000)
    p.call(0)
    for _ in range(10):
        p.call(1)
        p.pass_time(1_000)
        p.leave(journal_made.RETURN)
        p.mark()
    p.end(in_order=False)
    recording = journal_made.recording(tree, [p], 2)
    recording._raw["nodes"]["calls"] = memoryview(array.array("q", calls))
    return recording


def cut_short(recording):
    return with_losses(recording, [{"kind": "cut-short", "count": 10**9, "thread": -1, "detail": "process 7"}])


def test_what_the_tree_has_more_of_stays():
    """A journal that is damaged, or that leaves short calls out, takes nothing away."""
    found = crash_recovery.recovered(cut_short(made([3, 4])))
    assert found._raw["nodes"]["calls"].tolist() == [3, 10]


def test_what_ended_in_order_is_as_it_was_written():
    recording = made([1, 4])
    assert crash_recovery.recovered(recording) is recording


def test_a_long_journal_is_not_read_for_its_last_second(monkeypatch):
    monkeypatch.setattr(crash_recovery, "MOST_BYTES", 10)
    recording = cut_short(made([1, 4]))
    assert crash_recovery.recovered(recording) is recording
