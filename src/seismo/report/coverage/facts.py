"""The facts above the numbers of a recording of coverage."""

from __future__ import annotations

from seismo.report.facts import sources, wall_ns
from seismo.report.words import Signs, duration, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.kind import Facts


def facts(recording: Recording, signs: Signs) -> Facts:
    """Return the duration, the executed lines and files, and the number of contexts."""
    wall = wall_ns(recording)
    found = [("took", f"{duration(wall, signs)} wall")] if wall > 0 else []
    ran = executed(recording)
    words = f"{number_of(len(ran), 'line')} of {number_of(len({file for file, _ in ran}), 'file')}"
    found.append(("executed", words))
    names = [name for name in recording.contexts["name"] if name]
    if names:
        found.append(("contexts", number_of(len(names), "context")))
    return found


def executed(recording: Recording) -> set[tuple[str, int]]:
    """Return the lines that ran, by their files."""
    # A line may have several rows: of several code objects, or of a module that was loaded as __main__ and by name.
    files, lines = recording.functions["file"], recording.lines
    return {(files[function], line) for function, line in zip(lines["function"], lines["line"], strict=True)}


def measured(recording: Recording, signs: Signs) -> str:  # noqa: ARG001
    """Return what was counted and by which source in words, or "" if unknown."""
    by = sources(recording)
    parts = recording.parts
    counted = "how often each line ran" if all(part.get("counts") for part in parts) else "whether each line ran"
    if any(part.get("branch") for part in parts):  # without a number, as a recorded step may be no branch
        counted += ", and which branches were taken"
    return f"{counted} (source: {by})" if by else ""
