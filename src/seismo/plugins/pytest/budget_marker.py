"""The marker seismo_budget: a test fails if it exceeds its budget, with a report of the code responsible.

Budgets are counts, which have no noise. Calls, exceptions and lines are counted in the first run of the test. Births of
objects are counted in a second run, after the first has filled all caches. Counting covers the item's own runtest():
the test function, with setUp and tearDown of a TestCase, but without fixtures. The functions of pytest are left out.

The direct caller of a function over budget is often a library: every query of an ORM, for example, passes the same
function. So the report follows the callers up the path, as long as each was called as often as its callee. The first
caller that was called less often contains the loop. The counts of its lines then identify the line with the call.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

import seismo
from seismo import _core, recording_kinds
from seismo.check.limits import Limit
from seismo.errors import SeismoError, UsageError
from seismo.escape import printable
from seismo.model.enums import FunctionKind
from seismo.plugins.pytest.call_sites import CallSites, Made
from seismo.plugins.pytest.objects_fixture import interrupted, started, unavailable
from seismo.plugins.pytest.profile import PLACE, frame_of, machinery
from seismo.plugins.pytest.rerun import put_back
from seismo.process import engine
from seismo.process.engine import unrecorded
from seismo.report.words import function_name
from seismo.sessions.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from types import CodeType

    from seismo.model import Recording
    from seismo.sessions.cover import Cover
    from seismo.sessions.recording_session import RecordingSession

    S = TypeVar("S", bound=RecordingSession)

MARKER = "seismo_budget"
PATTERNS = ("calls", "exceptions", "lines")
QUANTITIES = (*PATTERNS, "births")
ROWS = 5  # callers to list for each budget


# ---- the marker's arguments ----


def budgets(mark: pytest.Mark) -> list[Limit]:
    """Return the budgets of a marker. Raise UsageError for invalid ones."""
    if mark.args or not mark.kwargs:
        raise UsageError(f"{MARKER} takes its budgets by name", hint=f'such as {MARKER}(calls={{"*:execute": 3}})')
    found = []
    for name, value in mark.kwargs.items():
        if name not in QUANTITIES:
            raise UsageError(f"{MARKER} has no budget {name}", hint=f"it has {', '.join(QUANTITIES)}")
        rows = value if isinstance(value, dict) and name in PATTERNS else {"": value}
        for pattern, number in rows.items():
            if not isinstance(pattern, str) or isinstance(number, bool) or not isinstance(number, int) or number < 0:
                shape = ", or a dict of such by pattern" if name in PATTERNS else ""
                raise UsageError(f"{name} of {MARKER} cannot be {value!r}", hint=f"a whole number from 0{shape}")
            found.append(Limit(name, pattern, fixed=number))
    return found


def _is_of(limit: Limit, module: str, qualname: str) -> bool:
    """Return True if the pattern matches the function, with or without its class: *:execute, sqlite3:Cursor.execute."""
    return limit.matches(f"{module}:{qualname}") or limit.matches(f"{module}:{qualname.rpartition('.')[2]}")


# ---- counting ----


@dataclass
class Counted:
    """The counts of a test's runs. `lines` is -1 if they were not counted; `births` has them by type and line."""

    item: pytest.Item
    calls: Recording | None = None
    coverage: Recording | None = None
    lines: int = -1
    births: list[Made] = field(default_factory=list)
    trouble: dict[str, str] = field(default_factory=dict)  # for each quantity that was not counted, the reason

    def count_calls(self, run: Callable[[], object]) -> object:
        """Run the test while calls and lines are counted."""
        __tracebackhide__ = True
        lines = self._begun(self._line_counts(), "lines")
        session = Profile(None, {} if engine.users else {"c_functions": "all"})
        session._recorder = engine.Recorder(hide=machinery())
        calls = self._begun(session, "calls", "exceptions")
        before = _core.cover_executed()
        try:
            return run() if calls is None else frame_of(self.item, "call")(lambda _: run(), self.item)
        finally:
            if _core.status(recording_kinds.COVERAGE)["counts"]:
                self.lines = _core.cover_executed() - before
            self.calls, self.coverage = _ended(calls), _ended(lines)

    def _begun(self, session: S | None, *quantities: str) -> S | None:
        """Return the session after it has begun, or None if it could not begin."""
        if session is not None:
            try:
                session.__enter__()
            except SeismoError as error:
                self.trouble |= dict.fromkeys(quantities, ": ".join(error.lines()[:2]))
                return None
        return session

    def _line_counts(self) -> Cover | None:
        """Return a session that counts lines, or None if they are counted already or cannot be counted."""
        from seismo.process import coverage

        if coverage.users:
            if not _core.status(recording_kinds.COVERAGE)["counts"]:
                self.trouble["lines"] = "coverage is being recorded without counts: add --seismo-cover-counts"
            return None
        session: Cover = seismo.cover(rcfile="", counts=True)
        return session

    def count_births(self, run: Callable[[], object]) -> object:
        """Run the test while births are counted."""
        __tracebackhide__ = True
        collects = gc.isenabled()
        gc.disable()  # a collection would run finalizers, which create objects
        session = None
        try:
            _core.objects_quiet(True)  # a recording of the whole run must not include the session's start
            try:
                session = started(self.item.config)
            finally:
                _core.objects_quiet(False)
            return run()
        finally:
            if session is not None:
                _core.objects_quiet(True)  # the session's end collects garbage, which may call functions
                if lost := unrecorded(interrupted):
                    self.trouble["births"] = lost
                session.__exit__(None, None, None)
                self.births = engine.quietly(_born, session.recording)
                _core.objects_quiet(False)
            else:
                self.trouble["births"] = "they cannot be recorded here"
            if collects:
                gc.enable()


def _ended(session: RecordingSession | None) -> Recording | None:
    if session is None:
        return None
    session.__exit__(None, None, None)
    return session.recording


def _born(recording: Recording) -> list[Made]:
    """Return the births by type and line, without those in files of pytest and seismo."""
    own = (*machinery(), engine.HIDE)
    files, types = recording.functions["file"], recording.types["name"]
    found = []
    for row in recording.objects:
        file = files[row.function] if row.function >= 0 else ""
        if row.born and not file.startswith(own):
            found.append(Made(row.born, f"a {types[row.type]}", file, row.line))
    return found


# ---- the marker ----


def checked(item: pytest.Item, mark: pytest.Mark) -> Generator[None, object, object]:
    """Run the test and count; births need a second run. Exceptions of the test propagate."""
    __tracebackhide__ = True
    invalid: list[str] = []
    try:
        limits = budgets(mark)
    except SeismoError as error:
        invalid, limits = error.lines(), []
    if invalid:  # outside of the except block, or pytest would show both errors
        _fail(invalid)
    counted = Counted(item)
    counting = getattr(item.config.pluginmanager.get_plugin("seismo-check"), "counting", None)
    if counting is not None:  # births have a run of their own under --seismo-check
        limits = [limit for limit in limits if limit.quantity in counting.QUANTITIES]
    born = any(limit.quantity == "births" for limit in limits)
    others = any(limit.quantity != "births" for limit in limits)
    counts = counted.count_calls if others else lambda run: run()
    if born:
        with put_back(item, False):
            counts(item.runtest)
        if _has_failed(item):
            return None
        counts = counted.count_births
    with put_back(item, born), _inside(item, counts):
        result = yield
    if _has_failed(item):
        return result
    for quantity, why in counted.trouble.items():
        if any(limit.quantity == quantity for limit in limits):
            unavailable(item.config, f"{quantity}: {why}")
            limits = [limit for limit in limits if limit.quantity != quantity]
    root, code = str(item.config.rootpath), _code_of(item)
    exceeded = [text for limit in limits for text in _over(limit, counted, root, code)]
    if exceeded:
        _fail(exceeded)
    return result


def _fail(lines: list[str]) -> None:
    """Fail with these lines. This frame is not hidden, because pytest needs one in the traceback."""
    pytest.fail("\n".join(lines), pytrace=False)


def _code_of(item: pytest.Item) -> CodeType | None:
    """Return the code of the test function, or None if the test has other code, such as a setUp method."""
    if hasattr(getattr(item, "instance", None), "setUp"):
        return None
    return getattr(getattr(item, "obj", None), "__code__", None)


def _has_failed(item: pytest.Item) -> bool:
    return bool(getattr(item, "_excinfo", None))  # unittest.TestCase stores exceptions there


@contextmanager
def _inside(item: pytest.Item, counts: Callable[[Callable[[], object]], object]) -> Generator[None]:
    """Make the item's next runtest() run inside `counts`."""
    real = item.runtest

    def runtest() -> None:
        __tracebackhide__ = True
        counts(real)

    item.runtest = runtest  # type: ignore[method-assign]
    try:
        yield
    finally:
        vars(item).pop("runtest", None)


def _over(limit: Limit, counted: Counted, root: str, code: CodeType | None) -> list[str]:
    """Return the report on an exceeded budget, or nothing if it is not exceeded. `code` is the test function's."""
    assert limit.fixed is not None
    number = 0
    made: list[Made] = []
    if limit.quantity == "births":
        made = list(counted.births)
        number = sum(one.count for one in made)
    elif limit.quantity == "lines":
        number, made = _lines_over(limit, counted)
    elif counted.calls is not None:
        callers = CallSites(counted.calls, counted.coverage, code)
        wanted = [
            row.id
            for row in counted.calls.functions
            if row.file != PLACE and row.kind != FunctionKind.SYNTHETIC and _is_of(limit, row.module, row.qualname)
        ]
        number = sum(callers.counts(limit.quantity, wanted, bool(limit.pattern)).values())
        if number > limit.fixed:
            made = callers.makers(limit.quantity, wanted, bool(limit.pattern))
    if number <= limit.fixed:
        return []
    of = f' of "{limit.pattern}"' if limit.pattern else ""
    lines = [f"{MARKER}: {number:,} {limit.quantity}{of}, and the budget is {limit.fixed:,}"]
    made.sort(key=lambda one: (-one.count, one.file, one.line, one.what))
    width = max((len(f"{one.count:,}") for one in made), default=0)
    lines += [f"  {one.count:>{width},}  {printable(one.text(root))}" for one in made[:ROWS]]
    if len(made) > ROWS:
        lines.append(f"  {sum(one.count for one in made[ROWS:]):,} more in {len(made) - ROWS} more places")
    return lines


def _lines_over(limit: Limit, counted: Counted) -> tuple[int, list[Made]]:
    if counted.coverage is None:
        if limit.pattern:
            raise UsageError(
                "lines of single functions cannot be counted while coverage is recorded", hint="leave out the pattern"
            )
        return counted.lines, []
    functions: Mapping[int, Any] = {row.id: row for row in counted.coverage.functions}
    number, made = 0, []
    for row in counted.coverage.lines:
        function = functions[row.function]
        if _is_of(limit, function.module, function.qualname):
            number += row.hits
            name = function_name(function.kind, function.module, function.qualname)
            made.append(Made(row.hits, name, function.file, row.line))
    return number, made
