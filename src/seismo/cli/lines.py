"""Runs a program and times its lines: how often each line ran, and how long it and the functions it called took.

seismo report shows the times next to the source. Without --only or --where, the lines of all functions are timed.
"""

from __future__ import annotations

from seismo import recording_kinds
from seismo.cli.options import RATE, Option, of_a_program, source
from seismo.cli.recording import RecordingVerb, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.verb import Given
    from seismo.process.run_program import Program


def _settings(given: Given, _program: Program) -> dict[str, object]:
    from seismo.process.only_filter import only_expression

    settings = settings_of(given)
    if settings.pop("only", None) or "where" in settings:
        settings["where"] = only_expression(given.get("only", ()), given.get("where"))
    return settings


VERB = RecordingVerb(
    recording_kinds.LINES,
    of_a_program(__doc__),
    (
        Option(
            "--only",
            "only",
            "time only functions whose module, name or file matches; a name without wildcards also stands for all that "
            "is inside; may be given several times",
            metavar="GLOB",
            many=True,
        ),
        Option(
            "--where",
            "where",
            "time only functions for which the expression is true, such as 'file(\"app/*\")' (see docs/expressions.md)",
            metavar="EXPR",
        ),
        RATE,
        source("monitoring", "tracefunc"),
    ),
    _settings,
)
main = VERB.run
