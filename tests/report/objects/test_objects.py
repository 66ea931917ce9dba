"""What a reader sees of a recording of objects: the report, the summary, the differences."""

import json
import re

import pytest
from children import seismo
from made_objects import SOURCE, server
from object_builder import ObjectBuilder as Builder
from on_paper import summed_up, written

from seismo.report.objects.changes import write_changes
from seismo.report.objects.facts import Timeline
from seismo.report.objects.group_descriptions import each, median, one_digit, rough_duration
from seismo.report.objects.text import write_report
from seismo.report.options import Options
from seismo.report.words import Signs, cells, line_and_type, size, sparkline

HOSTILE = "</script><script>alert(1)</script>\x1b[31m\n\u202e"


def told(recording, width=100, signs=None, **options):
    return written(write_report, recording, Options(**options), width=width, signs=signs).splitlines()


TITLES = ("Alive", "Born in", "Types", "Lines", "Call paths", "Made and", "Cycles", "short  ", "life  ", "/")


def section(lines, title):
    """The lines under a heading, to the next heading."""
    start = next(index for index, line in enumerate(lines) if line.startswith(title)) + 1
    end = next((at for at in range(start, len(lines)) if lines[at].startswith(TITLES)), len(lines) + 1)
    return lines[start : end - 1]


def facts(lines):
    """Return the notes at the end, by label."""
    found = {}
    label = ""
    for line in lines[lines.index("Notes") + 1 :]:
        label = line[:10].strip() or label
        found[label] = f"{found.get(label, '')} {line[10:]}".strip()
    return found


@pytest.fixture(scope="module")
def leaking(tmp_path_factory):
    return server(tmp_path_factory.mktemp("app"))


@pytest.fixture(scope="module")
def with_paths(tmp_path_factory):
    return server(tmp_path_factory.mktemp("app"), paths=True, spans=False)


def test_the_first_line_has_the_sums_and_the_notes_the_rest(leaking):
    lines = told(leaking)
    assert " ".join(lines[:2]).startswith("app.py --serve  took 1.83 s: 1,113,055 born, 1,110,985 died")
    said = facts(lines)
    assert said["objects"] == (
        "1,113,055 born, 1,110,985 died (of them 980 by the cycle collector), 2,070 live at the end, peak ≥2,895, of 9 "
        "types"
    )
    assert said["live"].startswith("▂▂")
    assert said["live"].endswith("most seen 2,895 after 1.78 s of 1.83 s")
    assert said["spans"] == "1,000 calls of app:handle"
    assert said["marks"] == "1 mark: warm"
    assert said["lost"] == "nothing"
    assert "small ints" in said["unseen"]


def test_what_the_hook_did_not_see_is_told():
    b = Builder()
    b.process()
    b.type("app", "Thing", born=9, died=4, unseen=2, before=3, resurrected=1, died_by_gc=1, flags=32)
    b.loss("refs-taken", 2, "tracemalloc")
    b.loss("refs-blind", 1_500_000, "")
    b.loss("objects-sampled", 8)
    said = facts(told(b.build({"recorder": "lifetimes"})))
    assert "of them ≈1 by the cycle collector" in said["objects"]
    assert "3 objects died that had been born before the recording" in said["note"]
    assert "2 objects died without an event" in said["note"]
    assert "1 object lived on after a first death" in said["note"]
    assert "1 in 8 of later objects was followed, and numbers marked ≈ are estimated" in said["note"]
    assert "another tool took the interpreter's hook 2 times: tracemalloc" in said["lost"]
    assert "births and deaths within 1.50 ms are missing" in said["lost"]


def test_types_and_lines_by_births(leaking):
    lines = told(leaking)
    types = section(lines, "Types by births")
    assert re.split(r"  +", types[1].strip()) == ["600,000", "33.6 MB", "≈500 / 2 µs", "app.Token"]
    node = next(line for line in types if line.endswith("app.Node"))
    assert node.split()[:3] == ["1,000", "980", "20"]
    made = section(lines, "Lines by births")
    assert made[1].split()[:3] == ["1,100,000", "100", "%"]
    assert made[1].endswith("app.py:14  app.Token 55 %, str 45 %")
    assert made[2].strip() == "tokens = [Token(part) for part in request.split()]"
    assert any("no Python line  types.CodeType" in line for line in made)


def test_what_calls_leave_is_judged_and_its_holders_drawn(leaking):
    left = section(told(leaking), "Alive after the calls they were born in (1,000 calls of app:handle)")
    text = "\n".join(left)
    assert re.search(r"1,000 +1 +1,000  ██████████  leak: every call leaves some\n    app\.py:15  app\.Session", text)
    assert re.search(r"12 +0\.012 +12  █▁▁▁▁▁▁▁▁▁  warm-up: re/__init__\.py:340  re\.Pattern\n", text)
    assert re.search(r"1 +0\.001 +1  ▁▁▁▁▁▁▁▁▁█  last call: app\.py:17  app\.Answer\n", text)
    assert re.search(r"20 +0\.02 +20  ▁▁▁▁▁▁▁▁▁█  the latest calls: a bounded cache", text)
    start = left.index("    held by (100 of them asked):")
    assert left[start + 1 : start + 5] == [
        "    ├─ 90 ← ['…'] of dict ← SESSIONS of module app",
        "    └─ 10 ← […] of list ← .items of app.Queue",
        "       ├─ 7 ← backlog of module app",
        "       └─ 3 ← queue of frame app:main",
    ]
    born = section(told(leaking), "Born in the calls")
    assert re.search(r"600 +600,000 +600,000 +0 +0  app\.py:14  app\.Token", "\n".join(born))


@pytest.mark.parametrize("exit_", ["", "0"])
def test_nothing_left_is_good_news(exit_):
    """Also of a process that was killed, whose last flush told."""
    b = Builder()
    b.process(exit=exit_)
    handle = b.function("app", "handle", "app.py", 1)
    b.object(b.type("app", "T", born=5, died=5), handle, 2, born=5, died=5, span_born=5, span_died=5)
    b.object_span(handle, 0, 5, start_ns=1, end_ns=2, born=5, died=5)
    recording = b.build({"recorder": "lifetimes"})
    left = section(told(recording), "Alive after the calls")
    assert left == ["  nothing: everything born in a call was dead at the end"]
    assert any("none alive at the end" in line for line in summed_up(recording))


def test_call_paths_and_own_time_beside(with_paths):
    lines = told(with_paths)
    thrown = section(lines, "Made and dropped at once")
    assert re.search(r"600,000 +53\.9 % +49\.2 % .*app\.py:14  app\.Token", thrown[1])
    assert any("held by (100 of them asked)" in line for line in section(lines, "Alive at the end"))
    path = section(told(with_paths, by="path", type=("Token",)), "Call paths by births (types Token)")
    assert path[2].strip() == "app:<module> → app:handle → app:handle.<locals>.<listcomp>"


def test_own_time_beside_objects_is_running_and_no_option_is_told_that_there_is_not():
    b = Builder()
    b.process(source="monitoring", waits="rseq,ready,lock")
    main = b.thread(0, name="MainThread", main=1, wall_ns=2_000_000_000, cpu_ns=1_000_000_000)
    sleeper, worker = b.function("app", "sleeper", "app.py", 1), b.function("app", "worker", "app.py", 5)
    nodes = [b.node(-1, main, sleeper, calls=1, own_ns=1_500_000_000, wait_ns=1_000_000_000)]
    nodes.append(b.node(-1, main, worker, calls=1, own_ns=500_000_000))
    kind = b.type("app", "Token", born=1_000, died=1_000)
    for function, line, node in ((sleeper, 2, nodes[0]), (worker, 6, nodes[1])):
        b.lifetime(b.object(kind, function, line, node=node, born=500, died=500), 0, 1, 500)
    lines = told(b.build({"recorder": "lifetimes"}))
    rows = [row for row in section(lines, "Made and dropped at once") if "app.py" in row]
    assert [row.count("50.0 %") for row in rows] == [2, 2]
    text = "\n".join(lines)
    assert "1.00 s of the threads' 2.00 s" in text
    assert "--time" not in text
    assert "times of calls include the counting of objects" in " ".join(text.split())


def test_the_programs_own_lines_come_before_libraries():
    b = Builder()
    b.process()
    kind = b.type("builtins", "str", born=1_600, died=100)
    places = (
        ("app", "main", "/x/app.py", 100),
        ("json", "loads", "/usr/lib/python3.14/json/__init__.py", 1_000),
        ("importlib._bootstrap_external", "_compile_bytecode", "<frozen importlib._bootstrap_external>", 500),
    )
    for module, name, file, born in places:
        b.object(kind, b.function(module, name, file, 1), 2, born=born, died=born // 10)
    recording = b.build({"recorder": "lifetimes"})
    besides = "besides, 1,000 by lines of the standard library, 500 by imports"
    lines = section(told(recording), "Lines by births")
    assert [line.split()[0] for line in lines[1::2]] == ["100", "besides,"]
    assert lines[-1] == f"  {besides} (--libraries)"
    assert "900 by lines of" in section(told(recording), "Alive at the end")[-1]
    for more in ({"libraries": True}, {"all": True}, {"type": ("str",)}):
        assert len(section(told(recording, **more), "Lines by births")) == 7
        assert any(" importlib._bootstrap_external:2  str" in line for line in told(recording, **more))
    summary = summed_up(recording)
    assert [line.split("  ")[-2:] for line in summary if "app.py:2" in line] == [["str", "main"]]


def leak(plain, others):
    """A recording of so many strings and so many of two of the program's types that are alive, with their holders."""
    b = Builder()
    b.process()
    handle = b.function("app", "handle", "app.py", 1)
    for type_, line, live, holder in (
        ("str", 2, plain, ()),
        ("app.Response", 3, others, (("dict", "[…]", 0), ("app.Cache", ".pages", 0), ("module app", "CACHE", 1))),
        ("app.Listener", 4, others - 1, (("list", "[…]", 0), ("module app", "LISTENERS", 1))),
    ):
        module, _, name = type_.rpartition(".")
        row = b.object(
            b.type(module or "builtins", name, born=live + 9, died=9), handle, line, born=live + 9, died=9, peak=live
        )
        for number in range(3):
            b.lifetime(row, number % 2, 1, 3)
        above = -1
        for held_by, by, root in holder:
            above = b.holder(row, above, held_by, by, count=20, asked=20, flags=root)
    return b.build({"recorder": "lifetimes"})


def test_what_lives_on_comes_first_with_its_holders():
    lines = told(leak(2_000, 1_000))
    tables = [line.split(" (")[0] for line in lines if line.startswith(TITLES[:-3])]
    assert tables == ["Alive at the end", "Made and dropped at once", "Types by births", "Lines by births"]
    alive = section(lines, "Alive at the end")
    assert [row.split()[0] + row.split()[-1] for row in alive if "app.py" in row] == [
        "1,000app.Response",
        "999app.Listener",
        "2,000str",
    ]
    assert "      └─ 20 ← […] of dict ← .pages of app.Cache ← CACHE of module app" in alive
    assert "      └─ 20 ← […] of list ← LISTENERS of module app" in alive
    summary = summed_up(leak(2_000, 1_000), "x.seismo")
    top = next(at for at, line in enumerate(summary) if line.endswith("app.py:3  app.Response  handle"))
    assert summary[top - 1].split() == ["live", "born", "peak", "line", "and", "types"]
    assert summary[top + 1].strip() == "← […] of dict ← .pages of app.Cache ← CACHE of module app"
    assert summary[top + 3].strip() == "← […] of list ← LISTENERS of module app"
    assert len(summary) <= 20


def test_plain_types_lead_where_there_are_many_more_of_them():
    alive = section(told(leak(9_000, 1_000)), "Alive at the end")
    assert [row.split()[-1] for row in alive if "app.py" in row] == ["str", "app.Response", "app.Listener"]


def test_a_long_way_to_a_root_keeps_both_ends():
    b = Builder()
    b.process()
    row = b.object(b.type("app", "T", born=5), b.function("app", "f", "app.py", 1), 2, born=5, peak=5)
    above = -1
    for number in range(9):
        above = b.holder(row, above, f"app.Holder{number}", ".x", count=5, asked=5)
    b.holder(row, above, "module app", "ROOT", count=5, asked=5, flags=1)
    summary = summed_up(b.build({"recorder": "lifetimes"}))
    (root,) = [at for at, line in enumerate(summary) if "ROOT" in line]
    assert summary[root - 1].startswith("            ← .x of app.Holder0 ← .x of app.Holder1 ← ")
    assert summary[root].strip() == "← … ← ROOT of module app"
    assert max(map(cells, summary)) <= 80


def test_columns_are_explained_where_they_occur(leaking):
    assert "life      median age at death: other objects born meanwhile / time" in told(leaking)
    assert "short     died before 256 others were born, or within a millisecond" in told(leaking)
    assert not any(line.startswith("short ") for line in told(leaking, by="type"))


def test_cycles_and_their_lines(leaking):
    cycles = section(told(leaking), "Cycles")
    assert re.search(r"980 +100 % +1,000 +≈100,000 / 30 ms  app\.py:22  app\.Node", cycles[1])
    assert "node.itself = node" in cycles[2]


def test_one_table_sorted_and_cut(leaking):
    lines = told(leaking, by="type", sort="live", limit=2)
    table = section(lines, "Types by objects alive at the end")
    assert [row.split()[-1] for row in table[1:3]] == ["app.Session", "list"]
    assert table[3] == "  … 5 more types (--limit N, --all)"
    assert not any(line.startswith("Lines") for line in lines)
    only = section(told(leaking, by="line", type=("app.*",)), "Lines by births")
    assert not any(row.endswith((" str", " list", "dict")) for row in only)


def test_estimates_and_bounds_are_marked(tmp_path):
    lines = told(server(tmp_path, sampled=True), 120)
    assert "≈ an estimate" in facts(lines)["measured"]
    assert any("≈1,000" in line for line in section(lines, "Alive after"))
    assert any("≈980" in line for line in section(lines, "Cycles"))
    assert section(lines, "Lines by births")[1].split()[0] == "1,100,000"  # births are exact all the same


@pytest.mark.parametrize("width", [72, 80, 100, 160])
@pytest.mark.parametrize("plain", [False, True])
def test_no_line_is_wider_than_the_paper(leaking, with_paths, tmp_path, width, plain):
    hostile = server(tmp_path, calls=100, hostile=HOSTILE * 3, sampled=True)
    for recording in (leaking, with_paths, hostile):
        lines = told(recording, width, Signs(plain))
        assert max(map(cells, lines)) <= width
        assert all(line.isprintable() for line in lines)
        assert not plain or all(line.isascii() for line in lines if "['…']" not in line and "[…]" not in line)


def test_a_source_that_changed_is_not_shown(tmp_path):
    recording = server(tmp_path)
    (tmp_path / "app.py").write_text(f"# new\n{SOURCE}")
    lines = told(recording)
    assert not any("request.split()" in line for line in lines)
    assert any(line.endswith("app.py has changed since it ran: its lines' texts are not shown") for line in lines)
    (tmp_path / "app.py").unlink()
    assert any("app:handle" in line for line in told(recording))


def test_types_alone_and_nothing_at_all():
    b = Builder()
    b.process()
    lines = told(b.build({"recorder": "lifetimes"}))
    assert lines[lines.index("Types by births") + 1] == "  none"
    b.type("builtins", "dict", born=5, died=2)
    lines = told(b.build({"recorder": "lifetimes"}))
    assert facts(lines)["measured"] == "births and deaths counted by type"
    assert ["5", "≤2", "≥3", "≥3", "dict"] in [line.split() for line in lines]
    assert facts(lines)["objects"].startswith("5 born, ≤2 died, ≥3 live at the end, peak ≥3")
    assert summed_up(b.build({"recorder": "lifetimes"}))[0] == "seismo: 5 objects born, ≤2 died, ≥3 live at the end"


# ---- the summary ----


def test_the_summary_tells_leaks_with_their_holders(leaking):
    lines = summed_up(leaking, "app-1.seismo")
    assert len(lines) <= 20
    assert lines[0].startswith("seismo: 1,113,055 objects born, 1,110,985 died (980 by the cycle collector)")
    leak = next(index for index, line in enumerate(lines) if "leak: app.py:15  app.Session" in line)
    assert lines[leak].split()[:3] == ["1,000", "1", "1,000"]
    assert lines[leak + 1].strip() == "← ['…'] of dict ← SESSIONS of module app"
    assert lines[-1].startswith("seismo report app-1.seismo ")


def test_the_summary_is_short_and_safe(with_paths, tmp_path):
    hostile = server(tmp_path, calls=100, hostile=HOSTILE * 3)
    hostile.problems += ["it is broken " * 30] * 9
    for recording in (with_paths, hostile, Builder().build({"recorder": "lifetimes"})):
        lines = summed_up(recording, "x\x1b.seismo")
        assert len(lines) <= 24
        assert max(map(cells, lines)) <= 80
        assert all(line.isprintable() for line in lines)


# ---- what changed ----


def changes(old, new, width=100, limit=15):
    sides = [side if isinstance(side, list) else [side] for side in (old, new)]
    return written(write_changes, *sides, limit, width=width).splitlines()


def test_changes_by_type_and_line(tmp_path):
    old, new = server(tmp_path, calls=1_000, spans=False), server(tmp_path, calls=1_200, spans=False)
    lines = changes(old, new)
    assert "change    +222,600 born (+20 %), +200 freed by the cycle collector, +400 live at the end (+19 %)" in lines
    types = section(lines, "Types that changed (3 of 9 are unchanged)")
    assert types[1].split() == ["600,000", "→", "720,000", "+20", "%", "33.6", "MB", "→", "40.3", "MB", "app.Token"]
    made = section(lines, "Lines that changed")
    assert any(line.endswith("app.py:15  app.Session  handle") and "1,000 → 1,200" in line for line in made)
    assert [line for line in changes(old, new, limit=2) if "--limit" in line] == [
        "  … 4 more types (--limit N)",
        "  … 5 more lines (--limit N)",
    ]
    assert max(map(cells, changes(old, new, 80))) <= 80
    same = changes(old, old)
    assert "Types: none changed, of 9" in same
    assert "Lines: none changed, of 10" in same


def test_counts_that_differ_between_the_runs_of_a_side_are_ranges(tmp_path):
    def born(number, made=5):
        b = Builder()
        b.type("app", "Token", born=number, died=0)
        b.type("app", "Node", born=made, died=0)
        return b.build({"recorder": "lifetimes"})

    lines = changes([born(10), born(12)], [born(11), born(40)])
    assert "old       2 runs, 15-17 born, 15-17 live at the end, of 2 types" in lines
    assert " ".join(lines[2:4]).split()[1:8] == ["no", "significant", "change", "of", "those", "born,", "+0"]
    assert "Types: none changed, of 2" in lines
    lines = changes([born(10), born(12)], [born(20), born(40)])
    assert "change    ≥+8 born, +0 freed by the cycle collector, ≥+8 live at the end" in lines
    types = section(lines, "Types that changed (1 of 2 is unchanged)")
    assert types[1].split()[:3] == ["10-12", "→", "20-40"]
    assert types[1].endswith("app.Token")


# ---- the commands ----


@pytest.fixture
def files(leaking, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    leaking.save("objects.seismo")
    Builder().build({"recorder": "calltree"}).save("calls.seismo")
    b = Builder()
    b.type("builtins", "dict", born=5)
    b.build({"recorder": "lifetimes"}).save("types.seismo")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("objects.seismo --sort own", "objects cannot be sorted by 'own'"),
        ("objects.seismo --type nothing*", "no type matches 'nothing*'"),
        ("objects.seismo --by path", "the recording has no call paths"),
        ("objects.seismo --html out.html --by type", "--by does not apply to the HTML page"),
        ("types.seismo --by line", "births and deaths by type only"),
    ],
)
def test_options_that_do_not_apply_are_refused(files, words, complaint):
    assert complaint in seismo("report", *words.split(), status=2).stderr


def test_report_and_diff_are_commands(files):
    report = seismo("report", "objects.seismo", "--by", "all", "--sort", "live-bytes", "--limit", 3, COLUMNS="100")
    assert "Types, lines and call paths by bytes alive at the end" in report.stdout
    seismo("report", "objects.seismo", "--html", "objects.html")
    assert "1,113,055 born" in seismo("info", "objects.seismo").stdout
    assert "Types that changed" in seismo("diff", "objects.seismo", "types.seismo").stdout
    content = json.loads(seismo("diff", "objects.seismo", "types.seismo", "--json").stdout)
    assert {row["type"]: row["new"]["born"] for row in content["types"]}["dict"] == 5
    refused = seismo("diff", "objects.seismo", "calls.seismo", status=2)
    assert "a recording of calls cannot be compared with one of objects" in refused.stderr


# ---- pieces ----


def test_the_timeline_keeps_peaks_and_births():
    b = Builder()
    b.process(start_ns=1_000)
    for time, born, died in ((1_000, 0, 0), (1_100, 50, 0), (1_150, 50, 40), (1_900, 60, 60), (2_000, 60, 60)):
        b.object_time(time, born, died)
    timeline = Timeline(b.build({}), 4)
    assert timeline.live == [50, 10, 10, 10]
    assert timeline.highest == 50
    assert timeline.took_ns == 1_000
    assert sum(timeline.births) * 250e-9 == pytest.approx(60)
    assert Timeline(Builder().build({})).live == []


def test_medians_to_one_digit():
    assert median(()) is None
    assert median((5,)) == 0
    assert 16 <= median((0, 0, 0, 7, 1)) < 64
    assert [one_digit(value) for value in (0, 0.4, 0.6, 4.4, 96, 1_234)] == [0, 0, 1, 4, 100, 1_000]
    shown = [rough_duration(ns, Signs()) for ns in (0, 7, 960, 2.6e3, 5e8, 3e9)]
    assert shown == ["0 ns", "7 ns", "1 µs", "3 µs", "500 ms", "3 s"]


def test_small_words():
    signs = Signs()
    assert [size(number) for number in (0, 999, 1_000, 123_456, 999_999, 12e9, 5e15)] == [
        "0 B", "999 B", "1.00 kB", "123 kB", "1.00 MB", "12.0 GB", "5,000.00 TB",
    ]  # fmt: skip
    assert sparkline([0, 0.01, 50, 100], signs) == "▁▂▅█"
    assert sparkline([], signs) == ""
    assert [each(*pair, False, signs) for pair in ((1_000, 1_000), (1, 1_000), (1, 3), (10**7, 3))] == [
        "1", "0.001", "0.33", "≈3,333,333",
    ]  # fmt: skip
    assert line_and_type("a.py:1", "x.Y", "f", 20, signs) == "a.py:1  x.Y  f"
    assert line_and_type("a.py:1", "x.Y", "function", 16, signs) == "a.py:1  x.Y"
