"""The report as its reader sees it."""

import re

import pytest

from seismo.errors import UsageError
from seismo.model import Builder
from seismo.report.calls.callers_and_callees import callers_and_callees, find_functions
from seismo.report.calls.functions import chosen_columns
from seismo.report.calls.sort_orders import in_order, primitive_calls
from seismo.report.facts import header
from seismo.report.words import Signs, cells


def section(lines, title):
    """The lines under a heading, to the next blank one."""
    start = next(index for index, line in enumerate(lines) if line.startswith(title))
    while "(" in lines[start] and not lines[start].endswith(")"):  # a long heading is wrapped
        start += 1
    rest = lines[start + 1 :]
    return rest[: rest.index("")] if "" in rest else rest


def names(rows):
    return [re.split(r"  +", row.strip())[-1] for row in rows[1:]]


@pytest.mark.parametrize("width", [80, 120])
def test_golden(json_tool, report, same_as_golden, width):
    same_as_golden(f"report-{width}.txt", report(json_tool, width))


def test_signs_without_unicode(json_tool, report):
    """The same words, of which those that ASCII lacks are written as it can."""
    plain, signs = report(json_tool, 120, Signs(plain=True)), "\n".join(report(json_tool, 120))
    assert all(line.isascii() for line in plain)
    for sign, ascii_ in {"≥": ">=", "±": "+-", "µ": "u", "▸": ">", "…": "~"}.items():
        assert sign in signs
        signs = signs.replace(sign, ascii_)
    assert " ".join(plain).split() == signs.split()


def test_golden_callers_and_callees(json_tool, report, same_as_golden):
    lines = report(json_tool, 80, callers=["write"], callees=["*_iterencode_dict"])
    same_as_golden("relatives-80.txt", lines)


@pytest.mark.parametrize("width", [72, 80, 100, 200])
def test_no_line_is_wider_than_the_paper(json_tool, report, width):
    assert max(map(cells, report(json_tool, width))) <= width


def test_an_empty_recording(report):
    lines = report(Builder().build({}))
    assert "calls     0 calls of 0 functions on 0 paths" in lines
    assert section(lines, "Functions by own time") == ["  none"]
    assert section(lines, "Call tree") == ["  none"]
    assert "lost      nothing" in lines


@pytest.fixture(scope="module")
def guess(doubtful):
    """main calls `sure` and `guess`, whose time is more than that of `sure` if it is not nothing at all."""
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    main = b.node(-1, thread, b.function("m", "main", "/x/m.py", 1), calls=1, own_ns=50_000_000)
    for name, own_ns in [("guess", 4_000_000), ("sure", 3_000_000), ("none", 0)]:
        b.node(main, thread, b.function("m", name, "/x/m.py", 1), calls=9, own_ns=own_ns)
    return doubtful(b.build({}), {"guess": 4_500_000, "sure": 20_000, "none": 2_000})


def cells_of(row):
    return re.split(r"  +", row.strip(" ▸"))


def test_a_time_that_is_not_known_is_a_bound_behind_those_that_are(guess, report):
    rows = [cells_of(row) for row in section(report(guess, 100), "Functions")[1:]]
    assert [row[-2] for row in rows] == ["m:main", "m:sure", "m:guess", "m:none"]
    assert [row[0] for row in rows] == ["50.0 ms", "3.00 ms", "< 9 ms", "< 2 µs"]
    assert [row[1] for row in rows] == ["87.7 %", "5.3 %", "< 15 %", "<1 %"]
    assert rows[2][2] == "< 9 ms", "its total is no better known"
    tree = [cells_of(row) for row in section(report(guess, 100, min=0), "Call tree")[1:]]
    assert [row[-2] for row in tree] == ["m:main", "m:sure", "m:guess", "m:none"]
    assert tree[2][:3] == ["< 15 %", "< 9 ms", "< 9 ms"]
    callees = [cells_of(row) for row in section(report(guess, 100, callees=["main"]), "Callees")[2:]]
    assert [row[0] for row in callees] == ["3.00 ms", "< 9 ms", "< 2 µs", "50.0 ms"]


def test_errors_below_one_percent_are_not_printed(guess, doubtful, report):
    assert not any("±" in line for line in section(report(guess), "Functions"))
    lines = section(report(doubtful(guess, {"main": 5_000_000})), "Functions")
    assert [("±" in line, "main" in line) for line in lines] == [(False, False), (True, True), *[(False, False)] * 3]


@pytest.mark.parametrize("order", ["own", "total", "calls", "awaiting", "primitive"])
def test_equal_times_are_ordered_by_calls_then_by_name(report, order):
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    for name, calls in [("z", 5), ("few", 1), ("a", 5), ("m", 5)]:
        b.node(-1, thread, b.function("m", name, "/x/m.py", 1), calls=calls)
    recording = b.build({})
    qualnames = recording.functions["qualname"]
    rows = in_order(recording.functions, order, recording.tree)
    assert [qualnames[row] for row in rows] == ["a", "m", "z", "few"]
    tree = section(report(recording, min=0), "Call tree")
    assert [cells_of(row)[-2] for row in tree[1:]] == ["m:a", "m:m", "m:z", "m:few"]


def test_a_deep_tree_stays_within_its_width(chain, report):
    lines = report(chain([f"f{depth}" for depth in range(3000)]), tree=True, limit=40, min=1)
    rows = section(lines, "Call tree")
    assert len(rows) <= 45
    assert max(map(cells, lines)) <= 80
    rows = section(report(chain([f"f{depth}" for depth in range(70)]), all=True), "Call tree")
    assert any("(level 31) m:f30" in row for row in rows), "a row that is too deep to indent has its level"


def test_a_deep_recursion_is_one_line(chain, report):
    rows = section(report(chain(["main", *["fib"] * 5000])), "Call tree")
    assert len(rows) == 3
    assert re.search(r"5\.00 s\s+5,000\s+m:fib  m\.py:1 \(5,000 deep\)", rows[2])


def test_frames_that_only_call_on_are_one_line(report):
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    parent = b.node(-1, thread, b.function("m", "main", "m.py", 1), calls=1, own_ns=10)
    for index in range(30):
        parent = b.node(parent, thread, b.function(f"pluggy{index % 2}", f"f{index}", "p.py", 1), calls=1, own_ns=10)
    b.node(parent, thread, b.function("m", "work", "m.py", 9), calls=5, own_ns=10**9)
    recording = b.build({})
    assert names(section(report(recording, 100), "Call tree")) == [
        "m.py:1",
        "… 30 nested calls of pluggy0, pluggy1",
        "m.py:9",
    ]
    assert len(section(report(recording, all=True), "Call tree")) == 33


def test_functions_that_call_each_other_in_a_circle_are_followed_twice(chain, report):
    recording = chain(["main", *["a", "b"] * 15])  # each has enough time of its own not to merely call on
    rows = section(report(recording), "Call tree")
    assert [re.search(r"m:\w+|…", row)[0] for row in rows[1:]] == ["m:main", "m:a", "m:b", "m:a", "m:b", "…"]
    assert rows[-1].endswith("… 1 more: the recursion goes on")
    assert len(section(report(recording, all=True), "Call tree")) == 32


def imports():
    """Of a program that is nothing but `import m`."""
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    parent = -1
    for module, name, kind, own_ns in [
        ("__main__", "<module>", 0, 10**6),
        ("builtins", "__import__", 1, 10),
        ("importlib._bootstrap", "_find_and_load", 0, 10),
        ("builtins", "exec", 1, 10),
        ("m", "<module>", 0, 10**6),
        ("builtins", "exec", 1, 10**6),
    ]:
        parent = b.node(parent, thread, b.function(module, name, "", 0, kind=kind), calls=1, own_ns=own_ns)
    return b.build({})


def test_frames_of_imports_are_left_out_of_the_tree(report):
    lines = report(imports())
    rows = section(lines, "Call tree")
    assert [row.split("  ")[-1].strip() for row in rows[1:]] == ["__main__:<module>", "import m", "(C)"]
    table = "\n".join(section(lines, "Functions"))
    assert "<import system>" in table
    assert "importlib._bootstrap:_find_and_load" not in table
    opened = report(imports(), all=True)
    assert "importlib._bootstrap:_find_and_load" in "\n".join(section(opened, "Functions"))
    assert len(section(opened, "Call tree")) == 7


def test_a_program_of_imports_only_shows_them(report):
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    b.node(-1, thread, b.function("importlib._bootstrap", "_find_and_load"), calls=1, own_ns=9)
    assert "importlib._bootstrap:_find_and_load" in section(report(b.build({})), "Call tree")[1]


def test_hostile_names_can_do_nothing(report):
    b = Builder()
    process = b.process(pid=1, argv='["evil\\u001b]0;title\\u0007", "\\u202e"]')
    thread = b.thread(process, name="thread\x1b[2J")
    names = ["red\x1b[31m", "line\nforged  100 %", "bidi\u202eabc", "nul\0", "\ud800", "tab\t", "[bold]markup[/bold]"]
    for name in names:
        b.node(-1, thread, b.function("mod\x1b[0m", name, "file\n.py", 1), calls=1, own_ns=1000)
    b.loss("strange\x1bkind", 1, "detail\x1b[5m\n")
    recording = b.build({"python": "3\x1b", "implementation": "C\nPython"})
    for view in ({}, {"thread": ["0"]}, {"callers": ["*"]}):
        for line in report(recording, 120, **view):
            assert line.isprintable()
    assert any(line.endswith(r"mod\x1b[0m:line\nforged  100 %  file\n.py:1") for line in report(recording, 120))
    assert any("[bold]markup[/bold]" in line for line in report(recording, 120))


def test_losses_are_told(json_tool, report):
    lines = report(json_tool, 300)
    assert lines[1].startswith("lost: 3 calls on paths beyond the limit")
    facts = "\n".join(section(lines, "Notes"))
    assert "note      12 call sites disabled after calling the same function many times: later calls of C" in facts
    assert "every call counted except where ≥ stands and what was lost (source: monitoring)" in facts
    assert "lost      3 calls on paths beyond the limit" in facts


def test_a_format_without_calls_shows_none(chain, report):
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    b.node(-1, thread, b.function("m", "f", "m.py", 1), own_ns=5_000)
    b.loss("calls-unknown", 1, "weights only")
    lines = report(b.build({}))
    assert "calls     unknown of 1 function on 1 path" in lines
    assert "note      weights only" in lines
    assert section(lines, "Functions")[0].split() == ["own", "own", "%", "total", "function"]
    assert section(lines, "Call tree")[1].split() == ["▸", "100", "%", "5.00", "µs", "m:f", "m.py:1"]


def test_runs_that_lie_apart_took_no_longer_together(chain):
    b = Builder()
    second = 10**9
    for start, end in [(100, 102), (101, 103), (5_000, 5_001), (6_000, 0)]:
        b.process(pid=start, argv=["python3", f"{start}.py"], start_ns=start * second, end_ns=end * second)
    facts = dict(header(b.build({}), Signs()))
    assert facts["took"] == "4.00 s wall, 1 thread"
    assert facts["program"] == "python 100.py and 3 other programs"
    assert facts["ran"].endswith("UTC, 4 processes")


def test_an_unknown_loss_is_told_too(chain, report):
    b = Builder()
    b.loss("gremlins", 4_000, "gremlins in the clock")
    b.loss("trolls", 2, "")
    lines = report(b.build({}))
    assert "lost      4,000 times: gremlins in the clock" in lines
    assert "          trolls: 2" in lines


@pytest.mark.parametrize(
    ("order", "first"),
    [
        ("own", "_json:Scanner.__call__"),
        ("total", "import json.tool"),
        ("calls", "builtins:isinstance"),
        ("awaiting", "_io:TextIOWrapper.write"),
    ],
)
def test_order(json_tool, report, order, first):
    assert first in section(report(json_tool, 200, sort=order), "Functions by ")[1]
    rows = section(report(json_tool, 80, sort=order), "Functions by ")
    assert ("awaiting" in rows[0]) == (order == "awaiting")


def test_limit_says_what_is_left(json_tool, report):
    rows = section(report(json_tool, limit=3), "Functions by own time")
    assert len(rows) == 5
    assert re.fullmatch(r"  … 11 more functions, [0-9.]+ % of the own time \(--limit N, --all\)", rows[4])


def test_columns_can_be_chosen(json_tool, report):
    heading = section(report(json_tool, columns="calls, exceptions,each,function"), "Functions by own time")[0]
    assert heading.split() == ["calls", "raised", "own/call", "function"]
    with pytest.raises(UsageError, match="there is no column 'speed'"):
        chosen_columns("own,speed")


def test_modules_filter_functions_and_tree(json_tool, report):
    lines = report(json_tool, 120, module=["json*"], exclude_module=["json.decoder"])
    shown = "\n".join(section(lines, "Functions") + section(lines, "Call tree"))
    assert "json.encoder:" in shown
    assert not re.search(r"runpy:|json\.decoder:|_io:|builtins:", shown)
    tree = section(lines, "Call tree")
    assert "import json.tool" in tree[1], "the children of what is hidden move up to its place"
    assert "json dump" in tree[3].replace(":", " ")


def test_a_filter_that_nothing_matches(json_tool, report):
    lines = report(json_tool, module=["nothing.*"])
    assert section(lines, "Functions") == ["  none matches the filter"]
    assert section(lines, "Call tree") == ["  nothing in it matches the filter"]


def test_threads_can_be_chosen(json_tool, report):
    for word in ("writer", "wri*", "1", "4313"):
        lines = report(json_tool, 120, thread=[word])
        assert "only 1 thread: writer" in lines
        assert names(section(lines, "Functions")) == ["(C)", "threading.py:999"]
        assert names(section(lines, "Call tree")) == ["threading.py:999", "(C)"]
    with pytest.raises(UsageError, match="there is no thread 'nobody'") as raised:
        report(json_tool, thread=["nobody"])
    assert "0 MainThread, 1 writer" in str(raised.value)


def test_depth_and_share_cut_the_tree(json_tool, report):
    tree = section(report(json_tool, 120, depth=2), "Call tree")
    assert any("more (deeper: --depth)" in row for row in tree)
    assert "json:dump" not in "\n".join(tree)
    tree = section(report(json_tool, 120, min=50), "Call tree")
    assert all(float(row.strip("▸ ").split()[0]) >= 50 or "more" in row for row in tree[1:-1])
    assert re.fullmatch(r"  … \d+ paths below 50 % \(--min PERCENT, --tree\)", tree[-1])


def test_functions_are_found_by_name(json_tool):
    functions = json_tool.functions

    def found(pattern):
        return [functions["qualname"][row].rsplit(".", 1)[-1] for row in find_functions(functions, pattern)]

    assert found("json:load") == ["load"]
    assert found("json.load") == ["load"]
    assert found("load") == ["load"]
    assert found("raw_decode") == ["raw_decode"]
    assert sorted(found("json.decoder:*")) == ["decode", "raw_decode"]
    assert found("…decoder:JSONDecoder.raw_decode") == ["raw_decode"], "as it is printed in little room"
    assert found("…encoder:_make_iterencode…_iterencode_dict") == ["_iterencode_dict"]
    with pytest.raises(UsageError) as raised:
        find_functions(functions, "raw_decoder")
    assert "raw_decode" in raised.value.hint


def test_totals_of_callers_and_callees_add_up(json_tool):
    functions = json_tool.functions
    combined = json_tool.combined()
    for row in range(len(functions)):
        callers, callees = callers_and_callees(combined, row)
        total, own = functions["total_ns"][row], functions["own_ns"][row]
        above = sum(share.total_ns for caller, share in callers.items() if caller != row)
        below = sum(share.total_ns for callee, share in callees.items() if callee != row)
        assert above == pytest.approx(total)
        assert own + below == pytest.approx(total)
        assert sum(share.calls for share in callers.values()) == functions["calls"][row]


def test_mutual_recursion_is_counted_once(chain):
    recording = chain(["f", "g", "f", "g", "f"], own_ns=1_000)
    f = find_functions(recording.functions, "m:f")[0]
    g = find_functions(recording.functions, "m:g")[0]
    callers, callees = callers_and_callees(recording, f)
    assert {caller: (share.calls, share.total_ns) for caller, share in callers.items()} == {
        -1: (1, 5_000),
        g: (2, 3_000),
    }
    assert {callee: (share.calls, share.total_ns) for callee, share in callees.items()} == {g: (2, 4_000)}


def test_calls_from_outside_of_a_recursion():
    """f calls itself and, through g, itself again; h calls f once more beside."""
    b = Builder()
    thread = b.thread(b.process())
    f, g, h = (b.function("m", name) for name in "fgh")
    top = b.node(-1, thread, f, calls=2)
    b.node(b.node(top, thread, f, calls=10), thread, g, calls=3)
    below = b.node(top, thread, g, calls=5)
    b.node(b.node(below, thread, f, calls=7), thread, h, calls=1)
    b.node(b.node(-1, thread, h, calls=1), thread, f, calls=4)
    recording = b.build({})
    assert primitive_calls(recording.tree, 3) == [6, 8, 2]
    assert in_order(recording.functions, "primitive", recording.tree) == [1, 0, 2]
    assert primitive_calls(Builder().build({}).tree, 0) == []
