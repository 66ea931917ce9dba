"""Processes of one system are on one clock, whatever was done to the time of the day; of several, the bound is said."""

import os

import journal_made
import pytest
from children import seismo

from seismo import model
from seismo.formats.trace_tracks import trace_tracks
from seismo.model.trace.process_clocks import difference_ns, hosts, starts

DAY = 10**18


def made(pid, at, boot="b1", boot_ns=0, bound=0, host="box", calls=3, **more):
    """A trace of a process that started at this time of the day, with calls of 1 µs, 1 ms apart."""
    tree, p = journal_made.lone(unit=1.0)
    p.short_calls(calls)
    process = {"pid": pid, "host": host, "boot": boot, "boot_ns": boot_ns, "unix_bound_ns": bound, **more}
    return journal_made.recording(tree, [p], 1, process_start=DAY + at, end_ns=10**9, names=[f"f{pid}"], **process)


def begins(recording):
    names = recording.functions["qualname"]
    first = {}
    for row in recording.calls.window().calls:
        first.setdefault(names[row.function], row.start_ns)
    return first


def test_processes_of_a_system_are_on_its_clock_although_the_day_was_set_back():
    """The second process began 5 s after the first; in between the time of the day was set back by an hour."""
    one, two = made(1, 0, boot_ns=100 * 10**9), made(2, -3_595 * 10**9, boot_ns=105 * 10**9)
    for parts in ([one, two], [two, one]):
        merged = model.merge(parts)
        assert begins(merged) == {"f1": 0, "f2": 5 * 10**9}
        assert begins(model.read(merged.to_bytes())) == {"f1": 0, "f2": 5 * 10**9}
        assert merged.calls.start_ns == DAY
        assert merged.calls.end_ns == 6 * 10**9
    three = made(3, 0, boot_ns=101 * 10**9)
    assert begins(model.merge([model.merge([one, two]), three])) == begins(model.merge([three, two, one]))


def test_without_a_clock_of_the_system_the_time_of_the_day_counts():
    merged = model.merge([made(1, 0, boot=""), made(2, 7 * 10**9, boot="", boot_ns=5)])
    assert begins(merged) == {"f1": 0, "f2": 7 * 10**9}
    assert len(hosts(merged)) == 1


def several(**second):
    return model.merge([made(1, 0, boot_ns=10**9, bound=2_000_000), made(1, 4 * 10**9, **second)])


def test_how_far_clocks_of_systems_may_be_apart_is_said(tmp_path):
    known = several(boot="b2", boot_ns=7 * 10**9, bound=3_000_000, host="other")
    first, second = hosts(known)
    assert (first.name, second.name) == ("box", "other")
    assert difference_ns(first, second) == 5_000_000 + 2 * 10**9 // 2000
    unknown = several(boot="b2", boot_ns=7 * 10**9)
    assert [host.name for host in hosts(unknown)] == ["box (1)", "box (2)"]
    assert difference_ns(*hosts(unknown)) == 0
    assert starts(unknown) == [DAY, DAY + 4 * 10**9]
    for recording, words in ((known, "box and other may differ by up to 6.00 ms"), (unknown, "an unknown time")):
        recording.save(tmp_path / "m.seismo")
        assert words in seismo("report", tmp_path / "m.seismo").stdout


def test_what_a_recording_saw_of_its_clock_counts_if_it_is_less():
    """Without a look at the clock, 500 ppm of the second that a process ran are added to its bound at the start."""
    other = {"boot": "b2", "boot_ns": 7 * 10**9, "host": "other", "bound": 3_000_000}
    for seen, most in (((2_100_000, 3_200_000), 5.3), ((2_100_000, 0), 2.1 + 3.5), ((0, 9_000_000), 2.5 + 3.5)):
        first = made(1, 0, boot_ns=10**9, bound=2_000_000, time_bound_ns=seen[0])
        recording = model.merge([first, made(1, 4 * 10**9, **other, time_bound_ns=seen[1])])
        assert difference_ns(*hosts(recording)) == most * 10**6, seen


def test_processes_of_two_systems_with_one_pid_are_two_tracks():
    found = trace_tracks(several(boot="b2", boot_ns=7 * 10**9, host="other"), 10**9)
    assert [(track.pid, track.process) for track in found.tracks] == [
        (1, "process 1 on box"),
        (10_000_001, "process 1 on other"),
    ]
    assert {track.pid for track in trace_tracks(several(boot="b1", boot_ns=7 * 10**9), 10**9).tracks} == {1}


FORKS = """
import os, subprocess, sys, time, multiprocessing

def child(name):
    time.sleep(0.05)

def parent_waits():
    if os.fork() == 0:
        child("fork")
        os._exit(0)
    os.wait()

if __name__ == "__main__":
    parent_waits()
    spawned = multiprocessing.get_context("spawn").Process(target=child, args=("spawn",))
    def around_spawn():
        spawned.start()
        spawned.join()
    around_spawn()
    def around_exec():
        subprocess.run([sys.executable, "-c", "import time\\ndef child(name): time.sleep(0.05)\\nchild('exec')"])
    around_exec()
"""


@pytest.mark.skipif(not os.path.exists("/proc/sys/kernel/random/boot_id"), reason="no id of the system's start")
def test_children_lie_within_the_calls_that_waited_for_them(tmp_path):
    """fork, spawn and exec: what a child did is, on the parent's clock, while the parent waited for it."""
    (tmp_path / "app.py").write_text(FORKS)
    seismo("trace", "--children", "-q", "-o", "app.seismo", "app.py", cwd=tmp_path)
    recording = model.read(tmp_path / "app.seismo")
    assert len(hosts(recording)) == 1
    rows = list(recording.processes)
    assert len({row.boot for row in rows}) == 1
    assert min(row.boot_ns for row in rows) > 0
    names, found = recording.functions["qualname"], {}
    for row in recording.calls.window().calls:
        name, process = names[row.function].rpartition(".")[2], recording.threads["process"][row.thread]
        if name == "child" or process == 0:  # a forked child is in its parent's calls, too
            found.setdefault(name, []).append((row.start_ns, row.end_ns))
    children = sorted(found["child"])
    assert len(children) == 3
    for (start, end), name in zip(children, ("parent_waits", "around_spawn", "around_exec"), strict=True):
        ((before, after),) = found[name]
        assert before < start < end < after, name
    shown = trace_tracks(recording, 10**9)
    assert len({track.pid for track in shown.tracks}) == len(rows)
