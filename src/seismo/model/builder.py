"""A builder of recordings, for the readers of other tools' formats and for tests."""

from __future__ import annotations

import array
import json
import zlib
from itertools import repeat
from typing import TYPE_CHECKING, Any

from seismo.model.columns import REFERENCES, SCHEMA, Tables
from seismo.model.recording import Recording
from seismo.model.table import Strings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


LONGEST = 4096
"""The most characters of a name. Longer names in other tools' files are cut, as the recorders cut theirs."""


def cut(text: str) -> str:
    """Return the text, or the beginning of a text longer than LONGEST followed by its length and checksum."""
    if len(text) <= LONGEST + 64:  # texts that were already cut pass unchanged
        return text
    checksum = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    return f"{text[:LONGEST]}…[+{len(text) - LONGEST} characters, {checksum:08x}]"


_TEXTS = {kind: frozenset(name for name, code in columns if code == "s") for kind, columns in SCHEMA.items()}


class Builder:
    """A recording under construction: each method adds a row and returns its id. All times are exact."""

    def __init__(self) -> None:
        self._strings: dict[str, int] = {"": 0}
        self._rows: dict[str, dict[str, list[Any]]] = {
            kind: {name: [] for name, _ in columns} for kind, columns in SCHEMA.items()
        }
        self._functions: dict[tuple[int, str, str, str, int], int] = {}

    def _add(self, kind: str, /, **values: Any) -> int:
        """Add a row and return its id. A column without a value is 0, filled in by a later row or by build()."""
        columns, texts = self._rows[kind], _TEXTS[kind]
        ids = columns["id"]
        row = len(ids)
        for name, (table, lowest) in REFERENCES.get(kind, {}).items():
            count = len(self._rows[table]["id"])
            if not lowest <= values[name] < count:
                raise ValueError(f"no {name} {values[name]}: there are {count}")
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
        """Add a process; `columns` are other columns by name. `argv` is a JSON list or a list to encode as JSON."""
        if isinstance(columns.get("argv"), (list, tuple)):
            columns["argv"] = json.dumps(list(columns["argv"]))
        return self._add("processes", pid=pid, **columns)

    def thread(self, process: int = 0, name: str = "", *, cpu_ns: int = -1, **columns: Any) -> int:
        """Add a thread of a process; `columns` are other columns by name."""
        return self._add("threads", process=process, name=cut(name), cpu_ns=cpu_ns, **columns)

    def function(self, module: str, qualname: str, file: str = "", line: int = 0, kind: int = 0, flags: int = 0) -> int:
        """Return the id of the function, adding it if it is new. `kind` is 0 for Python, 1 for C, 2 for synthetic."""
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
        own_ns: float = 0,
        wait_ns: int = 0,
        **columns: Any,
    ) -> int:
        """Add a node below `parent`; -1 makes it a root of the thread. `columns` are other columns by name.

        `wait_ns` is a part of `own_ns`; `ready_ns` and `lock_ns` are parts of `wait_ns`. Raise ValueError if an id does
        not exist or the parent belongs to another thread.
        """
        entered = calls + resumes
        times = {"entered": entered, "timed": entered, "timed_ns": max(0, round(own_ns) - wait_ns), "wait_ns": wait_ns}
        place = {"parent": parent, "thread": thread, "function": function}
        node = self._add("nodes", **place, calls=calls, resumes=resumes, **times, **columns)
        if parent >= 0 and self._rows["nodes"]["thread"][parent] != thread:
            raise ValueError(f"node {parent} is on another thread than its child")
        return node

    def loss(self, kind: str, count: int = 1, detail: str = "", thread: int = -1) -> int:
        """Add a loss, a record of missing data. `thread` is -1 if the loss concerns all threads."""
        return self._add("losses", kind=kind, count=count, thread=thread, detail=detail)

    def line(self, function: int, line: int, hits: int = 1, *, own_ns: float = 0, **columns: Any) -> int:
        """Add a line of a function; `columns` are other columns by name.

        With flag 1, `hits` only records that the line ran. `own_ns` excludes `wait_ns`. Without a sum of squares
        (`sampled_sq`), the time counts as exact.
        """
        columns = {"sampled": 1 if own_ns > 0 else 0, "sampled_ns": max(0, round(own_ns)), **columns}
        return self._add("lines", function=function, line=line, hits=hits, **columns)

    def arc(self, function: int, from_line: int, to_line: int, hits: int = 1, flags: int = 0) -> int:
        """Add an arc from one line to another; -N is the entry or exit of the code that begins at line N."""
        return self._add("arcs", function=function, from_line=from_line, to_line=to_line, hits=hits, flags=flags)

    def branch(self, function: int, offset: int, **columns: Any) -> int:
        """Add a conditional jump of a function; `columns` are columns by name."""
        return self._add("branches", function=function, offset=offset, **columns)

    def context(self, name: str, lines: Iterable[int] = (), arcs: Iterable[int] = ()) -> int:
        """Add a context and the ids of the lines and arcs that ran in it."""
        number = self._add("contexts", name=cut(name))
        for kind, rows in enumerate((lines, arcs)):
            blocks: dict[int, int] = {}
            for row in rows:
                blocks[row & ~63] = blocks.get(row & ~63, 0) | 1 << (row & 63)
            for base, bits in sorted(blocks.items()):
                bits -= bits >> 63 << 64  # as a signed 64-bit number
                self._add("context_hits", context=number, kind=kind, base=base, bits=bits)
        return number

    def instruction(self, function: int, offset: int, line: int, text: str, hits: int) -> int:
        """Add an instruction of a function."""
        return self._add("instructions", function=function, offset=offset, line=line, text=text, hits=hits)

    def source(self, file: str, path: str, size: int = -1, mtime_ns: int = 0, crc: int = -1) -> int:
        """Add a source file as it was when the recording ended; `path` is absolute, or "" if there is no file."""
        return self._add("sources", file=cut(file), path=cut(path), size=size, mtime_ns=mtime_ns, crc=crc)

    def type(self, module: str, name: str, *, born: int = 0, died: int = 0, **columns: Any) -> int:
        """Add a type; `columns` are other columns by name. `live` and `peak` default to values that fit the counts."""
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
        """Add the objects of a type that a line created; `columns` are other columns by name, as in type()."""
        values = _counted(born, died, columns)
        return self._add("objects", type=type, function=function, line=line, node=node, **values)

    def lifetime(self, object: int, unit: int, bucket: int, count: int) -> int:  # noqa: A002
        """Add the number of objects with one range of lifetimes.

        `unit` is 0 for births in the meantime or 1 for ns. Bucket b holds lifetimes from 4^(b-1) to 4^b - 1.
        """
        return self._add("lifetimes", object=object, unit=unit, bucket=bucket, count=count)

    def object_time(self, time_ns: int, born: int, died: int) -> int:
        """Add the number of objects born and died until a time (ns since the Unix epoch)."""
        return self._add("object_times", time_ns=time_ns, born=born, died=died)

    def object_span(self, function: int = -1, first: int = 0, calls: int = 1, **columns: Any) -> int:
        """Add a requested call or several consecutive ones; `columns` are other columns by name."""
        return self._add("object_spans", function=function, first=first, calls=calls, **columns)

    def object_survivor(self, span: int, object: int, count: int) -> int:  # noqa: A002
        """Add the number of objects that were born in a span and survived it."""
        return self._add("object_survivors", span=span, object=object, count=count)

    def holder(self, object: int, parent: int = -1, holder: str = "", by: str = "", **columns: Any) -> int:  # noqa: A002
        """Add a holder of surviving objects (parent -1) or of another holder; `columns` are other columns by name."""
        columns = {"count": 1, "asked": 1, **columns}
        return self._add("holders", object=object, parent=parent, holder=holder, by=by, **columns)

    def mark(self, name: str, born: int, time_ns: int = 0, process: int = 0) -> int:
        """Add a named moment of the program with the number of objects born until then."""
        return self._add("marks", name=name, born=born, time_ns=time_ns, process=process)

    def build(self, meta: Mapping[str, Any] | None = None) -> Recording:
        """Return the recording built so far; the builder remains usable."""
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
    """Return the columns with object counts, where `live` and `peak` default to values that fit the others."""
    live = columns.get("live", max(0, born - died - columns.get("unseen", 0)))
    return {"peak": max(live, min(born, 1)), **columns, "born": born, "died": died, "live": live}
