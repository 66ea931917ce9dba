"""Rows and tables of a recording as text for an interpreter and as HTML for a notebook. Times have units.

seismo.model.table loads this module when a row or a table is shown.
"""

from __future__ import annotations

import html
from datetime import UTC, datetime
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Any

from seismo.escape import printable
from seismo.report.words import Signs, aligned, cells, duration, left, number_of, right, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Table

FIRST = 10  # rows of a table that are shown
WIDEST = 40  # columns of the terminal that a name may take
EPOCH = 10**18  # ns: larger values are moments since the Unix epoch, not durations
_SIGNS = Signs()
_PARTS = ("own_ns", "own_error_ns", "own_running_ns", "own_waiting_ns", "total_ns")
# The columns that are shown of tables with many.
_SHOWN = {
    "FunctionRow": ("id", "module", "qualname", "calls", "lower_bound", *_PARTS),
    "NodeRow": ("id", "parent", "thread", "function", "calls", *_PARTS),
    "LineRow": ("id", "function", "line", "hits", *_PARTS),
    "ProcessRow": ("id", "pid", "ppid", "host", "argv", "start_ns", "end_ns", "exit"),
}


def row_text(row: Any) -> str:
    """Return the repr of a row. Fields that are 0 or empty are left out, except the first one and kinds."""
    fields = [
        f"{name}={value!r}" if isinstance(value, str) else f"{name}={_text(name, value)}"
        for at, (name, value) in enumerate(zip(row._fields, row, strict=True))
        if value or at == 0 or isinstance(value, IntEnum)
    ]
    return f"{type(row).__name__}({', '.join(fields)})"


def row_html(row: Any) -> str:
    """Return a row as HTML: a line for each field."""
    lines = [[name, _text(name, value)] for name, value in zip(row._fields, row, strict=True)]
    return _html_table(type(row).__name__, [], lines)


def table_text(table: Table[Any], kind: str) -> str:
    """Return the repr of a table: the number of its rows, and the first ones. `kind` names the type of its rows."""
    head, rows, more = _first(table, kind)
    if not rows:
        return f"<{_title(table, kind)}: {', '.join(table.columns)}>"
    texts = [head, *rows]
    widths = [max(cells(line[at]) for line in texts) for at in range(len(head))]
    pads = [left if isinstance(value, str) else right for value in (table[name][0] for name in head)]
    lines = [
        "  ".join(pad(text, width) for pad, text, width in zip(pads, line, widths, strict=True)).rstrip()
        for line in texts
    ]
    return "\n".join([f"<{_title(table, kind)}>", *lines, *more])


def table_html(table: Table[Any], kind: str) -> str:
    """Return a table as HTML: the number of its rows, and the first ones. `kind` names the type of its rows."""
    head, rows, more = _first(table, kind)
    return _html_table(_title(table, kind), head, rows) + "".join(f"<p>{html.escape(line)}</p>" for line in more)


def _title(table: Table[Any], kind: str) -> str:
    return f"Table of {number_of(len(table), kind)}"


def _first(table: Table[Any], kind: str) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the names of the columns to show, the cells of the first rows, and a line on what is left out."""
    names = [name for name in _SHOWN.get(kind, table.columns) if name in table.columns]
    shown = [table[number] for number in range(min(FIRST, len(table)))]
    rows = [[_cell(name, getattr(row, name)) for name in names] for row in shown]
    left_out = [f"{len(table) - len(rows):,} more rows"] if len(rows) < len(table) else []
    others = [name for name in table.columns if name not in names]
    left_out += [f"more columns: {', '.join(others)}"] if others else []
    return names, rows, [f"{_SIGNS.cut} {'; '.join(left_out)}"] if left_out else []


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str):
        return shorten(_text(name, value), WIDEST, _SIGNS)
    return aligned(_text(name, value)) if name.endswith("_ns") else _text(name, value)


def _text(name: str, value: Any) -> str:
    if isinstance(value, IntEnum) or (isinstance(value, IntFlag) and value):
        return repr(value).strip("<>").partition(":")[0]  # str() is the number
    if isinstance(value, (int, float)) and name.endswith("_ns"):
        if value < 0:
            return "unknown"
        if isinstance(value, int) and value >= EPOCH:
            return datetime.fromtimestamp(value // 1_000_000_000, UTC).isoformat(" ")
        return duration(value, _SIGNS)
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def _html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [("th", head), *(("td", row) for row in rows)]
    body = "".join(
        f"<tr>{''.join(f'<{tag}>{html.escape(text)}</{tag}>' for text in line)}</tr>" for tag, line in lines if line
    )
    return f"<table><caption>{html.escape(title)}</caption>{body}</table>"
