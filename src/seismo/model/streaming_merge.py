"""Streaming merge: many recordings into one file, in memory that does not grow with their number.

The output equals a saved merge() of all recordings, and a large one also has its sum. A merge has two kinds of rows.
Some are sums, such as functions, lines and types: all rows about the code, whose number is bounded by the program.
Others belong to one recording each: the call tree, which is nearly all of a recording of calls. They need not be in
memory at the same time. What ran in contexts is in memory, but packed.

Each recording is therefore read more than once. The first reading collects its functions, processes, threads and
losses, which determine all new numbers, and adds up the sums. These are organized as a binary counter, which bounds
their number by the logarithm of the number of recordings: two recordings are merged, then the results of two such
merges, and so on. Then each recording's own rows are written directly to the file, in the order of the threads.
Recordings of objects, whose rows may refer to any node, are sums as a whole.

Memory holds a number for each function of each recording, and the rows of its threads.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from seismo import _core, progress
from seismo.model import combine
from seismo.model.columns import (
    KEY,
    SCHEMA,
    Columns,
    Tables,
    Texts,
    columns_of,
    columns_of_named,
    empty,
    ints,
    keys_of_functions,
    translated,
    with_rows,
)
from seismo.model.lines.merge import OF_FUNCTIONS, PackedContexts
from seismo.model.objects.merge import KINDS as OF_OBJECTS
from seismo.model.read_sum import CHUNK
from seismo.model.recording import Recording, read
from seismo.model.save import TableWriter, write_file
from seismo.model.table import Strings
from seismo.model.trace.copy_to_file import copied
from seismo.model.tree_sum import TreeSum

if TYPE_CHECKING:
    import array
    import os
    from collections.abc import Callable, Sequence

    # A function that reads the recording each time it is called.
    Opener = Callable[[], Recording]

_OF_CALLS = ("functions", "nodes", "threads", "processes", "losses")
_OWN = ("nodes", "threads", "processes", "losses", "contexts", "context_hits")  # rows that are never summed
_ROWS = 1 << 14  # of contexts that are written together
_KEPT_BYTES = 16 << 20  # limit for recordings kept in memory for later processes
LARGE = 1 << 19  # nodes; a file with more also has its sum


def merge_files(
    paths: Sequence[str | os.PathLike[str]], target: str | os.PathLike[str], losses: Sequence[dict[str, Any]] = ()
) -> None:
    """Merge the recordings in these files as `merge_into` does."""
    merge_into([lambda path=path: read(path) for path in paths], target, losses)  # type: ignore[misc]


def merge_into(
    openers: Sequence[Opener], target: str | os.PathLike[str], losses: Sequence[dict[str, Any]] = ()
) -> None:
    """Write the merge of the recordings, with more losses (kind, count, thread -1, detail), to a file.

    Raise RecordingError if one cannot be read, if they are of different kinds, or if the file cannot be written.
    """
    plan = _Plan(openers)
    for opener in progress.over("reading recordings", openers, len(openers)):
        part = opener()
        if any(len(part._raw[kind]["id"]) for kind in OF_OBJECTS):
            total = _Sum()
            for again in progress.over("merging recordings", openers, len(openers)):
                total.add(again())
            merged = total.total()
            (combine.with_losses(merged, losses) if losses else merged).save(target)
            return
        plan.add(combine.problem_losses(part))
    combine._check_kinds(plan.parts)
    if losses and plan.parts:
        plan.parts[0] = combine.with_losses(plan.parts[0], losses)
    write_file(target, lambda fd: plan.write(_core.Writer(fd)))


class _Sum:
    """The merge of any number of recordings, organized as a binary counter."""

    def __init__(self) -> None:
        self._merges: list[tuple[int, Recording]] = []  # with the number of recordings in each, the largest first

    def add(self, one: Recording) -> None:
        count = 1
        while self._merges and self._merges[-1][0] == count:
            one, count = combine.merge([self._merges.pop()[1], one]), 2 * count
        self._merges.append((count, one))

    @property
    def is_empty(self) -> bool:
        return not self._merges

    def total(self) -> Recording:
        return combine.merge(one for _, one in self._merges)


def _bytes_of(part: Recording) -> int:
    """Return the recording's size in memory: its tables, and the whole file if it is a trace that is not mapped."""
    journal = part._journal
    file = len(journal.data) if journal is not None and isinstance(journal.data, bytes) else 0
    return sum((column.nbytes for table in part._raw.values() for column in table.values()), file)


class _Plan:
    """The merge of the recordings that `openers` read. `parts` have their threads, processes, losses, contexts only."""

    def __init__(self, openers: Sequence[Opener]) -> None:
        self._openers = openers
        self.parts: list[Recording] = []
        self._functions = combine.MergedFunctions()
        self._numbers: list[array.array[int]] = []
        self._marks: list[list[int]] = []
        self._sizes: list[int] = []
        self._traces: list[int] = []  # the recordings that have a journal
        self._sum = _Sum()
        self._node_count = 0
        self._kept: dict[int, Recording] = {}  # recordings in memory for later processes, the newest last

    def add(self, part: Recording) -> None:
        number = len(self.parts)
        self._numbers.append(self._functions.add(part))
        self._marks.append(combine.marks_of_trees(part))
        self._sizes.append(_bytes_of(part))
        self._node_count += len(part._raw["nodes"]["id"])
        if part._journal is not None:
            self._traces.append(number)
        texts = Texts()
        tables = {kind: empty(kind) for kind in SCHEMA}
        for kind in ("threads", "processes", "losses", "contexts"):
            tables[kind] = texts.table(kind, part._raw[kind], part._strings)
        self.parts.append(Recording(tables, Strings.of(list(texts.index)), part.meta))
        if any(len(table["id"]) for kind, table in part._raw.items() if kind not in _OF_CALLS):
            summed = {**part._raw, **{kind: empty(kind) for kind in _OWN}}
            self._sum.add(Recording(summed, part._strings, part.meta))

    def write(self, writer: _core.Writer) -> bytes | None:
        """Write the tables as `save` does; rows that are not summed are written one recording after the other."""
        functions, self._order = self._functions.ordered()
        texts = Texts()
        made, self._threads, self._processes = combine.merged_threads(self.parts, self._marks, texts)
        made["functions"] = columns_of_named("functions", functions, texts)
        self._process_of = made["threads"]["process"].tolist()
        out = TableWriter(writer)
        meta = combine._merge_meta([part.meta for part in self.parts])
        writer.meta(json.dumps(meta, sort_keys=True))
        total = self._total(functions)
        contexts = PackedContexts((name for one in self.parts for name in one.contexts["name"]), total._raw)
        for number, one in enumerate(self.parts):
            if len(one.contexts):
                contexts.add(self._openers[number](), self._functions_of(number))
        made["contexts"] = columns_of("contexts", [(name,) for name in contexts.names], texts)
        strings = list(texts.index)
        summed = TreeSum(made, Strings.of(strings), meta) if self._is_large() else None
        for kind in SCHEMA:
            if kind == "nodes":
                self._write_own(out, summed)
            elif kind in made:
                out.table(kind, made[kind], strings)
            elif kind == "context_hits":
                hits, first = contexts.rows(), 0
                while rows := list(islice(hits, _ROWS)):
                    out.table(kind, {**columns_of(kind, rows), "id": ints(range(first, first + len(rows)))}, ())
                    first += len(rows)
            else:
                out.table(kind, total._raw[kind], total._strings)
        for part in progress.over("writing timelines", self._traces, len(self._traces)):
            for kind, payload in copied(self._openers[part](), self._threads[part]):
                writer.chunk(kind, payload)
        if summed is not None and (whole := summed.total()) is not None:
            writer.chunk(CHUNK.decode(), whole.to_bytes())
        return writer.finish()

    def _is_large(self) -> bool:
        """Return True if a report should not have to read all nodes, and can do without them."""
        return self._node_count > LARGE and not self._traces and self._sum.is_empty

    def _total(self, functions: Sequence[dict[str, Any]]) -> Recording:
        """Return the sums with the result's function ids, which include functions of recordings without sums."""
        total = self._sum.total()
        ids = {tuple(row[name] for name in KEY): number for number, row in enumerate(functions)}
        new = list(map(ids.__getitem__, keys_of_functions(total)))
        tables: Tables = {kind: translated(total._raw[kind], function=new) for kind in OF_FUNCTIONS}
        return Recording({**total._raw, **tables}, total._strings, total.meta)

    def _functions_of(self, number: int) -> list[int]:
        return [self._order[i] for i in self._numbers[number]]

    def _write_own(self, out: TableWriter, summed: TreeSum | None) -> None:
        """Write the nodes in the order of the processes, and add them up."""
        of: dict[int, int] = {}
        for number, part in enumerate(self.parts):
            of |= dict.fromkeys((self._processes[number][old] for old in part._raw["processes"]["id"].tolist()), number)
        base = 0
        runs = [(number, set(run)) for number, run in groupby(sorted(of), key=of.__getitem__)]
        left = Counter(number for number, _ in runs)
        for number, processes in progress.over("writing recordings", runs, len(runs)):
            left[number] -= 1
            part = self._part(number, left[number] > 0)
            rows = self._nodes(part, number, processes)
            places = range(base, base + len(rows["id"]))
            out.table("nodes", {**translated(rows, parent=places), "id": ints(places)}, ())
            base = places.stop
            if summed is not None:
                summed.add(rows)

    def _part(self, number: int, again: bool) -> Recording:
        """Return a recording; `again` means that it will be needed once more."""
        recording = self._kept.pop(number, None) or self._openers[number]()
        if again:
            self._kept[number] = recording
        while len(self._kept) > 1 and sum(map(self._sizes.__getitem__, self._kept)) > _KEPT_BYTES:
            del self._kept[next(iter(self._kept))]
        return recording

    def _nodes(self, part: Recording, number: int, processes: set[int]) -> Columns:
        """Return the nodes of these processes' threads, in thread order and numbered from 0."""
        threads, functions = self._threads[number], self._functions_of(number)
        nodes = translated(part._raw["nodes"], thread=threads, function=functions)
        if len(threads) == 1:
            return nodes
        of = nodes["thread"].tolist()
        rows = [row for row, thread in enumerate(of) if self._process_of[thread] in processes]
        rows.sort(key=of.__getitem__)
        return with_rows({"nodes": nodes}, {"nodes": rows})["nodes"]
