"""The sum of a dataset has exactly the counts of a merge of the same recordings."""

import pytest

from seismo.dataset import Dataset, append
from seismo.model import Builder, merge, read

COUNTS = ("calls", "resumes", "exceptions", "awaits", "await_ns", "own_waiting_ns", "ready_ns", "lock_ns", "flags")


def tree_of(recording):
    """The counts of each distinct path, by names."""
    names = [(row.kind, row.module, row.qualname, row.file, row.line) for row in recording.functions]
    paths, found = [], {}
    for row in recording.tree:
        paths.append((*(paths[row.parent] if row.parent >= 0 else ()), names[row.function]))
        have = found.setdefault(paths[-1], [0] * len(COUNTS))
        for i, name in enumerate(COUNTS):
            value = getattr(row, name)
            have[i] = have[i] | value if name == "flags" else have[i] + value
    return found


def functions_of(recording):
    rows = [row for row in recording.functions if row.calls or row.resumes or row.own_ns]
    return {(row.module, row.qualname): row for row in rows}


def summed(tmp_path, parts):
    append(tmp_path / "ds", parts)
    with Dataset(tmp_path / "ds") as dataset:
        assert dataset.problems == []
        return dataset.read()


def test_counts_are_those_of_a_merge(make, tmp_path):
    parts = [make(number) for number in range(5)]
    parts[3:] = [merge(parts[3:])]  # several processes in one recording
    found, whole = summed(tmp_path, parts), merge(parts)
    assert tree_of(found) == tree_of(whole)
    assert (len(found.processes), len(found.threads)) == (len(whole.processes), len(whole.threads))
    assert [(row.kind, row.count) for row in found.losses] == [(row.kind, row.count) for row in whole.losses]
    assert [row.name for row in found.threads] == [row.name for row in whole.threads]


def test_times_are_those_of_the_combined_trees_and_errors_no_larger(make, tmp_path):
    parts = [make(number) for number in range(6)]
    found, whole = summed(tmp_path, parts), merge(parts)
    for times in ("wall", "cpu", "wait"):
        mine, theirs = functions_of(found.timed(times)), functions_of(whole.timed(times).combined())
        assert mine.keys() == theirs.keys()
        for key, row in mine.items():
            other = theirs[key]
            assert (row.calls, row.resumes, row.exceptions) == (other.calls, other.resumes, other.exceptions)
            assert row.own_ns == pytest.approx(other.own_ns, abs=20)
            assert row.total_ns == pytest.approx(other.total_ns, abs=100)
            assert row.total_wait_ns == pytest.approx(other.total_wait_ns)
            assert row.own_error_ns <= other.own_error_ns * 1.035
            assert row.own_error_ns > 0 or times == "wait" or not row.own_running_ns


def test_errors_of_chance_add_up_as_squares_and_shared_ones_as_they_are(tmp_path):
    """The error of a sum grows with the number of processes for the shared part, with its root for chance."""

    def sampled(pid):
        b = Builder()
        process = b.process(pid, start_ns=pid, cost_error=0.1, python_inside=50.0)
        thread = b.thread(process, "main", main=1)
        for i in range(2):
            node = b.node(-1, thread, b.function("m", f"f{i}", "m.py", i), calls=1000)
            b._rows["nodes"]["entered"][node] = b._rows["nodes"]["timed"][node] = 0
            for name, value in (("sampled", 100), ("sampled_ns", 10**8), ("sampled_sq", 10**14)):
                column = b._rows["nodes"][name]
                column.extend([0] * (node + 1 - len(column)))
                column[node] = value
        return b.build({"recorder": "calltree"})

    one = sampled(1)
    common, error = one._estimated["function_distortion_ns"][0], one.functions["own_error_ns"][0]
    chance = (error**2 - common**2) ** 0.5
    assert chance > 0
    assert common > 0
    many = summed(tmp_path, [sampled(pid) for pid in range(1, 17)])
    assert many.functions["own_error_ns"][0] == pytest.approx(
        ((4 * chance) ** 2 + (16 * common) ** 2) ** 0.5, rel=0.035
    )


def test_threads_of_processes_in_any_order_and_processes_without_any(tmp_path):
    b = Builder()
    processes = [b.process(pid, start_ns=pid) for pid in range(3)]
    threads = [b.thread(processes[number], f"t{number}", main=1) for number in (1, 0, 1)]
    f, g = b.function("m", "f", "m.py", 1), b.function("m", "g", "m.py", 5)
    roots = [b.node(-1, thread, f, calls=thread + 1, own_ns=5) for thread in threads]
    for number in (2, 0, 1):
        b.node(roots[number], threads[number], g, calls=10 * (number + 1), own_ns=7)
    recording = b.build({"recorder": "calltree"})
    found = summed(tmp_path, [recording])
    assert tree_of(found) == tree_of(recording)
    with Dataset(tmp_path / "ds") as dataset:
        sql = (
            "select pid, sum(calls)::bigint from calls_by_path join processes using (process) group by pid order by pid"
        )
        assert dataset.rows(sql) == [(0, 22), (1, 44)]
        assert dataset.rows("select count(*) from processes") == [(3,)]


def test_a_recorded_program_and_its_merge_are_the_same_processes(make, tmp_path):
    parts = [read(make(seed).to_bytes()) for seed in (1, 2, 3)]
    assert all(one.added for one in append(tmp_path / "ds", parts[:2]))
    (one,) = append(tmp_path / "ds", [read(merge(parts).to_bytes())])
    assert one.added
    assert "2 of its 3 processes are in the dataset already" in one.remark
    with Dataset(tmp_path / "ds") as dataset:
        assert tree_of(dataset.read()) == tree_of(merge(parts))


def test_the_sum_is_a_recording_as_any(make, tmp_path):
    parts = [make(number) for number in range(3)]
    found = summed(tmp_path, parts)
    found.save(tmp_path / "sum.seismo")
    again = read(tmp_path / "sum.seismo")
    assert again.problems == []
    assert tree_of(again) == tree_of(merge(parts))
    assert again.functions["own_ns"].tolist() == pytest.approx(found.functions["own_ns"].tolist())
    assert tree_of(found.merge(again)).keys() == tree_of(again).keys()
