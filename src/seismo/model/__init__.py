"""A recording's content as plain data: functions, call tree and threads; read, built, merged and compared.

A `Recording` has `Table`s. A `Table` has columns, each a memoryview of int64 ('q') or float64 ('d') values or a list of
str. Times are in nanoseconds; errors are half-widths of 95 % intervals. Rows become Python objects only on request.

Modules are imported on first use: the summary at the end of a recorded program needs three of them.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
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

# Maps a public name to its module below this package.
_HOMES = {
    "Builder": "builder",
    "merge": "combine",
    **dict.fromkeys(("DiffRow", "FunctionKey", "diff"), "difference"),
    **dict.fromkeys(("ObjectCounts", "diff_objects"), "objects.difference"),
    **dict.fromkeys(("LifetimeRow", "TypeRow"), "objects.rows"),
    **dict.fromkeys(("Recording", "read"), "recording"),
    **dict.fromkeys(("merge_files", "merge_into"), "streaming_merge"),
    **dict.fromkeys(("FunctionRow", "NodeRow", "ProcessRow", "Table", "ThreadRow"), "table"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = f"{__name__}.{_HOMES.get(name, 'enums')}"
    value: object = getattr(__import__(home, fromlist=[name]), name)
    globals()[name] = value
    return value
