"""Runs a program and records every call it makes."""

from __future__ import annotations

from seismo import kinds
from seismo.cli.options import of_a_program, whole
from seismo.cli.program import Option, RecordingVerb, clock, source


def _where(_name: str, text: str) -> str:
    from seismo.record.engine import narrowed

    return str(narrowed(text))


OPTIONS = (
    Option(
        "--c-functions",
        "c_functions",
        "which C functions to record; auto: all of them, except at call sites where they prove to be trivial. The "
        "default is auto; on Python 3.11 it is none, because recording them slows down every instruction there",
        choices=("auto", "all", "none"),
    ),
    clock("call"),
    source("monitoring", "profilefunc", "evalframe"),
    Option(
        "--where",
        "where",
        "record only functions for which the expression is true, such as 'module(\"app.*\")' "
        "(see docs/expressions.md); the time of all other functions counts as time of their callers",
        metavar="EXPR",
        read=_where,
    ),
    Option(
        "--max-paths",
        "max_paths",
        "record at most N call paths; calls on further paths are counted by function only (default: {max_paths})",
        metavar="N",
        read=whole,
    ),
)

VERB = RecordingVerb(kinds.CALLS, of_a_program(__doc__), OPTIONS)
main = VERB.run
