"""The child of `seismo check`: runs a program as `python` would and counts what it does. Only for `seismo check`.

seismo check --counted calls -o calls.seismo --lines lines.seismo SCRIPT
seismo check --counted births -o objects.seismo SCRIPT

Every process that the program starts or forks writes its own files. Their recordings go to the folder
calls.seismo.parts and are not merged: seismo.check.counted_runs reads all of them. So a process that execs another
program is counted as well.
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
    """A verb that counts in every process."""

    def make(self, given: Given, program: Program) -> RecordedRun:
        """Return the program, ready to run. No process merges the other processes' files."""
        found = super().make({**given, "children": True}, program)
        found.process.at_end = None
        return found


class _Calls(_Counted):
    """A verb that counts calls and lines."""

    def recorder(self) -> Any:
        """Return the recorder of calls and lines."""
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
    """Run the program; the first word is one of VERBS. Return only if there is no program."""
    what, *rest = words
    return VERBS[what].run(rest)
