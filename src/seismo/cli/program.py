"""What the verbs that run a program share: their command line, the program's start, the recording's end.

    def settings(given, program):                   {"quiet": True, ...}
        return {"source": given["source"], ...}     what the recorder is started with

    VERB = RecordingVerb(kinds.CALLS, __doc__, (Option("--source", "source", "the hook to use"), ...), settings)
    main = VERB.run

A verb says its options as a table. The table is read by hand here, because argparse would take longer than all the
rest of the start; only --help hands it to argparse.
"""

from __future__ import annotations

import os
import sys

from seismo import kinds
from seismo.cli import options
from seismo.errors import RecordingError, SeismoError, UsageError, did_you_mean
from seismo.escape import COLOURS, wants_colour
from seismo.originals import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable
    from typing import Any, Protocol, TextIO

    from seismo.record.children import Life
    from seismo.record.gather import Taken
    from seismo.record.output import Output
    from seismo.record.run import Program

    Given = dict[str, Any]

    class Run(Protocol):
        """What a verb makes of its words."""

        def go(self) -> int:
            """Runs the program. Returns only when there is none; raises what it raises, or SystemExit at its end."""


# What may go wrong before the program begins. Later, what goes wrong is the program's.
FORESEEN = (SeismoError, OSError, MemoryError)


def failed(error: BaseException) -> int:
    """Says what failed on stderr and returns the exit status."""
    from seismo.cli.main import failed

    return failed(error)


# ---- the command line ----


class Option:
    """One option. names: its spellings, with blanks between. key: what it is called in what was given.

    Without metavar and choices it is a flag. read(name, text): the value of the text, by default the text itself.
    many: it may be given several times, and its value is the list. help: {NAME} in it is the default of that key.
    """

    __slots__ = ("_help", "choices", "key", "many", "metavar", "names", "read")

    def __init__(
        self,
        names: str,
        key: str,
        help: str,  # noqa: A002  as argparse names it
        *,
        metavar: str = "",
        choices: tuple[str, ...] = (),
        read: Callable[[str, str], object] | None = None,
        many: bool = False,
    ) -> None:
        self.names = names.split(" ")
        self.key = key
        self._help = help
        self.metavar = metavar
        self.choices = choices
        self.read = read
        self.many = many

    @property
    def help(self) -> str:
        """What help says of it."""
        return self._help.format_map(options.defaults()) if "{" in self._help else self._help

    @property
    def is_flag(self) -> bool:
        """Whether it takes no value."""
        return not self.metavar and not self.choices


OUTPUT = Option(
    "-o --output",
    "output",
    "write the recording to FILE; recordings of forked children are written next to it (default: NAME-PID.seismo)",
    metavar="FILE",
)
COLOR = Option("--color", "color", options.COLOR, metavar="WHEN", choices=COLOURS)
QUIET = Option("-q --quiet", "quiet", "do not print messages of seismo")
CHILDREN = Option("--children", "children", "also record the processes that the program starts, into the same file")


FLUSH = Option(
    "--flush",
    "flush_ms",
    "update the file at this interval while the program runs (default: {flush})",
    metavar="SECONDS",
    read=options.milliseconds,
)


class Verb:
    """A verb that runs a program. text: what --help says of it. before: what stands before the program, if anything.

    hint: what else the user may have meant when the script cannot be opened; {name} is the name that was given.
    """

    def __init__(
        self, name: str, usage: str, text: str, options: tuple[Option, ...], *, before: str = "", hint: str = ""
    ) -> None:
        self.name = name
        self.usage = usage
        self.text = text
        self.options = options
        self.before = before
        self.hint = hint

    def main(self, words: list[str], make: Callable[[Given, Program], Run]) -> int:
        """Runs what make(given, program) gives; what that raises is said here, as are bad words, and help.

        Returns only when there is no program to run; raises what the program raises, or SystemExit at its end.
        """
        try:
            given, program = self.read(words)
            if program is None:
                return self.help()
            made = make(given, program)
        except FORESEEN as error:
            return failed(error)
        return made.go()

    def read(self, words: list[str]) -> tuple[Given, Program | None]:
        """What the options say, by their keys, and the program; None: help is wanted. Raises UsageError.

        What stands before the program has the key "before".
        """
        from seismo.record.run import Program

        given: Given = {}
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word in ("-h", "--help"):
                return given, None
            if word in ("-m", "-c"):
                what = self._value(word, None, rest, empty=True)
                program = Program("module" if word == "-m" else "code", what, rest)
            elif word[:2] in ("-m", "-c") and word[2:3] not in ("", "-"):  # -mMODULE, as python takes it
                program = Program("module" if word[1] == "m" else "code", word[2:], rest)
            elif word == "-" and (not self.before or "before" in given):
                program = Program("stdin", word, rest)
            elif word.startswith("-") and word not in ("-", "--"):
                self._option(given, word, rest)
                continue
            elif self.before and "before" not in given and word and word != "--":
                given["before"] = word
                continue
            elif word == "--" and not rest:
                break
            else:
                program = Program("script", rest.pop(0) if word == "--" else word, rest)
            if self.before and "before" not in given:
                raise UsageError(f"{self.before} is missing: it must stand before the program", hint=self._usage)
            return given, program
        what = f"{self.before} and the program are" if self.before and "before" not in given else "the program is"
        missing = f"{what} missing"
        raise UsageError(missing, hint=self._usage)

    @property
    def _usage(self) -> str:
        return f"usage: {self.usage}"

    def _option(self, given: Given, word: str, rest: list[str]) -> None:
        """Takes in one option, and its value from the word or from the rest."""
        name, equals, text = word.partition("=")
        for option in self.options:
            if option.is_flag:
                if word in option.names:
                    given[option.key] = True
                    return
                continue
            short = option.names[0] if len(option.names[0]) == 2 else ""
            if name in option.names:
                value = self._value(name, text if equals else None, rest)
            elif short and word.startswith(short):
                name, value = short, word[2:]
            else:
                continue
            if option.choices:
                options.one_of(name, value, option.choices)
            known: object = value if option.read is None else option.read(name, value)
            if option.many:
                given.setdefault(option.key, []).append(known)
            else:
                given[option.key] = known
            return
        known = [name for option in self.options for name in option.names if name.startswith("--")]
        hint = (
            did_you_mean(name, [*known, "--help"])
            + f"options of the program must stand after the program; see: seismo {self.name} --help"
        )
        raise UsageError(f"seismo {self.name} has no option {name}", hint=hint)

    def _value(self, name: str, text: str | None, rest: list[str], empty: bool = False) -> str:
        if text is None:
            if not rest:
                raise UsageError(f"{name} needs a value", hint=self._usage)
            text = rest.pop(0)
        if not text and not empty:
            raise UsageError(f"the value of {name} is empty", hint=self._usage)
        return text

    def help(self) -> int:
        """Prints what --help says."""
        import argparse

        from seismo.cli.parsing import Help

        parser = argparse.ArgumentParser(
            prog=f"seismo {self.name}",
            usage=self.usage,
            description=self.text.strip(),
            formatter_class=Help,
        )
        self._declare(parser)
        parser.print_help()
        sys.stdout.flush()
        return 0

    def _declare(self, parser: ArgumentParser) -> None:
        for option in self.options:
            if option.is_flag:
                parser.add_argument(*option.names, action="store_true", help=option.help)
            else:
                choices = list(option.choices) or None
                parser.add_argument(*option.names, metavar=option.metavar or None, choices=choices, help=option.help)

    def check(self, program: Program) -> None:
        """Reads a program from stdin. Raises UsageError when it, or the script, cannot be read."""
        if program.kind == "stdin":
            try:
                program.read_stdin()
            except OSError as error:
                raise UsageError(f"cannot read the program from standard input: {error.strerror or error}") from None
        if program.kind != "script" or program.importable:
            return
        try:
            with open(program.what, "rb"):
                pass
        except OSError as error:
            hint = self.hint
            if not hint and all(part.isidentifier() for part in program.what.split(".")):
                hint = f"to run a module: seismo {self.name} -m MODULE"
            reason = error.strerror or str(error)
            raise UsageError(f"cannot open the script: {reason[0].lower()}{reason[1:]}", program.what, hint) from None


# ---- a program's run ----


def run(program: Program, begin: Callable[[], None], ended: Callable[[str], None], give_up: Callable[[], None]) -> int:
    """Runs the program: begin() last before its first instruction, ended(how) when its main module is through.

    Returns only when begin() raised a SeismoError, which is then said. What the program raises goes up, and so does a
    SystemExit of ours when it ran to its end: the launcher below us calls sys.exit with what we return, and that call
    would be recorded as the program's. give_up(): nothing of the program has run.
    """
    from seismo.record import run

    failure: list[SeismoError] = []
    began = False

    def first() -> None:
        nonlocal began
        try:
            begin()
        except SeismoError as error:
            failure.append(error)
            raise
        began = True

    try:
        run.run(program, first, ended)
    except SeismoError as error:
        if failure and error is failure[0]:
            sys.excepthook = sys.__excepthook__
            give_up()
            return failed(error)
        raise
    except BaseException as error:
        if not began or _never_ran(error):
            give_up()
        raise
    raise SystemExit(0)


def _never_ran(error: BaseException) -> bool:
    """Did runpy find no such module? It says so itself, with SystemExit, as `python -m` does."""
    context = error.__context__
    return isinstance(error, SystemExit) and type(context).__name__ == "_Error" and type(context).__module__ == "runpy"


def stderr_is_open() -> bool:
    """Whether the program has left stderr open. One that closed it wants nothing said there, though ours is open."""
    try:
        os.fstat(2)
        return sys.__stderr__ is not None and not sys.__stderr__.closed
    except OSError:
        return False


def is_terminal(fd: int) -> bool:
    """Whether the descriptor is a terminal's."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def current_folder() -> str:
    """Where the user is: to be asked before the program runs, which may go elsewhere. "": it is not there any more."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def shown_path(path: str, folder: str) -> str:
    """The path as the user would type it in the folder, for a shell."""
    from seismo.escape import shell_word

    if folder and path.startswith(folder.rstrip("/") + "/"):
        path = path[len(folder.rstrip("/")) + 1 :]
        path = f"./{path}" if path.startswith("-") else path
    return shell_word(path)


# ---- a program's recording ----


class Screen:
    """Where the user reads what is said at the end.

    fd: -1: nowhere. path: of the recording, for the user's shell. coloured: whether to write in colours.
    """

    def __init__(self, fd: int, path: str, coloured: bool) -> None:
        self.fd, self.path, self.coloured = fd, path, coloured

    def open(self) -> TextIO:
        """A stream of it."""
        return open(self.fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


def _summed_up(file: str | bytes, screen: Screen) -> None:
    """Writes the summary of the recording, a path or bytes."""
    from seismo.model import read
    from seismo.report.kind import of

    recording = read(file)
    with screen.open() as stream:
        of(recording).summary(recording, stream, screen.path, screen.coloured)


TOO_LARGE = 16 << 20  # bytes of a recording of many processes that the process does not read again to sum it up


def clock(what: str) -> Option:
    """The option that says how times are taken, of each `what`."""
    text = f"the clock to read (default: auto); every: time every {what} instead of a random sample of the short ones"
    return Option("--clock", "clock", text, choices=("auto", "tsc", "monotonic", "every"))


def source(*names: str) -> Option:
    """The option that names the hook."""
    text = "which of the interpreter's hooks to use (default: seismo doctor shows it)"
    return Option("--source", "source", text, choices=names)


def settings_of(given: Given, _program: Program | None = None) -> dict[str, object]:
    """What was given for the recorder. A clock that is read every time is a way of timing."""
    settings = {name: value for name, value in given.items() if name not in ("output", "quiet", "children", "color")}
    if settings.get("clock") == "every":
        settings["timing"] = settings.pop("clock")
    return settings


class RecordingVerb(Verb):
    """A verb that records: its name is the kind's, and it has the options that all of them have.

    kind: the name in files. name: the verb's, if it is not the one that the kind is known by. settings(given,
    program): what the recorder is started with, if that is not what was given; raises SeismoError.
    """

    def __init__(
        self,
        kind: str,
        text: str | None,
        options: tuple[Option, ...],
        settings: Callable[[Given, Program], dict[str, object]] = settings_of,
        name: str = "",
    ) -> None:
        name = name or kinds.KINDS[kind].verb
        usage = f"seismo {name} [options] SCRIPT|-m MODULE|-c CODE|- [ARGS...]"
        super().__init__(name, usage, text or "", (OUTPUT, QUIET, CHILDREN, *options, FLUSH, COLOR))
        self.kind, self.settings = kind, settings

    def run(self, words: list[str]) -> int:
        """Runs the program. Returns only when there is none to run; raises what it raises, or SystemExit at its end."""
        return self.main(words, self.make)

    def make(self, given: Given, program: Program) -> Recording:
        """The program, ready to run."""
        return Recording(self, given, program, self.settings(given, program))

    def life(self) -> Life:
        """What is started and stopped: by default the recorder of the kind."""
        life: Life = kinds.life(self.kind)
        return life


class Recording:
    """A program that is recorded into a file: all that can be checked is checked before it runs.

    given: what the options say; of it output, quiet and children are used here. settings: what the recorder is started
    with. summary(file, screen): writes about the recording, a path or bytes, when all has ended; it is
    called even when there is nowhere to write (screen.fd -1) if `always` is set. It may return an exit status, which
    the process has if the program itself ends with 0.
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
        """Raises SeismoError."""
        from seismo.record import children
        from seismo.record.output import SUFFIX, Output, out_of_the_way

        self.program, self.summary, self.always = program, summary, always
        self.life = verb.life()
        self.folder = current_folder()
        self.coloured = wants_colour(given.get("color", "auto"), is_terminal(2))
        children.abandon()
        verb.check(program)
        output = Output(given.get("output") or f"{program.name}-{os.getpid()}{SUFFIX}")
        try:
            folder = _folder(output) if given.get("children") else ""
        except SeismoError:
            output.discard()
            raise
        quiet = bool(given.get("quiet"))
        self.process = process = children.Process(output, settings, folder, quiet, self.life)
        self.stderr = -1
        if not quiet:
            try:
                self.stderr = out_of_the_way(os.dup(2))
                process.close_in_child.append(self.stderr)
            except OSError:
                pass  # there is no stderr: there will be no summary
        self.path = sys.path[1 if sys.path and not sys.flags.safe_path else 0 :]  # without the program's
        process.at_end, process.went_on, process.prepare = self._end, self._put_back, self._rehearse
        process.heir = bool(folder)
        self.taken: Taken | None = None

    def go(self) -> int:
        """Runs the program. Returns only when there is none; raises what it raises, or SystemExit at its end."""
        from seismo.record import engine, reach

        def begin() -> None:
            engine.hide_launcher()
            reach.subscribe(self.process)
            self.process.begin()

        def ended(how: str) -> None:
            self.process.exit = how

        return run(self.program, begin, ended, self._discard)

    def _discard(self) -> None:
        """Nothing ran: no recording."""
        process = self.process
        if process.begun and not process.done:
            self.life.stop()
        process.done = True
        if process.output is not None:
            process.output.discard()
        if process.parts:
            from seismo.record.children import remove_folder

            remove_folder(process.parts)

    def _put_back(self, output: Output) -> None:
        """The process did not become another."""
        if self.taken is not None:
            self.taken.put_back(self.process.parts)
            self.taken.give_place(output, self.life.move)

    def _rehearse(self) -> None:
        """Does what the end does, for nobody to see: whatever it loads is loaded now, and not before it is needed."""
        programs, sys.path = sys.path, self.path
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            if self.process.parts:
                from seismo.record import gather  # noqa: F401
            if self.stderr >= 0 or self.always:
                self.summary(self.life.snapshot(), Screen(nowhere, "", self.coloured))
        finally:
            sys.path = programs
            os.close(nowhere)

    def _end(self, output: Output) -> int:
        """After the recorder stopped: the file, the children's parts, the summary. Returns what the summary returns."""
        from seismo.record.output import say

        told = [output.finish(self.life)] if self.process.done else []  # else the process becomes another
        programs, sys.path = sys.path, self.path  # the program may have a json.py or a grp.py of its own beside it
        stderr = self.stderr if self.stderr >= 0 and stderr_is_open() else -1
        try:
            if self.process.parts and not os.path.isdir(self.process.parts):
                reason = "the recordings of child processes cannot be reached from here; to merge them, run"
                told.append(f"{reason}: seismo merge OUT {self.process.parts}/*")
            elif self.process.parts:
                from seismo.record import gather

                self.taken = self.taken or gather.Taken()
                told += gather.gather(output.path, self.process.parts, self.taken, not self.process.done)
                if not self.process.done:
                    told.append("the program becomes another (exec): if that is Python, its end adds what it does")
            for line in told:
                if line and stderr >= 0:
                    say(line, stderr)
            screen = Screen(stderr, shown_path(output.path, self.folder), self.coloured)
            there = os.path.exists(output.path)  # else the program has changed its root
            if self.process.parts and there and os.path.getsize(output.path) > TOO_LARGE and not self.always:
                say(
                    f"the recording has too many processes for a summary; seismo report {screen.path}   shows them",
                    stderr,
                )
            elif stderr >= 0 or self.always:
                return self.summary(output.path if there else self.life.snapshot(), screen) or 0
        except Exception as error:  # noqa: BLE001  the program has ended well: so do we
            if stderr >= 0:
                say(f"the summary cannot be shown: {type(error).__name__}: {error}", stderr)
        finally:
            sys.path = programs
        return 0


def _folder(output: Output) -> str:
    """The folder for the children's parts. Leftovers of an earlier run into the same file go with that file."""
    from seismo.record.children import PARTS, make_folder
    from seismo.record.hook.mark import MARK

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
