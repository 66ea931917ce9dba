"""The interface by which a kind of recordings is shown. Each kind is one object, KIND, in a folder beside this file.

Nothing is imported here, and the kinds import modules only when needed: a summary is written in the recorded process.
Where a docstring names `NAME.py`, the method calls the function of its own name in that file of the kind's folder.
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


# Words of --sort that pstats.Stats.sort_stats and `python -m cProfile -s` accept, and our words for them.
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

MOST = 50  # most rows of a section of a story by default


class Kind:
    """A kind of recordings, with the functions that show one."""

    name = ""  # name in files
    rows = ""  # noun for the rows that --sort orders
    others_are_in = ""  # owner of the time of functions that a filter left out
    also: tuple[str, ...] = ()  # options of other kinds that this one takes, too
    sorted_by = "text:ORDERS"
    unseen = ""  # events that the recorder can never see
    compares = False  # whether it has a page of changes
    tables: tuple[tuple[str, tuple[str, ...]], ...] = ()  # for `seismo info`, with nouns

    def own(self, home: str) -> Any:
        """Import NAME from MODULE in this kind's package, given "MODULE:NAME", and return it."""
        return recording_kinds.load(f"{type(self).__module__}.{home}")

    @property
    def what(self) -> str:
        """Return the noun for what is recorded."""
        return recording_kinds.KINDS[self.name].what

    @property
    def times(self) -> bool:
        """Return True if the recording has separate running and waiting times."""
        return bool(recording_kinds.KINDS[self.name].times)

    # ---- Options. ----

    def orders(self) -> Sequence[str]:
        """Return the words of --sort, from the table `sorted_by` names."""
        return list(self.own(self.sorted_by))

    def order(self, word: str, place: str = "") -> str:
        """Return the order for a word of ours or of cProfile's, or "" (the default order) for "". Raises UsageError."""
        from seismo.errors import UsageError, did_you_mean

        order, known = OF_PSTATS.get(word, word), list(self.orders())
        if order and order not in known:
            hint = did_you_mean(word, [*known, *OF_PSTATS]) + f"use one of {', '.join(known)}"
            raise UsageError(f"{self.rows} cannot be sorted by {word!a}", place, hint)
        return order

    def add_options(self, parser: ArgumentParser) -> None:
        """Declare this kind's own options of `seismo report`."""

    def check(self, options: Options) -> None:
        """Raise UsageError for mistakes that are visible in the options alone, before a recording is read."""

    def instead(self, options: Options, recording: Recording) -> Kind:  # noqa: ARG002
        """Return the kind that shows the recording, which the options may change."""
        return self

    # ---- Output. ----

    def report(self, paper: Paper, recording: Recording, options: Options) -> int:
        """Write the output of `seismo report`. Return 1 if a requested check fails, else 0."""
        raise NotImplementedError

    def show(self, paper: Paper, recording: Recording, order: str, limit: int | None, times: str) -> None:
        """Write the report of a session.

        order: one of orders() or "". limit: the most rows of a table. times: a value of --time or "".
        """
        from seismo.errors import UsageError
        from seismo.report.options import Options

        if times and not self.times:
            raise UsageError(f"there is no choice of times in a recording of {self.what}", "time")
        self.report(paper, recording, Options(sort=order, limit=limit, time=times))

    def summary(self, recording: Recording, stream: TextIO, path: str = "", coloured: bool = False) -> None:
        """Write the few lines at the end of a run (summary.py's `write`). path: the recording's, quoted for a shell."""
        self.own("summary:write")(recording, stream, path, coloured)

    def page_at(self, path: str) -> str:
        """Return the file of a page, or the first file of several. Raises UsageError if the kind has no pages."""
        return path

    def page(self, recording: Recording, path: str | os.PathLike[str], options: Options | None = None) -> int:
        """Write the HTML page and return the status as report() does. options: those of `seismo report`.

        Raises FormatError if the page cannot be written.
        """
        raise NotImplementedError

    def story(
        self, recording: Recording, file: str = "FILE", most: int = MOST, options: Options | None = None
    ) -> Story:
        """Return the whole report as a story for Markdown and JSON (see seismo.report.story); in story.py.

        file: the name of the recording in suggested commands. most: the most rows of a section. options: those of
        `seismo report`.
        """
        from seismo.report.options import Options

        told: Story = self.own("story:story")(recording, file, most, options or Options())
        return told

    def gutter(self, recording: Recording, file: str = "FILE", options: Options | None = None) -> Story:
        """Return an editor's notes beside lines of source; in gutter.py.

        file: the recording's. options: those of `seismo report`.
        """
        from seismo.report.options import Options

        told: Story = self.own("gutter:gutter")(recording, file, options or Options())
        return told

    def inline(self, recording: Recording) -> str:  # noqa: ARG002
        """Return an HTML element for a notebook that draws the recording, or "" if there is only text."""
        return ""

    def changes(self, paper: Paper | None, sides: Sides, files: tuple[list[str], list[str]], limit: int | None) -> str:
        """Write the changes between the sides, or return them as JSON if there is no paper; in changes.py."""
        if paper is None:
            text: str = self.own("changes:as_json")(*sides, files)
            return text
        self.own("changes:write_changes")(paper, *sides, limit)
        return ""

    def changes_page(self, sides: Sides, path: str | os.PathLike[str], files: tuple[list[str], list[str]]) -> None:  # noqa: ARG002
        """Write the changes between the sides as an HTML page.

        Raises UsageError if the kind has no such page, and FormatError if it cannot be written.
        """
        from seismo.errors import UsageError

        raise UsageError(f"there are no HTML pages of changes in {self.what}", f"--html {path}", "leave --html out")

    # ---- Facts above the numbers. ----

    def facts(self, recording: Recording, signs: Signs) -> Facts:
        """Return the facts about duration and amount; in facts.py."""
        told: Facts = self.own("facts:facts")(recording, signs)
        return told

    def measured(self, recording: Recording, signs: Signs) -> str:
        """Return the source, clock and accuracy of the numbers in words, or "" if unknown; in facts.py."""
        words: str = self.own("facts:measured")(recording, signs)
        return words

    def notes(self, recording: Recording) -> list[str]:  # noqa: ARG002
        """Return notes of this kind, one sentence each, besides those that every recorder may make."""
        return []


def named(name: str) -> Kind:
    """Return the kind with that name in files."""
    kind: Kind = recording_kinds.load(recording_kinds.entry(name).report)
    return kind


def of(recording: Recording) -> Kind:
    """Return the kind of the recording."""
    return named(recording.kind)


def every() -> list[Kind]:
    """Return all kinds."""
    return [named(name) for name in recording_kinds.KINDS]
