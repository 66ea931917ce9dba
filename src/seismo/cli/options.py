"""Options: their definition, those of several verbs, reading and checking of values, and their help texts.

The verbs that run a program declare theirs as a table of Option and read their words by hand (seismo.cli.verb). The
others use argparse (seismo.cli.parsing). All of them read values here and report wrong ones alike. Imports at the top
of this module delay the start of every recorded program, so there are few.
"""

from __future__ import annotations

from seismo.errors import UsageError, did_you_mean
from seismo.escape import COLOURS
from seismo.options import Setting, of
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    N = TypeVar("N", int, float)

# ---- help texts ----

COLOR_HELP = (
    "when to print colours: auto (default; on a terminal, unless NO_COLOR or FORCE_COLOR is set), always, never"
)
FORCE = "overwrite {} even if seismo did not write it"
JSON = "print one JSON object, for programs"
OPEN = "open the page in the browser (without --html: one in a temporary folder)"

_RUNS = """\
The program runs as it does under python, with its own sys.argv, sys.path, __main__, stdin, output, exit status and
tracebacks. seismo writes the recording to NAME-PID.seismo in the current directory and {} to stderr. Options
of seismo come before the program; everything after it belongs to the program.
"""


def of_a_program(text: str | None, shown: str = "a summary") -> str:
    """Return the help of a verb that records a program: its first paragraph, how the program runs, and the rest.

    `text` is None under -OO. `shown` is what is written when the program has ended.
    """
    first, _, rest = (text or "").partition("\n\n")
    return "\n\n".join(part for part in (first, _RUNS.format(shown), rest) if part).replace("\n\n\n", "\n\n")


def defaults() -> dict[str, object]:
    """Return the defaults by the options' keys; that of --flush is in seconds, as on the command line."""
    from seismo import _core

    return {**_core.DEFAULTS, "flush": f"{_core.DEFAULTS['flush_ms'] / 1000:g}"}


# ---- values ----


def one_of(name: str, text: str, known: Iterable[str], instead: str = "") -> str:
    """Return a known word, or raise UsageError with a list of all. `instead` is an option to suggest."""
    words = list(known)
    if text in words:
        return text
    hint = f"did you mean {instead}? " if instead else did_you_mean(text, words)
    hint += f"use one of {', '.join(words)}"
    raise UsageError(f"{name} cannot be {text!a}", hint=hint)


def _reader(parse: Callable[[str], N], fits: Callable[[N], bool], what: str) -> Callable[[str, str], N]:
    """Return a reader of numbers that fit, which raises UsageError for others. `what` describes them."""

    def read(name: str, text: str) -> N:
        if not fits(value := parse(text)):
            raise UsageError(f"{name} cannot be {text!a}", hint=f"give {what}")
        return value

    return read


def _digits(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else -1


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0


def _nanoseconds(text: str) -> int:
    digits = text.rstrip("nuµms")
    scale = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}.get(text[len(digits) :], 0)
    value = _float(digits) * scale
    return int(value) if 1 <= value < 1e15 else 0


number = _reader(_float, lambda value: 0 < value < 1e12, "a number above 0")
whole = _reader(_digits, lambda value: value > 0, "a whole number above 0")
count = _reader(_digits, lambda value: value >= 0, "a whole number, 0 or more")
span_ns = _reader(_nanoseconds, bool, "a time such as 10us, 1.5ms or 2s")
percent = _reader(
    lambda text: _float(text.removesuffix("%")), lambda value: 0 <= value <= 100, "a percentage from 0 to 100"
)


def milliseconds(name: str, text: str) -> int:
    """Return a number of seconds as milliseconds."""
    return max(1, round(number(name, text) * 1000))


def static(_name: str, text: str) -> str:
    """Return an expression that can be evaluated before a function runs."""
    from seismo.process.engine import narrowed

    return str(narrowed(text))


def parts(_name: str, text: str) -> list[str]:
    """Return the words of a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


# Names for `type=` of argparse options that are declared in modules that cannot import seismo.cli.
READERS: dict[str, Callable[[str, str], object]] = {
    "": lambda _name, text: text,
    "number": number,
    "whole": whole,
    "count": count,
    "parts": parts,
    "percent": percent,
    "span_ns": span_ns,
    "static": static,
}


# ---- options of the verbs that run a program ----


class Option(Setting):
    """An option of one verb alone, or of all that record. names: its spellings, the last of which it is given by."""

    def __init__(self, names: str, help: str, **how: Any) -> None:  # noqa: A002  argparse's name
        name = names.rpartition(" ")[2].removeprefix("--").replace("-", "_")
        super().__init__(name, "", help, word=names, **how)


def help_of(option: Setting) -> str:
    """Return the help text of an option, with the defaults inserted."""
    return option.help.format_map(defaults()) if "{" in option.help else option.help


OUTPUT = Option(
    "-o --output",
    "write the recording to FILE, and those of forked children next to it (default: NAME-PID.seismo)",
    metavar="FILE",
)
OVERWRITE = Option("--force", "overwrite FILE even if it is not a recording")
COLOR = Option("--color", COLOR_HELP, metavar="WHEN", choices=COLOURS)
QUIET = Option("-q --quiet", "print no messages of seismo")
CHILDREN = Option("--children", "also record processes that the program starts, into the same file")
FLUSH = Setting(
    "flush_ms",
    "",
    "update the file at this interval while the program runs (default: {flush})",
    metavar="SECONDS",
    read=milliseconds,
    word="--flush",
)


def settings(verb: str, *names: str) -> tuple[Setting, ...]:
    """Return the verb's options that seismo.options declares: those of these names, by default all."""
    return tuple(setting for setting in of(verb) if not names or setting.name in names)
