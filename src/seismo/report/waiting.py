"""The threads' waiting in words: how much, for what, and how far the system could distinguish it.

The summary after a recording uses it: no import that it could not afford.
"""

from __future__ import annotations

from seismo import recording_kinds
from seismo.report.words import Signs, duration, function_name, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from seismo.model import Recording

NOTABLE = 0.01  # share of the time; a table without a wait of this size has no column for it
LEAST = 0.1  # share of the notable size above which lesser waits are shown, too
REASON = 0.2  # share of a wait; lesser reasons are not named
FAR = 1.25  # ratio of wall to CPU time (and MOMENT) from which the header mentions waiting
MOMENT = 20e6  # ns
MOST = 0.4  # share of all waiting; a function with as much is named

ELAPSED = "wall"  # the time that reports rank by, unless another is chosen

# The values of --time, and the noun for own times of each.
WORDS = {"cpu": "running", "wall": "elapsed time", "wait": "waiting", "calls": "calls"}


def known_waits(recording: Recording) -> set[str]:
    """Return the kinds of waiting that any process distinguished ("ready", "lock") and the methods; empty if none."""
    words = " ".join(str(waits).replace(",", " ") for waits in recording.processes["waits"])
    return set(words.split())


def reasons(wait_ns: float, ready_ns: float, lock_ns: float, known: Container[str], roomy: bool = True) -> str:
    """Return the main reasons of a wait (`lock`, `preempted`, `other`), or "" if they are unknown.

    roomy: join several by +, instead of the largest only.
    """
    if wait_ns <= 0 or not ("ready" in known or "lock" in known):
        return ""
    parts = {"lock": lock_ns, "preempted": ready_ns, "other": wait_ns - lock_ns - ready_ns}
    named = sorted((name for name in parts if parts[name] >= REASON * wait_ns), key=lambda name: -parts[name])
    return "+".join(named[: None if roomy else 1])


def sentence(recording: Recording, signs: Signs) -> str:
    """Return the fact about waiting above the numbers, or "" if there was little or nothing is known."""
    if recording.timeless:
        return ""
    threads = recording.threads
    known = [(wall, cpu) for wall, cpu in zip(threads["wall_ns"], threads["cpu_ns"], strict=True) if cpu >= 0]
    wall, cpu = sum(wall for wall, _ in known), sum(cpu for _, cpu in known)
    how = [bool(str(waits)) for waits in recording.processes["waits"]]
    rows = recording.timed_rows
    waited = sum(rows["wait_ns"])
    if not any(how):
        if wall < FAR * cpu + MOMENT or not cpu or not recording_kinds.entry(recording.kind).times:
            return ""
        return (
            f"the threads ran {duration(cpu, signs)} of their {duration(wall, signs)}; it is not "
            "known where they waited, and all times are wall-clock times"
        )
    wall = max(wall, waited)
    if waited < (1 - 1 / FAR) * wall or waited < MOMENT:
        return ""
    parts = _parts(sum(rows["lock_ns"]), sum(rows["ready_ns"]), waited, known_waits(recording), signs)
    missing = how.count(False)
    but = f"; unknown for {number_of(missing, 'process', 'processes')}" if missing else ""
    words = f"{duration(waited, signs)} of the threads' {duration(wall, signs)}{parts}{but}"
    return f"{words}{_most(recording, waited, signs)}"


def _most(recording: Recording, waited: float, signs: Signs) -> str:
    functions = recording.functions
    if recording.timed_rows is not functions:
        return ""
    waits = functions["wait_ns"]
    row = max(range(len(waits)), key=waits.__getitem__)
    if waits[row] < MOST * waited:
        return ""
    name = function_name(functions["kind"][row], functions["module"][row], functions["qualname"][row])
    return f"; {duration(waits[row], signs)} of it in {name}"


def _parts(lock: float, ready: float, waited: float, known: set[str], signs: Signs) -> str:
    names = {"lock": (lock, "the interpreter's lock"), "ready": (ready, "a processor")}
    asked = {word: part for word, part in names.items() if word in known}
    if not asked:
        return ", reason unknown"
    parts = [f"{duration(ns, signs)} for {what}" for ns, what in asked.values() if ns >= NOTABLE * waited]
    if not parts:
        return f", none of it for {' or '.join(what for _, what in asked.values())}"
    return f": {', '.join(parts)}, {duration(max(0, waited - lock - ready), signs)} otherwise"
