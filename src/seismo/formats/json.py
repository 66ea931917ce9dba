"""JSON: the whole recording, for jq, pandas and scripts; the schema is docs/json-schema.json.

The top level is one object: `format`, `version`, `meta`, `processes`, `threads`, `functions`, `tree`, `losses`. Each
list has one object per row and one row per line, so that a million nodes can be written, and read by line-based tools,
in pieces. The tree is a flat list; `parent` is the id of an earlier node, or -1. Recordings of objects have the lists
of json_objects.py as well.

The reader returns counts, times, flags, names, and ids of processes and threads. The errors of times are written but
not read, because they depend on measurements that are not in the file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from seismo.formats import coverage_json, speedscope
from seismo.formats.base import ByteSink, Format, TextSink, json_list
from seismo.formats.function_names import PYTHON, SYNTHETIC, C, json_text
from seismo.formats.json_objects import Maps, read_objects, write_objects
from seismo.formats.json_rows import Row, truth, write_table
from seismo.model import Builder, Recording
from seismo.recording_kinds import CALLS, OBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterable


VERSION = 1

KINDS = {PYTHON: "python", C: "c", SYNTHETIC: "synthetic"}

# The writers of further lists, by kind of recording.
_MORE = {OBJECTS: write_objects}

_COUNTS = ("calls", "resumes", "exceptions")
_TIMES = ("own_ns", "own_error_ns", "total_ns", "total_error_ns", "awaits", "await_ns")
_WAITS = ("wait_ns", "ready_ns", "lock_ns", "total_wait_ns")
_FUNCTIONS = ("id", "kind", "module", "qualname", "file", "line", "flags", *_COUNTS, *_TIMES, *_WAITS, "lower_bound")
_TREE = ("id", "parent", "thread", "function", *_COUNTS, *_TIMES, *_WAITS, "flags")


def _write(recording: Recording, file: ByteSink) -> None:
    with TextSink(file) as out:
        out.write(f'{{"format":"seismo","version":{VERSION},\n"meta":{_meta(recording.meta)},\n')
        write_table(out, "processes", recording.processes, special={"argv": _argv})
        write_table(out, "threads", recording.threads, special={"main": truth})
        write_table(out, "functions", recording.functions, _FUNCTIONS, {"kind": _kind, "lower_bound": truth})
        write_table(out, "tree", recording.tree, _TREE)
        more = _MORE.get(recording.kind)
        if more is not None:
            more(out, recording)
        write_table(out, "losses", recording.losses, last=True)
        out.write("}\n")


def _kind(value: object) -> str:
    return f'"{KINDS.get(value, "python")}"' if isinstance(value, int) else '"python"'


def _argv(value: object) -> str:
    """Return the command line, which the model stores as JSON, as a JSON list."""
    try:
        return json_text(json.loads(str(value)))
    except ValueError:
        return json_text([str(value)] if value else [])


def _meta(value: object) -> str:
    """Return the meta object, or an object with its text if it is not valid JSON (from a damaged file)."""
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
        what = _timeline(document)
        raise ValueError(f"it is {what}, which is not read" if what else 'there is no "format": "seismo" in it')
    if document.get("version") != VERSION:
        raise ValueError(f"its version is {str(document.get('version'))[:20]}, known is {VERSION}")
    return _Document(document).recording()


def _timeline(document: object) -> str:
    """Return the name of the timeline format of a parsed file, or "" if it is unknown."""
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if isinstance(events, list) and events and isinstance(events[0], dict) and "ph" in events[0]:
        return "a trace in Chrome's format"
    meta = document.get("meta") if isinstance(document, dict) else None
    if isinstance(meta, dict) and "preprocessedProfileVersion" in meta:
        return "a profile of the Firefox profiler"
    return ""


class _Document:
    """A parsed file that is being added to a Builder."""

    def __init__(self, document: dict[str, object]) -> None:
        self._document = document

    def _rows(self, title: str) -> Iterable[Row]:
        rows = json_list(self._document.get(title, []), title)
        return (Row(row, f"{title}[{place}]") for place, row in enumerate(rows))

    def recording(self) -> Recording:
        """Return the recording. Raise ValueError if a row violates the types or references of the schema."""
        builder = Builder()
        processes = self._processes(builder)
        threads = self._threads(builder, processes)
        functions = self._functions(builder)
        nodes = self._tree(builder, threads, functions)
        if "types" in self._document:
            read_objects(self._rows, builder, Maps(processes, functions, nodes))
        for row in self._rows("losses"):
            builder.loss(row.text("kind"), row.count("count"), row.text("detail"))
        if len(nodes) > 1 or "types" not in self._document:  # there may be times
            builder.loss("errors-dropped", 1, "the errors of times in a JSON file are not read back")
        meta = self._document.get("meta")
        return builder.build({**(meta if isinstance(meta, dict) else {}), "source_format": "json"})

    def _processes(self, builder: Builder) -> dict[int, int]:
        """Add the processes, without the cost of probes, which would be subtracted from the times again."""
        found = {}
        for row in self._rows("processes"):
            moments = ("start_ns", "end_ns", "boot_ns", "unix_bound_ns", "time_bound_ns")
            numbers = {key: row.integer(key) for key in ("pid", "ppid", *moments)}
            texts = {key: row.text(key) for key in ("host", "interpreter", "exit", "clock", "source", "waits", "boot")}
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
                **{key: row.integer(key) for key in ("native_id", "start_ns", "end_ns", "wall_ns", "folded")},
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

    def _tree(self, builder: Builder, threads: dict[int, int], functions: dict[int, int]) -> dict[int, int]:
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
                **{key: row.count(key) for key in ("wait_ns", "ready_ns", "lock_ns")},
                flags=row.count("flags"),
            )
        return nodes


FORMAT = Format(
    name="json",
    description="all of the model as JSON, for scripts; docs/json-schema.json",
    suffixes=(".json",),
    binary=False,
    counts=True,
    writer=_write,
    reader=_read,
    lost="only the measurements from which the errors are computed",
    kept="processes, threads, functions, paths, counts, own and awaited times, flags, losses, objects; not the errors",
    of=(CALLS, OBJECTS),
    all_times=True,
    mark=b'{"format":"seismo"',
    lists_losses=True,
)
