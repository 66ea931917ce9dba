"""Runs a program and records every call that it makes, and when: a timeline.

The recording is one of calls, with a journal beside the tree of its paths: every command that reads a profile reads it,
too. It takes a byte or two a call.
"""

from __future__ import annotations

from seismo import recording_kinds
from seismo.cli.options import Option, of_a_program, span_ns, whole
from seismo.cli.profile import OPTIONS
from seismo.cli.recording import RecordingVerb, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.verb import Given
    from seismo.process.run_program import Program


def _settings(given: Given, program: Program) -> dict[str, object]:
    return {**settings_of(given, program), "journal": 1}


_FILTERS = (
    Option(
        "--depth",
        "depth",
        "write only calls into the timeline that are at most N deep; deeper ones are counted",
        metavar="N",
        read=whole,
    ),
    Option(
        "--min-duration",
        "min_duration_ns",
        "leave calls out of the timeline that are surely shorter than TIME (10us, 1ms), with what they called; they "
        "are counted",
        metavar="TIME",
        read=span_ns,
    ),
)

VERB = RecordingVerb(recording_kinds.CALLS, of_a_program(__doc__), (*OPTIONS, *_FILTERS), _settings, name="trace")
main = VERB.run
