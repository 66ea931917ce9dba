"""The data of a page, read by a second reader."""

import base64
import json
import struct
import zlib

SIZES = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "f32": "f", "f64": "d"}


def unpacked(text):
    """Head and columns of a page, by a second reader."""
    return read(zlib.decompress(base64.b64decode(text, validate=True)))


def read(data):
    """The same, from the bytes that a server sends."""
    assert data[:4] == b"seis"
    at = 8 + int.from_bytes(data[4:8], "little")
    head = json.loads(data[8:at])
    columns = {}
    for column in head["columns"]:
        at += -at % 8
        code = SIZES[column["type"]]
        width, length = struct.calcsize(code), column["length"]
        planes = [data[at + plane * length : at + (plane + 1) * length] for plane in range(width)]
        columns[column["name"]] = list(
            struct.unpack(f"<{length}{code}", bytes(byte for row in zip(*planes, strict=True) for byte in row))
        )
        at += width * length
    assert at == len(data)
    return head, columns
