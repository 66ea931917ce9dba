"""A check's result as a story, from which the writers of reports make Markdown and JSON (docs/report-schema.json)."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import TYPE_CHECKING, Any

from seismo.check.measurement import Function, Range
from seismo.check.writers import wording
from seismo.report.story import Name, Row, Section, Story, facts_section, falling

if TYPE_CHECKING:
    from seismo.check.check_result import Outcome

MOST = 1000  # rows of a section


def story(outcome: Outcome) -> Story:
    """Return the whole result, the most important first."""
    headline = wording.headline(outcome)
    facts = [("against", outcome.against)] if outcome.against else []
    facts += [("time", timed)] if (timed := wording.time_said(outcome)) else []
    facts += [("remark", remark) for remark in outcome.remarks]
    facts += [("unseen", wording.UNSEEN)] if outcome.comparison is not None and outcome.times is None else []
    sections = [facts_section(facts), _findings(outcome), _suspects(outcome), _growths(outcome), _unsteady(outcome)]
    sections.append(_counts(outcome))
    shown = [section for section in sections if section.rows]
    stamp = outcome.new.stamp
    totals: dict[str, Any] = {"verdict": outcome.verdict.value, "status": outcome.status, "headline": headline}
    totals |= {"against": outcome.against, "stamp": plain(stamp)}
    if outcome.times is not None and outcome.times.old:
        totals["cpu_s"] = {**plain(outcome.times), "change": outcome.times.change}
    lost = bool(outcome.uncounted)
    return Story("check", f"seismo check: {headline}", stamp.program, "", totals, shown, lost)


def _findings(outcome: Outcome) -> Section:
    found = outcome.comparison.worst_first if outcome.comparison is not None else []
    rows = []
    for place, finding in enumerate(found[:MOST]):
        numbers = ["", "", ""]
        if wording.has_numbers(finding):
            old, new = finding.old, finding.new
            numbers = [wording.number(old), wording.number(new), wording.change(old, new)]
        cells = [*numbers, wording.IN_WORDS[finding.verdict], Name(wording.what(finding)), Name(str(finding.limit))]
        data = {**plain(finding), "limit": str(finding.limit), "quantity": finding.limit.quantity}
        rows.append(Row(data, cells, falling(0.99, place)))
    headings = ("before", "now", "change", "result", "of", "limit")
    return Section("findings", "Limits", rows, headings=headings, numbers=3, more=max(0, len(found) - MOST))


def _suspects(outcome: Outcome) -> Section:
    rows = []
    for place, suspect in enumerate(outcome.suspects):
        reason = wording.reason(suspect) + (", and its code changed" if suspect.changed else "")
        cells = (Name(str(suspect.function)), Name(suspect.where), reason)
        rows.append(Row(plain(suspect), cells, falling(0.97, place), code=wording.details(suspect)))
    return Section("suspects", "Look at these first", rows, form="code")


def _growths(outcome: Outcome) -> Section:
    rows = [
        Row({"new": plain(now), "old": plain(before)}, (Name(wording.grown(now, before)),), falling(0.95, place))
        for place, (now, before) in enumerate(outcome.worse[:MOST])
    ]
    return Section("worse", "Worse than linear now", rows, headings=("function",))


def _unsteady(outcome: Outcome) -> Section:
    found = outcome.comparison.left_out if outcome.comparison is not None else {}
    rows = [
        Row({"subject": plain(one), "quantities": of}, (Name(str(one)), ", ".join(of)), falling(0.5, place))
        for place, (one, of) in enumerate(list(found.items())[:MOST])
    ]
    title, more = "Left out, because they differ from run to run", max(0, len(found) - MOST)
    return Section("unsteady", title, rows, headings=("of", "counts"), more=more)


def _counts(outcome: Outcome) -> Section:
    old = outcome.comparison.old.totals if outcome.comparison is not None else {}
    rows = []
    for quantity, new in outcome.new.totals.items():
        before = old.get(quantity)
        earlier = (wording.number(before), wording.change(before, new)) if before is not None else ("", "")
        data = {"quantity": quantity, "old": plain(before), "new": plain(new)}
        rows.append(Row(data, (earlier[0], wording.number(new), earlier[1], quantity), 0.7))
    return Section("counts", "All counts", rows, headings=("before", "now", "change", "of"), numbers=3)


def plain(value: object) -> Any:
    """Return a result's objects as JSON data: a function as its parts, a count as a range over the runs."""
    if isinstance(value, Range):
        return [value.low, value.high]
    if isinstance(value, Function):
        return value._asdict()
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(member) for key, member in value.items()}
    return [plain(member) for member in value] if isinstance(value, list | tuple) else value
