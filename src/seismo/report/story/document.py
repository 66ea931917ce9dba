"""A story as JSON: one object, whose schema is docs/report-schema.json. Each fact, row and step has a line.

Members are only ever added; `version` rises if the meaning of one changes. Names are unchanged from the program, with
all non-ASCII characters escaped, so that a document is safe to show on a terminal.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from seismo.report.story.fitting import fitting

if TYPE_CHECKING:
    from seismo.report.story import Section, Story

FORMAT, VERSION = "seismo-report", 1


def document(story: Story, max_lines: int | None = None) -> str:
    """Return the document, which ends with a line feed. max_lines: its most lines, or None for the whole story.

    If even the empty frame has more lines, the document is written on one.
    """
    if max_lines is None:
        return written(story)
    fitted = fitting(story, written, lambda shown: shown.count("\n") <= max_lines)
    return fitted if fitted.count("\n") <= max_lines else fitted.replace("\n", "") + "\n"


def written(story: Story) -> str:
    """Return all of a story."""
    known = {section.name: section for section in story.sections}
    head = {"format": FORMAT, "version": VERSION, "kind": story.kind, "file": story.file, "program": story.program}
    head |= {"complete": not story.lost, "totals": story.totals}
    parts = [f"{_text(name)}:{_text(value)}" for name, value in head.items()]
    parts.append(f'"facts":{_rows(known.pop("facts", None))}')
    steps = _rows(known.pop("next", None))
    sections = []
    for section in known.values():
        members = {"title": section.title, "remark": section.remarks, "more": section.more}
        sections.append(f'{_text(section.name)}:{_text(members)[:-1]},"rows":{_rows(section)}}}')
    parts.append('"sections":{' + ",".join(f"\n{section}" for section in sections) + "\n}")
    parts.append(f'"left_out":{_text(list(filter(None, story.left_out)))}')
    parts.append(f'"next":{steps}')
    return "{" + ",\n".join(parts) + "\n}\n"


def _rows(section: Section | None) -> str:
    rows = section.rows if section else []
    return "[" + ",".join(f"\n{_text(row.data)}" for row in rows) + "]"


def _text(value: Any) -> str:
    return json.dumps(finite(value), separators=(",", ":"))


def finite(value: Any) -> Any:
    """Return the value with None for each infinity, which JSON cannot express."""
    if isinstance(value, dict):
        return {name: finite(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
