"""The estimator against programs whose every segment is known.

A simulated function has segments of some shape, spread over some nodes. The recorder's rule is applied to them: the
first 64 are timed, then more or fewer by chance (native/recorder). What the model says is compared with the sum of
all. Recordings made before functions were timed more while young know one chance only, 1 in 128; they must hold, too.
"""

import array
import itertools
import math
import random
import statistics

import pytest
from estimating import recording

from seismo.model import diff

HEAD = 64
PERIOD = 128
WORTH = 2000.0  # ns: what is longer on average is timed always


# By the step, the chance that a segment is timed: a countdown of PERIOD on average meets it.
CHANCES = {1 << i: 1 - (1 - 1 / PERIOD) ** (1 << i) for i in range(9)}


class Rule:
    """Which segments of a function are timed, as native/recorder/young.c has it; step 0: all."""

    def __init__(self, young):
        self.young = young
        self.seen = 0
        self.count = self.ticks = self.squares = 0.0

    def learn(self, ns, weight):
        self.seen += 1
        self.count += weight
        self.ticks += weight * ns
        self.squares += weight * ns * ns

    def step(self):
        if self.seen < HEAD:
            return 0
        if not self.young:
            return 1
        mean = self.ticks / self.count
        if mean >= WORTH:
            return 0
        differ = min(max(self.squares / self.count / mean**2 - 1, 1.0), 9.0)
        chance = min(256 * differ / self.count, mean * math.sqrt(differ) / (3.0 * WORTH))
        step = 1
        while step < 256 and step * 2 <= chance * PERIOD:
            step *= 2
        return step


YOUNG = ("young", "young_weight", "young_ns", "young_var", "young_var_ns", "young_var_sq")
SUMS = ("calls", "timed", "timed_ns", "timed_sq", "sampled", "sampled_ns", "sampled_sq", "sampled_most", *YOUNG)


class Simulation:
    """Functions with known segments, each a root of the tree per node, called once per segment.

    young: they are timed more while they are young; False: as in older recordings.
    """

    def __init__(self, seed, young=True):
        self.random = random.Random(seed)
        self.young = young
        self.squares = seed % 2 == 1  # whether the recorder knows the squares of the timed segments
        self.nodes = []
        self.truth = []  # of each node
        self.functions = []  # truth of each

    def add(self, shape, count, spread_over=1):
        """A function whose `count` segments fall on `spread_over` nodes, on the first ones most."""
        nodes = [dict.fromkeys(SUMS, 0) | {"function": len(self.functions)} for _ in range(spread_over)]
        truth = [0] * spread_over
        calls = [0] * spread_over
        rule = Rule(self.young)
        spread, draw = self.random.expovariate, self.random.random
        step, n = rule.step(), 0
        for ns in shape(self.random, count):
            if spread_over > 1:
                n = min(int(spread(0.7)), spread_over - 1)
            calls[n] += 1
            truth[n] += ns
            if step == 0 or draw() < CHANCES[step]:
                self.one(nodes[n], rule, ns, step)
                step = rule.step()
        for node, number in zip(nodes, calls, strict=True):
            node["calls"] = number
        self.nodes += nodes
        self.truth += truth
        self.functions.append(sum(truth))

    def one(self, node, rule, ns, step):
        """A segment of a node that is timed, always or by chance."""
        if step == 0:
            node["timed"] += 1
            node["timed_ns"] += ns
            node["timed_sq"] += float(ns * ns) if self.squares else 0.0
            rule.learn(ns, 1)
            return
        weight = 1 / CHANCES[step]
        rule.learn(ns, weight)
        node["sampled_most"] = max(node["sampled_most"], weight * (weight - 1) * ns * ns)
        if step == 1:
            node["sampled"] += 1
            node["sampled_ns"] += ns
            node["sampled_sq"] += float(ns * ns)
            return
        var = weight * (weight - 1)
        for name, more in zip(YOUNG, (1, weight, weight * ns, var, var * ns, var * ns * ns), strict=True):
            node[name] += more

    def recording(self):
        return recording(self.nodes, [0] * len(self.functions))


def lognormal(sigma):
    return lambda rnd, n: [int(1 + rnd.lognormvariate(5, sigma)) for _ in range(n)]


def bimodal(share, ratio):
    def shape(rnd, n):
        return [int(rnd.lognormvariate(5, 0.1) * (ratio if rnd.random() < share else 1)) for _ in range(n)]

    return shape


def periodic(period, ratio):
    """Long ones at a fixed rhythm: what a fixed stride would miss or hit always."""

    def shape(rnd, n):
        phase = rnd.randrange(period)
        return [200 * ratio if i % period == phase else 200 for i in range(n)]

    return shape


def alternating(length):
    """Phases of short and of long segments."""
    return lambda rnd, n: [150 if i // length % 2 else 600 for i in range(n)]


def drifting(rnd, n):
    return [int((100 + 300 * i / n) * rnd.lognormvariate(0, 0.3)) for i in range(n)]


SHAPES = {
    "narrow": lognormal(0.1),
    "lognormal": lognormal(0.5),
    "wide": lognormal(1.0),
    "wider": lognormal(1.5),
    "bimodal": bimodal(0.3, 5),
    "rare": bimodal(0.05, 10),
    "rarer": bimodal(0.01, 20),
    "period 7": periodic(7, 20),
    "period 32": periodic(32, 20),
    "period 64": periodic(64, 20),
    "alternating": alternating(100),
    "drifting": drifting,
}
SIZES = (80, 250, 600, 1500, 4000, 12_000)


def covered(values, errors, truths):
    return [
        abs(value - truth) <= error + 1e-6 * truth for value, error, truth in zip(values, errors, truths, strict=True)
    ]


@pytest.fixture(scope="module")
def runs():
    """Twenty programs of all shapes and sizes, each with a few larger functions."""
    result = []
    for seed in range(20):
        simulation = Simulation(seed)
        for shape, size in itertools.product(SHAPES.values(), SIZES):
            simulation.add(shape, size, spread_over=1 + seed % 4)
        simulation.add(list(SHAPES.values())[seed % len(SHAPES)], 30_000, spread_over=5)
        result.append((simulation, simulation.recording()))
    return result


def test_functions_errors_hold_the_truth_in_19_of_20(runs):
    hits = []
    for simulation, made in runs:
        functions = made.functions
        hits += covered(functions["own_ns"], functions["own_error_ns"], simulation.functions)
    assert len(hits) > 1400
    assert sum(hits) / len(hits) >= 0.95


def test_large_functions_errors_hold_the_truth(runs):
    hits, relative = [], []
    for simulation, made in runs:
        functions = made.functions
        hits += covered(functions["own_ns"], functions["own_error_ns"], simulation.functions)[-1:]
        relative.append(functions["own_error_ns"][-1] / simulation.functions[-1])
    assert sum(hits) >= 0.9 * len(hits)
    assert statistics.median(relative) < 0.3  # and say something


@pytest.mark.parametrize("shape", range(len(SHAPES)), ids=list(SHAPES))
def test_no_shape_is_left_far_behind(runs, shape):
    hits = []
    for simulation, made in runs:
        functions = made.functions
        all_hits = covered(functions["own_ns"], functions["own_error_ns"], simulation.functions)
        hits += all_hits[shape * len(SIZES) : (shape + 1) * len(SIZES)]
    assert sum(hits) / len(hits) >= (0.85 if list(SHAPES)[shape] in {"rarer", "period 64", "wider"} else 0.93)


def test_nodes_errors_hold_the_truth_in_19_of_20(runs):
    hits = []
    for simulation, made in runs:
        tree = made.tree
        hits += covered(tree["own_ns"], tree["own_error_ns"], simulation.truth)
    assert sum(hits) / len(hits) >= 0.95


def test_estimates_are_not_biased(runs):
    estimated = truth = 0.0
    for simulation, made in runs:
        estimated += sum(made.functions["own_ns"])
        truth += sum(simulation.functions)
    assert abs(estimated / truth - 1) < 0.02


def test_nodes_sum_up_to_their_function(runs):
    for _, made in runs:
        sums = [0.0] * len(made.functions)
        for node in made.tree:
            sums[node.function] += node.own_ns
        assert sums == pytest.approx(list(made.functions["own_ns"]), rel=1e-9)


def test_the_error_of_a_total_holds_the_truth_in_19_of_20():
    """Each program is a chain of functions; the root's total is the sum of all."""
    hits = 0
    for seed in range(100):
        simulation = Simulation(1000 + seed)
        for i in range(8):
            simulation.add(list(SHAPES.values())[(seed + i) % len(SHAPES)], 700, spread_over=1 + i % 3)
        top = {"function": len(simulation.functions), "calls": 1, "timed": 1 << 40, "timed_ns": 1000}
        below = [{**node, "parent": 0} for node in simulation.nodes]
        made = recording([top, *below], [0] * (len(simulation.functions) + 1))
        root = made.tree[0]
        assert root.total_ns == pytest.approx(sum(made.tree["own_ns"]))
        assert root.total_error_ns <= sum(made.tree["own_error_ns"]) * 1.000001
        hits += abs(root.total_ns - 1000 - sum(simulation.truth)) <= root.total_error_ns
    assert hits >= 95


def test_the_error_of_totals_that_share_theirs_is_not_that_of_independent_ones():
    """A function that was met on many paths is as doubtful as if it had been met on one, in all sums of its nodes."""
    sampled = {"calls": 320_000, "sampled": 2_500, "sampled_ns": 250_000, "sampled_sq": 1e8}
    parts = {name: value // 100 if isinstance(value, int) else value / 100 for name, value in sampled.items()}
    costs = {"python_inside": 20.0, "cost_error": 0.05}
    one = recording([sampled], [0], costs=costs)
    many = recording([parts] * 100, [0], costs=costs)
    error = one.functions[0].own_error_ns
    assert one.functions[0].total_error_ns == pytest.approx(error)
    assert many.functions[0].own_error_ns == pytest.approx(error)
    for found in (many.functions[0].total_error_ns, many.total_error(range(100))):
        assert error * 0.99 <= found < error * 1.5
    assert many.total_error([7]) == many.tree[7].total_error_ns
    assert many.combined().functions[0].total_error_ns == pytest.approx(many.functions[0].total_error_ns, rel=0.01)


def test_what_is_known_of_the_sum_moves_nothing_further_than_its_error():
    """Samples that took no time at all have no error of their own, but the rest that was missed may be theirs."""
    nothing = {"function": 0, "calls": 50_000, "sampled": 400}
    something = {"function": 1, "calls": 50_000, "sampled": 400, "sampled_ns": 40_000, "sampled_sq": 5e6}
    for known in (4_960_000, 5_000_000, 5_040_000):
        first, second = recording([nothing, something], [0, 0], rest_ns=[known]).functions
        assert first.own_ns + second.own_ns == pytest.approx(known, rel=0.01)
        assert first.own_ns <= first.own_error_ns
        assert abs(second.own_ns - 5_000_000) <= second.own_error_ns


def test_waiting_is_no_time_of_what_only_ran():
    """Of a function timed more while young, too, and of one whose largest sample is known."""
    ran = {"calls": 1_000, "timed": 64, "timed_ns": 6_400, "sampled": 4, "sampled_ns": 400, "sampled_sq": 40_000.0}
    young = {"young": 30, "young_weight": 300.0, "young_ns": 30_000.0, "young_var": 2_700.0, "sampled_most": 1e8}
    young |= {"young_var_ns": 270_000.0, "young_var_sq": 2.7e7, "ticked": 1, "ticked_ns": 5_000, "ticked_var": 1e6}
    made = recording([ran | young, {"function": 1, "calls": 1, "timed": 1, "wait_ns": 700}], [0, 0]).timed("wait")
    assert [(row.own_ns, row.own_error_ns, row.total_ns) for row in made.functions] == [(0, 0, 0), (700, 0, 700)]
    assert made.timed("cpu").functions[0].own_ns > 90_000


# ---- the rules one by one ----


def test_what_is_all_timed_is_exact():
    made = recording([{"calls": 10, "timed": 10, "timed_ns": 12345}], [0])
    assert made.functions[0].own_ns == 12345
    assert made.functions[0].own_error_ns == 0


def test_reading_the_clock_limits_exactness():
    made = recording([{"calls": 100, "timed": 100, "timed_ns": 12345}], [0], costs={"clock_ns": 20.0})
    assert made.functions[0].own_error_ns == pytest.approx(200)


def timed_always(calls, ns, **more):
    return {"calls": calls, "timed": 1 << 40, "timed_ns": ns, **more}


def with_code_bytes(made, *sizes):
    made._raw["functions"]["code_bytes"] = memoryview(array.array("q", sizes))
    return made


def test_events_far_into_long_code_cost_more():
    """Half of a function of 512 bytes is beyond byte 256: there, an event takes 10 ns more in a loop, 20 elsewhere."""
    nodes = [timed_always(1, 10**6), timed_always(0, 10**6, resumes=100, parent=0, function=1)]
    nodes += [timed_always(100, 10**6, parent=1, function=2)]
    costs = {"python_inside": 0.0, "cost_error": 0.05, "far_ns": 10.0}
    short, long, of_c = with_code_bytes(recording(nodes, [0, 0, 1], costs=costs), 256, 512, 0).functions
    assert short.own_ns == 10**6 - 100 * 10  # of each of 100 resumes and 100 yields, a half of a half of 20 ns
    assert of_c.own_ns == 10**6 - 100 * 10  # the place of its call is its caller's, and has two events
    assert long.own_ns == 10**6 - 2 * 100 * 10


def test_returns_through_many_frames_cost_more():
    """Of ten calls below one another, four have more than five below them; a return is in the caller's time."""
    nodes = [timed_always(1, 10**6), *(timed_always(100, 10**6, parent=i, function=1 + i) for i in range(9))]
    costs = {"python_inside": 0.0, "cost_error": 0.05, "deep_ns": 30.0}
    less = [10**6 - row.own_ns for row in recording(nodes, [0] * 10, costs=costs).functions]
    assert less == [3000, 3000, 3000, *[0] * 7]


def test_without_a_sample_the_timed_mean_stands_in_and_the_error_is_everything():
    made = recording([{"calls": 100, "timed": 50, "timed_ns": 5000}], [0])
    assert made.functions[0].own_ns == pytest.approx(10000)
    assert made.functions[0].own_error_ns == pytest.approx(5000)


def test_a_head_that_was_slow_throughout_raises_less_doubt_than_one_long_segment():
    """With the timed segments' squares it can be told: 64 of 200 ns, or 63 of 100 and one of 6500."""
    sampled = {
        "calls": 12_864,
        "sampled": 100,
        "sampled_ns": 10_000,
        "sampled_sq": 1.09e6,
        "timed": 64,
        "timed_ns": 12_800,
    }

    def error(squares):
        return recording([{**sampled, "timed_sq": squares}], [0]).functions[0].own_error_ns

    slow, long, unknown = error(64 * 200.0**2), error(63 * 100.0**2 + 6500.0**2), error(0.0)
    assert slow < 0.7 * long
    assert slow < unknown


def test_ticks_are_added_to_the_rest():
    made = recording([{"calls": 10, "timed": 10, "timed_ns": 1000, "ticked": 4, "ticked_ns": 8_000_000}], [0])
    assert made.functions[0].own_ns == 8_001_000
    assert 2_000_000 < made.functions[0].own_error_ns < 16_000_000
    assert made.tree[0].own_error_ns == pytest.approx(made.functions[0].own_error_ns)


def test_a_node_that_was_never_timed_gets_its_functions_mean():
    sampled = {"calls": 3200, "sampled": 100, "sampled_ns": 10000, "sampled_sq": 1.01e6}
    made = recording([sampled, {"calls": 32}], [0])
    assert made.tree[1].own_ns == pytest.approx(3200, rel=0.02)
    assert made.tree[1].own_error_ns > 0


def test_segments_count_the_returns_of_children():
    # 10 entries and 30 returns of its child: 40 segments, of which 20 were timed
    nodes = [{"calls": 10, "timed": 20, "timed_ns": 2000}, {"parent": 0, "function": 1, "calls": 30, "timed": 30}]
    assert recording(nodes, [0, 0]).tree[0].own_ns == pytest.approx(4000)


def test_a_diff_does_not_doubt_what_both_sides_have_in_common():
    def one(ns):
        node = {"calls": 1000, "timed": 1000, "timed_ns": ns}
        return recording([node], [0], costs={"python_inside": 1.0, "cost_error": 0.01})

    old, new = one(100_000), one(105_000)
    assert old.functions["own_error_ns"][0] > 3000
    (row,) = diff(old, new)
    assert row.own_error < 100
    assert row.significant


def test_a_node_that_is_surely_another_is_not_drawn_towards_its_function():
    """count(4000) beside a hundred thousand calls of count(12): eleven samples tell it well enough."""
    short = {"calls": 128_000, "sampled": 1000, "sampled_ns": 200_000, "sampled_sq": 1000 * 210.0**2}
    long = {"calls": 1408, "sampled": 11, "sampled_ns": 11 * 40_000, "sampled_sq": 11 * 41_000.0**2}
    like = {"calls": 384, "sampled": 3, "sampled_ns": 3 * 250, "sampled_sq": 3 * 260.0**2}
    own = recording([short, long, like], [0]).tree["own_ns"].tolist()
    assert own[1] == pytest.approx(1408 * 40_000, rel=0.05)
    assert own[0] == pytest.approx(128_000 * 200, rel=0.05)
    assert own[2] > 384 * 400  # three samples do not rule out the function's mean, which is 630 ns


def test_costs_never_make_a_time_negative_and_clamping_adds_nothing():
    # One node where the costs exceed the time, one of the same function where they do not
    nodes = [
        {"calls": 1000, "timed": 1000, "timed_ns": 5_000},
        {"calls": 1000, "timed": 1000, "timed_ns": 50_000},
    ]
    made = recording(nodes, [0], costs={"python_inside": 10.0})
    assert made.tree["own_ns"].tolist() == pytest.approx([0, 35_000])
    assert made.functions["own_ns"].tolist() == pytest.approx([35_000])


def test_processes_have_their_own_populations_and_costs():
    sampled = {"calls": 320, "sampled": 10}
    nodes = [
        {**sampled, "thread": 0, "sampled_ns": 1000, "sampled_sq": 1e5},
        {**sampled, "thread": 1, "sampled_ns": 100_000, "sampled_sq": 1e9},
    ]
    made = recording(nodes, [0], processes=2, thread_process=(0, 1))
    assert made.tree["own_ns"].tolist() == pytest.approx([32_000, 3_200_000])
    assert made.functions["own_ns"].tolist() == pytest.approx([3_232_000])


def test_totals_count_recursion_once():
    nodes = [
        {"function": 0, "calls": 1, "timed": 9, "timed_ns": 1},
        {"function": 1, "parent": 0, "calls": 1, "timed": 9, "timed_ns": 10},
        {"function": 0, "parent": 1, "calls": 1, "timed": 9, "timed_ns": 100},
        {"function": 1, "parent": 2, "calls": 1, "timed": 9, "timed_ns": 1000},
        {"function": 1, "calls": 1, "timed": 9, "timed_ns": 10_000},
    ]
    made = recording(nodes, [0, 0])
    assert made.tree["total_ns"].tolist() == [1111, 1110, 1100, 1000, 10_000]
    assert made.tree["depth"].tolist() == [0, 1, 2, 3, 0]
    assert made.functions["total_ns"].tolist() == [1111, 11_110]


def test_a_deep_tree_needs_no_stack():
    depth = 200_000
    nodes = [{"parent": i - 1, "calls": 1, "timed": 9, "timed_ns": 1} for i in range(depth)]
    made = recording(nodes, [0])
    assert made.tree["total_ns"][0] == depth
    assert made.functions["total_ns"].tolist() == [depth]


@pytest.mark.parametrize(
    "node",
    [
        {"calls": 2**63 - 1, "resumes": 2**63 - 1, "sampled": 2**63 - 1, "sampled_ns": 2**63 - 1, "sampled_sq": 1e39},
        {"calls": 1, "sampled": 1, "sampled_ns": 0},
        {"calls": 1, "sampled": 100, "sampled_ns": 100, "sampled_sq": 0.0},
        {"calls": 0, "timed": 5, "timed_ns": 5},
    ],
)
def test_impossible_numbers_stay_finite(node):
    made = recording([node, {**node, "parent": 0}], [0])
    for row in made.tree:
        assert math.isfinite(row.total_ns)
        assert math.isfinite(row.total_error_ns)
        assert row.own_ns >= 0
    assert made.functions[0].calls <= 2**63 - 1


def test_nothing_at_all():
    assert len(recording([], []).tree) == 0
    assert list(recording([], [0]).functions["own_ns"]) == [0]
