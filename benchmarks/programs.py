"""pyperformance's programs as plain callables, and as scripts.

Their sources come from the PyPI package `pyperformance` (downloaded once to build/) and are not part of this
repository. Each run_benchmark.py runs as `__main__` with a stand-in for the `pyperf` module, whose Runner keeps the
callables that it receives instead of timing them in processes. So exactly the body that pyperformance measures is
measured here.

The set is fixed. Programs with almost no calls of Python functions (nbody, fannkuch, the peers of spectral_norm) are
left out: a hook on calls costs nothing there, so a ratio would be meaningless.
"""

from __future__ import annotations

import argparse
import runpy
import subprocess
import sys
import time
import types
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = "1.14.0"
CACHE = Path(__file__).resolve().parent / "build" / f"pyperformance-{VERSION}"
SCRIPTS = CACHE.parent / "scripts"
KEPT: list[dict[str, Any]] = []


@dataclass(frozen=True)
class Program:
    """One body, 40 to 120 ms without hooks.

    It has the folder bm_<folder>, its options, its name at the Runner ("" for the only one), the inner loops of one
    body, and the number of repeats of the body.
    """

    folder: str
    options: tuple[str, ...] = ()
    body: str = ""
    loops: int = 1
    repeat: int = 1


PROGRAMS: dict[str, Program] = {
    "deltablue": Program("deltablue", repeat=10),
    "richards": Program("richards"),
    "chaos": Program("chaos", ("--iterations", "3000", "--width", "128", "--height", "128")),
    "go": Program("go"),
    "float": Program("float", ("--points", "40000")),
    "hexiom": Program("hexiom", ("--level", "25"), loops=6),
    "raytrace": Program("raytrace", ("--width", "36", "--height", "36")),
    "monte_carlo": Program("scimark", ("monte_carlo",), "scimark_monte_carlo"),
    "generators": Program("generators"),
    "coroutines": Program("coroutines", loops=2),
    "deepcopy": Program("deepcopy", (), "deepcopy", loops=120),
    "logging": Program("logging", ("simple",), "logging_simple", loops=500),
    "sqlglot": Program("sqlglot_v2", ("optimize",), "sqlglot_v2_optimize"),
    "regex_compile": Program("regex_compile"),
}


def sources() -> Path:
    """Return the folder of pyperformance's benchmarks, downloaded on first use. Raise RuntimeError if that fails."""
    folder = CACHE / "pyperformance" / "data-files" / "benchmarks"
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(CACHE)]
        done = subprocess.run([*command, f"pyperformance=={VERSION}"], capture_output=True, text=True, check=False)
        wheels = sorted(CACHE.glob("pyperformance-*.whl"))
        if done.returncode or not wheels:
            raise RuntimeError(f"pyperformance {VERSION} cannot be downloaded:\n{done.stderr}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(CACHE)
    return folder


class Runner:
    """A replacement of pyperf.Runner that keeps callables instead of timing them."""

    options: tuple[str, ...] = ()
    loops = 1
    bodies: dict[str, Callable[[], object]]

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.argparser = argparse.ArgumentParser()
        self.metadata: dict[str, object] = {}
        self._parsed: argparse.Namespace | None = None

    @property
    def args(self) -> argparse.Namespace:
        return self.parse_args()

    def parse_args(self, args: object = None) -> argparse.Namespace:
        if self._parsed is None:
            self._parsed = self.argparser.parse_args(list(Runner.options))
        return self._parsed

    def bench_func(self, name: str, function: Callable[..., object], *args: object, **kwargs: object) -> None:
        loops = Runner.loops

        def body() -> None:
            for _ in range(loops):
                function(*args)

        Runner.bodies[name] = body

    def bench_time_func(self, name: str, function: Callable[..., object], *args: object, **kwargs: object) -> None:
        loops = Runner.loops
        Runner.bodies[name] = lambda: function(loops, *args)


def stand_in() -> types.ModuleType:
    """Return the replacement of the module pyperf."""
    module: Any = types.ModuleType("pyperf")
    module.Runner, module.perf_counter = Runner, time.perf_counter
    module.python_implementation = lambda: sys.implementation.name
    return module  # type: ignore[no-any-return]


def script(name: str) -> Path:
    """Return the program as a script, `SCRIPT REPEATS`, for tools that examine the user's script."""
    target = SCRIPTS / f"{name}.py"
    before = f"import sys; sys.path.append({str(CACHE.parents[1])!r}); import programs; programs.prepare({name!r})\n"
    target.parent.mkdir(parents=True, exist_ok=True)
    head, future, text = source(name).read_text().rpartition("from __future__ import annotations\n")
    target.write_text(f"{head}{future}{before}{text}\n\nprograms.repeat({name!r}, int(sys.argv[-1]))\n")
    return target


def source(name: str) -> Path:
    """Return the file of a program. Raise KeyError if the name is unknown."""
    return sources() / f"bm_{PROGRAMS[name].folder}" / "run_benchmark.py"


def prepare(name: str) -> None:
    """Install the replacement of pyperf for the program's file, which may import modules beside it."""
    sys.path.append(str(source(name).parent))
    Runner.options, Runner.loops, Runner.bodies = PROGRAMS[name].options, PROGRAMS[name].loops, {}
    sys.modules["pyperf"] = stand_in()
    warnings.simplefilter("ignore", DeprecationWarning)


def body_of(name: str) -> Callable[[], object]:
    """Return the body that the program's file has passed to the Runner."""
    program, bodies = PROGRAMS[name], Runner.bodies
    body = bodies[program.body] if program.body else next(iter(bodies.values()))
    if program.repeat == 1:
        return body

    def repeated() -> None:
        for _ in range(program.repeat):
            body()

    return repeated


def repeat(name: str, times: int) -> None:
    """Run the body that the script has passed to the Runner."""
    body = body_of(name)
    for _ in range(times):
        body()


def load(name: str) -> Callable[[], object]:
    """Return the program's body, which can be run repeatedly. KeyError: unknown name; ImportError: missing module."""
    prepare(name)
    KEPT.append(runpy.run_path(str(source(name)), run_name="__main__"))  # the globals of the body's functions
    return body_of(name)
