"""Memory and file of programs that make threads by the ten thousand.

A program starts and joins so many threads, one after the other, each of which runs for some microseconds: as it is,
and under `seismo profile` and `seismo lines`. Shown are the peak of resident memory over that of the bare run, the size
of the recording, and the processor time: what is constant in the number of threads is what is wanted of the first two.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import arguments, finish, number, table

PROGRAM = """
import sys
import threading

def w():
    sum(range(10))

for _ in range(int(sys.argv[1])):
    thread = threading.Thread(target=w)
    thread.start()
    thread.join()
"""


def reading(kind: str, threads: int) -> dict[str, Any]:
    """One run: peak of resident memory and size of the file in bytes, seconds of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        program, recording = Path(folder) / "program.py", Path(folder) / "recording.seismo"
        program.write_text(PROGRAM)
        how = [] if kind == "bare" else ["-m", "seismo", kind, "-o", str(recording)]
        command = [sys.executable, *how, str(program), str(threads)]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise RuntimeError(f"{' '.join(command)}: exit {child.returncode}")
        size = recording.stat().st_size if recording.exists() else 0
        return {"peak": used.ru_maxrss * 1024, "file": size, "cpu_seconds": used.ru_utime + used.ru_stime}


def main() -> None:
    parser = arguments(__doc__, rounds=1, quick_rounds=1)
    parser.add_argument("--threads", type=int, nargs="+", help="how many (default: 2,500, 20,000 and 200,000)")
    options = parser.parse_args()
    counts = options.threads or ([2500, 20_000] if options.quick else [2500, 20_000, 200_000])
    results: dict[str, Any] = {}
    rows = []
    for count in counts:
        bare = reading("bare", count)
        for kind in ("profile", "lines"):
            taken = reading(kind, count)
            over = taken["peak"] - bare["peak"]
            results[f"{kind} {count}"] = {**taken, "over_bare": over, "bare_cpu_seconds": bare["cpu_seconds"]}
            rows.append(
                [
                    f"{count:,}",
                    kind,
                    number(over / 1e6, 1),
                    number(taken["file"] / 1e6, 2),
                    number(taken["cpu_seconds"], 1),
                    number(bare["cpu_seconds"], 1),
                ]
            )
    columns = ["threads", "under", "MB over bare", "MB of file", "s of processor", "s bare"]
    finish("threads", options, "peak of resident memory of one process each", results, table(columns, rows))


if __name__ == "__main__":
    main()
