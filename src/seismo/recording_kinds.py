"""The kinds of recordings, one entry each, by the name that files store.

This module imports nothing: a recorded process needs a recorder and no reports, and a reader needs the reverse.
A home is "module:name" and is loaded on demand. A new kind needs an entry here and a folder in seismo.report. The rest
of the package does not ask for a kind by its name, except for the export formats that support only certain kinds.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CALLS, LINES, COVERAGE, OBJECTS = "calltree", "linetimes", "coverage", "lifetimes"
TASKS = "<seismo task>"  # the file of functions that mark a worker's tasks in its call tree: seismo.dataset.tasks


class Entry:
    """A kind of recording.

    what: a noun phrase for "recordings of ...". of: a noun phrase for other sentences, if it differs. verb: the verb
    that records it. does: the verb's line in `seismo --help`. report: the seismo.report.kind.Kind that shows it.
    recorder: its class, which takes the kind's name. engine: for recorders of the engine, words for the current
    activity and for what to do instead.

    times: the table with separate times of running and waiting, or "" for none. columns: (table, column) pairs; a
    recording without a named kind is of this one if such a column is not empty. beside: kinds whose columns such a
    recording may have as well. by_settings: read with the project's coverage settings. pytest: the plugin for
    --seismo-VERB. asks: the help of that option.
    """

    def __init__(
        self,
        what: str,
        *,
        verb: str,
        does: str,
        report: str,
        recorder: str,
        of: str = "",
        engine: tuple[str, str] | None = None,
        times: str = "",
        columns: tuple[tuple[str, str], ...] = (),
        beside: tuple[str, ...] = (),
        by_settings: bool = False,
        pytest: str = "",
        asks: str = "",
    ) -> None:
        self.what, self.verb, self.does = what, verb, does
        self.report, self.recorder, self.engine = report, recorder, engine
        self.of = of or what
        self.times, self.columns, self.beside, self.by_settings = times, columns, beside, by_settings
        self.pytest, self.asks = pytest, asks


# In the order of the help text.
KINDS = {
    CALLS: Entry(
        "calls",
        verb="profile",
        does="run a program and record every call it makes",
        report="seismo.report.calls:KIND",
        recorder="seismo.process.engine:Recorder",
        engine=("calls are recorded", "profile"),
        times="functions",
        columns=(("nodes", "id"),),
        beside=(LINES, COVERAGE),
        pytest="seismo.plugins.pytest.profile:Profile",
        asks="record the calls of each test, and show the slowest tests and the functions that they share; FILE is the "
        "recording to write (default: profile.seismo)",
    ),
    LINES: Entry(
        "lines",
        of="times of lines",
        verb="lines",
        does="run a program and time its lines",
        report="seismo.report.lines:KIND",
        recorder="seismo.process.engine:Recorder",
        engine=("lines are timed", "time lines"),
        times="lines",
        columns=(("instructions", "id"), ("lines", "sampled")),
        beside=(COVERAGE,),
    ),
    COVERAGE: Entry(
        "coverage",
        verb="cover",
        does="run a program and record which lines and branches were executed",
        report="seismo.report.coverage:KIND",
        recorder="seismo.process.coverage:CoverageRecorder",
        columns=(("lines", "id"), ("sources", "id")),
        by_settings=True,
    ),
    OBJECTS: Entry(
        "objects",
        of="births and deaths of objects",
        verb="objects",
        does="run a program and record the birth and death of its objects",
        report="seismo.report.objects:KIND",
        recorder="seismo.process.objects.recorder:ObjectRecorder",
        engine=("objects are recorded", "record objects"),
        columns=(("types", "id"),),
        beside=(CALLS, LINES, COVERAGE),
    ),
}


WATCH = "watch"
"""The name in recordings of a watch, which is not a kind by itself (see shown_as)."""


def shown_as(name: str) -> str:
    """Return the kind whose reports and formats fit: that of calls for a watch or an empty recording."""
    return CALLS if name in ("", WATCH) else name


def entry(name: str) -> Entry:
    """Return the entry of the kind, or that of calls if the kind is unknown (from a later version)."""
    return KINDS.get(name) or KINDS[CALLS]


def found(holds: Callable[[str, str], bool]) -> str:
    """Return the kind of a recording without one, or "", by holds(table, column): True if the column has data."""
    fitting = [name for name, entry in KINDS.items() if any(holds(*column) for column in entry.columns)]
    beside = {other for name in fitting for other in KINDS[name].beside}
    return next((name for name in fitting if name not in beside), "")


def recorder(name: str) -> Any:
    """Return a new recorder of this kind; "" stands for calls."""
    name = name or CALLS
    return load(entry(name).recorder)(name)


def load(home: str) -> Any:
    """Import the module of a home and return the object it names."""
    module, _, name = home.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)
