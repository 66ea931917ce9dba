"""Runs a program and records every call it makes."""

from __future__ import annotations

from seismo import recording_kinds
from seismo.cli.options import of_a_program, settings
from seismo.cli.recording import RecordingVerb, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.verb import Given
    from seismo.process.run_program import Program


def _settings(given: Given, program: Program) -> dict[str, object]:
    from seismo.process.engine import check

    found = settings_of(given, program)
    check(found)
    return found


VERB = RecordingVerb(recording_kinds.CALLS, of_a_program(__doc__), settings("profile"), _settings)
main = VERB.run
