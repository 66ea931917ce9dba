"""What a kind of recordings must have so that it can be shown. Each is one object, KIND, in a folder beside this file.

Nothing is imported here, and the kinds import what they need when they need it: the summary of a recording is written
in the process that was recorded. What a method here says to be `NAME.py's` is in that file of the kind's folder, as a
function of the method's name that takes what the method takes.
"""

from __future__ import annotations

from seismo import recording_kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from argparse import ArgumentParser
    from collections.abc import Sequence
    from typing import Any, TextIO

    from seismo.model import Recording
    from seismo.report.options import Options
    from seismo.report.paper import Paper
    from seismo.report.story import Story
    from seismo.report.words import Signs

    Facts = list[tuple[str, str]]  # labels and sentences, in the order to show them
    Sides = tuple[Sequence[Recording], Sequence[Recording]]


# Words of --sort that pstats.Stats.sort_stats and `python -m cProfile -s` know, and ours.
OF_PSTATS = {
    "time": "own",
    "tottime": "own",
    "cumulative": "total",
    "cumtime": "total",
    "ncalls": "calls",
    "pcalls": "primitive",
    "nfl": "name",
    "filename": "file",
    "module": "file",
    "stdname": "file",
}

MOST = 50  # rows of a section of a story, unless more are asked for


class Kind:
    """How recordings of one kind are shown."""

    name = ""  # in files
    rows = ""  # what --sort sorts
    others_are_in = ""  # whose time has what a filter left out
    also: tuple[str, ...] = ()  # options that other kinds declare and this one takes, too
    sorted_by = "text:ORDERS"
    unseen = ""  # what the recorder can never see
    compares = False  # whether there is a page of what changed
    tables: tuple[tuple[str, tuple[str, ...]], ...] = ()  # that `seismo info` counts, too; one row, several

    def own(self, home: str) -> Any:
        """What "MODULE:NAME" is in the kind's folder."""
        return recording_kinds.load(f"{type(self).__module__}.{home}")

    @property
    def what(self) -> str:
        """What is recorded, in a word."""
        return recording_kinds.KINDS[self.name].what

    @property
    def times(self) -> bool:
        """Whether there are times of running and waiting to choose from."""
        return bool(recording_kinds.KINDS[self.name].times)

    # ---- what of it can be shown, and how ----

    def orders(self) -> Sequence[str]:
        """The words of --sort: those of `sorted_by`."""
        return list(self.own(self.sorted_by))

    def order(self, word: str, place: str = "") -> str:
        """The order that a word of ours, or one of cProfile's, stands for; "": the usual one. Raises UsageError."""
        from seismo.errors import UsageError, did_you_mean

        order, known = OF_PSTATS.get(word, word), list(self.orders())
        if order and order not in known:
            hint = did_you_mean(word, [*known, *OF_PSTATS]) + f"use one of {', '.join(known)}"
            raise UsageError(f"{self.rows} cannot be sorted by {word!a}", place, hint)
        return order

    def add_options(self, parser: ArgumentParser) -> None:
        """Declares the options of `seismo report` that are this kind's."""

    def check(self, options: Options) -> None:
        """Raises UsageError for mistakes that need no recording to be seen: they must not wait for the reading."""

    def instead(self, options: Options, recording: Recording) -> Kind:  # noqa: ARG002
        """The kind as which the recording is shown, if the options ask for another."""
        return self

    # ---- what is shown ----

    def report(self, paper: Paper, recording: Recording, options: Options) -> int:
        """Writes what `seismo report` shows. Returns 1 when a check that was asked for says no."""
        raise NotImplementedError

    def show(self, paper: Paper, recording: Recording, order: str, limit: int | None, times: str) -> None:
        """Writes what a session shows. order: of orders() or ""; limit: rows of a table; times: as --time or ""."""
        from seismo.errors import UsageError
        from seismo.report.options import Options

        if times and not self.times:
            raise UsageError(f"there is no choice of times in a recording of {self.what}", "time")
        self.report(paper, recording, Options(sort=order, limit=limit, time=times))

    def summary(self, recording: Recording, stream: TextIO, path: str = "", coloured: bool = False) -> None:
        """Writes the few lines that a run ends with: summary.py's `write`. path: of the recording, for a shell."""
        self.own("summary:write")(recording, stream, path, coloured)

    def page_at(self, path: str) -> str:
        """The file that a page is, or begins with. Raises UsageError: there are no pages."""
        return path

    def page(self, recording: Recording, path: str | os.PathLike[str], options: Options | None = None) -> int:
        """Writes the page. options: of `seismo report`. Returns as report() does.

        FormatError: it cannot be written.
        """
        raise NotImplementedError

    def story(
        self, recording: Recording, file: str = "FILE", most: int = MOST, options: Options | None = None
    ) -> Story:
        """All there is to tell, for Markdown and JSON (seismo.report.story): story.py's.

        file: what commands call the recording. most: rows of a section. options: of `seismo report`.
        """
        from seismo.report.options import Options

        told: Story = self.own("story:story")(recording, file, most, options or Options())
        return told

    def gutter(self, recording: Recording, file: str = "FILE", options: Options | None = None) -> Story:
        """What an editor shows beside lines of source: gutter.py's.

        file: the recording's. options: of `seismo report`.
        """
        from seismo.report.options import Options

        told: Story = self.own("gutter:gutter")(recording, file, options or Options())
        return told

    def inline(self, recording: Recording) -> str:  # noqa: ARG002
        """An element for a notebook that draws the recording; "": there is only the text."""
        return ""

    def changes(self, paper: Paper | None, sides: Sides, files: tuple[list[str], list[str]], limit: int | None) -> str:
        """Writes what changed between the sides; without a paper, returns it as JSON. Of changes.py's functions."""
        if paper is None:
            text: str = self.own("changes:as_json")(*sides, files)
            return text
        self.own("changes:write_changes")(paper, *sides, limit)
        return ""

    def changes_page(self, sides: Sides, path: str | os.PathLike[str], files: tuple[list[str], list[str]]) -> None:  # noqa: ARG002
        """Writes what changed between the sides as a page.

        UsageError: there is no such page; FormatError: it cannot be written.
        """
        from seismo.errors import UsageError

        raise UsageError(f"there are no HTML pages of changes in {self.what}", f"--html {path}", "leave --html out")

    # ---- what there is to say before the numbers ----

    def facts(self, recording: Recording, signs: Signs) -> Facts:
        """How long it took, and how much there is: facts.py's."""
        told: Facts = self.own("facts:facts")(recording, signs)
        return told

    def measured(self, recording: Recording, signs: Signs) -> str:
        """By which source and clock, and what the numbers are worth: facts.py's.

        Empty for a recording that does not say.
        """
        words: str = self.own("facts:measured")(recording, signs)
        return words

    def notes(self, recording: Recording) -> list[str]:  # noqa: ARG002
        """What is good to know and no loss, a sentence each, besides what every recorder may note."""
        return []


def named(name: str) -> Kind:
    """The kind of that name in files."""
    kind: Kind = recording_kinds.load(recording_kinds.entry(name).report)
    return kind


def of(recording: Recording) -> Kind:
    """The kind of the recording."""
    return named(recording.kind)


def every() -> list[Kind]:
    """All kinds."""
    return [named(name) for name in recording_kinds.KINDS]
