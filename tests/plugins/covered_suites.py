"""What a recording of coverage holds, for the tests of the plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from seismo.model import Recording


def lines_by_context(recording: Recording, file: str) -> dict[str, set[int]]:
    """{context: the lines of the file (its name's end) that ran in it}."""
    functions = {row.id for row in recording.functions if row.file.endswith(file)}
    lines = {row.id: row.line for row in recording.lines if row.function in functions}
    names = {row.id: row.name for row in recording.contexts}
    found: dict[str, set[int]] = {}
    for context, kind, row in recording.context_rows():
        if kind == 0 and row in lines:
            found.setdefault(names[context], set()).add(lines[row])
    return found


def lines_of(recording: Recording, file: str) -> set[int]:
    """The lines of the file that ran."""
    functions = {row.id for row in recording.functions if row.file.endswith(file)}
    return {row.line for row in recording.lines if row.function in functions and row.hits}


def write(folder: Path, **files: str) -> None:
    """Writes Python files; two underscores in a name are a slash."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
