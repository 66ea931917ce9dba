"""Run a program and record every call it makes."""

from __future__ import annotations

from seismo import recording_kinds
from seismo.cli.options import of_a_program, settings
from seismo.cli.recording import RecordingVerb

VERB = RecordingVerb(recording_kinds.CALLS, of_a_program(__doc__), settings("profile"))
main = VERB.run
