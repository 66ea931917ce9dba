"""What all benchmarks share: the empty hook's build, interleaved timing, the machine's description, tables.

All times are float seconds unless a name says otherwise. A benchmark compares tools only within one process run (or
one interleaved series of processes): the machine's speed drifts by more than the differences that are measured.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import math
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = HERE / "build"
Case = Callable[[], object]


def here_tag() -> str:
    """A folder name for this very interpreter: two patch releases share a cache tag but not always a C library."""
    return f"{sys.implementation.name}-{platform.python_version()}-{platform.machine()}"


def load_floor() -> ModuleType:
    """The extension of floor/floor.c, compiled on the first use for this interpreter. RuntimeError if that fails."""
    return load_extension("floor_hook", HERE / "floor" / "floor.c")


def load_extension(name: str, source: Path, *headers: Path) -> ModuleType:
    """The extension module of one C file, compiled where it or one of the headers it includes is newer than the last.

    RuntimeError: it does not compile, with the compiler's words.
    """
    target = BUILD / "floor" / here_tag() / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    newest = max(path.stat().st_mtime for path in (source, *headers))
    if not target.exists() or target.stat().st_mtime < newest:
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
        command = [*compiler, "-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
        folders = [sysconfig.get_paths()["include"], *(str(header.parent) for header in headers)]
        command += [*(f"-I{folder}" for folder in folders), str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{source.name} does not compile: {shlex.join(command)}\n{done.stderr}")
    spec = importlib.util.spec_from_file_location(name, target)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_core() -> ModuleType | None:
    """Seismo's native core if it can be imported and has the engine, else None (the benchmark then runs without it)."""
    try:
        core = importlib.import_module("seismo._core")
    except ImportError as error:
        print(f"seismo is left out: {error}", file=sys.stderr)
        return None
    if not hasattr(core, "start"):
        print("seismo is left out: its core has no engine", file=sys.stderr)
        return None
    return core


def machine() -> dict[str, Any]:
    """What a reader needs to judge the numbers: processor, cores, system, interpreter and how that was built."""
    model = platform.processor()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    arguments = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    return {
        "python": platform.python_version(),
        "compiler": platform.python_compiler(),
        "enable_optimizations": "--enable-optimizations" in arguments,
        "build": str(sysconfig.get_config_var("OPT") or ""),
        "processor": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "load_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def timed(body: Case, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one run, the collector emptied before and off meanwhile: no tool pays for another's garbage.

    clock: time.thread_time where other processes are not to be in it, and the tool does its work in this thread.
    """
    gc.collect()
    gc.disable()
    try:
        start = clock()
        body()
        return clock() - start
    finally:
        gc.enable()


def median(values: Sequence[float]) -> float:
    """The middle of the values, or the mean of the two in the middle. ValueError when there are none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def geomean(values: Iterable[float]) -> float:
    """The geometric mean of positive values; nan when there are none."""
    logs = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def spread(values: Sequence[float]) -> float:
    """(median - best) / best: how far a usual reading lies above the best one; a measure of the machine's unrest."""
    best = min(values)
    return (median(values) - best) / best if best else 0.0


def unrest(values: Sequence[float]) -> float:
    """(second best - best) / best: how well the best reading was met again."""
    ordered = sorted(values)
    return ordered[1] / ordered[0] - 1 if len(ordered) > 1 else 0.0


def summary(values: Sequence[float]) -> dict[str, Any]:
    """best, median, spread and count of a series of readings, for the JSON."""
    return {"best": min(values), "median": median(values), "spread": spread(values), "n": len(values)}


def number(value: float | None, digits: int = 2) -> str:
    """A number for a table; a dash for what is not there."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with aligned columns; the first column is text, the others are numbers."""
    body = [list(row) for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *body]) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return "\n".join([line(head), rule, *(line(row) for row in body)])


def arguments(description: str | None, rounds: int, quick_rounds: int) -> argparse.ArgumentParser:
    """The options that every benchmark has. `rounds` is None until given: see rounds_of."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help=f"rounds, all tools in turn in each (default {rounds})")
    parser.add_argument("--quick", action="store_true", help=f"a rough reading: {quick_rounds} rounds, smaller bodies")
    parser.add_argument("--json", metavar="OUT", help="write all readings to this file")
    parser.set_defaults(default_rounds=rounds, quick_rounds=quick_rounds)
    return parser


def rounds_of(options: argparse.Namespace) -> int:
    """How many rounds the options ask for."""
    rounds: int = options.rounds or (options.quick_rounds if options.quick else options.default_rounds)
    return rounds


def progress(text: str) -> None:
    """What is being measured now, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def finish(name: str, options: argparse.Namespace, method: str, results: dict[str, Any], text: str) -> None:
    """Print the table with machine and method; the JSON has benchmark, machine, method, results, text."""
    about = machine()
    progress("")
    print(
        f"{name} on Python {about['python']} ({about['compiler']}), "
        f"{about['processor']}, {about['cores']} cores, {about['system']}"
    )
    print(f"Method: {method}\n")
    print(text)
    if options.json:
        document = {"benchmark": name, "machine": about, "method": method, "results": results, "text": text}
        target = Path(options.json)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(document, indent=1, allow_nan=True) + "\n")
