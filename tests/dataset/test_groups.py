"""How times spread over groups, and which functions explain that some are slow."""

import random

import pytest

from seismo.dataset import Dataset, append, explain, spread
from seismo.errors import UsageError
from seismo.model import Builder

TASKS = 200


def tasks(seed):
    """A recording with a process for each task: each calls the same 12 functions, one takes another branch, too.

    Times vary by a tenth from task to task, and two functions by a half.
    """
    some = random.Random(seed)
    b = Builder()
    straggler = some.randrange(TASKS)
    for task in range(TASKS):
        process = b.process(1000 + task, host=f"h{task % 4}", start_ns=10**18 + task)
        thread = b.thread(process, "MainThread", main=1)
        root = b.node(-1, thread, b.function("app", "task", "app.py", 1), calls=1, own_ns=10_000)
        for i in range(12):
            own = max(0.0, some.gauss(1, 0.5 if i < 2 else 0.1)) * 100_000
            b.node(root, thread, b.function("app", f"step{i}", "app.py", 10 + i), calls=some.randint(9, 11), own_ns=own)
        if task == straggler:
            retry = b.function("app", "retry", "app.py", 99)
            b.node(root, thread, retry, calls=40, own_ns=2_000_000 * some.uniform(0.5, 1.5))
    return b.build({"recorder": "calltree"})


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.matrix) for seed in range(1, 20))])
def test_a_planted_straggler_is_named_first(tmp_path, seed):
    append(tmp_path / "ds", [tasks(seed)])
    with Dataset(tmp_path / "ds") as dataset:
        found = explain(dataset, "process", limit=100)
    first = found.functions[0]
    assert (first.qualname, first.is_sure, first.groups, first.rest_calls) == ("retry", True, 1, 0)
    assert (len(found.slow), found.rest) == (20, 180)
    assert sum(row.part for row in found.functions) == pytest.approx(1)


def test_calls_explain_where_own_times_vary_too_much(tmp_path):
    """A call takes 100 us, and a look every 2 ms finds it or not: the times of one task say little, its calls do."""
    b = Builder()
    for task in range(60):
        thread = b.thread(b.process(1000 + task, start_ns=task), "main", main=1)
        slow = task == 7
        root = b.node(-1, thread, b.function("m", "task", "m.py", 1), calls=1, own_ns=10**6 + slow * 2 * 10**7)
        decode = b.function("m", "decode", "m.py", 9)
        b.node(root, thread, decode, calls=30 if slow else 10, own_ns=2 * 10**6 * (task % 2))
        b.node(root, thread, b.function("m", "other", "m.py", 20), calls=3, own_ns=10**4 * (task % 3))
    append(tmp_path / "ds", [b.build({"recorder": "calltree"})])
    with Dataset(tmp_path / "ds") as dataset:
        functions = {row.qualname: row for row in explain(dataset, "process").functions}
    assert functions["task"].is_sure
    assert not functions["task"].is_by_calls
    decode = functions["decode"]
    assert (decode.is_sure, decode.is_by_calls, decode.rest_calls) == (True, True, 10)
    assert decode.part < decode.error
    assert decode.explained == (decode.by_calls, decode.by_calls_error)
    assert decode.ratio == pytest.approx(3, rel=0.2)
    assert not functions["other"].is_sure
    assert list(functions)[-1] == "other"


def test_equal_groups_have_nothing_to_explain(tmp_path):
    b = Builder()
    for pid in range(10):
        thread = b.thread(b.process(pid, start_ns=pid), "main", main=1)
        b.node(-1, thread, b.function("m", "f", "m.py", 1), calls=3, own_ns=1000)
    append(tmp_path / "ds", [b.build({"recorder": "calltree"})])
    with Dataset(tmp_path / "ds") as dataset:
        assert explain(dataset, "process").functions == []


def test_a_spread_counts_groups_without_the_function_as_0(tmp_path):
    for group, own in enumerate([100, 200, 300, 400]):
        b = Builder()
        thread = b.thread(b.process(group, start_ns=group), "main", main=1)
        b.node(-1, thread, b.function("m", "often", "m.py", 1), calls=group + 1, own_ns=own)
        if group == 3:
            b.node(-1, thread, b.function("m", "rare", "m.py", 9), calls=7, own_ns=50)
        append(tmp_path / "ds", [b.build({"recorder": "calltree"})], {"n'": str(group), "task": f"t{group}"})
    with Dataset(tmp_path / "ds") as dataset:
        for by in ("process", "task", "label:n'"):
            count, (often, rare) = spread(dataset, by)
            assert (count, often.own, often.calls) == (4, (100, 200, 400, 400), (1, 2, 4, 4))
            assert (rare.groups, rare.own, rare.calls) == (1, (0, 0, 50, 50), (0, 0, 7, 7))


def test_functions_of_two_versions_are_one_where_asked(tmp_path):
    for group in range(4):
        b = Builder()
        thread = b.thread(b.process(group, start_ns=group), "main", main=1)
        b.node(-1, thread, b.function("m", "decode", "m.py", 10 + group % 2), calls=5, own_ns=100 + group)
        b.node(-1, thread, b.function("n", "decode", "n.py", 10), calls=1, own_ns=1)
        append(tmp_path / "ds", [b.build({"recorder": "calltree"})], {"version": str(group % 2)})
    with Dataset(tmp_path / "ds") as dataset:
        rows = [(row.line, row.groups, row.calls) for row in spread(dataset, "process")[1] if row.module == "m"]
        assert sorted(rows) == [(10, 2, (0, 0, 5, 5)), (11, 2, (0, 0, 5, 5))]
        count, (first, second) = spread(dataset, "process", by_name=True)
        assert (count, first.groups, first.own, first.calls) == (4, 4, (100, 101, 103, 103), (5, 5, 5, 5))
        assert (second.module, second.groups) == ("n", 4)
        why = explain(dataset, "process", by_name=True)
        assert [row.rest_calls for row in why.functions if row.module == "m"] == [5]


def test_what_cannot_be_a_group(make, tmp_path):
    append(tmp_path / "ds", [make(seed) for seed in range(3)], {"version": "1"})
    with Dataset(tmp_path / "ds") as dataset:
        with pytest.raises(UsageError, match="did you mean host"):
            spread(dataset, "hots")
        with pytest.raises(UsageError, match="no recording has the label 'vesion'"):
            spread(dataset, "label:vesion")
        with pytest.raises(UsageError, match="there are 1 groups, and 3 are the fewest"):
            explain(dataset, "label:version")
        with pytest.raises(UsageError, match="--label task=NAME"):
            explain(dataset, "task")
