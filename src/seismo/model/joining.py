"""Many recordings as one file, in memory that does not grow with their number.

What is written is what merge() of them all would give, saved. Nearly all of a recording of calls is its tree, and trees
stand side by side in a merge, so they need not be there at the same time. Each recording is read twice: first for its
functions, processes, threads and losses, from which all new numbers follow; then, in the order of the threads, for its
tree, which goes straight into the file.

Of a recording, memory keeps a number for each of its functions, and the rows of its threads. Recordings with other
tables than those of calls are folded instead: two are merged, then what came of these with what came of two others, and
so on: there are never more of them than the logarithm of their number. The tables of coverage, of lines and of objects
without call paths are sums, which the program bounds. Objects with call paths (`seismo objects --paths`) are rows of a
tree of their own in each process, and so many rows are there at the end: memory grows with the file that is written.
"""

from __future__ import annotations

import array
import json
from itertools import compress, groupby
from typing import TYPE_CHECKING, Any

from seismo import _core
from seismo.model import combine
from seismo.model.lines.tables import ints
from seismo.model.recording import SCHEMA, Columns, Recording, read
from seismo.model.save import save, write_file
from seismo.model.table import Strings
from seismo.model.timeline.pieces import renamed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    # Reads a recording, each time it is called.
    Opener = Callable[[], Recording]

_OF_CALLS = ("functions", "nodes", "threads", "processes", "losses")
_KEPT_ROWS = 1 << 16  # nodes of recordings that are kept while others come between


def merge_files(
    paths: Sequence[str | os.PathLike[str]], target: str | os.PathLike[str], losses: Sequence[dict[str, Any]] = ()
) -> None:
    """As `merge_into`, of the recordings in these files."""
    merge_into([lambda path=path: read(path) for path in paths], target, losses)  # type: ignore[misc]


def merge_into(
    openers: Sequence[Opener], target: str | os.PathLike[str], losses: Sequence[dict[str, Any]] = ()
) -> None:
    """Writes the merge of the recordings, with more losses (kind, count, thread -1, detail), to a file.

    RecordingError: one cannot be read, they are of different kinds, or the file cannot be written.
    """
    plan = _Plan()
    part: Recording | None
    for opener in openers:
        part = combine.problem_losses(opener())
        if any(len(table["id"]) for kind, table in part._raw.items() if kind not in _OF_CALLS and "id" in table):
            _fold(openers, target, losses)
            return
        plan.add(part)
    part = None  # the last one need not be there, either
    combine._check_kinds(plan.parts)
    if losses and plan.parts:
        plan.parts[0] = combine.with_losses(plan.parts[0], losses)
    write_file(target, lambda fd: plan.write(_core.Writer(fd), openers))


def _fold(openers: Sequence[Opener], target: str | os.PathLike[str], losses: Sequence[dict[str, Any]]) -> None:
    """Merges as a binary counter counts: no more than a few at a time, and each only as often as they double."""
    heights: list[Recording | None] = []
    for opener in openers:
        one: Recording = opener()
        for height, other in enumerate(heights):
            if other is None:
                heights[height] = one
                break
            one, heights[height] = combine.merge([other, one]), None
        else:
            heights.append(one)
    merged = combine.merge([one for one in heights if one is not None])
    save(combine.with_losses(merged, losses) if losses else merged, target)


class _Plan:
    """What is known of the recordings without their trees. parts: them without functions and trees."""

    def __init__(self) -> None:
        self.parts: list[Recording] = []
        self._functions = combine.MergedFunctions()
        self._numbers: list[array.array[int]] = []
        self._marks: list[list[int]] = []
        self._sizes: list[int] = []
        self._traces: list[bool] = []  # of each: whether it has a journal

    def add(self, part: Recording) -> None:
        self._numbers.append(self._functions.add(part))
        self._marks.append(combine._tree_marks(part, len(part._raw["processes"]["id"])))
        self._sizes.append(len(part._raw["nodes"]["id"]))
        self._traces.append(part._journal is not None)
        texts = combine._Texts()
        tables = {kind: combine._table(kind, [], texts) for kind in SCHEMA}
        for kind in ("threads", "processes", "losses"):
            rows = combine._rows(part, kind)
            tables[kind] = combine._table(kind, rows, texts)
        self.parts.append(Recording(tables, Strings.of(list(texts.index)), part.meta))

    def write(self, writer: _core.Writer, openers: Sequence[Opener]) -> bytes | None:
        """Writes the tables as `save` does, the trees one after the other."""
        functions, order = self._functions.ordered()
        alone = [[0] * len(marks) for marks in self._marks] if len(self.parts) == 1 else self._marks
        threads, maps, processes, _ = combine.merged_threads(self.parts, alone)
        texts = combine._Texts()
        made = {
            "functions": combine._table("functions", functions, texts),
            "processes": combine._table("processes", processes, texts),
            "threads": combine._table("threads", threads, texts),
            "losses": combine._table("losses", combine._merge_losses(self.parts, maps), texts),
        }
        meta = combine._merge_meta([part.meta for part in self.parts])
        writer.meta(json.dumps(meta, sort_keys=True))
        strings = list(texts.index)
        index = {0: 0}
        for kind, schema in SCHEMA.items():
            if kind == "nodes":
                self._write_nodes(writer, openers, maps, order)
            elif kind in made:
                columns: dict[str, Any] = dict(made[kind])
                for name, code in schema:
                    if code == "s":
                        used = columns[name].tolist()
                        for i in used:
                            if i not in index:
                                index[i] = writer.string(strings[i])
                        columns[name] = array.array("q", map(index.__getitem__, used))
                writer.table(kind, columns)
        for part in compress(range(len(openers)), self._traces):
            journal = openers[part]()._journal
            for payload in renamed(journal, maps[part]) if journal is not None else ():
                writer.piece(payload)
        return writer.finish()

    def _write_nodes(
        self, writer: _core.Writer, openers: Sequence[Opener], maps: list[dict[int, int]], order: array.array[int]
    ) -> None:
        of: dict[int, int] = {new: part for part, threads in enumerate(maps) for new in threads.values()}
        kept: dict[int, Recording] = {}
        base = 0
        for part, run in groupby(sorted(of), key=of.__getitem__):
            recording = kept.pop(part, None) or openers[part]()
            kept[part] = recording  # the newest last
            while len(kept) > 1 and sum(map(self._sizes.__getitem__, kept)) > _KEPT_ROWS:
                del kept[next(iter(kept))]
            rows = self._nodes(recording, set(run), maps[part], [order[number] for number in self._numbers[part]])
            rows["id"] = ints(range(base, base + len(rows["id"])))
            rows["parent"] = ints(parent + base if parent >= 0 else -1 for parent in rows["parent"].tolist())
            writer.table("nodes", rows)
            base += len(rows["id"])

    def _nodes(self, part: Recording, run: set[int], threads: dict[int, int], functions: list[int]) -> Columns:
        """The nodes of the run's threads (new ids) in the order of these, numbered from 0."""
        nodes = dict(part._raw["nodes"])
        of = [threads[thread] for thread in nodes["thread"].tolist()]
        nodes["thread"] = ints(of)
        nodes["function"] = ints(map(functions.__getitem__, nodes["function"].tolist()))
        rows = sorted((row for row in range(len(of)) if of[row] in run), key=of.__getitem__)
        return combine._chosen_nodes(nodes, rows)
