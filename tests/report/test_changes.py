"""What changed between two recordings, as its reader sees it."""

import itertools
import json
import re

import pytest
from on_paper import written

from seismo.model import Builder, DiffRow, FunctionKey, diff, read
from seismo.model.difference import difference, difference_of_lines
from seismo.report.changes import OF_FUNCTIONS, OF_LINES, STRANGERS, as_json, growth, show_changes
from seismo.report.words import cells


def recording(functions):
    """Of (name, calls, own time in µs); one thread, all functions below `main`."""
    b = Builder()
    thread = b.thread(b.process(pid=1, argv=["app.py"]), name="MainThread")
    root = b.node(-1, thread, b.function("app", "main", "/old/app.py", 1), calls=1, own_ns=10**9)
    for name, calls, own in functions:
        b.node(root, thread, b.function("app", name, "/old/app.py", 10), calls=calls, own_ns=1_000 * own)
    return b.build({})


@pytest.fixture(scope="module")
def pair():
    old = recording([("same", 10, 5_000), ("slower", 10, 1_000_000), ("busier", 1_000, 700), ("gone", 3, 4_000)])
    new = recording([("same", 10, 5_000), ("slower", 10, 3_000_000), ("busier", 1_234, 700), ("new", 7, 9_000)])
    return old, new


def changes(old, new, rows=None, width=80, limit=15):
    sides = [side if isinstance(side, list) else [side] for side in (old, new)]
    of_lines = bool(sides[0][0].lines)
    found = (difference_of_lines if of_lines else difference)(*sides)
    found = found if rows is None else found._replace(rows=rows)
    words = OF_LINES if of_lines else OF_FUNCTIONS
    return written(show_changes, sides, found, words, ([], []), limit, width=width).splitlines()


def test_golden(pair, same_as_golden):
    same_as_golden("changes-80.txt", changes(*pair))


def test_nothing_changed(pair):
    old = pair[0]
    lines = changes(old, old)
    assert "change    0 own time (+0.0 %), the same number of calls" in lines
    assert [line for line in lines if line.endswith(": none")] == [
        "Changed in calls: none",
        "New functions: none",
        "Functions that are gone: none",
        "Changed in own time: none",
    ]


def test_a_change_within_its_error_is_no_finding(pair):
    row = DiffRow(FunctionKey(0, "app", "noisy", "app.py"), 5, 5, 1e6, 1.2e6, 5e5, 1e6, 1.2e6, False)
    lines = changes(*pair, rows=[row])
    assert "Changed in own time: none" in lines
    assert any(line.startswith("  1 other function changed within the error: no finding; ± is of") for line in lines)
    assert not any("noisy" in line for line in lines)


def test_limit_and_width(pair):
    old = recording([(f"f{index}\x1b" * 40, 1, 100_000) for index in range(50)])
    new = recording([(f"f{index}\x1b" * 40, 2, 500_000) for index in range(50)])
    lines = changes(old, new, limit=5)
    assert sum("40 " in line or "45 more functions (--limit N)" in line for line in lines) == 2
    assert max(map(cells, lines)) <= 80
    assert all(line.isprintable() for line in lines)


def test_calls_that_are_lower_bounds_are_not_compared_and_their_times_are_their_callers():
    """A call site that is disabled in one run and not in the other moves time between a C function and its caller."""

    def of(calls, own_ns, bound):
        b = Builder()
        thread = b.thread(b.process(pid=1), name="MainThread")
        caller = b.node(-1, thread, b.function("app", "f", "app.py", 1), calls=5, own_ns=10**9 - own_ns)
        b.node(caller, thread, b.function("builtins", "len", kind=1), calls=calls, own_ns=own_ns, flags=int(bound))
        once = b.node(caller, thread, b.function("builtins", "map", kind=1), calls=1, own_ns=0)
        b.node(once, thread, b.function("app", "g", "app.py", 9), calls=1, own_ns=5 * 10**8)
        return b.build({})

    old, new = of(10, 1_000, True), of(100_000, 6 * 10**8, False)
    lines = changes(old, new)
    assert "Changed in calls: none" in lines
    text = " ".join(" ".join(lines).split())
    assert "1 other function left out: their calls are lower bounds, and their own time is in their callers'" in text
    assert "Changed in own time: none" in lines
    rows = {row.key.qualname: row for row in diff(old, new)}
    assert (rows["f"].own_old, rows["f"].own_new) == pytest.approx((10**9, 10**9))
    assert sum(row.own_new for row in rows.values()) == pytest.approx(sum(new.functions["own_ns"]))
    assert (rows["len"].bound, rows["len"].calls_new, rows["len"].own_new) == (True, 100_000, 0)


def run(own, calls=10, name="work"):
    """One run: `name` beside two functions that are always alike."""
    return recording([(name, calls, own), ("same", 5, 1_000_000), ("tiny", 1, 20)])


def test_equal_runs_of_a_busy_machine_differ_in_nothing():
    times = [19_000_000, 53_000_000, 14_000_000, 79_000_000, 22_000_000, 63_000_000]
    for chosen in itertools.combinations(range(6), 3):
        if chosen in ((0, 2, 4), (1, 3, 5)):
            continue  # all slow runs on one side are a change to anybody
        old, new = ([run(times[i]) for i in range(6) if (i in chosen) is here] for here in (True, False))
        lines = changes(old, new)
        assert "Changed in own time: none" in lines, chosen
        text = " ".join(" ".join(lines).split())
        assert "1 other function changed within the error: no finding" in text
        assert re.search(r"with 3 runs a side a change below some [\d,]+ % may be chance: more runs", text)
        assert re.search(r"own time \(.+?\), which is within what equal runs differ by \(±[\d.]+ s\), the same", text)


def test_what_has_hardly_any_time_is_not_asked_about():
    old = recording([("tiny", 1, 10_000), ("large", 1, 50_000_000)])
    new = recording([("tiny", 1, 90_000), ("large", 1, 50_000_000)])
    assert "Changed in own time: none" in changes(old, new)
    text = " ".join(" ".join(changes(old, new)).split())
    assert "1 other function changed within the error or too small a part of the time: no finding" in text


def test_a_change_beyond_what_runs_differ_by_is_told():
    old = [run(own) for own in (10_000_000, 10_100_000, 9_900_000)]
    new = [run(own) for own in (20_000_000, 20_200_000, 19_900_000)]
    lines = changes(old, new)
    told = lines[lines.index("Changed in own time") + 2]
    assert re.fullmatch(r"\+10\.0 s +±\d+ % +10\.0 s +20\.0 s + x2\.0  app:work  app\.py", told)
    assert lines[0] == "old       3 runs, 11.9 s to 12.1 s in 17 calls of 4 functions: app.py"


def test_runs_that_are_slow_as_a_whole_are_said():
    def slow(by):
        return recording([(f"f{number}", 1, int(by * 100_000 * number)) for number in range(5, 15)])

    old, new = [slow(0.8), slow(1.2)], [slow(1.0), slow(1.01)]
    lines = changes(old, new, width=200)
    said = "pace      the runs took 0.80 to 1.20 times as long as their mean; times below are those of a mean run"
    assert [line for line in lines if line.startswith("pace")] == [said]
    assert "Changed in own time: none" in lines
    content = json.loads(as_json(difference(old, new), ["a", "b"], ["c", "d"]))
    assert content["slower_old"] == pytest.approx([0.8, 1.2], rel=0.01)


def test_what_is_sure_comes_first_and_the_largest_change_of_a_list(doubtful):
    """A change within its error comes after all that is none, whatever its size."""
    old = recording([("small", 10, 1_000_000), ("large", 10, 1_000_000), ("unsure", 10, 1_000_000), ("gone", 1, 9)])
    new = recording([("small", 10, 2_500_000), ("large", 10, 4_000_000), ("unsure", 20, 5_000_000), ("new", 1, 9)])
    new = doubtful(new, {"unsure": 5 * 10**9, "large": 10**9})
    rows = diff(old, new)
    assert [row.key.qualname for row in rows[:3]] == ["large", "small", "unsure"]
    assert [row.significant for row in rows[:3]] == [True, True, False]
    lines = changes(old, new)
    heads = ["Changed in calls", "New functions", "Functions that are gone", "Changed in own time"]
    assert [line for line in lines if line in heads] == heads
    assert [line.split()[-2] for line in lines[lines.index(heads[-1]) + 2 :][:2]] == ["app:large", "app:small"]


def test_one_run_a_side_says_how_little_that_tells(pair):
    text = " ".join(" ".join(changes(*pair)).split())
    assert re.search(r"with 1 run a side a change below some \d+ % .*more runs show smaller changes", text)


def test_calls_that_differ_between_runs_are_ranges():
    old = [run(1_000, calls) for calls in (10, 14)]
    lines = changes(old, [run(1_000, calls) for calls in (13, 20)])
    assert "Changed in calls: none" in lines
    assert "  1 other function differs by as many calls among the runs of a side: no finding" in lines
    lines = changes(old, [run(1_000, 20), run(1_000, 20)])
    assert lines[lines.index("Changed in calls") + 2].split()[:3] == ["≥+6", "10-14", "20"]
    lines = changes([run(1_000), run(1_000)], [run(1_000, name="new"), run(1_000)])
    assert "New functions: none" in lines
    assert "  1 other function differs by as many calls among the runs of a side: no finding" in lines
    assert "  1 other function ran in some runs of one side only" in lines


def test_json_of_several_runs():
    old, new = [run(1_000, 10), run(1_000, 14)], [run(1_000, 20)]
    content = json.loads(as_json(difference(old, new), ["a", "b"], ["c"]))
    assert (content["old"], content["new"]) == (["a", "b"], ["c"])
    row = next(row for row in content["functions"] if row["qualname"] == "work")
    assert (row["calls_old"], row["calls_new"]) == ([10, 14], [20, 20])


def lines_of(own_ns, hits=10, moved=0):
    b = Builder()
    b.process()
    function = b.function("app", "work", "/x/app.py", 7 + moved)
    b.line(function, 8 + moved, hits, own_ns=own_ns)
    b.line(function, 9 + moved, 3, own_ns=5_000)
    return b.build({"recorder": "linetimes"})


def test_lines_are_compared_line_by_line():
    old, new = lines_of(10**9), lines_of(5 * 10**9, 12, moved=4)
    lines = changes(old, new)
    assert lines[lines.index("Changed in own time") + 2].split() == [
        "+4.00", "s", "±13", "%", "1.00", "s", "5.00", "s", "x5.0", "app.py:12", "app:work",
    ]  # fmt: skip
    assert lines[lines.index("Changed in hits") + 2].split()[:3] == ["+2", "10", "12"]
    content = json.loads(as_json(difference_of_lines([old, old], [new]), ["a", "b"], ["c"]))
    assert content["lines"][0]["line"] == 12
    assert content["lines"][0]["hits_old"] == [10, 10]


@pytest.mark.parametrize(
    ("new", "old", "shown"),
    [
        (5, 0, ""),
        (100, 100, "+0.0 %"),
        (112, 100, "+12 %"),
        (250, 100, "x2.5"),
        (1, 1000, "-99.9 %"),
        (9e6, 1, "x9,000,000"),
    ],
)
def test_growth(new, old, shown):
    assert growth(new, old) == shown


def test_json_has_all(pair):
    content = json.loads(as_json(difference(*pair), ["a"], ["b"]))
    by_name = {row["qualname"]: row for row in content["functions"]}
    assert list(by_name) == ["slower", "new", "gone", *(name for name in by_name if name in ("main", "same", "busier"))]
    assert by_name["busier"]["calls_old"] == 1_000
    assert by_name["busier"]["calls_new"] == 1_234
    assert by_name["slower"]["significant"] is True


def test_recordings_of_different_programs_are_called_so():
    """Whoever compares the wrong files is told so before the numbers; one common function is enough not to be."""

    def made(*names):
        b = Builder()
        thread = b.thread(b.process(), name="MainThread")
        for line, name in enumerate(names, 1):
            b.node(-1, thread, b.function("app", name, "/srv/app.py", line), calls=1, own_ns=9)
        b.node(-1, thread, b.function("builtins", "len", "", 0, kind=1), calls=1, own_ns=9)
        return b.build({"recorder": "calltree"})

    def told(old, new):
        return STRANGERS in " ".join(line.strip() for line in changes(old, new, width=200))

    assert told(made("a", "b"), made("c"))
    assert not told(made("a", "b"), made("b", "c"))
    assert not told(made(), made("c"))


def test_a_damaged_side_is_said(pair, tmp_path):
    """What was cut off looks like functions that are gone, or new."""
    old, new = pair
    new.save(tmp_path / "new.seismo")
    damaged = read((tmp_path / "new.seismo").read_bytes()[:-40])
    shown = "\n".join(changes(old, damaged, width=200))
    assert re.search(r"^lost +new: byte \d+: cut off or damaged here", shown, re.MULTILINE)
    assert "lost" not in "\n".join(changes(old, new))
