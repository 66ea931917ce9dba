"""docs/format.md, and the C tables say the same."""

import array
import re

import pytest
from chunks import documented_kinds, frames
from paths import DOCS
from recorded import Image

from seismo import _core
from seismo.model import read
from seismo.pure import reader

DOCUMENT = (DOCS / "format.md").read_text()
TYPES = {"int": "q", "count": "q", "str": "s", "real": "d"}


@pytest.fixture(scope="module")
def example():
    """The bytes of the worked example; each line's offset is right."""
    block = DOCUMENT.split("-->\n```\n")[1].split("```")[0]
    data = bytearray()
    for line in block.splitlines():
        if line:
            offset, rest = line[:8], line[10:]
            assert int(offset, 16) == len(data)
            data += bytes.fromhex(re.match(r"(?:[0-9a-f]{2} )+", rest).group())
    return bytes(data)


def test_the_document_names_the_tables_and_columns_that_the_core_has():
    tables = {name: [(column, TYPES[kind]) for column, kind in of.items()] for name, of in documented_kinds().items()}
    assert tables == _core.schema()


def test_the_example_says_what_the_text_says(example):
    image = Image(example, reader.read)
    assert (image.meta, image.problems, image.finished) == (['{"format": 1}'], [], True)
    f, g = image.functions()
    assert (f["qualname"], f["line"], g["qualname"], g["line"], g["file"]) == ("f", 1, "g", 300, "a.py")
    top, below = image.nodes
    assert (top["parent"], below["parent"], below["calls"], below["entered"]) == (-1, 0, 1000, 256)
    assert (top["timed"], top["timed_ns"], below["timed"], below["timed_ns"]) == (257, 9000, 256, 25600)
    assert (top["sampled"], top["sampled_ns"], top["sampled_sq"]) == (1, 26_000, 26_000**2)
    looks = (20_000, 24_000, 30_000)
    assert (below["sampled"], below["sampled_ns"]) == (3, sum(looks))
    assert below["sampled_sq"] == sum(look**2 for look in looks)
    (thread,) = image.tables["threads"]
    assert (thread["cpu_ns"], thread["rest_ns"]) == (-1, 100_000)
    assert [kind for _, _, kind in frames(example)] == [b"META", b"STRS", *[b"TABL"] * 4, b"END "]


def test_the_core_reads_the_example(example):
    recording = read(example)
    assert recording.problems == []
    assert [(row.qualname, row.calls) for row in recording.functions] == [("f", 1), ("g", 1000)]
    assert sum(recording.functions["own_ns"]) == pytest.approx(9000 + 25_600 + 100_000)
    assert recording.functions[1].own_error_ns > 0
    assert recording.processes[0].pid == 77


def test_the_core_writes_the_example(example):
    """Byte for byte: the writer has no freedom that a reader could come to depend on."""
    raw = _core.read(example)
    writer = _core.Writer()
    writer.meta('{"format": 1}')
    offsets, text = memoryview(raw["string_offsets"]).tolist(), raw["string_data"]
    for i in range(1, len(offsets) - 1):
        assert writer.string(text[offsets[i] : offsets[i + 1]].decode()) == i
    for name in ("processes", "threads", "functions", "nodes"):
        columns = {column: memoryview(raw["tables"][name][column]) for column, _ in _core.schema()[name]}
        writer.table(name, columns)
    for name, columns in list(_core.schema().items())[4:]:
        writer.table(name, {c: array.array("d" if code == "d" else "q") for c, code in columns})
    assert writer.finish() == example
