"""What an editor shows beside the lines of source files, as JSON; the schema is docs/gutter-schema.json.

A kind of recordings makes the notes (Kind.gutter): each is about a line of a file, with its numbers, with the few words
that stand beside the line, and with more of them for who points at it. The words are those of the terminal's report, so
that an editor writes no number itself. A line may have several notes: of the lambdas in it, for one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seismo.escape import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from seismo.report.sources import Sources

FORMAT, VERSION = "seismo-gutter", 1


@dataclass(slots=True)
class Note:
    """What there is to say about a line.

    words: beside the line. details: (label, words), for more. heat: from 0 to 1, 1 for the hottest line of all; None:
    there is nothing to compare. state: of coverage, "executed", "missing", "partial" or "excluded"; else "".
    """

    line: int
    data: dict[str, Any]
    words: str
    details: Sequence[tuple[str, str]]
    heat: float | None = None
    state: str = ""


@dataclass(slots=True)
class NotedFile:
    """A source file. path: where it is, as far as is known. problem: why its lines may not be what ran; "": nothing."""

    path: str
    problem: str
    notes: list[Note]


@dataclass(slots=True)
class Gutter:
    """All notes of a recording. words: what it is, in a few words. lost: what it lacks, a sentence each."""

    kind: str
    file: str
    program: str
    words: str
    lost: Sequence[str]
    files: list[NotedFile] = field(default_factory=list)


def noted(notes: Iterable[tuple[str, Note]], sources: Sources) -> list[NotedFile]:
    """The notes by the file that their functions are in, each file's in the order of its lines.

    Files without a place (`<string>`, what the interpreter has frozen) cannot be opened and are left out.
    """
    files: dict[str, list[Note]] = {}
    for file, note in notes:
        if note.line > 0 and file and not file.startswith("<"):
            files.setdefault(file, []).append(note)
    found = [
        NotedFile(sources.path(file), sources.of(file).problem, sorted(notes_, key=lambda note: note.line))
        for file, notes_ in files.items()
    ]
    return sorted(found, key=lambda one: one.path)


def gutter_document(gutter: Gutter) -> str:
    """The document, with its last line's end. A note stands on its own line."""
    head = {"format": FORMAT, "version": VERSION, "kind": gutter.kind, "file": gutter.file, "program": gutter.program}
    head |= {"words": gutter.words, "complete": not gutter.lost, "lost": list(gutter.lost)}
    files = []
    for file in gutter.files:
        lines = ",".join(f"\n{_text(_note(note))}" for note in file.notes)
        files.append(f'\n{{"path":{_text(file.path)},"problem":{_text(file.problem)},"lines":[{lines}]}}')
    members = [f"{_text(name)}:{_text(value)}" for name, value in head.items()]
    return "{" + ",\n".join([*members, f'"files":[{",".join(files)}]']) + "}\n"


def _note(note: Note) -> dict[str, Any]:
    shown = {"line": note.line, **note.data, "words": printable(note.words)}
    shown["details"] = [[label, printable(words)] for label, words in note.details if words]
    if note.heat is not None:
        shown["heat"] = round(min(1.0, max(0.0, note.heat)), 6)
    if note.state:
        shown["state"] = note.state
    return shown


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def joined(*words: str) -> str:
    """What stands beside a line: the words that there are."""
    return "  ".join(word.strip() for word in words if word.strip())
