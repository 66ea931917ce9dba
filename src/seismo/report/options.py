"""The options of `seismo report`, by their names there.

Each option's default is here. It decides whether the option is a flag, may be given several times, or has one value.
Each kind of recordings declares the options that it takes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a report. `limit`: rows of a table. `min`: per cent of the time. `time`: a value of --time."""

    sort: str | None = None
    all: bool = False
    time: str | None = None
    html: str | None = None
    color: str = "auto"
    # Options of calls; some also of lines and objects.
    tree: bool = False
    callers: Sequence[str] = ()
    callees: Sequence[str] = ()
    columns: str | None = None
    around: str | None = None
    window: str | None = None
    limit: int | None = None
    depth: int | None = None
    min: float | None = None
    module: Sequence[str] = ()
    exclude_module: Sequence[str] = ()
    thread: Sequence[str] = ()
    where: str | None = None
    only: Sequence[str] = ()
    libraries: bool = False
    imports: bool = False
    # Options of objects.
    by: str | None = None
    type: Sequence[str] = ()
    # Options of coverage.
    show_missing: bool = False
    skip_covered: bool = False
    skip_empty: bool = False
    include: Sequence[str] = ()
    omit: Sequence[str] = ()
    contexts: Sequence[str] = ()
    line: str | None = None
    conditions: bool = False
    changed_since: str | None = None
    fail_under: float | None = None
    precision: int | None = None
    rcfile: str | None = None
    no_config: bool = False


def declarer(parser: ArgumentParser, title: str) -> Callable[..., None]:
    """Return a function that declares options in a new group of the help.

    It takes the option's word, its help and, except for a flag, the name of its value and one of the command line's
    READERS.
    """
    group = parser.add_argument_group(title)
    defaults = {field.name: field.default for field in fields(Options)}

    def declare(word: str, help: str, metavar: str = "", read: str = "") -> None:  # noqa: A002  argparse's name
        default = defaults[word.removeprefix("--").replace("-", "_")]
        if default is False:
            group.add_argument(word, action="store_true", help=help)
        elif default == ():
            group.add_argument(word, metavar=metavar, action="append", default=[], help=help)
        else:
            group.add_argument(word, metavar=metavar, type=read, help=help)

    return declare
