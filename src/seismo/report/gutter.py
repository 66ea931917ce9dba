"""Notes that an editor shows beside the lines of source files, as the section `notes` of a story.

The schema is docs/report-schema.json. A kind of recordings makes the notes (Kind.gutter). Each note is about one line
of a file and has its numbers, a few words to show beside the line, and more words for a tooltip. The words are those of
the terminal's report, so that an editor need not format numbers. A line may have several notes, for example of its
lambdas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.escape import printable
from seismo.report.facts import losses
from seismo.report.story import Row, Section, Story, facts_section
from seismo.report.words import Signs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from seismo.model import Recording
    from seismo.report.sources import Sources

    Note = dict[str, Any]  # as JSON


def note(
    line: int,
    data: Mapping[str, Any],
    words: str,
    details: Iterable[tuple[str, str]],
    heat: float | None = None,
    state: str = "",
) -> Note:
    """Return a note about one line of a source file.

    words: text beside the line. details: (label, words) pairs for a tooltip. heat: from 0 to 1, where 1 is the hottest
    line of all, or None if there is nothing to compare. state: coverage state "executed", "missing", "partial" or
    "excluded", or "".
    """
    shown = {"line": line, **data, "words": printable(words)}
    shown["details"] = [[label, printable(text)] for label, text in details if text]
    if heat is not None:
        shown["heat"] = round(min(1.0, max(0.0, heat)), 6)
    if state:
        shown["state"] = state
    return shown


def as_story(recording: Recording, file: str, kind: str, words: str, files: Iterable[Row]) -> Story:
    """Return the story of these files (see `noted_file`). words: a remark on them. file: the recording's file."""
    facts = facts_section([("lost", sentence) for sentence in losses(recording, Signs())])
    notes = Section("notes", "Notes beside lines", list(files), remark=words)
    return Story.of(recording, file, kind, words, {}, [facts, notes])


def noted(notes: Iterable[tuple[str, Note]], sources: Sources) -> list[Row]:
    """Return the files with their notes, sorted by path.

    Pseudo-files (`<string>`, the interpreter's frozen modules) cannot be opened and are left out.
    """
    files: dict[str, list[Note]] = {}
    for file, one in notes:
        if one["line"] > 0 and file and not file.startswith("<"):
            files.setdefault(file, []).append(one)
    found = [noted_file(sources.path(file), sources.of(file).problem, of_file) for file, of_file in files.items()]
    return sorted(found, key=lambda row: str(row.data["path"]))


def noted_file(path: str, problem: str, notes: Iterable[Note]) -> Row:
    """Return a source file with its notes. problem: why its lines may not be what ran, or ""."""
    lines = sorted(notes, key=lambda one: one["line"])
    return Row({"path": path, "problem": problem, "lines": lines}, (), 1.0)


def joined(*words: str) -> str:
    """Return the words that are not empty as the text beside a line."""
    return "  ".join(word.strip() for word in words if word.strip())
