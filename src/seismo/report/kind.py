"""The interface by which a kind of recordings is shown. Each kind is one object, KIND, in a folder beside this file.

Nothing is imported here, and the kinds import what they need when they need it: the summary of a recording is written
in the process that was recorded. A method whose docstring names a file calls the function of the same name and
arguments in that file of the kind's folder. The words and names of a kind are attributes.
"""

from __future__ import annotations

from seismo import recording_kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
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

    name = ""  # the kind's name in files
    what = ""  # a noun for the recorded things
    times = False  # True if there are running and waiting times to choose from
    rows = ""  # a noun for the rows that --sort orders
    others_are_in = ""  # the rows that have the time of functions that a filter left out
    also: tuple[str, ...] = ()  # options that other kinds declare and this one takes, too
    unseen = ""  # a sentence on what the recorder can never see
    rest = "the rest"  # what the report has in addition to the summary
    first_page = ""  # the first file of a page in a folder, or "" if a page is one file
    tables: tuple[tuple[str, tuple[str, ...]], ...] = ()  # further tables that `seismo info` counts, with nouns
    # Functions as MODULE:NAME in the kind's folder. "" if there is none:
    sorted_by = "story:ORDERS"
    notes = ""  # returns notes that are no loss
    compares = ""  # returns a page of changes
    compared = ""  # what seismo.report.changes compares; "" if the changes are of another form, in changes.py
    inlined = ""  # returns an element that draws a recording in a notebook

    def __init_subclass__(cls) -> None:
        entry = recording_kinds.KINDS[cls.name]
        cls.what, cls.times = entry.what, bool(entry.times)

    # ---- Options. ----

    def order(self, word: str, place: str = "") -> str:
        """Return the order for a word of ours or of cProfile's, or "" (the default order) for "". Raises UsageError."""
        from seismo.errors import UsageError, did_you_mean

        order, known = OF_PSTATS.get(word, word), orders(self)
        if order and order not in known:
            hint = did_you_mean(word, [*known, *OF_PSTATS]) + f"use one of {', '.join(known)}"
            raise UsageError(f"{self.rows} cannot be sorted by {word!a}", place, hint)
        return order

    def check(self, options: Options) -> None:
        """Raise UsageError for mistakes that are visible in the options alone, before a recording is read."""

    def instead(self, options: Options, recording: Recording) -> Kind:  # noqa: ARG002
        """Return the kind that shows the recording, which the options may change."""
        return self

    # ---- Output. ----

    def report(self, paper: Paper, recording: Recording, options: Options) -> int:
        """Write the output of `seismo report`, by `write_report` of text.py. Return 1 if a check fails, else 0."""
        from dataclasses import replace

        options = replace(options, sort=self.order(options.sort or "", "--sort"))
        own(self, "text:write_report")(paper, recording, options)
        return 0

    def summary(self, recording: Recording, stream: TextIO, path: str = "", coloured: bool = False) -> None:
        """Write the summary at the end of a run, with `lines` of summary.py. path: the recording's, for a shell."""
        from seismo.report.summary_lines import write

        write(own(self, "summary:lines"), self.rest, recording, stream, path, coloured)

    def page(self, recording: Recording, path: str | os.PathLike[str], options: Options | None = None) -> int:
        """Write the HTML page and return the status as report() does; `page` of page.py returns it as text.

        options: those of `seismo report`. Raises FormatError if the page cannot be written.
        """
        from seismo.report.options import Options
        from seismo.report.page.document import save

        save(path, own(self, "page:page")(recording, options or Options()))
        return 0

    def story(
        self, recording: Recording, file: str = "FILE", most: int = MOST, options: Options | None = None
    ) -> Story:
        """Return the whole report as a story for Markdown and JSON (see seismo.report.story); in story.py.

        file: the name of the recording in suggested commands. most: the most rows of a section. options: those of
        `seismo report`.
        """
        from seismo.report.options import Options

        found: Story = own(self, "story:story")(recording, file, most, options or Options())
        return found

    def gutter(self, recording: Recording, file: str = "FILE", options: Options | None = None) -> Story:
        """Return an editor's notes beside lines of source; in gutter.py.

        file: the recording's. options: those of `seismo report`.
        """
        from seismo.report.options import Options

        found: Story = own(self, "gutter:gutter")(recording, file, options or Options())
        return found

    def changes(self, paper: Paper | None, sides: Sides, files: tuple[list[str], list[str]], limit: int | None) -> str:
        """Write the changes between the sides, or return them as JSON if there is no paper."""
        if self.compared:
            from seismo.report.changes import show_changes

            what = recording_kinds.load(self.compared)
            return show_changes(paper, sides, what.difference(*sides), what, files, limit)
        if paper is None:
            text: str = own(self, "changes:as_json")(*sides, files)
            return text
        own(self, "changes:write_changes")(paper, *sides, limit)
        return ""

    def facts(self, recording: Recording, signs: Signs) -> Facts:
        """Return the facts before the numbers: how long and how much, how it was measured, notes. Of facts.py."""
        found: Facts = list(own(self, "facts:facts")(recording, signs))
        measured: str = own(self, "facts:measured")(recording, signs)
        found += [("measured", measured)] if measured else []
        return found + [("note", note) for note in (own(self, self.notes)(recording) if self.notes else ())]


def own(kind: Kind, home: str) -> Any:
    """Import NAME from MODULE, "MODULE:NAME", in a kind's package and return it."""
    return recording_kinds.load(f"{type(kind).__module__}.{home}")


def orders(kind: Kind) -> list[str]:
    """Return the words of --sort."""
    return list(own(kind, kind.sorted_by))


def page_at(kind: Kind, path: str) -> str:
    """Return the path of the page's file, or of its first one."""
    return f"{path.rstrip('/')}/{kind.first_page}" if kind.first_page else path


def changes_page(kind: Kind, sides: Sides, path: str | os.PathLike[str], files: tuple[list[str], list[str]]) -> None:
    """Write what changed between the sides as a page.

    UsageError: there is no such page; FormatError: it cannot be written.
    """
    from seismo.errors import UsageError
    from seismo.report.page.document import save

    if not kind.compares:
        raise UsageError(f"there are no HTML pages of changes in {kind.what}", f"--html {path}", "leave --html out")
    save(path, own(kind, kind.compares)(sides, files))


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
