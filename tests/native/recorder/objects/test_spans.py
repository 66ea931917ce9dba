"""Spans: which objects were born in which call of a function, died in it, and outlive it."""

from __future__ import annotations

import sys
import threading
from functools import partial

import pytest
from births import Births, Other, Thing, calls_of, kept, load, needs_tracer, recorded, run, start
from threads import in_threads

from seismo import _core

pytestmark = needs_tracer


def handle(keep=1, drop=0):
    for _ in range(keep):
        kept.append(Thing())
    for _ in range(drop):
        Other()


def born_of(births, type_):
    """Born, died, alive in spans, of the lines that make a type."""
    return tuple(births.total(type_, column) for column in ("span_born", "span_died", "span_live"))


def test_each_call_is_a_span():
    with recorded(span=calls_of("handle")) as births:
        handle(2, 3)
        handle(0, 1)
        Thing()
        handle(5)
    spans = births.spans()
    assert [(row["first"], row["calls"], row["function"]) for row in spans] == [(i, 1, "handle") for i in range(3)]
    assert births.survivors("Thing", "Other") == {(0, "Thing"): 2, (2, "Thing"): 5}
    assert born_of(births, "Thing") == (7, 0, 7)
    assert born_of(births, "Other") == (4, 4, 0)
    assert births.total("Thing", "born") == 8
    for row in spans:
        assert row["born"] - row["died"] == row["live"]
        assert 0 < row["start_ns"] <= row["end_ns"]


def test_what_dies_later_is_no_survivor():
    with recorded(span=calls_of("handle")) as births:
        handle(3)
        handle(2)
        del kept[1:4]
    assert births.survivors("Thing") == {(0, "Thing"): 1, (1, "Thing"): 1}
    assert born_of(births, "Thing") == (5, 0, 2)


def test_other_functions_are_none():
    with recorded(span=calls_of("no_such")) as births:
        handle(2)
    assert births.spans() == []
    assert born_of(births, "Thing") == (0, 0, 0)
    assert births.total("Thing", "born") == 2


def recurse(depth):
    kept.append(Thing())
    if depth:
        recurse(depth - 1)
    Other()


@pytest.mark.parametrize("depth", [0, 1, 700])
def test_recursion_is_one_span(depth):
    with recorded(span=calls_of("recurse")) as births:
        recurse(depth)
        recurse(0)
    assert [row["calls"] for row in births.spans()] == [1, 1]
    assert births.survivors("Thing") == {(0, "Thing"): depth + 1, (1, "Thing"): 1}


def outer():
    handle(1)
    kept.append(Thing())
    handle(1)


def test_chosen_functions_inside_a_span_belong_to_it():
    with recorded(span=calls_of("handle", "outer")) as births:
        outer()
        handle(1)
    assert [row["function"] for row in births.spans()] == ["outer", "handle"]
    assert births.survivors("Thing") == {(0, "Thing"): 3, (1, "Thing"): 1}


def fails(depth):
    kept.append(Thing())
    if depth:
        fails(depth - 1)
    raise ValueError(depth)


def test_an_exception_ends_a_span():
    with recorded(span=calls_of("fails")) as births:
        for depth in (0, 3):
            with pytest.raises(ValueError, match="0"):
                fails(depth)
            kept.append(Thing())
    assert births.survivors("Thing") == {(0, "Thing"): 1, (1, "Thing"): 4}
    assert births.total("Thing", "born") == 7
    assert all(row["end_ns"] > 0 for row in births.spans())


def numbers(count):
    for number in range(count):
        kept.append(Thing())
        yield number


def test_a_generator_is_in_its_span_while_it_runs():
    with recorded(span=calls_of("numbers")) as births:
        for _ in numbers(3):
            kept.append(Thing())
    assert births.survivors("Thing") == {(0, "Thing"): 3}
    assert births.total("Thing", "born") == 6


def test_generators_that_take_turns():
    with recorded(span=calls_of("numbers")) as births:
        for _ in zip(numbers(2), numbers(3), strict=False):
            pass
    assert births.survivors("Thing") == {(0, "Thing"): 2, (1, "Thing"): 2}


def stubborn():
    try:
        while True:
            kept.append(Thing())
            yield
    except KeyError:
        kept.append(Thing())
        yield
    finally:
        kept.append(Thing())


def test_throw_goes_on_with_the_span_and_close_ends_it():
    with recorded(span=calls_of("stubborn")) as births:
        generator = stubborn()
        next(generator)
        kept.append(Thing())
        generator.throw(KeyError)
        kept.append(Thing())
        generator.close()
        kept.append(Thing())
    (span,) = births.spans()
    assert births.survivors("Thing") == {(0, "Thing"): 3}
    assert span["end_ns"] > 0


def test_generators_that_are_dropped_where_they_wait():
    """Nobody tells of their end in some versions; the next one may have the same frame."""
    with recorded(span=calls_of("numbers")) as births:
        for _ in range(20):
            next(numbers(5))
    assert sum(row["calls"] for row in births.spans()) == 20
    assert births.survivors("Thing") == {(number, "Thing"): 1 for number in range(20)}


class Wait:
    def __await__(self):
        yield


async def serve(count):
    for _ in range(count):
        kept.append(Thing())
        Other()
        await Wait()


def step(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        return False
    return True


def test_tasks_interleave_on_a_thread():
    with recorded(span=calls_of("serve")) as births:
        tasks = [serve(count) for count in range(1, 30)]
        while tasks:
            tasks = [task for task in tasks if step(task)]
            kept.append(Thing())
    assert births.survivors("Thing") == {(number, "Thing"): number + 1 for number in range(29)}
    assert born_of(births, "Other") == (sum(range(1, 30)), sum(range(1, 30)), 0)


async def inner(count):
    for _ in range(count):
        kept.append(Thing())
        await Wait()


async def outer_task(count):
    await inner(count)
    kept.append(Thing())


def test_an_awaited_coroutine_belongs_to_who_awaits_it():
    with recorded(span=calls_of("inner", "outer_task")) as births:
        tasks = [outer_task(count) for count in (3, 2)]
        while tasks:
            tasks = [task for task in tasks if step(task)]
    assert [row["function"] for row in births.spans()] == ["outer_task", "outer_task"]
    assert births.survivors("Thing") == {(0, "Thing"): 4, (1, "Thing"): 3}


def test_what_dies_while_its_call_is_suspended_died_inside():
    async def holds():
        kept.append(Thing())
        await Wait()
        kept.append(Thing())

    with recorded(span=calls_of("*holds")) as births:
        task = holds()
        step(task)
        kept.clear()
        step(task)
    assert born_of(births, "Thing") == (2, 1, 1)


def test_threads_have_spans_of_their_own():
    def work(count):
        ready.wait(timeout=30)
        for _ in range(count):
            handle(1, 1)

    ready = threading.Barrier(3)
    with recorded(span=calls_of("handle")) as births:
        in_threads(*(partial(work, count) for count in (5, 10, 15)))
    spans = births.spans()
    assert sum(row["calls"] for row in spans) == 30
    assert births.survivors("Thing") == {(number, "Thing"): 1 for number in range(30)}
    assert born_of(births, "Other") == (30, 30, 0)


def test_a_generator_that_goes_on_on_another_thread():
    def go_on():
        next(generator)

    with recorded(span=calls_of("numbers")) as births:
        generator = numbers(3)
        next(generator)
        in_threads(go_on)
        kept.append(Thing())
        next(generator)
    assert births.survivors("Thing") == {(0, "Thing"): 3}


def stops():
    kept.append(Thing())
    _core.stop()
    kept.append(Thing())


def test_a_call_that_still_runs_when_the_recording_stops():
    start(span=calls_of("stops"))
    stops()
    births = Births(_core.snapshot())
    (span,) = births.spans()
    assert (span["calls"], span["end_ns"]) == (1, 0)
    assert births.survivors("Thing") == {(0, "Thing"): 1}
    with recorded(span=calls_of("handle")) as births:  # what the last one was in is over
        kept.append(Thing())
        handle(1)
    assert births.survivors("Thing") == {(0, "Thing"): 1}


def test_a_call_that_ran_when_the_recording_started_is_none():
    def starts():
        start(span=calls_of("*starts", "handle"))
        kept.append(Thing())
        handle(1)

    starts()
    kept.append(Thing())
    _core.stop()
    births = Births(_core.snapshot())
    assert [row["function"] for row in births.spans()] == ["handle"]
    assert births.survivors("Thing") == {(0, "Thing"): 1}


def test_nothing_of_the_hook_is_in_a_span():
    """The offset of the last instruction is no small int here, so the interpreter makes one to tell of it."""
    names = {}
    exec("def long_one():\n    a = b = 0\n" + "    a += b\n" * 400, names)
    long_one = names["long_one"]
    assert len(long_one.__code__.co_code) > 2100
    with recorded(span=calls_of("long_one")) as births:
        for _ in range(10):
            long_one()
    assert [(row["born"], row["died"], row["live"]) for row in births.spans()] == [(0, 0, 0)] * 10


def test_many_spans_share_rows():
    def empty():
        pass

    with recorded(span=calls_of("handle", "*empty")) as births:
        for number in range(10_000):
            if number % 1000 == 0:
                handle(1, 1)
            else:
                empty()
    spans = births.spans()
    assert 2048 < len(spans) <= 4096
    assert sum(row["calls"] for row in spans) == 10_000
    assert [row["first"] for row in spans] == list(range(0, 10_000, 4))
    assert births.survivors("Thing") == {(number // 4, "Thing"): 1 for number in range(0, 10_000, 1000)}
    assert born_of(births, "Other") == (10, 10, 0)
    assert births.losses["spans-folded"] == 10_000


def test_a_file_that_is_flushed_while_rows_are_put_together(handled):
    for number in range(5000):
        handle(number % 500 == 0)
        if number in (100, 4090, 4099, 4800):
            _core.flush()
    _core.stop()
    births = load(handled)
    assert births.problems == []
    spans = births.spans()
    assert [(row["first"], row["calls"]) for row in spans] == [(first, 2) for first in range(0, 5000, 2)]
    assert births.survivors("Thing") == {(number // 2, "Thing"): 1 for number in range(0, 5000, 500)}


def test_more_calls_than_an_object_remembers():
    """An object keeps 18 bits of its call's number. Calls that have them in common are told apart; one that still runs
    when its number comes up again keeps it, and the other is not followed."""

    def many(count):
        for _ in range(count):
            tiny()

    def tiny():
        pass

    def drops():
        del kept[1]

    around = (1 << 18) - 1
    with recorded(span=calls_of("handle", "*tiny", "*drops", "numbers")) as births:
        handle(1)
        handle(2)
        many(around - 2)
        handle(3)
        drops()  # what one with its 18 bits has made
        running = numbers(2)
        next(running)
        many(around - 1)
        tiny()
        next(running)
    spans = births.spans()
    calls = spans[0]["calls"]
    assert sum(row["calls"] for row in spans) == 2 * around + 2
    assert births.survivors("Thing") == {
        (0, "Thing"): 2,
        (around // calls, "Thing"): 3,
        ((around + 2) // calls, "Thing"): 2,
    }
    assert born_of(births, "Thing") == (8, 0, 7)
    assert births.losses["spans-lost"] == 1


def test_greenlets_do_no_harm():
    """What another greenlet does may count for the span that was left behind, until a chosen function is called."""
    greenlet = pytest.importorskip("greenlet")

    def one():
        kept.append(Thing())
        other.switch()
        kept.append(Thing())

    def two():
        handle(2)
        first.switch()

    with recorded(span=calls_of("*one", "handle")) as births:
        first, other = greenlet.greenlet(one), greenlet.greenlet(two)
        first.switch()
        handle(1)
    spans = births.spans()
    assert sorted(row["function"].rpartition(".")[2] for row in spans) == ["handle", "handle", "one"]
    assert all(row["end_ns"] > 0 for row in spans)
    assert sum(births.survivors("Thing").values()) >= 4


def test_a_child_is_in_the_span_that_forked_it():
    out = run("""
kept = []
def handle(fork):
    kept.append(Thing())
    if not fork: return
    pid = os.fork()
    if pid == 0:
        _core.after_fork(-1, "{}")
        kept.append(Thing())
        kept.append(Thing())
        return
    os.waitpid(pid, 0)
start(span=calls_of("handle"))
handle(False)
main = os.getpid()
handle(True)
kept.append(Thing())
_core.stop()
births = image()
spans = [(row["calls"], row["end_ns"] > 0) for row in births.spans()]
print("parent" if os.getpid() == main else "child", births.problems, spans, births.survivors("Thing"), flush=True)
if os.getpid() != main: os._exit(0)
    """)
    assert sorted(out.splitlines()) == [
        "child [] [(1, True)] {(0, 'Thing'): 2}",
        "parent [] [(1, True), (1, True)] {(0, 'Thing'): 1, (1, 'Thing'): 1}",
    ]


def test_spans_beside_hooks_and_call_paths():
    import seismo.hooks

    seen = []
    with (
        seismo.hooks.set_profile(lambda frame, event, arg: seen.append(event), where='call("*handle")'),
        recorded(span=calls_of("handle"), paths=True) as births,
    ):
        handle(1)
        handle(2)
    assert seen
    assert births.survivors("Thing") == {(0, "Thing"): 1, (1, "Thing"): 2}
    assert sys.getprofile() is None
