"""A second reader of .seismo files, in plain Python, written from docs/format.md alone.

It is strict: a file that it takes is well formed. It says what is in the file, not what to make of it: rows as they
were written, in the file's order, with string indexes resolved. Run it on a file to see its chunks.
"""

import json
import struct
import sys
import zlib

MAGIC = b"\x8fseismo\n"

# number: (name, [(column, kind)]) with kind i: int64, s: string, f: float64
TABLES = {
    0: (
        "processes",
        (
            "id:i pid:i ppid:i host:s argv:s interpreter:s start_ns:i end_ns:i exit:s clock:s source:s python_inside:f"
            " python_outside:f c_inside:f c_outside:f resume_inside:f resume_outside:f piece_ns:f clock_ns:f"
            " cost_error:f waits:s boot:s boot_ns:i unix_bound_ns:i deep_ns:f"
        ),
    ),
    1: (
        "threads",
        "id:i process:i native_id:i name:s start_ns:i end_ns:i wall_ns:i cpu_ns:i main:i rest_ns:i folded:i",
    ),
    2: ("functions", "id:i kind:i module:s qualname:s file:s line:i flags:i code_bytes:i"),
    3: (
        "nodes",
        (
            "id:i parent:i thread:i function:i calls:i resumes:i exceptions:i flags:i entered:i timed:i timed_ns:i"
            " sampled:i sampled_ns:i sampled_sq:f awaits:i await_ns:i wait_ns:i wait_sq:f ready_ns:i lock_ns:i"
        ),
    ),
    4: ("losses", "id:i kind:s count:i thread:i detail:s"),
    5: (
        "lines",
        (
            "id:i function:i line:i hits:i flags:i inner_ns:f inner_var:f"
            " sampled:i sampled_ns:i sampled_sq:f awaits:i await_ns:i wait_ns:i wait_sq:f ready_ns:i lock_ns:i"
        ),
    ),
    6: ("arcs", "id:i function:i from_line:i to_line:i hits:i flags:i"),
    7: (
        "branches",
        ("id:i function:i offset:i kind:i line:i column:i end_line:i end_column:i fell:i jumped:i flags:i"),
    ),
    8: ("contexts", "id:i name:s"),
    9: ("context_hits", "id:i context:i kind:i base:i bits:i"),
    10: ("instructions", "id:i function:i offset:i line:i text:s hits:i"),
    11: ("sources", "id:i file:s path:s size:i mtime_ns:i crc:i"),
    12: (
        "types",
        (
            "id:i module:s name:s flags:i size:i item_size:i born:i died:i died_by_gc:i live:i peak:i before:i"
            " unseen:i resurrected:i item_bytes:i"
        ),
    ),
    13: (
        "objects",
        (
            "id:i type:i function:i line:i node:i flags:i born:i died:i died_by_gc:i live:i peak:i unseen:i"
            " item_bytes:i span_born:i span_died:i span_live:i"
        ),
    ),
    14: ("lifetimes", "id:i object:i unit:i bucket:i count:i"),
    15: ("object_times", "id:i time_ns:i born:i died:i"),
    16: ("object_spans", "id:i function:i first:i calls:i start_ns:i end_ns:i born:i died:i live:i process:i"),
    17: ("object_survivors", "id:i span:i object:i count:i"),
    18: ("holders", "id:i object:i parent:i flags:i count:i asked:i holder:s by:s"),
    19: ("marks", "id:i name:s time_ns:i born:i process:i"),
}


class Malformed(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Malformed(what)


class Bytes:
    """A cursor."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        need(self.at + count <= len(self.data), "cut off")
        piece = self.data[self.at : self.at + count]
        self.at += count
        return piece

    def byte(self):
        return self.take(1)[0]

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                need(value < 1 << 64, "a varint of more than 64 bits")
                return value
            need(shift < 70, "a varint of more than ten bytes")

    def done(self):
        return self.at == len(self.data)


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def chunks(data):
    """(offset, kind, payload) of each chunk."""
    need(data[:8] == MAGIC, "no seismo file")
    version, _flags, _reserved = struct.unpack("<HHI", data[8:16])
    need(version == 2, f"version {version}")
    at = 16
    while at < len(data):
        need(at + 12 <= len(data), "cut off in a chunk's header")
        length, kind, crc = struct.unpack("<I4sI", data[at : at + 12])
        payload = data[at + 12 : at + 12 + length]
        need(len(payload) == length, "cut off in a chunk's payload")
        need(zlib.crc32(kind + payload) == crc, "wrong checksum")
        yield at, kind.decode(), payload
        at += 12 + length


def column(encoding, rows, data):
    need(encoding in (0, 1, 2, 4, 5, 6), f"encoding {encoding}")
    cursor, values, total = Bytes(data), [], 0
    zeros, others = 0, rows
    while len(values) < rows:
        if encoding & 4:
            zeros, others = cursor.uvarint(), cursor.uvarint()
            need(0 < zeros + others <= rows - len(values), "a group of no rows, or of too many")
        values += [0.0 if encoding & 2 else signed(total)] * zeros
        for _ in range(others):
            if encoding & 2:
                values += struct.unpack("<d", cursor.take(8))
                continue
            value = cursor.uvarint()
            if encoding & 1:
                value = total = (total + (value >> 1 if value % 2 == 0 else ~(value >> 1))) % (1 << 64)
            values.append(signed(value))
    need(cursor.done(), "bytes left in a column")
    return values


def table(payload):
    """(name, {column: values}, rows); string columns still indexes, with a flag."""
    cursor = Bytes(payload)
    name, spec = TABLES[cursor.byte()]
    kinds = [tuple(item.split(":")) for item in spec.split()]
    rows, present = cursor.uvarint(), cursor.uvarint()
    values = {}
    for _ in range(present):
        number, encoding = cursor.byte(), cursor.byte()
        data = cursor.take(cursor.uvarint())
        values[kinds[number][0]] = column(encoding, rows, data)
    need(cursor.done(), "bytes left in a table")
    return name, kinds, values, rows


def decode(data):
    """A file's contents: "meta" (dict), "strings", "tables" ({name: row dicts as written}), "index" (list or None)."""
    meta, strings, tables, index = {}, [""], {spec[0]: [] for spec in TABLES.values()}, None
    seen = []
    for offset, kind, payload in chunks(data):
        if kind == "META":
            meta.update(json.loads(payload))
        elif kind == "STRS":
            cursor = Bytes(payload)
            need(cursor.uvarint() == len(strings), "strings out of step")
            strings += [cursor.take(cursor.uvarint()).decode("utf-8", "surrogatepass") for _ in range(cursor.uvarint())]
            need(cursor.done(), "bytes left in strings")
        elif kind == "TABL":
            name, kinds, values, rows = table(payload)
            for i in range(rows):
                row = {}
                for title, code in kinds:
                    value = values[title][i] if title in values else 0.0 if code == "f" else 0
                    row[title] = strings[value] if code == "s" else value
                tables[name].append(row)
        elif kind == "END ":
            cursor, at, index = Bytes(payload), 0, []
            for _ in range(cursor.uvarint()):
                four = struct.pack("<I", cursor.uvarint()).decode()
                at += cursor.uvarint()
                index.append((at, four))
            need(struct.unpack("<Q", cursor.take(8)) == (offset,), "the index does not say where it is")
            need(cursor.done(), "bytes left in the index")
            need(index == seen, "the index is not that of the chunks before it")
        seen.append((offset, kind))
    return {"meta": meta, "strings": strings, "tables": tables, "index": index}


def latest(rows):
    """The rows that count: the last one of each id, in the order of ids."""
    return [row for _, row in sorted({row["id"]: row for row in rows}.items())]


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        contents = file.read()
    for place, four_letters, inside in chunks(contents):
        print(f"{place:10d} {four_letters} {len(inside)}")
    print(json.dumps(decode(contents), indent=1, default=str))
