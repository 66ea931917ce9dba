"""Appending: whole or not at all, any number of times, by any number of writers."""

import json
import os

import pytest

from seismo.errors import RecordingError, UsageError

duckdb = pytest.importorskip("duckdb", reason="datasets need DuckDB")
parquet = pytest.importorskip("pyarrow.parquet", reason="datasets need PyArrow")

from seismo.dataset import Dataset, append  # noqa: E402
from seismo.dataset import schema as tables  # noqa: E402


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_recording_twice_is_one(make, tmp_path):
    make(1).save(tmp_path / "a.seismo")
    (first,) = append(tmp_path / "ds", [tmp_path / "a.seismo"], {"version": "1"})
    before = files_in(tmp_path / "ds")
    again = append(tmp_path / "ds", [tmp_path / "a.seismo", tmp_path / "a.seismo"], {"version": "1"})
    assert (first.added, [one.added for one in again]) == (True, [False, False])
    assert {one.remark for one in again} == {"it is in the dataset already"}
    assert files_in(tmp_path / "ds") == before
    (other,) = append(tmp_path / "ds", [tmp_path / "a.seismo"], {"version": "2"})
    assert "other labels, which stay" in other.remark
    with Dataset(tmp_path / "ds") as dataset:
        assert list(dataset.label_values("version")) == ["1"]


def test_paths_and_functions_that_are_there_are_not_written_again(make, tmp_path):
    append(tmp_path / "ds", [make(5, pid=1)])
    shared = {name for name in files_in(tmp_path / "ds") if name.startswith(("paths", "functions"))}
    append(tmp_path / "ds", [make(5, pid=2, start=99)])
    assert {name for name in files_in(tmp_path / "ds") if name.startswith(("paths", "functions"))} == shared
    with Dataset(tmp_path / "ds") as dataset:
        assert sum(dataset.read().functions["calls"]) == 2 * sum(make(5).functions["calls"])


def test_paths_that_a_writer_has_forgotten_are_written_again_and_count_once(make, tmp_path, monkeypatch):
    monkeypatch.setattr("seismo.dataset.shared.MOST_KNOWN", 5)
    parts = [make(seed % 2, pid=seed) for seed in range(4)]
    append(tmp_path / "ds", parts)
    with Dataset(tmp_path / "ds") as dataset:
        rows = dataset.rows("select count(*), count(distinct hash) from paths")
        found = dataset.read()
    assert rows[0][0] > rows[0][1] >= len(found.tree) / 2
    assert sum(found.functions["calls"]) == sum(sum(part.functions["calls"]) for part in parts)


def test_paths_that_one_recording_lacks_are_known_to_the_next(make, tmp_path, monkeypatch):
    parts = [make(seed % 2, pid=seed) for seed in range(4)]
    monkeypatch.setattr("seismo.dataset.shared.MOST_KNOWN", 2 * max(len(part.tree) for part in parts))
    append(tmp_path / "ds", parts)
    with Dataset(tmp_path / "ds") as dataset:
        assert dataset.rows("select count(*) > 0, count(*) - count(distinct hash) from paths") == [(True, 0)]


def test_a_writer_that_fails_leaves_nothing(make, tmp_path, monkeypatch):
    append(tmp_path / "ds", [make(1)])
    before = files_in(tmp_path / "ds")

    def fails(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet.ParquetWriter, "write_table", fails)
    with pytest.raises(RecordingError, match="cannot be written: No space left on device"):
        append(tmp_path / "ds", [make(2)])
    monkeypatch.undo()
    assert files_in(tmp_path / "ds") == before
    os.mkdir(tmp_path / "ds" / ".writing" / "killed-1")  # as a writer that was killed leaves it
    assert [one.added for one in append(tmp_path / "ds", [make(2)])] == [True]


def test_labels_are_kept_whatever_their_text(make, tmp_path):
    hostile = {"a'b": "x'); drop table paths; --", "esc": "\x1b[31m", "n\nl": "ü\udc80", "task": "t'1"}
    append(tmp_path / "ds", [make(1)], hostile)
    with Dataset(tmp_path / "ds") as dataset:
        for name, value in hostile.items():
            assert list(dataset.label_values(name)) == [value.replace("\udc80", "?")]
        assert dataset.rows("select task from processes") == [("t'1",)]
    for wrong in ({"": "x"}, {"x": "\0"}, {"x": "y" * 5000}):
        with pytest.raises(UsageError, match="label"):
            append(tmp_path / "ds", [make(2)], wrong)


def test_a_folder_of_others_is_left_alone(make, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="has other files and is no dataset"):
        append(tmp_path, [make(1)])
    with pytest.raises(UsageError, match="this is a file"):
        append(tmp_path / "mine.txt", [make(1)])
    assert os.listdir(tmp_path) == ["mine.txt"]


def test_other_engines_read_the_files_as_they_are(make, tmp_path):
    """Names and types are those that the page states, and no SQL of seismo's is needed."""
    parts = [make(seed) for seed in range(3)]
    append(tmp_path / "ds", parts, {"version": "1"})
    calls = sum(sum(part.functions["calls"]) for part in parts)
    sql = "select sum(calls) from '{0}/recordings/*/{1}' join '{0}/functions/*.parquet' f using (function)"
    with duckdb.connect() as connection:
        for table in ("calls_by_path.parquet", "calls_by_function.parquet"):
            assert connection.execute(sql.format(tmp_path / "ds", table)).fetchone() == (calls,)
        joined = (
            sql.format(tmp_path / "ds", "calls_by_path.parquet")
            + f" join '{tmp_path}/ds/paths/*.parquet' p using (path)"
        )
        assert connection.execute(joined).fetchone() == (calls,)
    polars = pytest.importorskip("polars", reason="another engine, where it is installed")
    frame = polars.scan_parquet(tmp_path / "ds" / "recordings" / "*" / "calls_by_path.parquet")
    assert frame.select(polars.col("calls").sum()).collect().item() == calls
    for file in (tmp_path / "ds").rglob("*.parquet"):
        table = file.parent.name if file.parent.name in tables.SHARED else file.stem
        found = parquet.read_schema(file)
        assert [(field.name, field.type) for field in found] == [
            (name, tables.arrow_type(code)) for name, code in tables.TABLES[table]
        ]


def test_rows_are_sorted_by_function(make, tmp_path):
    """A question about one function reads few groups of rows, whose least and most are in the file."""
    append(tmp_path / "ds", [make(1, paths=500)])
    (file,) = (tmp_path / "ds").glob("recordings/*/calls_by_path.parquet")
    functions = parquet.read_table(file, columns=["function"])["function"].to_pylist()
    assert functions == sorted(functions)
    meta = parquet.read_metadata(file)
    assert all(meta.row_group(i).column(4).statistics.has_min_max for i in range(meta.num_row_groups))
    marker = json.loads((tmp_path / "ds" / "seismo-dataset.json").read_text())
    assert marker == {"schema": 1}
