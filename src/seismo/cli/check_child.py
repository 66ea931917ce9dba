"""The child of `seismo check`: runs a program as `python` would and counts what it does. Only for `seismo check`.

seismo check --counted calls -o calls.seismo --lines lines.seismo SCRIPT
seismo check --counted births -o objects.seismo SCRIPT

Every process that the program starts or forks writes files of its own, its parts of the recordings into the folder
calls.seismo.parts. The parts are not merged, because seismo.check.counted_runs reads all of them. So programs that are
started by exec are counted as well.
"""

from __future__ import annotations

from seismo import recording_kinds
from seismo.cli.options import Option
from seismo.cli.recording import RecordedRun, RecordingVerb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.verb import Given
    from seismo.process.run_program import Program


class _Counted(RecordingVerb):
    """A verb that counts in every process."""

    def make(self, given: Given, program: Program) -> RecordedRun:
        """Prepare the program to run; no process merges the others' parts."""
        found = super().make({**given, "children": True}, program)
        found.process.at_end = None
        if "lines" in given:
            from seismo.process.output_file import Output

            lines: dict[str, object] = {"counts": 1}
            if given.get("everywhere"):
                lines["include"] = "/**"
            output = Output(given["lines"], option="--lines")
            found.process.runs.append((recording_kinds.recorder(recording_kinds.COVERAGE), lines, output))
        return found


def _calls(_given: Given, _program: Program) -> dict[str, object]:
    return {"c_functions": "all", "timing": "none"}


def _objects(_given: Given, _program: Program) -> dict[str, object]:
    from seismo.process import engine
    from seismo.process.objects import recorder

    recorder.check_possible()
    engine.begin_collecting()
    return {"holders": 0}


VERBS = {
    "calls": _Counted(
        recording_kinds.CALLS,
        __doc__,
        (
            Option("--lines", "also count lines, into this file", metavar="FILE"),
            Option("--everywhere", "count lines of libraries, too"),
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
