"""Runs a program and records the birth and death of every object it makes.

seismo report shows which lines make objects of which types, how long these live, and who holds those that stay alive.

    seismo objects app.py
    seismo objects --leaks app.handle app.py              show what each call of handle leaves behind
    seismo objects --span 'call("app.parse")' app.py      show what is made, dies inside, and escapes

EXPR is an expression about functions (docs/expressions.md), or the name of a function. Recording objects needs
CPython 3.13.3 or newer.
"""

from __future__ import annotations

from seismo import recording_kinds
from seismo.cli.options import Option, count, of_a_program, settings
from seismo.cli.recording import RecordingVerb
from seismo.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.cli.verb import Given
    from seismo.process.run_program import Program

HOLDERS, HOLDERS_OF_LEAKS = 3, 5


def _settings(given: Given, program: Program) -> dict[str, object]:
    from seismo.process.objects import recorder

    recorder.check_possible()
    found: dict[str, object] = {name: given[name] for name in ("max_live", "flush_ms") if name in given}
    if "leaks" in given and "span" in given:
        raise UsageError(
            "--leaks and --span cannot be used together",
            hint="use --leaks alone: it reports all that --span reports, and who holds the survivors",
        )
    text = given.get("leaks", given.get("span"))
    if given.get("types"):
        for name in ("paths", "leaks", "span", "holders", "max_live"):
            if name in given:
                option = "--" + name.replace("_", "-")
                raise UsageError(
                    f"{option} cannot be used with --types", hint="--types records neither lines nor living objects"
                )
        found["objects"] = "types"
        return found
    if given.get("paths"):
        found["paths"] = 1
    if text is not None:
        found["span"] = _span(text, program)
        found["leaks"] = int("leaks" in given)
    found["holders"] = given.get("holders", HOLDERS_OF_LEAKS if "leaks" in given else HOLDERS)
    return found


def _span(text: str, program: Program) -> str:
    """Return the expression, in which the name of the program's own module also matches __main__."""
    from seismo.process.engine import spanned

    expression = spanned(text)
    if program.kind in ("code", "stdin"):
        return str(expression)
    name = program.what if program.kind == "module" else program.name
    return str(expression.with_main(name))


VERB = RecordingVerb(
    recording_kinds.OBJECTS,
    of_a_program(__doc__),
    (
        Option("--types", "count objects by type only: cheaper, but without lines, lifetimes and survivors"),
        *settings("objects", "paths"),
        Option(
            "--leaks", "report which objects survive each call of these functions, and who holds them", metavar="EXPR"
        ),
        *settings("objects", "span"),
        Option(
            "--holders",
            "find at the end who holds the survivors of the N types and lines with most of them; 0: do not look "
            f"(default: {HOLDERS}, with --leaks {HOLDERS_OF_LEAKS})",
            metavar="N",
            read=count,
        ),
        *settings("objects", "max_live"),
    ),
    _settings,
)
main = VERB.run
