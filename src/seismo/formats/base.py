"""The base of all formats: the entry in the registry, bounded reading, and buffered writing.

A writer takes a recording and a buffer of text, or of bytes if the format is binary. It never sees a path, so that only
destination.py handles incomplete outputs. A reader takes the whole content as bytes, because profiles of other tools
fit in memory or are refused. It raises ValueError with the reason if the content is invalid.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from seismo.errors import FormatError, RecordingError, did_you_mean
from seismo.formats.destination import buffer
from seismo.recording_kinds import CALLS, KINDS, entry, shown_as

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from _typeshed import SupportsWrite

    from seismo.coverage.coverage_report import CoverageReport
    from seismo.model import Recording

_T = TypeVar("_T")

# Limits of what is read. A larger file is refused before it fills the memory.
MAX_BYTES = 1 << 30  # packed or unpacked
MAX_RATIO = 100  # of unpacked to packed size, beyond MIN_UNPACKED; profiles have a ratio of about ten
MIN_UNPACKED = 1 << 23  # bytes to which any packed file may unpack, however small it is
MAX_VALUE = 1 << 60  # the largest count or time (36 years in ns), of which sums of several still fit in 64 bits
MAX_LINE = 1 << 24  # sets of lines are stored as bits, so a larger number of a line would fill the memory
MAX_REBUILT = 1 << 19  # nodes of a tree that is rebuilt from a call graph, beside one per pair of caller and callee
# Nodes, pairs of caller and callee, or lines and arcs. Parts of a file can refer to one another, so a short file can
# stand for far more data.
MAX_NODES = 1 << 22
_STEP = 1 << 20

MAX_DEPTH = 1024  # frames of a stack that are written one by one

# The units of time that pprof and speedscope files name, in ns.
UNITS = {"nanoseconds": 1, "microseconds": 1_000, "milliseconds": 1_000_000, "seconds": 1_000_000_000}

# The weights of stacks of objects: the number born, their bytes, the number alive at the end.
WEIGHTS = ("births", "bytes", "survivors")


@dataclass(frozen=True, slots=True)
class Format:
    """One entry of the registry."""

    name: str
    description: str
    suffixes: tuple[str, ...]  # endings of file names, in lower case with their dot
    # Formats of coverage also take a report, or None for one by the recording's own settings.
    writer: Callable[..., None]
    lost: str  # the data of a recording that the format cannot hold
    reader: Callable[[bytes], Recording] | None = None
    binary: bool = False
    kept: str = ""  # the data that the reader returns
    prefixes: tuple[str, ...] = ()  # starts of file names, for tools that append a number
    of: tuple[str, ...] = (CALLS,)  # the kinds of recordings that it supports, or empty for all kinds
    needs_sources: bool = False  # True if the writer reads the recorded program's sources
    # Writers by kind, instead of `writer`, for stacks with a weight of WEIGHTS.
    weighed: Mapping[str, Callable[[Recording, TextIO, str], None]] = field(default_factory=dict)
    mark: bytes = b""  # at the start of each file that seismo wrote
    lists_losses: bool = False  # True if the file lists the losses of the recording
    all_times: bool = False  # True if it holds wall times together with their waiting part
    labels: bool = False  # True if it labels call paths with host and task, so that a dataset is read with those
    counts: bool = False  # True if it holds numbers of calls, and so supports recordings without times
    of_traces: bool = False  # True if it requires a trace, because it holds events in time
    most_calls: int = 0  # of a trace that are written, from its start, or 0 if it holds no calls in time

    def timed(self, recording: Recording, time: str | None) -> Recording:
        """Return the recording with the times to write (see formats.write()), or raise FormatError."""
        kind = entry(recording.kind)
        if time is not None and self.all_times:
            raise FormatError(f"{self.name} files always have elapsed times with their waiting part")
        if time is not None and not kind.times:
            raise FormatError(f"a recording of {kind.of} has only one kind of times")
        return recording.timed(time or ("wall" if kind.times and self.all_times else recording.times))

    def write(
        self, recording: Recording, file: SupportsWrite[Any], weight: str = "", report: CoverageReport | None = None
    ) -> None:
        """Write all of the recording that the format can hold to an open file.

        weight: one of WEIGHTS, for stacks of objects, by default the first. report: as for formats.write(). Raise
        FormatError if the format does not support this kind of recording or this weight.
        """
        from seismo.formats import names

        kind = shown_as(recording.kind)
        others = f"formats for this recording: {', '.join(names(kind))}"
        if not self.holds(kind):
            wanted, what = KINDS[self.of[0]], KINDS[kind].of if kind in KINDS else kind
            raise FormatError(
                f"{self.name} files hold {wanted.of}, and this is a recording of {what}",
                hint=f"seismo {wanted.verb} records {wanted.of}; {others}",
            )
        if self.of_traces and not recording.calls:
            raise FormatError(
                f"{self.name} files hold a trace, and this recording is not one",
                hint=f"seismo trace records one; {others}",
            )
        if recording.timeless and self.of and not self.counts:
            raise FormatError(
                f"{self.name} files hold times, and this recording was made without any",
                hint="formats that hold calls: collapsed-calls, json, callgrind, pprof, otlp, pstats",
            )
        weighed = self.weighed.get(kind)
        if weight and (weighed is None or weight not in WEIGHTS):
            raise FormatError(
                f"a {self.name} file of this recording cannot be weighted by {weight}",
                hint=did_you_mean(weight, WEIGHTS)
                + f"stacks of a recording of objects can, by {', '.join(WEIGHTS)}: collapsed, speedscope",
            )
        with buffer(file, self.binary, self.name) as out:
            if weighed is not None:
                weighed(recording, out, weight or WEIGHTS[0])
            elif "coverage" in self.of:
                self.writer(recording, out, report)
            else:
                self.writer(recording, out)

    def holds(self, kind: str) -> bool:
        """Return True if recordings of this kind can be written."""
        return not self.of or shown_as(kind) in self.of

    def read(self, path: str) -> Recording:
        """Read a file of this format. Raise FormatError if it cannot be opened, is too large, or is of another format.

        A damaged file of seismo itself raises RecordingError.
        """
        if self.reader is None:
            from seismo.formats import FORMATS

            read = ", ".join(format_.name for format_ in FORMATS if format_.reader is not None)
            raise FormatError(f"{self.name} files are written, but not read", path, f"files that are read: {read}")
        data = read_bytes(path)
        try:
            return self.reader(data)
        except RecordingError as error:  # from seismo's own files
            raise RecordingError(error.what, path, error.hint) from None
        except (ValueError, RecursionError) as error:
            raise FormatError(f"this is not a {self.name} file that can be read: {error}", where=path) from error


def cut_ns(recording: Recording, most: int) -> int | None:
    """Return the time (ns from its start) up to which a trace has at most `most` calls, or None if it has no more."""
    size = 0
    for block in sorted(recording.calls.blocks, key=lambda block: block.time_ns):
        size += block.size
        if size > 2 * most:  # a call takes at least two bytes
            return max(block.time_ns, 1)
    return None


def read_bytes(path: str) -> bytes:
    """Return the content of a file of at most MAX_BYTES. Raise FormatError if it is larger or cannot be read."""
    try:
        with open(path, "rb") as file:
            too_large = os.fstat(file.fileno()).st_size > MAX_BYTES
            data = b"" if too_large else file.read(_STEP)
            while len(data) <= MAX_BYTES and data and (more := file.read(len(data))):  # does not allocate MAX_BYTES
                data += more
    except OSError as error:
        raise FormatError(f"the file cannot be read: {error.strerror or error}", where=path) from error
    if too_large or len(data) > MAX_BYTES:
        raise FormatError(f"the file is larger than {MAX_BYTES >> 20} MiB, the limit", where=path)
    return data


def unzip(data: bytes) -> bytes:
    """Return the content of a gzip stream. Raise ValueError if it is damaged, cut short, too large or a bomb."""
    most = min(MAX_BYTES, max(MIN_UNPACKED, MAX_RATIO * len(data)))
    try:
        content = gzip.GzipFile(fileobj=io.BytesIO(data)).read(most + 1)
    except EOFError:
        raise ValueError("the gzip stream is cut short") from None
    except (OSError, zlib.error) as error:
        raise ValueError(f"the gzip stream is damaged ({error})") from error
    if len(content) > most:
        raise ValueError(f"it unpacks to more than {most >> 20} MiB")
    return content


def whole(value: object, what: str) -> int:
    """Return `value` as a count or a time in ns. Raise ValueError unless it is a number from 0 to MAX_VALUE."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} is not a number")  # noqa: TRY004 - the file is invalid, not the type of an argument
    if not 0 <= value <= MAX_VALUE:  # also false for NaN
        raise ValueError(f"{what} is not between 0 and 2**60")
    return round(value)


_NAMES = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}


def checked(value: object, type_: type[_T], what: str) -> _T:
    """Return `value` if it has this type, one of JSON. Raise ValueError otherwise."""
    if type(value) is not type_:
        raise ValueError(f"{what} is not {_NAMES[type_]}")
    return value


def number(value: float) -> int:
    """Return a time of a recording as whole ns, for formats without fractions."""
    return round(value) if 0 < value < MAX_VALUE else 0  # 0 also for NaN


def separated(texts: Iterable[str], separator: str = ",\n") -> Iterator[str]:
    """Yield the texts with the separator before each but the first."""
    before = ""
    for text in texts:
        yield before + text
        before = separator
