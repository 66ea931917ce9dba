"""seismo trace of real programs, and what reads a trace: the check against its tree, windows, exports, merges."""

import json
import signal

from seismo.model import read

BUSY = """
import asyncio, threading

def steps(n):
    yield from range(n)

def work(n):
    return sum(len(str(i)) for i in range(n))

async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i

async def use():
    return [x async for x in ticks(4)]

async def fail():
    await asyncio.sleep(0)
    raise KeyError

async def main():
    await asyncio.gather(use(), use(), fail(), return_exceptions=True)

threads = [threading.Thread(target=work, args=(300,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for _ in range(10):
    paused = steps(5)
    next(paused)
    paused.close()
    list(zip(steps(3), steps(4)))
asyncio.run(main())
"""


KILLED = """
import os, signal
from seismo import _core
def inner(i):
    return str(i)
def loop():
    for i in range(100):
        inner(i)
    _core.flush()
    os.kill(os.getpid(), signal.SIGKILL)
loop()
"""


def test_a_trace_agrees_with_its_own_tree(seismo, traced):
    """Threads, generators of all kinds, asyncio, exceptions, recursion: the journal has each event of the tree."""
    path = traced(BUSY)
    done = seismo("info", "--verify", path)
    assert done.returncode == 0, done.stdout
    assert "the journal agrees with the tree" in done.stdout
    calls = read(path).calls
    window = calls.window()
    assert window.problems == []
    assert window.gaps == []
    starts = {}
    for row in window.calls:
        assert starts.get((row.thread, row.stream), 0) <= row.start_ns <= row.end_ns
        starts[row.thread, row.stream] = row.start_ns


def test_the_report_of_a_killed_program_shows_its_last_calls(seismo, traced):
    path = traced(KILLED, status=-signal.SIGKILL)
    done = seismo("report", path)
    assert "the last 50 calls of each thread" in done.stdout
    assert "__main__:inner" in done.stdout.partition("the last 50 calls")[2]


def test_a_trace_is_exported_whole(seismo, traced, tmp_path):
    path = traced(BUSY)
    for name, target in (("perfetto", "t.pftrace"), ("chrome", "t.json"), ("speedscope", "t.speedscope.json")):
        done = seismo("export", path, "-f", name, "-o", target)
        assert (done.returncode, done.stderr) == (0, "")
    calls = len(read(path).calls.window().calls)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == calls
    profiles = json.loads((tmp_path / "t.speedscope.json").read_text())["profiles"]
    assert sum(len(profile["events"]) for profile in profiles) == 2 * calls


def test_the_next_step_is_named(seismo, tmp_path):
    """The summary, and the report, end with the command that shows the timeline; that of a profile does not."""
    (tmp_path / "app.py").write_text("len('')")
    step = "seismo view t.seismo   shows the timeline"
    assert seismo("trace", "-o", "t.seismo", "app.py", status=0).stderr.splitlines()[-1] == step
    assert seismo("report", "t.seismo", status=0).stdout.splitlines()[-1] == step
    assert "seismo view" not in seismo("profile", "-o", "p.seismo", "app.py", status=0).stderr
    assert "seismo view" not in seismo("report", "p.seismo", status=0).stdout
