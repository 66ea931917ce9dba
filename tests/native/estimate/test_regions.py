"""Estimates against what is known of each region of the tree: small trees, worked by hand.

All times of a function are 0 but for its sampled segments, unless said, so that its own time is what is estimated of
these. `exact` marks a node whose segments were all timed, and took no time.
"""

import itertools
import math
import random

import pytest
from estimating import recording

from seismo import _core

SEGMENTS, LOOKS = 20_099, 199  # one look more would be one segment in 100; 199 looks and one visit: 200
exact = {"calls": 1, "timed": 1 << 40}


def sampled(mean, segments=SEGMENTS, samples=LOOKS):
    """Segments of which so many were sampled, all of this length."""
    return {"calls": segments, "sampled": samples, "sampled_ns": samples * mean, "sampled_sq": samples * float(mean**2)}


def part(known_ns, looks=LOOKS, **more):
    """A function that is entered once and calls others, all timed: the node of a region, and no stretch leaves it."""
    return {**exact, "stretches": looks, "stretch_ns": known_ns, **more}


def open_part(known_ns, looks=LOOKS, **more):
    """The same with segments, of no time, that were not timed: stretches cross the borders of what it calls."""
    return part(known_ns, looks, **{"timed": 0, **more})


def tree(nodes, rest_ns):
    """The recording of these nodes, each a function of its own, and its rows."""
    numbered = [{**node, "function": i} for i, node in enumerate(nodes)]
    return recording(numbered, [0] * len(nodes), rest_ns=[rest_ns]).tree


def stated(nodes):
    """What samples alone say: own times and their errors."""
    bare = [{**node, "stretches": 0, "stretch_ns": 0} for node in nodes]
    rows = tree(bare, 0)
    return list(rows["own_ns"]), list(rows["own_error_ns"])


def test_each_part_has_the_time_that_is_known_of_it():
    """Samples of one phase are too long, those of the other too short; the sum of both would not show it.

    What its samples are too long by is in the stretches, too, one segment in a hundred, as far as that is not chance.
    """
    nodes = [
        part(0, looks=1),
        part(2_000_000, parent=0),
        {**sampled(120), "parent": 1},
        part(2_400_000, parent=0),
        {**sampled(100), "parent": 3},
    ]
    own = list(tree(nodes, 2_000_000 + 2_400_000)["own_ns"])
    too_long = 120 * SEGMENTS - 2_000_000
    assert own == pytest.approx([0, 0, 2_000_000 - 0.01 * too_long, 0, 2_400_000], abs=500)


def test_what_is_measured_of_nearly_all_segments_is_not_taken_out_of_them():
    """All but a few were sampled: what their mean misses is chance, and the known time holds it hardly."""
    few = {"calls": 200, "young": 199, "young_weight": 200.0, "young_ns": 20_400.0, "young_var": 2.0}
    nodes = [part(20_000), {**few, "young_var_ns": 204.0, "young_var_sq": 20_808.0, "parent": 0}]
    assert tree(nodes, 20_000)["own_ns"][1] == pytest.approx(20_000, rel=0.05)


def test_the_total_of_what_is_called_once_is_known_but_for_the_clock():
    """main() and what it calls: their own times are doubtful, and the sums of them are not."""
    nodes = [part(0, looks=1), part(4_000_000, parent=0)]
    nodes += [{**sampled(100, samples=40), "parent": 1}, {**sampled(90, samples=40), "parent": 1}]
    rows = tree(nodes, 4_000_000)
    for of in rows[0], rows[1]:
        assert of.total_ns == pytest.approx(4_000_000, rel=0.01)
        assert of.total_error_ns < 0.02 * of.total_ns
    assert min(rows["own_error_ns"][2:]) > 0.04 * 2_000_000


def test_a_visit_however_short_is_known_where_its_borders_are():
    """A function of a hundred segments that main() calls once."""
    nodes = [part(0, looks=1), part(12_000, looks=2, parent=0), {**sampled(100, 99, 2), "parent": 1}]
    assert tree(nodes, 12_000)["own_ns"][2] == pytest.approx(12_000, rel=0.01)


def test_functions_of_a_region_whose_samples_are_too_long_are_doubted_alone():
    """Its sum is known. Whether each of them was too long by the same part is not."""

    def doubts(known):
        nodes = [part(known), *({**sampled(120), "parent": 0} for _ in range(2))]
        return tree(nodes, known)["own_error_ns"][1] / known

    assert doubts(2 * 60 * SEGMENTS) > 2 * doubts(2 * 118 * SEGMENTS)


def test_what_has_no_sample_takes_no_more_than_is_known():
    """Once a segment of it was long, all are timed: the mean of these says nothing of the short ones before."""
    odd = {"calls": 230, "timed": 90, "timed_ns": 27_000_000}
    nodes = [part(300_000), {**odd, "parent": 0}, {**sampled(100, segments=2_900, samples=40), "parent": 0}]
    assert tree(nodes, 300_000)["own_ns"][1] == pytest.approx(27_000_000, rel=0.01)


def test_what_a_region_misses_falls_on_what_its_samples_share_and_on_the_doubtful():
    nodes = [part(4_000_000), {**sampled(100), "parent": 0}, {**sampled(110, samples=10), "parent": 0}]
    segments, looks = 2 * SEGMENTS, LOOKS
    (_, sure, doubtful), (_, *errors) = stated(nodes)
    chances = [error**2 / 4 for error in errors]
    known, time, others = 4_000_000, sure + doubtful, segments - looks
    shared = (0.1 * known * others / segments) ** 2
    known -= (time - known) * looks / others * shared / (shared + sum(chances) + (0.02 * time) ** 2)
    missing, common = known - time, (0.1 * known) ** 2
    assert missing < 0
    doubt = common + sum(chances)
    expected = [
        own * (1 + missing / time * common / doubt) + missing * chance / doubt
        for own, chance in zip((sure, doubtful), chances, strict=True)
    ]
    own = list(tree(nodes, 4_000_000)["own_ns"])[1:]
    assert own == pytest.approx(expected)
    assert sum(own) == pytest.approx(known)
    assert own[0] / sure > own[1] / doubtful  # the doubtful one gave more


def test_what_is_known_takes_doubt_away():
    nodes = [part(1_990_000), {**sampled(100), "parent": 0}]
    before = stated(nodes)[1][1]
    after = tree(nodes, 2_000_000)["own_error_ns"][1]
    assert 0 < after < before


def test_borders_of_a_region_count_for_the_one_around_it():
    """Of the 200 halves of gaps at the inner one's borders, two are outside of it: a hundredth of its time."""
    inner, around = 2_000_000, 3_000_000
    outer = open_part(around + inner // 100, timed=SEGMENTS)
    nodes = [outer, part(inner * 99 // 100, parent=0), {**sampled(90), "parent": 1}, {**sampled(100), "parent": 0}]
    own = list(tree(nodes, inner + around)["own_ns"])
    assert own[2] == pytest.approx(inner, rel=0.001)
    assert own[3] == pytest.approx(around, rel=0.001)


@pytest.mark.parametrize(
    ("why", "node"),
    [
        ("it is entered too often", {"calls": 100, "timed": 1 << 40}),
        ("too few looks fell into it", {"stretches": 29}),
    ],
)
def test_what_is_no_region_counts_for_the_one_around_it(why, node):
    """The known sum is then that of both parts: each gives in proportion to what it has."""
    nodes = [
        open_part(0, looks=LOOKS),
        {**part(1_000_000, parent=0), **node},
        {**sampled(100), "parent": 1},
        part(1_000_000, looks=29, parent=0),
        {**sampled(100), "parent": 3},
    ]
    own = list(tree(nodes, 2_010_000)["own_ns"])
    assert own[2] == pytest.approx(own[4]), why


def test_a_region_that_is_most_of_the_one_around_it_is_not_looked_at_twice():
    """main() is all of the program but a fifth: its stretches are the program's."""
    nodes = [
        open_part(400_000, looks=40),
        part(1_600_000, looks=160, parent=0),
        {**sampled(100, segments=80_000), "parent": 1},
        {**sampled(100, segments=20_000), "parent": 0},
    ]
    own = list(tree(nodes, 2_000_000)["own_ns"])
    assert own[2] / own[3] == pytest.approx(4, rel=0.02)


def test_long_segments_are_no_part_of_what_the_others_should_have():
    nodes = [
        part(2_000_000 + 8_000_000),
        {**sampled(90), "parent": 0, "ticked": 2, "ticked_ns": 8_000_000},
    ]
    assert tree(nodes, 10_000_000)["own_ns"][1] == pytest.approx(2_000_000 + 8_000_000)


def test_no_function_loses_more_than_three_quarters_of_what_is_beyond_chance():
    nodes = [part(0), {**sampled(100), "parent": 0}]
    own, error = (values[1] for values in stated(nodes))
    assert tree(nodes, 1)["own_ns"][1] == pytest.approx((own - error) / 4)


def test_where_only_the_sum_is_known_it_is_one_region():
    """A recording made before stretches were kept: all give in proportion, and each in proportion to its variance."""
    nodes = [sampled(100), sampled(200, samples=20)]
    own, errors = stated(nodes)
    doubts = [(error / 2) ** 2 for error in errors]
    time, missing = sum(own), 100_000
    common = (0.1 * time) ** 2
    shared, chance = (missing * part / (common + sum(doubts)) for part in (common, 1))
    expected = [value * (1 + shared / time) + chance * doubt for value, doubt in zip(own, doubts, strict=True)]
    assert list(tree(nodes, round(time) + missing)["own_ns"]) == pytest.approx(expected)


def test_processes_with_stretches_and_without_do_not_mix():
    """A merge of an old recording and a new one."""
    new = [part(1_980_000), {**sampled(120), "parent": 0, "function": 1}]
    old = [{**exact, "thread": 1}, {**sampled(120), "parent": 2, "function": 1, "thread": 1}]
    made = recording([*new, *old], [0, 0], processes=2, thread_process=(0, 1), rest_ns=(2_000_000, 3_000_000))
    assert made.tree["own_ns"][1] == pytest.approx(tree(new, 2_000_000)["own_ns"][1])
    assert made.tree["own_ns"][3] == pytest.approx(3_000_000)


def hostile(rnd):
    """Numbers that a file may have and no recorder makes."""
    numbers = [0, 1, 29, 30, 1000, 20_099, 2**32, 2**62, 2**63 - 1]
    reals = [0.0, 1.0, 1e9, 1e39]
    names = ("calls", "resumes", "timed", "timed_ns", "sampled", "sampled_ns", "ticked", "ticked_ns", "stretches")
    nodes = []
    for i in range(12):
        node = {name: rnd.choice(numbers) for name in (*names, "stretch_ns", "young")}
        node |= {name: rnd.choice(reals) for name in ("sampled_sq", "timed_sq", "ticked_var", "sampled_most")}
        node |= {name: rnd.choice(reals) for name in ("young_weight", "young_ns", "young_var", "young_var_sq")}
        nodes.append(node | {"parent": rnd.randrange(-1, i), "function": rnd.randrange(4)})
    return nodes


def test_impossible_numbers_stay_finite_and_positive():
    for seed in range(300):
        rnd = random.Random(seed)
        rows = recording(hostile(rnd), [0, 1, 0, 0], rest_ns=[rnd.choice((0, 1, 2**63 - 1))]).tree
        for row in rows:
            assert math.isfinite(row.own_ns), seed
            assert math.isfinite(row.total_error_ns), seed
            assert row.own_ns >= 0, seed
            assert row.own_error_ns >= 0, seed


def test_a_deep_tree_of_regions_needs_no_stack():
    depth = 100_000
    nodes = [part(1000, parent=i - 1) for i in range(depth)]
    nodes.append({**sampled(100), "parent": depth - 1})
    rows = tree(nodes, 2_000_000)
    assert rows["total_ns"][0] == pytest.approx(rows["own_ns"][depth])


@pytest.mark.skipif(not hasattr(_core, "_fail_allocation"), reason="needs a build with SEISMO_TESTING=1")
def test_each_allocation_fails():
    nodes = [part(1_980_000), {**sampled(120), "parent": 0}]
    expected = list(tree(nodes, 2_000_000)["own_ns"])
    for n in itertools.count(1):
        _core._fail_allocation(n)
        try:
            tree(nodes, 2_000_000)
        except MemoryError:
            assert _core._fail_allocation(0) >= n
        else:
            assert _core._fail_allocation(0) < n
            break
    assert n > 10
    assert list(tree(nodes, 2_000_000)["own_ns"]) == expected


def phase_of(functions, known=4_000_000):
    """A region whose samples, of 120 ns each, are too long; of so many functions in turn. What it is said to take."""
    calls = (SEGMENTS + 1) // functions
    leaf = {"calls": calls, "sampled": calls // 101, "sampled_ns": calls // 101 * 240}
    leaf["sampled_sq"] = leaf["sampled_ns"] * 240.0
    nodes = [{**part(known), "function": 0}, *({**leaf, "parent": 0, "function": 1 + i} for i in range(functions))]
    costs = {"python_inside": 20.0, "cost_error": 0.03}
    return recording(nodes, [0] * (functions + 1), rest_ns=[known], costs=costs).tree[0].total_ns


def test_probes_in_varied_code_are_taken_to_cost_more():
    """Where sampled segments are too long, so are probes, unless the same ones follow one another all the time."""
    assert phase_of(1) > 1.05 * phase_of(8) > 0
    assert phase_of(1) > phase_of(2) > phase_of(8)
