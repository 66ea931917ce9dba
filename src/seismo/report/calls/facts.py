"""The facts above the numbers of a recording of calls."""

from __future__ import annotations

from seismo.escape import printable
from seismo.report.facts import HELD_UP, calls, clock, doubt, is_watch, losses, sources, time_taken, took, waited
from seismo.report.function_names import COMPILED_BRIEFLY, is_compiled
from seismo.report.words import Signs, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.model.idle_threads import Idle
    from seismo.report.kind import Facts

MOST_PACKAGES = 6  # packages that the note on compiled modules names


def opening(recording: Recording, idle: Idle, signs: Signs) -> str:
    """Return how long the program took; of a watch, how many matches there were. recording: without the idle time."""
    words = time_taken(recording, signs, idle.ns)
    return f"{words}: {_matches(recording)}" if is_watch(recording) else words


def facts(recording: Recording, signs: Signs) -> Facts:
    """Return the duration, what held threads up, the waiting, and the number of calls, or of a watch's matches."""
    from seismo.model.idle_threads import without_idle
    from seismo.report.calls.threads import held_up

    held = held_up(without_idle(recording)[0], signs)
    watch = is_watch(recording)
    what = ("matches", _matches(recording)) if watch else ("calls", calls(recording))
    parallel = [(HELD_UP, held)] if held else []
    return [took(recording, signs, threads=not watch), *parallel, *waited(recording, signs), what]


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
    asked = [part.get("settings") for part in recording.parts]
    if all(isinstance(settings, dict) and settings.get("c_functions") == "none" for settings in asked):
        return "asked"
    return "default" if sources == {"evalframe"} else ""


def notes(recording: Recording) -> list[str]:
    """Return notes on C functions that were left out, and on compiled modules."""
    without = without_c(recording)
    if not without:
        return _compiled(recording)
    if recording.timeless:
        return ["C functions were left out (--c-functions all counts them)"]
    why = ", but makes every instruction slow on 3.11" if without == "default" else ""
    return [f"C functions were left out: their time is their callers' (--c-functions all records them{why})"]


def _compiled(recording: Recording) -> list[str]:
    """Return a note if functions of extension modules outside of the standard library were recorded."""
    functions = recording.functions
    rows = zip(functions["kind"], functions["module"], strict=True)
    packages = sorted({module.partition(".")[0] for kind, module in rows if is_compiled(kind, module)})
    if not packages:
        return []
    more = f" and {len(packages) - MOST_PACKAGES:,} more" if len(packages) > MOST_PACKAGES else ""
    names = printable(", ".join(packages[:MOST_PACKAGES]))
    what = f"{COMPILED_BRIEFLY}: functions of compiled modules ({names}{more})"
    return [f"{what}; a call from one to another is not recorded, and its time is the caller's own"]
