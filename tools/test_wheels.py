"""Install wheels where they would run, and try them: each interpreter on standard input takes its wheel from dist.

Standard input has a line for each interpreter, as for tools/matrix.py; --here takes this one. A new virtual environment
gets the wheel by pip, and tools/try_wheel.py runs there, with a search path that has no compiler and no other program.
The same is done once with what pip builds from the source distribution, by the machine's compiler.

With --suite, each interpreter runs tests of the checkout instead, with the wheel of `tools/wheels.py --testing`: those
of the readers of files and traces, and those of all sources. What they need is downloaded for the processor and C
library, but greenlet's wheel for musl is not: it crashes on import.

The interpreter of tools/musl_python.sh tries its wheel, too. It has no TLS: this interpreter downloads what seismo
depends on.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from requirements import requirements

ROOT = Path(__file__).resolve().parents[1]
PLACES = ROOT / "build" / "wheels" / "installed"
DEPENDENCIES = PLACES / "dependencies"
SUITE = ["tests/native/file", "tests/native/trace", "tests/pure", "tests/parity"]
SUITE_NEEDS = ["rich", "pytest", "pytest-timeout", "hypothesis", "jsonschema", "coverage"]
BUILDS_A_WHEEL = "tests/pure/test_without_core.py::test_the_wheel_is_for_every_platform"  # by pip, which is not there
PYTEST_OPTIONS = ["-q", "-p", "no:cacheprovider", "--timeout", "1800", "-m", "not matrix"]
PYTEST_OPTIONS += ["--deselect", BUILDS_A_WHEEL]
# Under emulation, Hypothesis would reject its own inputs because making them takes long.
PYTEST_OPTIONS += ["--hypothesis-profile", "ci"]
FROM_SOURCE = "source"
MUSL = ROOT / "build" / "wheels" / "musl" / "bin" / "python3"


def try_wheel(label: str, command: list[str], dist: Path) -> bool:
    """Install the wheel for an interpreter, or the source distribution, and try it. Return True if all went well."""
    place = PLACES / label
    python = str(place / "bin" / "python")
    kinds = ["--no-binary", "seismo"] if label == FROM_SOURCE else ["--only-binary", ":all:"]
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *kinds]
    links = ["--no-index", "--find-links", str(dist), "--find-links", str(DEPENDENCIES)]
    steps = [
        [command[-1], "-m", "venv", str(place)],
        [*pip, *links, "seismo"],  # pip picks the file
        ["/usr/bin/env", "-i", "PATH=/nowhere", f"HOME={place}", python, "-I", str(ROOT / "tools" / "try_wheel.py")],
    ]
    return run_steps(label, place, [[*command[:-1], *step] for step in steps])


def run_steps(label: str, place: Path, steps: list[list[str]]) -> bool:
    """Run commands for an interpreter in a new folder until one fails. Return True if all succeed."""
    shutil.rmtree(place, ignore_errors=True)
    print(f"== {label}", flush=True)
    began = time.monotonic()
    passed = True
    for step in steps:
        before = time.monotonic()
        passed = passed and subprocess.run(step, cwd=ROOT, check=False).returncode == 0
        if step[-1] == "seismo":
            print(f"{time.monotonic() - before:6.2f} s  pip install seismo", flush=True)
    print(f"== {label}: {'passed' if passed else 'FAILED'} after {time.monotonic() - began:.0f} s", flush=True)
    return passed


def run_suite(label: str, command: list[str], dist: Path) -> bool:
    """Run the tests with an interpreter of another platform. Return True if all pass. Prints what fails, and why."""
    place = PLACES / f"{label}-suite"
    machine, version = ("aarch64" if "arm64" in label else "x86_64"), label.partition("-")[0]
    is_musl = "musl" in label
    systems = ["musllinux_1_2"] if is_musl else ["manylinux_2_28", "manylinux_2_17", "manylinux2014"]
    target = place / "lib" / f"python{version}" / "site-packages"
    platforms = [word for system in systems for word in ("--platform", f"{system}_{machine}")]
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:"]
    pip += ["--target", str(target), "--python-version", version, *platforms]
    enter = [*command[:-1], "/usr/bin/env", "-i", "PATH=/usr/bin:/bin", f"HOME={place}", str(place / "bin" / "python")]
    steps = [
        [*command, "-m", "venv", "--without-pip", str(place)],
        [*pip, *SUITE_NEEDS, *([] if is_musl else ["greenlet"])],
        [*pip, "--no-deps", "--no-index", "--find-links", str(dist), "seismo"],
        [*enter, "-m", "pytest", *PYTEST_OPTIONS, *SUITE],
    ]
    return run_steps(f"{label}, tests", place, steps)


def main() -> int:
    """Try the wheels. Return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--here", action="store_true", help="this interpreter only")
    parser.add_argument("--suite", action="store_true", help="run tests of the checkout")
    parser.add_argument("dist", type=Path, help="the folder with the wheels")
    args = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(("SEISMO", "PYTHON"))]:
        del os.environ[name]
    lines = [f"here {sys.executable}"] if args.here else sys.stdin.read().splitlines()
    if MUSL.exists() and not args.here:
        lines.append(f"3.14-musl {MUSL}")
    if not args.suite:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--only-binary", ":all:"]
        build_system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
        subprocess.run([*pip, "--dest", str(DEPENDENCIES), *requirements(), *build_system], check=True)
        if not args.here:
            lines.append(f"{FROM_SOURCE} {sys.executable}")
    trial = run_suite if args.suite else try_wheel
    passed = [trial(label, command, args.dist.resolve()) for label, *command in map(str.split, lines)]
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    return 0 if passed and all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
