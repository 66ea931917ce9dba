"""The story of a recording of births and deaths of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.expression.lexer import quoted
from seismo.model.objects import leaks as judged
from seismo.report import words as text
from seismo.report.facts import command_line, filter_words, header, losses, wall_ns
from seismo.report.objects.facts import by_type_only, peak
from seismo.report.objects.group_descriptions import ObjectWords
from seismo.report.objects.holders import Holders
from seismo.report.objects.leak_descriptions import told
from seismo.report.objects.leaks import (
    BORN_HEADINGS,
    LEAK_HEADINGS,
    born_cells,
    born_in_calls,
    leak_cells,
    shown_leaks,
    whose_calls,
)
from seismo.report.objects.text import COLUMNS, LIFE, MAY_BE_EMPTY, Cells, ObjectsView, all_tables
from seismo.report.story import Name, Row, Section, Story, facts_section, falling, next_section, rounded
from seismo.report.story.steps import Steps, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Recording
    from seismo.model.objects.groups import ObjectGroup
    from seismo.model.objects.leaks import Leak
    from seismo.report.objects.holders import Held, Holder
    from seismo.report.objects.text import Table
    from seismo.report.options import Options

_SIGNS = text.Signs()
# The first row of each table, how much of the story it is.
_WEIGHTS = {"types": 0.85, "lines": 0.8, "churn": 0.7, "alive": 0.8, "cycles": 0.6}
_HOLDERS, _DEEPEST = 3, 12  # holders of one thing, and levels of them
_HARMLESS = (judged.WARM_UP, judged.LAST)


def story(recording: Recording, file: str, most: int, options: Options) -> Story:
    """What there is to tell. file: what commands call it. most: rows of a section."""
    libraries = options.libraries or bool(filter_words(recording))
    view = ObjectsView(limit=most, libraries=libraries)
    words = ObjectWords(recording, _SIGNS)
    sections = [facts_section(header(recording, _SIGNS))]
    if len(recording.object_spans):
        sections += [_leaks(words, view, most), _born(words, view, most)]
    cells = Cells(words)
    sections += [_table(name, table, words, cells, most) for name, table in all_tables(words, view)]
    sections = [section for section in sections if section.rows or section.name in ("types", "leaks")]
    sections.append(next_section(_steps(recording, file, words, view)))
    lost = bool(losses(recording, _SIGNS))
    return Story("objects", "Objects of", command_line(recording), file, totals(recording), sections, lost)


def totals(recording: Recording) -> dict[str, Any]:
    """The sums."""
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
    """What objects are, and where they were made."""
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
    """The numbers of a group."""
    counts = ("born", "died", "died_by_gc", "live", "peak", "bytes", "bytes_live", "short")
    truths = ("peak_at_most", "at_least", "live_at_least", "approximate")
    return {**place(words, group), **{name: getattr(group, name) for name in (*counts, *truths)}}


def _names(words: ObjectWords, group: ObjectGroup) -> list[str]:
    where = words.place(group)
    function = words.function(group.function)
    return [Name(words.types(group)), Name(where), Name(function), Name(words.source(group))]


def _table(name: str, table: Table, words: ObjectWords, cells: Cells, most: int) -> Section:
    shown = table.rows[:most]
    made = {column: [COLUMNS[column][1](cells, group).strip() for group in shown] for column in table.columns}
    columns = [column for column in table.columns if column not in MAY_BE_EMPTY or any(made[column])]
    rows = []
    for at, group in enumerate(shown):
        held = table.holders.of(group.rows) if table.holders else None
        names = _names(words, group) if table.lines else [Name(words.types(group))]
        row = data(words, group)
        if table.holders:
            row["held_by"] = _held(held)
            names.append(Name(_chain(held)))
        lead = _share(shown, group, name)
        rows.append(Row(row, [*(made[column][at] for column in columns), *names], falling(_WEIGHTS[name], at, lead)))
    heads = [COLUMNS[column][0].strip() for column in columns]
    named = ["types", "where", "function", "source"] if table.lines else ["type"]
    remarks = [table.remark, LIFE if "life" in columns else "", f"besides, {table.others}" if table.others else ""]
    return Section(
        name,
        table.title,
        rows,
        headings=[*heads, *named, *(["held by"] if table.holders else [])],
        numbers=len(heads),
        remark="; ".join(filter(None, remarks)),
        more=len(table.rows) - len(shown),
    )


def _share(groups: Sequence[ObjectGroup], group: ObjectGroup, name: str) -> float:
    """What a group has of the first one's number."""
    number = {"churn": "short", "alive": "live", "cycles": "died_by_gc"}.get(name, "born")
    largest = getattr(groups[0], number)
    return getattr(group, number) / largest if largest else 0.0


# ---- what calls left alive ----


def _leaks(words: ObjectWords, view: ObjectsView, most: int) -> Section:
    leaks = shown_leaks(words, view)
    holders = Holders(words.recording)
    rows = []
    for at, leak in enumerate(leaks[:most]):
        held = holders.of(leak.group.rows)
        _, verdict, _ = told(leak)
        numbers = {
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
            "held_by": _held(held),
        }
        weight = falling(0.5 if leak.verdict in _HARMLESS else 0.96, at, _alarm(leak, leaks))
        cells = [*leak_cells(leak, _SIGNS), verdict, *_names(words, leak.group), Name(_chain(held))]
        rows.append(Row({**data(words, leak.group), **numbers}, cells, weight))
    return Section(
        "leaks",
        "Alive after the calls they were born in",
        rows,
        headings=[*LEAK_HEADINGS, "verdict", "types", "where", "function", "source", "held by"],
        numbers=len(LEAK_HEADINGS),
        remark=whose_calls(words),
        more=len(leaks) - len(rows),
        none="nothing: everything born in a call was dead at the end",
    )


def _alarm(leak: Leak, leaks: Sequence[Leak]) -> float:
    most = max((one.alive for one in leaks), default=0)
    return leak.alive / most if most else 0.0


def _born(words: ObjectWords, view: ObjectsView, most: int) -> Section:
    groups = born_in_calls(words, view)
    calls = sum(one.calls for one in judged.spans(words.recording))
    rows = []
    for at, group in enumerate(groups[:most]):
        names = ("span_born", "span_died", "span_live")
        numbers = {**place(words, group), **{name: getattr(group, name) for name in names}, "calls": calls}
        weight = falling(0.55, at, group.span_born / groups[0].span_born)
        rows.append(Row(numbers, [*born_cells(group, calls, _SIGNS), *_names(words, group)], weight))
    return Section(
        "born",
        "Born in the calls",
        rows,
        headings=[*BORN_HEADINGS, "types", "where", "function", "source"],
        numbers=len(BORN_HEADINGS),
        remark=whose_calls(words),
        more=len(groups) - len(rows),
    )


# ---- who holds survivors ----


def _held(held: Held | None) -> list[dict[str, Any]]:
    """The direct holders, each with those who hold it; no more than a few of each."""
    return _holders(held.ranked(), 1) if held is not None else []


def _holders(holders: Sequence[Holder], depth: int) -> list[dict[str, Any]]:
    return [
        {
            "count": one.count,
            "holder": one.name,
            "by": one.by,
            "root": one.is_root,
            "ending": one.ending(),
            "held_by": _holders(one.ranked(), depth + 1) if depth < _DEEPEST else [],
        }
        for one in holders[:_HOLDERS]
    ]


def _chain(held: Held | None) -> str:
    """The way to a root that most of them are held by."""
    found: list[str] = []
    ranked = held.ranked() if held is not None else []
    while ranked and len(found) < _DEEPEST:
        found.append(ranked[0].words())
        ranked = ranked[0].ranked()
    return f" {_SIGNS.held} ".join(found)


# ---- what to look at next ----


def _steps(recording: Recording, file: str, words: ObjectWords, view: ObjectsView) -> list[tuple[str, str]]:
    steps = Steps(recording, file)
    groups = {name: table.rows for name, table in all_tables(words, view)}
    alive = groups.get("alive") or [leak.group for leak in shown_leaks(words, view)]
    if alive and alive[0].type:
        type_ = alive[0].type
        glob = "".join(f"[{char}]" if char in "*?[" else char for char in type_)
        steps.report(f"which lines made {type_}, and what became of it", "--by line", option("--type", glob))
    own = [group for group in alive if group.qualname and not group.qualname.endswith(">")]
    if own and not len(recording.object_spans):
        functions = recording.functions
        function = f"{functions['module'][own[0].function]}.{own[0].qualname}"
        calls = option("--leaks", f"call({quoted(function)})")
        steps.record(f"whether every call of {function} leaves something alive", "objects", calls)
    if len(recording.objects) and any(node >= 0 for node in recording.objects["node"]):
        steps.report("on which call paths objects are made", "--by path")
    elif len(recording.objects):
        steps.record("on which call paths objects are made", "objects", "--paths")
    else:
        steps.record("which lines make the objects", "objects")
    if losses(recording, _SIGNS):
        steps.of_file("info", "what was lost, and how it was recorded")
    return steps.found
