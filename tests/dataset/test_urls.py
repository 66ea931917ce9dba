"""Datasets at URLs: an object store has no rename, and may fail at any moment."""

import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from seismo.errors import RecordingError, UsageError

fsspec = pytest.importorskip("fsspec", reason="datasets at URLs need fsspec")
memory = pytest.importorskip("fsspec.implementations.memory", reason="datasets at URLs need fsspec")

from seismo.dataset import Dataset, append, compact, is_dataset, is_url  # noqa: E402


class NoSuchAnswer(Exception):
    """What the client of a store raises, and Python knows nothing of."""


class Failing(memory.MemoryFileSystem):
    """A store whose uploads and downloads fail at names that contain a text; an upload leaves half of the object."""

    protocol = "failing"
    store, pseudo_dirs = {}, [""]
    uploads, downloads, listings = "", "", False

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("failing://", "memory://"))

    def put_file(self, lpath, rpath, **options):
        if self.uploads and self.uploads in rpath:
            with open(lpath, "rb") as file:
                data = file.read()
            self.pipe_file(rpath, data[: len(data) // 2])
            raise NoSuchAnswer("503 Slow Down\nrequest 1")
        super().put_file(lpath, rpath, **options)

    def _open(self, path, mode="rb", **options):
        if self.downloads and self.downloads in path and mode == "rb":
            raise ConnectionResetError(104, "Connection reset by peer")
        return super()._open(path, mode, **options)

    def find(self, path, **options):
        if self.listings:
            raise NoSuchAnswer("no route to the store")
        return super().find(path, **options)


@pytest.fixture
def store():
    """The store that fails as its fields say, empty."""
    fsspec.register_implementation("failing", Failing, clobber=True)
    Failing.store.clear()
    yield Failing
    Failing.uploads, Failing.downloads, Failing.listings = "", "", False


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path, monkeypatch):
    """No file that was to be uploaded stays on this machine."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    yield
    assert os.listdir(tmp_path / "temporary") == []


def total(place):
    with Dataset(place) as dataset:
        assert dataset.problems == []
        return sum(dataset.read().functions["calls"])


def calls_of(recordings):
    return sum(sum(recording.functions["calls"]) for recording in recordings)


@pytest.mark.parametrize("place", ["failing://bucket/ds", pytest.param("file://{}/ds", marks=pytest.mark.matrix)])
def test_a_url_is_as_good_as_a_folder(make, place, store, tmp_path, seismo):
    place, names = place.format(tmp_path), []
    for seed in range(5):
        names.append(tmp_path / f"{seed}.seismo")
        make(seed).save(names[-1])
    status, _, errors = seismo("export", *names[:3], "-f", "dataset", "-o", place, "--label", "version=1")
    assert (status, errors) == (0, f"seismo: 3 of 3 recordings appended to {place}\n")
    status, _, errors = seismo("export", *names, "-f", "dataset", "-o", place, "--label", "version=2")
    assert (status, errors.count("it is in the dataset already")) == (0, 3)
    assert errors.endswith(f"seismo: 2 of 5 recordings appended to {place}\n")
    calls = calls_of(map(make, range(5)))
    assert total(place) == calls
    assert is_dataset(place)
    for command, words in (
        (("report", place, "--limit", 2), f"at least {calls:,} calls"),
        (("report", place, "--by", "process"), "What explains the slowest 1 of 5"),
        (("info", place), "5 processes"),
        (("info", place, "--verify"), "5 recordings are whole, 0 problems"),
        (("query", place, "select 'n', sum(calls)::bigint as n from calls_by_path"), str(calls)),
        (("diff", place, "--by", "label=version"), "3 runs"),
    ):
        status, output, errors = seismo(*command)
        assert (status, errors) == (0, ""), command
        assert words in output
    assert seismo("merge", place, "-o", "sum.seismo")[0] == 0
    assert f"{calls:,} calls" in seismo("report", "sum.seismo")[1]


def test_a_sum_at_a_url(make, store, seismo):
    append("failing://b/ds", [make(seed) for seed in range(3)])
    assert seismo("merge", "failing://b/ds", "-f", "dataset", "-o", "failing://b/sum") == (0, "", "")
    assert total("failing://b/sum") == total("failing://b/ds")
    with pytest.raises(UsageError, match="has recordings already"), Dataset("failing://b/ds") as dataset:
        compact(dataset, "failing://b/sum")


# In the order in which they are uploaded. The last is the one that makes the recording count.
FILES = ["functions/", "paths/", "calls_by_function", "calls_by_path", "processes", "threads", "recordings.parquet"]


@pytest.mark.parametrize("file", FILES if "CI" in os.environ else FILES[::6])
def test_an_upload_that_fails_half_way(make, store, tmp_path, seismo, file):
    """The recordings before it count, and so does it once it is appended again; half of it never does."""
    for seed in range(3):
        make(seed, functions=9 + seed).save(tmp_path / f"{seed}.seismo")
    command = ("export", "0.seismo", "1.seismo", "2.seismo", "-f", "dataset", "-o", "failing://b/ds")
    assert seismo("export", "0.seismo", "-f", "dataset", "-o", "failing://b/ds")[0] == 0
    store.uploads = file
    status, _, errors = seismo(*command)
    assert status == 2
    assert "1.seismo: left out: the dataset cannot be written: 503 Slow Down; append it again" in errors
    assert "0 of 3 recordings appended" in errors
    with Dataset("failing://b/ds") as dataset:
        assert sum(dataset.read().functions["calls"]) == calls_of([make(0, functions=9)])
        assert all("is being written, or its writer failed" in text or "damaged" in text for text in dataset.problems)
    store.uploads = ""
    status, _, errors = seismo(*command)
    assert (status, "2 of 3 recordings appended" in errors) == (0, True)
    with Dataset("failing://b/ds") as dataset:
        dataset.verify()
        found = dataset.read()
    assert sum(found.functions["calls"]) == calls_of(make(seed, functions=9 + seed) for seed in range(3))
    assert len(dataset.recordings) == 3


def test_the_rest_goes_on_after_a_failure(make, store):
    """The failure of one recording's file is no reason to leave out the next."""
    append("failing://b/ds", [make(0)])
    uploads = []

    def fails_once(self, lpath, rpath, **options):
        uploads.append(rpath)
        if len(uploads) == 3:
            raise NoSuchAnswer
        memory.MemoryFileSystem.put_file(self, lpath, rpath, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Failing, "put_file", fails_once)
        found = append("failing://b/ds", [make(1), make(2), make(3)])
    assert [one.added for one in found] == [False, True, True]
    assert [one.failed for one in found] == [True, False, False]
    assert "cannot be written: NoSuchAnswer; append it again" in found[0].remark
    assert [one.added for one in append("failing://b/ds", [make(1)])] == [True]
    assert total("failing://b/ds") == calls_of(map(make, range(4)))


def test_a_store_that_cannot_be_reached(make, store, seismo):
    append("failing://b/ds", [make(0)])
    store.listings = True
    with pytest.raises(RecordingError, match="cannot be written: no route to the store"):
        append("failing://b/other", [make(1)])
    status, _, errors = seismo("report", "failing://b/ds")
    assert (status, "cannot be read: no route to the store" in errors) == (2, True)


def test_a_download_that_fails(make, store):
    """The recording is left out with a sentence, and the others are read."""
    append("failing://b/ds", [make(seed) for seed in range(3)])
    with Dataset("failing://b/ds") as dataset:
        one = sorted(dataset.recordings)[1]
    store.downloads = f"{one}/calls_by_path"
    with Dataset("failing://b/ds") as dataset:
        found = dataset.read()
        assert one not in dataset.recordings
        rest = dataset.rows("select sum(calls)::bigint from calls_by_function")[0][0]
    (problem,) = dataset.problems
    assert problem == f"recordings/{one} is left out: calls_by_path.parquet cannot be read: Connection reset by peer"
    assert sum(found.functions["calls"]) == rest
    assert any(problem in row.detail for row in found.losses)


def test_processes_that_cannot_be_compared_are_not_counted_twice(make, store):
    """A merge has a process of another recording, whose list of processes cannot be read now."""
    from seismo.model.combine import merge

    append("failing://b/ds", [make(0)])
    store.downloads = "/processes.parquet"
    (one,) = append("failing://b/ds", [merge([make(0), make(1)])])
    assert (one.added, one.failed) == (False, True)
    store.downloads = ""
    (one,) = append("failing://b/ds", [merge([make(0), make(1)])])
    assert (one.added, one.remark) == (True, "1 of its 2 processes are in the dataset already, and left out")
    assert total("failing://b/ds") == calls_of([make(0), make(1)])


@pytest.mark.parametrize("place", ["failing://bucket/ds", "{}/ds"], ids=["URL", "folder"])
def test_several_writers_at_the_same_time(make, place, store, tmp_path):
    """All append the same recordings in other orders. They share nothing but the dataset."""
    place = place.format(tmp_path)
    parts = [make(seed) for seed in range(6)]
    orders = [range(6), range(5, -1, -1), (3, 1, 5, 0, 2, 4)]
    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(append, place, [parts[i] for i in order]) for order in orders]:
            assert not any(one.failed for one in done.result())
    assert total(place) == calls_of(parts)
    with Dataset(place) as dataset:
        assert len(dataset.recordings) == 6


def test_a_marker_that_another_writer_has_only_begun(make, store):
    fsspec.filesystem("failing").pipe_file("/b/ds/seismo-dataset.json", b"")
    append("failing://b/ds", [make(0)])
    assert total("failing://b/ds") == calls_of([make(0)])


def test_what_else_is_at_a_url_is_left_alone(make, store):
    fsspec.filesystem("failing").pipe_file("/b/mine/x.txt", b"mine")
    with pytest.raises(UsageError, match="has other files and is no dataset"):
        append("failing://b/mine", [make(0)])
    fsspec.filesystem("failing").pipe_file("/b/later/seismo-dataset.json", json.dumps({"schema": 9}).encode())
    with pytest.raises(RecordingError, match="has schema 9"):
        append("failing://b/later", [make(0)])
    assert sorted(Failing.store) == ["/b/later/seismo-dataset.json", "/b/mine/x.txt"]


def test_urls_that_are_none(make):
    assert is_url("s3://bucket/ds")
    assert not any(map(is_url, ("ds", "/tmp/a:/b", "C:/x", "://x")))
    for url in ("nowhere://bucket/ds", "://x://"):
        if is_url(url):
            with pytest.raises(RecordingError, match="the URL cannot be used: Protocol not known: nowhere"):
                append(url, [make(0)])


def test_a_query_of_a_url_reaches_nothing_else(make, store, seismo):
    append("failing://b/ds", [make(0)])
    append("failing://b/secret", [make(1)])
    (file,) = (name for name in Failing.store if "secret" in name and name.endswith("/processes.parquet"))
    status, _, errors = seismo("query", "failing://b/ds", f"select * from 'failing://{file}'")
    assert (status, "reads recordings, and neither files nor the network" in errors) == (2, True)
