"""What is written is read: by the reader in C and by the one in Python, for any rows and any strings."""

import array

import pytest
from chunks import chunk, documented_kinds, frames, payloads
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import Image

from seismo import _core
from seismo.model import Builder, read
from seismo.model.objects.groups import by_line, by_path, by_type
from seismo.model.objects.leaks import leaks
from seismo.pure import reader

SCHEMA = _core.schema()
KINDS = documented_kinds()
INT = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 300), st.just(0))
COUNT = st.one_of(st.integers(0, 2**63 - 1), st.integers(0, 300), st.just(0))
REAL = st.one_of(st.floats(0, 1e39), st.just(0.0))
TEXT = st.text(st.characters(), max_size=20)
REFERENCES = {"context": "contexts", "function": "functions"}  # of the tables about lines
OF_OBJECTS = {"type": "types", "object": "objects", "span": "object_spans", "process": "processes"}
OF_OBJECTS |= {"function": "functions", "node": "nodes"}  # in these two -1 is none
TAKEN_BACK = {"losses": "count", "object_spans": "calls", "object_survivors": "count"}  # where these are 0
TABLES_OF_OBJECTS = ("objects", "lifetimes", "object_spans", "object_survivors", "holders", "marks")


@st.composite
def files(draw):
    """(bytes, {table: [row dicts]}) of a sound recording."""
    texts = draw(st.lists(TEXT, max_size=8))
    rows = {}
    sizes = {name: draw(st.integers(1, 3)) for name in SCHEMA}
    sizes["nodes"] = draw(st.integers(0, 15))
    threads_of = []
    for name, columns in SCHEMA.items():
        rows[name] = []
        for i in range(sizes[name]):
            row = {}
            for column, code in columns:
                if code == "s":
                    row[column] = draw(st.sampled_from(["", *texts]))
                elif code == "d":
                    row[column] = draw(REAL)
                else:
                    row[column] = draw(COUNT if KINDS[name][column] == "count" else INT)
            row["id"] = i
            if name == "threads":
                row["process"] %= sizes["processes"]
            if name in TAKEN_BACK:
                column = TAKEN_BACK[name]
                row[column] = max(1, abs(row[column]) % 2**63)
            if name == "nodes":
                row["parent"] = draw(st.integers(-1, i - 1))
                row["thread"] %= sizes["threads"]
                if row["parent"] >= 0:
                    row["thread"] = threads_of[row["parent"]]
                threads_of.append(row["thread"])
                row["function"] %= sizes["functions"]
            if name in ("lines", "arcs", "branches", "context_hits", "instructions"):
                for column in row.keys() & REFERENCES:
                    row[column] %= sizes[REFERENCES[column]]
            if name in TABLES_OF_OBJECTS:
                _refer(draw, name, row, sizes)
            rows[name].append(row)
    for row in rows["holders"]:
        if row["parent"] >= 0:
            row["object"] = rows["holders"][row["parent"]]["object"]
    return rows


def _refer(draw, name, row, sizes):
    """Makes what a row of the tables about objects refers to something that is there."""
    for column in row.keys() & OF_OBJECTS:
        count = sizes[OF_OBJECTS[column]]
        row[column] = draw(st.integers(-1, count - 1)) if column in ("function", "node") else row[column] % count
    if name == "holders":
        row["parent"] = draw(st.integers(-1, row["id"] - 1))
    if name == "lifetimes":
        row["unit"] %= 2
        row["bucket"] %= 33


def write(tables, duplicate=False, recorder=""):
    writer = _core.Writer()
    if recorder:
        writer.meta(f'{{"recorder": "{recorder}"}}')
    writer.meta('{"a": 1, "b": 1}')
    writer.meta('{"b": "\\ud800 ü"}')
    index = {"": 0}
    for name, rows in tables.items():
        columns = {}
        for column, code in SCHEMA[name]:
            values = [row[column] for row in rows]
            if code == "s":
                values = [index[v] if v in index else index.setdefault(v, writer.string(v)) for v in values]
            columns[column] = array.array("d" if code == "d" else "q", values)
        if duplicate:  # an earlier state of the same rows
            zeros = {c: array.array(v.typecode, [0] * len(v)) for c, v in columns.items()}
            writer.table(name, {**zeros, "id": columns["id"]})
        writer.table(name, columns)
    return writer.finish()


@settings(max_examples=30, deadline=None)
@given(files(), st.booleans())
def test_both_readers_read_what_was_written(tables, duplicate):
    data = write(tables, duplicate)
    for reads in (_core.read, reader.read):
        image = Image(data, reads)
        assert (image.tables, image.problems, image.finished) == (tables, [], True)
    assert read(data).meta == {"a": 1, "b": "\ud800 ü"}


@settings(max_examples=12, deadline=None)
@given(files(), files(), st.sampled_from(["calltree", "coverage", "linetimes", "lifetimes"]))
def test_whatever_numbers_a_file_has_the_model_can_work_with_it(first, second, recorder):
    """Sums of numbers that a file may have do not fit in it: they saturate and are no error."""
    one, two = read(write(first, recorder=recorder)), read(write(second, recorder=recorder))
    merged = one.merge(two)
    nothing = merged.subtract(merged)
    assert not any(nothing.tree["calls"])
    assert not any(nothing.objects["born"])
    assert sum(one.combined().tree["calls"]) >= max(one.tree["calls"], default=0)
    for recording in (merged, merged.combined(), one.combined([0])):
        recording.functions.sort("own_ns")
        assert read(recording.to_bytes()).tree.columns == recording.tree.columns
        for group_by in (by_type, by_line, by_path):
            assert sum(group.born for group in group_by(recording)) >= 0
        leaks(recording)


def full(tables):
    """These rows, with all columns of theirs."""
    return {
        name: [{**{c: "" if code == "s" else 0 for c, code in columns}, **row} for row in tables.get(name, ())]
        for name, columns in SCHEMA.items()
    }


def test_rows_that_were_taken_back_are_left_out():
    tables = {
        "types": [{"id": 0, "name": "T"}],
        "objects": [{"id": 0, "function": -1, "node": -1}],
        "object_spans": [{"id": i, "function": -1, "first": i, "calls": calls} for i, calls in enumerate((1, 0, 2))],
        "object_survivors": [{"id": i, "span": span, "count": 3 * i} for i, span in enumerate((0, 0, 2))],
        "losses": [{"id": 0, "kind": "over", "count": 0}, {"id": 1, "kind": "still", "count": 1}],
    }
    found = Image(write(full({**tables, "processes": [{"id": 0}]}))).tables
    assert [(row["id"], row["first"], row["calls"]) for row in found["object_spans"]] == [(0, 0, 1), (1, 2, 2)]
    assert [(row["id"], row["span"], row["count"]) for row in found["object_survivors"]] == [(0, 0, 3), (1, 1, 6)]
    assert [(row["id"], row["kind"]) for row in found["losses"]] == [(0, "still")]


def test_rows_in_many_chunks():
    b = Builder()
    thread = b.thread(b.process(), "t")
    f = [b.function("m", f"f{i}") for i in range(100)]
    for i in range(40_000):
        b.node(i - 1 if i % 50 else -1, thread, f[i % 100], calls=i, own_ns=i * 7)
    recording = b.build()
    data = recording.to_bytes()
    assert len(payloads(data, b"TABL")) == 6
    assert read(data).tree["calls"].tolist() == list(range(40_000))
    assert [row["calls"] for row in Image(data, reader.read).nodes] == list(range(40_000))
    assert len(data) < 40_000 * 20


def test_a_long_string_and_many():
    writer = _core.Writer()
    long = "x" * 3_000_000
    assert writer.string(long) == 1
    numbers = [writer.string(f"name {i}") for i in range(200_000)]
    assert numbers == list(range(2, 200_002))
    data = writer.finish()
    raw = _core.read(data)
    offsets, text = memoryview(raw["string_offsets"]), raw["string_data"]
    assert text[offsets[1] : offsets[2]].decode() == long
    assert text[offsets[-2] : offsets[-1]] == b"name 199999"
    assert reader.read(data)["string_data"] == text


def test_rows_in_any_order_come_out_in_the_order_of_their_ids():
    tables = {
        "processes": [{"id": 0}],
        "threads": [{"id": 0}],
        "functions": [{"id": 0}],
        "nodes": [{"id": i, "parent": -1, "calls": i} for i in (5, 3, 0, 1, 4, 2)],
    }
    data = write(full(tables))
    assert [row["calls"] for row in Image(data).nodes] == [0, 1, 2, 3, 4, 5]


def test_the_writer_says_what_is_wrong_with_columns():
    writer = _core.Writer()
    good = {c: array.array("d" if code == "d" else "q", [0]) for c, code in SCHEMA["threads"]}
    with pytest.raises(ValueError, match="no table 'x'"):
        writer.table("x", {})
    with pytest.raises(KeyError):
        writer.table("threads", {})
    with pytest.raises(TypeError, match=r"threads\.name"):
        writer.table("threads", {**good, "name": array.array("i", [0])})
    with pytest.raises(ValueError, match=r"threads\.main has 2 values, not 1"):
        writer.table("threads", {**good, "main": array.array("q", [0, 0])})
    with pytest.raises(TypeError):
        writer.string(3)
    writer.finish()
    with pytest.raises(ValueError, match="finished"):
        writer.string("x")


def test_checksums_of_chunks_of_all_lengths():
    writer = _core.Writer()
    for length in range(300):
        writer.meta(f'{{"{length}": "{"seismo" * (length // 6)}{"x" * (length % 6)}"}}')
    data = writer.finish()
    assert len(payloads(data, b"META")) == 300
    parts = [chunk(kind, data[start + 12 : end]) for start, end, kind in frames(data)]  # with zlib's checksums
    assert data[16:] == b"".join(parts)
    assert len(read(data).meta) >= 300
    assert read(data).problems == []
