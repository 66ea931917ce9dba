"""Causes of a change: functions that do more work than before, or that make others do more.

If a loop in f calls g once more, then g and everything it calls run more often. All their counts have grown, most of
all those of the deepest functions. The function to report is f.

The own work of f, per call, consists of its executed lines, the objects that it creates and its calls of others. An
additional call weighs as much as everything below such a call. Growth that only comes from more calls of f is due to
its callers. So the excess of f is

    for each function g that f calls:   (calls now - calls before x more) x weight of a call of g
    and the same for its lines (weight 1) and births (weight 1)

where `more` is the ratio of calls of f now to before. For a function with unchanged code, the nearest changed ones
above are responsible, since they pass more data. A function with changed code that unchanged functions call more often
is responsible for these calls itself: it has lost a cache, or is what a cache calls.

A baseline file has no callers. Then the excess consists of lines and births. Functions above are responsible for all
additional calls: the nearest with changed code or with more work per call. The callers are those of the new side.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from seismo.check.measurement import ELSEWHERE, NOTHING, QUANTITIES, Function, Measurement, Range

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from seismo.check.compare import Comparison

# Smaller parts are ignored: of the count of a function with unchanged code, where the order of addresses causes noise,
# and of the largest score.
WORTH = 0.01
MOST = 5
Edges = dict[Function, dict[Function, int]]


@dataclass(frozen=True)
class Line:
    """A source line that does more or was edited: its number, its text, its executions before and now.

    `old` is None if no earlier line corresponds. `note` describes an edit, or is "".
    """

    number: int
    text: str
    old: int | None
    new: int
    what: str = "lines"
    note: str = ""


Changes = dict[str, tuple[Range, Range]]


@dataclass
class Suspect:
    """A function that causes a change.

    `excess` is the additional work that it causes, in calls, lines and births. `changed` is True if its code changed,
    or None if that is unknown. `counts` has {quantity: (before, now)} for those that differ. `per_call` is True if it
    does more in each call. `callers` and `called` have functions that call it, or that it calls, more often, with their
    calls before and now. `lines` are its own lines that do more. `below` has the functions whose additional work it
    causes, with their counts.
    """

    function: Function
    excess: float
    changed: bool | None
    counts: Changes
    per_call: bool
    callers: list[tuple[Function, int, int]] = field(default_factory=list)
    called: list[tuple[Function, int, int]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    below: list[tuple[Function, Changes]] = field(default_factory=list)
    before: Function | None = None
    where: str = ""


def suspects(found: Comparison) -> list[Suspect]:
    """Return the functions that do more now, at most MOST, the most relevant first."""
    work = _Work(found)
    excess = work.excess()
    callers = found.new.callers
    answering = {one for one in work.changed if excess.get(one) or not work.is_brought(one)}
    below: dict[Function, list[Function]] = defaultdict(list)
    amounts: dict[Function, float] = defaultdict(float, excess)
    for function, calls in work.calls_more().items():
        own = function in answering and work.changed.isdisjoint(callers.get(function, {}))
        for one in [function] if own or work.has_edges else _nearest(function, answering | excess.keys(), callers):
            amounts[one] += calls
            below[one].append(function)
    scores: dict[Function, float] = defaultdict(float)
    for function, amount in amounts.items():
        for one in [function] if function in answering else _nearest(function, answering, callers):
            scores[one] += amount
            if one != function:
                below[one] += [function, *below[function]]
    least = WORTH * max(scores.values(), default=0.0)
    worth = [one for one, score in scores.items() if score >= least]
    ranked = sorted(worth, key=lambda one: (one in work.changed, scores[one], str(one)), reverse=True)
    return [work.suspect(one, scores[one], bool(excess.get(one)), below[one]) for one in ranked[:MOST]]


def _nearest(function: Function, among: Collection[Function], callers: Edges) -> list[Function]:
    """Return the nearest functions above that are in `among`, or the function itself if there are none."""
    seen = {function}
    level = [function]
    while level:
        level = list(dict.fromkeys(caller for one in level for caller in callers.get(one, {}) if caller not in seen))
        seen.update(level)
        if found := [one for one in level if one in among]:
            return found
    return [function]


class _Work:
    """The own work of the functions on both sides."""

    def __init__(self, found: Comparison) -> None:
        self.found = found
        self.old, self.new = found.old, found.new
        self.has_edges = bool(self.old.callers)
        # Functions whose code changed, or which are new where hashes of the project's code exist.
        codes = self.old.codes
        self.changed = {one for one, code in self.new.codes.items() if codes and codes.get(one) != code}
        self._places: dict[str, dict[int, tuple[int | None, str]]] = {}
        self.old_out, self.new_out = _out(self.old.callers), _out(self.new.callers)

    def is_brought(self, function: Function) -> bool:
        """Return True if other functions are responsible for it.

        That is the case for the code of a module, and for a new function that changed functions call.
        """
        new = function not in self.old.functions and not self.changed.isdisjoint(self.new.callers.get(function, {}))
        return new or function.qualname == "<module>"

    def calls(self, side: Measurement, function: Function) -> int:
        """Return the number of calls of the function."""
        return side.functions.get(function, {}).get("calls", NOTHING).low

    def weight(self, function: Function) -> float:
        """Return the number of calls that one call of the function causes, including itself."""
        calls = self.calls(self.new, function)
        return max(1.0, self.new.inclusive.get(function, calls) / calls) if calls else 1.0

    def steady(self, function: Function, quantity: str) -> bool:
        """Return True if the quantity is stable between runs."""
        return quantity not in self.found.left_out.get(function, ())

    def excess(self) -> dict[Function, float]:
        """Return the additional work of each function for the same number of calls."""
        found: dict[Function, float] = {}
        for function in self.new.functions:
            counted = "calls" not in self.new.quantities or self.steady(function, "calls")
            if function == ELSEWHERE or function not in self.old.functions or not counted:
                continue
            more = self.more(function)
            total = self._calls_made(function, more) if self.has_edges else 0.0
            part = 0.0 if function in self.changed else WORTH
            for quantity in ("lines", "births"):
                if quantity in self.old.quantities and self.steady(function, quantity):
                    had, has = (side.functions[function].get(quantity, NOTHING) for side in (self.old, self.new))
                    grown = has.low - had.high * more
                    total += grown if grown > max(0.5, part * had.high) else 0.0
            if total > 0.5:
                found[function] = total
        return found

    def more(self, function: Function) -> float:
        """Return the ratio of calls now to before, or 1 if it was not called on a side."""
        before, now = self.calls(self.old, function), self.calls(self.new, function)
        return now / before if before and now else 1.0

    def calls_more(self) -> dict[Function, float]:
        """Return additional calls that no known caller explains, weighted by the work below them.

        Without callers of before, return all additional calls unweighted, since those below are counted as well.
        """
        found: dict[Function, float] = {}
        for function in self.new.functions:
            had = self.calls(self.old, function)
            calls = float(self.calls(self.new, function) - had)
            if calls <= WORTH * had or not self.old.functions or not self.steady(function, "calls"):
                continue
            if self.has_edges:
                if function not in self.changed or self.is_brought(function):
                    continue
                before = self.old.callers.get(function, {})
                by = self.new.callers.get(function, {})
                calls -= sum(max(0, by[one] - before.get(one, 0)) for one in by.keys() & self.changed)
                calls *= self.weight(function)
            if calls > 0:
                found[function] = calls
        return found

    def _calls_made(self, function: Function, more: float) -> float:
        total = 0.0
        before, now = self.old_out.get(function, {}), self.new_out.get(function, {})
        gone = sum(
            max(0.0, calls * more - now.get(one, 0)) for one, calls in before.items() if now.get(one, 0) < calls * more
        )
        for one, calls in now.items():
            grown = calls - before.get(one, 0) * more
            if grown > 0.5 and self.steady(one, "calls"):
                total += grown * self.weight(one)
        return max(0.0, total - gone)

    def suspect(self, function: Function, score: float, per_call: bool, below: list[Function]) -> Suspect:
        """Return the function with all details for the report."""
        old, new = self.old, self.new
        lines = self._grown_lines(function)
        number = lines[0].number if lines else new.first.get(function, 0)
        others = [(one, self._changes(one)) for one in dict.fromkeys(below) if one != function]
        others.sort(key=lambda row: (function not in new.callers.get(row[0], {}), -_growth(row[1]), str(row[0])))
        return Suspect(
            function,
            score,
            function in self.changed if old.codes and function in new.codes else None,
            self._changes(function),
            per_call,
            callers=_grown(old.callers.get(function, {}), new.callers.get(function, {})) if self.has_edges else [],
            called=_grown(self.old_out.get(function, {}), self.new_out.get(function, {})) if self.has_edges else [],
            lines=lines,
            below=others,
            before=self.found.renamed.get(function),
            where=f"{function.file}:{number}" if function.file else "",
        )

    def _changes(self, function: Function) -> Changes:
        """Return the counts that differ, among those that both sides measured."""
        old, new = (side.functions.get(function, {}) for side in (self.old, self.new))
        both = [one for one in QUANTITIES if one in self.old.quantities and one in self.new.quantities]
        pairs = {one: (old.get(one, NOTHING), new.get(one, NOTHING)) for one in both}
        return {one: pair for one, pair in pairs.items() if pair[0] != pair[1]}

    def _grown_lines(self, function: Function) -> list[Line]:
        """Return lines that do more for the same number of calls, or were edited; most additional executions first."""
        if not self.old.texts:
            return []
        found: list[Line] = []
        text = self.new.texts.get(function.file, [])
        more = self.more(function)
        places = self._old_places(function)
        for what in ("lines", "births"):
            olds, news = (getattr(side, what).get(function, {}) for side in (self.old, self.new))
            for number, times in news.items():
                place, note = places.get(number, (None, "new"))
                had = olds.get(place, 0) if place is not None else None
                if times - (had or 0) * more > 0.5 or (note and what == "lines"):
                    shown = text[number - 1].strip() if 0 < number <= len(text) else ""
                    found.append(Line(number, shown, had, times, what, note))
        found.sort(key=lambda one: (one.what != "lines", (one.old or 0) - one.new, one.number))
        return found

    def _old_places(self, function: Function) -> Mapping[int, tuple[int | None, str]]:
        """Return {number of a line now: (its number before, description of the edit)}."""
        before = self.found.renamed.get(function, function)
        key = f"{before.file}\n{function.file}"
        if key not in self._places:
            places = self._places[key] = {}
            old, new = self.old.texts.get(before.file, []), self.new.texts.get(function.file, [])
            for tag, a, a_end, b, b_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
                known = a_end - a == b_end - b
                note = {"equal": "", "insert": "new"}.get(tag, "edited" if known else "new or edited")
                for line in range(b, b_end):
                    places[line + 1] = (a + line - b + 1 if known else None, note)
        return self._places[key]


def _growth(changes: Changes) -> int:
    return max((new.low - old.high for old, new in changes.values()), default=0)


def _out(callers: Edges) -> Edges:
    found: Edges = {}
    for function, by in callers.items():
        for caller, calls in by.items():
            found.setdefault(caller, {})[function] = calls
    return found


def _grown(old: Mapping[Function, int], new: Mapping[Function, int]) -> list[tuple[Function, int, int]]:
    """Return the functions with more calls, largest growth first."""
    found = [(one, old.get(one, 0), calls) for one, calls in new.items() if calls > old.get(one, 0)]
    return sorted(found, key=lambda row: (row[1] - row[2], str(row[0])))
