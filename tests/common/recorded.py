"""A recording's raw tables as plain trees, without the model, for tests of the engine."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from seismo import _core
from seismo.expression import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SCHEMA = _core.schema()
PYTHON, C = range(2)
LOWER_BOUND, FOLDED, SEEDED, RUNNING = 1, 2, 4, 8


@dataclass
class Node:
    """A path with its counts. In a tree that a test expects, `own` stays 0."""

    name: str
    calls: int = 1
    resumes: int = 0
    exceptions: int = 0
    c: bool = False
    flags: int = 0
    children: list[Node] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


class Image:
    """The tables of a recording as lists of dicts with decoded strings."""

    def __init__(self, data: bytes, reader: Any = _core.read) -> None:
        self.data = data
        raw = reader(data)
        self.finished = raw["finished"]
        self.problems = raw["problems"]
        self.meta = raw["meta"]
        offsets, texts = memoryview(raw["string_offsets"]), bytes(raw["string_data"])
        strings = [texts[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(offsets)]
        self.tables = {name: self._rows(name, table, strings) for name, table in raw["tables"].items()}
        self.nodes = list(self.tables["nodes"])  # including the test runner's
        self._leave_out_the_runner()
        self.losses = {row["kind"]: row["count"] for row in self.tables["losses"]}

    @staticmethod
    def _rows(name: str, table: dict[str, Any], strings: list[str]) -> list[dict[str, Any]]:
        columns = {}
        for column, kind in SCHEMA[name]:
            cells = memoryview(table[column]).tolist()
            columns[column] = [strings[i] for i in cells] if kind == "s" else cells
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _leave_out_the_runner(self) -> None:
        """Remove the thread of a pytest-xdist worker, which may receive an order at any time."""
        functions = {row["id"] for row in self.tables["functions"] if "/execnet/" in row["file"]}
        main = {row["id"] for row in self.tables["threads"] if row["main"]}  # where the runner calls the tests
        runner = {row["thread"] for row in self.tables["nodes"] if row["function"] in functions} - main
        self.tables["nodes"] = [row for row in self.tables["nodes"] if row["thread"] not in runner]
        self.tables["threads"] = [row for row in self.tables["threads"] if row["id"] not in runner]

    def functions(self) -> list[dict[str, Any]]:
        return self.tables["functions"]

    def named(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table with the qualified name of each one's function instead of its number."""
        names = {row["id"]: row["qualname"] for row in self.functions()}
        return [row | {"function": names.get(row["function"], "")} for row in self.tables[table]]

    def calls(self, kind: int = PYTHON) -> dict[str, int]:
        """Return calls by qualified name over all threads."""
        names = {row["id"]: row["qualname"] for row in self.functions() if row["kind"] == kind}
        counts: dict[str, int] = {}
        for row in self.tables["nodes"]:
            if row["function"] in names:
                name = names[row["function"]]
                counts[name] = counts.get(name, 0) + row["calls"]
        return counts

    def forests(self) -> dict[str, list[Node]]:
        """Return the trees by the thread's name; threads with the same name are combined."""
        self.doubled: list[str] = []  # paths with two nodes
        functions = {row["id"]: row for row in self.functions()}
        threads = {row["id"]: row["name"] for row in self.tables["threads"]}
        found: dict[str, list[Node]] = {name: [] for name in threads.values()}
        nodes: dict[int, Node] = {}
        siblings = set()
        for row in self.tables["nodes"]:
            function = functions[row["function"]]
            key = (row["parent"], row["thread"], row["function"])
            if key in siblings:
                self.doubled.append(function["qualname"])
            siblings.add(key)
            node = Node(
                function["qualname"],
                row["calls"],
                row["resumes"],
                row["exceptions"],
                function["kind"] == C,
                row["flags"],
                facts=row | {"file": function["file"], "line": function["line"], "module": function["module"]},
            )
            nodes[row["id"]] = node
            place = found[threads[row["thread"]]] if row["parent"] < 0 else nodes[row["parent"]].children
            place.append(node)
        return found


def sources(c_functions: str = "none", **options: Any) -> list[str]:
    """Return the sources that can be used here with these options of _core.start, by trial."""
    found = []
    for source in _core.sources():
        try:
            _core.start(source=source["name"], c_functions=c_functions, calibrate=False, **options)
        except RuntimeError:
            continue
        _core.stop()
        found.append(source["name"])
    return found


def filter_of(text: str) -> Any:
    """Return the compiled filter of an expression."""
    return _core.Filter(parse(text).program)


def traced(program: Callable[[], object], *files: str) -> Counter[tuple[str, int]]:
    """Return line events of sys.settrace by (code name, line), for code of these files, on all threads."""
    seen: Counter[tuple[str, int]] = Counter()

    def trace(frame: Any, event: str, _arg: object) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            seen[frame.f_code.co_qualname, frame.f_lineno] += 1
        return trace

    before = sys.gettrace()
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        program()
    finally:
        sys.settrace(before)
        threading.settrace(before)  # type: ignore[arg-type]
    return seen


def image() -> Image:
    """Return the running or the last recording."""
    return Image(_core.snapshot())


def without(nodes: Iterable[Node], unwanted: Any) -> list[Node]:
    """Return the trees with unwanted nodes replaced by their children."""
    kept = []
    for node in nodes:
        children = without(node.children, unwanted)
        if unwanted(node):
            kept += children
        else:
            kept.append(
                Node(node.name, node.calls, node.resumes, node.exceptions, node.c, node.flags, children, node.facts)
            )
    return kept


def merged(nodes: Iterable[Node]) -> list[Node]:
    """Return the trees with siblings of one name combined, sorted by name."""
    by_name: dict[tuple[bool, str], Node] = {}
    for node in nodes:
        known = by_name.setdefault((node.c, node.name), Node(node.name, 0, c=node.c))
        known.calls += node.calls
        known.resumes += node.resumes
        known.exceptions += node.exceptions
        known.flags |= node.flags
        known.children += node.children
    for node in by_name.values():
        node.children = merged(node.children)
    return [by_name[key] for key in sorted(by_name)]


def shown(nodes: Iterable[Node], indent: str = "") -> str:
    """Return trees as text, one line per node, as used by the programs of tests/parity and in failures."""
    lines = []
    for node in nodes:
        words = [f"[{node.name}]" if node.c else node.name]
        words += [str(node.calls)] if node.calls != 1 else []
        words += [f"r{node.resumes}"] if node.resumes else []
        words += [f"x{node.exceptions}"] if node.exceptions else []
        lines.append(indent + " ".join(words) + "\n" + shown(node.children, indent + "  "))
    return "".join(lines)
