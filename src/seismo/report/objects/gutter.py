"""An editor's notes for a recording of objects: beside each line the objects it made, and those that live on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.model.objects.groups import ObjectGroup, by_line
from seismo.report import words as text
from seismo.report.gutter import as_story, joined, note, noted
from seismo.report.objects.columns import COLUMNS
from seismo.report.objects.facts import objects
from seismo.report.objects.group_descriptions import ObjectWords
from seismo.report.objects.story import data

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.gutter import Note
    from seismo.report.options import Options
    from seismo.report.story import Story

_SIGNS = text.Signs()
_DETAILS = ("born", "gc", "short", "live", "bytes", "live-bytes", "life")


def gutter(recording: Recording, file: str, options: Options) -> Story:  # noqa: ARG001
    """Return a note for each line that made objects. file: the path of the recording."""
    words = ObjectWords(recording, _SIGNS)
    groups = [group for group in by_line(recording) if group.function >= 0]
    most = max((group.born for group in groups), default=0)
    notes = [(group.file, _note(group, words, most)) for group in groups]
    return as_story(recording, file, "objects", objects(recording, _SIGNS), noted(notes, words.sources))


def _note(group: ObjectGroup, words: ObjectWords, most: int) -> Note:
    numbers = {
        name: value for name, value in data(words, group).items() if name not in ("type", "file", "line", "source")
    }
    numbers["share"] = round(group.born / words.whole, 6) if words.whole else None
    details = [("types", words.types(group, 6))]
    details += [(COLUMNS[name].head, COLUMNS[name].cell(words, group).strip()) for name in _DETAILS]
    size = words.size(group.bytes, group.at_least).strip()
    live = f"{words.live(group)} live" if group.live else ""
    words_ = joined(f"{group.born:,} born", live, size)
    return note(group.line, numbers, words_, details, group.born / most if most else 0.0)
