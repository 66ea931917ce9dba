"""seismo's JSON: against docs/json-schema.json, and back."""

import json
import tracemalloc
from functools import partial

import format_samples as samples
import jsonschema
import pytest
from hypothesis import given, settings
from paths import DOCS

from seismo import formats
from seismo.errors import FormatError

FORMAT = formats.by_name("json")
SCHEMA = json.loads((DOCS / "json-schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


written = partial(samples.written, FORMAT)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("make", [samples.typical, samples.hostile, samples.empty, samples.idle, samples.fib_tree])
def test_the_schema_holds(make):
    VALIDATOR.validate(json.loads(written(make())))


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


@settings(max_examples=60, deadline=None)
@given(samples.recordings())
def test_arbitrary_recordings_are_valid_and_all_but_their_errors_comes_back(recording):
    data = written(recording)
    VALIDATOR.validate(json.loads(data))
    back = FORMAT.reader(data)
    for title in ("threads", "processes"):
        assert list(getattr(back, title)) == list(getattr(recording, title))
    tree = [row._replace(own_error_ns=0.0, total_error_ns=0.0) for row in recording.tree]
    assert list(back.tree) == tree
    for row, expected in zip(back.functions, recording.functions, strict=True):
        assert row._replace(own_error_ns=0, total_error_ns=0) == expected._replace(own_error_ns=0, total_error_ns=0)
    assert list(back.losses)[: len(recording.losses)] == list(recording.losses)


def test_any_meta_object_is_written():
    for meta in ({"x": float("nan")}, {"x": {1, 2}}, {(1, 2): 3}):
        recording = samples.Builder().build(meta)
        document = json.loads(written(recording))
        VALIDATOR.validate(document)
        assert "x" in document["meta"]["text"] or "(1, 2)" in document["meta"]["text"]


def test_processes_threads_and_losses_come_back():
    recording = samples.typical()
    back = FORMAT.reader(written(recording))
    assert back.processes[0] == recording.processes[0]
    assert list(back.threads) == list(recording.threads)
    assert [row.kind for row in back.losses] == ["repaired", "errors-dropped"]
    assert back.meta["seismo"] == "0.1.0"


def test_what_the_probes_cost_is_not_taken_off_twice():
    document = json.loads(written(samples.typical()))
    document["processes"][0].update(python_inside=30.0, python_outside=20.0, clock_ns=15.0)
    back = FORMAT.reader(json.dumps(document).encode())
    assert list(back.tree["own_ns"]) == list(samples.typical().tree["own_ns"])


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


def changed(title, place=0, **changes):
    document = json.loads(written(samples.typical()))
    if isinstance(document[title], list) and changes:
        document[title][place].update(changes)
    return document


def without(title):
    return {**changed("tree"), title: 3}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "no .format.: .seismo."),
        ({"format": "seismo", "version": 2}, "version"),
        (changed("tree", parent=5), "parent is an unknown id"),
        (changed("tree", parent="0"), "parent is an unknown id"),
        (changed("tree", thread=9), "thread is an unknown id"),
        (changed("tree", 3, thread=1), "on another thread"),
        (changed("tree", function=-1), "function is an unknown id"),
        (changed("tree", calls=-1), "calls is not between"),
        (changed("tree", calls="1"), "calls is not a number"),
        (changed("tree", own_ns=True), "own_ns is not a number"),
        (changed("tree", own_ns=1e30), "own_ns is not between"),
        (changed("tree", flags=2**70), "flags is not between"),
        (changed("tree", flags=-1), "flags is not between"),
        (changed("functions", flags="1"), "flags is not a number"),
        (changed("functions", qualname=3), "qualname is not a text"),
        (changed("functions", line=1.5), "line is not a whole number"),
        (changed("threads", process=7), "process is an unknown id"),
        (changed("processes", argv="x"), "not a list of texts"),
        (without("tree"), "tree is not a list"),
        ({**changed("tree"), "tree": [3]}, r"tree\[0\] is not an object"),
    ],
)
def test_what_breaks_the_schema_is_refused_with_the_reason(tmp_path, document, reason):
    samples.refused(tmp_path / "x.json", json.dumps(document), reason)


def test_nested_and_long_documents_are_errors(tmp_path):
    path = tmp_path / "x.json"
    for text in ("[" * 200_000, '{"a":' * 200_000, "1" * 10_000, '{"format":"seismo","version":1e999}'):
        path.write_text(text)
        with pytest.raises(FormatError):
            formats.read(path)
