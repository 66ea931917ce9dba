"""The formats of other tools' files: written from a recording, and read into one if they hold enough.

    write(recording, "app.pstats")                    the format follows from the suffix
    write(recording, "out.txt", format="callgrind")   or from its name
    recording = read("app.speedscope.json")
    for format in FORMATS: print(format.name, format.suffixes, format.lost)

Each format is a module with a `Format` and an entry in FORMATS. docs/formats.md lists what each format keeps.
"""

from __future__ import annotations

import gzip
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from seismo import model, progress
from seismo.errors import FormatError, did_you_mean
from seismo.formats import (
    callgrind,
    chrome,
    cobertura,
    collapsed,
    coverage_data,
    coverage_json,
    destination,
    firefox,
    json,
    lcov,
    otlp,
    perfetto,
    pprof,
    pstats,
    seismo,
    speedscope,
)
from seismo.formats.base import WEIGHTS, Format
from seismo.model.recording import begins

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from seismo.coverage.coverage_report import CoverageReport
    from seismo.model import Recording

__all__ = [
    "FORMATS",
    "WEIGHTS",
    "Format",
    "FormatError",
    "by_name",
    "by_path",
    "by_start",
    "for_path",
    "names",
    "read",
    "read_any",
    "write",
]

FORMATS: tuple[Format, ...] = (
    pstats.FORMAT,
    callgrind.FORMAT,
    collapsed.FORMAT,
    collapsed.LONG,
    collapsed.CALLS,
    speedscope.FORMAT,
    chrome.FORMAT,
    perfetto.FORMAT,
    firefox.FORMAT,
    pprof.FORMAT,
    otlp.FORMAT,
    json.FORMAT,
    coverage_data.FORMAT,
    coverage_json.FORMAT,
    lcov.FORMAT,
    cobertura.FORMAT,
    seismo.FORMAT,
)


PAGES = ("html", "htm", "svg", "flamegraph")  # formats that users ask for, and that are reports


def by_name(name: str) -> Format:
    """Return the format of that name. Raise FormatError, which lists the known ones."""
    wanted = name.lower().removeprefix(".")
    for format_ in FORMATS:
        if format_.name == wanted or f".{wanted}" in format_.suffixes:
            return format_
    if wanted in PAGES:
        hint = "pages, with a flame graph, are written by: seismo report FILE --html OUT; "
    else:
        hint = did_you_mean(wanted, [format_.name for format_ in FORMATS])
    hint += f"known are: {_known()}"
    raise FormatError(f"there is no format {name!r}", hint=hint)


def by_path(path: str) -> Format | None:
    """Return the format for the name of a file, or None if it matches none.

    The longest suffix wins, so `x.speedscope.json` is speedscope's. `callgrind.out.123` is recognized by its prefix.
    For a suffix of two parts, the file may be named like the suffix without its first dot: `coverage.json`.
    """
    name = os.path.basename(path).lower()
    format_of = {suffix: format_ for format_ in FORMATS for suffix in format_.suffixes}
    found = [one for one in format_of if name.endswith(one) or (f".{name}" == one and one.count(".") > 1)]
    if found:
        return format_of[max(found, key=len)]
    return next((format_ for format_ in FORMATS if format_.prefixes and name.startswith(format_.prefixes)), None)


def by_start(start: bytes) -> Format | None:
    """Return the format of a file by its first bytes, whatever its name, or None."""
    if start.startswith(coverage_data.MAGIC):
        return coverage_data.FORMAT
    return cobertura.FORMAT if start.lstrip().startswith(b"<") and b"<coverage" in start else None


def read_any(path: str, start: bytes) -> Recording:
    """Read a recording, or another tool's file, by its first bytes (`start`) and its name. Raise SeismoError."""
    if not begins(start):
        found = by_path(path) or by_start(start)
        if found is not None:
            try:
                return found.read(path)
            except FormatError as error:
                what = f"this is neither a recording nor a {found.name} file" if error.__cause__ else error.what
                raise FormatError(what, path, error.hint or str(error.__cause__ or "")) from None
    return model.read(path)


def for_path(path: str, kind: str | None = None, trace: bool = False) -> Format:
    """Return the format for the name of a file. Raise FormatError, which lists the formats, if it matches none."""
    found = by_path(path)
    if found is None:
        hint = f"name one of: {_known(kind, trace)}"
        if path.lower().endswith((".html", ".htm")):
            hint = "pages are written by seismo report FILE --html OUT, and in a program by the session's html()"
        raise FormatError("no format is known for this file name", where=path, hint=hint)
    return found


def names(kind: str | None = None, trace: bool = False) -> list[str]:
    """Return the names of the formats, in the order of FORMATS, optionally only those for a kind of recording.

    trace: True if the recording of that kind is a trace
    """
    of_kind = (one for one in FORMATS if kind is None or (one.holds(kind) and (trace or not one.of_traces)))
    return [format_.name for format_ in of_kind]


def write(
    recording: Recording,
    target: str | os.PathLike[str] | SupportsWrite[Any] | None,
    format: str | None = None,  # noqa: A002
    weight: str = "",
    time: str | None = None,
    report: CoverageReport | None = None,
) -> None:
    """Write a recording in another tool's format.

    target: a path, "-" or None for standard output, or an open file (of text, too, unless the format is binary). A path
    gets the complete content or is left unchanged.
    format: the name of a format; by default it follows from the path
    weight: the weight of stacks of objects, one of WEIGHTS
    time: the times of calls and lines to write: "wall" (elapsed, the default), "cpu" (running) or "wait"
    report: of coverage, the recording compared with the sources; by default by the settings that it carries

    Raise FormatError if the format is unknown or the target cannot be written.
    """
    path = os.fspath(target) if isinstance(target, str | os.PathLike) else "-"
    if format is None and path == "-":
        raise FormatError(
            "the format is missing, and there is no file name that it follows from",
            hint=f"name one of: {_known(recording.kind, bool(recording.calls))}",
        )
    chosen = by_name(format) if format else for_path(path, recording.kind, bool(recording.calls))
    progress.begin(f"writing {chosen.name}")
    recording = chosen.timed(recording, time)
    with ExitStack() as stack:
        file: Any
        if path != "-":
            file = stack.enter_context(destination.into_path(path))
            if path.lower().endswith(".json.gz"):
                file = stack.enter_context(gzip.GzipFile("", "wb", 6, file, 0))
        elif target is None or isinstance(target, str | os.PathLike):
            file = destination.standard_output(chosen.binary, chosen.name)
        else:
            file = target
        chosen.write(recording, file, weight, report)


def read(path: str | os.PathLike[str], format: str | None = None) -> Recording:  # noqa: A002
    """Read another tool's file into a recording. Raise FormatError if the format is unknown or the file is invalid.

    Assumptions and reconstructions (missing calls, paths rebuilt from callers) are listed in `recording.losses`.
    """
    name = os.fspath(path)
    return (by_name(format) if format else for_path(name)).read(name)


def _known(kind: str | None = None, trace: bool = False) -> str:
    """Return the formats that names() selects as text, with their suffixes."""
    known = map(by_name, names(kind, trace))
    return ", ".join(
        f"{format_.name} ({' '.join(format_.suffixes)})" if format_.suffixes else format_.name for format_ in known
    )
