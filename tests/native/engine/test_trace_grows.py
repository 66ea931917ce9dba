"""The file of a trace, of which the journal is never out of date: at its end, rows that are do not stay in it."""

import os

import pytest
from chunks import frames, payloads, read_uvarint
from lab import run, start
from recorded import Image

from seismo import _core
from seismo.model import read

FUNCTIONS = 300


def journal_of(data):
    """(kind, payload) of the chunks of a file's journal."""
    kinds = (b"JRNL", b"HEAD", b"LEVL", b"LONG")
    return [(kind, data[start + 12 : end]) for start, end, kind in frames(data) if kind in kinds]


def functions():
    names = {}
    for i in range(FUNCTIONS):
        exec(f"def f{i}(): pass", names)
    return [names[f"f{i}"] for i in range(FUNCTIONS)]


@pytest.fixture
def traced(tmp_path):
    """traced(rounds, before=...) records so many rounds of calls, each with a flush, and gives the file."""

    def record(rounds, before=lambda path: None):
        path = tmp_path / "a.seismo"
        fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            start(None, fd=fd, flush_ms=1_000_000, journal=True)
            some = functions()
            for _ in range(rounds):
                for function in some:
                    function()
                _core.flush()
            before(path)
            _core.stop()
        finally:
            _core.stop()
            os.close(fd)
        return path

    return record


def check(path, rounds):
    recording = read(path)
    assert recording.problems == []
    names = recording.functions["qualname"]
    counts = {names[row.function]: row.calls for row in recording.tree if names[row.function][1:].isdigit()}
    assert len(counts) == FUNCTIONS
    assert set(counts.values()) == {rounds}
    assert [row.kind for row in recording.losses if row.kind != "sites-off"] == []
    window = recording.calls.window()
    assert window.problems == []
    assert sum(names[row.function] in counts for row in window.calls) == rounds * FUNCTIONS
    return recording


def test_the_rows_of_a_long_trace_are_there_once_at_its_end(traced):
    """Every flush writes every counter anew: without its end the file has two hundred rows for each."""
    before = {}

    def keep(path):
        before["inode"] = path.stat().st_ino
        before["data"] = path.read_bytes()

    path = traced(200, keep)
    check(path, 200)
    data = path.read_bytes()
    assert path.stat().st_ino != before["inode"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(data) < len(before["data"]) * 2 / 3
    written = [read_uvarint(payload, 1)[0] for payload in payloads(data, b"TABL") if payload[0] == 3]
    assert sum(written) == len(Image(data).nodes)
    journal = journal_of(data)
    was = journal_of(before["data"])
    assert journal[: len(was)] == was
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_trace_of_many_calls_is_left_as_it_is(traced):
    """Where the journal is the larger part there is little to gain."""
    inodes = []
    path = traced(2, lambda path: inodes.append(path.stat().st_ino))
    check(path, 2)
    assert [path.stat().st_ino] == inodes


@pytest.mark.parametrize("what", ["two names", "moved away", "a damaged journal"])
def test_what_cannot_be_written_anew_stays(traced, what):
    """A second name, another file in its place, a journal that is not what was written: the old file gets its end."""
    moved = []

    def change(path):
        if what == "two names":
            os.link(path, path.with_name("other"))
        elif what == "moved away":
            moved.append(path.rename(path.with_name("other")))
        else:
            data = path.read_bytes()
            at = data.index(b"JRNL") + 8  # the first byte of the payload
            with path.open("r+b") as file:
                file.seek(at)
                file.write(bytes([data[at] ^ 1]))

    path = traced(200, change)
    path = moved[0] if moved else path
    recording = read(path)
    assert recording.problems == []
    names = recording.functions["qualname"]
    assert {row.calls for row in recording.tree if names[row.function][1:].isdigit()} == {200}
    assert "cut-short" not in [row.kind for row in recording.losses]
    if what == "a damaged journal":
        assert recording.calls.window().problems


def test_a_full_disk_at_the_end(tmp_path):
    """The new file does not fit: the old one gets its end, or says that it lacks it, and nothing else is left."""
    path = tmp_path / "a.seismo"
    program = """
import os, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
names = {}
for i in range(300):
    exec(f"def f{i}(): pass", names)
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o600)
start(fd=fd, flush_ms=1_000_000, journal=True)
for _ in range(100):
    for i in range(300):
        names[f"f{i}"]()
    _core.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))
_core.stop()
"""
    run(program, str(path))
    recording = read(path)
    names = recording.functions["qualname"]
    assert {row.calls for row in recording.tree if names[row.function][1:].isdigit()} <= {99, 100}
    assert os.listdir(tmp_path) == ["a.seismo"]
