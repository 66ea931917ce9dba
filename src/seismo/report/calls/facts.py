"""The facts above the numbers of a recording of calls."""

from __future__ import annotations

from seismo.report.facts import (
    calls,
    clock,
    command_line,
    cpu_ns,
    cuts,
    doubt,
    filter_words,
    is_watch,
    losses,
    sources,
    thread_count,
    took,
    waited,
    wall_ns,
)
from seismo.report.words import beginning, duration, number_of, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.model.idle import Idle
    from seismo.report.kind import Facts
    from seismo.report.paper import Paper
    from seismo.report.words import Signs


# Labels of facts that are part of the opening.
OPENING = ("program", "took")


def write_opening(paper: Paper, recording: Recording, idle: Idle) -> None:
    """Write the opening, and a line for each reason why the numbers are only those of a part of the run."""
    signs = paper.signs
    for line in wrapped(opening(recording, idle, signs), paper.width):
        paper.line((line, "strong"))
    filtered, lost = filter_words(recording), losses(recording, signs)
    for sentence in [*cuts(recording), *([filtered] if filtered else [])]:
        paper.line((beginning(sentence, paper.width, signs), "quiet"))
    if lost:
        more = f" (and {number_of(len(lost) - 1, 'more loss', 'more losses')}: see the notes)" if len(lost) > 1 else ""
        paper.line((beginning(f"lost: {lost[0]}", paper.width - len(more), signs) + more, "warning"))


def opening(recording: Recording, idle: Idle, signs: Signs) -> str:
    """Return the opening sentence: what ran, how long, and how much of that was running, waiting and idle."""
    program = command_line(recording)
    threads = thread_count(recording)
    words = f"took {duration(wall_ns(recording) or sum(recording.functions['own_ns']), signs)}"
    if is_watch(recording):
        return f"{program}: {_matches(recording)}; it {words}" if program else f"{_matches(recording)}; it {words}"
    words += f" on {threads:,} threads" if threads > 1 else ""
    parts = time_parts(recording, idle, signs)
    words += f": {', '.join(parts)}" if parts else ""
    return f"{program}  {words}" if program else words


def time_parts(recording: Recording, idle: Idle, signs: Signs) -> list[str]:
    """Return the running, waiting and idle time of the threads in words, as far as known.

    recording: without the idle time.
    """
    cpu, waited = cpu_ns(recording), sum(recording.functions["wait_ns"])
    parts = [f"{duration(cpu, signs)} running"] if cpu >= 0 else []
    if waited and not recording.timeless:
        parts.append(f"{duration(waited, signs)} waiting")
    return [*parts, *([f"{duration(idle.ns, signs)} idle"] if idle.ns else [])]


def facts(recording: Recording, signs: Signs) -> Facts:
    """Return the duration, the waiting, and the number of calls, or of a watch's matches."""
    watch = is_watch(recording)
    what = ("matches", _matches(recording)) if watch else ("calls", calls(recording))
    return [took(recording, signs, threads=not watch), *waited(recording, signs), what]


def _matches(recording: Recording) -> str:
    functions = recording.functions
    total = number_of(sum(functions["calls"]), "match", "matches")
    return f"{total} in {number_of(len(functions), 'function')}, shown as calls"


def measured(recording: Recording, signs: Signs) -> str:
    """Return the source, the clock and the accuracy of times in words, or "" if unknown."""
    by = sources(recording)
    if is_watch(recording):
        parts = [
            "every match counted, every matched call timed, the cost of watching included",
            "each function stands alone: own and total are its time without matched calls inside",
        ]
    else:
        parts = [f"every call counted{_exceptions(recording, signs)} (source: {by})"] if by else []
    if recording.timeless:
        return "; ".join([*parts, "no times were taken"])
    return "; ".join([*parts, *clock(recording, signs), *doubt(recording, signs)])


def _exceptions(recording: Recording, signs: Signs) -> str:
    """Return in words which calls were not counted; notes and losses give details."""
    words = [f"where {signs.at_least} stands"] if any(recording.functions["lower_bound"]) else []
    words += ["what was lost"] if losses(recording, signs) else []
    return f" except {' and '.join(words)}" if words else ""


def without_c(recording: Recording) -> str:
    """Return why no process recorded C functions ("default" or "asked"), or "" if one did or it is unknown."""
    sources = {str(row.source) for row in recording.processes}
    if is_watch(recording) or not sources:
        return ""
    merged = recording.meta.get("merged")
    parts = [part for part in merged if isinstance(part, dict)] if isinstance(merged, list) else []
    asked = [part.get("settings") for part in parts or [recording.meta]]
    if all(isinstance(settings, dict) and settings.get("c_functions") == "none" for settings in asked):
        return "asked"
    return "default" if sources == {"evalframe"} else ""


def notes(recording: Recording) -> list[str]:
    """Return a note if C functions were left out."""
    without = without_c(recording)
    if not without:
        return []
    if recording.timeless:
        return ["C functions were left out (--c-functions all counts them)"]
    why = ", but makes every instruction slow on 3.11" if without == "default" else ""
    return [f"C functions were left out: their time is their callers' (--c-functions all records them{why})"]
