"""Verbs that record a program: preparation before the program runs, and the end of the recording.

A verb has a RecordingVerb, whose `run` is its `main`. A verb with its own end overrides make().
"""

from __future__ import annotations

import os
import sys

from seismo import recording_kinds
from seismo.cli.options import CHILDREN, COLOR, FLUSH, OUTPUT, OVERWRITE, QUIET
from seismo.cli.running import current_folder, run, shown_path, stderr_is_open
from seismo.cli.verb import Verb
from seismo.errors import RecordingError, SeismoError
from seismo.escape import wants_colour
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from seismo.cli.verb import Given
    from seismo.options import Setting
    from seismo.process.output_file import Output
    from seismo.process.run_program import Program


class Screen:
    """The output for messages at the end of a recording.

    `fd` is its descriptor or -1. `path` is the recording's path, quoted for the user's shell. `coloured` enables
    colours.
    """

    def __init__(self, fd: int, path: str, coloured: bool) -> None:
        self.fd, self.path, self.coloured = fd, path, coloured

    def open(self) -> TextIO:
        """Return a text stream for the descriptor."""
        return open(self.fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


def _summed_up(file: str | bytes, screen: Screen) -> None:
    from seismo.model import read
    from seismo.report.kind import of

    recording = read(file)
    with screen.open() as stream:
        of(recording).summary(recording, stream, screen.path, screen.coloured)


TOO_LARGE = 16 << 20  # bytes; a larger recording of several processes is not read again for a summary


def settings_of(given: Given, _program: Program | None = None) -> dict[str, object]:
    """Return the options that are settings of the recorder."""
    ours = ("output", "force", "quiet", "children", "color")
    return {name: 1 if value is True else value for name, value in given.items() if name not in ours}


class RecordingVerb(Verb):
    """A verb that records a program. Such verbs share some options, to which each adds its own.

    `kind` is the name of the kind in files. `name` is the verb's, by default that of the kind. `settings(given,
    program)` returns the recorder's settings, by default the given options; it may raise SeismoError.
    """

    def __init__(
        self,
        kind: str,
        text: str | None,
        options: tuple[Setting, ...],
        settings: Callable[[Given, Program], dict[str, object]] = settings_of,
        name: str = "",
    ) -> None:
        name = name or recording_kinds.KINDS[kind].verb
        usage = f"seismo {name} [options] SCRIPT|-m MODULE|-c CODE|- [ARGS...]"
        super().__init__(name, usage, text or "", (OUTPUT, OVERWRITE, QUIET, CHILDREN, *options, FLUSH, COLOR))
        self.kind, self.settings = kind, settings

    def run(self, words: list[str]) -> int:
        """Run the program. Return only if there is none; raise its exception, or SystemExit at its end."""
        return self.main(words, lambda given, program: self.make(given, program).go)

    def make(self, given: Given, program: Program) -> RecordedRun:
        """Return the program, ready to run."""
        return RecordedRun(self, given, program, self.settings(given, program))


class RecordedRun:
    """A program that is recorded to a file. All checks are made before it runs.

    `given` are the options, of which output, force, quiet and children are used here. `settings` are the recorder's.
    `summary(file, screen)` reports on the recording, a path or bytes, at the end. With `always`, it is called even if
    nothing can be written (screen.fd is -1). summary() may return an exit status for a program that ends with 0.
    """

    def __init__(
        self,
        verb: RecordingVerb,
        given: Given,
        program: Program,
        settings: dict[str, object],
        summary: Callable[[str | bytes, Screen], int | None] = _summed_up,
        always: bool = False,
    ) -> None:
        """Prepare the recording. Raise SeismoError if it is not possible."""
        from seismo.process import children
        from seismo.process.output_file import SUFFIX, Output, out_of_the_way

        self.program, self.summary, self.always = program, summary, always
        self.folder = current_folder()
        self.coloured = wants_colour(given.get("color", "auto"), os.isatty(2))
        children.abandon()
        verb.check(program)
        output = Output(given.get("output") or f"{program.name}-{os.getpid()}{SUFFIX}", force="force" in given)
        try:
            folder = _folder(output) if given.get("children") else ""
        except SeismoError:
            output.discard()
            raise
        quiet = bool(given.get("quiet"))
        recorder = recording_kinds.recorder(verb.kind)
        self.process = process = children.Process([(recorder, settings, output)], folder, quiet)
        self.stderr = -1
        if not quiet:
            try:
                self.stderr = out_of_the_way(os.dup(2))
                process.close_in_child.append(self.stderr)
            except OSError:
                pass  # without stderr there is no summary
        # The import path without the program's folder.
        self.path = sys.path[1 if sys.path and not sys.flags.safe_path else 0 :]
        process.at_end, process.prepare = self._end, self._rehearse
        process.heir, process.has_over = bool(folder), True

    def go(self) -> int:
        """Run the program. Return only if there is none; raise its exception, or SystemExit at its end."""
        from seismo.process import engine, exit_and_exec

        def begin() -> None:
            engine.hide_launcher()
            exit_and_exec.subscribe(self.process)
            self.process.begin()

        return run(self.program, begin, self.process.over, self.process.abandon)

    def _rehearse(self) -> None:
        """Run summary() with output to os.devnull, so that its modules are loaded now."""
        programs, sys.path = sys.path, self.path
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            if self.process.parts:
                from seismo.process import merge_parts  # noqa: F401
            if self.stderr >= 0 or self.always:
                self.summary(self.process.recorder.snapshot(), Screen(nowhere, "", self.coloured))
        finally:
            sys.path = programs
            os.close(nowhere)

    def _end(self, output: Output) -> int:
        """Write the file, merge the children's parts, show the summary. Return its result, or 130 if interrupted."""
        from seismo import _core
        from seismo.process.output_file import say

        # Without `done`, exec is about to replace the process.
        messages = [output.finish(self.process.recorder)] if self.process.done else []
        programs, sys.path = sys.path, self.path  # the program may have a json.py or a grp.py of its own beside it
        stderr = self.stderr if self.stderr >= 0 and stderr_is_open() else -1
        try:
            if self.process.parts and not os.path.isdir(self.process.parts):
                reason = "the recordings of child processes cannot be reached any more; to merge them"
                messages.append(f"{reason}: seismo merge -o OUT {self.process.parts}/*")
            elif self.process.parts:
                from seismo.process import merge_parts

                self.process.taken = self.process.taken or merge_parts.TakenParts()
                messages += merge_parts.merge_folder(
                    output.path, self.process.parts, self.process.taken, not self.process.done
                )
                if not self.process.done:
                    messages.append(
                        "the program is replaced (exec): if the new one is Python, it is recorded into the same file"
                    )
            screen = Screen(stderr, shown_path(output.path, self.folder), self.coloured)
            for line in messages:
                if line and stderr >= 0:
                    say(line, stderr)
            there = os.path.exists(output.path)  # the file is out of reach if the program has changed its root folder
            if self.process.done:
                _core.hear_signals()  # the recording is complete, so Ctrl-C may interrupt the rest
            if self.process.parts and there and os.path.getsize(output.path) > TOO_LARGE and not self.always:
                say(f"the recording is too large for a summary: seismo report {screen.path}   shows it", stderr)
            elif stderr >= 0 or self.always:
                return self.summary(output.path if there else self.process.recorder.snapshot(), screen) or 0
        except KeyboardInterrupt:
            return 130
        except BaseException as error:  # noqa: BLE001  a failed summary must not change the program's exit
            if stderr >= 0:
                say(f"the summary cannot be shown: {type(error).__name__}: {error}", stderr)
        finally:
            sys.path = programs
        return 0


def _folder(output: Output) -> str:
    """Create and return the folder for the children's parts. Parts left there by an earlier run are deleted."""
    from seismo.process.child_startup.unrecorded_mark import MARK
    from seismo.process.children import PARTS, make_folder

    folder = f"{output.path}{PARTS}"
    if not os.path.isfile(output.path):
        raise RecordingError(
            "--children can only write the recording to a regular file", output.path, "name another file with -o"
        )
    try:
        if os.path.isdir(folder):
            for name in os.listdir(folder):
                if name.endswith((".seismo", MARK)):
                    os.unlink(os.path.join(folder, name))
        make_folder(folder)
    except OSError as error:
        raise RecordingError(
            f"cannot create the folder for the recordings of child processes: {error.strerror}", folder
        ) from None
    return folder
