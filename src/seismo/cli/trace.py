"""Runs a program and records every call that it makes, and when: a timeline.

The recording has a journal beside the call tree, so every command that reads a profile reads it, too. The journal takes
a byte or two per call.
"""

from __future__ import annotations

from seismo import recording_kinds
from seismo.cli.options import of_a_program, settings
from seismo.cli.recording import RecordingVerb, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.verb import Given
    from seismo.process.run_program import Program


def _settings(given: Given, program: Program) -> dict[str, object]:
    return {**settings_of(given, program), "journal": 1}


VERB = RecordingVerb(recording_kinds.CALLS, of_a_program(__doc__), settings("trace"), _settings, name="trace")
main = VERB.run
