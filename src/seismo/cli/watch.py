"""Runs a program and shows the events that match an expression, as they happen.

    seismo watch 'call and module("app.db") and duration > 50ms' app.py
    seismo watch 'raise and exception("KeyError")' --stack -m pytest tests/
    seismo watch 'call("app.*.save")' --args --returns app.py
    seismo watch 'line("app/pay.py", 120)' --vars app.py

The program runs as it would bare; its threads, generators and asyncio tasks are watched with it. The options come
between the expression and the program; all that follows the program is the program's. What is shown goes to stderr,
and a summary at the end says how much matched.
"""

from __future__ import annotations

import os
import sys

from seismo.errors import SeismoError, UsageError
from seismo.escape import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any, TextIO

    from seismo.record.run import Program
    from seismo.watching.watch import Watch

USAGE = "seismo watch EXPRESSION [options] SCRIPT|-m MODULE|-c CODE [ARGS...]"

_FLAGS = {
    "--args": "args",
    "--returns": "returns",
    "--vars": "vars",
    "--stack": "stack",
    "--count": "count",
    "--histogram": "histogram",
    "--pdb": "pdb",
    "--repr": "repr",
    "--show-secrets": "show_secrets",
}
_VALUES = {"--limit", "--json", "--output", "-o", "--record", "--call", "--color"}


class Options:
    """What the words before the program say."""

    __slots__ = ("call", "expression", "output", "quiet", "settings")

    def __init__(self) -> None:
        self.expression = ""
        self.output = ""
        self.call = ""
        self.quiet = False
        self.settings: dict[str, Any] = {}


def main(words: list[str]) -> int:
    """Runs the program. Returns only when there is none to run or the program ran to its end; raises what it raises."""
    try:
        options, program = parse(words)
        if program is None:
            return _help()
        run = _Run(options, program)
    except (SeismoError, OSError, MemoryError) as error:
        return _failed(error)
    return run.go()


def _failed(error: BaseException) -> int:
    from seismo.cli.main import failed

    return failed(error)


# ---- the command line: read by hand, as that of `seismo profile` is ----


def parse(words: list[str]) -> tuple[Options, Program | None]:
    """The options and the program; None: help is wanted. Raises UsageError."""
    from seismo.record.run import Program

    options = Options()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            return options, None
        if word in ("-m", "-c"):
            what = _value(word, None, rest, empty=True)
            program = Program("module" if word == "-m" else "code", what, rest)
        elif word[:2] in ("-m", "-c") and word[2:3] not in ("", "-"):  # -mMODULE, as python takes it
            program = Program("module" if word[1] == "m" else "code", word[2:], rest)
        elif word.startswith("-") and word not in ("-", "--"):
            _option(options, word, rest)
            continue
        elif not options.expression and word != "--":
            options.expression = word
            continue
        elif word == "--" and not rest:
            break
        else:
            program = Program("script", rest.pop(0) if word == "--" else word, rest)
        if not options.expression:
            raise UsageError("watch what? An expression comes before the program", hint=f"usage: {USAGE}")
        return options, program
    missing = "which program?" if options.expression else "watch what, in which program?"
    raise UsageError(missing, hint=f"usage: {USAGE}")


def _option(options: Options, word: str, rest: list[str]) -> None:
    """Takes in one option, and its value from the word or from the rest."""
    name, equals, given = word.partition("=")
    settings = options.settings
    if word in ("-q", "--quiet"):
        options.quiet = True
    elif word in _FLAGS:
        settings[_FLAGS[word]] = True
    elif name in _VALUES or word.startswith("-o"):
        if name not in _VALUES:
            name, equals, given = "-o", "=", word[2:]
        value = _value(name, given if equals else None, rest)
        if name == "--limit":
            settings["limit"] = _number(name, value)
        elif name == "--call":
            options.call = _function_name(value)
        elif name in ("--color", "--record"):
            settings[name[2:]] = value
        else:
            settings["json"] = name == "--json" or bool(settings.get("json"))
            options.output = value
    else:
        raise UsageError(f"seismo watch has no option {name}", hint="the program's own options come after it: --help")


def _value(name: str, text: str | None, rest: list[str], empty: bool = False) -> str:
    if text is None:
        if not rest:
            raise UsageError(f"{name} needs a value", hint=f"usage: {USAGE}")
        text = rest.pop(0)
    if not text and not empty:
        raise UsageError(f"{name} needs a value that is not empty", hint=f"usage: {USAGE}")
    return text


def _number(name: str, value: str) -> int:
    if not (value.isdecimal() and 0 < len(value) < 19 and int(value) > 0):
        raise UsageError(f"{name} cannot be {value!a}", hint="it is a whole number above 0")
    return int(value)


def _function_name(value: str) -> str:
    module, colon, function = value.partition(":")
    if not (colon and all(part.isidentifier() for part in (*module.split("."), *function.split(".")))):
        raise UsageError(f"--call cannot be {value!a}", hint="it is MODULE:FUNCTION, such as checks:on_save")
    return value


def _help() -> int:
    import argparse

    parser = argparse.ArgumentParser(
        prog="seismo watch",
        usage=USAGE,
        description=(__doc__ or "").strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    parser.print_help()
    sys.stdout.flush()
    return 0


def add_arguments(parser: ArgumentParser) -> None:
    """The options, for --help and for the documentation's tests. `parse` is what reads them."""
    add = parser.add_argument
    add("--args", action="store_true", help="show the arguments of calls")
    add("--returns", action="store_true", help="show what calls return or raise, and how long they took")
    add("--vars", action="store_true", help="show local variables: at a line, and line by line in matched calls")
    add("--stack", action="store_true", help="show who called")
    add("--count", action="store_true", help="count matches by function, and show the table at the end")
    add("--histogram", action="store_true", help="show at the end how the durations of matched calls are spread")
    add("--pdb", action="store_true", help="open the debugger at each match; quit takes the watch out")
    add("--call", metavar="MODULE:FUNCTION", help="call that function with each match")
    add("--limit", metavar="N", help="stop watching after N matches")
    add("--json", metavar="FILE", help="write JSON lines to FILE (-: stdout) instead of text to stderr")
    add("-o", "--output", metavar="FILE", help="write to FILE instead of stderr")
    add("--record", metavar="FILE", help="write a recording of what matched, for seismo report, export and diff")
    add("--repr", action="store_true", help="show objects by the program's own __repr__: runs its code")
    add("--show-secrets", action="store_true", help="show values whose names look secret (password, token ...)")
    add("--color", choices=("auto", "always", "never"), help="colours: auto (default) is on a terminal only")
    add("-q", "--quiet", action="store_true", help="no summary at the end")


# ---- running, and the end ----


class _Run:
    """One run of a program under a watch. finish() is what record.children calls when the program ends early."""

    def __init__(self, options: Options, program: Program) -> None:
        """Checks all that can be checked before the program runs, and loads all that is needed. Raises SeismoError."""
        from seismo.watching import hints, source
        from seismo.watching.watch import Watch

        self.hints = hints  # now: the program may have modules of the same names
        self.program, self.quiet, self.call = program, options.quiet, options.call
        self.pid = os.getpid()
        self.done = self.began = False
        _check(program)
        self.stderr = _private(2)
        self.stream = _open(options.output) if options.output else self.stderr
        if options.settings.get("pdb"):
            import pdb  # noqa: F401  for the same reason
        action = _Late() if options.call else None
        settings = {**options.settings, "output": self.stream}
        if settings.get("color", "auto") == "auto" and not options.output and _is_terminal(2):
            settings["color"] = "never" if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else "always"
        self.action = action
        actions: Any = [action] if action is not None else []
        if options.output and (actions or "record" in settings):
            actions.append("print")
        self.watch: Watch = Watch(options.expression, actions, **settings)
        if program.kind == "code":
            source.give("<string>", program.what)

    def go(self) -> int:
        """Runs the program."""
        from seismo.record import children, run

        failed: list[SeismoError] = []

        def begin() -> None:
            import atexit

            try:
                if self.action is not None:
                    self.action.load(self.call)
                atexit.register(self.finish)  # first to be registered, last to run
                children.wrap_exits(self)  # type: ignore[arg-type]  # all it needs is finish()
                self.watch.below = _frames_below()
                self.watch.__enter__()
                self.began = True
            except SeismoError as error:
                failed.append(error)
                raise

        try:
            run.run(self.program, begin, lambda _how: None)
        except SeismoError as error:
            if failed and error is failed[0]:
                sys.excepthook = sys.__excepthook__
                self.done = True
                return _failed(error)
            raise
        return 0

    parts = ""  # of record.children.Process

    def finish(self, _how: str | None = None) -> None:
        """Ends the watch: once, and never raises. In a forked child its tables are not told."""
        if self.done or not self.began:
            return
        self.done = True
        try:
            self.watch.__exit__(None, None, None)
            if self.pid == os.getpid():
                self._tell()
            for stream in {id(self.stream): self.stream, id(self.stderr): self.stderr}.values():
                if stream is not None:
                    stream.flush()
        except Exception:  # noqa: BLE001  the program has ended well: so do we
            return

    def _tell(self) -> None:
        if self.stderr is None or not _stderr_is_open():
            return
        lines = self.watch.report()
        if not self.quiet:
            lines += [f"seismo: {line}" for line in self.hints.summary(self.watch)]
        if self.watch.unwritten:
            lines.append(f"seismo: {printable(self.watch.unwritten)}")
        elif self.watch.file is not None and not self.quiet:
            lines.append(f"seismo report {printable(os.path.relpath(self.watch.file.path))}   shows the recording")
        self.stderr.write("".join(line + "\n" for line in lines))


def _frames_below() -> int:
    """How many frames are under the program's first one: those up to record.run.run, which called us."""
    frame = sys._getframe(2)
    depth = 1
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


class _Late:
    """The function of --call: the program's folder is on the path only when the program begins."""

    def __init__(self) -> None:
        self.function: Any = None

    def load(self, name: str) -> None:
        module, _, path = name.partition(":")
        try:
            found: Any = __import__(module, fromlist=["_"])
            for part in path.split("."):
                found = getattr(found, part)
        except Exception as error:  # noqa: BLE001  whatever an import of the user's runs into
            hint = "MODULE is looked for where the program's own modules are"
            raise UsageError(
                f"cannot load the action: {type(error).__name__}: {error}", f"--call {name}", hint
            ) from None
        if not callable(found):
            raise UsageError(f"the action is a {type(found).__name__}: it cannot be called", f"--call {name}")
        self.function = found

    def __call__(self, match: object) -> None:
        self.function(match)


def _check(program: Program) -> None:
    if program.kind != "script" or program.importable:
        return
    try:
        with open(program.what, "rb"):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "the expression comes first, then the options, then the program"
        raise UsageError(f"cannot open the script: {reason[0].lower()}{reason[1:]}", program.what, hint) from None


def _private(fd: int) -> TextIO | None:
    """A stream of our own on that descriptor's file, which the program may close or exchange. None: there is none."""
    from seismo.record.output import out_of_the_way

    try:
        number = out_of_the_way(os.dup(fd))
        return open(number, "w", encoding=_encoding(), errors="backslashreplace", closefd=False)
    except OSError:
        return None


def _encoding() -> str:
    stream = sys.__stderr__
    return (stream.encoding if stream is not None else "") or "utf-8"


def _open(name: str) -> TextIO | None:
    from seismo.record.output import out_of_the_way

    if name == "-":
        return _private(1)
    try:
        fd = out_of_the_way(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666))
    except OSError as error:
        raise SeismoError(f"cannot write the output: {error.strerror or error}", name) from None
    return open(fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False


def _stderr_is_open() -> bool:
    """A program that closed its stderr wants nothing said there, though ours is still open."""
    try:
        os.fstat(2)
        return True
    except OSError:
        return False
