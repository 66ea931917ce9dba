"""Traces of several systems for Perfetto: a tar with a trace for each of them and a manifest of how they go together.

Perfetto keeps the processes and the clocks of each machine apart. The manifest (`perfetto_manifest.json`, version 1)
names the machine of each file and says how its clock stands to that of the first one. The times in all files count from
the start of the recording already, so the offset is 0; what it may be wrong by is an attribute, which is shown with the
trace's other metadata: the sum of what both systems' kernels said of their clocks, or "unknown".

Versions of Perfetto before 58 know no manifest. They show all files on one machine, and, since the times agree, aligned
as well; only processes of different systems that have the same pid are one there.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from typing import IO, TYPE_CHECKING, cast

from seismo.formats.text import escape, json_text
from seismo.model.timeline.hosts import apart_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.formats.base import ByteSink
    from seismo.formats.timeline import Timeline
    from seismo.model import Recording
    from seismo.model.timeline.hosts import Host

    WritePart = Callable[[Recording, Timeline, ByteSink, int], None]


def write_archive(
    recording: Recording, found: Timeline, systems: Sequence[Host], file: ByteSink, write_part: WritePart
) -> None:
    """Writes the tracks of each system as a file of an archive. write_part: writes such a file."""
    of = recording.threads["process"]
    names = [f"{number}-{_file_name(host.name)}.pftrace" for number, host in enumerate(systems, 1)]
    with tarfile.open(fileobj=cast("IO[bytes]", file), mode="w|", format=tarfile.USTAR_FORMAT) as archive:
        manifest = json_text(_manifest(systems, names)).encode()
        _add(archive, "perfetto_manifest.json", io.BytesIO(manifest), len(manifest))
        for number, (host, name) in enumerate(zip(systems, names, strict=True)):
            own = set(host.processes)
            part = found._replace(tracks=[track for track in found.tracks if of[track.thread] in own])
            with tempfile.TemporaryFile() as content:
                write_part(recording, part, content, number)
                size = content.tell()
                content.seek(0)
                _add(archive, name, content, size)


def _manifest(systems: Sequence[Host], names: Sequence[str]) -> dict[str, object]:
    files: list[dict[str, object]] = []
    attributes: dict[str, object] = {}
    for host, name in zip(systems, names, strict=True):
        entry: dict[str, object] = {"path": name, "machine": {"name": escape(host.name)}}
        if files:
            reference = {"file": names[0], "clock": "BOOTTIME"}
            entry["clocks"] = {"clock": "BOOTTIME", "sync_to": reference, "offset_ns": 0}
            bound = apart_ns(systems[0], host)
            attributes[f"seismo.clock_bound_ns.{name}"] = bound or "unknown"
        files.append(entry)
    trace_time = {"clock": "BOOTTIME", "file": names[0]}
    return {"perfetto_manifest": {"version": 1, "trace_time": trace_time, "files": files, "attributes": attributes}}


def _file_name(name: str) -> str:
    """A host's name as a part of a file's name."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "_" for char in name)[:60]


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = size
    archive.addfile(entry, content)
