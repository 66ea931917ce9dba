"""Runs a program and times its lines: how often each line ran, and how long it and the functions it called took.

The program runs as it does under python, with its own sys.argv, sys.path, __main__, stdin, output, exit status and
tracebacks. seismo writes the recording to NAME-PID.seismo in the current directory and a summary to stderr; seismo
report shows the times next to the source. Without --only, all functions are timed. Options of seismo come before
the program; everything after it belongs to the program.
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
    write_summary,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.program import Given, Screen
    from seismo.record.run import Program

_SETTINGS = ("source", "clock", "timing", "where", "opcodes", "flush_ms")

VERB = Verb(
    "lines",
    "seismo lines [options] SCRIPT|-m MODULE|-c CODE|- [ARGS...]",
    __doc__ or "",
    (
        OUTPUT,
        QUIET,
        CHILDREN,
        Option(
            "--only",
            "only",
            "time only functions of this module, name or file: a glob, or a name that stands for everything inside; "
            "may be given several times",
            metavar="GLOB",
            many=True,
        ),
        Option(
            "--where",
            "where",
            "time only functions for which the expression is true, such as 'file(\"app/*\")' (see docs/expressions.md)",
            metavar="EXPR",
        ),
        Option("--opcodes", "opcodes", "also count the instructions of each line"),
        Option(
            "--clock",
            "clock",
            "the clock to read; every: time every stretch of a line instead of a sample of the short ones",
            choices=("auto", "tsc", "monotonic", "every"),
        ),
        Option(
            "--source",
            "source",
            "the hook of the interpreter to use (default: see seismo doctor)",
            choices=("monitoring", "tracefunc"),
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
    if given.get("opcodes"):
        given["opcodes"] = 1
    if "only" in given or "where" in given:
        from seismo.record.choice import chosen

        given["where"] = chosen(given.get("only", ()), given.get("where"))
    settings = {name: given[name] for name in given if name in _SETTINGS}
    return Recording(VERB, given, program, engine.Life("linetimes"), settings, _summary)


def _summary(path: str | bytes, screen: Screen) -> None:
    from seismo.report.lines.summary import write

    write_summary(path, screen, write)
