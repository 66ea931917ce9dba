"""What remembering living objects takes: `objects_memory.py TOOL TARGET COUNT...`, one process of that benchmark.

The process makes small objects and keeps them. At each count it reads how much its resident memory grew since the tool
was started and, of seismo, what the live table says that it takes; on the way between the counts it looks at the table
after every fiftieth part, so that the worst moment, just after the table has grown, is among the readings.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import objects_tools
from common import HERE, median, number, progress, table
from memory import resident

COUNTS = (100_000, 1_000_000, 3_000_000)
QUICK_COUNTS = (100_000, 1_000_000)
STEP = 50


def child(name: str, target: str, counts: list[int]) -> None:
    """One reading, as JSON: {"counts": {count: {"growth", "table", "live"}}, "worst": bytes a live object}."""
    core = objects_tools.recorder() if name.startswith("seismo") else None
    tool = objects_tools.tools(core)[name]
    kept: list[object] = [None] * max(counts)
    found: dict[int, dict[str, int]] = {}
    worst, made = 0.0, 0
    gc.collect()
    gc.disable()
    tool.start()
    before = resident()
    while made < max(counts):
        until = min([count for count in counts if count > made] + [made + max(made // STEP, 1000)])
        for place in range(made, until):
            kept[place] = object()
        made = until
        status = core.status() if core else {}
        if status.get("live") and made >= min(counts):
            worst = max(worst, status["live_bytes"] / status["live"])
        if made in counts:
            said = {key: status[key] for key in ("live", "live_bytes") if key in status}
            found[made] = {"growth": resident() - before, **said}
    tool.stop()
    Path(target).write_text(json.dumps({"counts": found, "worst": worst}))


def reading(name: str, counts: tuple[int, ...]) -> dict[str, Any]:
    """A child process's reading. RuntimeError with its words when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "reading.json"
        command = [sys.executable, str(HERE / "objects_memory.py"), name, str(target), *map(str, counts)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: exit {done.returncode}\n{done.stderr}")
        result: dict[str, Any] = json.loads(target.read_text())
        return result


def measure(names: list[str], counts: tuple[int, ...], rounds: int) -> dict[str, Any]:
    """{tool: {count: resident bytes a live object over bare, "table": {count: bytes}, "worst": bytes}}."""
    readings: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for turn in range(rounds):
        for name in names:
            progress(f"memory, round {turn + 1} of {rounds}: {name}")
            readings[name].append(reading(name, counts))
    bare = {count: median([one["counts"][str(count)]["growth"] for one in readings["bare"]]) for count in counts}
    found: dict[str, Any] = {}
    for name, taken in readings.items():
        if name == "bare":
            continue
        row: dict[str, Any] = {"table": {}}
        for count in counts:
            at = [one["counts"][str(count)] for one in taken]
            row[str(count)] = (median([one["growth"] for one in at]) - bare[count]) / count
            if at[0].get("live_bytes"):
                row["table"][str(count)] = at[0]["live_bytes"] / at[0]["live"]
        if taken[0]["worst"]:
            row["worst"] = max(one["worst"] for one in taken)
        found[name] = row
    return found


def render(found: dict[str, Any], counts: tuple[int, ...]) -> str:
    """The table: bytes a live object of each tool."""
    head = ["bytes a live object", *(f"{count:,} alive" for count in counts)]
    rows = []
    for name, row in found.items():
        rows.append([f"{name}, resident", *(number(row[str(count)], 1) for count in counts)])
        if row["table"]:
            rows.append([f"{name}, live table", *(number(row["table"].get(str(c)), 1) for c in counts)])
            rows.append([f"{name}, live table at its worst", *[""] * (len(counts) - 1), number(row["worst"], 1)])
    return table(head, rows)


if __name__ == "__main__":
    child(sys.argv[1], sys.argv[2], [int(word) for word in sys.argv[3:]])
