"""What the probes cost: how much of it is taken out of whose time, and what that leaves in doubt."""

import pytest
from estimating import recording

OF_SEVERAL = 1.2  # what a probe costs where functions are called in turn: times what it costs where one is


def test_the_probes_cost_is_taken_out_of_both_sides():
    nodes = [
        {"calls": 1, "timed": 1000, "timed_ns": 100_000},
        {"parent": 0, "function": 1, "calls": 100, "timed": 1000, "timed_ns": 20_000},
        {"parent": 0, "function": 2, "calls": 50, "timed": 1000, "timed_ns": 20_000},
        {"parent": 0, "function": 3, "calls": 10, "resumes": 40, "timed": 1000, "timed_ns": 20_000},
    ]
    costs = {
        "python_inside": 10.0,
        "python_outside": 30.0,
        "c_inside": 5.0,
        "c_outside": 20.0,
        "resume_inside": 7.0,
        "resume_outside": 9.0,
        "cost_error": 0.1,
    }
    own = recording(nodes, [0, 0, 1, 0], costs=costs).tree["own_ns"].tolist()
    outside = OF_SEVERAL * (100 * 30 + 50 * 20 + 10 * 30 + 40 * 9)
    inside = [OF_SEVERAL * ns for ns in (1000, 250, 100 + 280)]
    assert own == pytest.approx([100_000 - 10 - outside, *(20_000 - ns for ns in inside)])


def test_calls_of_several_functions_in_turn_cost_more():
    """Each needs other code than the one before; where one is called again and again, the processor has it at hand."""

    def caller(calls):
        top = {"calls": 1, "timed": 1 << 20, "timed_ns": 1_000_000}
        below = {"parent": 0, "timed": 1 << 20, "timed_ns": 100_000}
        nodes = [top, *({**below, "function": 1 + i, "calls": count} for i, count in enumerate(calls))]
        costs = {"python_outside": 30.0, "cost_error": 0.01}
        return recording(nodes, [0] * len(nodes), costs=costs).tree[0]

    assert caller([1000]).own_ns == pytest.approx(1_000_000 - 30_000)
    assert caller([250] * 4).own_ns == pytest.approx(1_000_000 - OF_SEVERAL * 30_000)
    assert caller([250] * 4).own_error_ns > caller([1000]).own_error_ns
    assert caller([1000]).own_ns > caller([900, 100]).own_ns > caller([500, 500]).own_ns > caller([250] * 4).own_ns


def test_what_probes_do_to_the_code_around_them_is_in_the_error():
    """15 % of what they cost, at most 8 % of the time, and 6 % of the time, which no run is sure of."""
    measured = {"timed": 1000, "timed_ns": 20_000}
    nodes = [{**measured, "calls": 100}, {**measured, "function": 1, "calls": 20}, {**measured, "function": 2}]

    def errors(**costs):
        made = recording(nodes, [0, 0, 0], costs=costs)
        assert made.functions["own_error_ns"].tolist() == pytest.approx(made.tree["own_error_ns"].tolist())
        return made.tree["own_error_ns"].tolist()

    dense, sparse, none = 20_000 - 1000, 20_000 - 200, 20_000
    expected = [0.15 * 1000 + 0.06 * dense, 0.15 * 200 + 0.06 * sparse, 0.06 * none]
    assert errors(python_inside=10.0, cost_error=0.1) == pytest.approx(expected)
    assert errors(python_inside=190.0, cost_error=0.001)[0] == pytest.approx((0.08 + 0.06) * 1000)
    assert errors(python_inside=10.0, cost_error=5.0)[0] == pytest.approx(5 * 1000 + 0.06 * dense)
    assert errors(python_inside=10.0) == [0, 0, 0]  # nobody has measured what probes cost


def test_a_run_beside_busy_processes_is_less_sure_of_its_times():
    """Who shares the processor with others is slower by more than what it waited, now more and now less."""

    def error(ready_ns, processes=(0, 0)):
        node = {"calls": 1000, "timed": 1000, "timed_ns": 100_000}
        nodes = [node, {**node, "thread": 1, "function": 1, "wait_ns": 2 * ready_ns, "ready_ns": ready_ns}]
        costs = {"python_inside": 1.0, "cost_error": 0.01}
        made = recording(nodes, [0, 0], costs=costs, processes=2, thread_process=processes)
        return made.functions["own_error_ns"][0]

    quiet, busy, all_of_it = (error(ns) for ns in (0, 100_000, 1 << 40))
    assert quiet < busy < all_of_it < 2 * quiet + 1000
    assert error(100_000, (0, 1)) == quiet  # it was another process


def test_what_is_subtracted_by_a_rule_is_half_in_doubt():
    """Far into long code an event costs more, and nobody has counted how many of its events are."""
    node = {"calls": 1000, "timed": 1000, "timed_ns": 100_000}

    def made(code_bytes):
        costs = {"python_inside": 10.0, "far_ns": 8.0, "cost_error": 0.1}
        recorded = recording([node], [0], costs=costs)
        recorded._raw["functions"]["code_bytes"][0] = code_bytes
        return recorded.tree[0]

    near, far = made(100), made(512)
    subtracted = near.own_ns - far.own_ns
    assert subtracted > 1000
    assert far.own_error_ns == pytest.approx(0.06 * far.own_ns + 0.15 * (10_000 + subtracted) + subtracted / 2)


def test_what_was_taken_out_too_much_is_in_the_error():
    """A function or line that took less than its probes are said to cost: they cost less there, by that at least."""
    short = {"calls": 1000, "timed": 1000, "timed_ns": 5000}
    made = recording([short], [0], costs={"python_inside": 11.0, "cost_error": 0.1})
    assert made.tree[0].own_ns == 0
    assert made.tree[0].own_error_ns >= 6000
    assert made.functions[0].own_error_ns >= 6000


def test_calls_cost_by_who_makes_them_and_how_they_end():
    """Catching costs more, a coroutine's call, too, and one that C code makes on 3.11 less: so much is taken out of the
    caller. Where C evaluates frames, any other call is in doubt by a part of what it costs.
    """
    base = {"python_inside": 2.0, "python_outside": 10.0, "cost_error": 0.1, "catch_ns": 30.0, "coroutine_ns": 7.0}

    def rows(function=0, more=None, caller=None, **node):
        """Rows of a function that a thousand times calls another, which calls a third."""
        top = {"calls": 1, "timed": 1001, "timed_ns": 100_000, **(caller or {})}
        below = {"calls": 1000, "timed": 2000, "timed_ns": 50_000}
        nodes = [top, {**below, "parent": 0, "function": 1, **node}, {**below, "parent": 1, "function": 2}]
        return recording(nodes, [0, 0, 0], costs={**base, **(more or {})}, flags=[0, function, 0]).tree

    plain, called, _ = rows()
    assert plain.own_ns == pytest.approx(100_000 - 10_000, abs=20)
    assert rows(exceptions=1000)[0].own_ns == pytest.approx(plain.own_ns - 30_000)
    assert rows(exceptions=1000)[1].own_ns == called.own_ns
    assert rows(exceptions=1000, caller={"exceptions": 1})[0].own_ns == pytest.approx(plain.own_ns - 999 * 30)
    assert rows(function=2)[0].own_ns == pytest.approx(plain.own_ns - 7_000)
    assert rows(function=1)[0].own_ns == plain.own_ns
    through_c = {"from_c_ns": 8.0, "deep_ns": 40.0}
    assert rows(more=through_c)[0].own_ns == plain.own_ns
    assert rows(more=through_c, flags=32)[0].own_ns == pytest.approx(plain.own_ns + 8_000)
    assert rows(1, more=through_c, flags=32)[0].own_ns == plain.own_ns
    assert rows(more=through_c)[1].own_error_ns > rows(more=through_c, flags=32)[1].own_error_ns + 500


def test_an_exception_is_caught_once_however_many_calls_it_goes_through():
    """What is raised three calls below costs its catcher, and nobody that it passes by."""
    nodes = [{"calls": 1, "timed": 1001, "timed_ns": 100_000}]
    nodes += [
        {"parent": i, "function": i + 1, "calls": 1000, "timed": 2000, "timed_ns": 50_000, "exceptions": 1000}
        for i in range(3)
    ]
    costs = {"python_inside": 1.0, "cost_error": 0.1}
    without, made = (recording(nodes, [0] * 4, costs={**costs, "catch_ns": ns}).tree for ns in (0.0, 20.0))
    less = [before.own_ns - after.own_ns for before, after in zip(without, made, strict=True)]
    assert less == pytest.approx([20_000, 0, 0, 0])


def test_what_all_have_in_common_adds_up_in_totals():
    """Errors by chance would be the smaller the more functions they are of."""
    leaf = {"parent": 0, "calls": 1000, "timed": 1000, "timed_ns": 20_000}
    nodes = [{"calls": 1, "timed": 1 << 40}, *({**leaf, "function": 1 + i % 50} for i in range(100))]
    made = recording(nodes, [0] * 51, costs={"python_inside": 10.0, "cost_error": 0.05})
    taken = OF_SEVERAL * 10_000
    of_a_leaf = (0.06 + 0.08) * (20_000 - taken) + (taken - 10_000) / 2
    assert made.tree["total_error_ns"][1] == pytest.approx(of_a_leaf)
    assert made.tree["total_error_ns"][0] == pytest.approx(100 * of_a_leaf, rel=0.01)
    assert made.functions["total_error_ns"][1] == pytest.approx(2 * of_a_leaf)
    assert made.combined().tree["total_error_ns"][0] == pytest.approx(100 * of_a_leaf, rel=0.01)
