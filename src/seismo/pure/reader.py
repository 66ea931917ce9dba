"""The reader, first half: chunks and their contents. seismo.pure.check makes the result sound.

native/file/reader.c explains the rules; both keep and report the same of a damaged file. Nothing in the file is
trusted: each length is compared with the bytes that are left, and a row takes at least one of them.
"""

from __future__ import annotations

import array
import re
import struct
import zlib
from typing import Any

from seismo.errors import RecordingError
from seismo.pure.check import made_sound
from seismo.pure.numbers import MalformedError, ints, signed, uvarint, uvarints
from seismo.pure.tables import REAL, TABLES

MAGIC = b"\x8fseismo\n"
VERSION = 2
FILE_HEADER, CHUNK_HEADER = 16, 12  # bytes
MOST_PROBLEMS = 100
_LONGEST_PROBLEM = 119  # characters
_FREE_IDS = 1 << 16
_MOST_IDS = 2**31 - 1
_RUNS, _DELTA, _F64 = 4, 1, 2  # encodings of columns
_BEHIND = 1  # flag of the header
_JOURNAL = {b"JRNL": "journal", b"LEVL": "levels", b"LONG": "longest", b"HEAD": "heads"}
_DEFERRED = (b"JRNL", b"LEVL")  # chunks whose checksums are verified when they are used
_KNOWN = re.compile(rb"(?=META|STRS|TABL|END |JRNL|LEVL|LONG|HEAD)")


class RawTable:
    """A table while it is read: columns of values by row, and the row of each id in the file."""

    def __init__(self, kinds: dict[str, str]) -> None:
        self.kinds = kinds
        self.columns = {name: array.array("d" if kind == REAL else "q") for name, kind in kinds.items()}
        self.row_of: dict[int, int] = {}
        self.ids = 0  # the largest id + 1
        self.is_written = False  # True if the file has a chunk of it

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.columns["id"])

    def __getitem__(self, name: str) -> array.array[Any]:
        return self.columns[name]

    def keep(self, rows: list[int]) -> None:
        """Keep only these rows, in this order, and renumber them."""
        for name, column in self.columns.items():
            self.columns[name] = array.array(column.typecode, map(column.__getitem__, rows))
        new = {row: place for place, row in enumerate(rows)}
        self.row_of = {number: new[row] for number, row in self.row_of.items() if row in new}
        self.columns["id"] = array.array("q", range(len(rows)))


class RawRecording:
    """The contents of a file."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.size = len(data)
        self.finished = False
        self.string_offsets = array.array("q", [0, 0])  # string 0 is empty
        self.string_data = bytearray()
        self.meta: list[str] = []
        self.tables = {name: RawTable(kinds) for name, kinds in TABLES.items()}
        self.places: dict[str, list[int]] = {name: [] for name in _JOURNAL.values()}
        self.problems: list[tuple[int, str]] = []

    @property
    def strings(self) -> int:
        """Return the number of strings."""
        return len(self.string_offsets) - 1

    def problem(self, offset: int, text: str) -> None:
        """Report a problem at an offset in the file."""
        self.problems.append((offset, text[:_LONGEST_PROBLEM]))

    def add_string(self, text: bytes | memoryview) -> int:
        """Add a string and return its number."""
        self.string_data += text
        self.string_offsets.append(len(self.string_data))
        return self.strings - 1


def read(data: Any) -> dict[str, Any]:
    """Return the contents of a recording's bytes, as `seismo._core.read` of the native core does.

    Raise ValueError if they are not a recording, or one of another version.
    """
    view = memoryview(data).cast("B")
    if view[:8] != MAGIC:
        raise ValueError("this is not a seismo recording: it does not begin like one")
    version = VERSION if len(view) < FILE_HEADER else int.from_bytes(view[8:10], "little")
    if version == 1:
        what = "this recording has the format of the first seismo, which only the native core reads"
        raise RecordingError(what, hint="convert it where that is installed: seismo merge OLD -o NEW")
    if version != VERSION:
        raise ValueError(f"this recording has format version {version}, and this seismo reads versions 1 to {VERSION}")
    found, behind = RawRecording(view), False
    sound = dict.fromkeys(("nodes", "threads"), 0)
    if len(view) < FILE_HEADER:
        found.problem(len(view), "cut off in its header")
    else:
        behind = bool(int.from_bytes(view[10:12], "little") & _BEHIND)
        _read_chunks(found)
        sound = made_sound(found)
    more = len(found.problems) - MOST_PROBLEMS
    problems = found.problems[:MOST_PROBLEMS] + [(0, f"and {more} more problems")] * (more > 0)
    return {
        "string_offsets": memoryview(found.string_offsets),
        "string_data": bytes(found.string_data),
        "version": version,
        "finished": found.finished,
        "behind": behind,
        "meta": found.meta,
        "problems": problems,
        **{name: ints(places) for name, places in found.places.items()},
        "sound": sound,
        "tables": {
            name: {
                "rows": table.rows,
                **{column: memoryview(values).toreadonly() for column, values in table.columns.items()},
            }
            for name, table in found.tables.items()
        },
    }


# ---- chunks ----


def _frame(data: memoryview, offset: int) -> tuple[bytes, int] | None:
    """Return the kind and the end of the chunk that seems to be at the offset, or None if it does not fit the file."""
    begin = offset + CHUNK_HEADER
    if begin > len(data):
        return None
    length, kind = struct.unpack_from("<I4s", data, offset)
    return (kind, begin + length) if begin + length <= len(data) else None


def _is_chunk(data: memoryview, offset: int) -> bool:
    """Return True if a whole chunk with a valid checksum is at the offset."""
    frame = _frame(data, offset)
    if frame is None:
        return False
    payload = data[offset + CHUNK_HEADER : frame[1]]
    return zlib.crc32(payload, zlib.crc32(frame[0])) == int.from_bytes(data[offset + 8 : offset + 12], "little")


def _is_piece(data: memoryview, offset: int) -> bool:
    """Return True if a piece or a sheet seems to be there."""
    frame = _frame(data, offset)
    if frame is None or frame[0] not in _DEFERRED:
        return False
    end = frame[1]
    return end == len(data) or (_KNOWN.match(data, end + 4) is not None and _frame(data, end) is not None)


def _search(data: memoryview, offset: int) -> int:
    """Return the offset of the next chunk after damage, or the end of the file."""
    wasted = 0
    for match in _KNOWN.finditer(data, offset + 4):
        at = match.start() - 4
        frame = _frame(data, at)
        if frame is None:
            continue
        if _is_chunk(data, at):
            return at
        wasted += frame[1] - at - CHUNK_HEADER
        if wasted // 4 > len(data):
            break
    return len(data)


def _read_chunks(found: RawRecording) -> None:
    data, offset = found.data, FILE_HEADER
    listed = _listed(data)
    for kind, begin, end in listed:
        _read_chunk(found, kind, begin, end)
    if listed:
        found.finished = True
        return
    while offset < found.size:
        frame = _frame(data, offset)
        if frame is None or not (_is_piece(data, offset) or _is_chunk(data, offset)):
            following = _search(data, offset + 1)
            found.finished = False
            if following < found.size:
                found.problem(offset, f"damaged: {following - offset} bytes are left out")
            else:
                left = found.size - offset
                found.problem(offset, f"cut off or damaged here: the last {left} bytes are left out")
            offset = following
            continue
        kind, end = frame
        _read_chunk(found, kind, offset, end)
        offset = end


def _listed(data: memoryview) -> list[tuple[bytes, int, int]]:
    """Return the chunks of the directory at the end (kind, begin, end), or nothing if it does not fit the file."""
    last, begins, kinds = int.from_bytes(data[-8:], "little"), [0], []
    if last < FILE_HEADER or last > len(data) - CHUNK_HEADER - 9 or not _is_just(data, b"END ", last, len(data)):
        return []
    at, end = last + CHUNK_HEADER, len(data) - 8
    try:
        count, at = uvarint(data, at, end)
        for _ in range(min(count, len(data))):
            kind, at = uvarint(data, at, end, 2**32 - 1)
            distance, at = uvarint(data, at, end, last - begins[-1])
            begins.append(begins[-1] + distance)
            kinds.append(kind.to_bytes(4, "little"))
    except MalformedError:
        return []
    chunks = list(zip(kinds, begins[1:], [*begins[2:], last], strict=True))
    fits = all(
        stop - begin >= CHUNK_HEADER and (kind in _DEFERRED or _is_just(data, kind, begin, stop))
        for kind, begin, stop in chunks
    )
    return chunks if at == end and chunks and begins[1] == FILE_HEADER and fits else []


def _is_just(data: memoryview, kind: bytes, offset: int, end: int) -> bool:
    return _frame(data, offset) == (kind, end) and _is_chunk(data, offset)


def _read_chunk(found: RawRecording, kind: bytes, offset: int, end: int) -> None:
    at = offset + CHUNK_HEADER
    found.finished = kind == b"END "
    try:
        if kind == b"META":
            found.meta.append(str(found.data[at:end], "utf-8", "replace"))
        elif kind == b"STRS":
            _read_strings(found, at, end)
        elif kind == b"TABL":
            _read_table(found, offset, bytes(found.data[at:end]))
        elif kind in _JOURNAL:
            pieces = [len(found.places["journal"]) // 2] if kind == b"HEAD" else []
            found.places[_JOURNAL[kind]] += [at, end - at, *pieces]
    except MalformedError:
        found.problem(offset, "the contents of a chunk make no sense; it is left out")


def _read_strings(found: RawRecording, at: int, end: int) -> None:
    data = found.data
    first, at = uvarint(data, at, end)
    count, at = uvarint(data, at, end, end - at)
    if count > end - at or first < found.strings or first > found.size:
        raise MalformedError
    texts = []
    for _ in range(count):
        length, at = uvarint(data, at, end)
        if length > end - at:
            raise MalformedError
        texts.append(data[at : at + length])
        at += length
    found.string_offsets.extend([len(found.string_data)] * (first - found.strings))
    for text in texts:
        found.add_string(text)


# ---- tables ----


def _read_table(found: RawRecording, offset: int, data: bytes) -> None:
    end = len(data)
    if not data:
        raise MalformedError
    if data[0] >= len(found.tables):
        return  # a table of a later version
    table = list(found.tables.values())[data[0]]
    kinds = list(table.kinds.values())
    rows, at = uvarint(data, 1, end)
    present, at = uvarint(data, at, end)
    rows = min(rows, 1) if present == 0 else rows  # rows without columns are identical
    if rows > end:
        raise MalformedError
    values: list[list[Any]] = [[0] * rows for _ in kinds]
    for _ in range(present):
        if end - at < 2:
            raise MalformedError
        column, encoding = data[at : at + 2]
        length, at = uvarint(data, at + 2, end)
        if length > end - at:
            raise MalformedError
        if column < len(values):
            values[column] = _decoded(data[at : at + length], rows, encoding, kinds[column] == REAL)
        at += length
    if at != end:
        raise MalformedError
    _place(found, table, values, offset)


def _decoded(data: bytes, rows: int, encoding: int, is_real: bool) -> list[Any]:
    base, at, end = encoding & ~_RUNS, 0, len(data)
    if base > _F64 or is_real != (base == _F64):
        raise MalformedError
    numbers: list[Any] = []
    while len(numbers) < rows:
        left = rows - len(numbers)
        zeros, others = 0, left
        if encoding & _RUNS:
            zeros, at = uvarint(data, at, end, left)
            others, at = uvarint(data, at, end, left - zeros)
            if zeros + others == 0:
                raise MalformedError
        numbers += [0] * zeros
        if base == _F64:
            if end - at < 8 * others:
                raise MalformedError
            numbers += struct.unpack_from(f"<{others}d", data, at)
            at += 8 * others
        else:
            if others > end - at:
                raise MalformedError
            more, at = uvarints(data, at, end, others)
            numbers += more
    if at != end:
        raise MalformedError
    if base == _DELTA:
        value = 0
        for i, change in enumerate(numbers):
            value = value + ((change >> 1) ^ -(change & 1)) & 2**64 - 1
            numbers[i] = value
    return numbers if base == _F64 or max(numbers, default=0) < 2**63 else list(map(signed, numbers))


def _place(found: RawRecording, table: RawTable, values: list[list[Any]], offset: int) -> None:
    """Store the rows of a chunk by their ids: a later row replaces an earlier one."""
    others = sum(other.ids for other in found.tables.values() if other is not table)
    limit = min(found.size + _FREE_IDS - others, _MOST_IDS)
    table.is_written = True
    fresh, replaced, refused = [], [], 0
    for i, number in enumerate(values[0]):
        if not 0 <= number < limit:
            refused += 1
        elif number in table.row_of:
            replaced.append((table.row_of[number], i))
        else:
            table.row_of[number] = len(table.row_of)
            table.ids = max(table.ids, number + 1)
            fresh.append(i)
    for column, more in zip(table.columns.values(), values, strict=True):
        column.extend(more if len(fresh) == len(more) else [more[i] for i in fresh])
        for row, i in replaced:
            column[row] = more[i]
    if refused:
        found.problem(offset, f"{refused} rows with impossible ids were dropped")
