"""The child of `seismo check`: runs a program as `python` would and counts what it does. Only for `seismo check`.

seismo check --counted calls -o calls.seismo --lines lines.seismo SCRIPT
seismo check --counted births -o objects.seismo SCRIPT

Every process that the program starts or forks writes files of its own, its parts of the recordings into the folder
calls.seismo.parts. The parts are not merged, because seismo.check.counted_runs reads all of them. So programs that are
started by exec are counted as well.
"""

from __future__ import annotations

import sys

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
        """Prepare the program to run; no process merges the others' parts."""
        sys.meta_path.insert(0, _OneRound())
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


def _calls(given: Given, _program: Program) -> dict[str, object]:
    return {"c_functions": "all", "timing": "none"} | {name: given[name] for name in ("source",) if name in given}


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
            Option("--source", "which of the interpreter's hooks to use", metavar="NAME"),
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


class _OneRound:
    """An import hook that makes pyperf run each benchmark once, in one process.

    Otherwise pyperf chooses the number of runs by time. The hook finds pyperf's runner, once, and sets its option for
    this.
    """

    NAME, OPTION = "pyperf._runner", "debug_single_value"

    def find_spec(self, name: str, path: Any, _target: Any = None) -> Any:
        """Return the spec of the module NAME with a changed loader, or None for other modules."""
        if name != self.NAME:
            return None
        sys.meta_path.remove(self)
        others = (one.find_spec(name, path) for one in sys.meta_path)
        spec: Any = next(filter(None, others), None)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        loader: Any = spec.loader
        real = loader.exec_module

        def exec_module(module: Any) -> None:
            real(module)
            try:
                self._change(module.Runner)
            except AttributeError:  # this version of pyperf has no such attribute
                return

        loader.exec_module = exec_module
        return spec

    def _change(self, runner: Any) -> None:
        real = runner._set_args

        def _set_args(self: Any, args: Any) -> None:
            if hasattr(args, _OneRound.OPTION) and not getattr(args, "worker", False):
                args.rigorous = args.fast = False
                args.debug_single_value = True
            real(self, args)

        runner._set_args = _set_args
