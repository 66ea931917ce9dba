"""The sums on Ray: tasks that add up groups of rows with Arrow, and tasks that add up their results.

Ray Data's own groupby calls Python for every group and column, which takes hours for 10^8 rows. So these are two rounds
of plain tasks: the first reads groups of rows of the files and splits its sums by a key, the second adds up each part.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
from typing import TYPE_CHECKING, Any

from seismo.dataset.engines import LOW_BITS, ROWS, ROWS_OF_PART, halves, module, place
from seismo.dataset.schema import GROUP_ROWS, library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from seismo.dataset.engines import Reduction, Summed

SPLIT_BY = ("path", "path_hash", "function")  # numbers, of which the lowest bits choose a part


@contextlib.contextmanager
def started() -> Iterator[Summed]:
    """Use Ray as it is, or start or join what RAY_ADDRESS names, until the context ends."""
    ray = module("ray", "ray")
    ours = not ray.is_initialized()
    if ours:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield lambda reduction: _summed(ray, reduction)
    finally:
        if ours:
            ray.shutdown()


def _summed(ray: Any, reduction: Reduction) -> Iterator[Any]:
    first, second = (ray.remote(task) for task in tasks(reduction))
    groups = [(place(file), group) for file in reduction.files for group in range(_row_groups(file))]
    parts = _parts(reduction)
    size = max(1, ROWS_OF_PART // GROUP_ROWS)
    first = first.options(num_returns=parts)
    made = [first.remote(groups[start : start + size]) for start in range(0, len(groups), size)]
    made = [[one] if parts == 1 else one for one in made]
    found = [second.remote(*(one[part] for one in made)) for part in range(parts)]
    del made
    while found:
        yield ray.get(found.pop())


def _parts(reduction: Reduction) -> int:
    """Return the number of parts: a power of two."""
    return 1 << (reduction.parts - 1).bit_length() if set(SPLIT_BY) & set(reduction.keys) else 1


def _row_groups(file: str) -> int:
    with module("ray", "fsspec").open(file, "rb") as stream:
        return int(library("pyarrow.parquet").read_metadata(stream).num_row_groups)


def tasks(reduction: Reduction) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the tasks of both rounds: local functions, which Ray sends by value, as workers have no seismo."""
    keys, integers, floats = reduction.keys, reduction.integers, reduction.floats
    parts = _parts(reduction)
    by = next((name for name in SPLIT_BY if name in keys), "")
    names = {column: halves(column) for column in integers}
    bits, count = LOW_BITS, ROWS
    values = [count, *(half for column in integers for half in names[column]), *floats]

    def added(table: Any) -> Any:
        sums = table.group_by(keys).aggregate([(name, "sum") for name in values])
        return sums.select([*keys, *(f"{name}_sum" for name in values)]).rename_columns([*keys, *values])

    def first(groups: list[tuple[str, int]]) -> Any:
        libraries = ("fsspec", "pyarrow", "pyarrow.compute", "pyarrow.parquet")
        fsspec, pa, pc, parquet = map(importlib.import_module, libraries)
        tables = []
        for file, group in groups:
            with fsspec.open(file, "rb") as stream:
                table = parquet.ParquetFile(stream).read_row_group(group, columns=[*keys, *integers, *floats])
            columns = {name: table[name] for name in keys}
            columns[count] = pa.array([1] * len(table), pa.int64())
            for name in integers:
                high, low = names[name]
                columns[high] = pc.shift_right(table[name], bits)
                columns[low] = pc.bit_wise_and(table[name], (1 << bits) - 1)
            columns |= {name: table[name].cast(pa.float64()) for name in floats}
            tables.append(added(pa.table(columns)))
        sums = added(pa.concat_tables(tables))
        if parts == 1:
            return sums
        part = pc.bit_wise_and(sums[by], parts - 1)
        return [sums.filter(pc.equal(part, number)) for number in range(parts)]

    def second(*tables: Any) -> Any:
        pa = importlib.import_module("pyarrow")
        return added(pa.concat_tables(tables))

    return first, second
