"""The file of a service: its size after so many flushes, and how many times that of its merge.

A service of 2,000 functions calls each of them between two flushes, 600 and 3,600 times: what a flush a second makes
in ten minutes and in an hour, without the waiting. The file is then held against the bytes of the recording that is
read from it, in which every row is once; the largest ratio of all flushes is told, too. One process each, in which the
core flushes when it is asked to.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import HERE, arguments, finish, load_core, number, table

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS = 2000
CONTEXTS = 40  # kinds of requests, under coverage with contexts
NEVER = 1_000_000  # seconds: a flush comes when it is asked for
KINDS: dict[str, dict[str, Any]] = {
    "calls": {"recorder": "calltree"},
    "lines": {"recorder": "linetimes"},
    "objects": {"recorder": "lifetimes"},
    "objects --paths": {"recorder": "lifetimes", "paths": 1},
    "cover": {},
    "cover --counts": {"counts": True},
    "cover, contexts": {},
}


def service() -> list[Callable[[], object]]:
    """The functions, each of a line of its own."""
    names: dict[str, Any] = {}
    text = "\n".join(f"def f{i}():\n    return [object()]" for i in range(FUNCTIONS))
    exec(compile(text, "service.py", "exec"), names)
    return [names[f"f{i}"] for i in range(FUNCTIONS)]


def child(kind: str, counts: list[int], target: str) -> None:
    """Record one run as JSON into `target`: at each count of flushes, the sizes of the file and of its merge."""
    from seismo.model import read

    core: Any = load_core()
    functions = service()
    path = target + ".seismo"
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    covers = kind.startswith("cover")
    (core.cover_start if covers else core.start)(fd=fd, flush_ms=1000 * NEVER, **KINDS[kind])
    flush = core.cover_flush if covers else core.flush
    taken, largest, merged = {}, 0, 0
    for count in range(1, max(counts) + 1):
        if kind.endswith("contexts"):
            core.cover_context(f"kind {count % CONTEXTS}")
        for function in functions if not kind.endswith("contexts") else functions[count % CONTEXTS :: CONTEXTS]:
            function()
        flush()
        if count >= min(counts) // 2:  # all paths are there
            largest = max(largest, os.stat(path).st_size)
        if count in counts:
            merged = len(read(path, running=True).to_bytes())
            taken[count] = {"file": os.stat(path).st_size, "merged": merged, "ratio": os.stat(path).st_size / merged}
    (core.cover_stop if covers else core.stop)()
    Path(target).write_text(json.dumps({"flushes": taken, "largest": largest, "largest_ratio": largest / merged}))


def main() -> None:
    parser = arguments(__doc__, rounds=1, quick_rounds=1)
    parser.add_argument("--counts", default="600,3600", help="after how many flushes (default: %(default)s)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options = parser.parse_args()
    counts = [int(count) for count in ("60,360" if options.quick else options.counts).split(",")]
    if options.child:
        child(options.child, counts, options.target)
        return
    core = load_core()
    if core is None:
        sys.exit(3)
    results: dict[str, Any] = {}
    rows = []
    for kind in KINDS:
        if kind.startswith("objects") and core.ref_objection() is not None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "reading.json")
            words = ["--child", kind, "--target", target, "--counts", ",".join(map(str, counts))]
            subprocess.run([sys.executable, str(HERE / "service_file.py"), *words], check=True)
            taken = json.loads(Path(target).read_text())
        results[kind] = taken
        for count, one in taken["flushes"].items():
            cells = [number(one["file"] / 1000, 0), number(one["merged"] / 1000, 0), number(one["ratio"], 2)]
            rows.append([kind, f"{int(count):,}", *cells, number(taken["largest_ratio"], 2)])
    method = f"{FUNCTIONS:,} functions, each called once before each flush; one process each"
    columns = ["what", "flushes", "file, kB", "its merge, kB", "ratio", "largest ratio"]
    finish("service_file", options, method, results, table(columns, rows))


if __name__ == "__main__":
    main()
