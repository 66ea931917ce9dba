"""seismo's JSON: against docs/json-schema.json."""

import json
import tracemalloc
from functools import partial

import format_samples as samples
import jsonschema
import pytest

from seismo import formats

FORMAT = formats.by_name("json")
written = partial(samples.written, FORMAT)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(samples.SCHEMAS["json"])


def test_every_column_is_there():
    recording = samples.typical()
    document = json.loads(written(recording))
    for title in ("functions", "tree", "threads", "processes"):
        table = getattr(recording, title)
        assert len(document[title]) == len(table)
        for entry, row in zip(document[title], table, strict=True):
            for column, value in entry.items():
                expected = getattr(row, column)
                if column == "kind":
                    expected = ("python", "c", "synthetic")[expected]
                elif column == "argv":
                    expected = json.loads(expected or "[]")
                assert value == expected, column
            left_out = {"depth", "own_running_ns", "own_waiting_ns"}  # own_ns and wait_ns have them
            assert set(table.columns) - left_out == set(entry) - {"wait_ns"}
    assert document["losses"] == [{"kind": "repaired", "count": 2, "thread": -1, "detail": "generator\nclosed"}]
    assert document["meta"]["seismo"] == "0.1.0"
    lines = {row["qualname"]: row for row in document["functions"]}
    assert lines["len"]["lower_bound"] is True
    assert lines["fib"]["total_ns"] == 6340
    assert lines["numbers"]["resumes"] == 9


@samples.of_any_recording
def test_arbitrary_recordings_are_valid(recording):
    samples.valid("json", written(recording))


def test_any_meta_object_is_written():
    for meta in ({"x": float("nan")}, {"x": {1, 2}}, {(1, 2): 3}):
        document = samples.valid("json", written(samples.Builder().build(meta)))
        assert "x" in document["meta"]["text"] or "(1, 2)" in document["meta"]["text"]


class Counting:
    def __init__(self):
        self.bytes = 0
        self.largest = 0

    def write(self, data):
        self.bytes += len(data)
        self.largest = max(self.largest, len(data))


@pytest.mark.matrix
def test_it_is_written_in_pieces():
    b = samples.Builder()
    thread = b.thread(b.process())
    function = b.function("m", "f", "m.py", 1)
    top = b.node(-1, thread, function, calls=1)
    for _ in range(50_000):
        b.node(top, thread, function, calls=1, own_ns=3)
    recording = b.build()
    assert len(recording.tree) == len(recording.tree["own_ns"])
    sink = Counting()
    tracemalloc.start()
    try:
        FORMAT.write(recording, sink)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sink.bytes > 8_000_000
    assert sink.largest < 1 << 20
    assert peak < 4 << 20


def test_it_is_not_read_back_and_the_error_says_so(tmp_path):
    samples.refused(tmp_path / "x.json", written(samples.typical()), "seismo's own JSON, which is not read")


def test_nested_and_long_documents_are_errors(tmp_path):
    for text in ("[" * 200_000, '{"a":' * 200_000, "1" * 10_000, '{"format":"seismo","version":1e999}'):
        samples.refused(tmp_path / "x.json", text, ".")
