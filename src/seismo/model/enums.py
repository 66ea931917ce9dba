"""What the numbers in the columns `kind` and `flags` mean: enums, equal to the numbers, in the rows of tables.

A file of a later version may hold numbers that have no name here yet: they stay what they are.
"""

from __future__ import annotations

from enum import KEEP, IntEnum, IntFlag
from typing import Self


class _Kind(IntEnum):
    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, int):
            return None
        other = int.__new__(cls, value)
        other._name_, other._value_ = f"UNKNOWN_{value}", value
        return other


class FunctionKind(_Kind):
    """What a function is."""

    PYTHON = 0
    C = 1
    SYNTHETIC = 2  # none of the program's, such as <folded paths>


class BranchKind(_Kind):
    """When a conditional jump jumps: if its value is that, or if its iterator is exhausted."""

    FALSE = 0
    TRUE = 1
    NONE = 2
    NOT_NONE = 3
    EXHAUSTED = 4
    OTHER = 5


class FunctionFlags(IntFlag, boundary=KEEP):
    """What else is known of a function."""

    GENERATOR = 1
    COROUTINE = 2
    ASYNC_GENERATOR = 4
    SITES_OFF = 8  # places where C functions are called were switched off


class NodeFlags(IntFlag, boundary=KEEP):
    """What else is known of a node of the call tree."""

    LOWER_BOUND = 1  # it was called at least so often
    FOLDED = 2
    BEFORE_START = 4  # it ran when the recording began
    AT_END = 8  # it ran when the recording ended


class LineFlags(IntFlag, boundary=KEEP):
    """What else is known of a line or an arc."""

    RAN_ONLY = 1  # hits say only that it ran, not how often


class BranchFlags(IntFlag, boundary=KEEP):
    """What else is known of a branch."""

    RAN_ONLY = 1  # fell and jumped say only whether
    TOO_FEW = 2  # they may be too few


class TypeFlags(IntFlag, boundary=KEEP):
    """What else is known of a type."""

    HEAP = 1
    GC = 2  # its objects may be part of cycles
    VARIABLE = 4  # its objects have items in their own block
    OUTSIDE = 8  # its objects keep memory elsewhere, which `size` does not count
    FINALIZER = 16
    ESTIMATED = 32  # died_by_gc is an estimate
    AT_MOST = 64  # no more than peak were alive at once; after a merge or a subtraction


class ObjectFlags(IntFlag, boundary=KEEP):
    """What else is known of objects of one type and line."""

    ESTIMATED = 1  # died, died_by_gc, live and peak are estimates
    AT_MOST = 2  # as that of types


class HolderFlags(IntFlag, boundary=KEEP):
    """What else is known of a holder."""

    ROOT = 1
    CYCLE = 2  # it is on the path already
    FAR = 4  # too far to go on
    NOBODY = 8  # nobody was found


class CallFlags(IntFlag, boundary=KEEP):
    """What else is known of a call in time. One that returned, and whose beginning was seen, has no flag."""

    BEFORE = 1  # it began before what was read: its start is where reading began
    AFTER = 2  # it ended after what was read: its end is where reading ended
    BEGAN_UNSEEN = 4
    ENDED_UNSEEN = 8
    YIELDED = 16  # a step of a generator or coroutine that ended by a pause
    UNWOUND = 32  # an exception left it
    OPEN = 64  # it still ran when its thread, or the recording, ended
    RESUMED = 128  # a step that goes on with a call that had paused
    UNSURE = 256  # several calls were paused here; it is taken for the one that did so last
    GAP = 512  # events are missing inside: it may be several calls


# Numbers of the enums, for columns: there their own operators would take their time.
LOWER_BOUND = NodeFlags.LOWER_BOUND.value
FOLDED = NodeFlags.FOLDED.value
BEFORE_START = NodeFlags.BEFORE_START.value
AT_END = NodeFlags.AT_END.value
RAN_ONLY = LineFlags.RAN_ONLY.value
TYPE_VARIABLE = TypeFlags.VARIABLE.value
TYPE_OUTSIDE = TypeFlags.OUTSIDE.value
TYPE_ESTIMATED = TypeFlags.ESTIMATED.value
TYPE_AT_MOST = TypeFlags.AT_MOST.value
OBJECT_ESTIMATED = ObjectFlags.ESTIMATED.value
OBJECT_AT_MOST = ObjectFlags.AT_MOST.value
HOLDER_ROOT = HolderFlags.ROOT.value
HOLDER_CYCLE = HolderFlags.CYCLE.value
HOLDER_FAR = HolderFlags.FAR.value
HOLDER_NONE = HolderFlags.NOBODY.value

# The enums of rows, by the row's type and the column.
OF_ROWS: dict[str, dict[str, type[IntEnum | IntFlag]]] = {
    "FunctionRow": {"kind": FunctionKind, "flags": FunctionFlags},
    "NodeRow": {"flags": NodeFlags},
    "CallRow": {"flags": CallFlags},
    "RunRow": {"flags": CallFlags},
    "LineRow": {"flags": LineFlags},
    "ArcRow": {"flags": LineFlags},
    "BranchRow": {"kind": BranchKind, "flags": BranchFlags},
    "TypeRow": {"flags": TypeFlags},
    "ObjectRow": {"flags": ObjectFlags},
    "HolderRow": {"flags": HolderFlags},
}
