"""A recording's content as plain data: functions, call tree and threads; read, built, merged and compared.

A `Recording` has `Table`s. A `Table` has columns, each a memoryview of int64 ('q') or float64 ('d') values or a list of
str. Times are in nanoseconds; errors are half-widths of 95 % intervals. Rows become Python objects only on request.
"""

from seismo.model.builder import Builder
from seismo.model.combine import merge
from seismo.model.difference import DiffRow, FunctionKey, diff
from seismo.model.enums import (
    BranchFlags,
    BranchKind,
    CallFlags,
    FunctionFlags,
    FunctionKind,
    HolderFlags,
    LineFlags,
    NodeFlags,
    ObjectFlags,
    TypeFlags,
)
from seismo.model.objects.difference import ObjectCounts, diff_objects
from seismo.model.objects.rows import LifetimeRow, TypeRow
from seismo.model.recording import Recording, read
from seismo.model.streaming_merge import merge_files, merge_into
from seismo.model.table import FunctionRow, NodeRow, ProcessRow, Table, ThreadRow

__all__ = [
    "BranchFlags",
    "BranchKind",
    "Builder",
    "CallFlags",
    "DiffRow",
    "FunctionFlags",
    "FunctionKey",
    "FunctionKind",
    "FunctionRow",
    "HolderFlags",
    "LifetimeRow",
    "LineFlags",
    "NodeFlags",
    "NodeRow",
    "ObjectCounts",
    "ObjectFlags",
    "ProcessRow",
    "Recording",
    "Table",
    "ThreadRow",
    "TypeFlags",
    "TypeRow",
    "diff",
    "diff_objects",
    "merge",
    "merge_files",
    "merge_into",
    "read",
]
