"""The output of `seismo info`: the contents and origin of a recording's file, in words and as JSON."""

from __future__ import annotations

import json
import os
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from seismo import options
from seismo import recording_kinds as kinds
from seismo.escape import printable, shell_word
from seismo.report import words as text
from seismo.report.facts import header, is_watch, write_facts
from seismo.report.kind import every, of
from seismo.report.story.document import finite

if TYPE_CHECKING:
    from seismo.model import Recording, Table, ThreadRow
    from seismo.report.paper import Paper

THREADS = 40  # rows of a table in words; JSON has all


def write_about(paper: Paper, recording: Recording, path: str) -> None:
    """Write the facts about the file: versions, program, machine, threads, sizes, settings, losses, problems."""
    meta = recording.meta
    file = printable(path)
    if path != "-" and os.path.isfile(path):
        file += f", {os.path.getsize(path):,} bytes"
    made = ", ".join(
        f"{word} {meta[key]}" for word, key in (("seismo", "seismo"), ("file format", "format")) if meta.get(key)
    )
    facts = [("file", file)]
    if made:
        facts.append(("made by", printable(f"{made}, recorder {_verb(recording)}" if meta.get("recorder") else made)))
    facts += header(recording, paper.signs)
    rows = {**_ROWS, **dict(of(recording).tables)}
    sizes = (text.number_of(len(getattr(recording, name)), *words) for name, words in rows.items())
    facts.append(("holds", ", ".join(sizes)))
    facts += [
        ("clock", printable(clock)) for clock in sorted({str(row.clock) for row in recording.processes if row.clock})
    ]
    facts += [("waits", waits) for waits in _waits(recording)]
    settings = _settings(meta.get("settings"))
    if settings:
        facts.append(("settings", settings))
    facts += [("problem", printable(problem)) for problem in recording.problems]
    write_facts(paper, facts)
    if len(recording.processes):
        paper.line()
        _write_processes(paper, recording)
    if len(recording.threads):
        paper.line()
        _write_threads(paper, recording)


def _verb(recording: Recording) -> str:
    recorder = str(recording.meta["recorder"])
    return "trace" if recording.calls else kinds.KINDS[recorder].verb if recorder in kinds.KINDS else recorder


# Settings that differ in name from their options; "" for those that another setting or the verb implies.
_WORDS = {
    **{option.name: option.word for option in (*options.SETTINGS.values(), *options.COVERAGE)},
    "flush_ms": "--flush",
    "source_dirs": "--source",
    "source_pkgs": "--source",
    "tests": "--contexts test",
    "holders": "--holders",
    "journal": "",
    "leaks": "",
}


def _settings(settings: Any) -> str:
    """Return the recorder's settings as written on the command line, and those without an option as name=value."""
    if not isinstance(settings, dict):
        return ""
    shown = []
    for name, value in settings.items():
        word = "--leaks" if name == "span" and settings.get("leaks") else _WORDS.get(name)
        if not value or word == "":
            continue
        if name == "objects" and value == "types":
            shown.append("--types")
        elif name == "expression":  # of a watch, which has it before the options
            shown.append(shell_word(str(value)))
        elif word is None:
            shown.append(shell_word(f"{name}={value if isinstance(value, str) else json.dumps(value)}"))
        elif value is True or (value == 1 and name in options.SETTINGS and options.SETTINGS[name].is_flag):
            shown.append(word)
        else:
            shown.append(
                " ".join(
                    f"{word} {shell_word(_value(name, one))}" for one in (value if isinstance(value, list) else [value])
                )
            )
    return " ".join(shown)


def _value(name: str, value: Any) -> str:
    """Return a setting's value in the unit of its option."""
    if isinstance(value, int) and name in ("flush_ms", "min_duration_ns"):
        return f"{value / 1000:g}" + ("us" if name == "min_duration_ns" else "")
    return value if isinstance(value, str) else json.dumps(value)


def _waits(recording: Recording) -> list[str]:
    """Return, for each kind of process, how waiting was distinguished from running."""
    if is_watch(recording) or not of(recording).times:
        return []
    methods = sorted({str(row.waits) for row in recording.processes if row.source})
    return [f"separated from running: {printable(how)}" if how else "not separated from running" for how in methods]


# For each table, the noun for one row and, if irregular, for several.
_ROWS = {
    "functions": ("function",),
    "tree": ("path",),
    "threads": ("thread",),
    "processes": ("process", "processes"),
    "losses": ("loss or note", "losses and notes"),
}


def _write_processes(paper: Paper, recording: Recording) -> None:
    paper.line(("Processes", "title"))
    rows = list(recording.processes)
    exits = [printable(str(row.exit)) or "unknown" for row in rows]  # empty if the process was killed or still runs
    width = max(map(text.cells, ["exit", *exits[:THREADS]]))
    paper.line((f"{'pid':>10}  {'parent':>10}  {'wall':>8}  {'exit':<{width}}  host, interpreter", "quiet"))
    for row, status in zip(rows[:THREADS], exits, strict=False):
        wall = text.duration(max(0, row.end_ns - row.start_ns), paper.signs) if row.end_ns > 0 else ""
        where = printable(", ".join(part for part in (str(row.host), str(row.interpreter)) if part))
        head = f"{row.pid:>10}  {row.ppid:>10}  {text.right(text.aligned(wall), 8)}  {text.left(status, width)}  "
        paper.line(head, text.shorten(where, max(24, paper.width - len(head)), paper.signs))
    _write_more(paper, len(rows))


def _write_threads(paper: Paper, recording: Recording) -> None:
    paper.line(("Threads", "title"))
    pids = recording.processes["pid"]
    paper.line((f"{'id':>4}  {'native id':>10}  {'pid':>10}  {'wall':>8}  {'CPU':>8}  name", "quiet"))
    for row in _chosen_threads(recording):
        times = (text.aligned(text.duration(ns, paper.signs)) if ns >= 0 else "" for ns in (row.wall_ns, row.cpu_ns))
        wall, cpu = (text.right(time, 8) for time in times)
        head = f"{row.id:>4}  {row.native_id:>10}  {pids[row.process]:>10}  {wall}  {cpu}  "
        name = printable(str(row.name)) + (" (main)" if row.main else "")
        name += f", {row.folded:,} folded" if row.folded else ""
        paper.line(head, text.shorten(name, max(24, paper.width - len(head)), paper.signs))
    _write_more(paper, len(recording.threads), ", none of which ran longer")


def _chosen_threads(recording: Recording) -> list[ThreadRow]:
    """Return all threads, or the most important if there are too many.

    Main threads come first, then rows of several folded threads, then the longest-running.
    """
    threads = recording.threads
    if len(threads) <= THREADS:
        return list(threads)
    main, folded, wall = threads["main"], threads["folded"], threads["wall_ns"]
    rank = [(bool(main[row]), bool(folded[row]), wall[row], -row) for row in range(len(threads))]
    return [threads[row] for row in sorted(nlargest(THREADS, range(len(threads)), key=rank.__getitem__))]


def _write_more(paper: Paper, rows: int, which: str = "") -> None:
    if rows > THREADS:
        paper.line((f"  {paper.signs.cut} {rows - THREADS:,} more{which} (--json lists all)", "quiet"))


def as_json(recording: Recording, path: str) -> str:
    """Return the same facts as one JSON object; times in ns, -1 if unknown."""
    more = [name for kind in every() for name, _ in kind.tables]
    return json.dumps(
        {
            "file": path,
            "meta": recording.meta,
            "processes": _rows(recording.processes),
            "threads": _rows(recording.threads),
            "losses": _rows(recording.losses),
            "problems": list(recording.problems),
            "rows": {name: len(getattr(recording, name)) for name in (*_ROWS, *more)},
            "calls": sum(recording.functions["calls"]),
            "resumes": sum(recording.functions["resumes"]),
            "own_ns": round(sum(recording.functions["own_ns"])),
        },
        indent=2,
    )


def _rows(table: Table[Any]) -> list[dict[str, Any]]:
    columns = {name: table[name] for name in table.columns}
    return [{name: finite(column[row]) for name, column in columns.items()} for row in range(len(table))]
