"""Rows of the tables about objects, which `seismo objects` records. docs/format.md describes the columns in full."""

from __future__ import annotations

from typing import NamedTuple

from seismo.model.enums import HolderFlags, ObjectFlags, TypeFlags  # noqa: TC001  seismo.query looks them up
from seismo.model.table import readable

# The values of lifetimes.unit
IN_BIRTHS, IN_NS = 0, 1


@readable
class TypeRow(NamedTuple):
    """One type whose objects were born or died. The counts cover all its objects; sizes are in bytes.

    born = died + live + unseen. `size` is the part that every object has, including headers; `item_size` is one item of
    a variable-size object; `item_bytes` sums the items of dead objects. `before` counts deaths of objects whose birth
    was not recorded; `unseen` counts unobserved deaths.
    """

    id: int
    module: str
    name: str
    flags: TypeFlags
    size: int
    item_size: int
    born: int
    died: int
    died_by_gc: int
    live: int
    peak: int
    before: int
    unseen: int
    resurrected: int
    item_bytes: int

    @property
    def full_name(self) -> str:
        """The displayed name: `app.Node`, or `dict` without its module for builtins."""
        return full_name(self.module, self.name)


@readable
class ObjectRow(NamedTuple):
    """Objects of one type created by one line, and by one call path if paths were recorded.

    `function` is -1 if no Python function created them, `line` is 0 and `node` is -1 if unknown. With flag 1, died,
    died_by_gc, live and peak are estimates. `span_born` were born in a span; of those, `span_died` died inside the same
    one and `span_live` were alive at the end.
    """

    id: int
    type: int
    function: int
    line: int
    node: int
    flags: ObjectFlags
    born: int
    died: int
    died_by_gc: int
    live: int
    peak: int
    unseen: int
    item_bytes: int
    span_born: int
    span_died: int
    span_live: int


@readable
class LifetimeRow(NamedTuple):
    """The number of a row's objects with one range of lifetimes.

    `unit` is 0 for births in the meantime or 1 for ns. Bucket 0 holds 0, bucket b holds 4^(b-1) to 4^b - 1.
    """

    id: int
    object: int
    unit: int
    bucket: int
    count: int  # type: ignore[assignment]  # shadows tuple.count, which rows do not need


@readable
class ObjectTimeRow(NamedTuple):
    """The number of objects of all types born and died until a time (ns since the Unix epoch)."""

    id: int
    time_ns: int
    born: int
    died: int


@readable
class ObjectSpanRow(NamedTuple):
    """A watched call or several consecutive ones: `calls` of them, the first with number `first`.

    Times are ns since the Unix epoch; `end_ns` is 0 if it was still running. Of the `born` objects, `died` died inside
    and `live` were alive at the end of the recording.
    """

    id: int
    function: int
    first: int
    calls: int
    start_ns: int
    end_ns: int
    born: int
    died: int
    live: int
    process: int


@readable
class ObjectSurvivorRow(NamedTuple):
    """Objects of a row of `objects` that were born in a span and alive at the end of the recording."""

    id: int
    span: int
    object: int
    count: int  # type: ignore[assignment]


@readable
class HolderRow(NamedTuple):
    """A holder of surviving objects: a node of a tree for each row of `objects` that was searched.

    `parent` is the row that this holder holds, or -1 for the survivors themselves. `flags`: 1 root, 2 already on the
    path, 4 depth limit reached, 8 no holder found. `count` of the `asked` survivors are held this way: by `holder` (a
    type, "module app", "frame app:main") through its attribute, key or variable `by`.
    """

    id: int
    object: int
    parent: int
    flags: HolderFlags
    count: int  # type: ignore[assignment]
    asked: int
    holder: str
    by: str


@readable
class MarkRow(NamedTuple):
    """A named moment of the program: objects born until then in its process, and the time (ns since the Unix epoch)."""

    id: int
    name: str
    time_ns: int
    born: int
    process: int


def full_name(module: str, name: str) -> str:
    """Return a type's name with its module, except for builtins."""
    return name if module in ("", "builtins") else f"{module}.{name}"
