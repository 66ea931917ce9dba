"""`seismo query` over a trace of 10^7 calls: the first aggregate of a new process, its peak memory, a join.

The trace is that of long_trace.py. Every query runs in a process of its own, from the command to the last line; the
page cache is warm.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import arguments, finish, median, number, rounds_of, table
from long_trace import child

from seismo.model import read

CALLS, QUICK_CALLS = 10_000_000, 1_000_000
QUERIES = {
    "aggregate": "select count(*), sum(end_ns - start_ns) from calls",
    "a hundredth of the time": "select count(*), sum(end_ns - start_ns) from calls_between({from_ns}, {to_ns})",
    "the same by a condition": "select count(*), sum(end_ns - start_ns) from calls "
    "where start_ns between {from_ns} and {to_ns}",
    "open at one moment": "select count(*), min(start_ns) from calls "
    "where start_ns <= {from_ns} and end_ns >= {from_ns}",
    "by function": "select f.qualname, count(*), max(end_ns - start_ns) from calls c "
    "join functions f on f.id = c.function group by all",
}
PEAK = (
    "import sys; from seismo.cli.main import main; main(['query', *sys.argv[1:]]); "
    "print([line for line in open('/proc/self/status') if line.startswith('VmHWM')][0].split()[1], file=sys.stderr)"
)


def asked(file: str, sql: str) -> tuple[float, float]:
    """Seconds and peak MB of a process that runs a query. RuntimeError with its words when it fails."""
    begun = time.perf_counter()
    command = [sys.executable, "-c", PEAK, file, sql]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - begun
    if done.returncode or not done.stdout:
        raise RuntimeError(f"{sql}\n{done.stderr}")
    return taken, int(done.stderr.split()[-1]) / 1000


def main() -> None:
    options = arguments(__doc__, rounds=5, quick_rounds=2).parse_args()
    calls = QUICK_CALLS if options.quick else CALLS
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "trace.seismo")
        child("--record", file, "--calls", str(calls))
        end = read(file).calls.end_ns
        for name, text in QUERIES.items():
            sql = text.format(from_ns=end // 2, to_ns=end // 2 + end // 100)
            found = [asked(file, sql) for _ in range(rounds_of(options))]
            results[name] = {"s": median([one[0] for one in found]), "mb": max(one[1] for one in found)}
    rows = [[name, number(one["s"]), number(one["mb"], 0)] for name, one in results.items()]
    finish("query", options, f"{calls:,} calls; page cache warm", results, table(["query", "s", "peak MB"], rows))


if __name__ == "__main__":
    main()
