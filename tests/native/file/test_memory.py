"""Every allocation of ours may fail: MemoryError, nothing leaked or broken, and the next try works."""

import array

import pytest
from allocations import can_fail, each_fails

from seismo import _core
from seismo.model import Builder, Recording, read
from seismo.model.recording import SCHEMA

pytestmark = can_fail


def sample():
    b = Builder()
    p = b.process(pid=3)
    t = b.thread(p, "t")
    for i in range(300):
        b.node(i - 1 if i % 7 else -1, t, b.function("m", f"f{i % 20}"), calls=i, own_ns=i)
    b.loss("repaired")
    return b.build()


def walk(work):
    """Return how many allocations a function makes, each of which fails in turn: alone, and with all from it on."""
    return max(each_fails(work, forever) for forever in (False, True))


RECORDING = sample()
DATA = RECORDING.to_bytes()


def test_reading():
    expected = list(read(DATA).tree)
    assert walk(lambda: _core.read(DATA)) > 10
    assert list(read(DATA).tree) == expected


def test_reading_damaged_files():
    damaged = bytearray(DATA)
    damaged[len(damaged) // 2] ^= 1
    assert walk(lambda: _core.read(bytes(damaged))) > 10
    assert walk(lambda: _core.read(DATA[:-100])) > 10


def test_writing():
    def write():
        writer = _core.Writer()
        writer.meta("{}")
        writer.string("abc" * 1000)
        for kind in SCHEMA:
            writer.table(kind, RECORDING._raw[kind])
        return writer.finish()

    assert walk(write) > 10


def test_estimating_and_aggregating():
    def work():
        fresh = Recording(RECORDING._raw, RECORDING._strings, {})
        return list(fresh.functions)

    assert walk(work) > 10
    assert work() == list(RECORDING.functions)


def test_combining_summing_and_taking():
    nodes = RECORDING._raw["nodes"]
    assert walk(lambda: _core.combine(nodes, b"\1")) > 3
    holder = {"to": array.array("q", [0] * 300), "values": nodes["calls"], "rows": array.array("q", [5, 6])}
    assert walk(lambda: _core.sum_by(holder, 1, "q")) >= 1
    assert walk(lambda: _core.take(holder, "q")) >= 1


def test_arrow_streams():
    tree = RECORDING.tree
    assert walk(tree.__arrow_c_stream__) > 3


def test_arrow_consumers_hear_of_it():
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    tree = RECORDING.tree

    def take():
        try:
            return pa.table(tree)
        except (pa.ArrowException, OSError) as error:
            raise MemoryError(str(error)) from None

    assert walk(take) > 20
    assert pa.table(tree).num_rows == 300
