"""Runs a program and times its lines: how often each line ran, and how long it and the functions it called took.

seismo report shows the times next to the source. Without --only or --where, the lines of all functions are timed.
"""

from __future__ import annotations

from seismo import recording_kinds
from seismo.cli.options import Option, of_a_program, settings
from seismo.cli.recording import RecordingVerb, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.verb import Given
    from seismo.process.run_program import Program


def _settings(given: Given, _program: Program) -> dict[str, object]:
    from seismo.process.engine import only_expression

    found = settings_of(given)
    if found.pop("only", None) or "where" in found:
        found["where"] = only_expression(given.get("only", ()), given.get("where"))
    return found


VERB = RecordingVerb(
    recording_kinds.LINES,
    of_a_program(__doc__),
    (
        Option(
            "--only",
            "time only functions whose module, name or file matches; a name without wildcards includes everything "
            "inside; may be given several times",
            metavar="GLOB",
            many=True,
        ),
        *settings("lines"),
    ),
    _settings,
)
main = VERB.run
