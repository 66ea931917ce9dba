"""The tables of a dataset and their columns, declared once.

docs/dataset.md lists them. A change that an earlier reader would misread needs another VERSION.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from seismo.errors import UsageError, install_command
from seismo.model.columns import SCHEMA as OF_FILES
from seismo.model.enums import OBJECT_AT_MOST, TYPE_AT_MOST
from seismo.model.lines.merge import PLACES

VERSION = 1
MARKER = "seismo-dataset.json"  # makes a folder a dataset
RECORDINGS = "recordings"  # the folder with a folder for each recording
SHARED = ("functions", "paths")  # folders: tables that the recordings share

# Types of columns: int64, int32, float64, float32, bool, string, and string to string.
Q, N, D, F, B, S, M = "qidfbsm"
SQL = {Q: "bigint", N: "integer", D: "double", F: "float", B: "boolean", S: "varchar", M: "map(varchar, varchar)"}

# What is counted and timed in calls, as the nodes of a recording have it.
SUMS = ("calls", "resumes", "exceptions", "wait_ns", "ready_ns", "lock_ns", "awaits", "await_ns")
NUMBERS = [
    *[(name, Q) for name in (*SUMS[:3], "own_ns", "total_ns", *SUMS[3:])],
    *[(name, F) for name in ("own_square", "own_distortion", "wait_square")],
    ("flags", N),
]


def _of_file(kind: str, *left_out: str) -> list[tuple[str, str]]:
    return [(name, code) for name, code in OF_FILES[kind] if name not in ("id", *left_out)]


_TYPE = [("type_module", S), ("type_name", S), ("type_flags", Q), ("size", Q), ("item_size", Q)]
_SITE = [*_TYPE, ("function", Q), ("line", Q), ("path_hash", Q)]

TABLES: dict[str, list[tuple[str, str]]] = {
    "recordings": [("recording", S), ("schema", N), ("kind", S), ("meta", S), ("labels", M)],
    "processes": [("recording", S), ("process", Q), ("task", S), ("labels", M), *_of_file("processes")],
    "threads": [("process", Q), ("thread", Q), *_of_file("threads", "process")],
    "losses": [("recording", S), ("process", Q), *_of_file("losses", "thread")],
    "functions": [("function", Q), *_of_file("functions", "code_bytes")],
    "paths": [("path", Q), ("hash", Q), ("parent", Q), ("function", Q), ("depth", N)],
    "calls_by_path": [
        *[("process", Q), ("thread", Q), ("main", B), ("task", S), ("function", Q), ("path", Q)],
        *NUMBERS,
    ],
    "calls_by_function": [("process", Q), ("task", S), ("function", Q), *NUMBERS],
    **{kind: [("recording", S), *_of_file(kind)] for kind in PLACES},
    "contexts": [("recording", S), ("context", S), ("arc", B), ("function", Q), ("line", Q), ("to_line", Q)],
    "types": [("recording", S), *_TYPE, *_of_file("types", "module", "name", "size", "item_size")],
    "births": [("recording", S), *_SITE, *_of_file("objects", "type", "function", "line", "node")],
    "lifetimes": [("recording", S), *_SITE, *_of_file("lifetimes", "object")],
}

# The columns that make a row; a sum of recordings adds up the others.
KEYS: dict[str, tuple[str, ...]] = {
    **PLACES,
    "types": tuple(name for name, _ in _TYPE),
    "births": tuple(name for name, _ in _SITE),
    "lifetimes": (*(name for name, _ in _SITE), "unit", "bucket"),
    "losses": ("kind", "detail"),
}

UNITED = {"types": TYPE_AT_MOST, "births": OBJECT_AT_MOST}  # flags of rows that were several

# How rows are sorted, so that a question about one function reads few groups of rows.
SORTED = {"calls_by_path": ("function", "path"), "calls_by_function": ("function",), "paths": ("path",)}
GROUP_ROWS = 1 << 15


@functools.cache
def library(name: str) -> Any:
    """Import a module of DuckDB or PyArrow. Raise UsageError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        title = {"duckdb": "DuckDB", "pyarrow": "PyArrow", "fsspec": "fsspec"}[name.partition(".")[0]]
        raise UsageError(f"datasets need {title}, which is not installed", hint=install_command("dataset")) from None


@functools.cache
def arrow_type(code: str) -> Any:
    """Return the Arrow type of a column."""
    pa = library("pyarrow")
    plain = {Q: pa.int64(), N: pa.int32(), D: pa.float64(), F: pa.float32(), B: pa.bool_(), S: pa.string()}
    return plain[code] if code in plain else pa.map_(pa.string(), pa.string())


def sum_of(name: str, code: str, table: str = "", rows: str = "count(*)") -> str:
    """Return SQL that sums up one column of a table: limited to 64 bits, and bits of flags united.

    rows: SQL for the number of rows that become one.
    """
    if name == "flags":
        more = f" | case when {rows} > 1 then {UNITED[table]} else 0 end" if table in UNITED else ""
        return f"bit_or(flags){more} as flags"
    if code in (D, F):
        return f'sum("{name}"::double) as "{name}"'
    return f'least(sum("{name}"), 9223372036854775807)::bigint as "{name}"'
