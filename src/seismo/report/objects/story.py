"""The story of a recording of objects: live objects and their holders, then short-lived ones."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from seismo.escape import printable
from seismo.expression.lexer import quoted
from seismo.model.objects import groups as grouped
from seismo.model.objects import leaks as judged
from seismo.report import words as text
from seismo.report.facts import filter_words, header, wall_ns
from seismo.report.objects.columns import MEANINGS, NARROW, ORDERS, TABLES, led, ranked
from seismo.report.objects.facts import by_type_only, peak
from seismo.report.objects.group_descriptions import HARMLESS, ObjectWords, each, style, verdict_words
from seismo.report.objects.holders import Held, Holders
from seismo.report.options import Options
from seismo.report.story import Name, Row, Section, Story, facts_section, falling, marks, marks_section, rounded
from seismo.report.story.steps import Steps, option
from seismo.report.tables import made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from seismo.model import Recording
    from seismo.model.objects.groups import ObjectGroup
    from seismo.model.objects.leaks import Leak
    from seismo.report.words import Signs

_SIGNS = text.Signs()
FEW = 0.01  # of the largest number: smaller rows are noise
_HOLDERS, _DEEPEST = 3, 12  # holders of one thing, and levels of them


@dataclass(slots=True)
class ObjectRow(Row):
    """A row about objects. held: their holders. path: the call path on which they were born."""

    held: Held | None = None
    path: Sequence[str] = ()


def story(recording: Recording, file: str, most: int, options: Options) -> Story:
    """Return the story. file: the recording's name in commands. most: rows of a section."""
    shown = Options(limit=most, libraries=options.libraries or bool(filter_words(recording)))
    tables = Tables(ObjectWords(recording, _SIGNS), shown)
    sections = [facts_section(header(recording, _SIGNS)), *tables.all()]
    sections += [marks_section(marks(MEANINGS, sections)), _steps(recording, file, sections)]
    return Story.of(recording, file, "objects", "Objects of", totals(recording), sections)


def totals(recording: Recording) -> dict[str, Any]:
    """Return the sums over the recording."""
    types = recording.types
    most, exact = peak(recording)
    return {
        "wall_ns": rounded(wall_ns(recording)),
        "processes": len(recording.processes),
        "types": len(types),
        **{name: sum(types[name]) for name in ("born", "died", "died_by_gc", "live")},
        "by_type_only": by_type_only(recording),
        "peak": most,
        "peak_at_least": not exact,
    }


def place(words: ObjectWords, group: ObjectGroup) -> dict[str, Any]:
    """Return the types of objects, and where they were made."""
    functions = words.recording.functions
    known = group.function >= 0
    return {
        "type": group.type,
        "types": words.types(group),
        "file": words.sources.path(group.file) if group.file else "",
        "line": group.line,
        "function": f"{functions['module'][group.function]}:{group.qualname}" if known else "",
        "source": words.source(group),
    }


def data(words: ObjectWords, group: ObjectGroup) -> dict[str, Any]:
    """Return the numbers of a group."""
    counts = ("born", "died", "died_by_gc", "live", "peak", "bytes", "bytes_live", "short")
    truths = ("peak_at_most", "at_least", "live_at_least", "approximate")
    return {**place(words, group), **{name: getattr(group, name) for name in (*counts, *truths)}}


def chosen(groups: Sequence[ObjectGroup], types: Sequence[str]) -> Sequence[ObjectGroup]:
    """Return the groups whose type matches a glob, or all without a glob. Groups of several types never match."""
    if not types:
        return groups
    return [group for group in groups if group.type and any(_is_called(group.type, glob) for glob in types)]


def _is_called(name: str, glob: str) -> bool:
    return fnmatchcase(name, glob) or fnmatchcase(name.rpartition(".")[2], glob) or glob == f"builtins.{name}"


class Tables:
    """The tables of a report, as sections of its story. options: those of `seismo report`, with one of ORDERS."""

    def __init__(self, words: ObjectWords, options: Options) -> None:
        self._words, self._options = words, options
        self._holders = Holders(words.recording)

    def all(self) -> Iterator[Section]:
        """Yield tables for the most common questions: live objects and holders, short-lived ones, and all objects."""
        recording, types, order = self._words.recording, self._options.type, self._options.sort or "born"
        both = chosen(self._words.lines, types)
        if len(recording.object_spans):  # the survivors of calls come first
            yield self.leaks()
            yield self.born()
        elif both:
            yield self._of_lines("alive", both, "live-bytes" if order == "live-bytes" else "live")
        if both:
            remark = f"short-lived objects; 100 % is {text.number_of(self._words.whole, 'birth')}"
            yield self._of_lines("churn", both, "short", remark)
        yield self._of_types("types", order)
        if both:
            yield self._of_lines("lines", both if types else grouped.by_line(recording), order)
            remark = "objects in reference cycles: only the cycle collector could free them"
            cycles = self._of_lines("cycles", both, "gc", remark)
            if cycles.rows or cycles.besides:
                yield cycles

    def one(self) -> Section:
        """Return the one table that the options ask for."""
        recording, types, by = self._words.recording, self._options.type, self._options.by or ""
        order = self._options.sort or "born"
        remark = printable(f"types {', '.join(types)}") if types else ""
        if by == "type":
            return self._of_types("type", order, remark)
        lines = self._words.lines if types else grouped.by_line(recording)
        return self._of_lines(by, chosen(lines if by == "line" else grouped.by_path(recording), types), order, remark)

    def leaks(self) -> Section:
        """Return the objects that the calls left alive, the more alarming first."""
        found = judged.leaks(self._words.recording, self._words.lines)
        wanted = {group.rows for group in chosen([leak.group for leak in found], self._options.type)}
        leaks = [leak for leak in found if leak.group.rows in wanted]
        none = "nothing: everything born in a call was dead at the end"
        return self._section("leaks", leaks, lambda leak: leak.alive, remark=self._whose_calls(), none=none)

    def born(self) -> Section:
        """Return what was born in the calls, by type and line."""
        words = self._words
        groups = [group for group in chosen(words.lines, self._options.type) if group.span_born]
        spans = judged.spans(words.recording)
        whole = [sum(getattr(one, name) for one in spans) for name in ("born", "died", "escaping", "alive")]
        total = [each(whole[0], self._words.calls, False, self._words.signs), *(f"{one:,}" for one in whole)]
        more: dict[str, Any] = {"remark": self._whose_calls(), "none": "nothing", "total": total}
        born_in_calls = attrgetter("span_born")
        return self._section("born", led(groups, born_in_calls), born_in_calls, **more)

    def _whose_calls(self) -> str:
        """Return `1,000 calls of app:handle`."""
        spans = judged.spans(self._words.recording)
        parts = [
            f"{text.number_of(one.calls, 'call')} of {self._words.function(one.function) or 'unknown functions'}"
            for one in spans[:2]
        ]
        more = f" and of {text.number_of(len(spans) - 2, 'other function')}" if len(spans) > 2 else ""
        running = sum(one.running for one in spans)
        return ", ".join(parts) + more + (f"; {running:,} had not ended" if running else "")

    def _of_types(self, name: str, order: str, remark: str = "") -> Section:
        groups = ranked(chosen(grouped.by_type(self._words.recording), self._options.type), order)
        return self._section(name, groups, ORDERS[order].key, remark=remark, by=f" by {ORDERS[order].words}")

    def _of_lines(self, name: str, groups: Sequence[ObjectGroup], order: str, remark: str = "") -> Section:
        """Return a table of the program's own lines with a remark on the others, or of all lines with --libraries."""
        options, words, key = self._options, self._words, ORDERS[order].key
        more = {"remark": remark}
        if not (options.libraries or options.all or options.type):
            counted = text.size if "bytes" in order else "{:,.0f}".format
            more["besides"] = words.of_libraries(groups, key, counted)
            groups = [group for group in groups if not words.library(group)]
        groups = ranked(groups, order)
        if TABLES[name].leads:
            return self._section(name, led(groups, key), key, **more)
        return self._section(name, groups, key, by="" if name == "cycles" else f" by {ORDERS[order].words}", **more)

    def _section(
        self, name: str, found: Sequence[Any], key: Callable[[Any], float], by: str = "", **more: Any
    ) -> Section:
        """Return the shown rows of a table. found: groups or leaks. key: the number that ranks them."""
        table, held_by, of_types = TABLES[name], name in ("alive", "leaks"), name in ("type", "types")
        options = self._options
        shown = found[: options.limit or (None if options.all else table.rows)]
        largest = max(map(key, shown), default=0)
        if table.leads and not (options.limit or options.all):
            shown = [one for one in shown if key(one) >= FEW * largest]
        headings, texts = made(table.columns, table.names, self._words, shown)
        rows: list[Row] = []
        for at, (one, numbers) in enumerate(zip(shown, texts, strict=True)):
            leak = one if name == "leaks" else None
            group = one if leak is None else leak.group
            weight = table.weight if leak is None or style(leak.verdict) != HARMLESS else 0.5
            row = ObjectRow(self._data(name, group), numbers, falling(weight, at, key(one) / largest))
            if leak is not None:
                row.data |= _judged(leak)
                row.cells = [*numbers, verdict_words(leak)]
            row.cells = [*row.cells, *(_names(self._words, group)[: 1 if of_types else None])]
            row.path = self._words.path(group)
            if held_by:
                row.held = self._holders.of(group.rows)
                row.data["held_by"] = _held(row.held)
                row.cells = [*row.cells, Name(chain_of(row.held, self._words.signs))]
            rows.append(row)
        named = ["type"] if of_types else ["types", "where", "function", "source"]
        return Section(
            name,
            table.title + by,
            rows,
            headings=[*headings, *["verdict"][: name == "leaks"], *named, *["held by"][:held_by]],
            numbers=len(headings),
            more=len(found) - len(shown),
            about="type" if of_types else "verdict" if name == "leaks" else "line and types",
            noun="type" if of_types else "line",
            narrow=NARROW,
            least=26 if of_types else 40,
            **more,
        )

    def _data(self, name: str, group: ObjectGroup) -> dict[str, Any]:
        if name != "born":
            return data(self._words, group)
        spans = {one: getattr(group, one) for one in ("span_born", "span_died", "span_live")}
        return {**place(self._words, group), **spans, "calls": self._words.calls}


def _judged(leak: Leak) -> dict[str, Any]:
    return {
        "alive": leak.alive,
        "calls": leak.calls,
        "calls_with": leak.calls_with,
        "calls_at_most": leak.at_most,
        "per_call": rounded(leak.per_call),
        "alive_bytes": leak.bytes,
        "parts": list(leak.parts),
        "verdict": leak.verdict,
        "span_born": leak.group.span_born,
        "span_died": leak.group.span_died,
    }


def _names(words: ObjectWords, group: ObjectGroup) -> list[str]:
    function = words.function(group.function)
    return [Name(part) for part in (words.types(group), words.place(group), function, words.source(group))]


# ---- Holders of survivors. ----


def _held(held: Held | None, depth: int = 1) -> list[dict[str, Any]]:
    """Return the direct holders, each with its own holders, at most a few of each."""
    return [
        {
            "count": one.count,
            "holder": one.name,
            "by": one.by,
            "root": one.is_root,
            "ending": one.ending(),
            "held_by": _held(one, depth + 1),
        }
        for one in (held.ranked()[:_HOLDERS] if held is not None and depth <= _DEEPEST else ())
    ]


def chain_of(held: Held | None, signs: Signs) -> str:
    """Return the path to a root along the holders with the most survivors."""
    found: list[str] = []
    ranked = held.ranked() if held is not None else []
    while ranked and len(found) < _DEEPEST:
        found.append(ranked[0].words())
        ranked = ranked[0].ranked()
    return f" {signs.held} ".join(found)


# ---- Next steps. ----


def _steps(recording: Recording, file: str, sections: Sequence[Section]) -> Section:
    steps = Steps(recording, file)
    alive = [row.data for section in sections if section.name in ("alive", "leaks") for row in section.rows]
    if alive and alive[0]["type"]:
        type_ = alive[0]["type"]
        glob = "".join(f"[{char}]" if char in "*?[" else char for char in type_)
        steps.report(f"which lines made {type_}, and what became of it", "--by line", option("--type", glob))
    own = [row["function"] for row in alive if row["function"] and not row["function"].endswith(">")]
    if own and not len(recording.object_spans):
        function = own[0].replace(":", ".")
        calls = option("--leaks", f"call({quoted(function)})")
        steps.record(f"whether every call of {function} leaves something alive", "objects", calls)
    if len(recording.objects) and any(node >= 0 for node in recording.objects["node"]):
        steps.report("on which call paths objects are made", "--by path")
    elif len(recording.objects):
        steps.record("on which call paths objects are made", "objects", "--paths")
    else:
        steps.record("which lines make the objects", "objects")
    return steps.section()
