"""What `pytest --seismo-check` says of the test suites of packages from PyPI.

Each suite is measured once for its baseline and then checked twice as it is, while other processes keep all cores busy:
there should be no alarm. Then one of its functions is edited so that it does more, and is to be named first.

    python benchmarks/suites.py                  attrs, jinja2, more-itertools: some twenty minutes
    python benchmarks/suites.py --only jinja2    one of them
"""

# ruff: noqa: E501  edits are shown as they are made
from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from check import SUITES, busy, commit, fetched
from common import arguments, finish, progress, table

CHECKS = 2
PLUGINS = ["xdist", "cacheprovider", "cov", "benchmark", "timeout", "anyio"]


@dataclass(frozen=True)
class Suite:
    """A package's tests: its version, the folder of its sources, pytest's words; an edit, and the function it is in."""

    version: str
    source: str
    words: tuple[str, ...]
    file: str
    before: str
    after: str
    function: str


NO_TRIO = ("--ignore=tests/test_async.py", "--ignore=tests/test_async_filters.py")
OF = {
    "jinja2": Suite(
        "3.1.6", "src", ("tests", *NO_TRIO), "src/jinja2/lexer.py",
        "    lexer = _lexer_cache.get(key)", "    lexer = None", "get_lexer",
    ),
    "attrs": Suite(
        "26.1.0", "src", ("tests/test_make.py", "tests/test_dunders.py", "tests/test_slots.py"), "src/attr/_make.py",
        "    own_attrs = [\n", "    for _ in range(30): sorted(ca_list, key=lambda pair: str(pair[0]))\n    own_attrs = [\n", "_transform_attrs",
    ),
    "more-itertools": Suite(
        "11.2.1", ".", ("tests",), "more_itertools/more.py",
        "    iterator = iter(partial(take, n, iter(iterable)), [])", "    iterator = iter(partial(take, n, iter(list(map(lambda one: one, iterable)))), [])", "chunked",
    ),
}  # fmt: skip


def ran(folder: Path, suite: Suite, *words: str) -> tuple[int, str]:
    """A check of the suite: pytest's exit status, and what the check said."""
    path = os.pathsep.join(filter(None, [str(folder / suite.source), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "pytest", "-q", *(f"-pno:{name}" for name in PLUGINS), "--seismo-check", *words]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [*command, *suite.words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    said = done.stdout.partition("= seismo check =")[2]
    if not said or "tests failed" in said or ("--seismo-update" in words and done.returncode):
        raise RuntimeError(f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode, said


def checked(name: str, checks: int) -> dict[str, Any]:
    """What became of a suite."""
    suite = OF[name]
    source = fetched(name, suite.version)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "project"
        shutil.copytree(source, folder)
        commit(folder)
        progress(f"{name}: the baseline")
        ran(folder, suite, "--seismo-update")
        same = []
        for turn in range(checks):
            progress(f"{name}: check {turn + 1}")
            same.append(ran(folder, suite))
        edited = folder / suite.file
        text = edited.read_text()
        if suite.before not in text:
            raise RuntimeError(f"{name} has changed: {suite.before!r} is not in {suite.file}")
        edited.write_text(text.replace(suite.before, suite.after, 1))
        progress(f"{name}: the edit")
        status, said = ran(folder, suite)
    named = re.findall(r"^  \d+\. \S+?:(\S+)", said, re.MULTILINE)
    return {
        "suite": name,
        "alarms": sum("exceeded" in said or "worse than linear" in said for _, said in same),
        "undecided": sum(bool(status) and "exceeded" not in said for status, said in same),
        "found": status == 1 and "exceeded" in said,
        "rank": named.index(suite.function) + 1 if suite.function in named else 0,
        "named": named[:3],
        "said": [said for status, said in same if status],
    }


def main() -> None:
    """Measures, and prints."""
    parser = arguments(__doc__, 1, 1)
    parser.add_argument("--only", choices=tuple(OF), help="check only this one")
    options = parser.parse_args()
    SUITES.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(busy())
        rows = [checked(name, CHECKS) for name in OF if options.only in (None, name)]
    shown = [
        [
            row["suite"],
            row["alarms"],
            row["undecided"],
            "first" if row["rank"] == 1 else f"{row['rank'] or 'not'} {row['named']}",
        ]
        for row in rows
    ]
    text = table(
        ["suite", f"false alarms in {CHECKS}", "undecided", "edited function named"],
        [[str(cell) for cell in row] for row in shown],
    )
    finish(
        "suites", options, "a baseline, two checks of the same, one of an edit; a busy machine", {"suites": rows}, text
    )


if __name__ == "__main__":
    main()
