"""Runs a program and records every call it makes.

The program runs as it would bare: its own sys.argv, sys.path, __main__, stdin, output, exit status and tracebacks.
The recording goes to NAME-PID.seismo in the current directory, a summary to stderr. The options come before the
program; all that follows it is the program's.
"""

from __future__ import annotations

import os
import sys

from seismo.errors import RecordingError, SeismoError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from seismo.record.children import Process
    from seismo.record.output import Output
    from seismo.record.run import Program

USAGE = "seismo profile [options] SCRIPT|-m MODULE|-c CODE [ARGS...]"


class Options:
    """What the words before the program say."""

    __slots__ = ("children", "output", "quiet", "settings")

    def __init__(self) -> None:
        self.output = ""
        self.quiet = False
        self.children = False
        self.settings: dict[str, object] = {}


def main(words: list[str]) -> int:
    """Runs the program. Returns only when there is none to run or the program ran to its end; raises what it raises."""
    try:
        options, program = parse(words)
        if program is None:
            return _help()
        process = _prepare(options, program)
    except (SeismoError, OSError, MemoryError) as error:
        return _failed(error)
    return _run(process, program)


def _failed(error: BaseException) -> int:
    from seismo.cli.main import failed

    return failed(error)


# ---- the command line: read by hand, argparse would take longer than the rest of the start ----


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
            if not rest:
                raise UsageError(f"{word} needs a value", hint=f"usage: {USAGE}")
            what = rest.pop(0)  # may be empty
            return options, Program("module" if word == "-m" else "code", what, rest)
        if word[:2] in ("-m", "-c") and word[2:3] not in ("", "-"):  # -mMODULE, as python takes it
            return options, Program("module" if word[1] == "m" else "code", word[2:], rest)
        if word == "--":
            if not rest:
                break
            word = rest.pop(0)
        elif word.startswith("-"):
            _option(options, word, rest)
            continue
        return options, Program("script", word, rest)
    raise UsageError("which program?", hint=f"usage: {USAGE}")


def _option(options: Options, word: str, rest: list[str]) -> None:
    """Takes in one option, and its value from the word or from the rest."""
    name, equals, given = word.partition("=")
    text = given if equals else None
    settings = options.settings
    if word in ("-q", "--quiet"):
        options.quiet = True
    elif word == "--children":
        options.children = True
    elif name in ("-o", "--output"):
        options.output = _value(name, text, rest)
    elif word.startswith("-o"):
        options.output = word[2:]
    elif name == "--c-functions":
        settings["c_functions"] = _choice(name, _value(name, text, rest), ("all", "none", "auto"))
    elif name == "--source":
        settings["source"] = _choice(name, _value(name, text, rest), ("monitoring", "profilefunc", "evalframe"))
    elif name == "--clock":
        value = _choice(name, _value(name, text, rest), ("auto", "tsc", "monotonic", "every"))
        settings["timing" if value == "every" else "clock"] = value
    elif name == "--where":
        from seismo.record.engine import narrowed

        settings["where"] = str(narrowed(_value(name, text, rest)))
    elif name == "--max-paths":
        settings["max_paths"] = int(_number(name, _value(name, text, rest)))
    elif name == "--flush":
        settings["flush_ms"] = max(1, round(_number(name, _value(name, text, rest)) * 1000))
    else:
        raise UsageError(f"seismo profile has no option {name}", hint="the program's own options come after it: --help")


def _value(name: str, text: str | None, rest: list[str]) -> str:
    if text is None:
        if not rest:
            raise UsageError(f"{name} needs a value", hint=f"usage: {USAGE}")
        text = rest.pop(0)
    if not text:
        raise UsageError(f"{name} needs a value that is not empty", hint=f"usage: {USAGE}")
    return text


def _choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UsageError(f"{name} cannot be {value!a}", hint=f"it is one of {', '.join(allowed)}")
    return value


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e12:
        raise UsageError(f"{name} cannot be {value!a}", hint="it is a number above 0")
    return number


def _help() -> int:
    import argparse

    parser = argparse.ArgumentParser(
        prog="seismo profile",
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
    add(
        "-o",
        "--output",
        metavar="FILE",
        help="the recording; forked children's are beside it (default: NAME-PID.seismo)",
    )
    add("-q", "--quiet", action="store_true", help="print nothing of seismo's own")
    add("--children", action="store_true", help="record the processes that the program starts too, all in one file")
    add(
        "--c-functions",
        choices=("auto", "all", "none"),
        help="auto (default): all but trivial ones, at the places where they prove so",
    )
    add(
        "--clock",
        choices=("auto", "tsc", "monotonic", "every"),
        help="every: time every call, not a sample of the short ones",
    )
    add(
        "--source",
        choices=("monitoring", "profilefunc", "evalframe"),
        help="the interpreter's hook to use (default: see seismo doctor)",
    )
    add(
        "--where",
        metavar="EXPR",
        help="record only functions for which the expression is true, such as 'module(\"app.*\")' "
        "(see docs/expressions.md); the time of the others belongs to their callers",
    )
    add("--max-paths", metavar="N", help="fold call paths beyond that many (default: 1000000)")
    add("--flush", metavar="SECONDS", help="how often the file is brought up to date (default: 1)")


# ---- making ready ----


def _prepare(options: Options, program: Program) -> Process:
    """Checks all that can be checked before the program runs. Raises SeismoError."""
    from seismo.record import children
    from seismo.record.output import SUFFIX, Output, out_of_the_way

    children.abandon()
    _check(program)
    output = Output(options.output or f"{program.name}-{os.getpid()}{SUFFIX}")
    try:
        folder = _folder(output) if options.children else ""
    except SeismoError:
        output.discard()
        raise
    process = children.Process(output, options.settings, folder, options.quiet)
    stderr = -1
    if not options.quiet:
        try:
            stderr = out_of_the_way(os.dup(2))
            process.close_in_child.append(stderr)
        except OSError:
            pass  # there is no stderr: there will be no summary
    path = sys.path[1 if sys.path and not sys.flags.safe_path else 0 :]
    process.at_end = lambda output: _end(process, output, stderr, path)
    return process


def _check(program: Program) -> None:
    if program.kind != "script" or program.importable:
        return
    try:
        with open(program.what, "rb"):
            pass
    except OSError as error:
        hint = "to record a module: seismo profile -m MODULE" if _is_module_name(program.what) else ""
        reason = error.strerror or str(error)
        raise UsageError(f"cannot open the script: {reason[0].lower()}{reason[1:]}", program.what, hint) from None


def _is_module_name(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _folder(output: Output) -> str:
    """The folder for the children's parts. Leftovers of an earlier run into the same file go with that file."""
    folder = f"{output.path}.parts"
    if not os.path.isfile(output.path):
        raise RecordingError("--children needs a recording that is a plain file", output.path, "name another with -o")
    try:
        if os.path.isdir(folder):
            for name in os.listdir(folder):
                if name.endswith(".seismo"):
                    os.unlink(os.path.join(folder, name))
        else:
            os.mkdir(folder, 0o700)
    except OSError as error:
        raise RecordingError(f"cannot make the folder of the children: {error.strerror}", folder) from None
    return folder


# ---- running, and the end ----


def _run(process: Process, program: Program) -> int:
    from seismo.record import children, run

    failed: list[SeismoError] = []

    def begin() -> None:
        children.wrap_exits(process)
        if process.parts:
            children.wrap_starts(process)
        try:
            process.begin()
        except SeismoError as error:
            failed.append(error)
            raise

    def ended(how: str) -> None:
        process.exit = how

    try:
        run.run(program, begin, ended)
    except SeismoError as error:
        if failed and error is failed[0]:
            sys.excepthook = sys.__excepthook__
            _discard(process)
            return _failed(error)
        raise
    except BaseException as error:
        if not process.begun or _never_ran(error):
            _discard(process)
        raise
    return 0


def _discard(process: Process) -> None:
    """Nothing ran: no recording."""
    from seismo.record import engine

    if process.begun and not process.done:
        engine.stop()
    process.done = True
    if process.output is not None:
        process.output.discard()
    if process.parts:
        try:  # noqa: SIM105  contextlib would import collections
            os.rmdir(process.parts)
        except OSError:
            pass


def _never_ran(error: BaseException) -> bool:
    """Did runpy find no such module? It says so itself, with SystemExit, as `python -m` does."""
    context = error.__context__
    return isinstance(error, SystemExit) and type(context).__name__ == "_Error" and type(context).__module__ == "runpy"


def _end(process: Process, output: Output, stderr: int, path: list[str]) -> None:
    """After the engine stopped: the file, the children's parts, the summary. path: sys.path without the program's."""
    from seismo.record import children
    from seismo.record.output import say

    told = [output.finish()]
    programs, sys.path = sys.path, path  # the program may have a json.py or a grp.py of its own beside it
    try:
        if process.parts:
            told += children.gather(output, process.parts)
        if stderr < 0 or not _stderr_is_open():
            return
        for line in told:
            if line:
                say(line, stderr)
        _summary(output.path, stderr)
    except Exception as error:  # noqa: BLE001  the program has ended well: so do we
        if stderr >= 0:
            say(f"no summary: {type(error).__name__}: {error}", stderr)
    finally:
        sys.path = programs


def _stderr_is_open() -> bool:
    """A program that closed its stderr wants nothing said there, though ours is still open."""
    try:
        os.fstat(2)
        return sys.__stderr__ is not None and not sys.__stderr__.closed
    except OSError:
        return False


def _summary(path: str, fd: int) -> None:
    from seismo.model import read
    from seismo.report.summary import write

    with open(fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False) as stream:
        write(read(path), stream, _short(path))


def _short(path: str) -> str:
    """The path as the user would type it from here."""
    try:
        folder = os.getcwd()
    except OSError:
        return path
    return path[len(folder) + 1 :] if path.startswith(folder + "/") else path
