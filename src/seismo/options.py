"""The options of recordings, each declared once for the command line, the Python API and the core.

    Setting("rate", "profile trace lines", "look N times a second what runs", metavar="N", read="whole")

`seismo profile --rate 100`, `seismo.profile(rate=100)` and `_core.start(rate=100)` follow from it. The options of
coverage are those of coverage.py and are in seismo.coverage.settings. This module imports nothing, because recorded
programs wait for it at their start.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    from seismo.expression import Expression

    class _TimedOptions(TypedDict, total=False):
        clock: str | None
        rate: int | None
        source: str | None
        where: str | Expression | None

    class LineOptions(_TimedOptions, total=False):
        """The options of seismo.lines, for type checkers; None selects the default."""

    class CallOptions(_TimedOptions, total=False):
        """The options of seismo.profile."""

        c_functions: str | None
        timing: str | None
        max_paths: int | None

    class TraceOptions(CallOptions, total=False):
        """The options of seismo.trace."""

        depth: int | None
        min_duration_ns: int | None

    class ObjectOptions(TypedDict, total=False):
        """The options of seismo.objects."""

        objects: str | None
        paths: bool | None
        max_live: int | None
        span: str | Expression | None


class Setting:
    """An option of recordings.

    name: the keyword in Python and in C; the command line uses dashes in it
    verbs: the verbs that accept it, separated by spaces
    help: the text for --help, in which {NAME} is replaced by the core's default for NAME
    choices: the accepted words, the default first
    but: for a verb, the choices that it does not accept
    metavar: the name of its value in help; an option with neither this nor choices is a flag
    read: the function of seismo.cli.options that parses its text
    word: the option on the command line, if it differs from the name
    """

    __slots__ = ("but", "choices", "help", "metavar", "name", "read", "verbs", "word")

    def __init__(
        self,
        name: str,
        verbs: str,
        help: str,  # noqa: A002  argparse's name for it
        choices: tuple[str, ...] = (),
        *,
        but: dict[str, tuple[str, ...]] | None = None,
        metavar: str = "",
        read: str = "",
        word: str = "",
    ) -> None:
        self.name, self.verbs, self.help, self.choices = name, verbs.split(), help, choices
        self.but, self.metavar, self.read = but or {}, metavar, read
        self.word = word or "--" + name.replace("_", "-")

    def choices_of(self, verb: str) -> tuple[str, ...]:
        """Return the words that this verb accepts."""
        return tuple(word for word in self.choices if word not in self.but.get(verb, ()))


# In the order of the help texts.
SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            "c_functions",
            "profile trace",
            "which C functions to record; auto: all, except at call sites where they prove trivial (default: auto; on "
            "Python 3.11 none, because recording them slows every instruction there)",
            ("auto", "all", "none"),
        ),
        Setting("clock", "profile trace lines", "the clock to read (default: auto)", ("auto", "tsc", "monotonic")),
        Setting(
            "timing",
            "profile trace",
            "which calls to time by the clock; sampled (default): the first of each function and long ones, all others "
            "by samples; every: all; none (profile only): count calls without times, which costs less",
            ("sampled", "every", "none"),
            but={"trace": ("none",)},
        ),
        Setting(
            "rate",
            "profile trace lines",
            "sample N times a second (default: 4,000 in the first second, 1,000 later)",
            metavar="N",
            read="whole",
        ),
        Setting(
            "source",
            "profile trace lines",
            "which of the interpreter's hooks to use (default: seismo doctor shows it)",
            ("starts", "monitoring", "profilefunc", "evalframe", "tracefunc"),
            but={
                "profile": ("tracefunc",),
                "trace": ("starts", "tracefunc"),
                "lines": ("starts", "profilefunc", "evalframe"),
            },
        ),
        Setting(
            "where",
            "profile trace lines",
            "record only functions that match the expression, such as 'module(\"app.*\")' (see docs/expressions.md); "
            "the time of others counts as their callers'",
            metavar="EXPR",
            read="static",
        ),
        Setting(
            "max_paths",
            "profile trace",
            "record at most N call paths; count calls on others by function only (default: {max_paths})",
            metavar="N",
            read="whole",
        ),
        Setting(
            "depth",
            "trace",
            "write only calls at most N deep into the timeline; count deeper ones",
            metavar="N",
            read="whole",
        ),
        Setting(
            "min_duration_ns",
            "trace",
            "leave calls that are surely shorter than TIME (10us, 1ms) out of the timeline, with what they called; "
            "count them",
            metavar="TIME",
            read="span_ns",
            word="--min-duration",
        ),
        Setting("objects", "objects", "what to count objects by", ("lines", "types")),
        Setting("paths", "objects", "also record the call tree, and count objects by call path"),
        Setting(
            "span",
            "objects",
            "report the objects that calls of these functions make, and which of them die inside or escape",
            metavar="EXPR",
        ),
        Setting(
            "max_live",
            "objects",
            "follow at most N living objects, and a random sample of more (default: {max_live})",
            metavar="N",
            read="whole",
        ),
    )
}


def of(verb: str) -> Iterator[Setting]:
    """Yield the options of a verb, in the order of its help."""
    return (setting for setting in SETTINGS.values() if verb in setting.verbs)
