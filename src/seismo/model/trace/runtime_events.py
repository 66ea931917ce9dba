"""Runtime events of a trace: threads, child processes, imports, pauses of the garbage collector and spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.model.trace.calls import InstantRow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.model.recording import Recording
    from seismo.model.table import Table
    from seismo.model.trace.calls import CallRow

_IMPORT = "<frozen importlib._bootstrap"  # the file of the code that runs a module
_MODULE = "<module>"


class Pause(NamedTuple):
    """A pause of the cycle collector, which stops its thread and, as it holds the GIL, all others.

    `end_ns` is -1 if unknown. `generation` is the oldest generation that was collected. `collected` is the number of
    objects, or -1 if unknown.
    """

    start_ns: int
    end_ns: int
    thread: int
    generation: int
    collected: int


def pauses(instants: Iterable[InstantRow]) -> list[Pause]:
    """Return the collector's pauses among the journal's instants, sorted by start."""
    begun: dict[tuple[int, int, int], InstantRow] = {}
    found = []
    for instant in instants:
        key = (instant.thread, instant.stream, instant.span)
        if instant.kind == "collect":
            begun[key] = instant
        elif instant.kind == "collected" and key in begun:
            first = begun.pop(key)
            numbers = _of(first, "generation"), _of(instant, "collected")
            found.append(Pause(first.time_ns, instant.time_ns, instant.thread, *numbers))
    found += [Pause(instant.time_ns, -1, instant.thread, _of(instant, "generation"), -1) for instant in begun.values()]
    return sorted(found)


class Span(NamedTuple):
    """An interval that the program named (`seismo.span`), on the thread on which it began.

    `end_ns` is -1 if unknown. `values` are the program's values. `number` is the span's number in its process, `outer`
    that of the enclosing span, or 0. `error` is the exception that ended it, or "".
    """

    start_ns: int
    end_ns: int
    thread: int
    number: int
    outer: int
    name: str
    values: dict[str, Any]
    error: str


def spans(recording: Recording, instants: Iterable[InstantRow]) -> list[Span]:
    """Return the spans that begin among the instants, sorted by start. They may end on other threads."""
    process = recording._raw["threads"]["process"].tolist()
    begun: dict[tuple[int, int], InstantRow] = {}
    ends: dict[tuple[int, int], InstantRow] = {}
    for instant in instants:
        if instant.kind in ("begin", "end"):
            (begun if instant.kind == "begin" else ends)[process[instant.thread], instant.span] = instant
    found = []
    for key, instant in begun.items():
        end = ends.get(key)
        data = instant.data
        values = dict(data) if isinstance(data, dict) else {} if data is None else {"value": data}
        outer = values.pop("in", 0)
        error = end.data.get("error", "") if end is not None and isinstance(end.data, dict) else ""
        end_ns = max(end.time_ns, instant.time_ns) if end is not None else -1
        place = (instant.time_ns, end_ns, instant.thread, instant.span, outer if isinstance(outer, int) else 0)
        found.append(Span(*place, instant.name, values, str(error)))
    return sorted(found, key=lambda span: (span.start_ns, span.thread, span.number))


def _of(instant: InstantRow, name: str) -> int:
    value = instant.data.get(name) if isinstance(instant.data, dict) else None
    return value if isinstance(value, int) else -1


def landmarks(recording: Recording, rows: Table[CallRow] | None = None) -> list[InstantRow]:
    """Return starts and ends of threads, starts of children, and imports of modules, sorted by time.

    `kind` is "thread begins", "thread ends", "child" or "import"; `name` is that of the thread, child or module; `data`
    of an import is {"took_ns": ...}. Imports are found among the calls `rows`, by default the longest of each function.
    Folded threads and the main thread are left out.
    """
    found = [*_threads(recording), *_children(recording)]
    modules = _module_nodes(recording)
    if modules:
        found += _imports(recording, modules, recording.calls.sums.longest if rows is None else rows)
    return sorted(found, key=lambda row: (row.time_ns, row.thread))


def _row(recording: Recording, unix_ns: int, thread: int, kind: str, name: str) -> InstantRow:
    return InstantRow(unix_ns - recording.calls.start_ns, 0, thread, 0, kind, 0, name, None, -1)


def _threads(recording: Recording) -> list[InstantRow]:
    last: dict[int, int] = {}
    for thread in recording.threads:
        last[thread.process] = max(last.get(thread.process, 0), thread.end_ns)
    found = []
    for number, thread in enumerate(recording.threads):
        if thread.main or thread.folded:
            continue
        found.append(_row(recording, thread.start_ns, number, "thread begins", thread.name))
        if thread.end_ns < last[thread.process]:  # threads that were still running have the end of the recording
            found.append(_row(recording, thread.end_ns, number, "thread ends", thread.name))
    return found


def _children(recording: Recording) -> list[InstantRow]:
    mains: dict[int, int] = {}
    for number, thread in enumerate(recording.threads):
        if thread.main or thread.process not in mains:
            mains[thread.process] = number
    places = {process.pid: number for number, process in enumerate(recording.processes)}
    found = []
    for child in recording.processes:
        parent = places.get(child.ppid, -1)
        if parent in mains:
            found.append(_row(recording, child.start_ns, mains[parent], "child", f"process {child.pid}"))
    return found


def _module_nodes(recording: Recording) -> set[int]:
    """Return the nodes of module code that an import ran."""
    raw, functions = recording._raw["nodes"], recording.functions
    names, files = functions["qualname"], functions["file"]
    bodies = {number for number, name in enumerate(names) if name == _MODULE}
    machinery = {number for number, name in enumerate(files) if name.startswith(_IMPORT)}
    function, parent = raw["function"].tolist(), raw["parent"].tolist()
    found = set()
    for node, of in enumerate(function):
        above = parent[node] if of in bodies else -1
        if above >= 0 and names[function[above]] == "exec":  # if C functions are recorded
            above = parent[above]
        if above >= 0 and function[above] in machinery:
            found.add(node)
    return found


def _imports(recording: Recording, modules: set[int], rows: Table[CallRow]) -> list[InstantRow]:
    names = recording.functions["module"]
    found = []
    for row in (rows[place] for place, node in enumerate(rows.numbers("node")) if node in modules):
        data = {"took_ns": row.end_ns - row.start_ns}
        place = (row.start_ns, row.start_bound_ns, row.thread, row.stream)
        found.append(InstantRow(*place, "import", 0, names[row.function], data, -1))
    return found
