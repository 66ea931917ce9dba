"""The reader in plain Python returns what the native core returns, of whole and of damaged recordings."""

import random
import struct
import sys
import zlib

import journal_made
import pytest
from children import seismo
from chunks import frames, without
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo import _core
from seismo.model import read
from seismo.model.recording import FOREVER, _from_core
from seismo.model.save import write_recording
from seismo.pure.columns import aggregate, combine
from seismo.pure.estimate import estimate
from seismo.pure.journal import Journal
from seismo.pure.reader import read as pure_read
from seismo.pure.tables import schema
from seismo.pure.writer import Writer

PROGRAM = """
import threading, time
class Node:
    def __init__(self): self.next = self
def steps(n):
    for i in range(n):
        yield i
def work(depth):
    if depth:
        return work(depth - 1)
    try:
        raise KeyError(depth)
    except KeyError:
        time.sleep(0.001)
    return sum(steps(5))
def main():
    nodes = [Node() for _ in range(20)]
    return [work(number % 7) for number in range(100)] and len(nodes)
thread = threading.Thread(target=main)
thread.start()
main()
thread.join()
"""
VERBS = ["profile", "trace", "lines", "cover", "objects"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The bytes of a recording of each kind that this interpreter can make, and of made traces."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "app.py").write_text(PROGRAM)
    found = []
    for verb in VERBS if sys.version_info >= (3, 13, 3) else VERBS[:-1]:
        seismo(verb, "-q", "-o", folder / f"{verb}.seismo", folder / "app.py")
        found.append((folder / f"{verb}.seismo").read_bytes())
    found += [write_recording(journal_made.made(seed)[2], None) for seed in range(6)]
    found += [without(data) for data in found]  # without an end, as a killed program leaves them
    return found


def plain(value):
    """Columns as lists, so that they compare."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(inner) for inner in value]
    if isinstance(value, (memoryview, _core.Column)):
        return memoryview(value).tolist()
    return value


def outcome(function, *arguments):
    try:
        return plain(function(*arguments))
    except ValueError as error:
        return str(error)


def tables_of(data):
    raw = _core.read(data)["tables"]
    return {
        name: {column: memoryview(values) for column, values in table.items() if column != "rows"}
        for name, table in raw.items()
    }


def assert_same_arithmetic(data):
    tables = tables_of(data)
    for distorted in (True, False):
        assert plain(_core.estimate(tables, distorted)) == plain(estimate(tables, distorted))
    estimated, functions = _core.estimate(tables), len(tables["functions"]["id"])
    assert plain(_core.aggregate(tables["nodes"], estimated, functions)) == plain(
        aggregate(tables["nodes"], estimated, functions)
    )
    chosen = bytes(number % 2 for number in range(len(tables["threads"]["id"])))
    assert plain(_core.combine(tables["nodes"], chosen)) == plain(combine(tables["nodes"], chosen))


def arguments_of_journal(data):
    """What the model passes to the reader of a trace, or None for another recording."""
    recording = _from_core(_core.read(data), data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_core, "Journal", lambda *arguments: arguments)
        return recording.calls._journal


def assert_same_journal(data):
    arguments = arguments_of_journal(data)
    if arguments is None:
        return
    native, pure = _core.Journal(*arguments), Journal(*arguments)
    for name in ("blocks", "sums", "longest"):
        assert plain(getattr(native, name)()) == plain(getattr(pure, name)()), name
    if not any(native.sums()["wrong"].values()):  # the native reader skips the rest of a damaged block
        assert plain(native.gaps()) == plain(pure.gaps())
    whole = (-FOREVER, FOREVER, -1, 1_000_000, 4 << 20)
    assert plain(native.read(*whole)) == plain(pure.read(*whole))


def test_the_tables_are_those_of_the_core():
    assert schema() == _core.schema()


def test_recordings_are_read_the_same(recorded):
    assert any(arguments_of_journal(data) for data in recorded)
    for data in recorded:
        assert outcome(_core.read, data) == outcome(pure_read, data)
        assert_same_arithmetic(data)
        assert_same_journal(without(data, b"HEAD"))  # copies of heads of pieces, which the reader here ignores
        assert_same_journal(data)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_any_trace_is_read_the_same(seed):
    assert_same_journal(journal_made.made(seed)[2].to_bytes())


def test_what_is_written_has_the_same_contents(recorded, monkeypatch):
    for data in recorded:
        native = plain(_core.read(write_recording(read(data), None)))
        with monkeypatch.context() as patch:
            patch.setattr(_core, "Writer", Writer)
            pure = plain(_core.read(write_recording(read(data), None)))
        for contents in (native, pure):
            for places in ("journal", "levels", "longest", "heads"):
                contents[places] = len(contents[places]) if places in ("journal", "levels") else 0
        assert native == pure


def damaged(data, rnd):
    """A copy with a few bytes changed, removed or added, mostly with the right checksums."""
    changed = bytearray(data)
    for _ in range(rnd.choice([1, 1, 2, 5, 20])):
        at = rnd.randrange(16, len(changed))
        how = rnd.random()
        if how < 0.5:
            changed[at] = rnd.randrange(256)
        elif how < 0.7:
            del changed[at : at + rnd.randrange(1, 40)]
        else:
            changed[at:at] = rnd.randbytes(rnd.randrange(1, 12))
        if len(changed) < 64:
            break
    if rnd.random() < 0.2:
        del changed[rnd.randrange(len(changed)) :]
    return with_checksums(bytes(changed)) if rnd.random() < 0.7 else bytes(changed)


def with_checksums(data):
    out, at = bytearray(data[:16]), 16
    while at + 12 <= len(data):
        length, kind = struct.unpack_from("<I4s", data, at)
        payload = data[at + 12 : at + 12 + length]
        out += struct.pack("<I4sI", len(payload), kind, zlib.crc32(kind + payload)) + payload
        at += 12 + length
    return bytes(out)


def test_damaged_recordings_are_read_the_same(recorded):
    rnd = random.Random(0)
    for _ in range(80):
        data = damaged(rnd.choice(recorded), rnd)
        found = outcome(_core.read, data)
        assert found == outcome(pure_read, data)
        if not isinstance(found, str):
            assert_same_arithmetic(data)
            if b"HEAD" not in data:
                assert_same_journal(data)


def test_a_chunk_of_each_kind_was_compared(recorded):
    assert {kind for data in recorded for _, _, kind in frames(data)} >= {b"META", b"STRS", b"TABL", b"JRNL", b"END "}


@pytest.mark.parametrize("data", [b"", b"text", b"\x8fseismo\n\x63\0" + bytes(6)])
def test_other_files_get_the_same_error(data):
    found = outcome(_core.read, data)
    assert isinstance(found, str)
    assert found == outcome(pure_read, data)
