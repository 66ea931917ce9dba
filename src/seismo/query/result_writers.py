"""Writers of query results as text, CSV or JSON. Rows are streamed, except for text, whose columns are aligned."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import json
import math
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

from seismo.escape import printable
from seismo.report.words import beginning, cells, left, right

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.query.database import Result
    from seismo.report.paper import Paper

WIDEST = 60  # characters of a cell of text
NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL")


def write_text(paper: Paper, result: Result, most: int) -> None:
    """Write a table in which the program's names are escaped. most: the most rows to show, or 0 for all."""
    rows = result.rows()
    found = list(islice(rows, most) if most else rows)
    more = bool(most) and next(rows, None) is not None
    if len(result.columns) == 1 and len(found) == 1 and "\n" in str(found[0][0]):
        _write_lines(paper, str(found[0][0]))
        return
    if result.columns[:1] == ["explain_key"]:  # a drawing over several lines
        for row in found:
            _write_lines(paper, str(row[-1]))
        return
    to_the_right = [any(word in kind for word in NUMBERS) and "[" not in kind for kind in result.types]
    shown = [[shortened(paper, cell(value)) for value in row] for row in found]
    heads = [shortened(paper, printable(name)) for name in result.columns]
    widths = [max(map(cells, column)) for column in zip(heads, *shown, strict=True)]
    paper.line((_joined(heads, widths, to_the_right), "strong"))
    paper.line(("  ".join("-" * width for width in widths), "quiet"))
    for texts in shown:
        paper.line(_joined(texts, widths, to_the_right))
    if more:
        remark = f"there are more than these {most:,} rows: --limit N, --limit 0 for all"
        paper.line((f"{paper.signs.cut} {remark}", "quiet"))
    elif not found:
        paper.line(("no rows", "quiet"))


def shortened(paper: Paper, text: str) -> str:
    """Return the text, cut to the width of a cell."""
    return beginning(text, WIDEST, paper.signs)


def cell(value: Any) -> str:
    """Return a value for display: floats are rounded, and NULL is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    return printable(value if isinstance(value, str) else str(value))


def number(value: float) -> str:
    """Return a float with three decimals, or with six digits if it is very large or small."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if abs(value) >= 1e15 or abs(value) < 0.001:
        return f"{value:.6g}"
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _joined(row: list[str], widths: list[int], to_the_right: list[bool]) -> str:
    return "  ".join(
        (right if at_right else left)(text, width)
        for text, width, at_right in zip(row, widths, to_the_right, strict=True)
    )


def _write_lines(paper: Paper, text: str) -> None:
    for line in text.rstrip("\n").split("\n"):
        paper.line(printable(line))


def write_csv(stream: TextIO, result: Result, harmless: bool) -> None:
    """Write comma-separated values with a header. harmless: True to escape names, for a terminal."""
    made = csv.writer(stream, lineterminator="\n")
    made.writerow([printable(name) if harmless else name for name in result.columns])
    for row in result.rows():
        values = [_plain(value) for value in row]
        made.writerow([printable(value) if harmless and isinstance(value, str) else value for value in values])


def write_json(stream: TextIO, result: Result) -> None:
    """Write an array of objects, one per line, in ASCII."""
    before = "["
    for row in json_rows(result):
        stream.write(f"{before}\n{json.dumps(row, default=str)}")
        before = ","
    stream.write("[]\n" if before == "[" else "\n]\n")


def _plain(value: Any) -> Any:
    """Return a SQL value for JSON and CSV: decimals as floats, non-finite numbers as None, times in ISO 8601."""
    if isinstance(value, decimal.Decimal):
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def json_rows(result: Result) -> Iterator[dict[str, Any]]:
    """Yield the rows as JSON objects."""
    for row in result.rows():
        yield dict(zip(result.columns, map(_plain, row), strict=True))
