"""Recordings made by hand: for the readers of other tools' formats, and for tests."""

from __future__ import annotations

import array
import json
import zlib
from itertools import repeat
from typing import TYPE_CHECKING, Any

from seismo.model.recording import SCHEMA, Recording, Tables
from seismo.model.table import Strings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


LONGEST = 4096
"""Characters of a name. What other tools' files have beyond that is cut, as the recorders do it."""


def cut(text: str) -> str:
    """The text; of one that is longer than LONGEST its beginning, with a mark that says so and keeps it apart."""
    if len(text) <= LONGEST + 64:  # one that was cut before, too
        return text
    checksum = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    return f"{text[:LONGEST]}…[+{len(text) - LONGEST} characters, {checksum:08x}]"


_TEXTS = {kind: frozenset(name for name, code in columns if code == "s") for kind, columns in SCHEMA.items()}


class Builder:
    """Adds processes, threads, functions and nodes one by one; each gives its id.

    Times are exact: they have no error and no probe cost.
    """

    def __init__(self) -> None:
        self._strings: dict[str, int] = {"": 0}
        self._rows: dict[str, dict[str, list[Any]]] = {
            kind: {name: [] for name, _ in columns} for kind, columns in SCHEMA.items()
        }
        self._functions: dict[tuple[int, str, str, str, int], int] = {}

    def _add(self, kind: str, /, **values: Any) -> int:
        """Adds a row. Columns that are not given are 0, and filled up when one that is comes, or at the end."""
        columns, texts = self._rows[kind], _TEXTS[kind]
        ids = columns["id"]
        row = len(ids)
        ids.append(row)
        for name, value in values.items():
            column = columns.get(name)
            if column is None:
                continue
            if name in texts:
                value = self._strings.setdefault(value or "", len(self._strings))
            if len(column) < row:
                column.extend(repeat(0, row - len(column)))
            column.append(value)
        return row

    def process(self, pid: int = 0, **columns: Any) -> int:
        """Adds a process; other columns of the table by name. `argv`: a JSON list, or a list that becomes one."""
        if isinstance(columns.get("argv"), (list, tuple)):
            columns["argv"] = json.dumps(list(columns["argv"]))
        return self._add("processes", pid=pid, **columns)

    def thread(self, process: int = 0, name: str = "", *, cpu_ns: int = -1, **columns: Any) -> int:
        """Adds a thread of a process; other columns of the table by name."""
        _below("process", process, len(self._rows["processes"]["id"]))
        return self._add("threads", process=process, name=cut(name), cpu_ns=cpu_ns, **columns)

    def function(self, module: str, qualname: str, file: str = "", line: int = 0, kind: int = 0, flags: int = 0) -> int:
        """The function's id; the same one for the same function. `kind` 0 Python, 1 C, 2 synthetic."""
        module, qualname, file = cut(module), cut(qualname), cut(file)
        key = (kind, module, qualname, file, line)
        known = self._functions.get(key)
        if known is None:
            known = self._functions[key] = self._add(
                "functions", kind=kind, module=module, qualname=qualname, file=file, line=line, flags=flags
            )
        else:
            self._rows["functions"]["flags"][known] |= flags
        return known

    def node(
        self,
        parent: int,
        thread: int,
        function: int,
        *,
        calls: int = 0,
        resumes: int = 0,
        exceptions: int = 0,
        own_ns: float = 0,
        awaits: int = 0,
        await_ns: int = 0,
        wait_ns: int = 0,
        ready_ns: int = 0,
        lock_ns: int = 0,
        flags: int = 0,
    ) -> int:
        """Adds a node below `parent` (-1: a root of the thread). ValueError: no such id, or a parent elsewhere.

        `wait_ns` is a part of `own_ns`, `ready_ns` and `lock_ns` are parts of `wait_ns`.
        """
        nodes = self._rows["nodes"]
        _below("thread", thread, len(self._rows["threads"]["id"]))
        _below("function", function, len(self._rows["functions"]["id"]))
        if parent != -1:
            _below("parent", parent, len(nodes["id"]))
            if nodes["thread"][parent] != thread:
                raise ValueError(f"node {parent} is on another thread than its child")
        return self._add(
            "nodes",
            parent=parent,
            thread=thread,
            function=function,
            calls=calls,
            resumes=resumes,
            exceptions=exceptions,
            entered=calls + resumes,
            timed=calls + resumes,
            timed_ns=max(0, round(own_ns) - wait_ns),
            awaits=awaits,
            await_ns=await_ns,
            wait_ns=wait_ns,
            ready_ns=ready_ns,
            lock_ns=lock_ns,
            flags=flags,
        )

    def loss(self, kind: str, count: int = 1, detail: str = "", thread: int = -1) -> int:
        """Notes something that is missing. `thread` -1: all."""
        return self._add("losses", kind=kind, count=count, thread=thread, detail=detail)

    def line(self, function: int, line: int, hits: int = 1, *, own_ns: float = 0, **columns: Any) -> int:
        """Adds a line of a function; other columns of the table by name. flags 1: hits say only that it ran.

        `own_ns` is without its `wait_ns`. Looks without squares (`sampled_sq`) make it exact.
        """
        _below("function", function, len(self._rows["functions"]["id"]))
        columns = {"sampled": 1 if own_ns > 0 else 0, "sampled_ns": max(0, round(own_ns)), **columns}
        return self._add("lines", function=function, line=line, hits=hits, **columns)

    def arc(self, function: int, from_line: int, to_line: int, hits: int = 1, flags: int = 0) -> int:
        """Adds a step from one line to another. -N: into or out of the code that begins at line N."""
        _below("function", function, len(self._rows["functions"]["id"]))
        return self._add("arcs", function=function, from_line=from_line, to_line=to_line, hits=hits, flags=flags)

    def branch(self, function: int, offset: int, **columns: Any) -> int:
        """Adds a conditional jump of a function, by the columns of the table."""
        _below("function", function, len(self._rows["functions"]["id"]))
        return self._add("branches", function=function, offset=offset, **columns)

    def context(self, name: str, lines: Iterable[int] = (), arcs: Iterable[int] = ()) -> int:
        """Adds a context, and which lines and arcs (their ids) ran in it."""
        number = self._add("contexts", name=cut(name))
        for kind, rows in enumerate((lines, arcs)):
            blocks: dict[int, int] = {}
            for row in rows:
                blocks[row & ~63] = blocks.get(row & ~63, 0) | 1 << (row & 63)
            for base, bits in sorted(blocks.items()):
                bits -= bits >> 63 << 64  # as a signed number
                self._add("context_hits", context=number, kind=kind, base=base, bits=bits)
        return number

    def instruction(self, function: int, offset: int, line: int, text: str, hits: int) -> int:
        """Adds an instruction of a function."""
        _below("function", function, len(self._rows["functions"]["id"]))
        return self._add("instructions", function=function, offset=offset, line=line, text=text, hits=hits)

    def source(self, file: str, path: str, size: int = -1, mtime_ns: int = 0, crc: int = -1) -> int:
        """Adds a source file as it was when the recording ended. path: absolute; "" for what is no file."""
        return self._add("sources", file=cut(file), path=cut(path), size=size, mtime_ns=mtime_ns, crc=crc)

    def type(self, module: str, name: str, *, born: int = 0, died: int = 0, **columns: Any) -> int:
        """Adds a type; other columns of the table by name. Not given, `live` is what is left and `peak` as large."""
        return self._add("types", module=cut(module), name=cut(name), **_counted(born, died, columns))

    def object(
        self,
        type: int,  # noqa: A002 - the column's name
        function: int = -1,
        line: int = 0,
        node: int = -1,
        *,
        born: int = 0,
        died: int = 0,
        **columns: Any,
    ) -> int:
        """Adds objects of a type that a line made; other columns by name, `live` and `peak` as in type()."""
        _below("type", type, len(self._rows["types"]["id"]))
        _below("function", function, len(self._rows["functions"]["id"]), -1)
        _below("node", node, len(self._rows["nodes"]["id"]), -1)
        values = _counted(born, died, columns)
        return self._add("objects", type=type, function=function, line=line, node=node, **values)

    def lifetime(self, object: int, unit: int, bucket: int, count: int) -> int:  # noqa: A002
        """Adds how many objects lived how long. unit: 0 births meanwhile, 1 ns; bucket b: 4^(b-1) to 4^b - 1."""
        _below("object", object, len(self._rows["objects"]["id"]))
        return self._add("lifetimes", object=object, unit=unit, bucket=bucket, count=count)

    def object_time(self, time_ns: int, born: int, died: int) -> int:
        """Adds the objects born and died until a time (unix ns)."""
        return self._add("object_times", time_ns=time_ns, born=born, died=died)

    def object_span(self, function: int = -1, first: int = 0, calls: int = 1, **columns: Any) -> int:
        """Adds a call that was asked for, or several that followed each other; other columns by name."""
        _below("function", function, len(self._rows["functions"]["id"]), -1)
        return self._add("object_spans", function=function, first=first, calls=calls, **columns)

    def object_survivor(self, span: int, object: int, count: int) -> int:  # noqa: A002
        """Adds objects that were born in a span and live on."""
        _below("span", span, len(self._rows["object_spans"]["id"]))
        _below("object", object, len(self._rows["objects"]["id"]))
        return self._add("object_survivors", span=span, object=object, count=count)

    def holder(self, object: int, parent: int = -1, holder: str = "", by: str = "", **columns: Any) -> int:  # noqa: A002
        """Adds who holds survivors (parent -1), or who holds a holder; other columns by name."""
        _below("object", object, len(self._rows["objects"]["id"]))
        _below("parent", parent, len(self._rows["holders"]["id"]), -1)
        columns = {"count": 1, "asked": 1, **columns}
        return self._add("holders", object=object, parent=parent, holder=holder, by=by, **columns)

    def mark(self, name: str, born: int, time_ns: int = 0, process: int = 0) -> int:
        """Adds a moment that the program named: objects born until then."""
        return self._add("marks", name=name, born=born, time_ns=time_ns, process=process)

    def build(self, meta: Mapping[str, Any] | None = None) -> Recording:
        """The recording so far; the builder may go on."""
        tables: Tables = {}
        for kind, schema in SCHEMA.items():
            columns = self._rows[kind]
            for column in columns.values():
                column.extend(repeat(0, len(columns["id"]) - len(column)))
            tables[kind] = {
                name: memoryview(array.array("d" if code == "d" else "q", columns[name])) for name, code in schema
            }
        return Recording(tables, Strings.of(list(self._strings)), {"format": 1, **(meta or {})})


def _counted(born: int, died: int, columns: dict[str, Any]) -> dict[str, Any]:
    """The counts of objects, with those that follow from others."""
    live = columns.get("live", max(0, born - died - columns.get("unseen", 0)))
    return {"peak": max(live, min(born, 1)), **columns, "born": born, "died": died, "live": live}


def _below(what: str, number: int, count: int, lowest: int = 0) -> None:
    if not lowest <= number < count:
        raise ValueError(f"no {what} {number}: there are {count}")
