"""Which functions a change comes from: the one that does more work than before, or that is to blame for others' work.

The problem. When a loop in f calls g once more, then g runs more, and all that g calls. All their counts have grown,
those of the deepest functions most; the one to name is f.

What f does by itself is, for each call of f: the lines that it executes, the objects that it makes, and the calls that
it makes of others. A call that f makes more weighs as much as all that runs below such a call. What grew only because
f is called more often is its callers' doing. So the excess of f is

    for each function g that f calls:   (calls now - calls before x more) x weight of a call of g
    and the same for its lines (weight 1) and births (weight 1)

where `more` is how many times as often f is called now. Functions whose code changed come first: what others do more is
then done for them, when they lie above. A function with changed code that is called more often, by functions whose code
did not change, answers for these calls itself: it has lost a cache, or is what a cache calls. And what functions do
more whose code did not change, the nearest changed ones above them answer for: they hand down more data.

Where the baseline is a file, it has no callers; then what a function calls is not known, and its own lines and calls
tell.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from seismo.check.measurement import ELSEWHERE, NOTHING, QUANTITIES, Function, Measurement, Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seismo.check.compare import Comparison

Edges = dict[Function, dict[Function, int]]


@dataclass(frozen=True)
class Line:
    """A source line that now does more: its number, its text, and how often it was executed before and is now."""

    number: int
    text: str
    old: int
    new: int
    what: str = "lines"


@dataclass
class Suspect:
    """A function that a change comes from.

    excess: how much more is done because of it, in calls, lines and births. changed: whether its code did; None where
    that is not known. counts: {quantity: (before, now)} of those that differ. per_call: it does more in each call;
    else it is called more often. callers: those that call it more, with their calls before and now; called: what it
    calls more, in the same way. lines: of its own, those that do more.
    """

    function: Function
    excess: float
    changed: bool | None
    counts: dict[str, tuple[Range, Range]]
    per_call: bool
    callers: list[tuple[Function, int, int]] = field(default_factory=list)
    called: list[tuple[Function, int, int]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    before: Function | None = None
    where: str = ""


def suspects(found: Comparison, most: int = 10) -> list[Suspect]:
    """The functions that do more now, the one to look at first first."""
    old, new = found.old, found.new
    work = _Work(found)
    excess = work.excess()
    changed = {function for function in new.functions if _changed(old, new, function)}
    scores: dict[Function, tuple[int, float]] = {}
    blamed: dict[Function, float] = defaultdict(float)
    callers_changed = {
        function: sum(
            max(0, calls - old.callers.get(function, {}).get(caller, 0))
            for caller, calls in callers.items()
            if caller in changed
        )
        for function, callers in new.callers.items()
    }
    for function in new.functions:
        own = excess.get(function, 0.0)
        if function in changed:
            more = work.calls(new, function) - work.calls(old, function) - callers_changed.get(function, 0)
            if more > 0 and not _only_defines(function):
                own += more * work.weight(function)
        if own > 0:
            blamed[function] = own
            scores[function] = (1 if function in changed else 0, own)
    for function, own in list(blamed.items()):
        if function not in changed:
            _hand_up(function, own, changed, new, scores)
    ranked = sorted(scores, key=lambda one: (scores[one], str(one)), reverse=True)
    return [work.suspect(function, scores[function][1], changed) for function in ranked[:most]]


def _only_defines(function: Function) -> bool:
    return function.qualname == "<module>"


def _changed(old: Measurement, new: Measurement, function: Function) -> bool:
    """Whether the code changed, or is new where the project's code is known."""
    after = new.codes.get(function)
    return after is not None and bool(old.codes) and old.codes.get(function) != after


def _hand_up(
    function: Function,
    own: float,
    changed: set[Function],
    new: Measurement,
    scores: dict[Function, tuple[int, float]],
) -> None:
    """The nearest functions above with changed code answer for what an unchanged one does more."""
    seen = {function}
    level = [function]
    while level:
        above = [caller for one in level for caller in new.callers.get(one, {}) if caller not in seen]
        seen.update(above)
        responsible = [one for one in dict.fromkeys(above) if one in changed]
        for one in responsible:
            if not _only_defines(one) or one in scores:
                scores[one] = (1, scores.get(one, (1, 0.0))[1] + own)
        level = [] if responsible else list(dict.fromkeys(above))


class _Work:
    """What the functions of both sides do by themselves."""

    def __init__(self, found: Comparison) -> None:
        self.found = found
        self.old, self.new = found.old, found.new
        self._places: dict[str, dict[int, int]] = {}
        self.old_out, self.new_out = _out(self.old.callers), _out(self.new.callers)

    def calls(self, side: Measurement, function: Function) -> int:
        """How often it was called."""
        return side.functions.get(function, {}).get("calls", NOTHING).low

    def weight(self, function: Function) -> float:
        """How many calls a call of it makes, itself and all below."""
        calls = self.calls(self.new, function)
        return max(1.0, self.new.inclusive.get(function, calls) / calls) if calls else 1.0

    def steady(self, function: Function, quantity: str) -> bool:
        """Whether the quantity says something of it."""
        return quantity not in self.found.left_out.get(function, ())

    def excess(self) -> dict[Function, float]:
        """What each function does more than it did, for as many calls."""
        found: dict[Function, float] = {}
        for function, counts in self.new.functions.items():
            if function == ELSEWHERE:
                continue
            before, now = self.calls(self.old, function), self.calls(self.new, function)
            if "calls" in self.new.quantities and not self.steady(function, "calls"):
                continue
            is_new = function not in self.old.functions
            more = now / before if before and now else 1.0
            total = 0.0
            if self.old.callers and not is_new:
                total += self._calls_made(function, more)
            for quantity in ("lines", "births"):
                if quantity in self.old.quantities and not is_new and self.steady(function, quantity):
                    had = self.old.functions.get(function, {}).get(quantity, NOTHING).high
                    grown = counts.get(quantity, NOTHING).low - had * more
                    total += grown if grown > 0.5 else 0.0
            if total > 0.5:
                found[function] = total
            elif not self.old.callers and now > before and self.old.functions:  # a file has no callers
                found[function] = (now - before) * 1e-6
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

    def suspect(self, function: Function, score: float, changed: set[Function]) -> Suspect:
        """All that is to be told of it."""
        old, new = self.old, self.new
        counts = {}
        for quantity in QUANTITIES:
            pair = (
                old.functions.get(function, {}).get(quantity, NOTHING),
                new.functions.get(function, {}).get(quantity, NOTHING),
            )
            if pair[0] != pair[1] and quantity in old.quantities and quantity in new.quantities:
                counts[quantity] = pair
        before, now = self.calls(old, function), self.calls(new, function)
        found = Suspect(
            function,
            score,
            function in changed if old.codes and function in new.codes else None,
            counts,
            per_call=now <= before
            or bool(self._grown_lines(function))
            or any(
                calls * max(before, 1) > self.old_out.get(function, {}).get(one, 0) * now
                for one, calls in self.new_out.get(function, {}).items()
            ),
            callers=_grown(old.callers.get(function, {}), new.callers.get(function, {})),
            called=_grown(self.old_out.get(function, {}), self.new_out.get(function, {})),
            lines=self._grown_lines(function),
            before=self.found.renamed.get(function),
            where=f"{function.file}:{new.first.get(function, 0)}" if function.file else "",
        )
        if found.lines:
            found.where = f"{function.file}:{found.lines[0].number}"
        return found

    def _grown_lines(self, function: Function) -> list[Line]:
        """The lines that do more, for as many calls; of a loop, those that run most come first."""
        found: list[Line] = []
        text = self.new.texts.get(function.file, [])
        before, now = self.calls(self.old, function), self.calls(self.new, function)
        more = now / before if before and now else 1.0
        if not self.old.texts:
            return []
        place = self._old_places(function)
        for what, olds, news in (
            ("lines", self.old.lines.get(function, {}), self.new.lines.get(function, {})),
            ("births", self.old.births.get(function, {}), self.new.births.get(function, {})),
        ):
            for number, times in news.items():
                had = olds.get(place.get(number, -1), 0)
                if times - had * more > 0.5:
                    shown = text[number - 1].strip() if 0 < number <= len(text) else ""
                    found.append(Line(number, shown, had, times, what))
        found.sort(key=lambda one: (one.what != "lines", one.old - one.new, one.number))
        return found

    def _old_places(self, function: Function) -> Mapping[int, int]:
        """{number of a line now: its number before}, for the lines that are the same."""
        before = self.found.renamed.get(function, function)
        old, new = self.old.texts.get(before.file, []), self.new.texts.get(function.file, [])
        key = f"{before.file}\n{function.file}"
        known = self._places
        if key not in known:
            places: dict[int, int] = {}
            if old == new:
                places = {number: number for number in range(1, len(new) + 1)}
            else:
                for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
                    places |= {block.b + at + 1: block.a + at + 1 for at in range(block.size)}
            known[key] = places
        return known[key]


def _out(callers: Edges) -> Edges:
    found: Edges = {}
    for function, by in callers.items():
        for caller, calls in by.items():
            found.setdefault(caller, {})[function] = calls
    return found


def _grown(old: Mapping[Function, int], new: Mapping[Function, int]) -> list[tuple[Function, int, int]]:
    """What grew most first."""
    found = (
        [(one, old.get(one, 0), calls) for one, calls in new.items() if calls > old.get(one, 0)] if old or new else []
    )
    return sorted(found, key=lambda row: (row[1] - row[2], str(row[0])))
