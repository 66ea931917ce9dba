"""What changed between two recordings, as its reader sees it."""

import io
import json

import pytest

from seismo.model import Builder, DiffRow, FunctionKey, diff
from seismo.report.changes import as_json, growth, write_changes
from seismo.report.paper import Paper
from seismo.report.text import Signs, cells


def recording(functions):
    """Of (name, calls, own time in ns); one thread, all functions below `main`."""
    b = Builder()
    thread = b.thread(b.process(pid=1, argv=["app.py"]), name="MainThread")
    root = b.node(-1, thread, b.function("app", "main", "/old/app.py", 1), calls=1, own_ns=1_000_000)
    for name, calls, own_ns in functions:
        b.node(root, thread, b.function("app", name, "/old/app.py", 10), calls=calls, own_ns=own_ns)
    return b.build({})


@pytest.fixture(scope="module")
def pair():
    old = recording([("same", 10, 5_000), ("slower", 10, 1_000_000), ("busier", 1_000, 700), ("gone", 3, 4_000)])
    new = recording([("same", 10, 5_000), ("slower", 10, 3_000_000), ("busier", 1_234, 700), ("new", 7, 9_000)])
    return old, new


def changes(old, new, rows=None, width=80, limit=15):
    out = io.StringIO()
    write_changes(Paper(out, width, Signs()), old, new, diff(old, new) if rows is None else rows, limit)
    return out.getvalue().splitlines()


def test_golden(pair, same_as_golden):
    same_as_golden("changes-80.txt", changes(*pair))


def test_nothing_changed(pair):
    old = pair[0]
    lines = changes(old, old)
    assert "change    0 own time (+0.0 %), the same number of calls" in lines
    assert [line for line in lines if line.endswith(": none")] == [
        "Changed in own time: none",
        "Changed in calls: none",
        "New functions: none",
        "Functions that are gone: none",
    ]


def test_a_change_within_its_error_is_no_finding(pair):
    key = FunctionKey(0, "app", "noisy", "app.py")
    rows = [DiffRow(key, 5, 5, 1e6, 1.2e6, 5e5, 1e6, 1.2e6, False)]
    lines = changes(*pair, rows=rows)
    assert "Changed in own time: none" in lines
    assert any(line.startswith("  1 other function changed within the error: no finding; ± is the") for line in lines)
    assert not any("noisy" in line for line in lines)


def test_limit_and_width(pair):
    old = recording([(f"f{index}\x1b" * 40, 1, 1_000) for index in range(50)])
    new = recording([(f"f{index}\x1b" * 40, 2, 5_000) for index in range(50)])
    lines = changes(old, new, limit=5)
    assert sum("40 " in line or "45 more (--limit N)" in line for line in lines) == 2
    assert max(map(cells, lines)) <= 80
    assert all(line.isprintable() for line in lines)


def test_calls_that_are_lower_bounds_are_not_compared():
    def of(calls):
        b = Builder()
        thread = b.thread(b.process(pid=1), name="MainThread")
        b.node(-1, thread, b.function("builtins", "len", kind=1), calls=calls, own_ns=5, flags=1)
        return b.build({})

    lines = changes(of(10), of(1_000))
    assert "Changed in calls: none" in lines
    assert "  1 other function left out: their calls are lower bounds" in lines


@pytest.mark.parametrize(
    ("new", "old", "shown"),
    [
        (5, 0, ""),
        (100, 100, "+0.0 %"),
        (112, 100, "+12 %"),
        (97, 100, "-3.0 %"),
        (250, 100, "x2.5"),
        (1, 1000, "-99.9 %"),
        (9e6, 1, "x9,000,000"),
    ],
)
def test_growth(new, old, shown):
    assert growth(new, old) == shown


def test_json_has_all(pair):
    content = json.loads(as_json(diff(*pair), "a", "b"))
    by_name = {row["qualname"]: row for row in content["functions"]}
    assert list(by_name) == ["slower", "new", "gone", *(name for name in by_name if name in ("main", "same", "busier"))]
    assert by_name["busier"]["calls_old"] == 1_000
    assert by_name["busier"]["calls_new"] == 1_234
    assert by_name["slower"]["significant"] is True
