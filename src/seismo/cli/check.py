"""Counts what a program does, and compares it with what it did before.

A check counts calls, executed lines, and on Python 3.13.3 or newer objects. These numbers are the same in each run of
the same program, so a check does not flake. If one has grown, the check names the function that does more.

  seismo check --against main app.py   compare with another revision of git
  seismo check --update app.py         keep the counts in seismo-check.txt
  seismo check app.py                  compare with this file
  seismo check --limit 'calls("app.*") <= +1%' --against main -m app

Exit status: 0 within all limits, 1 beyond one of them, 2 could not be measured or decided.

A limit is [each|test] QUANTITY[("PATTERN")] <= AMOUNT. QUANTITY is calls, lines, exceptions, births, bytes or depth.
PATTERN selects functions as module:name. AMOUNT is +1%, +10, both, or a number without a sign. `each` applies the limit
to every function, not to their sum. --limit replaces the default limits: calls, lines and births <= +1%, bytes <= +2%.

The program runs several times without standard input and with PYTHONHASHSEED=0. Its output is shown once. Numbers that
differ between runs get a band, or are left out and listed.
"""

from __future__ import annotations

import sys

from seismo.cli.failures import FORESEEN, failed
from seismo.cli.options import Option, number, one_of, settings, whole
from seismo.cli.verb import Verb, require_core
from seismo.errors import UsageError

BASELINE = "seismo-check.txt"
FORMATS = ("text", "markdown", "github", "junit", "json")
TIME_LIMIT = 10.0  # limit for --time in percent


def _format(name: str, text: str) -> tuple[str, str]:
    kind, _, path = text.partition("=")
    return one_of(name, kind, FORMATS), path


OPTIONS = (
    Option(
        "--against",
        "compare with this revision of git (a branch, a tag, a commit), or with this file of --update "
        f"(default: {BASELINE})",
        metavar="REV|FILE",
    ),
    Option("--update", f"write the counts to the file of --against, or to {BASELINE}"),
    Option("--limit", "what is allowed; may be given several times", metavar="LIMIT", many=True),
    *settings("check", "build"),
    Option(
        "--sizes",
        "run the program with these sizes of its input, and report what grows faster than the input: N in 'n=N,N,N' "
        "replaces {{n}} in the program's arguments, and is its environment variable n",
        metavar="SIZES",
    ),
    Option("--time", f"also compare the CPU time of bare runs; the limit is +{TIME_LIMIT:g} %%"),
    Option("--time-limit", "as --time, with this limit in percent", metavar="N", read=number),
    Option("--runs", "count calls and lines in N runs of each side (default: 2)", metavar="N", read=whole),
    Option(
        "--lines",
        "whose lines to count: own (default), without the standard library and installed packages, or all, which takes "
        "longer",
        metavar="own|all",
        choices=("own", "all"),
    ),
    *settings("check", "no_objects", "tolerate"),
    Option(
        "--format",
        f"how to write the result: {', '.join(FORMATS)}; =FILE writes to a file; may be given several times",
        metavar="NAME[=FILE]",
        read=_format,
        many=True,
    ),
    Option("-q --quiet", "show neither the program's output nor the progress of seismo"),
)


VERB = Verb("check", "seismo check [options] SCRIPT|-m MODULE|-c CODE [ARGS...]", __doc__ or "", OPTIONS)


def main(words: list[str]) -> int:
    """Run the check and return its exit status."""
    if words[:1] == ["--counted"]:
        from seismo.cli import check_child

        return check_child.main(words[1:])
    try:
        given, program = VERB.read(words)
        if program is None:
            return VERB.help()
        require_core()
        if program.kind == "stdin":
            raise UsageError(
                "a check runs the program several times, so it cannot be read from standard input", hint="name a file"
            )
        from seismo.cli.check_run import CheckRun

        return CheckRun(given, program).run()
    except FORESEEN as error:
        output = getattr(error, "output", b"")
        if output:
            sys.stderr.flush()
            sys.stderr.buffer.write(output)
            sys.stderr.buffer.flush()
        return failed(error)
