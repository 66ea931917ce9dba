"""Kills traced programs and reads what they leave. Each program counts its calls in shared memory."""

from __future__ import annotations

import mmap
import os
import signal
import sys
import textwrap
import time
from typing import TYPE_CHECKING, NamedTuple

import children

import seismo

if TYPE_CHECKING:
    from pathlib import Path

SLOTS = 8  # counters of 8 bytes in the shared memory, one for each thread or process

PROGRAM = """
    import mmap, os, sys, threading, time
    memory = memoryview(mmap.mmap(int(sys.argv[1]), 0)).cast("Q")
    def counter(slot):
        count = 0
        def tick(): pass
        def call():
            nonlocal count
            count += 1
            memory[slot] = count
            tick()
        return call
"""

KINDS = {
    "plain": """
        call = counter(0)
        while True: call()
    """,
    "waiting": """
        call = counter(0)
        while True:
            call()
            time.sleep(0.002)
    """,
    "threads": """
        def work(slot):
            call = counter(slot)
            while True: call()
        for slot in range(4): threading.Thread(target=work, args=(slot,)).start()
    """,
    "deep": """
        call = counter(0)
        sys.setrecursionlimit(5000)
        def down(n):
            call()
            if n: down(n - 1)
        n = 0
        while True:
            n = (n * 7 + 13) % 900
            down(n)
    """,
    "forks": """
        call = counter(0)
        for slot in range(1, 4):
            if os.fork() == 0:
                call = counter(slot)
                break
            for _ in range(2000): call()
        while True: call()
    """,
    "functions": """
        call = counter(0)
        number = 0
        while True:
            number += 1
            names = {"call": call}
            exec(f"def f{number}():\\n call()\\n [].append(1)", names)
            names[f"f{number}"]()
    """,
}


class Found(NamedTuple):
    """The calls of a killed program, as it counted them and as its recording has them."""

    counted: int
    recorded: int
    faults: list[str]


def _ticks(path: Path, faults: list[str]) -> list[int]:
    """Return recorded calls of tick by thread, and append errors to `faults`."""
    recording = seismo.open(path)
    if any("journal of this trace is missing" in problem for problem in map(str, recording.problems)):
        return []  # killed between writing its first counts and its first events
    faults += [
        problem for problem in map(str, recording.problems) if "cut off" not in problem and "no end" not in problem
    ]
    sums = recording.calls.sums
    if not len(sums.calls):
        return []  # killed between writing its first paths and its first events
    faults += sums.problems
    functions = recording.functions
    by_thread: dict[int, int] = {}
    for number, node in enumerate(recording.tree):
        if functions[node.function].qualname.endswith("tick"):
            by_thread[node.thread] = by_thread.get(node.thread, 0) + sums.calls[number]
    return sorted(by_thread.values())


def kill_one(kind: str, after: float, folder: Path, running: int = 0) -> Found:
    """Trace a program, kill it and its children after this many seconds, and return the result.

    The seconds begin when so many of its threads or processes are at work.
    """
    path, shared = folder / "trace.seismo", os.memfd_create("counts")
    for old in folder.glob("*.seismo"):
        old.unlink()
    os.truncate(shared, SLOTS * 8)
    code = textwrap.dedent(PROGRAM) + textwrap.dedent(KINDS[kind])
    command = [sys.executable, "-m", "seismo", "trace", "-q", "-o", str(path), "-c", code, str(shared)]
    process = children.popen(command, stdin=None, stdout=None, stderr=None, pass_fds=[shared])
    memory = memoryview(mmap.mmap(shared, 0)).cast("Q")
    until = time.monotonic() + children.SECONDS
    while sum(count > 0 for count in memory) < running and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(after)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.01)  # children vanish a moment later
    os.close(shared)
    faults: list[str] = []
    ticks: list[int] = []
    for part in sorted(folder.glob("*.seismo")):
        if part.stat().st_size == 0:
            continue  # created before the recording began
        try:
            ticks += _ticks(part, faults)
        except seismo.SeismoError as error:
            faults.append(f"{part.name}: {error}")
    counts = sorted(count for count in memory if count)
    ticks = sorted([0] * (len(counts) - len(ticks)) + ticks)
    faults += [f"{tick} of {count} calls" for tick, count in zip(ticks, counts, strict=False) if tick > count]
    return Found(sum(counts), sum(ticks), faults)
