"""Run all benchmarks on all interpreters and write docs/performance.md and docs/performance/LABEL.md (pages.py).

    benchmarks/run_all.py                                       this interpreter, the full suite
    benchmarks/run_all.py --quick --only overhead truth         a rough reading of two
    benchmarks/run_all.py --python 3.11=python3.11 --python "3.14=COMMAND ... python3.14"
    benchmarks/run_all.py --docs-only                           write the tables again from the last results

--python LABEL=COMMAND names an interpreter; the last word of COMMAND is the interpreter, words before it are a prefix
that runs it (in a container, another root folder ...) and must keep the current folder and the environment. Each gets a
virtual environment .venvs-bench/LABEL with the packages of benchmarks/requirements.txt and a separate build of seismo
under benchmarks/build. The machine should be otherwise idle. Results are JSON under benchmarks/build/results/LABEL.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from common import BUILD, LEFT_OUT, ROOT, output_of
from pages import BENCHMARKS, RESULTS, write_pages

NAMES = list(BENCHMARKS)
ENVIRONMENTS = ROOT / ".venvs-bench"


@dataclass
class Interpreter:
    """An interpreter: its label, and the command that runs it."""

    label: str
    command: list[str]

    @property
    def python(self) -> list[str]:
        """The environment's interpreter as a relative path, because a prefix may change the root but not the folder."""
        return [*self.command[:-1], str(Path(".venvs-bench") / self.label / "bin" / "python")]

    @property
    def library(self) -> Path:
        """The folder with this interpreter's build of seismo."""
        return BUILD / f"seismo-{self.label}" / "lib"


def parse_interpreter(text: str) -> Interpreter:
    """Return the interpreter for LABEL=COMMAND. Raise ArgumentTypeError for other text."""
    label, equals, command = text.partition("=")
    words = shlex.split(command)
    if not equals or not words or not label or "/" in label:
        raise argparse.ArgumentTypeError(f"{text!r} is not LABEL=COMMAND")
    return Interpreter(label, words)


def environment(interpreter: Interpreter) -> dict[str, str]:
    """Return the environment of a benchmark: this interpreter's seismo first, no debugging or testing switches."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SEISMO", "PYTHON"))}
    return {**kept, "PYTHONPATH": str(interpreter.library)}


def prepare(interpreter: Interpreter) -> None:
    """Make the virtual environment and build seismo. Raise SystemExit with the command's output if a step fails."""
    base = interpreter.library.parent
    base.mkdir(parents=True, exist_ok=True)
    build = ["setup.py", "-q", "build", "--build-base", str(base / "base"), "--build-lib", str(interpreter.library)]
    steps = [
        [*interpreter.python, "-m", "pip", "install", "-q", "-r", "benchmarks/requirements.txt"],
        [*interpreter.python, *build],
    ]
    if not (ENVIRONMENTS / interpreter.label / "bin").is_dir():
        steps.insert(0, [*interpreter.command, "-m", "venv", f".venvs-bench/{interpreter.label}"])
    for step in steps:
        try:
            output_of(step, cwd=ROOT, env=environment(interpreter))
        except RuntimeError as error:
            raise SystemExit(f"{interpreter.label}: {error}") from None


def run(interpreter: Interpreter, name: str, quick: bool) -> bool:
    """Run one benchmark, with its table on stdout and its JSON under results. Return False if it fails."""
    target = RESULTS / interpreter.label / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [*interpreter.python, f"benchmarks/{name}.py", "--json", str(target)]
    start = time.monotonic()
    print(f"--- {name} on {interpreter.label}", flush=True)
    done = subprocess.run(command + (["--quick"] if quick else []), cwd=ROOT, env=environment(interpreter), check=False)
    print(f"--- {name} on {interpreter.label}: {time.monotonic() - start:.0f} s\n", flush=True)
    if done.returncode == LEFT_OUT:
        return True
    if done.returncode:
        print(f"{name} on {interpreter.label} failed: exit {done.returncode}", file=sys.stderr)
        target.unlink(missing_ok=True)
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="rough readings, which are not written to the pages")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=" ".join(NAMES))
    parser.add_argument("--python", action="append", type=parse_interpreter, metavar="LABEL=COMMAND", default=[])
    parser.add_argument("--docs-only", action="store_true", help="only write the pages from the last results")
    options = parser.parse_args()
    here = Interpreter(".".join(platform.python_version_tuple()[:2]), [sys.executable])
    chosen: list[Interpreter] = options.python or [here]
    failed = False
    if not options.docs_only:
        for interpreter in chosen:
            prepare(interpreter)
        for interpreter in chosen:
            for name in options.only:
                failed |= not run(interpreter, name, options.quick)
    if not options.quick:
        for path in write_pages():
            print(f"{path.relative_to(ROOT)} is written")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
