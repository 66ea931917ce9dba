"""Runs a program and records the birth and death of every object it makes.

The program runs as it would bare: its own sys.argv, sys.path, __main__, stdin, output, exit status and tracebacks.
The recording goes to NAME-PID.seismo in the current directory, a summary to stderr; seismo report shows which lines
make objects of which types, how long those live, and who holds what lives on. The options come before the program;
all that follows it is the program's.

    seismo objects app.py
    seismo objects --leaks app.handle app.py              what each call of handle leaves behind
    seismo objects --span 'call("app.parse")' app.py      made inside, dead inside, escaping

EXPR is an expression about functions (docs/expressions.md), or a function's name. Needs CPython 3.13.3 or newer.
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
    whole,
    write_summary,
)
from seismo.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.program import Given, Screen
    from seismo.record.run import Program

HOLDERS, HOLDERS_OF_LEAKS = 3, 5


def _some(name: str, text: str) -> int:
    """The value of an option that is a whole number, 0 too."""
    return 0 if text == "0" else whole(name, text)


VERB = Verb(
    "objects",
    "seismo objects [options] SCRIPT|-m MODULE|-c CODE|- [ARGS...]",
    __doc__ or "",
    (
        OUTPUT,
        QUIET,
        CHILDREN,
        Option("--types", "types", "count by type only: cheaper, without lines, lifetimes and survivors"),
        Option("--paths", "paths", "record the call tree beside, and objects by call path"),
        Option(
            "--leaks",
            "leaks",
            "tell what survives each call of these functions, and who holds it",
            metavar="EXPR",
        ),
        Option(
            "--span",
            "span",
            "tell what is made in calls of these functions, what of it dies inside and what escapes",
            metavar="EXPR",
        ),
        Option(
            "--holders",
            "holders",
            f"ask at the end who holds what lives on, of N types and lines; 0: do not ask (default: {HOLDERS}, with "
            f"--leaks {HOLDERS_OF_LEAKS})",
            metavar="N",
            read=_some,
        ),
        Option(
            "--max-live",
            "max_live",
            "keep a share of the living objects when they are more than that (default: 16000000)",
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
    from seismo.record.objects import life

    life.check_possible()
    return Recording(VERB, given, program, life.Life(), _settings(given, program), _summary)


def _settings(given: Given, program: Program) -> dict[str, object]:
    settings: dict[str, object] = {name: given[name] for name in ("max_live", "flush_ms") if name in given}
    if "leaks" in given and "span" in given:
        raise UsageError("--leaks and --span cannot both be", hint="--leaks tells what --span tells, and who holds it")
    text = given.get("leaks", given.get("span"))
    if given.get("types"):
        for name in ("paths", "leaks", "span", "holders", "max_live"):
            if name in given:
                option = "--" + name.replace("_", "-")
                raise UsageError(
                    f"{option} cannot be with --types", hint="--types knows neither lines nor living objects"
                )
        settings["objects"] = "types"
        return settings
    if given.get("paths"):
        settings["paths"] = 1
    if text is not None:
        settings["span"] = _span(text, program)
        settings["leaks"] = int("leaks" in given)
    settings["holders"] = given.get("holders", HOLDERS_OF_LEAKS if "leaks" in given else HOLDERS)
    return settings


def _span(text: str, program: Program) -> str:
    """The expression. A program's own module is meant by its name, although it runs as __main__."""
    from seismo.record.engine import spanned

    expression = spanned(text)
    if program.kind in ("code", "stdin"):
        return str(expression)
    name = program.what if program.kind == "module" else program.name
    return str(expression.with_main(name))


def _summary(path: str | bytes, screen: Screen) -> None:
    from seismo.report.objects.summary import write

    write_summary(path, screen, write)
