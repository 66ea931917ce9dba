"""Births and deaths of objects: grouped, judged, merged, subtracted, combined, compared."""

import pytest
from object_builder import ObjectBuilder as Builder
from objects_made import META, drawn, told

from seismo.errors import RecordingError
from seismo.model import LifetimeRow, ObjectCounts, TypeRow, diff_objects, merge, read
from seismo.model.objects.groups import by_line, by_path, by_type, by_type_and_line, totals, types_in
from seismo.model.objects.leaks import leaks, spans

KINDS = ("types", "objects", "lifetimes", "object_times", "object_spans", "object_survivors", "holders", "marks")


def content(recording):
    """All that a recording says of objects."""
    return {kind: list(getattr(recording, kind)) for kind in KINDS}


# ---- tables ----


def test_what_is_built_is_read_back():
    recording = told()
    again = read(recording.to_bytes())
    assert again.kind == recording.kind == "lifetimes"
    assert content(again) == content(recording)
    assert again.problems == []
    assert all(content(again).values())
    assert recording.types.columns == list(TypeRow._fields)
    assert [row.full_name for row in recording.types] == ["app.Session", "dict", "tuple", "float"]


# ---- groups ----


def test_groups_by_type_have_the_types_own_counts():
    groups = {group.type: group for group in by_type(told())}
    assert list(groups) == ["tuple", "float", "dict", "app.Session"]
    dicts = groups["dict"]
    assert (dicts.born, dicts.died, dicts.died_by_gc, dicts.live) == (120, 110, 40, 10)
    assert (dicts.peak, dicts.peak_at_most) == (60, False)
    assert (dicts.qualname, dicts.line, dicts.function, dicts.path) == ("", 0, -1, ())
    assert len(dicts.rows) == 2


def test_groups_by_line_sum_up_all_types():
    lines = {(group.qualname, group.line): group for group in by_line(told())}
    both = lines["parse", 33]
    assert (both.type, both.file, both.born, both.died) == ("", "/src/app.py", 800, 800)
    assert (both.peak, both.peak_at_most) == (2 + 3, True)
    assert both.bytes == 300 * 40 + 6_000 + 500 * 24
    one = lines["handle", 12]
    assert (one.peak, one.peak_at_most) == (20, False)
    assert (one.span_born, one.span_died, one.span_live) == (20, 0, 20)


def test_groups_by_type_and_line_are_apart():
    groups = {(group.type, group.line): group.born for group in by_type_and_line(told())}
    assert groups == {
        ("tuple", 15): 700,
        ("float", 33): 500,
        ("tuple", 33): 300,
        ("dict", 31): 110,
        ("app.Session", 12): 20,
        ("dict", 13): 10,
    }


def test_types_alone_are_grouped_without_lines():
    b = Builder()
    b.type("app", "T", born=9, died=8, died_by_gc=2, peak=5)
    b.type("app", "T", born=3, size=16, peak=1)
    recording = b.build(META)
    (group,) = by_type(recording)
    assert (group.type, group.born, group.live) == ("app.T", 12, 4)
    assert (group.peak, group.peak_at_most) == (6, True)
    assert by_line(recording) == by_path(recording) == []
    assert group.died_by_gc == 2


def test_call_paths_of_all_threads_are_one():
    b = Builder()
    process = b.process()
    main, handle, parse = (b.function("app", name, "/app.py", line) for name, line in (("main", 1), ("h", 5), ("p", 9)))
    type_ = b.type("app", "T", born=12)
    for _ in range(2):
        thread = b.thread(process)
        top = b.node(-1, thread, main, calls=1)
        b.object(type_, parse, 10, b.node(b.node(top, thread, handle, calls=1), thread, parse, calls=1), born=3)
        b.object(type_, parse, 10, b.node(top, thread, parse, calls=1), born=2)
    b.object(type_, parse, 10, born=1)
    b.object(type_, born=1)
    groups = {group.path: group.born for group in by_path(b.build(META))}
    assert groups == {(main, handle, parse): 6, (main, parse): 4, (parse,): 1, (): 1}


@pytest.mark.parametrize(
    ("flags", "died", "at_least", "live_at_least"),
    [
        (0, 1, False, False),  # of one size
        (4, 2, False, False),  # of variable size: known when they die
        (4, 1, True, True),
        (8, 2, True, False),  # with memory elsewhere: never known
        (8, 1, True, True),
    ],
)
def test_bytes_say_when_they_are_a_lower_bound(flags, died, at_least, live_at_least):
    b = Builder()
    type_ = b.type("app", "T", born=2, died=died, flags=flags, size=100, item_bytes=7)
    b.object(type_, born=2, died=died, item_bytes=7)
    for (group,) in (by_type(b.build()), by_line(b.build())):
        assert (group.bytes, group.at_least) == (207, at_least)
        assert (group.bytes_live, group.live_at_least) == (100 * (2 - died), live_at_least)


def test_estimates_are_marked():
    b = Builder()
    sampled, exact = b.type("app", "A", born=4, flags=32), b.type("app", "B", born=4)
    b.object(sampled, line=1, born=4, flags=1)
    b.object(exact, line=2, born=4)
    assert {group.type: group.approximate for group in by_type_and_line(b.build())} == {"app.A": True, "app.B": False}
    assert {group.type: group.approximate for group in by_type(b.build())} == {"app.A": True, "app.B": False}
    assert totals(b.build()).approximate


def test_short_lives_are_those_of_few_births_or_of_little_time():
    (line,) = (group for group in by_line(told()) if group.short)
    assert (line.line, line.short) == (33, 300)  # 250 by births, 300 by time
    assert line.short_share == 300 / 800
    assert line.in_births == [100, 0, 0, 0, 150, 30, 0, 0, 0, 20]
    assert sum(line.in_ns) == 300


def test_totals_are_those_of_all_types():
    whole = totals(told())
    assert types_in(told()) == 4
    assert (whole.born, whole.died, whole.died_by_gc, whole.live) == (1640, 1608, 40, 32)
    assert whole.at_least


def test_absurd_numbers_are_grouped():
    b = Builder()
    most = 2**63 - 1
    row = b.object(b.type("", "", born=most, size=most, item_bytes=most, live=most), born=most, peak=most, live=most)
    b.lifetime(row, 1, most, most)
    b.lifetime(row, 7, 3, 1)
    recording = b.build()
    assert recording.kind == "lifetimes"  # without metadata
    assert by_type(recording)[0].bytes == most * most + most
    assert sum(by_line(recording)[0].in_ns) == most
    assert merge([recording, drawn(1), drawn(2, 2)]).types["born"].tolist()[0] == most


# ---- leaks ----


def left(*survivors, calls=1, last_runs=False, **columns):
    """The verdict on a type of which each call (or row of `calls` calls) left so many."""
    b = Builder()
    row = b.object(b.type("app", "T", born=99), born=99, **columns)
    for number, count in enumerate(survivors):
        ends = not (last_runs and number == len(survivors) - 1)
        span = b.object_span(-1, number * calls, calls, start_ns=number, end_ns=number + 1 if ends else 0)
        if count:
            b.object_survivor(span, row, count)
    found = leaks(b.build(META))
    return found[0].verdict if found else ""


@pytest.mark.parametrize(
    ("survivors", "verdict"),
    [
        ([1] * 20, "steady"),
        ([5, 1, 1, 1, 0], "steady"),  # the last call need not
        ([1] * 9 + [0] + [1] * 20, "steady"),
        ([7] + [0] * 19, "warm-up"),
        ([7, 3] + [0] * 17 + [1], "warm-up"),
        ([0] * 19 + [4], "last call"),
        ([0] * 14 + [1] * 6, "recent"),
        ([0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0], "occasional"),
        ([1, 1, 1], "few calls"),
        ([0] * 20, ""),
    ],
)
def test_what_calls_leave_behind_is_judged(survivors, verdict):
    assert left(*survivors) == verdict
    assert left(*survivors, last_runs=True) == verdict


def test_rows_of_several_calls_are_judged_like_calls():
    assert left(*[3] * 20, calls=64) == "steady"
    assert left(9, *[0] * 19, calls=64) == "warm-up"
    assert left(*[0] * 19, 9, calls=64) == "last call"


def test_a_sample_is_judged_by_tenths():
    assert left(*[16, 0, 0, 0, 0] * 20) == "occasional"
    assert left(*[16, 0, 0, 0, 0] * 20, flags=1) == "steady"


def test_a_leak_says_how_much_and_when():
    first, second, third = leaks(told())
    assert (first.group.type, first.group.line, first.verdict) == ("app.Session", 12, "steady")
    assert (first.alive, first.calls, first.calls_with, first.at_most, first.per_call) == (20, 20, 20, False, 1.0)
    assert first.parts == (2,) * 10
    assert first.bytes == 20 * 48
    assert (second.group.line, second.verdict, second.calls_with) == (13, "warm-up", 2)
    assert second.parts == (10, *[0] * 9)
    assert (third.verdict, third.parts) == ("last call", (*[0] * 9, 2))


def test_fewer_calls_than_ten_are_shown_one_by_one():
    b = Builder()
    row = b.object(b.type("app", "T", born=9), born=9)
    for call in range(4):
        b.object_survivor(b.object_span(first=call, end_ns=1), row, call + 1)
    assert leaks(b.build())[0].parts == (1, 2, 3, 4)


def test_calls_of_several_processes_are_judged_in_each():
    parts = []
    for pid in (1, 2):
        b = Builder()
        b.process(pid=pid, start_ns=pid)
        cache = b.object(b.type("app", "T", born=9), line=1, born=9)
        for call in range(20):
            span = b.object_span(-1, call, start_ns=100 * pid + call, end_ns=100 * pid + call + 1)
            if not call:
                b.object_survivor(span, cache, 3)
        parts.append(b.build(META))
    (leak,) = leaks(merge(parts))
    assert (leak.verdict, leak.alive, leak.calls, leak.calls_with) == ("warm-up", 6, 40, 2)
    assert leak.parts == (6, *[0] * 9)


def test_spans_sum_up_the_calls_of_a_function():
    b = Builder()
    f, g = b.function("app", "f"), b.function("app", "g")
    b.object_span(f, 0, 1, end_ns=5, born=10, died=7, live=1)
    b.object_span(f, 1, 4, born=10, died=10)
    b.object_span(g, 5, 1, end_ns=5)
    one, other = spans(b.build())
    counts = (one.calls, one.running, one.born, one.died, one.escaping, one.alive)
    assert (one.function, counts) == (f, (5, 1, 20, 17, 3, 1))
    assert other.function == g


# ---- merge ----


@pytest.mark.parametrize("seed", range(3))
def test_merge_adds_up_what_each_says(seed):
    parts = [drawn(seed * 2 + i, pid=i) for i in range(2)]
    both = merge(parts)
    for name in ("born", "died", "died_by_gc", "live", "unseen"):
        for kind in ("types", "objects"):
            assert sum(getattr(both, kind)[name]) == sum(sum(getattr(part, kind)[name]) for part in parts)
    assert sum(both.lifetimes["count"]) == sum(sum(part.lifetimes["count"]) for part in parts)
    assert sum(both.object_survivors["count"]) == sum(sum(part.object_survivors["count"]) for part in parts)
    assert len(both.object_spans) == sum(len(part.object_spans) for part in parts)
    for group_by in (by_type, by_line, by_type_and_line, by_path):
        assert sum(group.born for group in group_by(both)) == sum(
            group.born for part in parts for group in group_by(part)
        )
    last = both.object_times[-1]
    assert (last.born, last.died) == (40, 36)


def test_merged_peaks_are_upper_bounds():
    both = told().merge(drawn(1, pid=2))
    sessions = next(group for group in by_type(both) if group.type == "app.Session")
    assert (sessions.peak, sessions.peak_at_most) == (20, False)  # of one process only
    twice = told().merge(told())
    sessions = next(group for group in by_type(twice) if group.type == "app.Session")
    assert (sessions.peak, sessions.peak_at_most) == (40, True)
    (line,) = (group for group in by_type_and_line(twice) if group.type == "app.Session")
    assert (line.born, line.peak, line.peak_at_most) == (40, 40, True)


def test_merged_timelines_are_the_sum_at_every_time():
    parts = []
    for pid, times in ((1, [(10, 5, 1), (30, 9, 9)]), (2, [(20, 100, 0), (30, 100, 100)])):
        b = Builder()
        b.process(pid=pid)
        for time, born, died in times:
            b.object_time(time, born, died)
        parts.append(b.build(META))
    assert [row[1:] for row in merge(parts).object_times] == [(10, 5, 1), (20, 105, 1), (30, 109, 109)]


def test_merged_holders_are_one_tree():
    (first, second) = merge([told(), told()]).holders
    assert (first.holder, first.by, first.parent, first.count, first.asked) == ("list", "sessions", -1, 36, 40)
    assert (second.holder, second.parent, second.flags, second.count) == ("module app", 0, 1, 36)


def test_calls_and_marks_keep_their_process():
    both = drawn(1, pid=1).merge(drawn(2, pid=2))
    assert both.object_spans["process"].tolist() == [0, 0, 0, 1, 1, 1]
    assert both.marks["process"].tolist() == [0, 1]
    assert set(both.of_first_process().object_spans["process"]) == {0}


# ---- subtract ----


@pytest.mark.parametrize("seed", range(4))
def test_subtract_leaves_what_happened_in_between(seed):
    earlier, later = drawn(seed), drawn(seed, growth=3)
    between = later.subtract(earlier)
    for name in ("born", "died", "died_by_gc"):
        assert sum(between.types[name]) == sum(later.types[name]) - sum(earlier.types[name])
    assert sum(between.types["live"]) == sum(later.types["live"])
    assert sum(between.objects["born"]) == sum(later.objects["born"]) - sum(earlier.objects["born"])
    assert sum(between.lifetimes["count"]) == sum(later.lifetimes["count"]) - sum(earlier.lifetimes["count"])
    assert all(group.peak_at_most for group in by_type_and_line(between))
    assert between.object_spans["first"].tolist() == list(range(3, 9))
    assert between.marks["name"] == ["later"]
    assert [row.born for row in between.object_times][:2] == [10, 20]

    def alive(recording):
        names = recording.functions["qualname"]
        return {
            (group.type, group.qualname, group.line, *(names[function] for function in group.path)): group.live
            for group in by_path(recording)
        }

    assert alive(later).items() >= alive(between).items()


def test_nothing_happened_between_a_recording_and_itself():
    recording = told()
    nothing = recording.subtract(recording)
    assert {row.full_name: (row.born, row.live) for row in nothing.types} == {
        "app.Session": (0, 20),
        "dict": (0, 10),
        "tuple": (0, 2),
    }
    assert not list(nothing.lifetimes)
    assert not list(nothing.object_spans)
    assert [row.holder for row in nothing.holders] == ["list", "module app"]
    assert read(nothing.to_bytes()).problems == []


def test_a_call_that_ran_when_the_snapshot_was_taken_is_kept():
    def snapshot(*ends):
        b = Builder()
        row = b.object(b.type("app", "T", born=3), born=3)
        for call, end in enumerate(ends):
            b.object_survivor(b.object_span(first=call, end_ns=end), row, 1)
        return b.build(META)

    between = snapshot(5, 6, 7, 8).subtract(snapshot(5, 0))
    assert between.object_spans["first"].tolist() == [1, 2, 3]
    assert between.object_survivors["span"].tolist() == [0, 1, 2]


def test_subtract_refuses_a_stranger():
    for later, earlier in ((drawn(1), told()), (drawn(1), drawn(1, growth=2)), (told(), drawn(3))):
        with pytest.raises(RecordingError, match="not an earlier snapshot"):
            later.subtract(earlier)


# ---- combined ----


@pytest.mark.parametrize("seed", range(3))
def test_combined_keeps_objects_under_their_paths(seed):
    recording = drawn(seed)
    one = recording.combined()
    assert [(g.type, g.path, g.line, g.born) for g in by_path(one)] == [
        (g.type, g.path, g.line, g.born) for g in by_path(recording)
    ]
    assert sum(one.lifetimes["count"]) == sum(recording.lifetimes["count"])
    assert list(one.types) == list(recording.types)
    assert [row.holder for row in one.holders] == [row.holder for row in recording.holders]
    assert read(one.to_bytes()).problems == []


def test_combined_takes_the_objects_of_chosen_threads_only():
    b = Builder()
    process, f, type_ = b.process(), b.function("app", "f"), b.type("app", "T", born=5)
    for born in (2, 3):
        node = b.node(-1, b.thread(process), f, calls=1)
        row = b.object(type_, f, 1, node, born=born)
        b.lifetime(row, 0, born, 1)
        b.object_survivor(b.object_span(first=born), row, born)
        b.holder(row, b.holder(row, -1, f"by {born}"), "module app")
    one = b.build(META).combined([1])
    assert [(row.node, row.born) for row in one.objects] == [(0, 3)]
    assert list(one.lifetimes) == [LifetimeRow(0, 0, 0, 3, 1)]
    assert [(row.span, row.count) for row in one.object_survivors] == [(1, 3)]
    assert [(row.parent, row.holder) for row in one.holders] == [(-1, "by 3"), (0, "module app")]


# ---- diff ----


def test_diff_by_type_ranks_by_births():
    b = Builder()
    b.type("app", "Session", born=10, died=10, size=48)
    b.type("app", "New", born=1, size=10)
    rows = diff_objects(told(), b.build(META))
    assert [row.key.type for row in rows] == ["tuple", "float", "dict", "app.Session", "app.New"]
    session = rows[3]
    assert (session.born_change, session.live_change, session.bytes_change) == (-10, -20, -480)
    assert rows[-1].old == ObjectCounts()
    assert rows[-1].new == ObjectCounts(born=1, live=1, bytes=10, bytes_live=10)
    assert rows[2].old.at_least


def test_diff_by_line_follows_functions_that_moved():
    def version(first_line, folder, born):
        b = Builder()
        f = b.function("app", "f", f"/{folder}/app.py", first_line)
        b.object(b.type("app", "T", born=born), f, first_line + 2, born=born)
        return b.build(META)

    (row,) = diff_objects(version(10, "a", 5), version(40, "b", 8), "line")
    assert (row.key.qualname, row.key.offset, row.file, row.line, row.born_change) == ("f", 2, "/b/app.py", 42, 3)
    (row,) = diff_objects(version(10, "a", 5), version(40, "b", 8), "type and line")
    assert row.key.type == "app.T"
    with pytest.raises(KeyError):
        diff_objects(told(), told(), "path")


def test_the_same_recordings_do_not_differ():
    for by in ("type", "line", "type and line"):
        rows = diff_objects(told(), told(), by)
        assert rows
        assert all(row.old == row.new for row in rows)
