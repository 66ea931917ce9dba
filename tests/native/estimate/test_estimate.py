"""The estimator: against programs whose every nanosecond is known, and its rules one by one."""

import math
import random
import statistics
from typing import NamedTuple

import pytest
from allocations import can_fail, each_fails
from estimating import recording
from simulated import YOUNG, Process

from seismo import _core
from seismo.model import merge

COSTS = {"python_inside": 12.0, "python_outside": 12.0, "piece_ns": 20.0, "cost_error": 0.25}


# ---- whole processes ----


class Scenario(NamedTuple):
    """How a program behaves, and how wide the errors of its main functions may be, in the middle."""

    calls: int
    width: float
    functions: int = 6
    sigma: float = 0.4  # of the logarithm of the lengths of a function's pieces
    off: float = 1.0  # the pieces of two thirds of the functions are so many times longer, or shorter, once mature
    look: float = 150_000.0
    looked_at: bool = True
    threads: int = 1
    costs: dict | None = None
    spread: float = 0.0


SCENARIOS = {
    "few looks": Scenario(5_000, 1.0),
    "many looks": Scenario(5_000, 0.25, look=1_500.0),
    "few looks, costs that differ": Scenario(5_000, 1.05, costs=COSTS, spread=0.12),
    "many looks, costs that differ": Scenario(5_000, 0.3, look=1_500.0, costs=COSTS, spread=0.12),
    "few looks, young calls mispredict by 3": Scenario(5_000, 1.0, off=3.0),
    "many looks, young calls mispredict by 3": Scenario(5_000, 0.25, look=1_500.0, off=3.0),
    "pieces of all lengths": Scenario(5_000, 1.0, sigma=1.2),
    "a block without any look": Scenario(1_500, 1.5, looked_at=False),
    "the same, costs that differ": Scenario(1_500, 1.6, looked_at=False, costs=COSTS, spread=0.12),
    "one callee": Scenario(5_000, 1.0, functions=1, costs=COSTS, spread=0.12),
    "many threads": Scenario(5_000, 1.2, threads=40),
}
SEEDS = 20
# What the others vary by one more of their parameters.
IN_THE_MATRIX = [name for name in SCENARIOS if ", " in name] + ["pieces of all lengths", "one callee"]


def run(scenario, seed):
    """A main function, on each thread, that calls functions in random order; each second one of them calls a leaf."""
    process = Process(seed, costs=scenario.costs, spread=scenario.spread, look=scenario.look)
    rnd = process.random
    main, leaf = process.function(), process.function()
    functions = [process.function() for _ in range(scenario.functions)]
    lengths = {function: rnd.lognormvariate(5.0, 1.0) for function in [leaf, *functions]}
    off = {function: scenario.off ** rnd.choice((-1, 0, 1)) for function in lengths}

    def piece(function):
        later = off[function] if process.entries[function] > YOUNG else 1.0
        return lengths[function] * later * rnd.lognormvariate(0, scenario.sigma)

    each = scenario.calls / scenario.threads / scenario.functions
    for _ in range(scenario.threads):
        process.thread()
        top = process.node(main)
        nodes = [process.node(function, top) for function in functions]
        leaves = [process.node(leaf, node) for node in nodes]
        order = [i for i in range(scenario.functions) for _ in range(1 + int(2 * each * rnd.random()))]
        rnd.shuffle(order)
        process.enter(top, 2_000.0)
        for i in order:
            reported = process.enter(nodes[i], piece(functions[i]))
            if i % 2:
                process.go_on(nodes[i], 40.0, leaves[i], process.enter(leaves[i], piece(leaf)))
            process.go_on(top, 60.0, nodes[i], reported)
        process.end_thread(scenario.looked_at)
    return process


def holds(values, errors, truths, least):
    return [abs(a - b) <= error + least for a, error, b in zip(values, errors, truths, strict=True)]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.matrix] * (name in IN_THE_MATRIX)) for name in SCENARIOS]
)
def test_errors_hold_the_truth_in_19_of_20(name):
    scenario = SCENARIOS[name]
    functions, nodes, totals, widths, offs = [], [], [], [], []
    for seed in range(SEEDS):
        process = run(scenario, seed)
        made, truths = process.recording(), process.own_times()
        rows, tree, whole = made.functions, made.tree, sum(truths)
        least = 1e-4 * whole
        functions += holds(rows["own_ns"], rows["own_error_ns"], truths, least)
        nodes += holds(tree["own_ns"], tree["own_error_ns"], process.truth, least)
        totals += holds(tree["total_ns"], tree["total_error_ns"], process.total_times(), least)
        main = [(row, truth) for row, truth in zip(rows, truths, strict=True) if truth > 0.05 * whole]
        widths += [row.own_error_ns / truth for row, truth in main]
        offs += [(row.own_ns - truth) / truth for row, truth in main]
        assert sum(rows["own_ns"]) == pytest.approx(whole, rel=0.001 + 0.5 * scenario.spread)
        assert sum(rows["own_ns"]) == pytest.approx(sum(tree["own_ns"]), rel=1e-9)
    for found in (functions, nodes, totals):
        assert sum(found) >= 0.93 * len(found)
    assert abs(statistics.mean(offs)) < (0.06 if scenario.off == 1 else 0.15)
    assert statistics.median(widths) < scenario.width
    assert statistics.median(widths) < (5 if scenario.looked_at else 10) * statistics.pstdev(offs)


def test_recursion():
    """One function on a path that gets ever deeper: its own time is all there is, and each path has its part."""
    found = []
    for seed in range(5):
        process = Process(seed, costs=COSTS, spread=0.1)
        process.thread()
        function, path = process.function(), []
        rnd = process.random

        def fibonacci(n, process=process, function=function, path=path, rnd=rnd, depth=0):
            if depth == len(path):
                path.append(process.node(function, path[-1] if path else -1))
            node = path[depth]
            reported = process.enter(node, rnd.lognormvariate(3.5, 0.3))
            for callee in (n - 1, n - 2) if n > 1 else ():
                told = fibonacci(callee, depth=depth + 1)
                process.go_on(node, rnd.lognormvariate(2.5, 0.3), path[depth + 1], told)
            return reported

        fibonacci(17)
        process.end_thread()
        made = process.recording()
        (row,), whole = made.functions, sum(process.truth)
        assert row.own_ns == pytest.approx(row.total_ns)
        assert abs(row.own_ns - whole) <= row.own_error_ns < 0.5 * whole
        found += holds(made.tree["own_ns"], made.tree["own_error_ns"], process.truth, 1e-3 * whole)
        found += holds(made.tree["total_ns"], made.tree["total_error_ns"], process.total_times(), 1e-3 * whole)
    assert sum(found) >= 0.93 * len(found)


# ---- the rules one by one ----


def timed(ns, calls=1, **more):
    """A node of which every piece is exact."""
    return {"calls": calls, "entered": calls, "timed": calls, "timed_ns": ns, **more}


def looks(count, ns=250_000, **more):
    """A node that so many looks have found."""
    return {"calls": 1, "sampled": count, "sampled_ns": count * ns, "sampled_sq": count * float(ns) ** 2, **more}


def owns(*arguments, **more):
    return recording(*arguments, **more).tree["own_ns"].tolist()


def test_what_is_timed_is_exact_and_less_what_the_probes_cost():
    (exact,) = recording([timed(12_345, calls=10)], [0]).functions
    assert (exact.own_ns, exact.own_error_ns) == (12_345, 0)
    assert owns([timed(12_345, calls=10)], [0], costs={"piece_ns": 20.0, "python_inside": 99.0}) == [12_145]


def test_counting_costs_the_callee_and_the_caller():
    nodes = [
        looks(400),
        looks(400, parent=0, function=1, calls=500_000),
        looks(400, parent=0, function=2, calls=500_000),
        looks(400, parent=0, function=3, calls=100_000, resumes=900_000, entered=500_000),
    ]
    costs = {"python_inside": 10.0, "c_inside": 5.0, "resume_inside": 7.0}
    costs |= {"python_outside": 30.0, "c_outside": 20.0, "resume_outside": 9.0}
    rest = [4 * 400 * 250_000]
    bare, made = (owns(nodes, [0, 0, 1, 0], costs=of, rest_ns=rest) for of in (None, costs))
    outside = 500_000 * 30 + 500_000 * 20 + (100_000 * 30 + 900_000 * 9) / 2
    expected = [10 + outside, 500_000 * 10, 500_000 * 5, (100_000 * 10 + 900_000 * 7) / 2]
    less = [a - b for a, b in zip(bare, made, strict=True)]
    assert sum(less) == pytest.approx(sum(expected))
    assert less == pytest.approx(expected, abs=400_000)  # what the predictions of the two are worth


def test_entries_with_deep_calls_below_them_cost_their_callers_more():
    """Of a chain of ten nodes, four have calls six levels below; the third of these has fewer than entries."""
    calls = [1_000_000] * 8 + [400_000] * 2
    nodes = [looks(400, parent=i - 1, function=i, calls=count) for i, count in enumerate(calls)]
    rest = [10 * 400 * 250_000]
    costs = {"python_inside": 1e-9}
    bare, made = (owns(nodes, [0] * 10, costs=of, rest_ns=rest) for of in (costs, costs | {"deep_ns": 20.0}))
    less = [a - b for a, b in zip(bare, made, strict=True)]
    assert less == pytest.approx([20_000_000, 8_000_000, 8_000_000, *[0] * 7], abs=500_000)


def test_costs_never_make_a_time_negative_and_clamping_adds_nothing():
    nodes = [looks(40, calls=10_000_000), looks(400, function=1)]
    made = recording(nodes, [0, 0], rest_ns=[110_000_000], costs={"python_inside": 5.0, "cost_error": 0.1})
    short, long = made.functions
    assert 0 < short.own_ns < 1_000_000  # looks have found it
    assert short.own_error_ns >= 40_000_000 - 1_000_000  # it costs less here, by that at least
    assert short.own_ns + long.own_ns == pytest.approx(110_000_000 - 50_000_000)
    assert sum(owns(nodes, [0, 0], rest_ns=[1_000], costs={"python_inside": 5.0})) == pytest.approx(50)


def test_what_looks_missed_was_in_what_they_found():
    """The sampler came too late for half of the time."""
    made = recording([looks(300), looks(100, function=1)], [0, 0], rest_ns=[200_000_000])
    assert sum(made.tree["own_ns"]) == pytest.approx(200_000_000)
    assert made.tree[0].own_ns == pytest.approx(150_000_000, rel=0.03)
    sure = recording([looks(300), looks(100, function=1)], [0, 0], rest_ns=[100_000_000])
    relative = [one.tree[1].own_error_ns / one.tree[1].own_ns for one in (sure, made)]
    assert relative[0] == pytest.approx(relative[1])


@pytest.mark.parametrize("rest", [0, 100_000_000, 1_000_000])
def test_looks_may_be_all_that_is_known_or_more(rest):
    found = owns([looks(300), looks(100, function=1)], [0, 0], rest_ns=[rest])
    assert sum(found) == pytest.approx(rest or 100_000_000)
    assert found[0] == pytest.approx(3 * found[1], rel=0.05)


def test_without_looks_the_exact_pieces_say_whose_the_rest_was():
    """256 entries of each were timed, and 744 were not; main() was entered once and goes on after each of the calls."""
    nodes = [
        timed(51_300, entered=1, timed=513, calls=1),
        timed(256 * 200, parent=0, function=1) | {"calls": 1_000, "entered": 256, "timed": 256},
        timed(256 * 600, parent=0, function=2) | {"calls": 1_000, "entered": 256, "timed": 256},
    ]
    made = recording(nodes, [0, 0, 0], rest_ns=[744 * 1_000])
    rest = [own - node["timed_ns"] for own, node in zip(made.tree["own_ns"], nodes, strict=True)]
    assert rest == pytest.approx([2 * 744 * 100, 744 * 200, 744 * 600], rel=0.001)
    for own, error in zip(rest, made.tree["own_error_ns"], strict=True):
        assert own / 2 < error < 3 * own
    assert made.tree[0].total_error_ns == 0


def test_prediction_and_looks_that_disagree_raise_doubt():
    """Looks have found as much as was predicted of the first function, or far more."""
    young = {"calls": 2_000, "entered": 256, "timed": 256}
    errors = []
    for piece in (1_000, 10_000):
        nodes = [looks(12) | young | {"timed_ns": 256_000}, looks(12, function=1) | young | {"timed_ns": 256 * piece}]
        errors.append(recording(nodes, [0, 0], rest_ns=[6_000_000]).functions[0].own_error_ns)
    assert errors[1] > 1.1 * errors[0]


def test_a_path_that_was_never_found_has_what_its_calls_predict():
    young = {"entered": 128, "timed": 128, "timed_ns": 128 * 500}
    nodes = [looks(100) | young | {"calls": 50_000}, {"calls": 500, **young}]
    rare = recording(nodes, [0], rest_ns=[25_000_000]).tree[1]
    assert 64_000 < rare.own_ns < 64_000 + 400_000
    assert rare.own_error_ns > 0


def test_each_threads_paths_have_the_time_that_it_ran():
    """A few looks fall on threads as they please, but how long each ran is known."""
    nodes = [looks(2, thread=0), looks(6, thread=1), {"calls": 1, "thread": 2}, looks(5, thread=1, function=1)]
    found = owns(nodes, [0, 0], thread_process=(0, 0, 0, 0), rest_ns=[1_000_000, 2_000_000, 500_000, 9_000_000])
    assert [found[0], found[1] + found[3], found[2]] == pytest.approx([1_000_000, 2_000_000, 500_000])


def test_processes_have_their_own_populations_and_costs():
    """The same function takes a hundred times as long in one of two processes that were merged."""
    parts = [
        recording([looks(20, ns, calls=1_000)], [0], costs={"python_inside": cost}, rest_ns=[20 * ns])
        for ns, cost in ((5_000, 20.0), (500_000, 10.0))
    ]
    both = merge(parts)
    assert sorted(both.tree["own_ns"].tolist()) == pytest.approx([80_000, 9_990_000])
    assert both.functions["own_ns"].tolist() == pytest.approx([10_070_000])
    assert both.combined().functions["own_ns"].tolist() == pytest.approx([10_070_000])


def test_waiting_is_in_addition_and_is_no_time_of_what_only_ran():
    nodes = [looks(40), timed(5_000, function=1, wait_ns=700, wait_sq=100.0)]
    made = recording(nodes, [0, 0], rest_ns=[10_000_000])
    assert [row.own_ns for row in made.functions] == pytest.approx([10_000_000, 5_700])
    assert made.functions[1].own_error_ns == pytest.approx(20)
    waiting = made.timed("wait").functions
    assert [(row.own_ns, row.own_error_ns, row.total_ns) for row in waiting] == [(0, 0, 0), (700, 20, 700)]
    assert [row.own_ns for row in made.timed("cpu").functions] == pytest.approx([10_000_000, 5_000])


def test_a_program_is_not_equally_fast_twice():
    """Where it was measured what probes cost, by 4 % of the time; beside busy processes by more."""

    def error(ready_ns, processes=(0, 0), **costs):
        nodes = [timed(100_000), timed(100_000, thread=1, function=1, wait_ns=2 * ready_ns, ready_ns=ready_ns)]
        return recording(nodes, [0, 0], costs=costs, processes=2, thread_process=processes).tree[0].own_error_ns

    assert error(0, cost_error=0.1) == pytest.approx(4_000)
    assert error(0, cost_error=0.1, piece_ns=100.0) == pytest.approx(0.04 * 99_900 + 0.1 * 100)
    assert 4_000 < error(100_000, cost_error=0.1) < error(1 << 40, cost_error=0.1) < 10_001
    assert error(100_000, (0, 1), cost_error=0.1) == pytest.approx(4_000)
    assert error(100_000) == 0


def test_what_all_have_in_common_adds_up():
    leaves = [timed(20_000, parent=0, function=1 + i % 50) for i in range(100)]
    made = recording([timed(1_000_000), *leaves], [0] * 51, costs={"cost_error": 0.05})
    assert made.tree[0].total_error_ns == pytest.approx(0.04 * (1_000_000 + 100 * 20_000))


def test_the_error_of_totals_that_share_theirs_is_not_that_of_independent_ones():
    """A function that was met on many paths is about as doubtful as on one, in all sums of its nodes."""
    other, calls = looks(40, function=1), {"calls": 100_000, "timed": 250, "timed_ns": 25_000}
    one = recording([looks(10) | calls, other], [0, 0], rest_ns=[12_500_000])
    parts = [looks(i < 10) | {name: value // 50 for name, value in calls.items()} for i in range(50)]
    many = recording([*parts, other], [0, 0], rest_ns=[12_500_000])
    error = one.functions[0].own_error_ns
    assert many.functions[0].own_error_ns == pytest.approx(error, rel=0.05)
    for found in (many.functions[0].total_error_ns, many.total_error(range(50))):
        assert error * 0.95 <= found < error * 1.5
    assert many.total_error([7]) == many.tree[7].total_error_ns
    assert many.combined().functions[0].total_error_ns == pytest.approx(many.functions[0].total_error_ns, rel=0.01)


def test_totals_count_recursion_once():
    nodes = [timed(1), timed(10, function=1, parent=0), timed(100, parent=1), timed(1000, function=1, parent=2)]
    made = recording([*nodes, timed(10_000, function=1)], [0, 0])
    assert made.tree["total_ns"].tolist() == [1111, 1110, 1100, 1000, 10_000]
    assert made.tree["depth"].tolist() == [0, 1, 2, 3, 0]
    assert made.functions["total_ns"].tolist() == [1111, 11_110]


def test_a_deep_tree_needs_no_stack():
    depth = 100_000
    made = recording([timed(1, parent=i - 1) for i in range(depth)], [0])
    assert made.tree["total_ns"][0] == depth
    assert made.functions["total_ns"].tolist() == [depth]


def test_impossible_numbers_stay_finite():
    """Files may hold anything that the reader lets in."""
    rnd, most = random.Random(3), 2**63 - 1
    columns = ("calls", "resumes", "entered", "timed", "timed_ns", "sampled", "sampled_ns", "wait_ns", "ready_ns")
    for _ in range(300):
        count = rnd.randrange(1, 6)
        nodes = [
            {name: rnd.choice((0, 1, 1, 1_000, most)) for name in columns}
            | {name: rnd.choice((0.0, 1e-300, 1.0, 9e39)) for name in ("sampled_sq", "wait_sq")}
            | {"parent": rnd.randrange(-1, i), "function": rnd.randrange(2)}
            for i in range(count)
        ]
        names = ("python_inside", "python_outside", "c_inside", "c_outside", "piece_ns", "cost_error")
        costs = {name: rnd.choice((0.0, 1e-300, 1.0, 9e39)) for name in names}
        made = recording(nodes, [0, 1], costs=costs, rest_ns=[rnd.choice((0, 1, 1_000, most))])
        for row in (*made.tree, *made.functions):
            for value in (row.own_ns, row.own_error_ns, row.total_ns, row.total_error_ns):
                assert math.isfinite(value)
                assert value >= 0


def test_nothing_at_all():
    assert len(recording([], []).tree) == 0
    assert list(recording([], [0]).functions["own_ns"]) == [0]
    assert owns([{"calls": 5}], [0]) == [0]


@can_fail
def test_out_of_memory():
    """Whichever allocation fails: no times at all, not some of them."""
    tables = recording([looks(4), looks(2, parent=0, function=1)], [0, 0], rest_ns=[2_000_000])._raw
    expected = memoryview(_core.estimate(tables)["own_ns"])

    def estimates():
        assert memoryview(_core.estimate(tables)["own_ns"]) == expected

    assert each_fails(estimates) > 9
