"""The page of what changed: one closed file with the numbers that `seismo diff` prints, in a real browser."""

import re
from pathlib import Path

import pytest
from browsers import violations
from children import seismo
from on_paper import written
from page_data import data_of

from seismo.model import Builder
from seismo.report.calls import KIND
from seismo.report.calls.changes_page import changes_page


def recording(_settings=None, **functions):
    """main calls each of the functions: name=(calls, own ms)."""
    b = Builder()
    thread = b.thread(b.process(argv='["app.py"]'), name="MainThread")
    top = b.node(-1, thread, b.function("app", "main", "/srv/app.py", 1), calls=1, own_ns=1_000_000)
    for line, (name, (calls, own)) in enumerate(functions.items(), 10):
        b.node(top, thread, b.function("app", name, "/srv/app.py", line), calls=calls, own_ns=own * 1_000_000)
    return b.build({"recorder": "calltree", "settings": _settings or {}})


@pytest.fixture
def sides():
    old = recording(parse=(100, 50), render=(7, 20), gone=(3, 4), same=(9, 9))
    new = recording(parse=(1_250, 80), render=(7, 5), came=(2, 30), same=(9, 9))
    return [old], [new]


FILES = (["old.seismo"], ["new.seismo"])


def test_the_data_has_the_sums_of_both_sides(sides):
    head, columns = data_of(changes_page(sides, FILES))
    assert head["title"] == "old.seismo → new.seismo"
    for side, (one,) in zip(("old", "new"), sides, strict=True):
        assert sum(columns[f"t.calls_{side}"]) == sum(one.functions["calls"])
        assert sum(columns[f"t.own_{side}"]) == pytest.approx(sum(one.timed("cpu").functions["own_ns"]), rel=1e-6)
    states = dict(zip(head["names"], head["states"], strict=False))
    assert states == {"main": "both", "parse": "both", "render": "both", "gone": "gone", "came": "new", "same": "both"}


def test_equal_runs_are_the_same_within_the_error(sides):
    """What is drawn in grey: the own and the total times of equal runs on a machine that is not quiet."""
    _, columns = data_of(changes_page(([recording(parse=(9, 500), render=(7, 200))],
                                       [recording(parse=(9, 560), render=(7, 220))]), FILES))  # fmt: skip
    own = zip(*(columns[f"t.own_{name}"] for name in ("old", "new", "error")), strict=True)
    assert all(abs(new - old) <= error for old, new, error in own)
    assert sum(columns["t.own_new"]) - sum(columns["t.own_old"]) <= max(columns["t.total_error"])
    _, columns = data_of(changes_page(sides, FILES))
    own = zip(*(columns[f"t.own_{name}"] for name in ("old", "new", "error")), strict=True)
    assert any(abs(new - old) > error for old, new, error in own)


def test_several_runs_have_their_mean_and_ranges():
    old = [recording(parse=(100, 50)), recording(parse=(110, 60))]
    head, columns = data_of(changes_page((old, [recording(parse=(200, 90))]), (["a", "b"], ["c"])))
    assert sorted(columns["t.calls_old"]) == [1, 105]
    assert head["calls"][head["names"].index("parse")][2] == "100-110"


def test_the_command(sides, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    sides[0][0].save("old.seismo")
    sides[1][0].save("new.seismo")
    seismo("diff", "old.seismo", "new.seismo", "--html", "diff.html")
    assert (tmp_path / "diff.html").read_text().startswith("<!DOCTYPE html>")
    (tmp_path / "mine.html").write_text("mine")
    seismo("diff", "old.seismo", "new.seismo", "--html", "mine.html", status=2)
    assert (tmp_path / "mine.html").read_text() == "mine"
    assert "--json" in seismo("diff", "old.seismo", "new.seismo", "--html", "x.html", "--json", status=2).stderr
    refused = seismo("report", "new.seismo", "--html", "x.html", "--callers", "parse", status=2)
    assert "--callers is for the terminal" in refused.stderr
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said = seismo("report", "new.seismo", "--open").stderr
    path = re.search(r"no browser could be opened; the page is (\S+)", said)[1]
    assert "seismo-data" in Path(path).read_text(encoding="utf-8")


def test_other_kinds_have_no_such_page(tmp_path):
    b = Builder()
    b.line(b.function("", "<module>", "/x.py", 1), 4, flags=1)
    for name in ("a.seismo", "b.seismo"):
        b.build({"recorder": "coverage"}).save(tmp_path / name)
    refused = seismo("diff", "a.seismo", "b.seismo", "--html", "x.html", cwd=tmp_path, status=2)
    assert "no HTML pages of changes in coverage" in refused.stderr
    assert not (tmp_path / "x.html").exists()


@pytest.fixture
def show(showing):
    """Opens the page of what changed between two sides: show(sides, **of Shown)."""
    return showing(lambda path, sides: path.write_text(changes_page(sides, FILES), encoding="utf-8") and None)


def rows(shown):
    """For each row of the table its function, its file and its cells, as words."""
    texts = """rows => rows.map(row => [
      ...['.whole', '.place'].map(name => row.querySelector(name).textContent),
      ...Array.from(row.querySelectorAll('td'), cell => cell.textContent)].join(' '))"""
    return [text.split() for text in shown.page.locator("tbody tr").evaluate_all(texts)]


@pytest.mark.browser
def test_the_tables_are_those_of_the_terminal(show, sides):
    printed, title = {}, ""
    for line in written(KIND.changes, [[one.timed("cpu") for one in side] for side in sides], FILES, None).splitlines():
        if "app:" in line:
            cells, _, name = line.partition("app:")
            printed.setdefault(title, []).append([*name.split(), *cells.split()])
        elif line[:1].isupper():
            title = line
    shown = show([[one.timed("cpu") for one in side] for side in sides])
    for words, title in (
        ("Calls", "Changed in calls"), ("Own time", "Changed in own time"),
        ("New", "New functions"), ("Gone", "Functions that are gone"),
    ):  # fmt: skip
        shown.page.get_by_label(words, exact=True).check()
        shown.settle()
        found = [[row[0].removeprefix("app:"), *row[1:]] for row in rows(shown)]
        expected = next(rows for head, rows in printed.items() if head.startswith(title))
        assert found == expected, title
    assert "+1,149 calls (x10.6)" in shown.text("header")


@pytest.mark.browser
def test_without_times_only_calls_are_compared(show, sides):
    counted = recording({"timing": "none"}, parse=(900, 0), came=(2, 0))
    shown = show((sides[0], [counted]))
    assert shown.page.get_by_label("Own time", exact=True).count() == 0
    assert "own time" not in shown.text("header").replace("no times", "")
    assert [row[0] for row in rows(shown)] == ["app:parse"]
    shown.page.get_by_label("New", exact=True).check()
    shown.settle()
    assert [[row[0], *row[2:]] for row in rows(shown)] == [["app:came", "2"]]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_graph_shows_both_sides_and_each(show, sides, scheme):
    shown = show(sides, scheme=scheme)
    assert {"app:came", "app:gone", "app:parse"} <= shown.names()
    assert next(frame for frame in shown.seen() if frame["name"] == "app:parse")["value"] == 675  # the mean
    shown.page.select_option("select[name=side]", "new")
    shown.settle()
    assert "app:gone" not in shown.names()
    assert next(frame for frame in shown.seen() if frame["name"] == "app:parse")["value"] == 1_250
    shown.click("app:parse")
    assert shown.page.locator("tr.selected .whole").text_content() == "app:parse"
    shown.page.locator(".flame").focus()
    shown.press("ArrowUp")
    shown.until(lambda: "app:main: +1,149, before 120, now 1,269" in shown.text(".graph .hidden"))
    assert violations(shown) == []


@pytest.mark.browser
def test_the_tooltip_is_of_what_is_drawn(show, sides):
    shown = show(sides)
    frame = next(frame for frame in shown.seen() if frame["name"] == "app:parse")
    box = shown.page.locator(".flame canvas").bounding_box()
    shown.page.mouse.move(box["x"] + frame["x"] + 4, box["y"] + frame["y"] + 4)
    tip = " ".join(shown.text(".tip").split())
    assert tip.startswith("app:parse")
    assert "before 100, 83.3 % of all" in tip
    assert "now 1,250, 98.5 % of all" in tip
    shown.page.keyboard.press("Tab")
    shown.page.select_option("select[name=side]", "old")  # another frame is below the pointer
    shown.until(lambda: shown.page.locator(".tip").count() == 0)
    assert "more about it" not in shown.text("header"), "all facts are in sight"


@pytest.mark.browser
def test_two_different_programs_and_an_empty_one(show, sides):
    shown = show(([recording(other=(1, 1))], [Builder().build({"recorder": "calltree"})]))
    assert "Every function was called as often" in shown.text(".side")
    shown.page.select_option("select[name=side]", "new")
    shown.settle()
    assert "nothing of this on the new side" in shown.text(".graph")
    shown.page.get_by_label("Gone", exact=True).check()
    shown.settle()
    assert len(rows(shown)) == 2
    assert violations(shown) == []
