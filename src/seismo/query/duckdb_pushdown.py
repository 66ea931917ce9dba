"""Recordings' tables as DuckDB reads them: how many rows there are, and what a condition on times spares to read.

DuckDB takes any Arrow stream for a single row, and then puts a trace's calls on that side of a join which it keeps in
memory. Its own kind of source can tell how many rows there are. It is also asked which conditions it sees to itself,
and is told which columns are wanted: of calls, those with other times are neither decoded nor, where nothing else
forbids it, read. Where a version of DuckDB has no such sources, the plain way is right as well, and only slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.model.trace.arrow_stream import ALL_TIMES, STREAM_COLUMNS, CallStream, Times

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of a comparison of a column with a number: the bounds that it sets, as functions of the number.
LEAST = {"=": 0, ">=": 0, ">": 1}
MOST = {"=": 0, "<=": 0, "<": -1}


def register(connection: Any, name: str, table: Any, rows: int) -> None:
    """Gives a table a name in the database."""
    try:
        from duckdb._sources import ArrowScanSource

        given = _calls(table) if isinstance(table, CallStream) else {}
        attributes = {"rows": lambda _: rows, "schema_is_stable": True, **given}
        source: Any = type("Counted", (ArrowScanSource,), attributes)(table)
        connection._register_arrow_source(name, source)
    except (ImportError, AttributeError, TypeError):
        connection.register(name, table)


def _calls(calls: CallStream) -> dict[str, Any]:
    """The methods of a source of calls: what it sees to, and one reading."""

    def accepts(_: Any, predicate: Any) -> bool:
        return times_of(predicate) is not None

    def stream(_: Any, columns: Sequence[int] | None, filters: Sequence[Any]) -> tuple[object, bool]:
        times = ALL_TIMES
        for predicate in filters:
            found = times_of(predicate)
            if found is None:
                raise ValueError("a condition was accepted that this table does not know")
            times = times.and_also(found)
        wanted = STREAM_COLUMNS if not columns else [STREAM_COLUMNS[column] for column in columns]
        return calls.chosen(times, wanted), bool(columns)

    return {"accepts": accepts, "stream": stream}


def times_of(predicate: Any) -> Times | None:
    """The times that a condition leaves, as DuckDB gives it (duckdb._sources.nodes). None: it says anything else."""
    operator = getattr(predicate, "op", None)
    left, right = getattr(predicate, "left", None), getattr(predicate, "right", None)
    if operator == "AND":
        first, second = times_of(left), times_of(right)
        return first.and_also(second) if first is not None and second is not None else None
    parts, value = getattr(left, "parts", None), getattr(right, "value", None)
    if parts not in (("start_ns",), ("end_ns",)) or type(value) is not int or getattr(right, "type", "") != "BIGINT":
        return None
    if operator not in LEAST and operator not in MOST:
        return None
    at = parts[0].removesuffix("_ns")
    bounds = {}
    if operator in LEAST:
        bounds[f"{at}_least"] = min(value + LEAST[operator], 2**63 - 1)
    if operator in MOST:
        bounds[f"{at}_most"] = max(value + MOST[operator], -(2**63))
    return Times(**bounds)
