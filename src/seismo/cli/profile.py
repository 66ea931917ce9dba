"""Runs a program and records every call it makes.

The program runs as it does under python, with its own sys.argv, sys.path, __main__, stdin, output, exit status and
tracebacks. seismo writes the recording to NAME-PID.seismo in the current directory and a summary to stderr. Options
of seismo come before the program; everything after it belongs to the program.
"""

from __future__ import annotations

from seismo import kinds
from seismo.cli.program import Option, RecordingVerb, clock, number, source


def _where(_name: str, text: str) -> str:
    from seismo.record.engine import narrowed

    return str(narrowed(text))


VERB = RecordingVerb(
    kinds.CALLS,
    __doc__,
    (
        Option(
            "--c-functions",
            "c_functions",
            "which C functions to record; auto: all, except at call sites where they prove trivial (default; on 3.11 "
            "the default is none, because recording them makes every instruction slow there)",
            choices=("auto", "all", "none"),
        ),
        clock("call"),
        source("monitoring", "profilefunc", "evalframe"),
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
    ),
)
main = VERB.run
