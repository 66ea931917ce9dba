"""The options of recordings, each declared once for the command line, the Python API and the core.

    Setting("rate", "profile trace lines", "sample N times a second", metavar="N", read="whole")

`seismo profile --rate 100`, `seismo.profile(rate=100)` and `_core.start(rate=100)` follow from it. What a file can
set for coverage is coverage.py's, and seismo.coverage.settings has it. Nothing is imported: programs wait for this at
their start.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
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
        interpreters: str | None
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

    class CoverOptions(TypedDict, total=False):
        """Options of seismo.cover; None stands for the value in the project's settings."""

        branch: bool | None
        counts: bool | None
        source: str | Iterable[str] | None
        include: str | Iterable[str] | None
        omit: str | Iterable[str] | None
        contexts: str | None
        context: str | None


class Setting:
    """An option of recordings.

    name: the keyword in Python and in C; on the command line it has dashes. verbs: the verbs that take it, separated by
    blanks; also seismo.cover, pytest-cover, pytest-check and IPython's %profile and the like. choices: its possible
    values, the default first. but: for a verb, the choices that it does not have. metavar: the name of its value in
    help; an option without metavar and choices is a flag. read: the reader of its text, a name in
    seismo.cli.options.READERS or a function of the option's name and the text. help: the help text, in which {NAME}
    stands for the core's default. word: the spelling on the command line if it differs from the name; several spellings
    are separated by blanks. many: True if it may be given several times, as a list.
    """

    __slots__ = ("but", "choices", "help", "many", "metavar", "name", "read", "verbs", "word")

    def __init__(
        self,
        name: str,
        verbs: str,
        help: str,  # noqa: A002  argparse's name for it
        choices: tuple[str, ...] = (),
        *,
        but: dict[str, tuple[str, ...]] | None = None,
        metavar: str = "",
        read: str | Callable[[str, str], object] = "",
        word: str = "",
        many: bool = False,
    ) -> None:
        self.name, self.verbs, self.help, self.choices = name, verbs.split(), help, choices
        self.but, self.metavar, self.read, self.many = but or {}, metavar, read, many
        self.word = word or "--" + name.replace("_", "-")

    @property
    def names(self) -> list[str]:
        """Its spellings on the command line."""
        return self.word.split(" ")

    @property
    def is_flag(self) -> bool:
        """Return True if it takes no value."""
        return not self.metavar and not self.choices

    def choices_of(self, verb: str) -> tuple[str, ...]:
        """Return the words that this verb accepts."""
        return tuple(word for word in self.choices if word not in self.but.get(verb, ()))


# In the order of the help texts.
SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            "c_functions",
            "profile trace %profile",
            "which C functions to record; auto: all of them, except at call sites where they prove to be trivial. The "
            "default is auto; on Python 3.11 it is none, because recording them slows down every instruction there",
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
            "profile trace lines %profile",
            "record only functions for which the expression is true, such as 'module(\"app.*\")' "
            "(see docs/expressions.md); the time of all other functions counts as time of their callers",
            metavar="EXPR",
            read="static",
        ),
        Setting(
            "interpreters",
            "profile trace",
            "which interpreters of the process to record; all (default): also those that the program makes, on Python "
            "3.14 and later; main: only the main one",
            ("all", "main"),
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

COVERAGE = (
    Setting("branch", "cover seismo.cover pytest-cover %cover", "also record which branches were taken"),
    Setting("counts", "cover seismo.cover pytest-cover %cover", "count how often each line was executed"),
    Setting(
        "source",
        "cover seismo.cover %cover",
        "measure only this package, or the files below this folder; files that were never executed are reported, too",
        metavar="PKG|DIR",
        read="parts",
        many=True,
    ),
    Setting(
        "include",
        "cover seismo.cover",
        "measure only files that match; ignored if --source is given",
        metavar="GLOB",
        read="parts",
        many=True,
    ),
    Setting("omit", "cover seismo.cover", "do not measure files that match", metavar="GLOB", read="parts", many=True),
    Setting(
        "contexts",
        "cover seismo.cover",
        "record in which context each line was executed; test: every test function is a context",
        ("test",),
    ),
    Setting(
        "context",
        "cover seismo.cover",
        "record that everything in this run was executed in the context of this name",
        metavar="NAME",
    ),
    Setting(
        "fail_under",
        "cover",
        "exit with status 1 if less than N percent were executed, unless the program itself failed",
        metavar="N",
        read="percent",
    ),
)

COVERAGE_FLAGS = tuple(setting.name for setting in COVERAGE if setting.is_flag)  # a recording has their values

CHECK = (
    Setting("build", "check pytest-check", "run this shell command in the checkout of REV first", metavar="CMD"),
    Setting("no_objects", "check pytest-check", "do not count births of objects"),
    Setting(
        "tolerate",
        "check pytest-check",
        "compare although Python or a dependency has another version; counts may then differ by N percent",
        metavar="N",
        read="percent",
    ),
)


def of(verb: str) -> Iterator[Setting]:
    """Return the options of a verb, in the order of its help."""
    return (setting for setting in (*SETTINGS.values(), *COVERAGE, *CHECK) if verb in setting.verbs)
