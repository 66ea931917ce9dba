"""Runs a program and shows the events that match an expression, as they happen.

    seismo watch 'call and module("app.db") and duration > 50ms' app.py
    seismo watch 'raise and exception("KeyError")' --stack -m pytest tests/
    seismo watch 'call("app.*.save")' --args --returns app.py
    seismo watch 'line("app/pay.py", 120)' --vars app.py

EXPRESSION selects the events; docs/expressions.md describes the language.

The program runs as it does under python, and its threads, generators and asyncio tasks are watched, too. Options of
seismo come between the expression and the program; everything after the program belongs to the program. Matches and a
final summary go to stderr.
"""

from __future__ import annotations

import os
import sys

from seismo.cli.options import COLOR, FORCE, Option, whole
from seismo.cli.running import current_folder, run, shown_path, stderr_is_open
from seismo.cli.verb import Verb
from seismo.errors import SeismoError, UsageError
from seismo.escape import printable, wants_colour
from seismo.original_builtins import Restored
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process.exit_and_exec import Listener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from seismo.cli.verb import Given
    from seismo.process.run_program import Program
    from seismo.watching.actions import Action


def _function_name(name: str, text: str) -> str:
    module, colon, function = text.partition(":")
    if not (colon and all(part.isidentifier() for part in (*module.split("."), *function.split(".")))):
        raise UsageError(f"{name} cannot be {text!a}", hint="give MODULE:FUNCTION, such as checks:on_save")
    return text


VERB = Verb(
    "watch",
    "seismo watch EXPRESSION [options] SCRIPT|-m MODULE|-c CODE|- [ARGS...]",
    __doc__ or "",
    (
        Option("--args", "show the arguments of calls"),
        Option("--returns", "show what calls return or raise, and how long they take"),
        Option("--vars", "show local variables at a matched line, or line by line in matched calls"),
        Option("--stack", "show the stack of callers"),
        Option("--count", "count matches by function, and show a table at the end"),
        Option("--histogram", "show at the end how the durations of matched calls are distributed"),
        Option("--pdb", "open the debugger at each match; its command quit ends the watch"),
        Option("--call", "call this function with each match", metavar="MODULE:FUNCTION", read=_function_name),
        Option("--limit", "stop watching after N matches", metavar="N", read=whole),
        Option("--force", FORCE.format("the file of -o or --json")),
        Option(
            "--json",
            "write the matches to FILE as JSON lines, instead of as text to stderr; - writes to stdout",
            metavar="FILE",
        ),
        Option("-o --output", "write the matches to FILE instead of stderr", metavar="FILE"),
        Option(
            "--record", "write a recording of the matches to FILE, for seismo report, export and diff", metavar="FILE"
        ),
        Option("--repr", "show objects by their own __repr__, which runs code of the program"),
        Option("--show-secrets", "also show values whose names look secret (password, token, ...)"),
        COLOR,
        Option("-q --quiet", "print no summary at the end"),
    ),
    before="the expression",
    hint="the expression must come first, then the options, then the program",
)


def main(words: list[str]) -> int:
    """Run the program. Return only if there is none; raise its exception, or SystemExit at its end."""
    return VERB.main(words, lambda given, program: _Run(given, program).go)


# ---- running, and the end ----


class _Run(Listener):
    """One run of a program under a watch. process.children calls finish() if the program ends early."""

    def __init__(self, given: Given, program: Program) -> None:
        """Check all that can be checked before the program runs, and load all modules. Raise SeismoError on failure."""
        from seismo.sessions.watch import Watch
        from seismo.watching import end_summary, source_lines
        from seismo.watching.actions import chosen
        from seismo.watching.active_watch import EventSelection
        from seismo.watching.describe_match import DETAILS
        from seismo.watching.match_printer import Printer

        self.hints = end_summary  # loaded here, because the program may have modules of the same names
        self.program, self.quiet, self.call = program, bool(given.get("quiet")), str(given.get("call", ""))
        self.pid, self.folder = os.getpid(), current_folder()
        self.done = self.began = False
        VERB.check(program)
        self.stderr = _private(2)
        output = given.get("json") or given.get("output")
        self.stream = _open(output, "json" in given, bool(given.get("force"))) if output else self.stderr
        if given.get("pdb"):
            import pdb  # noqa: F401  loaded here for the same reason
        self.action = _Late() if self.call else None
        color = given.get("color", "auto")
        if not output:
            color = "always" if wants_colour(color, os.isatty(2)) else "never"
        self.watch = Watch(
            EventSelection(
                given["before"],
                limit=given.get("limit"),
                script=program.full if program.kind == "script" and not program.importable else "",
            ),
            chosen(_actions(given, self.action, bool(output))),
            {name for name in DETAILS if name in given},
            Printer(self.stream, json="json" in given, color=color),
            given.get("record"),
        )
        if program.kind == "code":
            source_lines.give("<string>", program.what)
        elif program.kind == "stdin":
            source_lines.give("<stdin>", program.text.decode("utf-8", "replace"))

    def go(self) -> int:
        """Run the program."""
        return run(self.program, self._begin, lambda _how: None, self._give_up)

    def _begin(self) -> None:
        import atexit

        from seismo import _core
        from seismo.process import exit_and_exec

        if self.action is not None:
            self.action.load(self.call)
        atexit.register(_core.at_end, self.finish)  # registered first, so it runs last
        exit_and_exec.subscribe(self)
        self.watch.__enter__()
        self.began = True

    def _give_up(self) -> None:
        self.done = True

    def before_exec(self, likely: bool, /) -> None:
        """Report the results if the program will most likely be replaced; otherwise keep watching."""
        if likely and self.began and not self.done and self.pid == os.getpid():
            if self.watch.file is not None:
                self.watch.unwritten = self.watch.file.end(self.watch, go_on=True)
            self._write_results()
            self._flush()

    def _flush(self) -> None:
        for stream in (self.stream, self.stderr):
            if stream is not None:
                stream.flush()

    def finish(self, _how: str | None = None, /) -> None:
        """End the watch, once and without raising. A forked child does not report its tables."""
        if self.done or not self.began:
            return
        self.done = True
        try:
            with Restored():
                self.watch.__exit__(None, None, None)
                if self.pid == os.getpid():
                    self._write_results()
                self._flush()
        except Exception:  # noqa: BLE001  a failed report must not change the program's exit
            return

    def _write_results(self) -> None:
        if self.stderr is None or not stderr_is_open():
            return
        lines = self.watch.report()
        if not self.quiet:
            lines += [f"seismo: {line}" for line in self.hints.summary(self.watch)]
        if self.watch.unwritten:
            lines.append(f"seismo: {printable(self.watch.unwritten)}")
        elif self.watch.file is not None and not self.quiet:
            shown = shown_path(self.watch.file.path, self.folder)
            lines.append(f"seismo report {shown}   shows the recording")
        self.stderr.write("".join(line + "\n" for line in lines))


def _actions(given: Given, call: _Late | None, output: bool) -> list[Action]:
    """Return the actions for a match: besides others, matches are printed with an output file or --pdb."""
    found: list[Action] = [name for name in ("count", "histogram", "pdb") if name in given]
    if call is not None:
        found.append(call)
    if (output and (call is not None or "record" in given)) or ("pdb" in given and call is None):
        found.append("print")
    return found


class _Late:
    """The function of --call, loaded late because the program's folder is on the path only once the program begins."""

    def __init__(self) -> None:
        self.function: Any = None

    def load(self, name: str) -> None:
        module, _, path = name.partition(":")
        try:
            found: Any = __import__(module, fromlist=["_"])
            for part in path.split("."):
                found = getattr(found, part)
        except Exception as error:  # noqa: BLE001  anything that the user's import may raise
            hint = "the module is searched for where the program's own modules are"
            raise UsageError(
                f"the function cannot be loaded: {type(error).__name__}: {error}", f"--call {name}", hint
            ) from None
        if not callable(found):
            raise UsageError(f"this is a {type(found).__name__}, which cannot be called", f"--call {name}")
        self.function = found

    def __call__(self, match: object) -> None:
        self.function(match)


def _private(fd: int) -> TextIO | None:
    """Return a stream on the descriptor's file, which the program may close or replace, or None if none is open."""
    from seismo.process.output_file import out_of_the_way

    try:
        number = out_of_the_way(os.dup(fd))
        encoding = getattr(sys.__stderr__, "encoding", "") or "utf-8"
        return open(number, "w", encoding=encoding, errors="backslashreplace", closefd=False)
    except OSError:
        return None


def _open(name: str, json: bool, force: bool) -> TextIO | None:
    from seismo.process.output_file import open_text
    from seismo.watching import match, match_text

    if name == "-":
        return _private(1)
    is_ours = None if force else match.is_json_line if json else match_text.is_ours
    try:
        fd = open_text(name, "--json" if json else "-o", is_ours)
    except OSError as error:
        raise SeismoError(f"the output cannot be written: {error.strerror or error}", name) from None
    return open(fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
