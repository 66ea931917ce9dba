"""Slowest tests of a profiled test suite, and the functions that several tests call.

Both come from the call tree, in which each phase of a test is a node (plugins.pytest.profile). Work that a test started
on other threads is not attributed to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seismo.plugins.pytest.profile import PHASES, PLACE
from seismo.report import facts
from seismo.report import words as text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model import Recording
    from seismo.report.paper import Paper

    Row = tuple[Sequence[str], str]  # cells, and the name that fills the rest of the line

NARROWEST_NAME = 24


@dataclass
class Test:
    """The time of one test, in ns of running time. `nodes` has the nodes of its phases, a list for each of PHASES."""

    name: str
    nodes: tuple[list[int], ...] = field(default_factory=lambda: tuple([] for _ in PHASES))
    ns: float = 0.0
    error_ns: float = 0.0
    wait_ns: float = 0.0
    phases_ns: tuple[float, ...] = ()


@dataclass
class Shared:
    """The time of one function in all tests, in ns. `total_ns` includes its callees."""

    function: int
    own_ns: float = 0.0
    own_error_ns: float = 0.0
    total_ns: float = 0.0
    calls: int = 0
    tests: int = 0


class Suite:
    """The tests of a recording and the functions that they share. The recording must have the times to show."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.tests = self._tests()
        self.shared = self._shared()

    def slowest(self) -> list[Test]:
        """Return the tests by running time, longest first."""
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

    def _shared(self) -> list[Shared]:
        """Return the sums of each function over all tests, by a walk over each phase's subtree.

        In a recursion, only the outermost call adds to the total.
        """
        tree = self.recording.tree
        functions, calls = list(tree["function"]), list(tree["calls"])
        own, totals = list(tree["own_ns"]), list(tree["total_ns"])
        below = _children(list(tree["parent"]))
        found: dict[int, Shared] = {}
        for test in self.tests:
            met: set[int] = set()
            for top in (node for phase in test.nodes for node in phase):
                open_: dict[int, int] = {}
                waiting = [(node, False) for node in below.get(top, ())]
                while waiting:
                    node, done = waiting.pop()
                    function = functions[node]
                    if done:
                        open_[function] -= 1
                        continue
                    one = found.get(function) or found.setdefault(function, Shared(function))
                    met.add(function)
                    one.own_ns += own[node]
                    one.calls += calls[node]
                    depth = open_.get(function, 0)
                    if not depth:
                        one.total_ns += totals[node]
                    if node in below:
                        open_[function] = depth + 1
                        waiting.append((node, True))
                        waiting += [(child, False) for child in below[node]]
            for function in met:
                found[function].tests += 1
        table = self.recording.functions
        all_own, errors = table["own_ns"], table["own_error_ns"]
        for one in found.values():  # scale the function's error to its time in tests
            whole = all_own[one.function]
            one.own_error_ns = errors[one.function] * (one.own_ns / whole if whole > 0 else 1.0)
        return list(found.values())


def _children(parents: Sequence[int]) -> dict[int, list[int]]:
    below: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        if parent >= 0:
            below.setdefault(parent, []).append(node)
    return below


# ---- output ----


def write(paper: Paper, recording: Recording, limit: int) -> None:
    """Write the tests and the functions, at most `limit` rows of each, and the losses."""
    suite = Suite(recording.timed("cpu"))
    for sentence in facts.losses(recording, paper.signs):
        for line in text.wrapped(f"lost: {sentence}", paper.width):
            paper.line((line, "warning"))
    if not suite.tests:
        paper.line("no test ran")
        return
    _write_tests(paper, suite, limit)
    whole = sum(test.ns for test in suite.tests)
    own = suite.heaviest(lambda one: text.rank(one.own_ns, one.own_error_ns))
    title = "Functions that several tests call, by own time in tests"
    _write_functions(paper, suite, (title, own, limit), whole)
    total = [one for one in suite.heaviest(lambda one: one.total_ns) if one.total_ns > 1.02 * one.own_ns]
    title = "The same by total time, with what they call"
    _write_functions(paper, suite, (title, total, (limit + 1) // 2), whole)


def _write_tests(paper: Paper, suite: Suite, limit: int) -> None:
    signs, tests = paper.signs, suite.slowest()
    whole, waited = sum(test.ns for test in tests), sum(test.wait_ns for test in tests)
    apart = sum(suite.recording.functions["own_ns"]) - whole
    said = f"{text.number_of(len(tests), 'test')} ran for {text.duration(whole, signs)}"
    said += f" and waited for {text.duration(waited, signs)}" if waited > 0.01 * whole else ""
    paper.line(f"{said}; outside of tests {text.duration(max(0.0, apart), signs)}")
    paper.line()
    paper.line(("Slowest tests, by running time", "title"))
    shown = tests[:limit]
    waits = any(test.wait_ns > 0.05 * test.ns for test in shown)
    rows: list[Row] = []
    for test in shown:
        cells = [_time(test.ns, test.error_ns, signs), text.error(test.error_ns, test.ns, signs)]
        cells += [_time(test.wait_ns, 0, signs)] if waits else []
        cells += [_time(ns, 0, signs) for ns in test.phases_ns]
        rows.append((cells, test.name))
    head = ["running  ", "", *(["waiting  "] if waits else []), *(f"{phase}  " for phase in PHASES)]
    _table(paper, head, rows, "test")
    if len(tests) > limit:
        rest = text.percent(sum(test.ns for test in tests[limit:]), whole)
        more = text.number_of(len(tests) - limit, "more test")
        paper.line((f"  {signs.cut} {more}, {rest or '0 %'} of the time (--seismo-profile-limit=N)", "quiet"))


def _write_functions(paper: Paper, suite: Suite, what: tuple[str, list[Shared], int], whole: float) -> None:
    title, found, limit = what
    if not found:
        return
    signs, functions = paper.signs, suite.recording.functions
    paper.line()
    paper.line((title, "title"))
    kinds, modules, names, bounds = (functions[name] for name in ("kind", "module", "qualname", "lower_bound"))
    rows: list[Row] = []
    for one in found[:limit]:
        at = one.function
        cells = [_time(one.own_ns, one.own_error_ns, signs), text.error(one.own_error_ns, one.own_ns, signs)]
        cells += [text.share(one.own_ns, one.own_error_ns, whole), _time(one.total_ns, 0, signs)]
        cells += [f"{one.tests:,}", text.calls(one.calls, bool(bounds[at]), signs)]
        rows.append((cells, text.function_name(kinds[at], modules[at], names[at])))
    _table(paper, ["own  ", "", "own %", "total  ", "tests", "calls"], rows, "function")


def _time(ns: float, error_ns: float, signs: text.Signs) -> str:
    return text.aligned(text.time(ns, error_ns, signs)) if ns > 0 else ""


def _table(paper: Paper, head: list[str], rows: list[Row], last: str) -> None:
    """Write a table: columns are right-aligned except the second (errors), and names get the remaining width."""
    columns = list(zip(head, *(cells for cells, _ in rows), strict=True))
    kept = [at for at, column in enumerate(columns) if any(cell.strip() for cell in column[1:])]
    widths = {at: max(map(text.cells, columns[at])) for at in kept}
    width = max(NARROWEST_NAME, paper.width - sum(widths.values()) - 2 * len(kept) - 2)

    def line(cells: Sequence[str]) -> str:
        return "".join(
            " " + text.left(cells[at], widths[at]) if at == 1 else "  " + text.right(cells[at], widths[at])
            for at in kept
        )

    paper.line((line(head) + "  " + last, "quiet"))
    for cells, name in rows:
        paper.line(line(cells) + "  ", (text.shorten(name, width, paper.signs), "name"))
