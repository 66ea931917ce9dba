"""The sum that a large merge has in its file: a report of it alone is that of all nodes."""

from __future__ import annotations

import re

import pytest
import random_recordings

from seismo.model import Builder, merge_files, read, streaming_merge, tree_sum
from seismo.model.read_sum import read_sum


@pytest.fixture
def merged(tmp_path, monkeypatch):
    """A file of processes with several threads, whose sum was made in many steps."""
    monkeypatch.setattr(streaming_merge, "LARGE", 0)
    monkeypatch.setattr(tree_sum, "MOST_ROWS", 50)
    for seed in range(12):
        random_recordings.calls(seed).save(tmp_path / f"{seed}.seismo")
    sampled(tmp_path / "12.seismo")
    path = tmp_path / "all.seismo"
    merge_files(sorted(tmp_path.glob("*.seismo")), path)
    return path


def sampled(path):
    """Save a recording whose times are looks of a sampler, with a worker that is idle."""
    b = Builder()
    process = b.process(99, start_ns=10**18, python_inside=20.0, python_outside=9.0, piece_ns=30.0, cost_error=0.3)
    for name in ("MainThread", "worker"):
        thread = b.thread(process, name, main=name == "MainThread", rest_ns=3 * 10**8, wall_ns=10**9, cpu_ns=4 * 10**8)
        above = b.node(-1, thread, b.function("app", "run", "app.py", 1), calls=1)
        looks = {"sampled": 30, "sampled_ns": 10**8, "sampled_sq": 1e15, "compared_ns": 10**8, "beside_ns": 10**7}
        b.node(above, thread, b.function("m0", "f0", "/src/m0.py", 1), calls=9000, **looks)
        b.node(above, thread, b.function("_queue", "SimpleQueue.get", kind=1), calls=9, own_ns=10**9, wait_ns=10**9)
    b.build({"recorder": "calltree", "seismo": "0.1.0"}).save(path)


@pytest.mark.parametrize(
    "options", [[], ["--tree", "--all"], ["--time", "cpu"], ["--callers", "f1"], ["--sort", "calls"]]
)
def test_the_report_is_that_of_all_nodes(seismo, merged, monkeypatch, options):
    mine = seismo("report", merged, *options)
    monkeypatch.setattr("seismo.model.read_sum.read_sum", lambda path: None)
    theirs = seismo("report", merged, *options)
    assert mine[1].replace("idle: threads waited", "idle: 1 thread waited") == theirs[1]
    assert mine[0] == theirs[0] == 0
    assert len(mine[1].splitlines()) > 12


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_so_is_the_data(seismo, merged, monkeypatch, form):
    found = []
    for _ in range(2):
        status, text, _ = seismo("report", merged, "--format", form)
        found.append((status, re.sub(r'"(own|total)_ns":\d+', "", text)))  # sums of rounded times, in ns
        monkeypatch.setattr("seismo.model.read_sum.read_sum", lambda path: None)
    assert found[0] == found[1]


def test_a_diff_is_that_of_all_nodes(seismo, merged, tmp_path, monkeypatch):
    merge_files(sorted(tmp_path.glob("1*.seismo")), tmp_path / "some.seismo")
    mine = seismo("diff", merged, "some.seismo")
    monkeypatch.setattr("seismo.model.read_sum.read_sum", lambda path: None)
    assert mine == seismo("diff", merged, "some.seismo")
    assert "Changed" in mine[1]


def by_path(recording):
    """Times and errors of each path."""
    found, paths = {}, []
    for row in recording.tree:
        paths.append((*(paths[row.parent] if row.parent >= 0 else ()), recording.functions[row.function][1:6]))
        found[paths[-1]] = row.calls, row.own_ns, row.own_error_ns, row.total_ns, row.total_error_ns
    return found


def test_the_sum_has_the_distinct_paths_and_the_errors(merged):
    found, whole = read_sum(merged), read(merged).combined()
    assert len(found.tree) < len(read(merged).tree)
    assert found.path_count == len(whole.tree) == whole.path_count
    mine, theirs = by_path(found.combined()), by_path(whole)
    assert mine.keys() == theirs.keys()
    assert all(mine[path] == pytest.approx(theirs[path], rel=1e-6, abs=20) for path in theirs)
    assert [row.own_error_ns for row in found.functions] == pytest.approx([row.own_error_ns for row in whole.functions])


def test_a_saved_sum_keeps_its_errors(merged, tmp_path):
    whole = read(merged).combined()
    whole.save(tmp_path / "saved.seismo")
    again = read(tmp_path / "saved.seismo")
    assert any(whole.functions["own_error_ns"])
    for name in ("own_ns", "own_error_ns", "total_error_ns"):
        assert again.functions[name] == whole.functions[name]
        assert again.tree[name] == whole.tree[name]


def test_a_thread_is_of_all_nodes(seismo, merged):
    status, text, _ = seismo("report", merged, "--thread", "worker")
    assert (status, "only 1 thread: worker" in text) == (0, True)


def test_small_merges_and_other_files_have_no_sum(tmp_path, merged):
    sampled(tmp_path / "one.seismo")
    (tmp_path / "other").write_text("other")
    assert read_sum(merged) is not None
    assert [read_sum(tmp_path / name) for name in ("one.seismo", "other", "none")] == [None] * 3


def test_a_sum_of_too_many_paths_is_left_out(seismo, tmp_path, monkeypatch, merged):
    report = seismo("report", merged)
    monkeypatch.setattr(tree_sum, "MOST_PATHS", 60)
    merge_files(sorted(tmp_path.glob("*[0-9].seismo")), merged)
    assert read_sum(merged) is None
    assert seismo("report", merged)[1].count("\n") == report[1].count("\n")


def test_without_its_end_or_with_a_damaged_sum_a_file_is_read_as_a_whole(seismo, tmp_path, merged):
    data = merged.read_bytes()
    place = data.rindex(b"SUMS", 0, data.rindex(b"END "))
    for number, bad in enumerate([data[:-9], data[: place + 90] + b"?" + data[place + 91 :], data[:8], b""]):
        (tmp_path / f"bad{number}").write_bytes(bad)
        assert read_sum(tmp_path / f"bad{number}") is None
    far = data[:-8] + (2**64 - 1).to_bytes(8, "little")
    (tmp_path / "far").write_bytes(far)
    assert read_sum(tmp_path / "far") is None
    assert "lost" in seismo("report", tmp_path / "bad0")[1]
