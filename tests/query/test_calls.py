"""The calls of a trace as an Arrow stream: those of a window, however many batches and readings it takes."""

import functools
import gc
import random
import sys

import children
import duckdb
import journal_made
import pytest
from chunks import frames
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.model import Builder, read
from seismo.model.trace.arrow_stream import STREAM_COLUMNS

ALL = 2**63 - 1


def made(seed, **how):
    _, played, recording = journal_made.made(seed, **how)
    return recording, int(max(p.ns for p in played)) + 1


@functools.cache
def long():
    """A trace of some batches, and how many calls it has. Nobody writes to it."""
    recording, _ = made(9, events=12000, wild=False)
    return recording, len(recording.calls.window(limit=ALL).calls)


def streamed(stream):
    """The rows of the stream, in the order of ids."""
    with duckdb.connect() as connection:
        connection.register("given", stream)
        rows = connection.execute("select * from given").fetchall()
        assert [column[0] for column in connection.description] == list(STREAM_COLUMNS)
    return sorted(rows)


def as_window(rows):
    """Rows as a window has them: ids are places in the list, -1 what is not in it."""
    place = {row[0]: number for number, row in enumerate(rows)}
    return [(*row[1:9], place.get(row[9], -1), place.get(row[10], -1), *row[11:]) for row in rows]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_the_stream_has_the_calls_of_every_window(seed):
    recording, end = made(seed)
    rnd = random.Random(seed)
    for window in [(0, ALL), tuple(sorted(rnd.sample(range(end + 1), 2)))]:
        expected = recording.calls.window(*window, limit=ALL)
        stream = recording.calls.stream(*window)
        assert as_window(streamed(stream)) == [tuple(map(int, row)) for row in expected.calls]
        assert stream.problems == expected.problems


def test_a_call_keeps_its_number_and_names_its_caller():
    recording, _ = made(5, events=2000, wild=False)
    rows = streamed(recording.calls.stream())
    assert [row[0] for row in rows] == list(range(len(rows)))
    at = {name: number for number, name in enumerate(STREAM_COLUMNS)}
    for row in rows:
        if row[at["parent"]] >= 0:
            parent = rows[row[at["parent"]]]
            assert parent[at["depth"]] == row[at["depth"]] - 1
            assert parent[at["thread"]] == row[at["thread"]]
            assert parent[at["start_ns"]] <= row[at["start_ns"]] <= row[at["end_ns"]] <= parent[at["end_ns"]]


def test_it_comes_in_batches_and_can_be_read_again():
    pyarrow = pytest.importorskip("pyarrow")
    recording, count = long()
    stream = recording.calls.stream()
    for _ in range(2):
        sizes = [batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(stream)]
        assert sum(sizes) == count
        assert len(sizes) > 1
        assert min(sizes[:-1]) >= 8192


def test_one_that_nobody_reads_to_the_end_is_let_go():
    pyarrow = pytest.importorskip("pyarrow")
    recording, _ = long()
    before = sys.getrefcount(recording.calls._journal)
    stream = recording.calls.stream()
    stream.__arrow_c_stream__()
    reader = pyarrow.RecordBatchReader.from_stream(stream)
    batch = reader.read_next_batch()
    kept = batch.column(0)
    del reader, batch
    gc.collect()
    assert kept[0].as_py() >= 0  # an array outlives its stream
    del stream, kept
    gc.collect()
    after = sys.getrefcount(recording.calls._journal)
    assert after == before


def test_a_recording_without_times_of_calls_has_the_columns():
    assert streamed(Builder().build({"recorder": "calltree"}).calls.stream()) == []


def test_what_is_damaged_is_said_after_the_reading(tmp_path):
    recording, _ = made(3, events=3000, wild=False)
    data = bytearray(recording.to_bytes())
    pieces = [(start, end) for start, end, kind in frames(data) if kind == b"JRNL"]
    start, end = max(pieces, key=lambda piece: piece[1] - piece[0])
    data[(start + end) // 2] ^= 0xFF
    broken = read(bytes(data))
    stream = broken.calls.stream()
    assert stream.problems == []
    assert as_window(streamed(stream)) == [tuple(map(int, row)) for row in broken.calls.window(limit=ALL).calls]
    assert stream.problems == broken.calls.window(limit=ALL).problems != []


MEMORY = """
import resource, sys
import duckdb
from seismo.model import read
recording = read(sys.argv[1])
with duckdb.connect(config={"threads": 1}) as connection:
    peaks = []
    for last in (10**9, 2**62):
        connection.register("given", recording.calls.stream(0, last))
        ((count, _, _),) = connection.execute("select count(*), max(id), sum(end_ns) from given").fetchall()
        peaks.append((count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
print(peaks)
"""


def count(stream):
    with duckdb.connect() as connection:
        connection.register("given", stream)
        return connection.execute("select count(*) from given").fetchone()[0]


@pytest.mark.matrix
def test_memory_does_not_grow_with_the_trace(tmp_path):
    program = "def f(n):\n    for _ in range(n): g()\ndef g(): pass\nf(1_000_000)\n"
    (tmp_path / "app.py").write_text(program)
    file = tmp_path / "t.seismo"
    children.seismo("trace", "-q", "-o", file, tmp_path / "app.py")
    recording = read(file)
    early = recording.calls.end_ns // 10
    while count(recording.calls.stream(0, early)) > 300_000:  # the machine stood still later on
        early //= 2
    done = children.python("-c", MEMORY.replace("10**9", str(early)), str(file))
    (few, before), (all_, after) = eval(done.stdout)
    assert all_ > 1_000_000 > 3 * few
    assert after - before < 30_000  # kB; a million rows are a hundred megabytes
