"""The page of objects in a real browser: tables, the picture of the time, lifetimes, holders, the report's numbers."""

import re

import pytest
from browsers import violations
from made_objects import server
from object_builder import ObjectBuilder as Builder
from on_paper import written

from seismo.report.objects import KIND
from seismo.report.objects.columns import ALIVE, BY_LINE, BY_TYPE, CHURN, COLUMNS, CYCLES
from seismo.report.objects.text import write_report
from seismo.report.options import Options

pytestmark = pytest.mark.browser
HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\'&lt;\x1b[31m\u202e'


@pytest.fixture
def show(showing):
    """Opens the page of a recording: show(recording, **of Shown)."""
    return showing(lambda path, recording: KIND.page(recording, path))


def rows(shown, table):
    """The rows of a table: their cells, the first without what stands in it beside the type."""
    return shown.page.eval_on_selector_all(
        f"#{table} tbody tr:not(.divider)",
        """rows => rows.map(row => [
          row.querySelector('.group').textContent,
          ...Array.from(row.querySelectorAll('td'), cell => cell.textContent.trim())])""",
    )


def heads(shown, table):
    return shown.page.eval_on_selector_all(f"#{table} thead th", "all => all.map(one => one.textContent.trim())")[1:]


def test_objects_have_a_page(show, tmp_path):
    shown = show(server(tmp_path / "app", paths=True))
    assert shown.text("h1") == "app.py --serve"
    assert "1,113,055" in shown.text(".tiles")
    assert "nothing" not in shown.text("header")
    types = {row[0]: dict(zip(heads(shown, "types"), row[1:], strict=True)) for row in rows(shown, "types")}
    assert types["app.Token"]["born"] == "600,000"
    assert types["app.Token"]["life"] == "≈500 / 2 µs"
    assert types["list"]["live bytes"] == "≥56.0 kB"
    assert types["app.Session"]["life"] == "lives on"
    line = shown.page.locator("#kinds tr", has_text="app.Token").inner_text()
    assert "app.py:14" in line
    assert "tokens = [Token(part)" in line
    assert [row[0] for row in rows(shown, "cycles")] == ["app.Node"]
    leaks = {row[0]: row[1] for row in rows(shown, "leaks")}
    assert leaks["app.Session"] == "leak: every call leaves some"
    assert "app.Token" not in leaks
    assert "app.Token" in {row[0] for row in rows(shown, "dead")}
    assert "nothing is left of what 3 other lines made" in shown.text("#dead h2")
    assert shown.page.locator("#lines tr.divider").count() == 1
    assert "handle" in shown.page.locator("#paths .below").first.inner_text()


def printed(recording, **options):
    return written(write_report, recording, Options(all=True, libraries=True, **options), width=240).splitlines()


def is_printed(lines, cells, name):
    """Whether a line has these cells, one behind the other, then the name."""
    pattern = r"\s+".join(map(re.escape, [cell for cell in cells if cell]))
    return any(re.match(rf"\s*{pattern}\s+.*{re.escape(name)}", line) for line in lines)


@pytest.mark.parametrize("made", ["spans", "sampled", "no spans"])
def test_the_tables_have_the_report_to_the_letter(show, tmp_path, made):
    """Each row of each table is one that `seismo report` prints, cell by cell."""
    recording = server(tmp_path / "app", paths=True, sampled=made == "sampled", spans=made != "no spans")
    shown = show(recording)
    whole = printed(recording)
    assert not is_printed(whole, ["600,001"], "app.Token")
    tables = [
        ("types", BY_TYPE, printed(recording, by="type")),
        ("lines", BY_LINE, printed(recording, by="line")),
        ("paths", BY_LINE, printed(recording, by="path")),
        ("kinds", CHURN, whole),
        ("cycles", CYCLES, whole),
    ]
    tables += [("kinds", ALIVE, whole)] if made == "no spans" else []
    for table, columns, lines in tables:
        titles = heads(shown, table)
        at = [1 + titles.index(COLUMNS[name].head) for name in columns if COLUMNS[name].head in titles]
        found = rows(shown, table)
        assert found
        for row in found:
            if columns is CHURN and row[at[0]] in ("0", ""):
                continue  # the report has lines with short-lived objects only
            if columns is ALIVE and not row[at[0]]:
                continue
            assert is_printed(lines, [row[place] for place in at], row[0]), (table, columns, row)
    if made != "no spans":
        for row in rows(shown, "leaks"):
            name, verdict, alive, call, calls, over, *_ = row
            cells = [alive, call, calls, over]
            assert is_printed(whole, cells, verdict) or is_printed(whole, cells, name), row
        for name, *cells in [*rows(shown, "dead"), *([row[0], *row[6:]] for row in rows(shown, "leaks"))]:
            born, escaped, each = cells
            dead = [line for line in whole if re.match(rf"\s*{re.escape(each)}\s+{re.escape(born)}\s", line)]
            assert any(f" {escaped} " in line and name in line for line in dead), (name, cells)
    tiles = dict(
        shown.page.eval_on_selector_all(
            ".tiles div",
            "all => all.map(one => [one.querySelector('dt').textContent, one.querySelector('dd').textContent])",
        )
    )
    (said,) = [line for line in whole if line.startswith("objects ")]
    assert f" {tiles['born']} born, {tiles['died']} died" in said
    assert f"(of them {tiles['by the cycle collector']} by the cycle collector)" in said
    assert f"{tiles['live at the end']} live at the end, peak {tiles['peak']}, of {tiles['types']} types" in said


def test_sorting_searching_and_folding(show, tmp_path):
    b = Builder()
    b.process()
    for number in range(80):
        b.type("app", f"T{number}", born=1_000 - number, died=number)
    shown = show(b.build({"recorder": "lifetimes"}))
    assert len(rows(shown, "types")) == 20
    shown.page.get_by_role("button", name="died").click()
    assert rows(shown, "types")[0][0] == "app.T79", "of all rows, not of those that are shown"
    shown.press("/")
    shown.page.keyboard.type("T1\\d$")
    shown.settle()
    assert [row[0] for row in rows(shown, "types")] == [f"app.T{number}" for number in range(19, 9, -1)]
    assert shown.text("#found") == "10 rows"
    shown.page.fill("input[type=search]", "")
    shown.page.get_by_role("button", name="Show all 80 rows").click()
    assert len(rows(shown, "types")) == 80


def test_the_time_says_what_it_draws(show, tmp_path):
    shown = show(server(tmp_path / "app"))
    pane = shown.page.locator(".time-pane")
    pane.focus()
    shown.press("End", "ArrowLeft")
    assert re.search(r"1\.8\d s: [\d,]+ objects alive, [\d,]+ born a second", shown.text(".cursor"))
    assert pane.get_attribute("aria-valuetext") == shown.text(".cursor")
    shown.press("Home")
    for _ in range(4):
        shown.press("ArrowRight")
        if "warm" in shown.text(".cursor"):
            break
    assert "warm" in shown.text(".cursor")
    drawn = shown.page.eval_on_selector(
        ".time-pane canvas",
        "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size",
    )
    assert drawn > 10


def test_holders_lead_from_survivors_to_roots(show, tmp_path):
    shown = show(server(tmp_path / "app"))
    shown.page.locator("#held details").first.scroll_into_view_if_needed()
    kinds = shown.page.locator("#held details").all_inner_texts()
    (sessions,) = [one for one in kinds if "app.Session" in one.splitlines()[0]]
    assert "100 of them asked" in sessions
    assert "90 ← ['…'] of dict ← SESSIONS of module app" in sessions
    assert "10 ← […] of list ← .items of app.Queue" in sessions
    roots = set(shown.page.locator("#held .root").all_inner_texts())
    assert any("module app" in root for root in roots)
    assert any("frame app:main" in root for root in roots)
    cards = shown.page.locator("#lives .bars").first
    assert re.search(r"age in time: [\d,]+ deaths, most at .*; [\d,]+ live on", cards.get_attribute("aria-label"))


def test_the_keyboard_goes_from_section_to_section(show, tmp_path):
    shown = show(server(tmp_path / "app"))
    shown.press("n")
    shown.press("n")
    assert shown.page.evaluate("document.activeElement.textContent") in (
        "What the calls left behind",
        "Dead at the end",
    )
    shown.press("?")
    assert shown.page.get_by_role("dialog").is_visible()


@pytest.mark.parametrize(("size", "scheme"), [((1280, 720), "light"), ((390, 844), "dark")], ids=["wide", "phone"])
def test_every_size_and_light(show, tmp_path, scheme, size):
    shown = show(server(tmp_path / "app", paths=True), scheme=scheme, size=size)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert violations(shown) == []
    shown.page.get_by_label("switch between light and dark").click()
    assert violations(shown) == []


def test_hostile_names_are_text(show, tmp_path):
    shown = show(server(tmp_path / "app", calls=100, hostile=HOSTILE, sampled=True))
    assert shown.page.locator("img, main script").count() == 0
    assert shown.page.locator("script").count() == 2
    assert "alert(1)" in shown.text("#types")
    assert r"\u202e" in shown.text("#types")
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_objects_by_type_alone_and_none_at_all(show):
    b = Builder()
    b.process()
    shown = show(b.build({"recorder": "lifetimes"}))
    assert "No object was born" in shown.text("main") or rows(shown, "types") == []
    assert violations(shown) == []
    b.type("builtins", "dict", born=5, died=2)
    b.loss("refs-taken", 1, "tracemalloc")
    shown = show(b.build({"recorder": "lifetimes"}))
    assert "something was lost" in shown.text("header")
    assert [row[:2] for row in rows(shown, "types")] == [["dict", "5"]]
    assert shown.page.locator("#lines").count() == 0
    assert "≥" in shown.text(".tiles"), "what is alive is a lower bound"


def test_many_holders_are_cut(show):
    b = Builder()
    b.process()
    made = b.object(b.type("app", "Leaked", born=500), born=500)
    for number in range(50):
        b.holder(made, -1, f"app.Holder{number}", ".x", count=number, asked=500)
    shown = show(b.build({"recorder": "lifetimes"}))
    assert "38 other holders" in shown.text("#held")
    assert "49 ← .x of app.Holder49" in shown.text("#held")
