"""What is wrong with a part of a dataset is a sentence, and the rest goes on."""

import json
import shutil

import chunks
import pytest
import random_recordings

from seismo.errors import RecordingError

pa = pytest.importorskip("pyarrow", reason="datasets need PyArrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="datasets need PyArrow")

from seismo.dataset import Dataset, append, is_dataset  # noqa: E402


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "ds"
    append(folder, [random_recordings.calls(seed, paths=300) for seed in range(3)])
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "ds")


def recording_with_most(folder):
    return max(folder.glob("recordings/*"), key=lambda path: (path / "calls_by_path.parquet").stat().st_size)


def left(folder, problem):
    """The calls of what is left. `problem` is a part of the sentence, which is in the losses, too."""
    with Dataset(folder) as dataset:
        found = dataset.read()
        assert [text for text in dataset.problems if problem in text], dataset.problems
        assert len(dataset.recordings) == 2
        assert any(problem in row.detail for row in found.losses)
        return sum(found.functions["calls"])


def calls(make, folder, without):
    """The calls of all recordings but one, whose folder is given."""
    calls = parquet.read_table(without / "calls_by_function.parquet", columns=["calls"])["calls"].to_pylist()
    return sum(sum(make(seed, paths=300).functions["calls"]) for seed in range(3)) - sum(calls)


def overwritten(one, column, offset):
    """Overwrite bytes of a column of the recording's calls, from `offset` on."""
    path = one / "calls_by_path.parquet"
    group = parquet.read_metadata(path).row_group(0)
    (start,) = [
        group.column(i).data_page_offset for i in range(group.num_columns) if group.column(i).path_in_schema == column
    ]
    data = bytearray(path.read_bytes())
    data[start + offset : start + offset + 50] = b"\xff" * 50
    path.write_bytes(data)


def cut_short(one):
    path = one / "calls_by_path.parquet"
    path.write_bytes(path.read_bytes()[:-100])


def of_other_columns(one):
    parquet.write_table(pa.table({"x": [1]}), one / "calls_by_path.parquet")


def of_a_later_schema(one):
    table = parquet.read_table(one / "recordings.parquet")
    later = table.set_column(1, table.schema.field(1), pa.array([7], pa.int32()))
    parquet.write_table(later, one / "recordings.parquet")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (cut_short, "calls_by_path.parquet is cut short"),
        (lambda one: overwritten(one, "calls", 0), "calls_by_path.parquet is damaged"),
        (of_other_columns, "lacks the column process"),
        (of_a_later_schema, "it has schema 7, and this seismo reads 1"),
        (lambda one: (one / "recordings.parquet").unlink(), "it has no recordings.parquet"),
    ],
)
def test_a_recording_that_is_spoilt_is_left_out(make, folder, spoil, problem):
    one = recording_with_most(folder)
    rest = calls(make, folder, one)
    spoil(one)
    assert left(folder, problem) == rest


def test_damage_that_changes_numbers_only_is_found_by_the_checksums(make, folder):
    one = recording_with_most(folder)
    rest = calls(make, folder, one)
    overwritten(one, "own_ns", 1000)
    with Dataset(folder) as dataset:
        assert dataset.verify()
        assert any("calls_by_path.parquet is damaged" in text for text in dataset.problems)
        assert sum(dataset.read().functions["calls"]) == rest


def test_paths_that_are_gone_are_counted(make, folder):
    for path in folder.glob("paths/*"):
        path.unlink()
    with Dataset(folder) as dataset:
        found = dataset.read()
    assert sum(found.functions["calls"]) == 0
    (loss,) = [row for row in found.losses if row.kind == "dataset-left-out"]
    assert loss.count == sum(sum(make(seed, paths=300).functions["calls"]) for seed in range(3))
    assert "paths that the dataset lacks" in loss.detail
    assert [one.added for one in append(folder, [make(3, paths=300)])] == [True]


def test_a_damaged_file_of_paths_is_no_end(make, folder):
    for path in folder.glob("paths/*"):
        path.write_bytes(b"PAR1 nothing PAR1")
    with Dataset(folder) as dataset:
        assert sum(dataset.read().functions["calls"]) == 0
        assert any("paths" in text and "damaged" in text for text in dataset.problems)
    assert [one.added for one in append(folder, [make(3, paths=300)])] == [True]


def test_what_is_no_dataset(make, tmp_path):
    assert not is_dataset(tmp_path)
    with pytest.raises(RecordingError, match="this folder is no dataset"):
        Dataset(tmp_path)
    append(tmp_path / "ds", [])
    with pytest.raises(RecordingError, match="no recording was appended yet"):
        Dataset(tmp_path / "ds")
    for text, problem in (
        (json.dumps({"schema": 2}), "has schema 2, and this seismo reads 1"),
        ("{", "marker cannot be read"),
    ):
        (tmp_path / "ds" / "seismo-dataset.json").write_text(text)
        with pytest.raises(RecordingError, match=problem):
            Dataset(tmp_path / "ds")
        with pytest.raises(RecordingError, match=problem):
            append(tmp_path / "ds", [make(1)])


def test_recordings_that_cannot_be_read_are_left_out(make, tmp_path):
    make(1).save(tmp_path / "good.seismo")
    (tmp_path / "bad.seismo").write_bytes(b"nothing")
    data = (tmp_path / "good.seismo").read_bytes()
    (tmp_path / "later.seismo").write_bytes(data[:8] + b"\x09\x00" + data[10:])
    make(2).save(tmp_path / "cut.seismo")
    cut = (tmp_path / "cut.seismo").read_bytes()
    (tmp_path / "cut.seismo").write_bytes(cut[:-40])
    names = ("good", "bad", "later", "cut", "none")
    good, bad, later, half, none = append(tmp_path / "ds", [tmp_path / f"{name}.seismo" for name in names])
    assert (good.added, half.added) == (True, True)
    assert [bad.added, later.added, none.added] == [False] * 3
    assert "newer seismo" in later.remark
    assert "cannot be opened" in none.remark
    with Dataset(tmp_path / "ds") as dataset:
        assert "truncated" in {row.kind for row in dataset.read().losses}


def test_a_recording_of_version_1_counts_exactly_and_its_times_are_marked(make, tmp_path):
    columns = {1: [-1], 4: [20_000], 5: [3], 6: [2], 7: [64], 8: [6_400]}  # parent, calls, resumes, exceptions, timed
    tables = ((0, {1: [77]}), (1, {9: [2_000_000], 8: [1]}), (2, {0: [0], 5: [1]}), (3, columns))
    old = b"".join(chunks.table(number, 1, found) for number, found in tables)
    (tmp_path / "old.seismo").write_bytes(b"\x8fseismo\n\x01\0\0\0\0\0\0\0" + old)
    found = append(tmp_path / "ds", [tmp_path / "old.seismo", make(1)])
    assert [one.added for one in found] == [True, True]
    with Dataset(tmp_path / "ds") as dataset:
        whole = dataset.read()
        assert dataset.problems == []
    assert sum(whole.functions["calls"]) == 20_000 + sum(make(1).functions["calls"])
    assert "older-times" in {row.kind for row in whole.losses}
