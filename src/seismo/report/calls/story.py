"""The story of a recording of calls, of a trace, and of a watch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seismo.model.idle_threads import without_idle
from seismo.model.recording import BY_CALLS
from seismo.report import words as text
from seismo.report.calls.functions import (
    COLUMNS,
    FunctionCells,
    amounts,
    head,
    order_words,
    selected_rows,
    usual_columns,
    whole_words,
)
from seismo.report.calls.imports import with_imports_as_one
from seismo.report.calls.options import usual_times
from seismo.report.calls.sources import block
from seismo.report.calls.threads import threads_at_once
from seismo.report.calls.tree import CallTree, Limits, Line, open_tree, shown_lines, tree_remarks, tree_title
from seismo.report.facts import cpu_ns, header, is_watch, thread_count, unended, wall_ns
from seismo.report.libraries import of_functions
from seismo.report.shown_functions import Modules, chosen_modules
from seismo.report.story import Name, Row, Section, Story, facts_section, falling, rounded, share
from seismo.report.story.steps import Steps, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Recording
    from seismo.report.options import Options

_SIGNS = text.Signs()
OWN_LEAST = 0.1  # share of own time; if the program's own functions have less, any function leads the steps
BLOCKS, BLOCK_LINES = 3, 12  # most functions with sources, and most lines of one
BLOCK_LEAST = 0.05  # least share of own time for a source


def story(recording: Recording, file: str, most: int, options: Options) -> Story:
    """Return the story. file: the recording's name in commands. most: rows of a section."""
    by = options.time or usual_times(recording)
    modules = chosen_modules(options)
    threads = thread_count(recording)
    shown = without_idle(recording)[0].timed(by)
    if threads > 1:
        shown = shown.combined()
    table = shown.functions if options.imports else with_imports_as_one(shown)
    functions = FunctionCells(shown, _SIGNS, table, threads_at_once(shown))
    functions.roomy = True
    rows = selected_rows(table, "own", modules, times=by)
    sections = [facts_section(header(recording, _SIGNS))]
    watch = is_watch(recording)
    if not watch:  # a watch records no callers, so that its tree is flat
        limits = Limits.of(replace(options, limit=most))
        sections.append(_paths(shown, functions, modules, limits, threads))
    sections.append(_functions(functions, rows, most, modules))
    sections.append(_blocks(functions, rows))
    if recording.calls:
        from seismo.report.calls import trace

        sections += trace.sections(recording, functions, min(most, trace.LONGEST))
    if len(recording.threads) > 1:
        sections.append(_threads(recording, most))
    sections = [section for section in sections if section.rows or section.name in ("functions", "paths")]
    sections.append(_steps(recording, file, functions, rows))
    kind = "watch" if watch else "trace" if recording.calls else "calls"
    title = {"watch": "Matches of a watch in", "trace": "Trace of", "calls": "Calls of"}[kind]
    return Story.of(recording, file, kind, title, totals(recording, by), sections)


def totals(recording: Recording, by: str) -> dict[str, Any]:
    """Return the sums over the recording."""
    functions, cpu = recording.timed("cpu").functions, cpu_ns(recording)
    return {
        "wall_ns": rounded(wall_ns(recording)),
        "cpu_ns": cpu if cpu >= 0 else None,
        "processes": len(recording.processes),
        "threads": max(1, thread_count(recording)),
        "functions": len(functions),
        "paths": recording.path_count,
        "calls": sum(functions["calls"]),
        "calls_at_least": any(functions["lower_bound"]),
        "resumes": sum(functions["resumes"]),
        "exceptions": sum(functions["exceptions"]),
        "own_ns": None if recording.timeless else rounded(sum(functions["own_ns"])),
        "wait_ns": None if recording.timeless else rounded(sum(functions["wait_ns"])),
        "times": by,
    }


def _functions(cells: FunctionCells, rows: Sequence[int], most: int, modules: Modules) -> Section:
    shown = rows[:most]
    columns = usual_columns(cells, shown, "own")
    headings = [head(name, cells.times).strip() for name in columns]
    own = cells.columns["own_ns"]
    largest = own[shown[0]] if shown else 0.0
    made = [
        Row(
            cells.data(row),
            [*(COLUMNS[name].cell(cells, row).strip() for name in columns), *cells.names(row)],
            falling(0.95, place, own[row] / largest if largest > 0 else 0.0),
        )
        for place, row in enumerate(shown)
    ]
    return Section(
        "functions",
        f"Functions by {order_words('own', cells.times)}",
        made,
        headings=[*headings, "function", "where", "definition"],
        numbers=len(columns),
        remark="; ".join(filter(None, (modules.words(), whole_words(cells)))),
        more=len(rows) - len(shown),
        none="none matches the filter" if modules and len(cells.columns) else "none",
    )


# ---- The tree. ----


def _paths(recording: Recording, cells: FunctionCells, modules: Modules, limits: Limits, threads: int) -> Section:
    tree = CallTree(recording, modules, limits)
    open_tree(tree)
    rows = [_tree_row(line, tree, cells) for line in shown_lines(tree)]
    remark = "; ".join([f"{_SIGNS.hot} hot path", *tree_remarks(tree, modules, threads)])
    none = "nothing in it matches the filter" if modules else "none"
    return Section("paths", tree_title(tree), rows, "tree", remark=remark, none=none)


def _tree_row(line: Line, tree: CallTree, cells: FunctionCells) -> Row:
    branch, whole_ns = line.branch, tree.whole_ns
    data: dict[str, Any] = {"what": line.what, "depth": line.indent}
    if line.what != "rest":
        data["hot"] = line.hot
    if branch:
        data |= cells.place(branch.function)
    data["total_share"] = share(line.total_ns, whole_ns)
    total = f"{text.amount(line.total_ns, line.total_error_ns, _SIGNS, tree.times)} total"
    if branch:
        names = ("total_ns", "total_error_ns", "own_ns", "own_error_ns", "wait_ns")
        data |= amounts(lambda name: getattr(branch, name), names, tree.times)
        data |= {"calls": branch.calls, "calls_at_least": branch.lower_bound, "levels": branch.levels}
        if tree.times != BY_CALLS:
            total += f", {text.time(branch.own_ns, branch.own_error_ns, _SIGNS)} own"
        calls = text.calls(branch.calls, branch.lower_bound, _SIGNS) if branch.calls else ""
        total += f", {calls} {'call' if calls == '1' else 'calls'}" if calls else ""
        about: list[str] = [Name(cells.name(branch.function)), Name(cells.where(branch.function))]
        if branch.inside:
            about += [f"{_SIGNS.cut} {text.number_of(line.frames, 'path')} of", Name(", ".join(line.packages[:6]))]
        elif branch.levels > 1:
            about.append(f"{branch.levels:,} deep")
    elif line.what == "run":
        data |= amounts(lambda name: getattr(line, name), ("total_ns", "total_error_ns"), tree.times)
        about = [f"{_SIGNS.cut} {line.frames:,} nested calls of", Name(", ".join(line.packages))]
    else:
        data |= {**amounts(lambda name: getattr(line, name), ("total_ns",), tree.times), "words": line.words}
        about = [f"{_SIGNS.cut} {line.words}"]
    if line.what != "rest":
        data |= {"frames": line.frames, "packages": line.packages}
    words = [_SIGNS.hot if line.hot else "", text.share(line.total_ns, line.total_error_ns, whole_ns), total, *about]
    of_whole = line.total_ns / whole_ns if whole_ns > 0 else 0.0
    return Row(data, words, falling(0.3 if line.what == "rest" else 0.9, line.indent, of_whole), line.indent)


# ---- Sources, threads and steps. ----


def _blocks(cells: FunctionCells, rows: Sequence[int]) -> Section:
    """Return the sources of the functions with most own time, if they are unchanged since the recording."""
    own, table = cells.columns["own_ns"], cells.recording.functions
    made: list[Row] = []
    for row in rows:
        if len(made) >= BLOCKS or own[row] < BLOCK_LEAST * cells.whole_ns:
            break
        file, first = table["file"][row], table["line"][row]
        source = cells.sources.of(file) if table["kind"][row] == text.PYTHON and first > 0 and file else None
        if source is None or source.problem or table["qualname"][row].endswith("<module>"):
            continue
        lines = block(source.lines, first, table["qualname"][row])
        if not lines:
            continue
        shown = lines[:BLOCK_LINES]
        data = {**cells.place(row), "first": first, "lines": shown, "more": len(lines) - len(shown)}
        code = [f"{number:>5}  {line}" for number, line in enumerate(shown, first)]
        code += [f"{_SIGNS.cut} {data['more']:,} more lines"] if data["more"] else []
        weight = falling(0.6, len(made), own[row] / cells.whole_ns)
        names = [Name(cells.name(row)), Name(cells.where(row))]
        made.append(Row(data, names, weight, code=code))
    return Section("sources", "Sources of these", made, "code")


def _threads(recording: Recording, most: int) -> Section:
    threads = sorted(recording.threads, key=lambda row: (-row.wall_ns, row.id))
    rows = [
        Row(
            {
                "thread": str(row.name),
                "id": row.id,
                "process": row.process,
                "main": bool(row.main),
                "folded": row.folded,
                "wall_ns": row.wall_ns,
                "cpu_ns": row.cpu_ns if row.cpu_ns >= 0 else None,
            },
            [
                text.duration(row.wall_ns, _SIGNS),
                text.duration(row.cpu_ns, _SIGNS) if row.cpu_ns >= 0 else "",
                f"{row.folded:,}" if row.folded else "",
                Name(str(row.name)),
            ],
            falling(0.35, place),
        )
        for place, row in enumerate(threads[:most])
    ]
    headings = ("wall", "CPU", "threads", "name")
    return Section("threads", "Threads", rows, headings=headings, numbers=3, more=len(threads) - len(rows))


def _steps(recording: Recording, file: str, cells: FunctionCells, rows: Sequence[int]) -> Section:
    steps, watch = Steps(recording, file), is_watch(recording)
    columns, whole = cells.columns, cells.whole_ns
    own, total, kinds = (columns[name] for name in ("own_ns", "total_ns", "kind"))
    mine = {
        row for row, library in of_functions(recording, [row for row in rows if not kinds[row]]).items() if not library
    }
    leading = [row for row in rows if kinds[row] != text.SYNTHETIC]
    if sum(own[row] for row in mine) >= OWN_LEAST * whole:
        leading = [row for row in rows if row in mine]
    if leading and not watch:
        top = leading[0]
        has, what = text.percent(own[top], whole), "calls" if cells.times == BY_CALLS else "own time"
        steps.report(
            f"who calls {cells.called(top)}, which has {has or 'much'} of the {what}",
            option("--callers", cells.called(top)),
        )
        if not kinds[top]:
            steps.record("which of its lines take the time", "lines", option("--only", cells.called(top)))
        between = [
            row for row in leading if not kinds[row] and own[row] < 0.5 * total[row] and total[row] < 0.95 * whole
        ]
        if between:
            most = max(between, key=lambda row: (total[row], -row))
            steps.report(
                f"what {cells.called(most)} calls, which makes up {text.percent(total[most], whole)} in all",
                option("--callees", cells.called(most)),
            )
    if recording.calls:
        if unended(recording, _SIGNS):
            steps.report("what each thread did last", "--around end")
        steps.of_file("view", "every call on a timeline")
    elif not watch and rows:
        steps.record("when each call happened", "trace")
    return steps.section()
