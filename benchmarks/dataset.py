"""Datasets: many recordings of one program.

append   Recordings of 100,000 paths each, a hundredth of which no other recording has, into one dataset: the median
         time of a recording (read, hashed and written), the peak memory of the writer, and the bytes on disk of a path
         and process.
top      The functions with most own time, over all rows of calls by path: seconds and peak memory of a new process.
report   `seismo report` of a dataset of 400 recordings of 38,800 paths: seconds and peak memory of a new process.
         39,200 of the paths are distinct.
merge    `seismo merge` of the same recordings into one file, and `seismo report` of that.

Times and counts are drawn from log-normal distributions. `--scale 0.01` makes 10 recordings instead of 1,000, and 4
instead of 400.
"""

from __future__ import annotations

import array
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from common import apart, arguments, asked, finish, load_core, median, most_resident, number, progress, table

RECORDINGS, PATHS, FUNCTIONS = 1000, 100_000, 2000
MERGED, MERGED_PATHS = 400, 38_800
BATCH = 20  # recordings that are files at a time
OWN = PATHS // 100  # paths of one recording alone
TOP = (
    "select f.module, f.qualname, sum(c.own_ns) as own, sum(c.calls) as calls from calls_by_path c "
    "join functions f using (function) group by all order by own desc limit 20"
)


class Program:
    """A tree of functions that each recording repeats, with its own counts and times, and a few paths of its own."""

    def __init__(self, paths: int) -> None:
        from seismo.model import Builder

        some = random.Random(1)
        builder = Builder()
        process = builder.process(1, host="host", argv=["app.py"], cost_error=0.1)
        thread = builder.thread(process, "MainThread", main=1, wall_ns=10**9, cpu_ns=10**9)
        known = [builder.function(f"app.m{i % 50}", f"C{i % 9}.f{i}", f"/a/m{i % 50}.py", i) for i in range(FUNCTIONS)]
        nodes: list[int] = []
        for i in range(paths):
            parent = nodes[max(0, i - 1 - int(some.expovariate(0.1)))] if nodes else -1
            nodes.append(builder.node(parent, thread, some.choice(known), calls=1, own_ns=1))
        self._recording = builder.build({"recorder": "calltree", "seismo": "0"})
        self._leaves = sorted(set(nodes) - set(self._recording._raw["nodes"]["parent"]))
        self._calls = array.array("q", (int(some.lognormvariate(2, 2)) + 1 for _ in range(paths)))
        self._times = array.array("q", (int(n * some.lognormvariate(7, 1.5)) for n in self._calls))

    def write(self, number: int, path: Path, own: int) -> None:
        """Write a recording of the program, with this number of paths of its own."""
        from seismo.model import Recording

        some = random.Random(number)
        raw, at = self._recording._raw, some.randrange(len(self._calls))
        nodes = dict(raw["nodes"])
        for name, values in (("calls", self._calls), ("timed_ns", self._times)):
            nodes[name] = memoryview(values[at:] + values[:at])
        nodes["entered"] = nodes["timed"] = nodes["calls"]
        functions = array.array("q", nodes["function"])
        for leaf in some.sample(self._leaves, own):
            functions[leaf] = some.randrange(FUNCTIONS)
        nodes["function"] = memoryview(functions)
        start = array.array("q", [10**18 + number * 10**10])
        processes = {**raw["processes"], "start_ns": memoryview(start), "pid": memoryview(array.array("q", [number]))}
        tables = {**raw, "nodes": nodes, "processes": processes}
        Recording(tables, self._recording._strings, self._recording.meta).save(path)


def write_some(folder: str, first: int, count: int, paths: int, own: int) -> None:
    """Write recordings of the program to files."""
    program = Program(paths)
    for one in range(first, first + count):
        program.write(one, Path(folder, f"{one}.seismo"), own)


def appended(folder: str, count: int, paths: int, own: int) -> dict[str, float]:
    """Append recordings to a dataset, which is in `folder` then. Return seconds of each, peak bytes, bytes a path.

    Another process writes them, so that its memory is not in the peak.
    """
    from seismo.dataset.writer import Writer
    from seismo.model import read

    writer = Writer(Path(folder, "dataset"))
    seconds, cpu_seconds = [], []
    for first in range(0, count, BATCH):
        some = range(first, min(first + BATCH, count))
        apart(write_some, folder, first, len(some), paths, own)
        for one in some:
            file = Path(folder, f"{one}.seismo")
            start, cpu = time.perf_counter(), time.process_time()
            added = writer.add(str(file), read(file), {"version": str(one % 2)})
            seconds.append(time.perf_counter() - start)
            cpu_seconds.append(time.process_time() - cpu)
            assert added.added, added
            file.unlink()
    size = sum(path.stat().st_size for path in Path(folder, "dataset").rglob("*") if path.is_file())
    return {
        "seconds": median(seconds),
        "cpu_seconds": median(cpu_seconds),
        "peak_bytes": most_resident(),
        "bytes_a_path": size / (count * paths),
    }


def main() -> None:
    """Run the parts and print their tables."""
    parser = arguments(__doc__, 1, 1, only=("append", "report", "merge"))
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the recordings (default 1)")
    options = parser.parse_args()
    load_core()
    scale = 0.01 if options.quick else options.scale
    parts = options.only or ("append", "report", "merge")
    found: dict[str, Any] = {}
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        if "append" in parts:
            progress("append")
            count = max(1, round(RECORDINGS * scale))
            one = found["append"] = apart(appended, folder, count, PATHS, OWN)
            rows += shown(f"append {count:,} recordings: s each", one)
            rows.append(["bytes a path and process", number(one["bytes_a_path"], 1)])
            progress("top")
            found["top"] = asked("query", f"{folder}/dataset", TOP)
            rows += shown(f"top functions over {count * PATHS:,} rows: s", found["top"])
    with tempfile.TemporaryDirectory() as folder:
        if "report" in parts:
            progress("report")
            count = max(1, round(MERGED * scale))
            apart(appended, folder, count, MERGED_PATHS, 1)
            found["report"] = asked("report", f"{folder}/dataset")
            rows += shown(f"report of {count:,} recordings of {MERGED_PATHS:,} paths: s", found["report"])
        if "merge" in parts:
            progress("merge")
            count, merged = max(1, round(MERGED * scale)), f"{folder}/merged.seismo"
            apart(write_some, folder, 0, count, MERGED_PATHS, 1)
            found["merge"] = asked("merge", *(f"{folder}/{one}.seismo" for one in range(count)), "-o", merged)
            found["report of the merge"] = asked("report", merged)
            rows += shown(f"merge of {count:,} recordings of {MERGED_PATHS:,} paths: s", found["merge"])
            rows += shown("report of the merge: s", found["report of the merge"])
    method = f"one run, each command in a new process, scale {scale:g}"
    finish("dataset", options, method, found, table(["what", "value"], rows))


def shown(what: str, one: dict[str, float]) -> list[list[str]]:
    """Return the rows of what was timed."""
    return [
        [what, number(one["seconds"])],
        ["the same, CPU s", number(one["cpu_seconds"])],
        ["peak MB", number(one["peak_bytes"] / 1e6, 0)],
    ]


if __name__ == "__main__":
    main()
