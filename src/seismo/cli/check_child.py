"""The child of `seismo check`: runs a program as `python` would, and counts what it does. For `seismo check` alone.

seismo check --counted calls -o calls.seismo --lines lines.seismo SCRIPT
seismo check --counted births -o objects.seismo SCRIPT

Every process that the program starts or forks writes files of its own, its part of the recording into the folder
calls.seismo.parts. They are not merged: who has asked for the counts reads all of them (seismo.check.counted_runs). So
what becomes another program by exec is counted as well.
"""

from __future__ import annotations

from seismo import recording_kinds
from seismo.cli.options import Option
from seismo.cli.recording import RecordedRun, RecordingVerb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo.cli.verb import Given
    from seismo.process.run_program import Program


class _Counted(RecordingVerb):
    """Counts in every process."""

    def make(self, given: Given, program: Program) -> RecordedRun:
        """The program, ready to run: no process gathers what the others write."""
        found = super().make({**given, "children": True}, program)
        found.process.at_end = None
        return found


class _Calls(_Counted):
    """Counts calls and lines."""

    def recorder(self) -> Any:
        """The two recorders."""
        from seismo.process.check_recorder import CheckRecorder

        return CheckRecorder()


def _calls(given: Given, _program: Program) -> dict[str, object]:
    from seismo.process.check_recorder import one_round

    one_round()
    settings: dict[str, object] = {"c_functions": "all", "timing": "none"}
    return settings | {name: given[name] for name in ("lines", "everywhere", "source") if name in given}


def _objects(_given: Given, _program: Program) -> dict[str, object]:
    from seismo.process.check_recorder import begin_collecting, one_round
    from seismo.process.objects import recorder

    recorder.check_possible()
    one_round()
    begin_collecting()
    return {"holders": 0}


VERBS = {
    "calls": _Calls(
        recording_kinds.CALLS,
        __doc__,
        (
            Option("--lines", "lines", "also count lines, into this file", metavar="FILE"),
            Option("--everywhere", "everywhere", "count lines of libraries, too"),
            Option("--source", "source", "which of the interpreter's hooks to use", metavar="NAME"),
        ),
        _calls,
        name="check",
    ),
    "births": _Counted(recording_kinds.OBJECTS, __doc__, (), _objects, name="check"),
}


def main(words: list[str]) -> int:
    """Runs the program. Returns only when there is none to run. words: first what is to be counted, one of VERBS."""
    what, *rest = words
    return VERBS[what].run(rest)
