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
    """A recording under construction: each method adds a row and returns its id. All times are exact.

    `columns` are other columns of a table by name, which are 0 by default.
    """

    def __init__(self) -> None:
        self._strings: dict[str, int] = {"": 0}
        self._rows: dict[str, dict[str, list[Any]]] = {
            kind: {name: [] for name, _ in columns} for kind, columns in SCHEMA.items()
        }
        self._functions: dict[tuple[int, str, str, str, int], int] = {}

    def add(self, kind: str, /, **values: Any) -> int:
        """Add a row to a table. Raise ValueError if it refers to a row that does not exist.

        A column without a value is 0, filled in by a later row or by build(). A reference is by default to no row, or
        to the first if there has to be one.
        """
        columns, texts = self._rows[kind], _TEXTS[kind]
        ids = columns["id"]
        row = len(ids)
        for name, (table, lowest) in REFERENCES.get(kind, {}).items():
            count = len(self._rows[table]["id"])
            if not lowest <= values.setdefault(name, lowest) < count:
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
        """Add a process. `argv` is a JSON list or a list to encode as JSON."""
        if isinstance(columns.get("argv"), (list, tuple)):
            columns["argv"] = json.dumps(list(columns["argv"]))
        return self.add("processes", pid=pid, **columns)

    def thread(self, process: int = 0, name: str = "", *, cpu_ns: int = -1, **columns: Any) -> int:
        """Add a thread of a process."""
        return self.add("threads", process=process, name=cut(name), cpu_ns=cpu_ns, **columns)

    def function(self, module: str, qualname: str, file: str = "", line: int = 0, kind: int = 0, flags: int = 0) -> int:
        """Return the id of the function, adding it if it is new. `kind` is 0 for Python, 1 for C, 2 for synthetic."""
        module, qualname, file = cut(module), cut(qualname), cut(file)
        key = (kind, module, qualname, file, line)
        if key not in self._functions:
            columns = {"kind": kind, "module": module, "qualname": qualname, "file": file, "line": line}
            self._functions[key] = self.add("functions", **columns, flags=flags)
        self._rows["functions"]["flags"][self._functions[key]] |= flags
        return self._functions[key]

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
        """Add a node below `parent`; -1 makes it a root of the thread.

        `wait_ns` is a part of `own_ns`; `ready_ns` and `lock_ns` are parts of `wait_ns`. Raise ValueError if an id does
        not exist or the parent belongs to another thread.
        """
        entered = calls + resumes
        times = {"entered": entered, "timed": entered, "timed_ns": max(0, round(own_ns) - wait_ns), "wait_ns": wait_ns}
        place = {"parent": parent, "thread": thread, "function": function}
        node = self.add("nodes", **place, calls=calls, resumes=resumes, **times, **columns)
        if parent >= 0 and self._rows["nodes"]["thread"][parent] != thread:
            raise ValueError(f"node {parent} is on another thread than its child")
        return node

    def loss(self, kind: str, count: int = 1, detail: str = "", thread: int = -1) -> int:
        """Add a loss, a record of missing data. `thread` is -1 if the loss concerns all threads."""
        return self.add("losses", kind=kind, count=count, thread=thread, detail=detail)

    def line(self, function: int, line: int, hits: int = 1, *, own_ns: float = 0, **columns: Any) -> int:
        """Add a line of a function.

        With flag 1, `hits` only records that the line ran. `own_ns` excludes `wait_ns`. Without a sum of squares
        (`sampled_sq`), the time counts as exact.
        """
        columns = {"sampled": 1 if own_ns > 0 else 0, "sampled_ns": max(0, round(own_ns)), **columns}
        return self.add("lines", function=function, line=line, hits=hits, **columns)

    def arc(self, function: int, from_line: int, to_line: int, hits: int = 1, flags: int = 0) -> int:
        """Add an arc from one line to another; -N is the entry or exit of the code that begins at line N."""
        return self.add("arcs", function=function, from_line=from_line, to_line=to_line, hits=hits, flags=flags)

    def context(self, name: str, lines: Iterable[int] = (), arcs: Iterable[int] = ()) -> int:
        """Add a context and the ids of the lines and arcs that ran in it."""
        number = self.add("contexts", name=cut(name))
        for kind, rows in enumerate((lines, arcs)):
            blocks: dict[int, int] = {}
            for row in rows:
                blocks[row & ~63] = blocks.get(row & ~63, 0) | 1 << (row & 63)
            for base, bits in sorted(blocks.items()):
                bits -= bits >> 63 << 64  # as a signed 64-bit number
                self.add("context_hits", context=number, kind=kind, base=base, bits=bits)
        return number

    def source(self, file: str, path: str, size: int = -1, mtime_ns: int = 0, crc: int = -1) -> int:
        """Add a source file as it was when the recording ended; `path` is absolute, or "" if there is no file."""
        return self.add("sources", file=cut(file), path=cut(path), size=size, mtime_ns=mtime_ns, crc=crc)

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
