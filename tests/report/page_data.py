"""The data of a page, read by a second reader."""

import base64
import json
import struct
import zlib
from html.parser import HTMLParser

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


class Elements(HTMLParser):
    """The elements of a page, with their attributes and texts."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.found = []
        self.open = False
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])
        self.open = True

    def handle_endtag(self, tag):
        self.open = False

    def handle_data(self, data):
        if self.open:
            self.found[-1][2] += data

    def all(self, tag):
        return [(given, text) for name, given, text in self.found if name == tag]


def data_of(source):
    ((_, text),) = [one for one in Elements(source).all("script") if one[0].get("id") == "seismo-data"]
    return unpacked(text)
