"""An editor's notes for a recording of coverage: executed lines, their hits, and branches that were not taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.report import words as text
from seismo.report.coverage.options import analyzed
from seismo.report.coverage.story import nothing_text, total_text
from seismo.report.gutter import as_story, joined, note, noted_file

if TYPE_CHECKING:
    from seismo.coverage.coverage_report import FileCoverage
    from seismo.model import Recording
    from seismo.report.gutter import Note
    from seismo.report.options import Options
    from seismo.report.story import Story

_CHANGED = "the file has changed since: the text of a line may not be what ran"
CONTEXTS = 5  # most contexts in a note


def gutter(recording: Recording, file: str, options: Options) -> Story:
    """Return a note for each line with code. file: the path of the recording."""
    report, settings = analyzed(recording, options)
    words = total_text(report.totals, settings.precision) if report.files else nothing_text(report)
    files = (noted_file(one.absolute, _CHANGED if one.changed else "", _notes(one)) for one in report.files)
    return as_story(recording, file, "coverage", words, files)


def _notes(file: FileCoverage) -> list[Note]:
    missing, untaken = set(file.missing), dict[int, list[int]]()
    for line, to in file.missing_branches:
        untaken.setdefault(line, []).append(to)
    notes = [
        note(line, {"hits": 0, "untaken": []}, "never ran", [("line", "never executed")], state="missing")
        for line in file.missing
    ]
    for line in file.statements:
        if line in missing:
            continue
        hits = file.hits.get(line) if file.hits is not None else None
        never = untaken.get(line, [])
        branches = [{"to": to, "words": file.missing_text(line, to)} for to in never]
        counted = text.number_of(hits, "hit") if hits else ""
        open_ = f"{text.number_of(len(never), 'branch', 'branches')} not taken" if never else ""
        names = [name for name in file.contexts_of(line) if name]
        more = f" and {len(names) - CONTEXTS:,} more" if len(names) > CONTEXTS else ""
        details = [("line", "executed" + (f" {text.number_of(hits, 'time')}" if hits else ""))]
        details += [("branch", str(branch["words"])) for branch in branches]
        details += [("contexts", ", ".join(names[:CONTEXTS]) + more)]
        data = {"hits": hits, "untaken": branches}
        notes.append(note(line, data, joined(counted, open_), details, state="partial" if never else "executed"))
    notes += [
        note(line, {"hits": None, "untaken": []}, "", [("line", "excluded")], state="excluded")
        for line in file.excluded
    ]
    return notes
