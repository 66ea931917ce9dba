"""The kinds of recordings: one entry each, by the name that a recorder has in files.

Names only, and no import: who records needs a recorder's life and none of the reports, who reads the reverse. A home is
"module:name", and is loaded when somebody asks for it. A new kind is an entry here, and a folder of seismo.report.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CALLS, LINES, COVERAGE, OBJECTS = "calltree", "linetimes", "coverage", "lifetimes"


class Entry:
    """What there is to a kind.

    what: what is recorded, in a word: "recordings of calls". of: the same where it stands alone. verb: records it.
    report: the seismo.report.kind.Kind that shows it. life: what a recorded process starts and stops; called with the
    kind's name. engine: (what is happening, what to do) in words, for recorders that the engine runs one at a time.
    """

    __slots__ = ("engine", "life", "of", "report", "verb", "what")

    def __init__(
        self, what: str, *, verb: str, report: str, life: str, of: str = "", engine: tuple[str, str] | None = None
    ) -> None:
        self.what, self.verb, self.report, self.life, self.engine = what, verb, report, life, engine
        self.of = of or what


# In the order of a day's work.
KINDS = {
    CALLS: Entry(
        "calls",
        verb="profile",
        report="seismo.report.calls:KIND",
        life="seismo.record.engine:Life",
        engine=("calls are recorded", "profile"),
    ),
    LINES: Entry(
        "lines",
        of="times of lines",
        verb="lines",
        report="seismo.report.lines:KIND",
        life="seismo.record.engine:Life",
        engine=("lines are timed", "time lines"),
    ),
    COVERAGE: Entry(
        "coverage",
        verb="cover",
        report="seismo.report.coverage:KIND",
        life="seismo.record.coverage:Life",
    ),
    OBJECTS: Entry(
        "objects",
        of="births and deaths of objects",
        verb="objects",
        report="seismo.report.objects:KIND",
        life="seismo.record.objects.life:Life",
        engine=("objects are recorded", "record objects"),
    ),
}


def entry(name: str) -> Entry:
    """The entry of the kind. What a watch recorded is shown as calls, and so is a recording of nothing at all."""
    return KINDS.get(name) or KINDS[CALLS]


def load(home: str) -> Any:
    """What a home names."""
    module, _, name = home.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)
