"""Waiting: what is said of running, of waiting for the interpreter's lock and for a processor, held against the clocks.

- Burners: three threads that compute in turn, and one that sleeps. The truth of each is in its own clocks: its CPU
  time is what it ran, and what it neither ran nor was kept from a processor (schedstat) it waited for the lock.
- Segments: functions that make thousands of short calls, or are short nearly always, and now and then compute for
  0.3 ms to 80 ms in one go. The truth of these long segments is in the thread's CPU clock, read at their ends. (What
  else the function ran is not in it: for `brief`, its 400,000 short calls, a tenth of its time or more.)

Both are recorded beside 0, 2 and 4 processes that do nothing but keep processors busy. Shown is how far off the worst
of the runs is, in per cent of the truth, and what the truth was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from common import HERE, arguments, finish, load_core, median, number, progress, rounds_of, table

BESIDE = (0, 2, 4)
BURNERS, TURNS = 3, 3_000_000
CPU = 0

Clocks = list[float]  # ns: CPU (at index CPU), wall, kept from a processor
Truth = dict[str, Clocks]


def kept() -> float:
    """How long the running thread has been kept from a processor. To read it lets go of the lock, and waits for it."""
    return float(Path("/proc/thread-self/schedstat").read_text().split()[1])


def times() -> Clocks:
    """The CPU's and the wall's."""
    return [float(time.thread_time_ns()), float(time.perf_counter_ns())]


def clocks() -> Clocks:
    """Of the running thread: what begins now."""
    ready = kept()
    return [*times(), ready]


def since(then: Clocks) -> Clocks:
    """From `then` to now."""
    now = [*times(), kept()]
    return [after - before for after, before in zip(now, then, strict=True)]


def sums(recording: Any) -> Truth:
    """{name: what its functions ran, waited for the lock, waited for a processor; ns}, with what they called."""
    found: Truth = {}
    for function in recording.timed("cpu").functions:
        found[function.qualname.rpartition(".")[2]] = [function.own_ns, 0.0, 0.0]
    for row in recording.tree:
        of = found[recording.functions[row.function].qualname.rpartition(".")[2]]
        of[1] += row.lock_ns
        of[2] += row.ready_ns
    return found


def burn(turns: int) -> None:
    """Computes without a call."""
    total = 0
    for i in range(turns):
        total += i


def burners() -> tuple[Any, Truth]:
    """The recording, and the truth of all burners together."""
    taken: list[Clocks] = []

    def burned() -> None:
        then = clocks()
        burn(TURNS)
        taken.append(since(then))

    def wait() -> None:
        time.sleep(1)

    threads = [threading.Thread(target=burned) for _ in range(BURNERS)] + [threading.Thread(target=wait)]
    recording = recorded(lambda: [thread.start() for thread in threads] + [thread.join() for thread in threads])
    return recording, {"burn": [sum(column) for column in zip(*taken, strict=True)]}


class Segments:
    """A program of long segments in functions that are short nearly always, with their truth."""

    def __init__(self) -> None:
        self.truth: Truth = {"brief": [0.0] * 3}

    def spent(self, name: str, then: Clocks) -> None:
        """A long segment of that function has ended."""
        self.truth[name] = [a + b for a, b in zip(self.truth.get(name, [0.0] * 3), since(then), strict=True)]

    def rare(self, i: int) -> None:
        """20 ms once in 2,500 calls."""
        if i % 2500 == 0:
            then = clocks()
            x = 0
            for k in range(400_000):
                x += k
            self.spent("rare", then)

    def brief(self, i: int) -> None:
        """0.3 ms once in 700 calls."""
        if i % 700 == 0:
            then = time.thread_time_ns()
            x = 0
            for k in range(7000):
                x += k
            self.truth["brief"][CPU] += time.thread_time_ns() - then

    def driver(self) -> None:
        """80 ms after 20,000 calls."""
        for i in range(20_000):
            tiny(i)
        then = clocks()
        x = 0
        for k in range(1_500_000):
            x += k
        self.spent("driver", then)

    def run(self) -> None:
        """All of them in turns."""
        for _ in range(4):
            for i in range(20_000):
                self.rare(i)
            self.driver()
            for i in range(100_000):
                self.brief(i)


def tiny(i: int) -> int:
    """A short call."""
    return i + 1


def recorded(body: Any) -> Any:
    """The recording of one call, in the default mode but for C functions: the clocks are read by some."""
    from seismo import model

    core: Any = load_core()
    core.start(c_functions="none", running=False)
    body()
    core.stop()
    return model.read(core.snapshot())


def child(what: str) -> dict[str, float]:
    """One reading: how far off what is said is, in per cent of the truth; and the truth, in ms."""
    if what == "burners":
        recording, truth = burners()
    else:
        program = Segments()
        recording, truth = recorded(program.run), program.truth
    said = sums(recording)
    found: dict[str, float] = {}
    for name, (ran, wall, ready) in truth.items():
        found[f"{name}: running"] = 100 * (said[name][0] / ran - 1)
        found[f"{name}: ms"] = ran / 1e6
        lock = wall - ran - ready
        if what == "burners":
            found[f"{name}: lock"] = 100 * (said[name][1] / lock - 1)
            found[f"{name}: lock, ms"] = lock / 1e6
        if ready > 2e7:
            found[f"{name}: preempted"] = 100 * (said[name][2] / ready - 1)
            found[f"{name}: preempted, ms"] = ready / 1e6
    return found


def reading(what: str) -> dict[str, float]:
    """Start a process for one reading. RuntimeError with its words when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "reading.json"
        command = [sys.executable, str(HERE / "waiting.py"), "--child", what, "--target", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{what}: exit {done.returncode}\n{done.stderr}")
        result: dict[str, float] = json.loads(target.read_text())
        return result


def beside(processes: int, rounds: int) -> dict[str, float]:
    """The worst of so many readings, of each fact; of the truth, the median."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        taken: dict[str, list[float]] = {}
        for _ in range(rounds):
            for what in ("burners", "segments"):
                for fact, value in reading(what).items():
                    taken.setdefault(fact, []).append(value)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    return {fact: median(values) if fact.endswith("ms") else max(values, key=abs) for fact, values in taken.items()}


def main() -> None:
    parser = arguments(__doc__, rounds=5, quick_rounds=2)
    parser.add_argument("--beside", type=int, nargs="+", default=BESIDE, help="so many busy processes")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        Path(options.target).write_text(json.dumps(child(options.child)))
        return
    if not load_core():
        sys.exit(3)
    results: dict[str, Any] = {}
    for processes in options.beside:
        progress(f"beside {processes}")
        results[str(processes)] = beside(processes, rounds_of(options))
    facts = list(dict.fromkeys(fact for found in results.values() for fact in found))
    rows = [[fact, *(number(found.get(fact), 1) for found in results.values())] for fact in facts]
    shown = table(["off by, %; or ms", *(f"beside {count}" for count in results)], rows)
    finish("waiting", options, f"the worst of {rounds_of(options)} runs", results, shown)


if __name__ == "__main__":
    main()
