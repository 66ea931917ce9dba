"""Every engine adds up a dataset to the same rows, and its counts are those of a merge of the recordings."""

import math

import pytest
from objects_made import drawn
from random_recordings import covered

from seismo.model import Builder, merge, read

pa = pytest.importorskip("pyarrow", reason="datasets need PyArrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="datasets need PyArrow")

from seismo.dataset import Dataset, append, compact  # noqa: E402
from seismo.dataset.schema import SHARED, TABLES, D, F  # noqa: E402
from seismo.errors import RecordingError, UsageError  # noqa: E402


def work():
    return [abs(number) for number in range(3)]


def rows_of(folder):
    """All rows of a dataset by table, sorted, and their numbers that are rounded."""
    exact, rounded = {}, {}
    for table, columns in TABLES.items():
        files = folder.glob(f"{table}/*.parquet" if table in SHARED else f"recordings/*/{table}.parquet")
        rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
        floats = [name for name, code in columns if code in (D, F)]
        rows.sort(key=lambda row: [repr(value) for name, value in row.items() if name not in floats])
        exact[table] = [{name: value for name, value in row.items() if name not in floats} for row in rows]
        rounded[table] = [[row[name] for name in floats] for row in rows]
    return exact, rounded


def check_equal(folder, engine, tmp_path):
    """Compare the sum of an engine with DuckDB's. Return the engine's as a recording."""
    for one in sorted({"duckdb", engine}):
        with Dataset(folder) as dataset:
            compact(dataset, tmp_path / f"by {one}", one)
            assert dataset.problems == []
    (exact, rounded), (expected, numbers) = rows_of(tmp_path / f"by {engine}"), rows_of(tmp_path / "by duckdb")
    assert exact == expected
    for table, rows in rounded.items():
        for row, others in zip(rows, numbers[table], strict=True):
            assert all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(row, others, strict=True)), table
    with Dataset(tmp_path / f"by {engine}") as dataset:
        return dataset.read()


def counts_of(recording):
    return {row.qualname: (row.calls, row.resumes, row.exceptions) for row in recording.functions if row.calls}


def test_calls(make, tmp_path, engine, monkeypatch):
    # Workers take so few rows at a time that each table has several parts.
    monkeypatch.setattr("seismo.dataset.engines.ROWS_OF_PART", 64)
    parts = [make(number) for number in range(7)]
    parts[5:] = [merge(parts[5:])]
    append(tmp_path / "ds", parts, {"version": "1"})
    found = check_equal(tmp_path / "ds", engine, tmp_path)
    whole = merge(parts)
    assert counts_of(found) == counts_of(whole)
    assert (len(found.processes), len(found.threads)) == (len(whole.processes), len(whole.threads))
    assert [(row.kind, row.count) for row in found.losses] == [(row.kind, row.count) for row in whole.losses]
    with Dataset(tmp_path / "ds") as dataset:
        direct = dataset.read()
    assert list(direct.tree) == list(found.tree)
    assert direct.functions["own_error_ns"].tolist() == pytest.approx(found.functions["own_error_ns"].tolist())


def test_lines_branches_and_contexts(tmp_path, engine):
    parts = [covered(seed) for seed in range(4)]
    append(tmp_path / "ds", parts)
    found, whole = check_equal(tmp_path / "ds", engine, tmp_path), merge(parts)
    assert found.kind == "coverage"
    for name in ("lines", "arcs", "branches", "sources", "contexts"):
        assert list(getattr(found, name)) == list(getattr(whole, name)), name
    assert set(found.context_rows()) == set(whole.context_rows())


def test_only_the_attempts_that_count(tasks, tmp_path, engine):
    for attempt in (1, 2, 3):
        tasks.run({"task": "retried", "attempt": str(attempt)}, work)
    tasks.run({"task": "other", "attempt": "1"}, work)
    found = check_equal(tasks.append(), engine, tmp_path)
    assert counts_of(found)["work"][0] == 2


def test_objects(tmp_path, engine):
    parts = [drawn(seed, pid=seed) for seed in range(5)]
    append(tmp_path / "ds", parts)
    found, whole = check_equal(tmp_path / "ds", engine, tmp_path), merge(parts).combined()
    assert found.kind == "lifetimes"
    assert list(found.types) == list(whole.types)
    assert sorted(row[2:] for row in found.lifetimes) == sorted(row[2:] for row in whole.lifetimes)
    counted = [sorted((*row[1:4], *row[6:]) for row in recording.objects) for recording in (found, whole)]
    assert counted[0] == counted[1]


def test_sums_are_limited_to_64_bits(tmp_path, engine):
    def huge(pid):
        b = Builder()
        thread = b.thread(b.process(pid, start_ns=pid), "main", main=1)
        for number, calls in enumerate((2**62 + 5, 2**61 + 3, 7)):
            b.node(-1, thread, b.function("m", f"f{number}", "m.py", number), calls=calls, own_ns=1)
        return b.build({"recorder": "calltree"})

    append(tmp_path / "ds", [huge(pid) for pid in range(3)])
    found = check_equal(tmp_path / "ds", engine, tmp_path)
    calls = {row.qualname: row.calls for row in found.functions}
    assert calls == {"f0": 2**63 - 1, "f1": 3 * 2**61 + 9, "f2": 21}


def test_what_is_damaged_inside_is_left_out(make, tmp_path, engine):
    folder = tmp_path / "d [1]{a}*?"
    append(folder, [make(seed, paths=300) for seed in range(3)])
    path = max(folder.glob("recordings/*/calls_by_path.parquet"), key=lambda path: path.stat().st_size)
    data = bytearray(path.read_bytes())
    group = parquet.read_metadata(path).row_group(0)
    start = min(group.column(i).data_page_offset for i in range(group.num_columns) if i > 5)
    data[start : start + 50] = b"\xff" * 50
    path.write_bytes(data)
    lost = parquet.read_table(path.parent / "calls_by_function.parquet", columns=["calls"])["calls"].to_pylist()
    with Dataset(folder) as dataset:
        compact(dataset, tmp_path / "sum", engine)
        assert any("calls_by_path.parquet is damaged" in text for text in dataset.problems)
    with Dataset(tmp_path / "sum") as dataset:
        found = dataset.read()
        assert len(dataset.recordings) == 1
    assert sum(found.functions["calls"]) == sum(sum(make(n, paths=300).functions["calls"]) for n in range(3)) - sum(
        lost
    )
    assert any("is damaged" in row.detail for row in found.losses)


@pytest.mark.parametrize("engine", ["duckdb", "dask"], indirect=True)
def test_merge_command(make, seismo, tmp_path, engine):
    names = [f"{seed}.seismo" for seed in range(3)]
    for seed, name in enumerate(names):
        make(seed).save(tmp_path / name)
    assert seismo("export", *names, "-f", "dataset", "-o", "ds", "--label", "version=1")[0] == 0
    assert seismo("merge", "ds", "--engine", engine, "-o", "sum.seismo") == (0, "", "")
    assert seismo("merge", "ds", "--engine", engine, "-f", "dataset", "-o", "sum") == (0, "", "")
    whole = merge(read(tmp_path / name) for name in names)
    found = read(tmp_path / "sum.seismo")
    assert counts_of(found) == counts_of(whole)
    with Dataset(tmp_path / "sum") as dataset:
        assert (found.threads_are_summed, whole.threads_are_summed) == (True, False)
        errors = dataset.read().functions["own_error_ns"].tolist()
        assert found.functions["own_error_ns"].tolist() == pytest.approx(errors, rel=0.1)
        assert any(errors)
        assert counts_of(dataset.read()) == counts_of(whole)
        assert [entry.labels for entry in dataset.recordings.values()] == [{"version": "1"}]
    again = seismo("export", *names, "-f", "dataset", "-o", "sum")[2].splitlines()
    assert ["1 of its 1 processes are in the dataset already" in line for line in again] == [True] * 3 + [False]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["ds", "sum", "sum.seismo", *names])
    with Dataset(tmp_path / "ds") as dataset, pytest.raises(UsageError, match="has recordings already"):
        compact(dataset, tmp_path / "sum", engine)
    with Dataset(tmp_path / "ds") as dataset, pytest.raises(UsageError, match="no engine 'duck'"):
        compact(dataset, tmp_path / "other", "duck")


def test_kinds_are_not_mixed(make, tmp_path, engine):
    append(tmp_path / "ds", [make(1), covered(1)])
    with Dataset(tmp_path / "ds") as dataset:
        for add_up in (lambda: compact(dataset, tmp_path / "sum", engine), dataset.read):
            with pytest.raises(RecordingError, match="calls and coverage cannot be merged"):
                add_up()
