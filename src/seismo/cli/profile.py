"""Runs a program and records every call it makes."""

from __future__ import annotations

from seismo import recording_kinds
from seismo.cli.options import CLOCK, RATE, Option, of_a_program, source, whole
from seismo.cli.recording import RecordingVerb, settings_of
from seismo.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.verb import Given
    from seismo.process.run_program import Program


def _where(_name: str, text: str) -> str:
    from seismo.process.engine import narrowed

    return str(narrowed(text))


_NO_TIMES = Option(
    "--no-times",
    "no_times",
    "count calls only: all of them, exactly, for less; no clock is read, and the report ranks by calls",
)


def _settings(given: Given, program: Program) -> dict[str, object]:
    settings = settings_of(given, program)
    if settings.pop("no_times", None):
        for name in ("clock", "timing", "rate"):
            if settings.get(name):
                option = "--rate" if name == "rate" else "--clock"
                raise UsageError(f"{option} is about times, and --no-times records none", hint="leave one of them out")
        settings["timing"] = "none"
    return settings


def _options(*sources: str) -> tuple[Option, ...]:
    return (
        Option(
            "--c-functions",
            "c_functions",
            "which C functions to record; auto: all of them, except at call sites where they prove to be trivial. The "
            "default is auto; on Python 3.11 it is none, because recording them slows down every instruction there",
            choices=("auto", "all", "none"),
        ),
        CLOCK,
        RATE,
        source(*sources),
        Option(
            "--where",
            "where",
            "record only functions for which the expression is true, such as 'module(\"app.*\")' "
            "(see docs/expressions.md); the time of all other functions counts as time of their callers",
            metavar="EXPR",
            read=_where,
        ),
        Option(
            "--max-paths",
            "max_paths",
            "record at most N call paths; calls on further paths are counted by function only (default: {max_paths})",
            metavar="N",
            read=whole,
        ),
    )


_TIMED = ("monitoring", "profilefunc", "evalframe")
OPTIONS = _options(*_TIMED)  # of a trace, too, which needs the ends of calls

VERB = RecordingVerb(recording_kinds.CALLS, of_a_program(__doc__), (*_options("starts", *_TIMED), _NO_TIMES), _settings)
main = VERB.run
