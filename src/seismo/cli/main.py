"""The `seismo` command: finds and runs the verb, and reports errors as plain lines and exit statuses.

Each verb is a module of this package with the same name. It has

    add_arguments(parser)      adds its arguments to an argparse.ArgumentParser
    run(args) -> int           does the work and returns the exit status: 0 ok, 1 a check failed

and its docstring is the text of `seismo VERB --help`. A verb whose start-up time matters has `main(argv) -> int`
instead. It gets the words after the verb and handles its own errors (seismo.cli.failures), so argparse is not imported.
This module only imports what every verb needs, because `seismo profile` runs inside the measured process.

Exit statuses: 0 ok, 1 a check failed, 2 usage or bad input, 130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import sys

from seismo import recording_kinds
from seismo.cli.failures import FORESEEN, failed
from seismo.errors import SeismoError, UsageError
from seismo.process import startup_guard

TYPE_CHECKING = False  # avoids the import of typing
if TYPE_CHECKING:
    from argparse import Namespace
    from contextlib import AbstractContextManager
    from typing import Any, TextIO

    from seismo.cli.parsing import Parser

# In the order of a workflow: make a recording, look at it, pass it on.
VERBS = {
    **{entry.verb: entry.does for entry in recording_kinds.KINDS.values()},
    "trace": "run a program and record every call it makes, and when: a timeline",
    "watch": "run a program and show the calls, lines and exceptions that match",
    "report": "show a recording: functions, call tree, lines, coverage, objects",
    "view": "show recordings in a browser, and the timeline of a trace",
    "info": "show what a file is and what it contains",
    "query": "ask recordings in SQL: their tables, and every call of a trace",
    "mcp": "serve recordings to agents: a Model Context Protocol server",
    "export": "write a recording, or a part of a trace, in another tool's format",
    "merge": "combine several recordings into one",
    "diff": "show what changed between two recordings",
    "check": "count what a program does, and compare it with what it did before",
    "doctor": "show which hooks this interpreter offers and seismo would use",
    "completion": "print a completion script for bash, zsh or fish",
}

_LONG = ("report", "info", "query", "export", "merge", "diff")  # verbs that may take long show their progress


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status. argv: the words after `seismo`, by default the process's."""
    words = sys.argv[1:] if argv is None else argv
    verb = words[0] if words else "--help"
    if verb in VERBS:
        return _run(verb, words[1:])
    if verb in ("-h", "--help", "help"):
        return _help(words[1:])
    if verb in ("-V", "--version"):
        from seismo import __version__

        return _print(f"seismo {__version__}\n")
    return _unknown(words)


def home(verb: str) -> Any:
    """Return the module of a verb."""
    return __import__(f"seismo.cli.{verb}", fromlist=["run"])  # importlib would be an additional import


def _run(verb: str, words: list[str]) -> int:
    startup_guard.defer_interrupts()
    startup_guard.disable_lazy_imports()
    module = home(verb)
    fast = getattr(module, "main", None)
    if fast is not None:  # exceptions of the recorded program propagate as if it ran bare
        status = int(fast(words))  # returns only if the program did not run
        try:
            startup_guard.allow_interrupts()
        except KeyboardInterrupt as error:
            return failed(error)
        return status
    if sys.stdout is None:  # stdout was closed before the start
        sys.stdout = _NoOutput()
    show_every_name(sys.stdout)
    try:
        startup_guard.allow_interrupts()
        parser = _parser(verb, module)
        args: Namespace = parser.read(words)
        _note_slow_reading(verb)
        with _progress(verb, args):
            status = int(module.run(args))
        sys.stdout.flush()  # reports a full disk or a closed pipe here
        return status
    except SystemExit as stop:  # argparse raises it after --help
        return stop.code if isinstance(stop.code, int) else 2
    except FORESEEN as error:
        return failed(error)
    except OverflowError:  # a damaged file may have counts whose sum overflows
        hint = "the file is damaged or was not written by seismo"
        return failed(SeismoError("the recording has impossibly large numbers", hint=hint))


def _note_slow_reading(verb: str) -> None:
    """Note once on stderr that recordings are read in plain Python, where the native core is not installed."""
    if verb not in ("completion", "doctor"):
        from seismo import _core

        note = getattr(_core, "NOTE", "") if str(_core.__file__).endswith(".py") else ""
        if note and sys.stderr is not None:
            print(f"seismo: {note}", file=sys.stderr)


def _progress(verb: str, args: Namespace) -> AbstractContextManager[None]:
    if verb in _LONG and not getattr(args, "live", False):  # a live report writes on the whole screen, and waits
        from seismo.cli.progress import shown

        return shown()
    from contextlib import nullcontext

    return nullcontext()


def show_every_name(stream: TextIO | _NoOutput) -> None:
    """Let the stream escape characters that its encoding lacks, because the program's names may use any script."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None and getattr(stream, "errors", "") == "strict":
        reconfigure(errors="backslashreplace")


class _NoOutput:
    """A stand-in for a closed standard output, which verbs without output, such as merge, do not need."""

    encoding = None

    def isatty(self) -> bool:
        return False

    def flush(self) -> None:
        pass

    def write(self, _text: str) -> int:
        raise SeismoError("there is no standard output", hint="it was closed already when the command began")


def _parser(verb: str, module: Any) -> Parser:
    from seismo.cli.parsing import Help, Parser

    parser = Parser(
        prog=f"seismo {verb}",
        description=(module.__doc__ or VERBS[verb]).strip(),
        formatter_class=Help,
        allow_abbrev=False,  # abbreviations could become ambiguous in later versions
    )
    module.add_arguments(parser)
    return parser


def _help(words: list[str]) -> int:
    if words and words[0] in VERBS:
        return _run(words[0], ["--help"])
    width = max(map(len, VERBS))
    verbs = "".join(f"  {verb:<{width}}  {summary}\n" for verb, summary in VERBS.items())
    return _print(
        "usage: seismo VERB [options] ...\n\n"
        "Records what a running Python program does, from the interpreter's own hooks.\n"
        "Calls are counted exactly, and times have a stated error.\n\n"
        f"{verbs}\n"
        "seismo VERB --help   shows the options of a verb\n"
        "seismo --version     shows the version of seismo\n\n"
        "To begin:  seismo profile script.py      records into script-PID.seismo\n"
        "           seismo report FILE.seismo     shows the recording\n"
    )


def _unknown(words: list[str]) -> int:
    import difflib
    import shlex

    verb = words[0]
    close = difflib.get_close_matches(verb, VERBS, 1)
    if close:
        hint = f"did you mean: seismo {close[0]}"
    elif verb.endswith((".seismo", ".pstats", ".prof")):
        hint = f"to look at a recording: seismo report {shlex.quote(verb)}"
    elif verb.endswith(".py") or verb in ("-m", "-c"):
        hint = f"to record a program: seismo profile {shlex.join(words)}"
    else:
        hint = f"the verbs are {', '.join(VERBS)}; see seismo --help"
    return failed(UsageError(f"there is no verb {verb!a}", hint=hint))


def _print(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        return failed(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
