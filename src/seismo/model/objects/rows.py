"""Rows of the tables about objects: what `seismo objects` records. docs/format.md has the columns' full story."""

from __future__ import annotations

from typing import NamedTuple

from seismo.model.enums import HolderFlags, ObjectFlags, TypeFlags  # noqa: TC001  seismo.query looks them up

# lifetimes.unit
IN_BIRTHS, IN_NS = 0, 1


class TypeRow(NamedTuple):
    """One type whose objects were born or died. The counts are of all its objects; sizes in bytes.

    born = died + live + unseen. `size`: what every object has, headers included; `item_size`: an item of one of
    variable size; `item_bytes`: of the items of those that died. `before`: died, born unseen; `unseen`: died unseen.
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
        """As a reader knows it: `app.Node`, and `dict` without its module."""
        return full_name(self.module, self.name)


class ObjectRow(NamedTuple):
    """Objects of one type that one line made, by one call path if those were recorded.

    `function` -1: made by no Python function; `line` 0: unknown; `node` -1: path not known. `flags` 1: died,
    died_by_gc, live and peak are estimates. span_born: born in a span (died: inside the same one; live: at the end).
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


class LifetimeRow(NamedTuple):
    """How many objects of a row of `objects` lived how long.

    `unit`: 0 objects born meanwhile, 1 ns. Bucket 0 is 0, bucket b from 4^(b-1) to 4^b - 1.
    """

    id: int
    object: int
    unit: int
    bucket: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody wants of a row


class ObjectTimeRow(NamedTuple):
    """Objects of all types that were born, and of those died, until a time (unix ns)."""

    id: int
    time_ns: int
    born: int
    died: int


class ObjectSpanRow(NamedTuple):
    """A call that was asked for, or several that followed each other: `calls` of them, the first is number `first`.

    Times in unix ns, `end_ns` 0: it still ran. died: of those born in it, inside; live: at the end of the recording.
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


class ObjectSurvivorRow(NamedTuple):
    """Objects of a row of `objects` that were born in a span and alive at the end of the recording."""

    id: int
    span: int
    object: int
    count: int  # type: ignore[assignment]


class HolderRow(NamedTuple):
    """Who holds survivors: a node of a tree for each row of `objects` that was asked about.

    `parent`: the holder that this one holds, -1: the survivors themselves. `flags`: 1 root, 2 on the path already, 4
    too far to go on, 8 nobody was found. `count` of the `asked` survivors are held this way: by `holder` (a type,
    "module app", "frame app:main") through its attribute, key or variable `by`.
    """

    id: int
    object: int
    parent: int
    flags: HolderFlags
    count: int  # type: ignore[assignment]
    asked: int
    holder: str
    by: str


class MarkRow(NamedTuple):
    """A moment that the program named: objects born until then in its process, unix ns."""

    id: int
    name: str
    time_ns: int
    born: int
    process: int


def full_name(module: str, name: str) -> str:
    """A type's name with its module, but for builtins."""
    return name if module in ("", "builtins") else f"{module}.{name}"
