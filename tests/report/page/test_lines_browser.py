"""The page of lines' times in a real browser: the whole source with its heat, and the numbers of the report."""

import random

import pytest
from browser import cells_of
from browsers import violations
from on_paper import written

from seismo.model import Builder
from seismo.report import tables
from seismo.report.lines import KIND, text
from seismo.report.options import Options

pytestmark = pytest.mark.browser
HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\'&lt;\x1b[31m\u202e\ud800'
APP = '''\
"""An app."""


def main():
    return work(3)


def work(n):
    # twice
    return sum(x * 2 for x in [n])
'''


@pytest.fixture
def show(showing):
    """Opens the page of a recording: show(recording, times=, **of Shown)."""
    return showing(lambda path, recording, times="cpu": KIND.page(recording, path, Options(time=times)))


def builder():
    b = Builder()
    process = b.process(pid=7, start_ns=10**18, end_ns=10**18 + 10**9, argv='["app.py"]', waits="ready,lock")
    b.thread(process, name="MainThread", main=1)
    return b


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with a library, waiting, a generator expression, instructions, and code that was never in a file."""
    folder = tmp_path_factory.mktemp("program")
    app, library = folder / "app.py", folder / "site-packages" / "lib" / "core.py"
    library.parent.mkdir(parents=True)
    app.write_text(APP)
    library.write_text("def enter():\n    return 1\n" + "x = 1\n" * 400)
    b = builder()
    for path in (app, library):
        b.source(str(path), str(path), path.stat().st_size)
    main, work = b.function("app", "main", str(app), 4), b.function("app", "work", str(app), 8)
    small = b.function("app", "work.<locals>.<genexpr>", str(app), 10)
    b.line(main, 5, 1, own_ns=2_000_000, inner_ns=60_000_000)
    b.line(work, 10, 1_234, own_ns=50_000_000, wait_ns=20_000_000, lock_ns=20_000_000)
    b.line(small, 10, 2_468, own_ns=10_000_000)
    b.add("instructions", function=work, offset=6, line=10, text="LOAD_GLOBAL sum", hits=1_234)
    b.line(b.function("lib.core", "enter", str(library), 1), 2, 9, own_ns=20_000_000)
    b.line(b.function("made", "<module>", "<string>", 1), 3, 4, own_ns=1_000)
    return b.build({"recorder": "linetimes"})


def rows(shown, table):
    return cells_of(shown.page, f"{table} tbody tr:not(.space):not(.divider)")


def source(shown):
    """The rows of the source: their classes and cells."""
    return cells_of(shown.page, ".whole-source tbody tr:not(.space)", classes=True)


def test_the_whole_source_has_the_heat_of_its_lines(show, program):
    shown = show(program)
    assert shown.text(".reading h2").endswith("app.py")
    found = {row[1]: row for row in source(shown) if row[1]}
    assert list(found) == [str(number) for number in range(1, 11)], "not only the lines that ran"
    assert "heat9" in found["10"][0]
    assert found["10"][2] == "1,234"
    assert found["10"][-1] == "return sum(x * 2 for x in [n])"
    assert found["9"][2] == ""
    assert shown.page.locator(".whole-source i.c").inner_text() == "# twice"
    others = [row for row in source(shown) if not row[1]]
    assert [row[-1].split()[0] for row in others] == ["↳", "6"]
    assert others[0][2] == "2,468"
    assert "LOAD_GLOBAL sum" in others[1][-1]
    assert [row[0] for row in source(shown) if "here" in row[0]], "the hottest line is marked"


def test_tables_divide_libraries_and_lead_to_the_source(show, program):
    shown = show(program)
    assert shown.page.locator(".list tr.divider").inner_text() == "Libraries"
    names = [row[0] for row in rows(shown, ".list")]
    assert [name.split(":")[1][:4] for name in names] == ["work", "work", "main", "<mod", "ente"]
    shown.page.locator(".list tr", has_text="enter").click()
    shown.settle()
    assert shown.text(".reading h2").endswith("core.py")
    assert shown.page.locator(".whole-source tbody tr").count() < 80, "only what is in sight"
    shown.page.locator(".list tr", has_text="<module>").click()
    shown.settle()
    assert "it has no source file" in shown.text(".reading")
    assert [row[1] for row in source(shown)] == ["3"]
    shown.press("3")
    assert [row[0].rpartition("/")[2] for row in rows(shown, ".list")] == ["app.py", "<string>", "core.py"]


def test_a_search_finds_functions_and_lines_of_the_source(show, program):
    shown = show(program)
    shown.press("/")
    shown.page.keyboard.type("enter|return")
    shown.settle()
    assert shown.text("#found") == "1 function; 2 lines of this source"
    assert [row[1] for row in source(shown) if "match" in row[0]] == ["5", "10"]
    shown.press("Enter")
    assert [row[1] for row in source(shown) if "here" in row[0]] == ["5"]
    shown.press("Shift+Enter")
    assert [row[1] for row in source(shown) if "here" in row[0]] == ["10"]
    shown.press("Escape", "2")
    assert len(rows(shown, ".list")) == 4, "lines by their text, too"
    shown.page.fill("input[type=search]", "(")
    shown.settle()
    assert "no regular expression" in shown.text("#found")


def test_the_keyboard_alone(show, program):
    shown = show(program)
    shown.page.locator(".list tbody button").first.focus()
    shown.press("ArrowDown", "ArrowDown", "ArrowDown")
    shown.until(lambda: "main" in shown.text("tr.selected"))
    assert [row[1] for row in source(shown) if "here" in row[0]] == ["4"]
    shown.press("n")
    assert [row[1] for row in source(shown) if "here" in row[0]] == ["10"]
    assert shown.page.locator(".steps [role=status]").inner_text() == "1 of 1 hot line"
    shown.press("?")
    assert shown.page.get_by_role("dialog").is_visible()
    shown.press("Escape", "2")
    assert shown.page.get_by_label("Lines", exact=True).first.is_checked()


def test_a_head_sorts_and_sorts_the_other_way(show, program):
    shown = show(program)
    shown.press("2")
    for arrow, first in (("descending", "2,468"), ("ascending", "1")):
        shown.page.get_by_role("button", name="hits").click()
        head = shown.page.locator(".list th", has_text="hits")
        assert head.get_attribute("aria-sort") == arrow
        assert rows(shown, ".list")[0][-1] == first, "own lines stay first"


def _doubtful(folder, seed=5):
    rng = random.Random(seed)
    b = builder()
    path = folder / "many.py"
    path.write_text("".join(f"line {number}\n" for number in range(1, 301)))
    b.source(str(path), str(path), path.stat().st_size)
    for number in range(1, 60):
        function = b.function("m", f"f{number}", str(path), 5 * number)
        for line in range(5 * number, 5 * number + 4):
            own = int(10 ** rng.uniform(0, 10))
            hits = int(10 ** rng.uniform(0, 7))
            b.line(
                function, line, hits, own_ns=own,
                inner_ns=int(own * rng.choice([0, 2])),
                wait_ns=int(own * rng.choice([0, 0, 0.5])), await_ns=rng.choice([0, own]),
            )  # fmt: skip
    return b.build({"recorder": "linetimes"})


@pytest.mark.parametrize("times", ["cpu", "wall", "wait"])
def test_the_page_has_the_report_to_the_letter(show, tmp_path, times, monkeypatch):
    """Every cell of the tables of lines and functions, and of the source, is the one that `seismo report` prints."""
    recording = _doubtful(tmp_path)
    printed = []

    class Kept(tables.Grid):
        def __init__(self, headings, rows, *more):
            super().__init__(headings, rows, *more)
            printed.append((headings, [row[: len(headings)] for row in rows]))

    monkeypatch.setattr(tables, "Grid", Kept)
    monkeypatch.setattr(text, "Grid", Kept)
    written(text.write_report, recording, Options(all=True, sort="own", time=times), width=240)
    (line_heads, lines), (_, functions), *sources = printed
    shown = show(recording, times=times, size=(2_400, 9_000))

    def table(cells):
        return sorted([cell.strip() for cell in row] for row in cells)

    assert len(lines) == 4 * 59
    assert sorted(row[1:] for row in rows(shown, ".list")) == table(functions)
    shown.press("2")
    heads = shown.page.eval_on_selector_all(".list thead th", "heads => heads.map(head => head.textContent.trim())")
    own = line_heads[0].strip()
    assert heads[1:] == [head.strip().replace("own %", f"{own} %") for head in line_heads]
    assert sorted(row[1:] for row in rows(shown, ".list")) == table(lines)
    expected = {}
    for heads, cells in sources:
        at = {head.strip(): place for place, head in enumerate(heads)}
        for row in cells:
            expected[row[at["line"]]] = {head: row[place].strip() for head, place in at.items() if row[at["hits"]]}
    wanted = {line: cells for line, cells in expected.items() if cells}
    heads = shown.page.eval_on_selector_all(
        ".whole-source thead :is(th, td)", "heads => heads.map(head => head.textContent.trim())"
    )
    found = {row[1]: dict(zip(heads, row[1:], strict=True)) for row in source(shown) if row[2]}
    assert found.keys() == wanted.keys()
    for line, cells in wanted.items():
        cells.pop("heat")
        assert {head: found[line].get(head, "") for head in cells} == cells, line


@pytest.mark.parametrize(("size", "scheme"), [((1280, 720), "light"), ((390, 844), "dark")], ids=["wide", "phone"])
def test_every_size_and_light(show, program, scheme, size):
    shown = show(program, scheme=scheme, size=size)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    shown.page.locator(".list tr", has_text="main").first.click()
    assert violations(shown) == []
    shown.page.get_by_label("switch between light and dark").click()
    assert violations(shown) == []


def test_hostile_names_and_sources_are_text(show, tmp_path):
    path = tmp_path / "hostile.py"
    path.write_text(f"x = 1  # {HOSTILE[:-1]}\n" + "y" * 100_000 + "\n\ty\n", encoding="utf-8")
    b = builder()
    b.source(str(path), str(path), path.stat().st_size)
    for name in (HOSTILE, "x" * 10_000_000, "\u202e" * 1000):
        b.line(b.function(name, name, str(path), 1), 2, 5, own_ns=5_000_000)
    b.line(b.function("m", "f", f"/{HOSTILE}.py", 1), 1, 5, own_ns=5)
    shown = show(b.build({"recorder": "linetimes"}))
    assert shown.page.locator("img, main b, h1 b").count() == 0
    assert shown.page.locator("script").count() == 2
    assert r"\u202e" in shown.text(".whole-source")
    assert "alert(1)" in shown.text(".whole-source")
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert violations(shown) == []


def test_a_source_of_twenty_thousand_lines(show, tmp_path):
    path = tmp_path / "large.py"
    path.write_text("".join(f"value_{number} = {number}\n" for number in range(1, 20_001)))
    b = builder()
    b.source(str(path), str(path), path.stat().st_size)
    function = b.function("large", "<module>", str(path), 1)
    for line in range(1, 20_001):
        b.line(function, line, line, own_ns=line * 10)
    shown = show(b.build({"recorder": "linetimes"}))
    assert shown.page.locator(".whole-source tbody tr").count() < 100
    assert [row[1] for row in source(shown) if "here" in row[0]] == ["20000"]
    shown.page.locator(".strip").click(position={"x": 8, "y": 0})
    shown.until(lambda: source(shown)[0][1] == "1")
    shown.press("2")
    assert shown.page.locator(".list tbody tr").count() < 100
    assert shown.page.locator(".list table").get_attribute("aria-rowcount") == "20001"


def test_an_empty_recording_of_which_something_was_lost_says_so(show):
    b = builder()
    b.loss("paths-folded", 3)
    shown = show(b.build({"recorder": "linetimes"}))
    assert "something was lost" in shown.text("header")
    assert "No line ran" in shown.text(".reading")
    assert "No line ran" in shown.text(".list")
    assert violations(shown) == []
