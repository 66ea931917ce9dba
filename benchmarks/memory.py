"""Memory: bytes a distinct path, and bytes a call.

A program of 299,593 distinct paths (8 functions that call each other in every order, 6 deep) runs once under seismo,
in a process of its own: the growth of resident memory over that of the same run without seismo, divided by the paths,
is the price of a path. Then the same paths are walked ten more times (3 million calls): growth now is the price of a
call, and it must be nothing. Three ways: in memory only; with a file that is flushed every 100 ms; and cProfile for
comparison, which keeps no paths (its growth is shown per path all the same).

`engine bytes` is what the engine itself says that its nodes take, where it says so.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import paths
from common import HERE, arguments, finish, load_core, median, number, rounds_of, table

WIDTH, DEPTH, AGAIN = 8, 6, 10


def resident() -> int:
    """Resident bytes of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def child(kind: str, target: str) -> None:
    """One reading, as JSON into `target`: bytes after the first walk and after ten more, the engine's own word."""
    first = paths.make(WIDTH)[0]
    first(2)
    status: dict[str, Any] = {}
    with tempfile.TemporaryFile() as file:
        core: Any = load_core() if kind.startswith("seismo") else None
        profiler = cProfile.Profile()
        gc.collect()
        if core:
            core.start(c_functions="none", fd=file.fileno() if kind == "seismo file" else -1, flush_ms=100)
        elif kind == "cProfile":
            profiler.enable()
        before = resident()
        first(DEPTH)
        if kind == "seismo file":
            core.flush()
        after = resident()
        if core:
            status = core.status()
        for _ in range(AGAIN):
            first(DEPTH)
        if kind == "seismo file":
            core.flush()
        again = resident()
        start = time.perf_counter()
        if core:
            core.stop()
        profiler.disable()
        stop_seconds = time.perf_counter() - start
        size = os.fstat(file.fileno()).st_size
    words = {key: status[key] for key in ("paths", "path_bytes") if key in status}
    Path(target).write_text(
        json.dumps(
            {"first": after - before, "more": again - after, "file": size, "stop_seconds": stop_seconds, **words}
        )
    )


def reading(kind: str) -> dict[str, Any]:
    """A child process's reading. RuntimeError with its words when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "reading.json")
        command = [sys.executable, str(HERE / "memory.py"), "--child", kind, "--target", target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{kind}: exit {done.returncode}\n{done.stderr}")
        result: dict[str, Any] = json.loads(Path(target).read_text())
        return result


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.target)
        return
    kinds = ["bare", *(["seismo memory", "seismo file"] if load_core() else []), "cProfile"]
    readings: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for _ in range(rounds_of(options)):
        for kind in kinds:
            readings[kind].append(reading(kind))
    total = paths.count(WIDTH, DEPTH)
    bare_first = median([taken["first"] for taken in readings["bare"]])
    bare_more = median([taken["more"] for taken in readings["bare"]])
    results: dict[str, Any] = {"paths": total, "calls_again": total * AGAIN}
    rows = []
    for kind, taken in readings.items():
        first = median([one["first"] for one in taken]) - bare_first
        more = median([one["more"] for one in taken]) - bare_more
        said = taken[0]
        results[kind] = {
            "bytes_a_path": first / total,
            "bytes_a_call": more / (total * AGAIN),
            "engine_bytes_a_path": said["path_bytes"] / said["paths"] if said.get("paths") else None,
            "engine_paths": said.get("paths"),
            "file_bytes_a_path": said["file"] / total,
            "stop_seconds": median([one["stop_seconds"] for one in taken]),
        }
        row = results[kind]
        own = row["engine_bytes_a_path"]
        rows.append(
            [
                kind,
                number(row["bytes_a_path"], 1),
                number(row["bytes_a_call"], 3),
                "–" if own is None else number(own, 1),
                number(row["file_bytes_a_path"], 1),
            ]
        )
    method = (
        f"growth of resident memory over {total:,} paths of one call each and {AGAIN} more walks of them, less that of "
        f"the bare run; median of {rounds_of(options)} processes"
    )
    finish(
        "memory",
        options,
        method,
        results,
        table(["kind", "bytes a path", "bytes a call", "engine bytes a path", "file bytes a path"], rows),
    )


if __name__ == "__main__":
    main()
