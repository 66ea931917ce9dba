"""The clocks of a recording's processes: which of them are one clock, and how far others may be apart.

A process's times count from its own start, which is known by two clocks: the time of the day, which somebody may set
in between, and the time since its system started, which nobody sets. Processes of one start of one system (the kernel
gives it an id) are put on one clock by the second: that of the process that started first there. Between systems there
is only the time of the day, and each kernel says by how much its own may be wrong, if anything keeps it right. That
grows by 500 parts in a million, which is how fast the kernel lets a clock drift.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from seismo.model.recording import Recording

_DRIFT = 2_000  # ns in which a clock may go wrong by one


class Host(NamedTuple):
    """A start of a system, with the ids of its processes. bound_ns: how wrong its clock may be; 0: not known."""

    name: str
    processes: tuple[int, ...]
    bound_ns: int


def starts(recording: Recording) -> list[int]:
    """When each process started, as unix time; those of one system by its one clock."""
    raw = recording._raw["processes"]
    of_day, boots, since = (raw[name].tolist() for name in ("start_ns", "boot", "boot_ns"))
    first: dict[int, tuple[int, int]] = {}  # of each boot: since its start, and the time of the day then
    for boot, passed, time in zip(boots, since, of_day, strict=True):
        if recording._strings[boot] and passed > 0:
            first[boot] = min(first.get(boot, (passed, time)), (passed, time))
    return [
        first[boot][1] + passed - first[boot][0] if passed > 0 and boot in first else time
        for boot, passed, time in zip(boots, since, of_day, strict=True)
    ]


def hosts(recording: Recording) -> list[Host]:
    """The systems that the processes ran on, in the order of their first processes."""
    found: dict[tuple[str, str], list[int]] = {}
    for row in recording.processes:
        found.setdefault(("", row.boot) if row.boot else (row.host, ""), []).append(row.id)
    rows = list(recording.processes)
    made: list[Host] = []
    for ids in found.values():
        bounds = [rows[id_].unix_bound_ns for id_ in ids]
        lasted = max(rows[id_].end_ns for id_ in ids) - min(rows[id_].start_ns for id_ in ids)
        bound = min(bounds) + max(0, lasted) // _DRIFT if all(bounds) else 0
        made.append(Host(rows[ids[0]].host, tuple(ids), bound))
    names = [host.name for host in made]
    return [
        host._replace(name=f"{host.name or 'host'} ({number})") if names.count(host.name) > 1 or not host.name else host
        for number, host in enumerate(made, 1)
    ]


def difference_ns(one: Host, other: Host) -> int:
    """How far the clocks of two systems may be apart; 0: not known."""
    return one.bound_ns + other.bound_ns if one.bound_ns and other.bound_ns else 0
