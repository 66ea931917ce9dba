"""What changed between two recordings of births and deaths.

A type is recognised by its name. A line is recognised by its function and by how far it stands below the function's
first line, so that edits above the function do not matter; the number shown is the newer one. Of the file only the last
part counts, so that another checkout or environment does not.

Births are exact: two runs of the same program on the same input differ only where the program does. So nothing here has
an error; what is an estimate is marked.
"""

from __future__ import annotations

import ntpath
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.model.objects import by_line, by_type, by_type_and_line

if TYPE_CHECKING:
    from seismo.model.objects import ObjectGroup
    from seismo.model.recording import Recording

GROUPS = {"type": by_type, "line": by_line, "type and line": by_type_and_line}


class ObjectKey(NamedTuple):
    """What a group is recognised by. `offset`: of the line below its function's; what does not apply is empty."""

    type: str
    module: str
    qualname: str
    file: str
    offset: int


class ObjectCounts(NamedTuple):
    """One group in one recording. `at_least`: bytes is a lower bound; `live_at_least`: bytes_live is one."""

    born: int = 0
    died: int = 0
    died_by_gc: int = 0
    live: int = 0
    short: int = 0
    bytes: int = 0
    bytes_live: int = 0
    at_least: bool = False
    live_at_least: bool = False
    approximate: bool = False


class ObjectDiffRow(NamedTuple):
    """One group in two recordings, zeros in one that lacks it. `file` and `line` are the newer's, if it is in that."""

    key: ObjectKey
    file: str
    line: int
    old: ObjectCounts
    new: ObjectCounts

    @property
    def born_change(self) -> int:
        """More born."""
        return self.new.born - self.old.born

    @property
    def live_change(self) -> int:
        """More alive at the end."""
        return self.new.live - self.old.live

    @property
    def bytes_change(self) -> int:
        """More bytes born; a bound if either is."""
        return self.new.bytes - self.old.bytes


def diff_objects(old: Recording, new: Recording, by: str = "type") -> list[ObjectDiffRow]:
    """Each group of either recording, those of which most more or fewer were born first.

    by: "type", "line" or "type and line" (KeyError for others).
    """
    before, after = _counts(old, by), _counts(new, by)
    rows = []
    for key in before.keys() | after.keys():
        counts_old, place_old = before.get(key, (ObjectCounts(), None))
        counts_new, place_new = after.get(key, (ObjectCounts(), None))
        file, line = place_new or place_old or ("", 0)
        rows.append(ObjectDiffRow(key, file, line, counts_old, counts_new))
    return sorted(rows, key=lambda row: (-abs(row.born_change), -abs(row.live_change), row.key))


def _counts(recording: Recording, by: str) -> dict[ObjectKey, tuple[ObjectCounts, tuple[str, int]]]:
    first_lines = recording._raw["functions"]["line"].tolist()
    result: dict[ObjectKey, tuple[ObjectCounts, tuple[str, int]]] = {}
    for group in GROUPS[by](recording):
        offset = group.line - first_lines[group.function] if group.function >= 0 and group.line else group.line
        key = ObjectKey(group.type, group.module, group.qualname, ntpath.basename(group.file), offset)
        counts, place = _of(group), (group.file, group.line)
        if key in result:  # two files of one name
            counts = _sum(result[key][0], counts)
        result[key] = (counts, place)
    return result


def _of(group: ObjectGroup) -> ObjectCounts:
    return ObjectCounts(**{name: getattr(group, name) for name in ObjectCounts._fields})


def _sum(one: ObjectCounts, other: ObjectCounts) -> ObjectCounts:
    pairs = zip(ObjectCounts._fields, one, other, strict=True)
    sums: dict[str, Any] = {name: a or b if isinstance(a, bool) else a + b for name, a, b in pairs}
    return ObjectCounts(**sums)
