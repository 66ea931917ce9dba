"""Kills traced programs at random moments and reads what they leave.

    python tests/common/killing.py --times 1000

Each program counts its calls in shared memory, with the time every half millisecond. So the loss of a recording is
known in calls and in milliseconds: the time from the last recorded call to the end. On a busy machine the program
itself does not run for part of that time, so there is a second number without that part.
"""

from __future__ import annotations

import argparse
import itertools
import mmap
import os
import random
import signal
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import children

import seismo

SLOTS, ENTRIES = 8, 8192  # of the shared memory: counters, each with a ring of (ns, count)
STANDS_STILL_NS = 5_000_000  # maximum time between two notes of a running program
SLOT = 2 + 2 * ENTRIES  # numbers of 8 bytes, each written atomically

PROGRAM = """
    import mmap, os, sys, threading, time
    memory = memoryview(mmap.mmap(int(sys.argv[1]), 0)).cast("Q")
    def counter(slot, base=SLOT, entries=ENTRIES, now=time.monotonic_ns):
        at, count, entry, last = slot * base, 0, 0, 0
        def tick(): pass
        def call():
            nonlocal count, entry, last
            count += 1
            memory[at] = count
            tick()
            if now() - last > 500_000:
                last = now()
                at_entry = at + 2 + entry % entries * 2
                memory[at_entry], memory[at_entry + 1] = last, count
                entry += 1
                memory[at + 1] = entry
        return call
""".replace("SLOT", str(SLOT)).replace("ENTRIES", str(ENTRIES))

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


@dataclass
class Found:
    """The result of one killed program. `counted` and `recorded` are calls.

    `lost_ms` is the age of the last recorded call; `ran_ms` is the part of it in which the program ran, by its own
    notes.
    """

    kind: str
    counted: int
    recorded: int
    lost_ms: float
    ran_ms: float
    faults: list[str]


def _counts(memory: memoryview) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return, for each slot, the count and the (ns, count) entries from the oldest on."""
    found = []
    for slot in range(SLOTS):
        at = slot * SLOT
        count, entries = memory[at : at + 2]
        places = [at + 2 + entry % ENTRIES * 2 for entry in range(max(0, entries - ENTRIES), entries)]
        found.append((count, [(memory[place], memory[place + 1]) for place in places]))
    return found


def _lost_ms(recorded: int, count: int, ring: list[tuple[int, int]]) -> tuple[float, float]:
    """Return the time from the last recorded call to the last entry, and its running part, in ms."""
    if recorded >= count or not ring:
        return 0.0, 0.0
    known = [when for when, of in ring if of <= recorded] or [ring[0][0]]
    later = [known[-1], *(when for when, of in ring if of > recorded)]
    ran = sum(min(after - before, STANDS_STILL_NS) for before, after in itertools.pairwise(later))
    return (later[-1] - later[0]) / 1e6, ran / 1e6


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
    os.truncate(shared, SLOTS * SLOT * 8)
    code = textwrap.dedent(PROGRAM) + textwrap.dedent(KINDS[kind])
    command = [sys.executable, "-m", "seismo", "trace", "-q", "-o", str(path), "-c", code, str(shared)]
    process = children.popen(command, stdin=None, stdout=None, stderr=None, pass_fds=[shared])
    memory = memoryview(mmap.mmap(shared, 0)).cast("Q")
    until = time.monotonic() + children.SECONDS
    while sum(memory[slot * SLOT] > 0 for slot in range(SLOTS)) < running and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(after)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.01)  # children vanish a moment later
    counts = [entry for entry in _counts(memory) if entry[0]]
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
    counts.sort()
    ticks = sorted([0] * (len(counts) - len(ticks)) + ticks)
    pairs = list(zip(ticks, counts, strict=False))
    faults += [f"{recorded} of {count} calls" for recorded, (count, _) in pairs if recorded > count]
    losses = [_lost_ms(recorded, *entry) for recorded, entry in pairs] or [(0.0, 0.0)]
    lost, ran = (max(of) for of in zip(*losses, strict=True))
    return Found(kind, sum(count for count, _ in counts), sum(ticks), lost, ran, faults)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--kind", choices=list(KINDS))
    parser.add_argument("--longest", type=float, default=0.8, help="seconds after which a program is killed, at most")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance, kinds = random.Random(options.seed), [options.kind] if options.kind else list(KINDS)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.times):
            rows.append(kill_one(kinds[number % len(kinds)], chance.uniform(0, options.longest), Path(folder)))
            if rows[-1].faults:
                print(rows[-1], flush=True)
    for kind in kinds:
        of = sorted(row.lost_ms for row in rows if row.kind == kind and row.counted)
        if of:
            late = sum(lost > 100 for lost in of)
            ran = max(row.ran_ms for row in rows if row.kind == kind)
            print(
                f"{kind}: {len(of)} killed after they began, lost ms: median {of[len(of) // 2]:.0f}, "
                f"most {of[-1]:.0f}, {late} over 100; in which they ran: most {ran:.0f}"
            )
    print(f"{sum(bool(row.faults) for row in rows)} of {len(rows)} with a fault")


if __name__ == "__main__":
    main()
