"""Arithmetic on columns (sums over the tree of calls and over rows), and Arrow streams over them, made by pyarrow."""

from __future__ import annotations

import array
import importlib
import math
from typing import TYPE_CHECKING, Any

from seismo.errors import UsageError, install_command
from seismo.pure.numbers import clamped, ints, reals

if TYPE_CHECKING:
    from collections.abc import Mapping

_SUMS = ("calls", "resumes", "exceptions", "awaits", "await_ns", "wait_ns", "ready_ns", "lock_ns")
_TOTALS = ("total_ns", "total_error_ns", "total_wait_ns", "total_square", "total_distortion")


def take(columns: Mapping[str, Any], code: str) -> memoryview:
    """Return the `values` at these `rows`. Of integers, row -1 has -1."""
    values, rows = memoryview(columns["values"]), memoryview(columns["rows"])
    found = (-1 if code == "q" and row == -1 else values[row] for row in rows)
    return memoryview(array.array(code, found)).toreadonly()


def sum_by(columns: Mapping[str, Any], rows: int, code: str, is_or: bool = False) -> memoryview:
    """Return for each row the sum, or the bitwise or, of the `values` whose `to` is that row."""
    sums: list[Any] = [0.0 if code == "d" else 0] * rows
    for to, value in zip(columns["to"], columns["values"], strict=True):
        if to >= 0:
            both = sums[to] | value if is_or else sums[to] + value
            sums[to] = both if code == "d" or is_or else clamped(both)
    return memoryview(array.array(code, sums)).toreadonly()


def combine(nodes: Mapping[str, Any], chosen: bytes) -> dict[str, memoryview]:
    """Return the trees of the chosen threads laid on one another: to (of each node), parent, function, depth."""
    to: list[int] = []
    paths: dict[tuple[int, int], int] = {}
    depths: list[int] = []
    for parent, thread, function in zip(nodes["parent"], nodes["thread"], nodes["function"], strict=True):
        if not chosen[thread]:
            to.append(-1)
            continue
        above = to[parent] if parent >= 0 else -1
        row = paths.setdefault((above, function), len(paths))
        if row == len(depths):
            depths.append(depths[above] + 1 if above >= 0 else 0)
        to.append(row)
    parents, functions = [above for above, _ in paths], [function for _, function in paths]
    return {"to": ints(to), "parent": ints(parents), "function": ints(functions), "depth": ints(depths)}


def aggregate(nodes: Mapping[str, Any], estimated: Mapping[str, Any], functions: int) -> dict[str, memoryview]:
    """Return sums over the nodes of each function. The total of a function is that of its outermost nodes."""
    of = memoryview(nodes["function"]).tolist()
    found = {name: sum_by({"to": of, "values": nodes[name]}, functions, "q") for name in _SUMS}
    found["node_flags"] = sum_by({"to": of, "values": nodes["flags"]}, functions, "q", True)
    children: list[list[int]] = [[] for _ in range(len(of) + 1)]  # the last are the roots
    for node, parent in enumerate(nodes["parent"]):
        children[parent if parent >= 0 else -1].append(node)
    totals = [memoryview(estimated[name]).tolist() for name in _TOTALS]
    sums = [[0.0] * functions for _ in _TOTALS]
    on_path = [0] * functions
    waiting = children[-1][::-1]
    while waiting:
        node = waiting.pop()
        if node < 0:
            on_path[of[~node]] -= 1
            continue
        if on_path[of[node]] == 0:
            for sum_of, values in zip(sums, totals, strict=True):
                sum_of[of[node]] += values[node]
        on_path[of[node]] += 1
        waiting.append(~node)
        waiting += reversed(children[node])
    total, error, wait, square, distortion = sums
    bounds = [abs(complex(math.sqrt(a), b)) for a, b in zip(square, distortion, strict=True)]
    found |= {"total_ns": reals(total), "total_wait_ns": reals(wait)}
    return found | {"total_error_ns": reals(map(min, error, bounds))}


def arrow_stream(columns: list[Any]) -> object:
    """Return a stream of one batch over (name, format, values[, offsets]): 'l' int64, 'g' float64, 'u' text."""
    try:
        pa = importlib.import_module("pyarrow")
    except ImportError:
        what = "without seismo's native core, pyarrow is needed to pass tables to other libraries"
        raise UsageError(what, hint=f"to install it: {install_command('arrow')}") from None
    types = {"l": pa.int64(), "g": pa.float64(), "u": pa.large_string()}
    arrays, fields = [], []
    for name, code, values, *offsets in columns:
        length = len(offsets[0]) - 1 if offsets else len(values)
        buffers = [None, *(pa.py_buffer(buffer) for buffer in (*offsets, values))]
        arrays.append(pa.Array.from_buffers(types[code], length, buffers))
        fields.append(pa.field(name, types[code], False))
    stream: object = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)).__arrow_c_stream__()
    return stream
