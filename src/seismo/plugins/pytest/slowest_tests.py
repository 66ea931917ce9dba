"""Slowest tests of a profiled test suite, and the functions that several tests call.

The call tree has a node for each phase of a test (plugins.pytest.profile), from which all times are taken. Work that a
test started on other threads is not attributed to it.

A library function has a row if the project's own code calls it; the row includes all library code below. The time of
pytest and its plugins is summed up in one sentence.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.model.idle_threads import without_idle
from seismo.plugins.pytest.profile import PHASES, PLACE
from seismo.report import facts
from seismo.report import words as text
from seismo.report.calls.imports import NAME, import_system
from seismo.report.libraries import INSTALLED, file_key, libraries
from seismo.report.tables import Column, Grid, made, write_heading
from seismo.report.waiting import ELAPSED, NOTABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from seismo.model import Recording
    from seismo.report.paper import Paper

LARGE = 0.05  # share of a test's time from which its waiting, setup and teardown are shown
SMALL = 0.01  # share of the time of all tests; functions with less are left out
FEWEST = 3  # functions that are shown even if they are small
NARROWEST_NAME = 24  # columns of the terminal
PYTEST = "pytest"
NO_ROW = -1  # the row of pytest's and its plugins' own code


@dataclass
class Test:
    """The elapsed time of one test, in ns. `nodes` has the nodes of its phases, a list for each of PHASES."""

    name: str
    nodes: tuple[list[int], ...] = field(default_factory=lambda: tuple([] for _ in PHASES))
    ns: float = 0.0
    error_ns: float = 0.0
    wait_ns: float = 0.0
    phases_ns: tuple[float, ...] = ()


@dataclass
class Shared:
    """The elapsed ns of a function in all tests. own: by function, with library functions below a library's."""

    function: int
    own: dict[int, float] = field(default_factory=dict)
    own_ns: float = 0.0
    own_error_ns: float = 0.0
    total_ns: float = 0.0
    calls: int = 0
    tests: int = 0


class Suite:
    """The tests of a recording, and the functions that they share.

    `ns` is the time of all tests. `shared` has the functions of the project and those that they call. `around` has the
    time of pytest and its plugins in the phases of tests, in ns by package. `libraries` has the library of each Python
    function.
    """

    def __init__(self, recording: Recording) -> None:
        """Sum up the times of a recording by test and by function."""
        self.recording = recording
        self.tests = self._tests()
        self.ns = sum(test.ns for test in self.tests)
        self.imports = import_system(recording).functions
        self.libraries = self._library_of_each()
        self._modules = recording.functions["module"]
        self.shared = self._shared()

    def slowest(self) -> list[Test]:
        """Return the tests by elapsed time, longest first."""
        return sorted(self.tests, key=lambda test: (-text.rank(test.ns, test.error_ns), test.name))

    def heaviest(self, by: Callable[[Shared], float]) -> list[Shared]:
        """Return the functions that at least two tests call, largest first."""
        names = self.recording.functions["qualname"]
        found = [one for one in self.shared if one.tests > 1]
        return sorted(found, key=lambda one: (-by(one), -one.calls, names[one.function]))

    def _tests(self) -> list[Test]:
        functions, tree = self.recording.functions, self.recording.tree
        files, names = functions["file"], functions["qualname"]
        phases: dict[int, tuple[str, int]] = {}
        for function in range(len(functions)):
            if files[function] == PLACE:
                name, _, phase = names[function].rpartition("|")
                if phase in PHASES:
                    phases[function] = name, PHASES.index(phase)
        tests: dict[str, Test] = {}
        for node, function in enumerate(tree["function"]):
            if function in phases:
                name, phase = phases[function]
                tests.setdefault(name, Test(name)).nodes[phase].append(node)
        totals, waits = tree["total_ns"], tree["total_wait_ns"]
        for test in tests.values():
            nodes = [node for phase in test.nodes for node in phase]
            test.phases_ns = tuple(sum(totals[node] for node in phase) for phase in test.nodes)
            test.ns = sum(test.phases_ns)
            test.error_ns = self.recording.total_error(nodes)
            test.wait_ns = sum(waits[node] for node in nodes)
        return list(tests.values())

    def _library_of_each(self) -> dict[int, str]:
        """Return the library of each Python function, or "" for the project's own.

        The package of an installed test file is the project's own, as that of a program's main module is elsewhere.
        """
        functions = self.recording.functions
        names, modules = functions["file"], functions["module"]
        paths = {row.file: row.path for row in self.recording.sources}
        test_files = {test.name.partition("::")[0].replace("\\", "/").rpartition("/")[2] for test in self.tests}
        keys = {}
        files: dict[str, tuple[str, set[str]]] = {}
        for function, kind in enumerate(functions["kind"]):
            if kind == text.PYTHON and names[function] != PLACE:
                name, module = names[function], modules[function]
                key = keys[function] = file_key(name, module)
                path, members = files.setdefault(key, (paths.get(name, ""), set()))
                is_test = (path or name).replace("\\", "/").rpartition("/")[2] in test_files
                members.add("__main__" if is_test else module)
        found = libraries((key, path, members) for key, (path, members) in files.items())
        return {function: found[key] for function, key in keys.items()}

    def _shared(self) -> list[Shared]:
        """Return the sums of each function over all tests, by a walk over the nodes, parents first."""
        names = ("parent", "function", "own_ns", "calls", "total_ns")
        parents, functions, own, calls, totals = (list(self.recording.tree[name]) for name in names)
        phases = {node: test.name for test in self.tests for phase in test.nodes for node in phase}
        # For each node in a phase: its test, its row, the plugin of pytest that it belongs to, and the rows whose calls
        # are on the path to it. A row is a function, or NO_ROW for code of pytest and its plugins.
        inside: dict[int, tuple[str, int, str, frozenset[int]]] = {}
        around: defaultdict[str, float] = defaultdict(float)
        found: dict[int, Shared] = {}
        met: set[tuple[int, str]] = set()
        for node, parent in enumerate(parents):
            if node in phases:
                inside[node] = phases[node], NO_ROW, PYTEST, frozenset()
                around[PYTEST] += own[node]
                continue
            if parent not in inside:
                continue
            test, above, package, open_ = inside[parent]
            function = functions[node]
            row, is_call = self._row(function, above)
            if row == NO_ROW:
                package = self._package(function, package)
                around[package] += own[node]
            else:
                one = found.setdefault(row, Shared(row))
                one.own[function] = one.own.get(function, 0.0) + own[node]
                one.calls += calls[node] if is_call else 0
                if is_call and row not in open_:
                    one.total_ns += totals[node]
                    open_ |= {row}
                met.add((row, test))
            inside[node] = test, row, package, open_
        for row, _ in met:
            found[row].tests += 1
        self.around = around
        table = self.recording.functions
        all_own, errors = table["own_ns"], table["own_error_ns"]
        for one in found.values():  # a function's error is that of its time in the whole run, so scale it
            one.own_ns = sum(one.own.values())
            parts = ((function, ns, all_own[function]) for function, ns in one.own.items())
            one.own_error_ns = math.hypot(
                *(errors[function] * (ns / whole if whole > 0 else 1.0) for function, ns, whole in parts)
            )
        return list(found.values())

    def _row(self, function: int, above: int) -> tuple[int, bool]:
        """Return the row for a call of the function from the row `above`, and True if the call enters that row."""
        library = self.libraries.get(function)
        if library == "":
            return function, True
        if above == NO_ROW or self.libraries.get(above):  # above is pytest's code or a library's row
            return above, False
        return (min(self.imports) if function in self.imports else function), True

    def _package(self, function: int, above: str) -> str:
        """Return the plugin that a function belongs to, or its caller's plugin for code that is not installed."""
        module: str = self._modules[function]
        return module.partition(".")[0] or above if self.libraries.get(function) == INSTALLED else above


# ---- output ----


@dataclass
class Cells:
    """The formatter of the tables' cells."""

    suite: Suite
    signs: text.Signs

    def time(self, ns: float, error_ns: float = 0.0) -> str:
        """Return a time for an aligned column, or "" for none."""
        return text.aligned(text.time(ns, error_ns, self.signs)) if ns > 0 else ""

    def part(self, ns: float, test: Test) -> str:
        """Return a part of a test's time, or "" for a small one."""
        return self.time(ns) if ns > LARGE * test.ns else ""

    def calls(self, one: Shared) -> str:
        """Return a function's number of calls in tests."""
        return text.calls(one.calls, bool(self.suite.recording.functions["lower_bound"][one.function]), self.signs)

    def name(self, one: Shared) -> str:
        """Return a function's name."""
        functions, row = self.suite.recording.functions, one.function
        if row in self.suite.imports:
            return NAME
        return text.function_name(functions["kind"][row], functions["module"][row], functions["qualname"][row])


OF_TESTS = {
    "elapsed": Column("elapsed  ", lambda cells, test: cells.time(test.ns, test.error_ns)),
    "error": Column("", lambda cells, test: text.error(test.error_ns, test.ns, cells.signs)),
    "waiting": Column("waiting  ", lambda cells, test: cells.part(test.wait_ns, test)),
    "setup": Column("setup  ", lambda cells, test: cells.part(test.phases_ns[0], test)),
    "teardown": Column("teardown  ", lambda cells, test: cells.part(test.phases_ns[2], test)),
}
OF_FUNCTIONS = {
    "own": Column("own  ", lambda cells, one: cells.time(one.own_ns, one.own_error_ns)),
    "error": Column("", lambda cells, one: text.error(one.own_error_ns, one.own_ns, cells.signs)),
    "own %": Column("own %", lambda cells, one: text.share(one.own_ns, one.own_error_ns, cells.suite.ns)),
    "total": Column("total  ", lambda cells, one: cells.time(one.total_ns)),
    "total %": Column("total %", lambda cells, one: text.percent(one.total_ns, cells.suite.ns)),
    "tests": Column("tests", lambda _, one: f"{one.tests:,}"),
    "calls": Column("calls", lambda cells, one: cells.calls(one)),
}


def write(paper: Paper, recording: Recording, limit: int) -> None:
    """Write the tests and the functions, at most `limit` rows of each, and the losses."""
    suite = Suite(without_idle(recording)[0].timed(ELAPSED))
    for sentence in facts.losses(recording, paper.signs):
        for line in text.wrapped(f"lost: {sentence}", paper.width):
            paper.line((line, "warning"))
    if not suite.tests:
        paper.line("no test ran")
        return
    cells = Cells(suite, paper.signs)
    _write_tests(paper, cells, limit)
    own = suite.heaviest(lambda one: text.rank(one.own_ns, one.own_error_ns))
    shown = _large(own, lambda one: one.own_ns, cells)[:limit]
    title = "Functions of several tests, by own time", "libraries with their callees"
    _write_table(paper, title, OF_FUNCTIONS, ["own", "error", "own %", "tests", "calls"], shown, cells)
    rest = sum(one.own_ns for one in own) - sum(one.own_ns for one in shown)
    _write_rest(paper, len(own) - len(shown), "more function", rest, cells, len(shown) == limit)
    _write_around(paper, cells)
    total = [one for one in suite.heaviest(lambda one: one.total_ns) if one.total_ns > 1.02 * one.own_ns]
    shown = _large(total, lambda one: one.total_ns, cells)[: (limit + 1) // 2]
    title = "The same by total time", "with all that they call"
    _write_table(paper, title, OF_FUNCTIONS, ["total", "total %", "tests", "calls"], shown, cells)


def _write_tests(paper: Paper, cells: Cells, limit: int) -> None:
    signs, tests, whole = paper.signs, cells.suite.slowest(), cells.suite.ns
    waited = sum(test.wait_ns for test in tests)
    outside = max(0.0, sum(cells.suite.recording.functions["own_ns"]) - whole)
    words = f"{text.number_of(len(tests), 'test')} took {text.duration(whole, signs)}"
    if waited > NOTABLE * whole:
        words += f": {text.duration(whole - waited, signs)} running, {text.duration(waited, signs)} waiting"
    paper.line(f"{words}; outside of tests {text.duration(outside, signs)}")
    _write_table(paper, ("Slowest tests", ""), OF_TESTS, OF_TESTS, tests[:limit], cells)
    _write_rest(paper, len(tests) - limit, "more test", sum(test.ns for test in tests[limit:]), cells, True)


def _write_rest(paper: Paper, number: int, noun: str, ns: float, cells: Cells, limited: bool) -> None:
    """Write how many rows a table leaves out, and their time. limited: name the option that shows more of them."""
    if number > 0:
        more = f"{text.number_of(number, noun)}, {text.percent(ns, cells.suite.ns) or '0 %'} of the time"
        paper.line((f"  {paper.signs.cut} {more}{f' ({paper.more_all})' if limited else ''}", "quiet"))


def _write_around(paper: Paper, cells: Cells) -> None:
    around, signs, whole = cells.suite.around, paper.signs, cells.suite.ns
    ns = sum(around.values())
    if ns < SMALL * whole:
        return
    large = [name for name in sorted(around, key=lambda name: -around[name]) if around[name] >= SMALL * whole]
    parts = ", ".join(f"{printable(name)} {text.duration(around[name], signs)}" for name in large)
    words = f"besides, pytest and its plugins took {text.duration(ns, signs)} ({text.percent(ns, whole)})"
    for line in text.wrapped(f"{words}: {parts}" if len(large) > 1 else words, paper.width - 4):
        paper.line((f"  {line}", "quiet"))


def _large(found: list[Shared], ns: Callable[[Shared], float], cells: Cells) -> list[Shared]:
    """Return the functions without the small ones, but at least the first few."""
    return [one for place, one in enumerate(found) if place < FEWEST or ns(one) >= SMALL * cells.suite.ns]


def _write_table(
    paper: Paper,
    title: tuple[str, str],
    columns: dict[str, Column],
    names: Iterable[str],
    rows: Sequence[Test | Shared],
    cells: Cells,
) -> None:
    """Write a table, unless it is empty. title: the title and a remark."""
    if not rows:
        return
    write_heading(paper, *title)
    heads, lines = made(columns, names, cells, rows)
    grid = Grid(heads, lines, paper.width, least=NARROWEST_NAME)
    paper.line((grid.head + ("test" if columns is OF_TESTS else "function"), "quiet"))
    for row, line in zip(rows, lines, strict=True):
        name = row.name if isinstance(row, Test) else cells.name(row)
        paper.line(grid.line(line), (text.shorten(name, grid.room, paper.signs), "name"))
