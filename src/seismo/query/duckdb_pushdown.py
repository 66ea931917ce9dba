"""Registration of a recording's tables with DuckDB, with their row counts and with filters on times pushed down.

DuckDB assumes that an Arrow stream has a single row. In a join it would then keep all calls of a trace in memory. Its
own kind of source can report the number of rows. DuckDB also asks such a source which conditions it handles, and passes
it the wanted columns. So calls outside the wanted times are not decoded and, where possible, not read. A version of
DuckDB without such sources gets a plain Arrow stream, which is correct but slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.model.trace.arrow_stream import ALL_TIMES, STREAM_COLUMNS, CallStream, Times

if TYPE_CHECKING:
    from collections.abc import Sequence

# For the comparison of a column with a number, the inclusive bounds that it sets, as offsets from the number.
BOUNDS = {"=": {"least": 0, "most": 0}, ">=": {"least": 0}, ">": {"least": 1}, "<=": {"most": 0}, "<": {"most": -1}}


def register(connection: Any, name: str, table: Any, rows: int) -> None:
    """Register a table under a name in the database."""
    try:
        from duckdb._sources import ArrowScanSource

        given = _calls(table) if isinstance(table, CallStream) else {}
        attributes = {"rows": lambda _: rows, "schema_is_stable": True, **given}
        source: Any = type("Counted", (ArrowScanSource,), attributes)(table)
        connection._register_arrow_source(name, source)
    except (ImportError, AttributeError, TypeError):
        connection.register(name, table)


def _calls(calls: CallStream) -> dict[str, Any]:
    """Return the methods of a source of calls: the conditions it handles, and one reading."""

    def accepts(_: Any, predicate: Any) -> bool:
        return times_of(predicate) is not None

    def stream(_: Any, columns: Sequence[int] | None, filters: Sequence[Any]) -> tuple[object, bool]:
        times = ALL_TIMES
        for predicate in filters:
            found = times_of(predicate)
            if found is None:
                raise ValueError("DuckDB passed a condition that was not accepted")
            times = times.and_also(found)
        wanted = STREAM_COLUMNS if not columns else [STREAM_COLUMNS[column] for column in columns]
        return calls.chosen(times, wanted), bool(columns)

    return {"accepts": accepts, "stream": stream}


def times_of(predicate: Any) -> Times | None:
    """Return the times that a condition (duckdb._sources.nodes) selects, or None for any other condition."""
    operator = getattr(predicate, "op", None)
    left, right = getattr(predicate, "left", None), getattr(predicate, "right", None)
    if operator == "AND":
        first, second = times_of(left), times_of(right)
        return first.and_also(second) if first is not None and second is not None else None
    parts, value = getattr(left, "parts", None), getattr(right, "value", None)
    if parts not in (("start_ns",), ("end_ns",)) or type(value) is not int or getattr(right, "type", "") != "BIGINT":
        return None
    if operator not in BOUNDS:
        return None
    at = parts[0].removesuffix("_ns")
    sums = {f"{at}_{bound}": value + offset for bound, offset in BOUNDS[operator].items()}
    return Times(**{name: max(-(2**63), min(total, 2**63 - 1)) for name, total in sums.items()})
