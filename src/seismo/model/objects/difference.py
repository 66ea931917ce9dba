"""Differences between recordings of births and deaths, one or several a side.

A type is identified by its name. A line is identified by its function and its distance from the function's first line,
so that edits above the function do not matter; the newer line number is shown. Of the file only the last part counts,
so that another checkout or environment does not matter.

Births are exact: two runs on the same input differ only where the program does. So the rows have no errors; estimates
are marked. A count that varies between the runs of a side is a range; it has changed if the ranges of the two sides do
not overlap.
"""

from __future__ import annotations

import ntpath
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.model.difference import runs, sure_change
from seismo.model.objects.groups import by_line, by_type, by_type_and_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from seismo.model.recording import Recording

GROUPS = {"type": by_type, "line": by_line, "type and line": by_type_and_line}


class ObjectKey(NamedTuple):
    """The identity of a group. `offset` is the line's distance from its function's first; unused fields are empty."""

    type: str
    module: str
    qualname: str
    file: str
    offset: int


class ObjectCounts(NamedTuple):
    """The counts of a group in a recording. `at_least`: `bytes` is a lower bound; `live_at_least`: `bytes_live` is."""

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
    """One group on both sides, with zeros for recordings that lack it.

    `file` and `line` come from the newest recording that has the group. `old` and `new` have the least of each count
    over a side's runs, `old_most` and `new_most` the most.
    """

    key: ObjectKey
    file: str
    line: int
    old: ObjectCounts
    new: ObjectCounts
    old_most: ObjectCounts
    new_most: ObjectCounts

    def change(self, name: str) -> int:
        """Return the smallest difference in a count between the sides, or 0 if their ranges overlap."""
        least_old, least_new = getattr(self.old, name), getattr(self.new, name)
        return sure_change((least_old, getattr(self.old_most, name)), (least_new, getattr(self.new_most, name)))

    @property
    def born_change(self) -> int:
        """The change in objects born."""
        return self.change("born")

    @property
    def live_change(self) -> int:
        """The change in objects alive at the end."""
        return self.change("live")

    @property
    def bytes_change(self) -> int:
        """The change in bytes born; a bound if either side's number is one."""
        return self.change("bytes")


_Groups = dict[ObjectKey, tuple[ObjectCounts, tuple[str, int]]]


def diff_objects(
    old: Recording | Sequence[Recording], new: Recording | Sequence[Recording], by: str = "type"
) -> list[ObjectDiffRow]:
    """Return the groups of all recordings, sorted by the absolute change in births.

    A side is one run or several. `by` is "type", "line" or "type and line"; raise KeyError for others. Raise ValueError
    if a side has no recording.
    """
    before, after = ([_counts(one, by) for one in runs(side)] for side in (old, new))
    nothing = ObjectCounts()
    rows = []
    for key in {key for groups in (*before, *after) for key in groups}:
        place = next(groups[key][1] for groups in (*reversed(after), *reversed(before)) if key in groups)
        sides = [[groups[key][0] if key in groups else nothing for groups in side] for side in (before, after)]
        least, most = ([_each(side, choose) for side in sides] for choose in (min, max))
        rows.append(ObjectDiffRow(key, *place, *least, *most))
    return sorted(rows, key=lambda row: (-abs(row.born_change), -abs(row.live_change), row.key))


def _each(side: Sequence[ObjectCounts], choose: Callable[[Iterable[Any]], Any]) -> ObjectCounts:
    """Return the least or the most of each count of a side's runs; a flag is set if it is set in any run."""
    columns = zip(*side, strict=True)
    return ObjectCounts(*(max(column) if isinstance(column[0], bool) else choose(column) for column in columns))


def _counts(recording: Recording, by: str) -> _Groups:
    first_lines = recording._raw["functions"]["line"].tolist()
    result: _Groups = {}
    for group in GROUPS[by](recording):
        offset = group.line - first_lines[group.function] if group.function >= 0 and group.line else group.line
        key = ObjectKey(group.type, group.module, group.qualname, ntpath.basename(group.file), offset)
        counts = ObjectCounts._make(getattr(group, name) for name in ObjectCounts._fields)
        if key in result:  # two files of the same name
            pairs = zip(result[key][0], counts, strict=True)
            counts = ObjectCounts._make(a or b if isinstance(a, bool) else a + b for a, b in pairs)
        result[key] = (counts, (group.file, group.line))
    return result
