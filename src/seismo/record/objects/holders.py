"""Who holds objects that live on: from each of them up to what is held by nobody but the program's text.

    search = Search(addresses)           {object's id: addresses of its sample}
    search.run()
    rows = search.tree(addresses_of_one_site)

Shape. The recorder knows survivors by address only, and an address is never followed: an object that died unseen would
leave it dangling. Instead the objects that the collector knows are gone through, and what they refer to is compared
with the addresses (gc.get_referents is the types' own C code, nothing of the program runs). That pass gives the objects
and who refers to them at once. The next pass asks the same of those who refer, and so on: breadth first, one pass over
the heap a layer, for all survivors together, until all ends are roots: variables of modules and of running functions,
types, functions of a module, code. A pass takes the heap in chunks of a thousand objects, whose referents are compared
in C; only a chunk that has something is split, and split again. That makes a pass some tens of ns a reference. After
PASSES of them over a heap of no more than MAX_INDEX objects, who refers to whom is noted once, for all of them, which
costs as much as a handful of passes; the layers that are left look it up: a chain of objects needs one layer a link.

What is bounded. The referrers kept of an object: a few of each type, so that ten thousand children that know their
parent do not hide the one list that holds it. The objects whose referrers are asked in a layer, the layers, and the
time: what is not reached is marked as too far.

Then the tree. Objects are put together that are called the same and hold in the same way; each row is such a group, and
counts the survivors below it. What only carries is left out: an instance's dictionary (the instance holds), a cell and
its function's tuple of cells (the function holds, by a variable). Of an object that a root holds only the ways to roots
are shown, the shortest first; of one that no root holds all there are: a cycle, or C code that holds it.

What it leaves behind. Nothing but frame objects of frames that run, and dictionaries of instances that had none yet
where an attribute's name had to be found. The collector is off meanwhile, as it would be started by our garbage. The
thread is quiet: the recording sees nothing of all this.

Why not the way down from the roots: that visits every object of the heap in Python, and finds one way to each.
"""

from __future__ import annotations

import gc
import sys
from time import monotonic

from seismo.originals import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.record import engine
from seismo.record.objects import held_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

ROOT, CYCLE, TOO_FAR, NOBODY = 1, 2, 4, 8  # holders.flags

SECONDS = 2.0
LAYERS = 24
OF_A_TYPE = 4  # referrers of one type that are kept of an object
REFERRERS = 24  # and of all types
FRONTIER = 5_000  # objects whose referrers are asked in one layer
WAYS = (6, 4, 3, 2)  # groups that are shown of a group, by how far it is from the survivors; later 1
ROWS = 80  # of a tree
MAX_INDEX = 200_000  # objects of a heap whose references are noted (a larger one would take tens of MB)
PASSES = 2  # before that
_CHUNK = 1_024

# A row of the table without the object's number: parent (index of an earlier row, -1 none), flags, count, asked,
# holder, by.
Row = tuple[int, int, int, int, str, str]


class Edge:
    """Somebody who holds an object. next: that one's id; 0 for a root, who is asked no further."""

    __slots__ = ("exact", "general", "label", "next")

    def __init__(self, label: str, exact: str, general: str, next_: int) -> None:
        self.label, self.exact, self.general, self.next = label, exact, general, next_


class Search:
    """Finds who refers to objects. cut: time ran out before all was known."""

    def __init__(self, addresses: Iterable[int], seconds: float = SECONDS) -> None:
        self.cut = False
        self._wanted = set(addresses)
        self._end = monotonic() + seconds
        self._clear()

    def _clear(self) -> None:
        """New containers: those that are there when the heap is listed would be found as holders."""
        self._kept: dict[int, object] = {}  # by id: what is looked at must not die, or its id would be another's
        self._referrers: dict[int, list[object]] = {}
        self._frames: dict[int, list[tuple[str, str]]] = {}  # by id: what variables of running functions hold it
        self._globals: dict[int, str] = {}  # by id of a module's dictionary: its name
        self._edges: dict[int, list[Edge]] = {}
        self._distance: dict[int, int] = {}
        self._objects: list[object] = []
        self._index: dict[int, list[object]] | None = None  # by id of an object that the collector knows: who refers

    def run(self) -> None:
        """Goes through the heap until all is known or time is up."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            objects = [found for found in gc.get_objects() if found is not self]
            self._clear()
            self._objects = objects
            del objects
            self._look_at_modules()
            self._look_at_frames()
            self._layers()
            self._objects = []
            self._find_ways()
        finally:
            self._objects = []
            self._index = None
            if was_enabled:
                gc.enable()

    # ---- roots ----

    def _look_at_modules(self) -> None:
        known = set(map(id, self._objects)) if gc.get_freeze_count() else set()
        for module in list(sys.modules.values()):
            namespace = held_by.globals_of(module)
            if namespace is not None:
                self._globals[id(namespace)] = f"module {held_by.namespace_name(namespace)}"
                if known and id(namespace) not in known:  # gc.freeze() hides what was there
                    self._objects.append(namespace)

    def _look_at_frames(self) -> None:
        tops = list(sys._current_frames().values())
        while tops:  # no variable here may go on holding the frame that it is in, or all this would be a cycle
            frame: FrameType | None = tops.pop()
            while frame is not None:
                self._look_at_frame(frame)
                frame = frame.f_back

    def _look_at_frame(self, frame: FrameType) -> None:
        if frame.f_code.co_filename.startswith(engine.HIDE) or id(frame.f_locals) in self._globals:
            return
        label = held_by.frame_name(frame)
        for value, name, _ in held_by.variables(frame):
            number = id(value)
            self._frames.setdefault(number, []).append((label, name))
            if number in self._wanted:
                self._kept[number] = value

    # ---- layers ----

    def _layers(self) -> None:
        frontier = set(self._wanted)
        for value in self._objects:
            if id(value) in frontier:
                self._kept[id(value)] = value
        for layer in range(LAYERS):
            if layer == PASSES and len(self._objects) <= MAX_INDEX:
                self._index = self._indexed()
            found = self._pass(frontier) if self._index is None else self._looked_up(frontier, self._index)
            if layer == 0 and len(self._kept) < len(self._wanted):
                self._look_into_untracked(frontier - self._kept.keys(), found)
            if self.cut:
                return
            for number in frontier:
                self._referrers[number] = found.get(number, [])
            frontier = set()
            for referrers in found.values():
                for holder in referrers:
                    number = id(holder)
                    self._kept[number] = holder
                    if number not in self._referrers and len(frontier) < FRONTIER and not self._is_root(holder):
                        frontier.add(number)
            if not frontier:
                return

    def _is_root(self, holder: object) -> bool:
        return id(holder) in self._globals or held_by.describe(holder)[1]

    def _pass(self, wanted: set[int]) -> dict[int, list[object]]:
        """Who refers to the wanted objects; keeps those objects."""
        found: dict[int, list[object]] = {}
        wanted = set(wanted)
        for start in range(0, len(self._objects), _CHUNK):
            self._sift(self._objects[start : start + _CHUNK], wanted, found)
            if monotonic() > self._end:
                self.cut = True
                break
        return found

    def _indexed(self) -> dict[int, list[object]]:
        """Who refers to whom, of the objects whose referrers may still be asked: these have been holders themselves."""
        known = set(map(id, self._objects))
        index: dict[int, list[object]] = {}
        for holder in self._objects:
            for number in known.intersection(map(id, gc.get_referents(holder))):
                index.setdefault(number, []).append(holder)
        return index

    def _looked_up(self, wanted: set[int], index: dict[int, list[object]]) -> dict[int, list[object]]:
        """As _pass, of objects that are kept already."""
        found: dict[int, list[object]] = {}
        for number in wanted:
            part = [self._kept[number]]
            open_ = {number}
            for holder in index.get(number, ()):
                self._note(holder, part, open_, found)
                if not open_:
                    break
        if monotonic() > self._end:
            self.cut = True
        return found

    def _sift(self, holders: list[object], wanted: set[int], found: dict[int, list[object]]) -> None:
        if wanted.isdisjoint(map(id, gc.get_referents(*holders))):
            return
        if len(holders) > 1:
            part = max(1, len(holders) // 16)
            for start in range(0, len(holders), part):
                self._sift(holders[start : start + part], wanted, found)
            return
        self._note(holders[0], gc.get_referents(*holders), wanted, found)

    def _note(self, holder: object, parts: list[object], wanted: set[int], found: dict[int, list[object]]) -> None:
        for part in parts:
            number = id(part)
            if number in wanted:
                self._kept[number] = part
                known = found.setdefault(number, [])
                kind = type(holder)
                if all(one is not holder for one in known):
                    if sum(type(one) is kind for one in known) < OF_A_TYPE:
                        known.append(holder)
                    if len(known) >= REFERRERS:
                        wanted.discard(number)

    def _look_into_untracked(self, wanted: set[int], found: dict[int, list[object]]) -> None:
        """The collector does not know containers that can be in no cycle (a tuple of texts), nor code's constants."""
        seen: set[int] = set()
        layer: list[object] = self._objects
        while layer and wanted:
            hidden: dict[int, object] = {}
            for start in range(0, len(layer), _CHUNK):
                for part in gc.get_referents(*layer[start : start + _CHUNK]):
                    if not gc.is_tracked(part) and type(part) in (tuple, dict) and id(part) not in seen:
                        hidden[id(part)] = part
                if monotonic() > self._end:
                    return
            seen.update(hidden)
            layer = list(hidden.values())
            for start in range(0, len(layer), _CHUNK):
                self._sift(layer[start : start + _CHUNK], wanted, found)
            self._objects = self._objects + layer
            wanted = wanted - self._kept.keys()

    # ---- ways ----

    def _find_ways(self) -> None:
        """Edges of every object that was reached, and how far from a root each is."""
        holds: dict[int, set[int]] = {}  # who refers to which: a holder is scanned once for all that it holds
        for number, referrers in self._referrers.items():
            for holder in referrers:
                holds.setdefault(id(holder), set()).add(number)
        by: dict[int, held_by.Ways] = {}
        for holder_id, numbers in holds.items():
            if monotonic() > self._end + SECONDS / 2:
                self.cut = True
                break
            by[holder_id] = held_by.ways(self._kept[holder_id], numbers)
        for number in self._kept:
            if number in self._referrers or number in self._frames:
                self._edges[number] = self._edges_of(number, by)
        self._measure()

    def _edges_of(self, number: int, by: dict[int, held_by.Ways]) -> list[Edge]:
        edges = [Edge(label, name, name, 0) for label, name in self._frames.get(number, ())]
        for holder in self._referrers.get(number, ()):
            exact, general = by.get(id(holder), {}).get(number, ("", ""))
            edges += self._through(number, holder, exact, general)
        unique: dict[tuple[str, str, int], Edge] = {}
        for edge in edges:
            unique.setdefault((edge.label, edge.exact, edge.next), edge)
        return list(unique.values())

    def _through(self, number: int, holder: object, exact: str, general: str) -> list[Edge]:
        """The edges to a holder; to who stands behind it, if it only carries."""
        name = self._globals.get(id(holder))
        if name is not None:
            key = _bare(exact)
            return [Edge(name, key, key, 0)]
        behind = self._referrers.get(id(holder), [])
        if type(holder) is dict:
            for owner in behind:
                if held_by.is_own_dict(owner, holder):
                    return [self._edge(owner, f".{_bare(exact)}", f".{_bare(exact)}")]
                if held_by.globals_of(owner) is holder:  # of code that was run with exec()
                    key = _bare(exact)
                    return [Edge(f"module {held_by.namespace_name(holder)}", key, key, 0)]
                if held_by.is_a(owner, type):
                    way = held_by.ways(owner, {number})[number]
                    if way[0]:
                        return [self._edge(owner, *way)]
        if held_by.is_cell(holder):
            found = []
            for parts in behind:
                for function in self._referrers.get(id(parts), []):
                    if held_by.is_closure(function, parts):
                        variable = held_by.closure_name(function, holder)
                        found.append(self._edge(function, variable, variable))
            if found:
                return found
        return [self._edge(holder, exact, general)]

    def _edge(self, holder: object, exact: str, general: str) -> Edge:
        label, root = held_by.describe(holder)
        return Edge(label, exact, general, 0 if root else id(holder))

    def _measure(self) -> None:
        """How many steps each object is from a root, by the shortest way; those that are held by none have no entry."""
        held: dict[int, list[int]] = {}
        layer = []
        for number, edges in self._edges.items():
            if any(not edge.next for edge in edges):
                layer.append(number)
                self._distance[number] = 0
            for edge in edges:
                held.setdefault(edge.next, []).append(number)
        steps = 0
        while layer:
            steps += 1
            later = []
            for number in layer:
                for below in held.get(number, ()):
                    if below not in self._distance:
                        self._distance[below] = steps
                        later.append(below)
            layer = later

    # ---- the tree ----

    def tree(self, addresses: Iterable[int], fits: Callable[[object], bool] = lambda _: True) -> list[Row]:
        """Who holds these objects, the most frequent first; a parent stands before its children.

        fits: whether an object that was found at an address is the one that was meant. Of those that were not found
        nothing is said, but that they were asked about, and by how many nobody is known to hold them.
        """
        survivors = [number for number in addresses if number in self._kept and fits(self._kept[number])]
        rows: list[Row] = []
        if survivors:
            groups = {number: {number} for number in survivors}
            self._grow(rows, -1, groups, set(survivors), 0, len(survivors))
        return rows

    def _grow(
        self, rows: list[Row], parent: int, members: dict[int, set[int]], path: set[int], depth: int, asked: int
    ) -> None:
        """Adds the holders of the members below the row. members: by id, with the survivors that they stand for."""
        groups: dict[tuple[str, str], _Group] = {}
        nobody: set[int] = set()
        far: set[int] = set()
        for number, survivors in members.items():
            edges = self._shown(number)
            if not edges:
                (nobody if number in self._referrers else far).update(survivors)
            for edge in edges:
                group = groups.setdefault((edge.label, edge.general), _Group())
                group.exact.add(edge.exact)
                group.survivors |= survivors
                if edge.next:
                    group.members.setdefault(edge.next, set()).update(survivors)
                else:
                    group.root = True
        limit = WAYS[depth] if depth < len(WAYS) else 1
        if parent < 0:
            for lost, flag in ((nobody, NOBODY), (far, TOO_FAR)):
                if lost:
                    rows.append((parent, flag, len(lost), asked, "", ""))
        elif nobody or far:
            _flag(rows, parent, NOBODY if nobody and not far else TOO_FAR)
        ordered = sorted(groups.items(), key=lambda item: (-len(item[1].survivors), item[0]))
        for (label, general), group in ordered[:limit]:
            if len(rows) >= ROWS:
                if parent >= 0:
                    _flag(rows, parent, TOO_FAR)
                return
            by = next(iter(group.exact)) if len(group.exact) == 1 else general
            again = group.members.keys() & path
            flags = (ROOT if group.root else 0) | (CYCLE if again else 0)
            rows.append((parent, flags, len(group.survivors), asked, label, by))
            below = {number: held for number, held in group.members.items() if number not in again}
            if below:
                self._grow(rows, len(rows) - 1, below, path | below.keys(), depth + 1, asked)

    def _shown(self, number: int) -> list[Edge]:
        """The edges that say something: those on a shortest way to a root, if there is one."""
        edges = self._edges.get(number, [])
        if number not in self._distance:
            return edges
        ways = sorted(
            (self._distance[edge.next] + 1 if edge.next else 0, index)
            for index, edge in enumerate(edges)
            if not edge.next or edge.next in self._distance
        )
        nearest = ways[0][0]
        return [edges[index] for steps, index in ways if steps <= nearest + 2]


class _Group:
    """Holders that are shown as one row."""

    __slots__ = ("exact", "members", "root", "survivors")

    def __init__(self) -> None:
        self.exact: set[str] = set()
        self.members: dict[int, set[int]] = {}
        self.survivors: set[int] = set()
        self.root = False


def _flag(rows: list[Row], index: int, flag: int) -> None:
    parent, flags, *rest = rows[index]
    rows[index] = (parent, flags | flag, *rest)  # type: ignore[assignment]


def _bare(key: str) -> str:
    """The name in a key such as ['name']."""
    return key[2:-2] if key[:2] in ("['", '["') else key
