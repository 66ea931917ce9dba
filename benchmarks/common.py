"""Shared code of all benchmarks: options, builds of the empty hook, processes, statistics, tables.

All times are float seconds unless a name indicates otherwise. A benchmark compares tools only within one process (or
one interleaved series of processes), because the machine's speed drifts by more than the measured differences.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.util
import json
import math
import os
import platform
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any, NoReturn

from targets import dig, targets_of

if TYPE_CHECKING:
    from types import ModuleType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = HERE / "build"
SUITES = BUILD / "suites"
LEFT_OUT = 3  # exit status of a benchmark that lacks a requirement and has reported it
Case = Callable[[], object]


def load_floor() -> ModuleType:
    """Return the extension of floor/floor.c, compiled if it or seismo.h is newer than the build.

    Raise RuntimeError with the compiler's output if it does not compile.
    """
    # Patch releases share a cache tag but not always a C library.
    here = f"{sys.implementation.name}-{platform.python_version()}-{platform.machine()}"
    source, header = HERE / "floor" / "floor.c", ROOT / "src" / "seismo" / "include" / "seismo.h"
    target = BUILD / "floor" / here / f"floor_hook{sysconfig.get_config_var('EXT_SUFFIX')}"
    newest = max(path.stat().st_mtime for path in (source, header))
    if not target.exists() or target.stat().st_mtime < newest:
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
        flags = ["-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
        folders = [f"-I{folder}" for folder in (sysconfig.get_paths()["include"], header.parent)]
        output_of([*compiler, *flags, *folders, str(source), "-o", str(target)])
    spec = importlib.util.spec_from_file_location("floor_hook", target)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STARTS = ("PY_START", "PY_RESUME", "PY_UNWIND", "PY_THROW")
MONITORED = {
    "starts": STARTS,
    "monitoring": (*STARTS, "PY_RETURN", "PY_YIELD"),
    "monitoring-c": (*STARTS, "PY_RETURN", "PY_YIELD", "CALL", "C_RETURN", "C_RAISE"),
    "line": ("LINE",),
}


def empty_hook(name: str, callback: str = "callback") -> tuple[Case, Case]:
    """Return the functions that install and remove an empty hook: one of MONITORED (from 3.12 on) or of floor.c.

    callback: that of floor.c for sys.monitoring, "callback" or "disabling".
    """
    floor, monitoring = load_floor(), getattr(sys, "monitoring", None)
    if monitoring is None or name not in MONITORED:
        return partial(floor.start, name), floor.stop
    tools: list[int] = []

    def start() -> None:
        tools.append(next(tool for tool in (2, 3, 4, 5, 0, 1) if monitoring.get_tool(tool) is None))
        monitoring.use_tool_id(tools[0], "empty hook")
        register(getattr(floor, callback))
        monitoring.set_events(tools[0], sum(getattr(monitoring.events, event) for event in MONITORED[name]))

    def register(callback: object) -> None:
        for event in MONITORED[name]:
            monitoring.register_callback(tools[0], getattr(monitoring.events, event), callback)

    def stop() -> None:
        monitoring.set_events(tools[0], 0)
        register(None)
        monitoring.free_tool_id(tools.pop())

    return start, stop


def load_core() -> Any:
    """Return seismo's native core, or exit with LEFT_OUT if it is missing."""
    try:
        return importlib.import_module("seismo._core")
    except ImportError as error:
        leave_out(str(error))


def leave_out(why: str) -> NoReturn:
    """Exit a benchmark that lacks a requirement."""
    print(f"left out: {why}", file=sys.stderr)
    sys.exit(LEFT_OUT)


def machine() -> dict[str, Any]:
    """Return the facts for judging the numbers: processor, cores, system, interpreter and its build."""
    model = platform.processor()
    with contextlib.suppress(OSError):
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        model = found[1].strip() if found else model
    arguments = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    return {
        "python": platform.python_version(),
        "compiler": platform.python_compiler(),
        "enable_optimizations": "--enable-optimizations" in arguments,
        "build": str(sysconfig.get_config_var("OPT") or ""),
        "processor": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "load_at_start": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


# ---- processes ----

APART = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
function = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])
print("\\n" + json.dumps(function(*json.loads(sys.argv[4]))))
"""
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10000))"


def apart(function: Callable[..., Any], *values: object) -> Any:
    """Call a benchmark's function in a new process; arguments and result are JSON. Raise RuntimeError if it fails."""
    stem = Path(function.__code__.co_filename).stem
    command = [sys.executable, "-c", APART, str(HERE), stem, function.__name__, json.dumps(values)]
    return json.loads(output_of(command).splitlines()[-1])


def output_of(command: Sequence[str], **how: Any) -> str:
    """Run a command and return its output. Raise RuntimeError with its output if it fails."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = subprocess.run(command, text=True, check=False, **pipes | how)
    if done.returncode:
        words = f"{shlex.join(command)[:500]}: exit {done.returncode}"
        raise RuntimeError(f"{words}\n{done.stdout[-2000:]}{(done.stderr or '')[-2000:]}")
    return done.stdout


def answered(*words: str) -> dict[str, float]:
    """Run a command of seismo in this process, which is new. Return the seconds of processors and the peak bytes."""
    from seismo.cli.main import main

    main(list(words))
    return {"cpu_seconds": time.process_time(), "peak_bytes": most_resident()}


def asked(*words: str) -> dict[str, float]:
    """Run a command of seismo in a new process. Return its seconds, those of processors, and its peak bytes."""
    start = time.perf_counter()
    of_process = apart(answered, *words)
    return {"seconds": time.perf_counter() - start, **of_process}


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep this number of processors busy inside the context."""
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def most_resident(process: int | str = "self") -> int:
    """Return the peak resident bytes of a process.

    Unlike getrusage, it excludes the process that it was forked from.
    """
    return int(Path(f"/proc/{process}/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024


def installed(name: str) -> bool:
    """Return True if a distribution is installed. Modules are not checked: a file here may have the same name."""
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def fetched(name: str, release: str) -> Path:
    """Return the folder of a package's sources and tests, downloaded on first use. Raise RuntimeError if that fails."""
    folder = SUITES / f"{name.replace('-', '_')}-{release}"
    if not (folder / "tests").is_dir():
        SUITES.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        output_of([*command, "--dest", str(SUITES), f"{name}=={release}"])
        with tarfile.open(f"{folder}.tar.gz") as contents:
            contents.extractall(SUITES, filter="data")
    return folder


# ---- numbers and tables ----


def timed(body: Case, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of one run. Garbage is collected before and not during it, so no tool pays for another's.

    `clock` is time.thread_time to exclude other processes, for tools that work in this thread.
    """
    gc.collect()
    gc.disable()
    try:
        start = clock()
        body()
        return clock() - start
    finally:
        gc.enable()


def geomean(values: Iterable[float]) -> float:
    """Return the geometric mean of the positive values, or nan if there are none."""
    positive = [value for value in values if value > 0]
    return geometric_mean(positive) if positive else math.nan


def spread(values: Sequence[float]) -> float:
    """Return (median - best) / best, a measure of the machine's noise."""
    best = min(values)
    return (median(values) - best) / best if best else 0.0


def unrest(values: Sequence[float]) -> float:
    """Return (second best - best) / best, a measure of the reproducibility of the best reading."""
    ordered = sorted(values)
    return ordered[1] / ordered[0] - 1 if len(ordered) > 1 else 0.0


def number(value: float | None, digits: int = 2) -> str:
    """Return a number as a cell, or a dash if there is none."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns; the first column is text, the others are numbers."""
    body = [list(row) for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *body]) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        numbers = (f" {cell:>{width}} |" for cell, width in zip(cells[1:], widths[1:], strict=True))
        return f"| {cells[0]:<{widths[0]}} |{''.join(numbers)}"

    rule = f"|{'-' * (widths[0] + 2)}|{''.join('-' * (width + 1) + ':|' for width in widths[1:])}"
    return "\n".join([line(head), rule, *(line(row) for row in body)])


def arguments(
    description: str | None, rounds: int, quick_rounds: int, only: Iterable[str] = ()
) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has. `only` has the names of parts that can be selected."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help=f"rounds, all tools in turn in each (default {rounds})")
    parser.add_argument("--quick", action="store_true", help=f"a rough reading: {quick_rounds} rounds, smaller bodies")
    parser.add_argument("--json", metavar="OUT", help="write all readings to this file")
    if only:
        parser.add_argument("--only", nargs="+", choices=list(only), metavar="NAME", help=f"of {', '.join(only)}")
    parser.set_defaults(default_rounds=rounds, quick_rounds=quick_rounds)
    return parser


def rounds_of(options: argparse.Namespace) -> int:
    """Return the number of rounds that the options request."""
    return int(options.rounds or (options.quick_rounds if options.quick else options.default_rounds))


def progress(text: str) -> None:
    """Show the current measurement, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def finish(name: str, options: argparse.Namespace, method: str, results: dict[str, Any], text: str) -> None:
    """Print the table with machine, method and targets; the JSON has benchmark, machine, method, results, text."""
    about = machine()
    progress("")
    system = f"{about['processor']}, {about['cores']} cores, {about['system']}"
    print(f"{name} on Python {about['python']} ({about['compiler']}), {system}\nMethod: {method}\n\n{text}")
    promised = [[one.text, one.shown, number(dig(results, *one.keys), one.digits)] for one in targets_of(name)]
    if promised:
        print("\n" + table(["", "target", "measured"], promised))
    if options.json:
        document = {"benchmark": name, "machine": about, "method": method, "results": results, "text": text}
        target = Path(options.json)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(document, indent=1, allow_nan=True) + "\n")
