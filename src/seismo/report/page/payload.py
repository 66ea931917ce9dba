"""The data of a page: a head of names and facts, and columns of numbers, as text that a page can hold.

The bytes are "seis", the length of the head (u32), the head as JSON, then the columns, each at a multiple of 8. The
head has the name, type and length of each. All numbers are little-endian. The bytes of a column are in *planes*, all
lowest bytes first. These deflate to half the size, since neighbours are alike in their high bytes only. The whole is
deflated and written as base64, which has no character with a meaning to a browser's parser. web/src/data/payload.ts
reads it.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from array import array
from typing import TYPE_CHECKING, Any

from seismo.escape import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Columns = dict[str, tuple[str, array[Any]]]  # by name: the type and the numbers

# Types of columns, and their codes for an array on this machine.
CODES = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "f32": "f", "f64": "d"}
LONGEST = 400  # most characters of a name, a path or a line in a page
_CUT = "…"
_MOST = {"u8": 0xFF, "u16": 0xFFFF, "u32": 0xFFFF_FFFF}
_LARGEST_F32 = 3e38


def shown(text: str, longest: int = LONGEST) -> str:
    """Return a name for a page: every character visible, and a very long one cut in the middle."""
    if len(text) > 4 * longest:  # do not escape megabytes to show a line of them
        text = text[: 2 * longest] + text[-2 * longest :]
    text, half = printable(text), (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:half]}{_CUT}{text[-half:]}"


def shown_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines of a source for a page: tabs as blanks, nothing invisible, very long ones cut in the middle."""
    if lines and not lines[-1]:
        lines = lines[:-1]  # the empty text after the last line's end is no line
    return [shown(line[: 4 * LONGEST].expandtabs()) for line in lines]


def shown_facts(facts: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return facts for a page: their labels and sentences."""
    return [[label, shown(sentence, 2_000)] for label, sentence in facts]


def counts(values: Iterable[int]) -> tuple[str, array[Any]]:
    """Return whole numbers from 0 as the smallest column that holds them, exact below 2^53."""
    listed = list(values)
    largest = max(listed, default=0)
    code = next((code for code, most in _MOST.items() if largest <= most), "f64")
    return code, array(CODES[code], listed if code != "f64" else map(float, listed))


def singles(values: Iterable[float]) -> tuple[str, array[float]]:
    """Return numbers as a column with seven digits."""
    return "f32", array("f", (min(value, _LARGEST_F32) for value in values))


def integers(values: Iterable[int]) -> tuple[str, array[int]]:
    """Return whole numbers of 32 bits, which may be negative, as a column."""
    return "i32", array("i", values)


def doubles(values: Iterable[float]) -> tuple[str, array[float]]:
    """Return numbers as a column of full precision."""
    return "f64", array("d", values)


def packed(head: Mapping[str, object], columns: Columns) -> str:
    """Return the head and the columns as text. columns: (type, numbers) by name. The head's text must be escaped."""
    return base64.b64encode(zlib.compress(laid_out(head, columns), 9)).decode("ascii")


def laid_out(head: Mapping[str, object], columns: Mapping[str, tuple[str, array[Any]]]) -> bytes:
    """Return the head and the columns as bytes, which a server can send as they are."""
    listed = [{"name": name, "type": code, "length": len(values)} for name, (code, values) in columns.items()]
    text = json.dumps({**head, "columns": listed}, separators=(",", ":"), allow_nan=False).encode()
    pieces = [b"seis", len(text).to_bytes(4, "little"), text]
    size = 8 + len(text)
    for code, values in columns.values():
        if values.typecode != CODES[code]:
            raise TypeError(f"a column of {code} is an array of {CODES[code]}, not of {values.typecode}")
        pieces.append(bytes(-size % 8))
        plain = _planes(values)
        pieces.append(plain)
        size += len(pieces[-2]) + len(plain)
    return b"".join(pieces)


def _planes(values: array[Any]) -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    data = values.tobytes()
    width = values.itemsize
    return b"".join(data[plane::width] for plane in range(width))
