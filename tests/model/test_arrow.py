"""Tables through the Arrow PyCapsule interface: in the structures themselves, and in the libraries that take them."""

import array
import ctypes
import gc
import math
import weakref

import pytest
from objects_made import told

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


# ---- the structures ----


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


P = ctypes.POINTER
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", P(ctypes.c_void_p)),
    ("children", P(P(Array))),
    ("dictionary", P(Array)),
    ("release", ctypes.CFUNCTYPE(None, P(Array))),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", ctypes.c_void_p),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, P(Stream), P(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, P(Stream))),
    ("release", ctypes.CFUNCTYPE(None, P(Stream))),
    ("private_data", ctypes.c_void_p),
]


def stream_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Stream.from_address(get(capsule, b"arrow_array_stream"))


def columns():
    numbers, reals = array.array("q", [1, -2, 3]), array.array("d", [0.5, math.pi, -1.0])
    offsets = array.array("q", [0, 1, 1, 3])
    return [("n", "l", numbers), ("x", "g", reals), ("s", "u", "aé".encode(), offsets)], [
        weakref.ref(v) for v in (numbers, reals, offsets)
    ]


def test_everything_is_kept_until_all_is_released_in_any_order():
    given, watched = columns()
    capsule = _core.arrow_stream(given)
    stream = stream_of(capsule)
    batch = Array()
    assert stream.get_next(stream, batch) == 0
    moved = Array()  # a consumer may move a child out and release it last
    ctypes.memmove(ctypes.byref(moved), batch.children[1], ctypes.sizeof(Array))
    ctypes.memset(ctypes.byref(batch.children[1].contents, Array.release.offset), 0, ctypes.sizeof(ctypes.c_void_p))
    del given
    stream.release(stream)
    assert not stream.release
    del capsule, stream
    batch.release(batch)
    gc.collect()
    assert all(ref() is not None for ref in watched)
    assert (ctypes.c_double * 3).from_address(moved.buffers[1])[0] == 0.5
    moved.release(moved)
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
    import threading

    given, watched = columns()
    capsule = _core.arrow_stream(given)
    stream = stream_of(capsule)
    thread = threading.Thread(target=stream.release, args=(stream,))
    thread.start()
    thread.join()
    del given, stream, capsule, thread
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
