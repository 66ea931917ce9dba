"""The search for the holders of live objects, from each object up to the roots.

    search = Search(addresses)           {object's id: addresses of its sample}
    search.run()
    rows = search.tree(addresses_of_one_site)

Shape. The recorder knows survivors by address only. An address is never dereferenced, because the object may have died
unnoticed. Instead the core walks the objects tracked by the collector and compares their references with the addresses
(native/module/referrers.c). The first pass finds the survivors themselves, containers that are not tracked, and all
possible holders. Each later pass finds the referrers of the objects of one layer, until all ends are roots. Roots are
variables of modules and of running functions, types, functions of a module, and code.

Bounds. For each object, only a few referrers of each type are kept. So ten thousand children that refer to their parent
do not hide the list that holds the parent. There are limits for the objects of a layer, the layers, and the time. An
object beyond the limits is marked as too far.

The tree. Holders with the same name and the same kind of reference form one row, which counts the survivors below it.
Intermediate objects are left out: the dictionary of an instance, and the cell and tuple between a function and a
variable of its closure. If a root holds an object, only the ways to roots are shown, the shortest first. If no root
holds it, all ways are shown: the object is in a cycle, or C code holds it.

Side effects. The search creates only frame objects for running frames, and dictionaries of instances without one if an
attribute's name has to be found. The collector is disabled meanwhile, because the search's own garbage would trigger
it. Recording is disabled on this thread.

A walk down from the roots would find only one way to each object.
"""

from __future__ import annotations

import gc
import sys
from _thread import get_ident
from time import monotonic
from types import CellType

from seismo import _core
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine
from seismo.process.objects import reference_labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType
    from typing import Any

    # A row of the table without the object's number: parent (index of an earlier row, or -1), flags, count, asked,
    # holder, by.
    Row = list[Any]

ROOT, CYCLE, TOO_FAR, NOBODY = 1, 2, 4, 8  # values of the column `flags` in the table of holders

SECONDS = 2.0
LAYERS = 24
OF_A_TYPE = 4  # the most referrers of one type that are kept for an object
REFERRERS = 24  # the most referrers of all types together
FRONTIER = 5_000  # the most objects in one layer
WAYS = (6, 4, 3, 2)  # the most groups below a group, by distance from the survivors; further up 1
ROWS = 80  # the most rows of a tree


class Edge:
    """A reference to an object. next: the id of the holder, or 0 if the holder is a root."""

    __slots__ = ("exact", "general", "label", "next")

    def __init__(self, label: str, exact: str, general: str, next_: int) -> None:
        self.label, self.exact, self.general, self.next = label, exact, general, next_


class Search:
    """A search for the holders of objects. cut: True if the time ran out."""

    def __init__(self, addresses: Iterable[int], seconds: float = SECONDS) -> None:
        self.cut = False
        self._wanted = set(addresses)
        self._end = monotonic() + seconds
        self._clear()

    def _clear(self) -> None:
        """Replace all containers, because the heap's list has the old ones, which would count as holders."""
        self._kept: dict[int, object] = {}  # objects by id, kept alive so that ids are not reused
        self._referrers: dict[int, list[object]] = {}
        # By an object's id, the variables of running functions that hold it.
        self._frames: dict[int, list[tuple[str, str]]] = {}
        self._globals: dict[int, str] = {}  # by the id of a module's dictionary, the module's name
        self._edges: dict[int, list[Edge]] = {}
        self._distance: dict[int, int] = {}

    def run(self) -> None:
        """Walk the heap until everything is found or time is up."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            heap = [found for found in gc.get_objects() if found is not self]
            self._clear()
            self._look_at_modules(heap)
            self._look_at_frames()
            wanted: dict[int, list[object]] = {number: [] for number in self._wanted}
            heap = _core.objects_holders(heap, {**dict.fromkeys(self._globals), **wanted})
            self._kept.update((number, found[0]) for number, found in wanted.items() if found)
            self._layers(heap)
            del heap
            self._find_ways()
        finally:
            if was_enabled:
                gc.enable()

    # ---- Roots. ----

    def _look_at_modules(self, heap: list[object]) -> None:
        known = set(map(id, heap)) if gc.get_freeze_count() else set()
        for module in list(sys.modules.values()):
            namespace = reference_labels.globals_of(module)
            if namespace is not None:
                self._globals[id(namespace)] = f"module {reference_labels.namespace_name(namespace)}"
                if known and id(namespace) not in known:  # gc.freeze() hides older objects
                    heap.append(namespace)

    def _look_at_frames(self) -> None:
        everyone = getattr(sys, "_is_gil_enabled", lambda: True)()  # without the GIL, other threads run on
        tops = [top for number, top in sys._current_frames().items() if everyone or number == get_ident()]
        while tops:  # a variable that keeps its own frame would make a cycle
            frame: FrameType | None = tops.pop()
            while frame is not None:
                self._look_at_frame(frame)
                frame = frame.f_back

    def _look_at_frame(self, frame: FrameType) -> None:
        if frame.f_code.co_filename.startswith(engine.HIDE) or id(frame.f_locals) in self._globals:
            return
        label = reference_labels.frame_name(frame)
        for value, name, _ in reference_labels.variables(frame):
            number = id(value)
            self._frames.setdefault(number, []).append((label, name))
            if number in self._wanted:
                self._kept[number] = value

    # ---- Layers. ----

    def _layers(self, heap: list[object]) -> None:
        frontier = self._wanted
        for _ in range(LAYERS):
            if monotonic() > self._end:
                self.cut = True
                return
            found: dict[int, list[object]] = {number: [] for number in frontier}
            _core.objects_referrers(heap, found, OF_A_TYPE, REFERRERS)
            self._referrers.update(found)
            frontier = set()
            for referrers in found.values():
                for holder in referrers:
                    number = id(holder)
                    self._kept[number] = holder
                    if number in self._referrers or number in self._globals or len(frontier) >= FRONTIER:
                        continue
                    if not reference_labels.describe(holder)[1]:  # a root needs no holder
                        frontier.add(number)
            if not frontier:
                return

    # ---- Ways. ----

    def _find_ways(self) -> None:
        """Find the edges of every object that was reached, and each object's distance from a root."""
        holds: dict[int, set[int]] = {}  # the objects that each holder refers to, so that a holder is scanned once
        for number, referrers in self._referrers.items():
            for holder in referrers:
                holds.setdefault(id(holder), set()).add(number)
        by: dict[int, reference_labels.Ways] = {}
        for holder_id, numbers in holds.items():
            if monotonic() > self._end + SECONDS / 2:
                self.cut = True
                break
            by[holder_id] = reference_labels.ways(self._kept[holder_id], numbers)
        for number in self._kept:
            if number in self._referrers or number in self._frames:
                self._edges[number] = self._edges_of(number, by)
        self._measure()

    def _edges_of(self, number: int, by: dict[int, reference_labels.Ways]) -> list[Edge]:
        edges = [Edge(label, name, name, 0) for label, name in self._frames.get(number, ())]
        for holder in self._referrers.get(number, ()):
            edges += self._through(number, holder, *by.get(id(holder), {}).get(number, ("", "")))
        unique: dict[tuple[str, str, int], Edge] = {}
        for edge in edges:
            unique.setdefault((edge.label, edge.exact, edge.next), edge)
        return list(unique.values())

    def _through(self, number: int, holder: object, exact: str, general: str) -> list[Edge]:
        """Return the edges to a holder, or to the holder behind it if it is only intermediate."""
        key, name = exact[2:-2] if exact[:2] in ("['", '["') else exact, self._globals.get(id(holder))
        if name is not None:
            return [Edge(name, key, key, 0)]
        behind = self._referrers.get(id(holder), [])
        if type(holder) is dict:
            for owner in behind:
                if reference_labels.is_own_dict(owner, holder):
                    return [self._edge(owner, f".{key}", f".{key}")]
                if reference_labels.globals_of(owner) is holder:  # code that exec() ran has these globals
                    return [Edge(f"module {reference_labels.namespace_name(holder)}", key, key, 0)]
                if reference_labels.is_a(owner, type):
                    way = reference_labels.ways(owner, {number})[number]
                    if way[0]:
                        return [self._edge(owner, *way)]
        if type(holder) is CellType:  # behind it is the tuple of a function's cells
            functions = [function for parts in behind for function in self._referrers.get(id(parts), [])]
            names = [(function, reference_labels.closure_name(function, holder)) for function in functions]
            if found := [self._edge(function, name, name) for function, name in names if name]:
                return found
        return [self._edge(holder, exact, general)]

    def _edge(self, holder: object, exact: str, general: str) -> Edge:
        label, root = reference_labels.describe(holder)
        return Edge(label, exact, general, 0 if root else id(holder))

    def _measure(self) -> None:
        """Set each object's distance from a root along the shortest way; objects without a root have no entry."""
        held: dict[int, list[int]] = {}
        for number, edges in self._edges.items():
            for edge in edges:
                held.setdefault(edge.next, []).append(number)
        self._distance = dict.fromkeys(held.get(0, ()), 0)
        reached = list(self._distance)
        for number in reached:  # which grows meanwhile
            for below in held.get(number, ()):
                if below not in self._distance:
                    self._distance[below] = self._distance[number] + 1
                    reached.append(below)

    # ---- The tree. ----

    def tree(self, addresses: Iterable[int], fits: Callable[[object], bool] = lambda _: True) -> list[Row]:
        """Return the holders of these objects, the most frequent first; a parent precedes its children.

        fits: returns True for a wanted object; other objects at the addresses are left out. A row without a name counts
        the survivors without a known holder.
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
        """Add the holders of the members below the row. members: by id, with the survivors that they represent."""
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
                    rows.append([parent, flag, len(lost), asked, "", ""])
        elif nobody or far:
            rows[parent][1] |= TOO_FAR if far else NOBODY
        ordered = sorted(groups.items(), key=lambda item: (-len(item[1].survivors), item[0]))
        for (label, general), group in ordered[:limit]:
            if len(rows) >= ROWS:
                if parent >= 0:
                    rows[parent][1] |= TOO_FAR
                return
            by = next(iter(group.exact)) if len(group.exact) == 1 else general
            again = group.members.keys() & path
            flags = (ROOT if group.root else 0) | (CYCLE if again else 0)
            rows.append([parent, flags, len(group.survivors), asked, label, by])
            below = {number: held for number, held in group.members.items() if number not in again}
            if below:
                self._grow(rows, len(rows) - 1, below, path | below.keys(), depth + 1, asked)

    def _shown(self, number: int) -> list[Edge]:
        """Return the edges to show: those on a shortest way to a root, if there is one."""
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
