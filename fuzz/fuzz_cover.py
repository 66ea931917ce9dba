"""Compare `seismo cover` with coverage.py's C tracer on random programs.

    python fuzz/fuzz_cover.py --seconds 60 [--seed N] [--count N]

The programs are functions of nested statements (tests/coverage/random_program.py). Lines and branches, executed and
missing, must be equal. INSTRUCTION events check the steps that only seismo reports. A find is printed with its seed,
and `--seed SEED --count 1 --show` repeats it and prints the program.
"""

import argparse
import faulthandler
import os
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

os.environ["COVERAGE_CORE"] = "ctrace"
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "coverage"))

import measure
import random_program

STUCK = 60  # seconds that one program may take


def differences(path: Path) -> dict[str, tuple[list[Any], list[Any]]]:
    """Return the differences by topic: what only coverage.py has, and what only seismo has."""
    name = os.path.realpath(path)
    faulthandler.dump_traceback_later(STUCK, exit=True)
    theirs, ours = measure.under_coverage(name, [name])[name], measure.under_seismo(name, [name])[name]
    faulthandler.cancel_dump_traceback_later()
    more = not_told(name, theirs, ours)
    lines = {line for _, line in more}
    unseen = {"executed": lines, "missing": lines, "taken": more, "not taken": more}
    found = {}
    for what in (*measure.NAMES, "taken", "not taken"):
        their, our = (set(map(key, side[what])) - unseen.get(what, set()) for side in (theirs, ours))
        if their != our:
            found[what] = (sorted(their - our), sorted(our - their))
    return found


def key(what: Any) -> Any:
    return tuple(what) if isinstance(what, list) else what


def not_told(path: str, theirs: dict[str, Any], ours: dict[str, Any]) -> set[tuple[int, int]]:
    """Return the steps that only seismo reports and that the program's instructions went (3.12 and later).

    Trace functions are not called for the ends of some loops (docs/hooks.md), nor coverage.py's for some coroutines.
    """
    more = set(map(key, ours["taken"])) - set(map(key, theirs["taken"]))
    return more & measure.by_instructions(path) if more and sys.version_info >= (3, 12) else set()


def main() -> int:
    """Run the programs and return 0 if nothing was found."""
    parser = argparse.ArgumentParser(description="Compares seismo cover with coverage.py on random programs.")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SECONDS") or 60))
    parser.add_argument("--seed", type=int, default=None, help="begin with this one (default: random)")
    parser.add_argument("--count", type=int, default=None, help="so many programs, whatever time they take")
    parser.add_argument("--show", action="store_true", help="print the programs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the programs have some constants for conditions
    sys.unraisablehook = lambda *_: None  # and generators that go on when they are closed
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    end, tried, found = time.monotonic() + options.seconds, 0, 0
    print(f"from seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        while found < 10 and (time.monotonic() < end if options.count is None else tried < options.count):
            text = random_program.program(random.Random(seed + tried))
            path = Path(folder) / f"program_{tried}.py"
            path.write_text(text)
            if options.show:
                print(text)
            wrong = differences(path)
            if wrong:
                found += 1
                print(f"seed {seed + tried}: {wrong}")
            tried += 1
    print(f"{tried} programs, {found} finds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
