"""The marker seismo_no_leaks: a test that leaves objects behind whenever it runs fails.

It runs a test several times in a row. What is called a leak is a kind of object, of one type and made by one
line, of which every counted run has left some alive when all runs are over and the garbage is collected. That is
stricter than "there are more objects than before", and it has to be: the first run fills caches (warmup), a cache of
one entry always holds what the last run made, and a registry that is emptied and filled again holds as much as before.
None of them has something of every run. What grows with every run has.

Only the inside of a run is recorded, by the numbers of the births: an interval for each run. Between the runs this
thread is quiet: what pytest and this file make there is not recorded. Deaths are seen all the time.

A test runs by its item's own runtest(), so that methods of TestCase get their setUp and tearDown each time, and tests
that a plugin runs in an event loop run in it. Its fixtures are set up once; pytest's own are put back between the runs
(pytest_again). What pytest itself makes while it runs a test, it keeps for its own reasons, and that is left out too.
"""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Self

import pytest

from seismo.errors import SeismoError, UsageError
from seismo.escape import printable
from seismo.plugins.pytest.objects_fixture import interrupted, started, unavailable
from seismo.plugins.pytest.rerun import empty_caches, put_back
from seismo.process.engine import unrecorded
from seismo.process.objects.survivors import SurvivorRow, ask, full_name

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from seismo.sessions.objects import Objects

MARKER = "seismo_no_leaks"
ROWS, ASKED = 12, 3  # of a failure's table, and of those the ones whose holders are asked

# Their lines' objects are no leaks of a test: they keep reports, finalizers and what else a run of pytest needs.
MACHINERY = ("_pytest", "pytest", "pluggy", "seismo", "reprlib")  # reprlib: how pytest shows values, also of subtests


# ---- what the marker was given ----


class Wanted:
    """The marker's arguments. Raises UsageError for what is none."""

    def __init__(self, mark: pytest.Mark) -> None:
        self.warmup, self.runs = 1, 3
        self.of: list[str] = []
        self.allow: list[str] = []
        if mark.args:
            raise UsageError(f"{MARKER} takes its arguments by name", hint=f"such as {MARKER}(runs=5)")
        for name, value in mark.kwargs.items():
            if name in ("of", "allow"):
                setattr(self, name, _names(name, value))
            elif name not in ("warmup", "runs"):
                raise UsageError(f"{MARKER} has no argument {name}", hint="it has warmup, runs, of, allow")
            elif isinstance(value, bool) or not isinstance(value, int) or value < 0 or (name == "runs" and value == 1):
                least = "0 (do not check) or at least 2" if name == "runs" else "0 or more"
                raise UsageError(f"{name} of {MARKER} cannot be {value!r}", hint=f"it is a whole number, {least}")
            else:
                setattr(self, name, value)

    def wants(self, place: Place) -> bool:
        """Whether objects of there count."""
        if any(place.module == name or place.module.startswith(f"{name}.") for name in MACHINERY):
            return False
        return (not self.of or place.matches(self.of, place.types)) and not place.matches(self.allow, place.names)


def _names(argument: str, value: object) -> list[str]:
    """Names and globs of types, of a class, a string, or several of them. Raises UsageError."""
    if isinstance(value, type):
        return [f"{value.__module__}.{value.__qualname__}"]
    if isinstance(value, str):
        return [value]
    if value is None:
        return []
    if not isinstance(value, (tuple, list, set, frozenset)) or not all(isinstance(one, (type, str)) for one in value):
        raise UsageError(
            f"{argument} of {MARKER} cannot be {value!r}", hint="it is a class, a name, or a tuple of them"
        )
    return [name for one in value for name in _names(argument, one)]


class Place:
    """Which objects: their type, and the line that made them."""

    def __init__(self, site: Sequence[Any]) -> None:
        """site: as _core.objects_site gives it."""
        type_module, type_name, self.module, self.qualname, self.file, self.line = site[:6]
        self.sites: list[int] = []
        self.type = full_name(type_module, type_name)
        self.types = [f"{type_module}.{type_name}", type_name]

    @property
    def names(self) -> list[str]:
        """What `allow` may call it."""
        base = self.file.rpartition("/")[2]
        functions = [self.module, f"{self.module}.{self.qualname}", self.qualname]
        return [*self.types, *functions, self.file, base, f"{self.file}:{self.line}", f"{base}:{self.line}"]

    @staticmethod
    def matches(globs: Iterable[str], names: Sequence[str]) -> bool:
        """Whether one of the names is meant."""
        return any(fnmatchcase(name, glob) for glob in globs for name in names)

    def text(self, root: str) -> str:
        """The line, its file relative to the root."""
        if not self.file:
            return "no Python line"
        file = self.file
        for folder in (
            f"{root.rstrip('/')}/",
            "/site-packages/",
            f"/python{sys.version_info[0]}.{sys.version_info[1]}/",
        ):
            file = file.rpartition(folder)[2]
        return printable(f"{file}:{self.line} {self.qualname}")

    def is_below(self, root: str) -> bool:
        """Whether the line is the project's own."""
        return self.file.startswith(root.rstrip("/") + "/") and "/site-packages/" not in self.file


Leak = tuple[Place, list[int]]  # how many are alive, of each counted run


# ---- the marker ----


def checked(item: pytest.Item, mark: pytest.Mark) -> Generator[None, object, object]:
    """Runs the test as often as the marker says, the last time by the yield. What a run raises goes on from here."""
    __tracebackhide__ = True
    try:
        wanted = Wanted(mark)
    except SeismoError as error:
        pytest.fail("\n".join(error.lines()), pytrace=False)
    session = None if not wanted.runs else started(item.config)
    if session is None:
        return (yield)
    runs, root = Runs(session), str(item.config.rootpath)
    result: object = None
    total = wanted.warmup + wanted.runs
    with runs:
        for number in range(total):
            with put_back(item, number > 0), runs.one():
                try:
                    if number + 1 < total:
                        item.runtest()
                    else:
                        result = yield
                except (Exception, pytest.fail.Exception) as error:
                    _say_which(error, number, total)
                    raise
            if getattr(item, "_excinfo", None):  # where a method of TestCase leaves what it raised
                _say_which(item._excinfo[0].value, number, total)  # type: ignore[attr-defined]
                return result
        leaks, trouble = runs.leaks(wanted, root)
        held = runs.holders(leaks[:ASKED]) if leaks else []
    if trouble:
        unavailable(item.config, trouble)
    if leaks:
        pytest.fail(_report(leaks, held, wanted, root), pytrace=False)
    return result


def _say_which(error: BaseException, number: int, total: int) -> None:
    if number > 0:
        error.add_note(
            f"{MARKER}: this was run {number + 1} of {total}; the runs before it passed, with the same fixtures"
        )


class Runs:
    """The recording of one test's runs. Entered, this thread is quiet but for one()."""

    def __init__(self, session: Objects) -> None:
        from seismo import _core

        self._core = _core
        self._session = session
        self._intervals: list[tuple[int, int]] = []  # the last birth before a run, and its own last

    def __enter__(self) -> Self:
        self._core.objects_quiet(True)
        return self

    def __exit__(self, *reason: object) -> None:
        self._core.objects_quiet(False)
        self._session.__exit__(None, None, None)

    @contextmanager
    def one(self) -> Generator[None]:
        """Records a run, then collects its garbage."""
        first = self._core.objects_mark("")
        self._core.objects_quiet(False)
        try:
            yield
        finally:
            self._core.objects_quiet(True)
            self._intervals.append((first, self._core.objects_mark("")))
        gc.collect()

    def leaks(self, wanted: Wanted, root: str) -> tuple[list[Leak], str]:
        """Of what each counted run left some: own lines first, and classes. And why that is not known, or "".

        Lines are compared, not the core's sites: a function that a test defines is a new one in every run.
        """
        empty_caches()
        for _ in range(2):
            gc.collect()  # what finalizers of the first collection let go
        if lost := interrupted():
            return [], lost
        found: dict[tuple[object, ...], Leak] = {}
        counted = self._intervals[wanted.warmup :]
        for number, (first, last) in enumerate(counted):
            alive = self._core.objects_alive(first, last)
            for (site, count), facts in zip(alive.items(), map(self._core.objects_site, alive), strict=True):
                place, counts = found.setdefault(facts[:6], (Place(facts), [0] * len(counted)))
                counts[number] += count
                if number + 1 == len(counted):
                    place.sites.append(site)
        leaks = [leak for leak in found.values() if all(leak[1]) and wanted.wants(leak[0])]
        leaks.sort(key=lambda leak: (not leak[0].is_below(root), "." not in leak[0].type, -sum(leak[1]), leak[0].line))
        return leaks, ""

    def holders(self, leaks: Sequence[Leak]) -> list[str]:
        """Who holds what the last run left of these: lines of text."""
        rows = []
        for place, counts in leaks:
            row = SurvivorRow(place.type, f"{place.module}:{place.qualname}", place.file, place.line, ())
            row.count, row.sites = counts[-1], place.sites
            rows.append(row)
        trees = unrecorded(ask, rows, *self._intervals[-1])
        return [line for tree in trees for line in str(tree).splitlines()]


def _report(leaks: Sequence[Leak], held: Sequence[str], wanted: Wanted, root: str) -> str:
    """What a failed test says."""
    head = ("type", "made by", *(f"run {number}" for number in range(1, wanted.runs + 1)))
    rows = [
        (printable(place.type), place.text(root), *(f"{count:,}" for count in counts)) for place, counts in leaks[:ROWS]
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [f"objects that every run made are still alive after garbage collection: {_runs_text(wanted)}"]
    for row in (head, *rows):
        texts = [
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(texts).rstrip())
    if len(leaks) > ROWS:
        lines.append(f"  and {len(leaks) - ROWS} more lines")
    lines += ["who holds those of the last run:", *(f"  {line}" for line in held)] if held else []
    lines.append(f"to allow what may stay: {MARKER}(allow=({leaks[0][0].type!r},))")
    return "\n".join(lines)


def _runs_text(wanted: Wanted) -> str:
    warmup = f" after {wanted.warmup} to warm up" if wanted.warmup else ""
    return f"the test ran {wanted.runs} times{warmup}"
