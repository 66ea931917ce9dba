"""A recording of a million paths: the time until the first line of `seismo report`, and until it is done.

The engine makes the recording (10 functions that call each other in every order, 6 deep: 1,111,111 paths, one call
each) into a file; then `seismo report FILE` runs on a terminal (a pseudo-terminal of 80 columns, because a pipe holds
output back) and the clock stops at its first line, at the end, and at the peak of its memory. The page cache is warm:
the file was just written.
"""

from __future__ import annotations

import argparse
import os
import pty
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import paths
from common import HERE, arguments, finish, load_core, median, number, rounds_of, table

WIDTH, DEPTH = 10, 6


def make(target: str) -> None:
    """Record the million paths into the file `target`, with the engine of this process."""
    core: Any = load_core()
    if not core:
        raise SystemExit("seismo is not there to be measured")
    first = paths.make(WIDTH)[0]
    with open(target, "wb") as file:
        core.start(c_functions="none", fd=file.fileno(), max_paths=2_000_000)
        first(DEPTH)
        core.stop()


def report(file: str) -> dict[str, float]:
    """Seconds to the first line and to the end of `seismo report`, its peak bytes. RuntimeError when it fails."""
    leader, follower = pty.openpty()
    set_size(follower)
    environment = {**os.environ, "COLUMNS": "80", "LINES": "40", "PAGER": "cat", "TERM": "xterm"}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "seismo", "report", file],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.STDOUT,
        env=environment,
    )
    os.close(follower)
    seen, first = b"", 0.0
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the pseudo-terminal's way to say that its other end is closed
            break
        if not piece:
            break
        seen += piece
        if not first and b"\n" in seen:
            first = time.perf_counter() - start
    os.close(leader)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"seismo report: exit {process.returncode}\n{seen.decode(errors='replace')}")
    return {"first_line": first, "whole": time.perf_counter() - start, "peak": usage.ru_maxrss * 1024.0}


def set_size(terminal: int) -> None:
    """80 columns and 40 lines."""
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=1)
    parser.add_argument("--make", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--keep", metavar="FILE", help="keep the recording in this file")
    options = parser.parse_args()
    if options.make:
        make(options.make)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = options.keep or os.path.join(folder, "million.seismo")
        subprocess.run([sys.executable, str(HERE / "report_million.py"), "--make", file], check=True)
        size = Path(file).stat().st_size
        taken = [report(file) for _ in range(rounds_of(options))]
    total = paths.count(WIDTH, DEPTH)
    results = {key: median([one[key] for one in taken]) for key in ("first_line", "whole", "peak")}
    results |= {"paths": total, "file": size}
    rows = [
        ["first line, s", number(results["first_line"])],
        ["whole report, s", number(results["whole"])],
        ["peak memory, MB", number(results["peak"] / 1e6, 0)],
        ["file, MB", number(size / 1e6, 1)],
    ]
    finish(
        "report of a million paths",
        options,
        f"median of {len(taken)} runs of `seismo report` on a pseudo-terminal, {total:,} paths, page cache warm",
        results,
        table(["seismo report", "value"], rows),
    )


if __name__ == "__main__":
    main()
