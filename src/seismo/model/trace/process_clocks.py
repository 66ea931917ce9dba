"""Alignment of the clocks of a recording's processes, and bounds on the differences between systems.

A process's times count from its start, which two clocks give: the time of day, which may be set in the meantime, and
the time since boot, which is never set. Processes of one boot (the kernel gives it an id) are aligned by the time since
boot, on the clock of the process that started first. Between systems there is only the time of day. Each kernel reports
the possible error of its clock if the clock is synchronized. The error grows by 500 parts per million, the drift that
the kernel assumes. A process also compares the two clocks again at each write and at its end, and records the largest
error that was possible until then: in a long recording, this is less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from seismo.model.recording import Recording

_DRIFT = 2_000  # ns per ns of possible drift


class Host(NamedTuple):
    """One boot of a system with its processes' ids. `bound_ns` is the possible error of its clock, or 0 if unknown."""

    name: str
    processes: tuple[int, ...]
    bound_ns: int


def starts(recording: Recording) -> list[int]:
    """Return the start of each process as Unix time; processes of one boot are on one clock."""
    raw = recording._raw["processes"]
    of_day, boots, since = (raw[name].tolist() for name in ("start_ns", "boot", "boot_ns"))
    first: dict[int, tuple[int, int]] = {}  # boot -> time since boot, and time of day, of its earliest process
    for boot, passed, time in zip(boots, since, of_day, strict=True):
        if recording._strings[boot] and passed > 0:
            first[boot] = min(first.get(boot, (passed, time)), (passed, time))
    return [
        first[boot][1] + passed - first[boot][0] if passed > 0 and boot in first else time
        for boot, passed, time in zip(boots, since, of_day, strict=True)
    ]


def hosts(recording: Recording) -> list[Host]:
    """Return the systems that the processes ran on, in the order of their first processes."""
    found: dict[tuple[str, str], list[int]] = {}
    for row in recording.processes:
        found.setdefault(("", row.boot) if row.boot else (row.host, ""), []).append(row.id)
    rows, began = list(recording.processes), starts(recording)
    made: list[Host] = []
    for ids in found.values():
        bounds = [rows[id_].unix_bound_ns for id_ in ids]
        lasted = max(rows[id_].end_ns for id_ in ids) - min(rows[id_].start_ns for id_ in ids)
        bound = min(bounds) + max(0, lasted) // _DRIFT if all(bounds) else 0
        if all(rows[id_].time_bound_ns for id_ in ids):
            looked = max(rows[id_].time_bound_ns + abs(rows[id_].start_ns - began[id_]) for id_ in ids)
            bound = min(bound or looked, looked)
        made.append(Host(rows[ids[0]].host, tuple(ids), bound))
    names = [host.name for host in made]
    return [
        host._replace(name=f"{host.name or 'host'} ({number})") if names.count(host.name) > 1 or not host.name else host
        for number, host in enumerate(made, 1)
    ]


def difference_ns(one: Host, other: Host) -> int:
    """Return the largest possible difference between the clocks of two systems, or 0 if unknown."""
    return one.bound_ns + other.bound_ns if one.bound_ns and other.bound_ns else 0
