"""Runs a program and records every call it makes.

The program runs as it does under python, with its own sys.argv, sys.path, __main__, stdin, output, exit status and
tracebacks. seismo writes the recording to NAME-PID.seismo in the current directory and a summary to stderr. Options
of seismo come before the program; everything after it belongs to the program.
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
            "which C functions to record; auto: all, except at call sites where they prove trivial (default; on 3.11 "
            "the default is none, because recording them makes every instruction slow there)",
            choices=("auto", "all", "none"),
        ),
        Option(
            "--clock",
            "clock",
            "the clock to read; every: time every call instead of a sample of the short ones",
            choices=("auto", "tsc", "monotonic", "every"),
        ),
        Option(
            "--source",
            "source",
            "the hook of the interpreter to use (default: see seismo doctor)",
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
