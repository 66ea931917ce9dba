"""Runs a program and records every call it makes.

The program runs as it would bare: its own sys.argv, sys.path, __main__, stdin, output, exit status and tracebacks.
The recording goes to NAME-PID.seismo in the current directory, a summary to stderr. The options come before the
program; all that follows it is the program's.
"""

from __future__ import annotations

from seismo.cli.program import (
    CHILDREN,
    COLOR,
    FLUSH,
    OUTPUT,
    QUIET,
    Option,
    Recording,
    Verb,
    number,
    write_summary,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.program import Given, Screen
    from seismo.record.run import Program

_SETTINGS = ("source", "c_functions", "clock", "timing", "where", "max_paths", "flush_ms")


def _where(_name: str, text: str) -> str:
    from seismo.record.engine import narrowed

    return str(narrowed(text))


VERB = Verb(
    "profile",
    "seismo profile [options] SCRIPT|-m MODULE|-c CODE|- [ARGS...]",
    __doc__ or "",
    (
        OUTPUT,
        QUIET,
        CHILDREN,
        Option(
            "--c-functions",
            "c_functions",
            "auto (default): all but trivial ones, at the places where they prove so; on 3.11 none, "
            "since recording them makes every instruction slow there",
            choices=("auto", "all", "none"),
        ),
        Option(
            "--clock",
            "clock",
            "every: time every call, not a sample of the short ones",
            choices=("auto", "tsc", "monotonic", "every"),
        ),
        Option(
            "--source",
            "source",
            "the interpreter's hook to use (default: see seismo doctor)",
            choices=("monitoring", "profilefunc", "evalframe"),
        ),
        Option(
            "--where",
            "where",
            "record only functions for which the expression is true, such as 'module(\"app.*\")' "
            "(see docs/expressions.md); the time of the others belongs to their callers",
            metavar="EXPR",
            read=_where,
        ),
        Option(
            "--max-paths",
            "max_paths",
            "fold call paths beyond that many (default: 1000000)",
            metavar="N",
            read=lambda name, text: int(number(name, text)),
        ),
        FLUSH,
        COLOR,
    ),
)


def main(words: list[str]) -> int:
    """Runs the program. Returns only when there is none to run; raises what it raises, or SystemExit at its end."""
    return VERB.main(words, _make)


def _make(given: Given, program: Program) -> Recording:
    from seismo.record import engine

    if given.get("clock") == "every":
        given["timing"] = given.pop("clock")
    settings = {name: given[name] for name in given if name in _SETTINGS}
    return Recording(VERB, given, program, engine.Life(), settings, _summary)


def _summary(path: str | bytes, screen: Screen) -> None:
    from seismo.report.calls.summary import write

    write_summary(path, screen, write)
