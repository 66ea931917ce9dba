"""Tables on their way to the browser: a head in JSON, then the columns as typed arrays, which it takes as they are.

    4 bytes   length of the head, little-endian
    head      JSON: {"info": {...}, "columns": {name: [type, count, offset]}}, with blanks up to a multiple of 8
    columns   one after the other, little-endian, each at a multiple of 8 bytes from the end of the head

The types are those of struct and array: "d" a float of 64 bits, "i" and "I" integers of 32, "B" of 8. Times are floats:
they are exact up to 104 days in nanoseconds, and JavaScript's integers of 64 bits are slow.
"""

from __future__ import annotations

import array
import json
import struct
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MEDIA_TYPE = "application/vnd.seismo.columns"


def packed(info: Mapping[str, Any], columns: Mapping[str, tuple[str, Iterable[Any]]]) -> bytes:
    """The table as bytes. columns: by name, their type and values."""
    places: dict[str, tuple[str, int, int]] = {}
    parts: list[bytes] = []
    at = 0
    for name, (code, values) in columns.items():
        column = array.array(code, values)
        if sys.byteorder == "big":
            column.byteswap()
        content = column.tobytes()
        content += bytes(-len(content) % 8)
        places[name] = (code, len(column), at)
        parts.append(content)
        at += len(content)
    head = json.dumps({"info": info, "columns": places}, separators=(",", ":"), allow_nan=False).encode()
    head += b" " * (-(len(head) + 4) % 8)
    return b"".join((struct.pack("<I", len(head)), head, *parts))
