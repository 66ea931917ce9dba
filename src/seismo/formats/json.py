"""JSON: everything that a recording says, for jq, pandas, a script; the schema is docs/json-schema.json.

The top level is one object: `format`, `version`, `meta`, `processes`, `threads`, `functions`, `tree`, `losses`. The
lists hold one object a row, one row a line, so that a million nodes are written (and can be read by line tools) in
pieces. The tree is a flat list; `parent` is the id of a node further up in it, or -1.

Reading gives back what the model can take: counts, times, flags, names, ids of processes and threads. The errors of
the times are written but not read back, for they follow from measurements that are not in the file.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from seismo.formats import coverage_json, speedscope
from seismo.formats.base import Format, TextSink, whole
from seismo.formats.text import PYTHON, SYNTHETIC, C, json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from seismo.formats.base import ByteSink
    from seismo.model import Builder, Recording, Table

VERSION = 1
KINDS = {PYTHON: "python", C: "c", SYNTHETIC: "synthetic"}

_COUNTS = ("calls", "resumes", "exceptions")
_TIMES = ("own_ns", "own_error_ns", "total_ns", "total_error_ns", "awaits", "await_ns")
_FUNCTIONS = ("id", "kind", "module", "qualname", "file", "line", "flags", *_COUNTS, *_TIMES, "lower_bound")
_TREE = ("id", "parent", "thread", "function", *_COUNTS, *_TIMES, "flags")
_THREADS = ("id", "process", "native_id", "name", "start_ns", "end_ns", "wall_ns", "cpu_ns", "main")
_LOSSES = ("kind", "count", "thread", "detail")


def _write(recording: Recording, file: ByteSink) -> None:
    with TextSink(file) as out:
        out.write(f'{{"format":"seismo","version":{VERSION},\n"meta":{_meta(recording.meta)},\n')
        _table(out, "processes", recording.processes, recording.processes.columns, {"argv": _argv})
        _table(out, "threads", recording.threads, _THREADS, {"main": _truth})
        _table(out, "functions", recording.functions, _FUNCTIONS, {"kind": _kind, "lower_bound": _truth})
        _table(out, "tree", recording.tree, _TREE, {})
        _table(out, "losses", recording.losses, _LOSSES, {}, last=True)
        out.write("}\n")


def _table(
    out: TextSink,
    title: str,
    table: Table[Any],
    columns: Sequence[str],
    special: dict[str, Callable[[object], str]],
    last: bool = False,
) -> None:
    """Writes a list of objects, row by row; the columns stay what they are: no row is made before its turn."""
    row_format = "{" + ",".join(f'"{column}":%s' for column in columns) + "}"
    values = [map(special.get(column) or _printer(table[column]), table[column]) for column in columns]
    comma = f'"{title}":[\n'
    for row in zip(*values, strict=True):
        out.write(comma + row_format % row)
        comma = ",\n"
    out.write("]" if comma == ",\n" else f'"{title}":[]')
    out.write("\n" if last else ",\n")


def _printer(column: Iterable[object]) -> Callable[[object], str]:
    """How the values of a column are written; all of them are of the same type."""
    first = next(iter(column), 0)
    if isinstance(first, float):
        return _float
    return str if isinstance(first, int) else json_text


def _float(value: object) -> str:
    """A time to a thousandth of a nanosecond; JSON has no infinity."""
    if not isinstance(value, float) or not math.isfinite(value):
        return "null"
    return str(int(value)) if value == int(value) else f"{value:.3f}"


def _kind(value: object) -> str:
    return f'"{KINDS.get(value, "python")}"' if isinstance(value, int) else '"python"'


def _truth(value: object) -> str:
    return "true" if value else "false"


def _argv(value: object) -> str:
    """The command line, which the model keeps as JSON already, as the list that it is."""
    try:
        return json_text(json.loads(str(value)))
    except ValueError:
        return json_text([str(value)] if value else [])


def _meta(value: object) -> str:
    """The meta object; where it has what JSON has not (it may come from a damaged file), as one text in an object."""
    try:
        return json_text(value)
    except (ValueError, TypeError, RecursionError):
        return json_text({"text": str(value)})


def _read(data: bytes) -> Recording:
    document = json.loads(data)
    if isinstance(document, dict) and document.get("$schema") == speedscope.SCHEMA:
        return speedscope.read_document(document)
    if coverage_json.is_report(document):
        return coverage_json.read_document(document)
    if not isinstance(document, dict) or document.get("format") != "seismo":
        raise ValueError('there is no "format": "seismo" in it')
    if document.get("version") != VERSION:
        raise ValueError(f"its version is {str(document.get('version'))[:20]}, known is {VERSION}")
    return _Document(document).recording()


class _Row:
    """An object of one of the lists, read with its types checked."""

    def __init__(self, value: object, what: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{what} is no object")  # noqa: TRY004 - what is wrong is the file
        self._value: dict[str, object] = value
        self._what = what

    def count(self, key: str) -> int:
        """A count or a time; 0 where it is not given."""
        return whole(self._value.get(key, 0), f"{self._what}: {key}")

    def integer(self, key: str, default: int = 0) -> int:
        """A number that may be negative."""
        value = self._value.get(key, default)
        if type(value) is not int or abs(value) >= 1 << 62:
            raise ValueError(f"{self._what}: {key} is no whole number")
        return value

    def value(self, key: str) -> object:
        """Whatever stands there; None where nothing does."""
        return self._value.get(key)

    def text(self, key: str) -> str:
        """A text; empty where it is not given."""
        value = self._value.get(key, "")
        if not isinstance(value, str):
            raise ValueError(f"{self._what}: {key} is no text")  # noqa: TRY004
        return value

    def texts(self, key: str) -> list[str]:
        """A list of texts; empty where it is not given."""
        value = self._value.get(key, [])
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise ValueError(f"{self._what}: {key} is no list of texts")
        return value

    def id_in(self, key: str, ids: dict[int, int]) -> int:
        """What the model knows the id by that stands under `key`."""
        value = self._value.get(key)
        if type(value) is not int or value not in ids:
            raise ValueError(f"{self._what}: {key} leads nowhere")
        return ids[value]


class _Document:
    """A parsed file on its way into a Builder."""

    def __init__(self, document: dict[str, object]) -> None:
        self._document = document

    def _rows(self, title: str) -> Iterable[_Row]:
        rows = self._document.get(title, [])
        if not isinstance(rows, list):
            raise ValueError(f"{title} is no list")  # noqa: TRY004
        return (_Row(row, f"{title}[{place}]") for place, row in enumerate(rows))

    def recording(self) -> Recording:
        """The recording. ValueError: a row has not the types or the references that the schema asks for."""
        from seismo.model import Builder

        builder = Builder()
        processes = self._processes(builder)
        threads = self._threads(builder, processes)
        functions = self._functions(builder)
        self._tree(builder, threads, functions)
        for row in self._rows("losses"):
            builder.loss(row.text("kind"), row.count("count"), row.text("detail"))
        builder.loss("errors-dropped", 1, "the errors of times in a JSON file are not read back")
        meta = self._document.get("meta")
        return builder.build({**(meta if isinstance(meta, dict) else {}), "source_format": "json"})

    def _processes(self, builder: Builder) -> dict[int, int]:
        """What the probes cost is left out: it would be taken off the times once more."""
        found = {}
        for row in self._rows("processes"):
            numbers = {key: row.integer(key) for key in ("pid", "ppid", "start_ns", "end_ns")}
            texts = {key: row.text(key) for key in ("host", "interpreter", "exit", "clock", "source")}
            columns: dict[str, Any] = {**numbers, **texts, "argv": row.texts("argv") or ""}
            found[row.integer("id")] = builder.process(**columns)
        return found

    def _threads(self, builder: Builder, processes: dict[int, int]) -> dict[int, int]:
        found = {}
        for row in self._rows("threads"):
            found[row.integer("id")] = builder.thread(
                row.id_in("process", processes),
                name=row.text("name"),
                cpu_ns=row.integer("cpu_ns", -1),
                main=int(row.value("main") is True),
                **{key: row.integer(key) for key in ("native_id", "start_ns", "end_ns", "wall_ns")},
            )
        return found

    def _functions(self, builder: Builder) -> dict[int, int]:
        kinds = {text: kind for kind, text in KINDS.items()}
        return {
            row.integer("id"): builder.function(
                row.text("module"),
                row.text("qualname"),
                row.text("file"),
                row.integer("line"),
                kind=kinds.get(row.text("kind"), PYTHON),
                flags=row.count("flags"),
            )
            for row in self._rows("functions")
        }

    def _tree(self, builder: Builder, threads: dict[int, int], functions: dict[int, int]) -> None:
        nodes: dict[int, int] = {-1: -1}
        for row in self._rows("tree"):
            nodes[row.integer("id")] = builder.node(
                row.id_in("parent", nodes),
                row.id_in("thread", threads),
                row.id_in("function", functions),
                calls=row.count("calls"),
                resumes=row.count("resumes"),
                exceptions=row.count("exceptions"),
                awaits=row.count("awaits"),
                own_ns=row.count("own_ns"),
                await_ns=row.count("await_ns"),
                flags=row.count("flags"),
            )


FORMAT = Format(
    name="json",
    description="all of the model as JSON, for scripts; docs/json-schema.json",
    suffixes=(".json",),
    binary=False,
    writer=_write,
    reader=_read,
    lost="nothing of the model; the measurements behind the errors",
    kept="processes, threads, functions, paths, counts, own and awaited times, flags, losses; not the errors",
)
