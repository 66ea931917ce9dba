"""The marker seismo_no_leaks: a test fails if it leaves objects behind in every run.

The test runs several times in a row. A leak is a kind of object, by type and creating line, that every counted run has
left alive at the end. Comparing the numbers of objects before and after would not do, for three reasons. The first run
fills caches (warmup). A cache with one entry holds objects of the last run. A registry that is emptied and refilled
holds as many objects as before. None of these holds objects of every run, but a container that grows does.

Only the inside of a run is recorded, as an interval of birth numbers. Between the runs, recording is disabled on this
thread, so that objects of pytest and of this file are left out. Deaths are always recorded.

Each run calls the item's runtest(). So methods of TestCase get their setUp and tearDown each time, and a plugin's event
loop is used. Fixtures are set up once; those of pytest are reset between the runs (rerun.py). Objects that pytest
creates while it runs a test are left out.
"""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Self

import pytest

from seismo import _core
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
ROWS, ASKED = 12, 3  # rows of a failure's table, and how many of them have holders

# Objects created by these modules are no leaks of a test: they keep reports, finalizers and other state of pytest.
MACHINERY = ("_pytest", "pytest", "pluggy", "seismo", "reprlib")  # reprlib formats values for pytest


# ---- the marker's arguments ----


class Wanted:
    """The marker's arguments. The constructor raises UsageError for invalid ones."""

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
        """Return True if objects of this place count."""
        if any(place.module == name or place.module.startswith(f"{name}.") for name in MACHINERY):
            return False
        return (not self.of or place.matches(self.of, place.types)) and not place.matches(self.allow, place.names)


def _names(argument: str, value: object) -> list[str]:
    """Return names and globs of types for a class, a string or several of them. Raise UsageError for anything else."""
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
    """A kind of object: its type, and the line that created it."""

    def __init__(self, site: Sequence[Any]) -> None:
        """Initialize with the result of _core.objects_site."""
        type_module, type_name, self.module, self.qualname, self.file, self.line = site[:6]
        self.sites: list[int] = []
        self.type = full_name(type_module, type_name)
        self.types = [f"{type_module}.{type_name}", type_name]

    @property
    def names(self) -> list[str]:
        """The names that `allow` may match."""
        base = self.file.rpartition("/")[2]
        functions = [self.module, f"{self.module}.{self.qualname}", self.qualname]
        return [*self.types, *functions, self.file, base, f"{self.file}:{self.line}", f"{base}:{self.line}"]

    @staticmethod
    def matches(globs: Iterable[str], names: Sequence[str]) -> bool:
        """Return True if a glob matches one of the names."""
        return any(fnmatchcase(name, glob) for glob in globs for name in names)

    def text(self, root: str) -> str:
        """Return the line as text, with its file relative to the root."""
        if not self.file:
            return "no Python line"
        file, version = self.file, "{}.{}".format(*sys.version_info)
        for folder in (f"{root.rstrip('/')}/", "/site-packages/", f"/python{version}/"):
            file = file.rpartition(folder)[2]
        return printable(f"{file}:{self.line} {self.qualname}")

    def is_below(self, root: str) -> bool:
        """Return True if the line belongs to the project."""
        return self.file.startswith(root.rstrip("/") + "/") and "/site-packages/" not in self.file


Leak = tuple[Place, list[int]]  # a place, and the number of living objects from each counted run


# ---- the marker ----


def checked(item: pytest.Item, mark: pytest.Mark) -> Generator[None, object, object]:
    """Run the test as often as the marker requires; pytest makes the last run at the yield. Exceptions propagate."""
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
            if getattr(item, "_excinfo", None):  # TestCase stores exceptions there
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
    """The recording of one test's runs. Inside this context, the thread is recorded only in one()."""

    def __init__(self, session: Objects) -> None:
        self._session = session
        self._intervals: list[tuple[int, int]] = []  # for each run, the numbers of the last birth before it and in it

    def __enter__(self) -> Self:
        _core.objects_quiet(True)
        return self

    def __exit__(self, *reason: object) -> None:
        _core.objects_quiet(False)
        self._session.__exit__(None, None, None)

    @contextmanager
    def one(self) -> Generator[None]:
        """Record a run, then collect its garbage."""
        first = _core.objects_mark("")
        _core.objects_quiet(False)
        try:
            yield
        finally:
            _core.objects_quiet(True)
            self._intervals.append((first, _core.objects_mark("")))
        gc.collect()

    def leaks(self, wanted: Wanted, root: str) -> tuple[list[Leak], str]:
        """Return the leaks, the project's own first, and the reason why they are unknown, or "".

        Leaks are matched by line and not by the core's sites, because a function that a test defines is new in every
        run.
        """
        empty_caches()
        for _ in range(2):
            gc.collect()  # the second pass frees objects released by finalizers
        if lost := interrupted():
            return [], lost
        found: dict[tuple[object, ...], Leak] = {}
        counted = self._intervals[wanted.warmup :]
        for number, (first, last) in enumerate(counted):
            alive = _core.objects_alive(first, last)
            for (site, count), facts in zip(alive.items(), map(_core.objects_site, alive), strict=True):
                place, counts = found.setdefault(facts[:6], (Place(facts), [0] * len(counted)))
                counts[number] += count
                if number + 1 == len(counted):
                    place.sites.append(site)
        leaks = [leak for leak in found.values() if all(leak[1]) and wanted.wants(leak[0])]
        leaks.sort(key=lambda leak: (not leak[0].is_below(root), "." not in leak[0].type, -sum(leak[1]), leak[0].line))
        return leaks, ""

    def holders(self, leaks: Sequence[Leak]) -> list[str]:
        """Return lines of text about the holders of the last run's leaked objects."""
        rows = []
        for place, counts in leaks:
            row = SurvivorRow(place.type, f"{place.module}:{place.qualname}", place.file, place.line, ())
            row.count, row.sites = counts[-1], place.sites
            rows.append(row)
        trees = unrecorded(ask, rows, *self._intervals[-1])
        return [line for tree in trees for line in str(tree).splitlines()]


def _report(leaks: Sequence[Leak], held: Sequence[str], wanted: Wanted, root: str) -> str:
    head = ("type", "made by", *(f"run {number}" for number in range(1, wanted.runs + 1)))
    rows = [
        (printable(place.type), place.text(root), *(f"{count:,}" for count in counts)) for place, counts in leaks[:ROWS]
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    ran = f"the test ran {wanted.runs} times" + (f" after {wanted.warmup} to warm up" if wanted.warmup else "")
    lines = [f"objects that every run made are still alive after garbage collection: {ran}"]
    for row in (head, *rows):
        texts = [f"{cell:{'<' if at < 2 else '>'}{widths[at]}}" for at, cell in enumerate(row)]
        lines.append("  " + "  ".join(texts).rstrip())
    if len(leaks) > ROWS:
        lines.append(f"  and {len(leaks) - ROWS} more lines")
    lines += ["who holds those of the last run:", *(f"  {line}" for line in held)] if held else []
    lines.append(f"to allow what may stay: {MARKER}(allow=({leaks[0][0].type!r},))")
    return "\n".join(lines)
