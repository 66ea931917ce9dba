"""What every format is made of: its entry in the registry, bounded reading, buffered writing.

A writer takes a recording and a file open for bytes; it never sees a path, so that the care about half-written
outputs stands in one place (destination.py). A reader takes the whole content as bytes, for a profile that another tool
wrote fits in memory or is refused, and raises ValueError with the reason when the content is not what it should be.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, Protocol, Self

from seismo import recording_kinds
from seismo.errors import FormatError, RecordingError, did_you_mean
from seismo.recording_kinds import CALLS, shown_as

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from seismo.model import Recording

MAX_BYTES = 1 << 30
"""The largest content that is read, packed or unpacked: a file that has more is refused and fills no memory."""

MAX_RATIO = 100
"""How many times its size a packed file may unpack to, unless that is little: profiles come to about ten times."""

MIN_UNPACKED = 1 << 23
"""What a packed file may unpack to however small it is."""

_STEP = 1 << 20

MAX_VALUE = 1 << 60
"""The largest count or time (in ns: 36 years) that is believed; sums of some of them still fit in 64 bits."""

MAX_LINE = 1 << 24
"""The largest number of a line that is believed: no source is longer, and sets of lines are kept as bits."""

MAX_REBUILT = 1 << 19
"""The most nodes of a tree that is rebuilt from pairs of caller and callee, beyond one for each pair."""

MAX_NODES = 1 << 22
"""The most nodes, pairs of caller and callee, or lines and arcs, that a file is turned into: parts of a file that refer
to one another can stand for far more than the file is long."""

MAX_DEPTH = 1024
"""The most frames of a stack that are written out one by one."""

WEIGHTS = ("births", "bytes", "survivors")
"""What stacks of objects can be weighted by: how many were born, their bytes, how many were alive at the end."""


class ByteSink(Protocol):
    """What a writer needs of a file."""

    def write(self, data: bytes, /) -> object:
        """Takes all of `data`."""


@dataclass(frozen=True, slots=True)
class Format:
    """One entry of the registry.

    `suffixes` are what file names end with, in lower case and with their dot; `prefixes` what they begin with, for
    tools that put a number at the end. `lost` says what of a recording the format cannot hold, `kept` what reading
    returns. `of` are the kinds of recordings that it is for; empty for one that holds all kinds. `needs_sources`:
    writing reads the recorded program's sources as well. `weighed` are writers for kinds whose stacks can be weighted
    by one of WEIGHTS, instead of `writer`. `mark` is what the beginning of each file of ours has; empty: nothing.
    `tells_losses`: what the recording lacks is in the file.
    `of_traces`: it holds what happened when, which only a trace says. `most_calls`: of a trace, so many are written at
    most, and the beginning of a longer one; 0: it does not hold calls in time.
    `counts`: it holds numbers of calls, and so is of use for a recording without times.
    `all_times`: it holds the times of the wall with what of them was waiting, not one of the two.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    binary: bool
    writer: Callable[[Recording, ByteSink], None]
    reader: Callable[[bytes], Recording] | None
    lost: str
    kept: str = ""
    prefixes: tuple[str, ...] = ()
    of: tuple[str, ...] = (CALLS,)
    needs_sources: bool = False
    weighed: Mapping[str, Callable[[Recording, ByteSink, str], None]] = field(default_factory=dict)
    mark: bytes = b""
    tells_losses: bool = False
    all_times: bool = False
    counts: bool = False
    of_traces: bool = False
    most_calls: int = 0

    def timed(self, recording: Recording, time: str | None) -> Recording:
        """The recording with the times to write. time: as formats.write() has it. FormatError: it does not apply."""
        has_times = bool(recording_kinds.entry(recording.kind).times)
        if time is None:
            if not has_times:
                return recording  # itself, with the settings that it is to be written by
            if self.all_times:
                return recording.timed("wall")
            if recording.times != "wall":
                return recording
        else:
            if self.all_times:
                raise FormatError(f"{self.name} files have all times: of the wall, and what of them was waiting")
            if not has_times:
                what = recording_kinds.entry(recording.kind).of
                raise FormatError(f"there is no choice of times in a recording of {what}")
        return recording.timed(time or "wall")

    def write(self, recording: Recording, file: ByteSink, weight: str = "") -> None:
        """Writes all of the recording that the format can hold to a file that is open for bytes.

        weight: one of WEIGHTS, for stacks of objects; the first if none is given. FormatError: the recording is of
        another kind, such as calls for a format of coverage, or there is nothing that could have such a weight.
        """
        kind = shown_as(recording.kind)
        if not self.holds(kind):
            self._refuse(kind)
        if self.of_traces and not recording.calls:
            raise FormatError(
                f"{self.name} files hold what happened when, and this recording does not say",
                hint=f"seismo trace records it; formats for this recording: {', '.join(_names(kind))}",
            )
        if recording.timeless and self.of and not self.counts:
            raise FormatError(
                f"{self.name} files hold times, and this recording was made without any",
                hint="formats that hold calls: collapsed-calls, json, callgrind, pprof, pstats",
            )
        weighed = self.weighed.get(kind)
        if weight and (weighed is None or weight not in WEIGHTS):
            raise FormatError(
                f"a {self.name} file of this recording cannot be weighted by {weight}",
                hint=did_you_mean(weight, WEIGHTS)
                + f"stacks of a recording of objects can, by {', '.join(WEIGHTS)}: collapsed, speedscope",
            )
        if weighed is not None:
            weighed(recording, file, weight or WEIGHTS[0])
        else:
            self.writer(recording, file)

    def _refuse(self, kind: str) -> NoReturn:
        """Says which formats there are instead."""
        wanted = recording_kinds.KINDS[self.of[0]]
        what = recording_kinds.KINDS[kind].of if kind in recording_kinds.KINDS else kind
        raise FormatError(
            f"{self.name} files hold {wanted.of}, and this is a recording of {what}",
            hint=f"seismo {wanted.verb} records {wanted.of}; formats for this recording: {', '.join(_names(kind))}",
        )

    def cut_ns(self, recording: Recording) -> int | None:
        """Where a trace is cut that has more calls than are written, in ns from its start; None: nowhere."""
        if not self.most_calls or not recording.calls:
            return None
        from seismo.formats.trace_tracks import cut_ns

        return cut_ns(recording, self.most_calls)

    def holds(self, kind: str) -> bool:
        """Whether recordings of this kind can be written."""
        return not self.of or shown_as(kind) in self.of

    def read(self, path: str) -> Recording:
        """Reads a file of this format. FormatError: it cannot be opened, is too large, or is not of this format.

        A damaged file of seismo itself is a RecordingError.
        """
        if self.reader is None:
            raise FormatError(f"{self.name} files are written, but not read", path, f"files that are read: {_read()}")
        data = read_bytes(path)
        try:
            return self.reader(data)
        except RecordingError as error:  # of seismo's own files
            raise RecordingError(error.what, path, error.hint) from None
        except (ValueError, RecursionError) as error:
            raise FormatError(f"this is not a {self.name} file that can be read: {error}", where=path) from error


def _names(kind: str) -> list[str]:
    from seismo.formats import names

    return names(kind)


def _read() -> str:
    from seismo.formats import FORMATS

    return ", ".join(format_.name for format_ in FORMATS if format_.reader is not None)


def read_bytes(path: str) -> bytes:
    """The content of a file of at most MAX_BYTES. FormatError says why it cannot be had."""
    try:
        with open(path, "rb") as file:
            too_large = os.fstat(file.fileno()).st_size > MAX_BYTES
            data = b"" if too_large else file.read(_STEP)
            while len(data) <= MAX_BYTES and data and (more := file.read(len(data))):  # no room for what is not there
                data += more
    except OSError as error:
        raise FormatError(f"the file cannot be read: {error.strerror or error}", where=path) from error
    if too_large or len(data) > MAX_BYTES:
        raise FormatError(f"the file is larger than {MAX_BYTES >> 20} MiB, which is more than is read", where=path)
    return data


def unzip(data: bytes) -> bytes:
    """The content of a gzip stream. ValueError: damaged, cut short, or a bomb: too large, or packed too well."""
    most = min(MAX_BYTES, max(MIN_UNPACKED, MAX_RATIO * len(data)))
    content = bytearray()
    while data:  # a gzip file may have several members
        stream = zlib.decompressobj(wbits=31)
        while not stream.eof:
            try:
                part = stream.decompress(data, _STEP)
            except zlib.error as error:
                raise ValueError(f"the gzip stream is damaged ({error})") from error
            data = stream.unconsumed_tail
            content += part
            if len(content) > most:
                raise ValueError(f"it unpacks to more than {most >> 20} MiB")
            if not part and not data and not stream.eof:
                raise ValueError("the gzip stream is cut short")
        data = stream.unused_data.lstrip(b"\0")  # members may be padded
    return bytes(content)


def whole(value: object, what: str) -> int:
    """`value` as a count or a time in ns. ValueError unless it is a number from 0 to MAX_VALUE."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} is no number")  # noqa: TRY004 - what is wrong is the file, not an argument's type
    if not 0 <= value <= MAX_VALUE:  # false for NaN too
        raise ValueError(f"{what} is not between 0 and 2**60")
    return round(value)


def number(value: float) -> int:
    """A time of a recording as whole ns, for formats that have no fractions."""
    return round(value) if 0 < value < MAX_VALUE else 0  # also when it is not a number


class TextSink:
    """Collects pieces of text and writes them as UTF-8 in large blocks. Used as a context manager."""

    def __init__(self, file: ByteSink) -> None:
        self._file = file
        self._pieces: list[str] = []
        self._held = 0

    def write(self, text: str) -> None:
        """Takes a piece; it may be written later."""
        self._pieces.append(text)
        self._held += len(text)
        if self._held > 1 << 18:
            self.flush()

    def flush(self) -> None:
        """Writes what is held."""
        self._file.write("".join(self._pieces).encode())
        self._pieces.clear()
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.flush()
