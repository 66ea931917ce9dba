"""What a program says of itself stands in the timeline: marks, counts and spans."""

import asyncio

import pytest

import seismo
from seismo.errors import UsageError


def instants(calls):
    """Those of the program: the collector may have paused at any time."""
    return [row for row in calls.instants if not row.kind.startswith("collect")]


def said(trace):
    return [(row.kind, row.name, row.data) for row in instants(trace.recording.calls)]


def test_marks_and_counts_are_where_they_were_said():
    def work():
        seismo.mark("here", n=3, what="x", yes=True, none=None, ratio=1.5, endless=float("inf"), other=object())

    with seismo.trace() as t:
        work()
        seismo.count("queue", 4)
    window = t.recording.calls.window()
    mark, count = instants(window)
    data = {"n": 3, "what": "x", "yes": True, "none": None, "ratio": 1.5, "endless": "inf", "other": "<object>"}
    assert (mark.kind, mark.name, mark.data) == ("mark", "here", data)
    assert (count.kind, count.name, count.data) == ("counter", "queue", {"value": 4})
    assert mark.time_ns <= count.time_ns
    functions = t.recording.functions["qualname"]
    assert functions[window.calls[mark.call].function].endswith("work")


def test_spans_know_what_they_are_in_and_how_they_end():
    with seismo.trace() as t, seismo.span("outer", rows=2), pytest.raises(ZeroDivisionError), seismo.span("inner"):
        1 / 0  # noqa: B018
    outer, inner, failed, ended = instants(t.recording.calls)
    assert [row.kind for row in (outer, inner, failed, ended)] == ["begin", "begin", "end", "end"]
    assert (outer.data, inner.data) == ({"rows": 2}, {"in": outer.span})
    assert (failed.span, failed.data) == (inner.span, {"error": "ZeroDivisionError"})
    assert ended.span == outer.span


def test_spans_of_tasks_do_not_take_each_others_place():
    @seismo.span("task")
    async def task():
        await asyncio.sleep(0)
        with seismo.span("part"):
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(task(), task())

    with seismo.trace() as t:
        asyncio.run(main())
    begun = [row for row in t.recording.calls.instants if row.kind == "begin"]
    tasks = [row.span for row in begun if row.name == "task"]
    assert [row.data["in"] for row in begun if row.name == "part"] == tasks


def test_one_span_object_entered_again_ends_as_often_as_it_began():
    again = seismo.span("again")
    with seismo.trace() as t, again, again:
        seismo.mark("inside")
    rows = [(row.kind, row.span) for row in t.recording.calls.instants if row.name == "again"]
    first, second = rows[0][1], rows[1][1]
    assert rows == [("begin", first), ("begin", second), ("end", second), ("end", first)]
    assert first != second


def test_one_span_object_in_several_tasks_ends_in_each():
    shared = seismo.span("shared")

    async def step(turns):
        with shared:
            for _ in range(turns):
                await asyncio.sleep(0)

    async def main():
        await asyncio.gather(step(1), step(3), step(2))

    with seismo.trace() as t:
        asyncio.run(main())
    rows = [row for row in t.recording.calls.instants if row.name == "shared"]
    begun = [row.span for row in rows if row.kind == "begin"]
    assert [row.span for row in rows if row.kind == "end"] == [begun[0], begun[2], begun[1]]


def test_a_decorated_function_has_a_span_for_each_call():
    @seismo.span("each")
    def work(n):
        return n + 1

    with seismo.trace() as t:
        assert [work(1), work(2)] == [2, 3]
    assert [(kind, name) for kind, name, _ in said(t)] == [("begin", "each"), ("end", "each")] * 2
    with pytest.raises(UsageError, match="generator"):
        seismo.span("none")(lambda: (yield))


def test_what_is_too_long_is_cut_and_said():
    with seismo.trace() as t:
        seismo.mark("n" * 5000)
        seismo.mark("values", **{f"v{i}": "x" * 900 for i in range(9)})
        seismo.mark("surrogate \ud800")
    long, many, odd = said(t)
    assert long[1] == "n" * 1000
    assert many == ("mark", "values", {"left out": "9 values, which are too long"})
    assert odd[1] == "surrogate \\ud800"


def test_nothing_is_kept_where_no_timeline_is_recorded():
    seismo.mark("before")
    with seismo.profile() as p, seismo.span("profiled"):
        seismo.count("queue", 1)
    assert not p.recording.calls
