"""JSON: the whole recording, for jq, pandas and scripts; the schema is docs/json-schema.json.

The top level is one object: `format`, `version`, `meta`, `processes`, `threads`, `functions`, `tree`, `losses`. Each
list has one object per row and one row per line, so that a million nodes can be written, and read by line-based tools,
in pieces. The tree is a flat list; `parent` is the id of an earlier node, or -1. Recordings of objects have the lists
of json_lists.py as well.

It is for scripts, and is not read back: the recording itself holds more. What is read are reports of other tools with
the same suffix.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from seismo.formats import coverage_json, speedscope
from seismo.formats.base import Format
from seismo.formats.function_names import PYTHON, SYNTHETIC, C, json_text
from seismo.formats.json_lists import truth, write_objects, write_table
from seismo.recording_kinds import CALLS, OBJECTS

if TYPE_CHECKING:
    from seismo.model import Recording

VERSION = 1

KINDS = {PYTHON: "python", C: "c", SYNTHETIC: "synthetic"}

_COUNTS = ("calls", "resumes", "exceptions")
_TIMES = ("own_ns", "own_error_ns", "total_ns", "total_error_ns", "awaits", "await_ns")
_WAITS = ("wait_ns", "ready_ns", "lock_ns", "total_wait_ns")
_FUNCTIONS = ("id", "kind", "module", "qualname", "file", "line", "flags", *_COUNTS, *_TIMES, *_WAITS, "lower_bound")
_TREE = ("id", "parent", "thread", "function", *_COUNTS, *_TIMES, *_WAITS, "flags")


def _write(recording: Recording, out: TextIO) -> None:
    out.write(f'{{"format":"seismo","version":{VERSION},\n"meta":{_meta(recording.meta)},\n')
    write_table(out, "processes", recording.processes, special={"argv": _argv})
    write_table(out, "threads", recording.threads, special={"main": truth})
    kinds = {number: json_text(kind) for number, kind in KINDS.items()}
    special = {"kind": lambda kind: kinds.get(kind, kinds[PYTHON]), "lower_bound": truth}
    write_table(out, "functions", recording.functions, _FUNCTIONS, special)
    write_table(out, "tree", recording.tree, _TREE)
    if recording.kind == OBJECTS:
        write_objects(out, recording)
    write_table(out, "losses", recording.losses, last=True)
    out.write("}\n")


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
    """Read a report of another tool that has the plain suffix .json."""
    document = json.loads(data)
    if isinstance(document, dict) and document.get("$schema") == speedscope.SCHEMA:
        return speedscope.read_document(document)
    if coverage_json.is_report(document):
        return coverage_json.read_document(document)
    what = _not_read(document)
    raise ValueError(f"it is {what}, which is not read" if what else "it is no report of speedscope or coverage.py")


def _not_read(document: object) -> str:
    """Return what a parsed file is that seismo does not read, or "" if it is unknown."""
    if isinstance(document, dict) and document.get("format") == "seismo":
        return "seismo's own JSON"
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if isinstance(events, list) and events and isinstance(events[0], dict) and "ph" in events[0]:
        return "a trace in Chrome's format"
    meta = document.get("meta") if isinstance(document, dict) else None
    if isinstance(meta, dict) and "preprocessedProfileVersion" in meta:
        return "a profile of the Firefox profiler"
    return ""


FORMAT = Format(
    name="json",
    description="all of the model as JSON, for scripts; docs/json-schema.json",
    suffixes=(".json",),
    counts=True,
    writer=_write,
    reader=_read,
    lost="only the measurements from which the errors are computed",
    kept="nothing of seismo's own JSON; of speedscope's and coverage.py's, what their formats keep",
    of=(CALLS, OBJECTS),
    all_times=True,
    mark=b'{"format":"seismo"',
    lists_losses=True,
)
