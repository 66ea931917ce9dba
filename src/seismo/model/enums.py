"""Enums for the columns `kind` and `flags`. They are equal to the numbers and appear in the rows of tables.

A file of a later version may contain numbers without a name here; those are kept.
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
    """The kinds of functions."""

    PYTHON = 0
    C = 1
    SYNTHETIC = 2  # a stand-in such as <folded paths>, not a function of the program


class BranchKind(_Kind):
    """The conditions under which a conditional jump is taken: its value, or the end of its iterator."""

    FALSE = 0
    TRUE = 1
    NONE = 2
    NOT_NONE = 3
    EXHAUSTED = 4
    OTHER = 5


class FunctionFlags(IntFlag, boundary=KEEP):
    """Properties of a function."""

    GENERATOR = 1
    COROUTINE = 2
    ASYNC_GENERATOR = 4
    SITES_OFF = 8  # call sites of C functions were disabled


class NodeFlags(IntFlag, boundary=KEEP):
    """Properties of a node of the call tree."""

    LOWER_BOUND = 1
    FOLDED = 2
    BEFORE_START = 4  # it was running when the recording began
    AT_END = 8  # it was running when the recording ended


class LineFlags(IntFlag, boundary=KEEP):
    """Properties of a line or an arc."""

    RAN_ONLY = 1  # a positive hits value only means that it ran


class BranchFlags(IntFlag, boundary=KEEP):
    """Properties of a branch."""

    RAN_ONLY = 1  # positive counts only mean that the direction was taken
    TOO_FEW = 2


class TypeFlags(IntFlag, boundary=KEEP):
    """Properties of a type."""

    HEAP = 1
    GC = 2  # its objects may be part of reference cycles
    VARIABLE = 4  # its objects have a variable number of items in their own block
    OUTSIDE = 8  # its objects own further memory, which `size` does not include
    FINALIZER = 16
    ESTIMATED = 32  # died_by_gc is an estimate
    AT_MOST = 64  # peak is an upper bound, after a merge or a subtraction


class ObjectFlags(IntFlag, boundary=KEEP):
    """Properties of the objects of one type and line."""

    ESTIMATED = 1  # died, died_by_gc, live and peak are estimates
    AT_MOST = 2  # as in TypeFlags


class HolderFlags(IntFlag, boundary=KEEP):
    """Properties of a holder."""

    ROOT = 1
    CYCLE = 2  # it is already on the path
    FAR = 4  # the search stopped here, at its depth limit
    NOBODY = 8


class CallFlags(IntFlag, boundary=KEEP):
    """Properties of a timed call. A call that returned and whose beginning was recorded has no flag."""

    BEFORE = 1  # it began before the window that was read; its start is the window's start
    AFTER = 2  # it ended after the window that was read; its end is the window's end
    BEGAN_UNSEEN = 4
    ENDED_UNSEEN = 8
    YIELDED = 16  # a step of a generator or coroutine that ended by yielding or awaiting
    UNWOUND = 32  # it ended by an exception
    OPEN = 64  # it was running when its thread or the recording ended
    RESUMED = 128  # a step that continues a suspended call
    UNSURE = 256  # several calls were suspended here; the most recently suspended one is assumed
    GAP = 512  # events are missing inside, so it may be several calls


# These plain ints are for loops over columns, where the enums' operators would be slow.
LOWER_BOUND, FOLDED, BEFORE_START, AT_END = (flag.value for flag in NodeFlags)
RAN_ONLY = LineFlags.RAN_ONLY.value
TYPE_VARIABLE = TypeFlags.VARIABLE.value
TYPE_OUTSIDE = TypeFlags.OUTSIDE.value
TYPE_ESTIMATED = TypeFlags.ESTIMATED.value
TYPE_AT_MOST = TypeFlags.AT_MOST.value
OBJECT_ESTIMATED, OBJECT_AT_MOST = (flag.value for flag in ObjectFlags)
HOLDER_ROOT, HOLDER_CYCLE, HOLDER_FAR, HOLDER_NONE = (flag.value for flag in HolderFlags)
