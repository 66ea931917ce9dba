"""What a trace leaves out of its journal is counted there: it still adds up to the tree."""

import itertools
import signal

import children
import pytest
from journals import qualnames, read, recorded, sums, trace

import seismo
from seismo.errors import UsageError
from seismo.model import read as read_recording

BUSY = """
import asyncio, contextlib, threading, time

def tiny(i):
    return i

def steps(n):
    for i in range(n):
        yield tiny(i)

def fail():
    raise ValueError

def work(n):
    total = 0
    for i in range(n):
        total += tiny(i)
        if i % 10 == 0:
            with contextlib.suppress(ValueError):
                fail()
    time.sleep(0.03)
    return sum(steps(n))

def recurse(n):
    return n and recurse(n - 1)

async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i

async def use():
    return [x async for x in ticks(20)]

async def main():
    await asyncio.gather(use(), use())

threads = [threading.Thread(target=work, args=(3000,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
work(5000)
recurse(300)
asyncio.run(main())
"""

WAYS = [
    ["--min-duration", "5us"],
    ["--min-duration", "1ms", "--timing", "every"],
    ["--depth", "4", "--min-duration", "2ms"],
    ["--where", 'function("work", "tiny", "steps", "fail")', "--min-duration", "1ms"],
]


def adds_up(image):
    """No path has more in the journal than in the tree, and what is missing is what was left out."""
    journal, tree = sums(image.data), recorded(image.nodes)
    missing = [[b - a for a, b in zip(*rows, strict=True)] for rows in zip(journal, tree, strict=True)]
    assert all(count >= 0 for row in missing for count in row)
    assert [sum(column) for column in zip(*missing, strict=True)] == [
        sum(counts) for counts in read_recording(image.data).calls.sums.left_out
    ]


@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_the_journal_adds_up_to_the_tree(words, path):
    trace(BUSY, path, *words)
    image = read(path)
    adds_up(image)
    verified = children.seismo("info", "--verify", path)
    assert verified.stderr == ""
    assert "left out" in verified.stdout


def test_long_calls_stay_and_short_ones_go_which_a_part_of_it_says(path, tmp_path):
    trace(BUSY, path, "--min-duration", "10ms")
    image = read(path)
    adds_up(image)
    found = [name for stream in image.streams.values() for name in qualnames(image, stream)]
    assert found.count("work") == 3
    assert len(found) < 1000  # of the 16,000 calls, those that a block ends in, and what is long
    assert found.count("tiny") < 50
    whole = tmp_path / "whole.seismo"
    trace(BUSY, whole)
    assert path.stat().st_size < whole.stat().st_size
    recording = seismo.open(path)
    part = recording.cut(0, recording.calls.end_ns + 1)
    counts = {row.kind: row.count for row in part.losses}
    left_out = recording.calls.sums.left_out
    assert counts["calls-left-out"] == sum(left_out[0]) + sum(left_out[1])
    assert not any(part.calls.sums.left_out[0])
    assert part.calls.sums.calls.tolist() == part.tree["calls"].tolist()


def test_calls_up_to_a_depth_are_all_there(path):
    trace(BUSY, path, "--depth", "3")
    image = read(path)
    adds_up(image)
    depth = {}
    for node in image.nodes:
        depth[node["id"]] = depth.get(node["parent"], 0) + 1
    journal, tree = sums(image.data), recorded(image.nodes)
    for number, node in enumerate(image.nodes):
        wanted = tree[number] if depth[node["id"]] <= 3 else (0, 0, 0)
        assert journal[number] == wanted
    assert max(call.depth for stream in image.streams.values() for call in stream) == 2


def test_a_call_in_which_the_program_said_something_stays():
    def quiet():
        pass

    def loud():
        seismo.mark("here")

    with seismo.trace(min_duration_ns=10**9, c_functions="none") as t:
        for _ in range(100):
            quiet()
        loud()
    functions = t.recording.functions["qualname"]
    found = [functions[row.function].rpartition(".")[2] for row in t.recording.calls.window().calls]
    assert found.count("loud") == 1
    assert [row.name for row in t.recording.calls.instants] == ["here"]
    assert sum(t.recording.calls.sums.left_out[0]) >= 100
    assert "quiet" not in found


def test_the_time_of_what_stays_is_known_beside_what_is_left_out(path):
    """Calls that are left out one after the other share a mark, and the first one keeps its own: it is who knows when
    the call before them ended."""
    code = """
        import time
        def tiny(): pass
        def slow(): time.sleep(0.005)
        for _ in range(5):
            slow()
            for _ in range(100_000): tiny()
    """
    trace(code, path, "--min-duration", "1ms")
    image = read(path)
    (stream,) = image.streams.values()
    slow = [call for call, name in zip(stream, qualnames(image, stream), strict=True) if name == "slow"]
    assert len(slow) == 5
    for call, following in itertools.pairwise(slow):
        between = following.start_ns - call.end_ns
        assert 0 <= call.end_bound_ns < between / 2
        assert 0 <= following.start_bound_ns < between / 2
    adds_up(image)
    assert path.stat().st_size < 20_000


def test_a_killed_program_leaves_what_was_sure(path):
    code = """
        import os, signal, time
        from seismo import _core
        def tiny(): pass
        def blocked(): time.sleep(0.2); _core.flush(); os.kill(os.getpid(), signal.SIGKILL)
        for _ in range(1000): tiny()
        blocked()
    """
    trace(code, path, "--min-duration", "100ms", status=-signal.SIGKILL)
    recording = seismo.open(path)
    functions = recording.functions["qualname"]
    found = [functions[row.function] for row in recording.calls.window().calls]
    assert "blocked" in found
    assert "tiny" not in found


def test_a_forked_child_leaves_out_as_its_parent_does(path):
    code = """
        import os
        def tiny(): pass
        def work():
            for _ in range(500): tiny()
        if os.fork() == 0:
            work()
            os._exit(0)
        os.wait()
        work()
    """
    trace(code, path, "--children", "--min-duration", "1s")
    recording = seismo.open(path)
    assert len(recording.processes) == 2
    assert sum(recording.calls.sums.left_out[0]) > 900  # a call that a block ends in stays
    adds_up(read(path))


@pytest.mark.parametrize("given", [{"depth": 0}, {"min_duration_ns": -1}, {"depth": "3"}])
def test_what_is_no_limit_is_refused(given):
    with pytest.raises(UsageError, match="cannot be"):
        seismo.trace(**given)


def test_a_command_refuses_what_is_no_limit(tmp_path):
    done = trace("pass", tmp_path / "trace.seismo", "--min-duration", "10", status=2)
    assert "--min-duration cannot be '10'" in done.stderr
