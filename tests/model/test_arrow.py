"""Tables through the Arrow PyCapsule interface, in the libraries that take them."""

import array
import gc
import math
import weakref

import pytest
from objects_made import told
from threads import in_threads

from seismo import _core


def library(name):
    return pytest.importorskip(name, exc_type=ImportError)


TABLES = ["functions", "tree", "threads", "processes", "losses"]
OBJECTS = ["types", "objects", "lifetimes", "object_times", "object_spans", "object_survivors", "holders", "marks"]


def expected(table):
    """Rows as plain tuples, lone surrogates replaced as Arrow's UTF-8 demands."""
    return [tuple(v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in row) for row in table]


# ---- consumers ----


@pytest.mark.parametrize("name", [*TABLES, *OBJECTS])
def test_pyarrow_takes_a_table(make, name):
    pa = library("pyarrow")
    table = getattr(make() if name in TABLES else told(), name)
    taken = pa.table(table)
    taken.validate(full=True)
    assert taken.column_names == table.columns
    assert taken.num_rows == len(table) > 0
    assert [tuple(row.values()) for row in taken.to_pylist()] == expected(table)
    assert pa.RecordBatchReader.from_stream(table).read_all() == taken


def test_polars_takes_a_table(make):
    pl = library("polars")
    table = make().functions
    taken = pl.DataFrame(table)
    assert taken.columns == table.columns
    assert taken.rows() == expected(table)


def test_an_empty_table_is_taken(make):
    pa = library("pyarrow")
    recording = make()
    taken = pa.table(recording.subtract(recording).tree)
    assert taken.num_rows == 0
    assert taken.num_columns == 20


# ---- the stream ----


class Given:
    """What a consumer takes: columns, once."""

    def __init__(self, columns):
        self.capsule = _core.arrow_stream(columns)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.capsule


def columns():
    numbers, reals = array.array("q", [1, -2, 3]), array.array("d", [0.5, math.pi, -1.0])
    offsets = array.array("q", [0, 1, 1, 3])
    return [("n", "l", numbers), ("x", "g", reals), ("s", "u", "aé".encode(), offsets)], [
        weakref.ref(v) for v in (numbers, reals, offsets)
    ]


def test_everything_is_kept_until_all_is_released_in_any_order():
    pa = library("pyarrow")
    given, watched = columns()
    reader = pa.RecordBatchReader.from_stream(Given(given))
    column = reader.read_next_batch().column(1)
    del given, reader
    gc.collect()
    assert all(ref() is not None for ref in watched)
    assert column[0].as_py() == 0.5
    del column
    gc.collect()
    assert all(ref() is None for ref in watched)


def test_a_capsule_that_nobody_takes_releases_itself():
    given, watched = columns()
    capsule = _core.arrow_stream(given)
    del given
    gc.collect()
    assert all(ref() is not None for ref in watched)
    del capsule
    gc.collect()
    assert all(ref() is None for ref in watched)


def test_a_consumer_may_release_on_a_thread_of_its_own():
    pa = library("pyarrow")
    given, watched = columns()
    readers = [pa.RecordBatchReader.from_stream(Given(given))]
    del given
    in_threads(readers.clear)
    gc.collect()
    assert all(ref() is None for ref in watched)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([("n", "l", array.array("i", [1]))], TypeError),
        ([("n", "g", array.array("q", [1]))], TypeError),
        ([("n", "z", array.array("q", [1]))], ValueError),
        ([("n", "l", array.array("q", [1])), ("m", "l", array.array("q", [1, 2]))], ValueError),
        ([("s", "u", b"abc", array.array("q", [0, 4]))], ValueError),
        ([("s", "u", b"abc", array.array("q", [-1, 1]))], ValueError),
        ([("s", "u", b"abc", array.array("q", []))], ValueError),
        ([("n", "l")], TypeError),
        ((), TypeError),
    ],
)
def test_bad_columns_are_refused(given, error):
    with pytest.raises(error):
        _core.arrow_stream(given)
