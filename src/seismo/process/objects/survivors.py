"""Objects that were born in an interval and are alive, grouped by type, creating line and call path, with holders.

The native recorder lists survivors by site (a type, a line, a path) and, on request, by address. Their holders are
searched in Python (seismo.process.objects.holder_search) for a sample of each site, never while an object is born or
dies.
"""

from __future__ import annotations

import os
import sys

from seismo import _core
from seismo.escape import printable
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from seismo.model import Recording

SAMPLE = 20  # the most survivors of a site to examine
_SHOWN = 20  # the most rows in a text
_FLAGS = {2: "again, higher up", 4: "not followed further", 8: "nobody found"}

# Types of objects that make up a program, such as functions. These are expected to stay alive.
_OF_TEXT = {
    *("function", "code", "type", "module", "cell"),
    *("property", "classmethod", "staticmethod", "getset_descriptor"),
}
# Types of values. Objects of other types count four times in the choice of what to search, as in a report
# (seismo.report.objects.columns).
_VALUES = {"bool", "bytes", "complex", "float", "int", "str"}


def full_name(module: str, name: str) -> str:
    """Return MODULE.NAME of a type, without `builtins`."""
    return name if module in ("", "builtins") else f"{module}.{name}"


class SurvivorRow:
    """Live objects of one type that were created by one line, on one call path.

    type: with its module. function: MODULE:QUALNAME of the function that made them, or "" if no Python function did.
    path: such names from the outermost call on, or () unless call paths are recorded. bytes: the size by the type.
    at_least: True if the objects have other memory, or a size that is known only at their death. sites: numbers of the
    recorder.
    """

    def __init__(self, type_: str, function: str, file: str, line: int, path: tuple[str, ...]) -> None:
        self.type, self.function, self.file, self.line, self.path = type_, function, file, line, path
        self.count = self.bytes = 0
        self.at_least = False
        self.sites: list[int] = []

    @property
    def place(self) -> str:
        """Return FILE:LINE in FUNCTION, the file without its folders."""
        if not self.function:
            return "made by no Python function"
        return f"{os.path.basename(self.file)}:{self.line} in {self.function.partition(':')[2]}"

    def __repr__(self) -> str:
        return f"<{self.count} × {self.type}, {self.place}>"


class Survivors:
    """Rows of live objects, most first. approximate: of estimates, as only a share is followed (--max-live)."""

    def __init__(self, rows: list[SurvivorRow], approximate: bool, ask: Callable[[int], list[Tree]]) -> None:
        self.rows = rows
        self.approximate = approximate
        self._ask = ask

    @property
    def count(self) -> int:
        """Return the number of objects in all rows."""
        return sum(row.count for row in self.rows)

    @property
    def bytes(self) -> int:
        """Return the size of these objects in bytes, as far as it is known from their types."""
        return sum(row.bytes for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SurvivorRow]:
        return iter(self.rows)

    def __str__(self) -> str:
        return engine.unrecorded(self._text)

    def _text(self) -> str:
        if not self.rows:
            return "nothing survives\n"
        about = "≈" if self.approximate else ""
        counts = [f"{about}{row.count:,}" for row in self.rows[:_SHOWN]]
        width = max(map(len, counts))
        widest = max(len(row.type) for row in self.rows[:_SHOWN])
        lines = [
            f"{count:>{width}} × {row.type:<{widest}}  {row.place}"
            for count, row in zip(counts, self.rows, strict=False)
        ]
        rest = self.rows[_SHOWN:]
        if rest:
            lines.append(f"{about}{sum(row.count for row in rest):,} more of {len(rest)} types and lines")
        return "\n".join(map(printable, lines)) + "\n"

    def holders(self, limit: int = 5) -> list[Tree]:
        """Return the holders of the first `limit` rows, found now for a sample of each. str() of one draws it.

        Raises UsageError after the recording has ended: the objects must be alive, inside the `with`.
        """
        return engine.unrecorded(self._ask, limit)


class Holder:
    """A holder of objects, and its own holders.

    holder: a type's name, "module NAME", "frame MODULE:FUNCTION", "function ...", "type ...", or "" if none was found.
    by: the label of the reference: an attribute (.name), key (['name']), index ([3], […]) or variable. count: how many
    of the examined objects are held this way. root: True for a variable of the program or the like. note: the reason
    why the search ended here.
    """

    def __init__(self, holder: str, by: str, count: int, flags: int) -> None:
        self.holder, self.by, self.count = holder, by, count
        self.root = bool(flags & 1)
        self.note = ", ".join(text for flag, text in _FLAGS.items() if flags & flag)
        self.held_by: list[Holder] = []

    def __repr__(self) -> str:
        return f"<held by {self.holder} {self.by}>"


class Tree:
    """The holders of the objects in one row. asked: the number of examined objects."""

    def __init__(self, row: SurvivorRow, asked: int) -> None:
        self.row = row
        self.asked = asked
        self.held_by: list[Holder] = []

    def __str__(self) -> str:
        return engine.unrecorded(self._text)

    def _text(self) -> str:
        lines = [f"{self.row.count:,} × {self.row.type}, {self.row.place}"]
        if not self.asked:
            lines.append("  not found: they died meanwhile, or the collector does not know who holds them")
        self._draw(lines, self.held_by, "  ")
        return "\n".join(map(printable, lines)) + "\n"

    def _draw(self, lines: list[str], holders: list[Holder], indent: str) -> None:
        for holder in holders:
            words = f"← {holder.holder or 'nobody'}"
            if holder.by:
                words += holder.by if holder.by[0] in ".[{" else f" {holder.by}"
            if holder.count != self.asked:
                words += f"  ({holder.count} of {self.asked})"
            if holder.note:
                words += f"  ({holder.note})"
            lines.append(indent + words)
            self._draw(lines, holder.held_by, indent + "  ")


# ---- Rows. ----


def survivors(alive: dict[int, int], recording: Recording, ask: Callable[[list[SurvivorRow]], list[Tree]]) -> Survivors:
    """Return the rows for live objects, given as counts by site. recording: a snapshot with these sites."""
    from seismo.model.enums import TYPE_OUTSIDE, TYPE_VARIABLE

    found: dict[tuple[str, str, str, int, tuple[str, ...]], SurvivorRow] = {}
    for site, count in alive.items():
        if not count:
            continue
        made = recording.objects[site]
        type_ = recording.types[made.type]
        home, qualname, file = "", "", ""
        if made.function >= 0:
            place = recording.functions[made.function]
            home, qualname, file = place.module, place.qualname, place.file
        function = f"{home}:{qualname}" if qualname else ""
        key = (type_.full_name, function, file, made.line, _path(recording, made.node))
        row = found.setdefault(key, SurvivorRow(*key))
        row.count += count
        row.bytes += count * type_.size
        row.at_least |= bool(type_.flags & (TYPE_VARIABLE | TYPE_OUTSIDE))
        row.sites.append(site)
    rows = sorted(found.values(), key=lambda row: (-row.count, row.type, row.file, row.line))
    return Survivors(rows, int(_core.status().get("sampling") or 1) > 1, lambda limit: ask(rows[:limit]))


def _path(recording: Recording, node: int) -> tuple[str, ...]:
    names: list[str] = []
    while node >= 0:
        row = recording.tree[node]
        function = recording.functions[row.function]
        names.append(f"{function.module}:{function.qualname}")
        node = row.parent
    return tuple(reversed(names))


# ---- Holders. ----


def ask(rows: list[SurvivorRow], first: int, last: int) -> list[Tree]:
    """Return the holders of these rows' objects that were born in the interval."""
    places = _core.objects_addresses(tuple(site for row in rows for site in row.sites), first, last, SAMPLE)
    found = _trees([([place for site in row.sites for place in places.get(site, ())], row.type) for row in rows])
    return [_tree(row, lines) for row, lines in zip(rows, found, strict=True)]


def _trees(asked: list[tuple[list[int], str]]) -> list[list[Any]]:
    """Return the rows of Search.tree for each list of addresses, at which objects of a type of that name live."""
    from seismo.process.objects import holder_search as holders
    from seismo.process.objects import reference_labels

    search = holders.Search({place for places, _ in asked for place in places})
    search.run()
    return [
        search.tree(places, lambda found, name=name: reference_labels.type_name(type(found)) == name)  # type: ignore[misc]
        for places, name in asked
    ]


def _tree(row: SurvivorRow, lines: list[Any]) -> Tree:
    tree = Tree(row, lines[0][3] if lines else 0)
    made: list[Holder] = []
    for parent, flags, count, _, label, by in lines:
        holder = Holder(label, by, count, flags)
        (tree.held_by if parent < 0 else made[parent].held_by).append(holder)
        made.append(holder)
    return tree


def ask_at_end(number: int, in_spans: bool) -> None:
    """Add the holders of the live objects to the recording, for `number` types and lines.

    in_spans: search the objects that calls left behind, leaks first. By default, search those of the program's own
    lines, without functions, types and the like.
    """
    chosen = (_leaked() if in_spans else _own())[:number]
    if not chosen:
        return
    places = _core.objects_addresses(tuple(site for sites, _ in chosen for site in sites), 0, -1, SAMPLE, in_spans)
    trees = _trees([([place for site in sites for place in places.get(site, ())], kind) for sites, kind in chosen])
    rows: list[tuple[Any, ...]] = []
    for (sites, _), lines in zip(chosen, trees, strict=True):
        site = max(sites, key=lambda site: len(places.get(site, ())))
        begin = len(rows)
        for parent, *rest in lines:
            rows.append((site, parent + begin if parent >= 0 else -1, *rest))
    _core.objects_add_holders(rows)


def _leaked() -> list[tuple[tuple[int, ...], str]]:
    """Return the objects that calls left behind, as (sites, type), leaks first."""
    from seismo.model import read
    from seismo.model.objects.leaks import leaks

    return [(leak.group.rows, leak.group.type) for leak in leaks(read(_core.snapshot()))]


def _own() -> list[tuple[tuple[int, ...], str]]:
    """Return the live objects made by the program's own lines, most first. The model would take 30 ms to import."""
    main = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    alive: dict[tuple[str, str, str, int], int] = {}
    sites: dict[tuple[str, str, str, int], list[int]] = {}
    library: dict[str, bool] = {}
    for site, count in _core.objects_alive().items():
        module, name, _, qualname, file, line, _ = _core.objects_site(site)
        if file not in library:
            library[file] = is_library(file, main)
        kind = full_name(module, name)
        if count and not (kind in _OF_TEXT or qualname in ("", "<module>") or library[file]):
            key = (kind, qualname, file, line)
            alive[key] = alive.get(key, 0) + count
            sites.setdefault(key, []).append(site)
    ranked = sorted(alive, key=lambda key: (-alive[key] * (1 if key[0] in _VALUES else 4), key))
    return [(tuple(sites[key]), key[0]) for key in ranked]


def is_library(file: str, main: str) -> bool:
    """Return True for a file of the standard library or of a package that is installed, and not that of `main`."""
    library = os.path.dirname(os.__file__)
    home = os.path.dirname(main)
    if file == main or (home != library and home and file.startswith(home + os.sep)):
        return False
    return file.startswith(("<frozen", library + os.sep)) or "/site-packages/" in file or "/dist-packages/" in file
