"""What there is to say about a recording of coverage before its numbers."""

from __future__ import annotations

from seismo.report.facts import sources, wall_ns
from seismo.report.words import duration, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.kind import Facts
    from seismo.report.words import Signs


def facts(recording: Recording, signs: Signs) -> Facts:
    """What a recording of coverage holds."""
    wall = wall_ns(recording)
    found = [("took", f"{duration(wall, signs)} wall")] if wall > 0 else []
    # One line may have several rows: of several code objects, or of one that was loaded as __main__ and by its name.
    files, lines = recording.functions["file"], recording.lines
    executed = {(files[function], line) for function, line in zip(lines["function"], lines["line"], strict=True)}
    words = f"{number_of(len(executed), 'line')} of {number_of(len({file for file, _ in executed}), 'file')}"
    found.append(("executed", words))
    names = [name for name in recording.contexts["name"] if name]
    if names:
        found.append(("contexts", number_of(len(names), "context")))
    return found


def measured(recording: Recording, signs: Signs) -> str:  # noqa: ARG001
    """What was kept of each line, and by which source; empty for a recording that does not say."""
    by = sources(recording)
    merged = recording.meta.get("merged")
    parts = [part for part in merged if isinstance(part, dict)] if isinstance(merged, list) else []
    parts = parts or [recording.meta]
    counted = "how often each line ran" if all(part.get("counts") for part in parts) else "whether each line ran"
    if any(
        part.get("branch") for part in parts
    ):  # their number is the sources' to tell: not each recorded step is a branch
        counted += ", and which branches were taken"
    return f"{counted} (source: {by})" if by else ""
