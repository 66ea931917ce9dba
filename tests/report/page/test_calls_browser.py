"""The page of calls in a real browser: what it shows, how it is moved in, and that it is the report's numbers."""

import random
from functools import partial

import pytest
from browser import page
from browsers import Shown, violations

import seismo
from seismo.escape import printable
from seismo.model import Builder
from seismo.report import words
from seismo.report.calls import KIND
from seismo.report.calls.functions import COLUMNS, FunctionCells, selected_rows
from seismo.report.calls.imports import with_imports_as_one
from seismo.report.calls.page import CALLS_IN_NOTEBOOK, calls_frame
from seismo.report.options import Options
from seismo.report.shown_functions import Modules

pytestmark = pytest.mark.browser
PAPER = "() => getComputedStyle(document.body).backgroundColor"
LIGHTS = ("rgb(251, 250, 248)", "rgb(20, 23, 27)")  # --paper of web/src/chrome/base.css
HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\'&lt;\x1b[31m\u202e\ud800'


@pytest.fixture
def show(showing):
    """Opens the page of a recording: show(recording, times=, **of Shown)."""
    return showing(lambda path, recording, times="cpu": KIND.page(recording, path, Options(time=times)))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with threads, libraries, waiting and exceptions, and times of lines."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "app.py").write_text("def main():\n    return work(3)\n\n\ndef work(n):\n    # twice\n    return n * 2\n")
    b = Builder()
    process = b.process(pid=7, start_ns=10**18, end_ns=10**18 + 10**9, argv='["app.py"]', waits="ready,lock")
    main, other = (b.thread(process, name=name, native_id=at) for at, name in enumerate(("MainThread", "writer"), 1))
    app = partial(b.function, "app", file=str(folder / "app.py"))
    library = partial(b.function, "lib.core", file="/usr/lib/python3.12/site-packages/lib/core.py")
    begin, work, deep, inner = (
        app("main", line=1),
        app("work", line=5),
        library("enter", line=3),
        library("inner", line=9),
    )
    top = b.node(-1, main, begin, calls=1, own_ns=30_000_000)
    into = b.node(top, main, deep, calls=4, own_ns=10_000_000)
    below = b.node(into, main, inner, calls=8, own_ns=40_000_000, exceptions=2)
    b.node(below, main, work, calls=2, own_ns=20_000_000)
    b.node(top, main, b.function("time", "sleep", "", 0, kind=1), calls=1, own_ns=5_000_000, wait_ns=5_000_000)
    b.node(b.node(-1, other, begin, calls=1, own_ns=25_000_000), other, work, calls=9, own_ns=15_000_000)
    b.line(begin, 2, 1, own_ns=30_000_000)
    b.line(work, 7, 11, own_ns=35_000_000)
    return b.build({"recorder": "calltree"})


def values(shown, pane=".flame"):
    return {frame["name"]: round(frame["value"] / 1e6) for frame in shown.seen(pane)}


def test_the_graph_from_the_root_with_libraries_folded_and_not(show, program):
    shown = show(program)
    frames = sorted(shown.seen(), key=lambda frame: (frame["row"], frame["x"]))
    expected = [("all", 140), ("app:main", 140), ("lib …", 70), ("app:work", 15), ("app:work", 20)]
    assert [(frame["name"], round(frame["value"] / 1e6)) for frame in frames] == expected
    shown.page.get_by_label("Fold libraries").click()
    shown.settle()
    assert "lib …" not in shown.names()
    assert values(shown)["lib.core:enter"] == 70
    assert values(shown)["lib.core:inner"] == 60
    shown.page.get_by_label("Threads apart").click()
    shown.settle()
    assert values(shown)["MainThread"] == 100
    assert values(shown)["writer"] == 40


def test_processes_stand_above_their_threads(show):
    """Threads of several processes have a frame of their process above them, with its command."""
    b = Builder()
    function = b.function("app", "main", "/a.py", 1)
    for pid, own in ((7, 30_000_000), (8, 10_000_000)):
        process = b.process(pid=pid, argv='["serve.py", "--fast"]')
        for name in ("MainThread", "worker"):
            b.node(-1, b.thread(process, name=name), function, calls=1, own_ns=own)
    shown = show(b.build({"recorder": "calltree"}))
    shown.press("t")
    frames = sorted((frame["row"], frame["x"], frame["name"]) for frame in shown.seen())
    assert [name for row, _, name in frames if row == 1] == [
        "process 7  serve.py --fast", "process 8  serve.py --fast",
    ]  # fmt: skip
    assert [name for row, _, name in frames if row == 2] == ["MainThread", "worker"] * 2
    values = {frame["name"]: round(frame["value"] / 1e6) for frame in shown.seen() if frame["row"] == 1}
    assert values == {"process 7  serve.py --fast": 60, "process 8  serve.py --fast": 20}
    shown.page.locator(".flame").focus()
    shown.press("ArrowDown")
    shown.until(lambda: "process 7" in shown.text(".graph .hidden"))


def test_widths(show, program):
    shown = show(program)
    for metric, whole in (("wait", 5_000_000), ("calls", 26), ("exceptions", 2), ("wall", 145_000_000)):
        shown.page.select_option("select[name=metric]", metric)
        shown.settle()
        assert shown.seen()[0]["value"] == pytest.approx(whole), metric


def test_a_click_zooms_and_chooses_and_escape_shows_all(show, program):
    shown = show(program)
    before = {frame["name"]: frame["width"] for frame in shown.seen()}
    shown.click("lib …")
    after = {frame["name"]: frame["width"] for frame in shown.seen()}
    assert after["lib …"] == pytest.approx(after["all"], abs=1)
    assert before["lib …"] < 0.6 * before["all"]
    assert "lib …" in shown.text(".details h2")
    shown.click("app:work")
    assert "app:work" in shown.text(".details h2")
    assert shown.page.locator("tr.selected .short").inner_text() == "work"
    shown.page.keyboard.press("Tab")
    shown.page.locator(".flame").focus()
    shown.press("Escape")
    assert {frame["name"]: frame["width"] for frame in shown.seen()} == pytest.approx(before)


def test_the_wheel_zooms_about_the_pointer(show, program):
    shown = show(program)
    box = shown.page.locator(".flame").bounding_box()
    before = next(frame for frame in shown.seen() if frame["name"] == "all")["width"]
    shown.page.mouse.move(box["x"] + 300, box["y"] + 30)
    shown.page.keyboard.down("Control")
    shown.page.mouse.wheel(0, -240)
    shown.page.keyboard.up("Control")
    shown.until(lambda: shown.page.get_by_role("button", name="Show all").is_visible())
    main = next(frame for frame in shown.seen() if frame["name"] == "app:main")
    assert main["width"] == pytest.approx(before)  # as wide as the pane, and cut
    shown.page.get_by_role("button", name="Show all").click()
    shown.until(lambda: not shown.page.get_by_role("button", name="Show all").is_visible())


def test_the_graph_from_the_leaf_and_the_sandwich(show, program):
    shown = show(program)
    shown.page.get_by_label("Fold libraries").click()
    shown.page.get_by_label("From the leaf").check()
    shown.settle()
    top = {frame["name"]: round(frame["value"] / 1e6) for frame in shown.seen() if frame["row"] == 1}
    assert top == {"app:main": 55, "lib.core:inner": 40, "app:work": 35, "lib.core:enter": 10}
    shown.page.get_by_label("Sandwich").check()
    shown.settle()
    assert "Choose a function" in shown.text(".graph")
    shown.page.locator("tr", has_text="inner").first.click()
    shown.settle()
    callers, callees = ".flame[aria-label=callers]", ".flame[aria-label=callees]"
    assert values(shown, callers) == {"lib.core:inner": 60, "lib.core:enter": 60, "app:main": 60}
    assert values(shown, callees) == {"lib.core:inner": 60, "app:work": 20}
    rows = {frame["name"]: frame["y"] for frame in shown.seen(callers)}
    assert rows["app:main"] < rows["lib.core:enter"] < rows["lib.core:inner"]  # callers stand above
    assert violations(shown) == []
    shown.press("?")
    assert violations(shown) == []


def test_a_search_dims_and_filters_and_says_how_much(show, program):
    shown = show(program)
    shown.press("/")
    shown.page.keyboard.type("^app:w|enter")
    shown.settle()
    assert "2 functions" in shown.text("#found")
    assert "25.0 %" in shown.text("#found")  # of work in both threads; what is folded is not found
    assert shown.page.locator("tbody tr").count() == 2
    shown.page.fill("input[type=search]", "(")
    shown.settle()
    assert "no regular expression" in shown.text("#found")
    assert shown.page.get_attribute("input[type=search]", "aria-invalid") == "true"
    shown.page.fill("input[type=search]", "nowhere")
    shown.settle()
    assert "No function matches" in shown.text(".table-pane")


def test_the_keyboard_alone(show, program):
    shown = show(program)
    for _ in range(20):
        shown.press("Tab")
        if shown.page.evaluate("document.activeElement.classList.contains('flame')"):
            break
    shown.press("ArrowDown", "ArrowDown", "ArrowDown")
    shown.until(lambda: "app:work" in shown.text(".graph .hidden"))
    shown.press("ArrowUp")
    shown.until(lambda: "lib …" in shown.text(".graph .hidden"))
    assert "70.0 ms" in shown.text(".graph .hidden")
    shown.press("ArrowDown", "Enter")
    assert "app:work" in shown.text(".details h2")
    shown.press("4")
    assert shown.page.get_by_label("Sandwich").is_checked()
    shown.press("1", "l")
    assert not shown.page.get_by_label("Fold libraries").is_checked()
    shown.press("?")
    assert shown.page.get_by_role("dialog").is_visible()
    shown.press("Escape")
    assert shown.page.get_by_role("dialog").count() == 0
    shown.page.locator("tbody button").first.focus()
    shown.press("ArrowDown", "ArrowDown")
    assert shown.page.locator("tr.selected").count() == 1


def test_the_source_of_the_chosen_function_with_the_heat_of_its_lines(show, program):
    shown = show(program)
    shown.page.locator("tr", has_text="work").first.click()
    source = shown.text(".source")
    assert "return n * 2" in source
    assert "11" in source
    assert "35.0 ms" in source
    assert shown.page.locator(".source tr.heat9").inner_text().split()[0] == "7"
    assert shown.page.locator(".source i.c").inner_text() == "# twice"
    shown.page.locator("tr", has_text="inner").first.click()
    assert "there is no such source file" in shown.text(".details").lower()
    assert "lib.core:enter" in shown.text(".relatives")


def test_what_is_uncertain_is_said_and_dotted(show, json_tool, doubtful):
    shown = show(doubtful(json_tool, {"Scanner.__call__": 412_000_000.0, "main": 2_500_000.0}))
    row = shown.page.locator("tr", has_text="Scanner.__call__").first.inner_text()
    assert "< 9" in row  # its upper bound
    assert "±50 %" in shown.page.locator("tr", has_text="json.tool:main").first.inner_text()
    frames = {frame["name"]: frame for frame in shown.seen()}
    assert frames["all"]["error"] == pytest.approx(414_500_000.0)
    pixels = """(pane, [x, y]) => {
      const ratio = devicePixelRatio
      const data = pane.querySelector('canvas').getContext('2d').getImageData(x * ratio, y * ratio, 16, 8).data
      return new Set(Array.from({length: 128}, (_, at) => data.slice(4 * at, 4 * at + 3).join())).size
    }"""
    whole = frames["all"]
    dotted = shown.page.eval_on_selector(".flame", pixels, [whole["width"] - 40, whole["y"] + 3])
    plain = shown.page.eval_on_selector(".flame", pixels, [whole["width"] / 3, whole["y"] + 3])
    assert (dotted, plain) == (2, 1)


def _doubtful_functions(seed=5):
    """Functions with times and errors of every size."""
    rng = random.Random(seed)
    b = Builder()
    thread = b.thread(b.process(waits="ready,lock"), name="MainThread")
    for number in range(250):
        size = 10 ** rng.uniform(0, 11)
        b.node(
            -1, thread, b.function(f"m{number % 9}", f"f{number}", f"/x/m{number % 9}.py", number + 1),
            calls=int(10 ** rng.uniform(0, 9)), own_ns=int(size), wait_ns=int(size * rng.choice([0, 0, 0.5, 2])),
            exceptions=rng.choice([0, 0, 12_345]),
        )  # fmt: skip
    return b.build({"recorder": "calltree"})


@pytest.mark.parametrize("times", ["cpu", "wall", "wait"])
@pytest.mark.parametrize("which", ["made", "errors", "json_tool"])
def test_the_table_has_the_report_to_the_letter(show, json_tool, doubtful, times, which):
    recording = json_tool if which == "json_tool" else _doubtful_functions()
    if which == "errors":
        rng = random.Random(3)
        recording = doubtful(recording, {f"f{number}": 10 ** rng.uniform(0, 9) for number in range(250)})
    table = with_imports_as_one(recording.timed(times))
    cells = FunctionCells(recording.timed(times), words.Signs(), table)
    rows = selected_rows(table, "own", Modules())
    names = ["own", "error", "percent", "total", "calls"]
    expected = [[cells.name(row), *(COLUMNS[name].cell(cells, row).strip() for name in names)] for row in rows]
    shown = show(recording, times=times, size=(1280, 9_000))
    found = shown.page.evaluate(
        """names => Array.from(document.querySelectorAll('.functions tbody tr:not(.space)'), row => [
          row.querySelector('.whole').textContent,
          ...names.map(name => row.querySelector('td.' + name)?.textContent.trim() ?? '')])""",
        names,
    )
    assert [cells for _, *cells in found] == [cells for _, *cells in expected]
    assert sorted(found) == sorted(expected)  # of equal rows, the page goes by the names as they are shown


def test_the_numbers_of_a_row_stand_on_one_line(show, program):
    """All pages share one style: what one of them calls its parts must not move the columns of another."""
    shown = show(program)
    middles = shown.page.eval_on_selector_all(
        ".functions tbody tr:first-of-type td",
        """cells => cells.filter(cell => cell.textContent.trim() && getComputedStyle(cell).display !== 'none')
          .map(cell => { const range = document.createRange(); range.selectNodeContents(cell);
                         const box = range.getBoundingClientRect(); return box.top + box.height / 2; })""",
    )
    assert len(middles) > 3
    assert max(middles) - min(middles) < 3.5, "the fonts of names and numbers differ by less"


def test_a_name_has_room_and_keeps_its_end(show):
    """At 1400 pixels names are whole and no column is cut; where there is less room, a name loses its beginning."""
    b = Builder()
    thread = b.thread(b.process(waits="ready,lock"), name="MainThread")
    long = "Connection.execute_many_with_retries"
    for module, name, file in (("sqlalchemy.engine.base", long, "/base.py"), ("", "root", "<template>")):
        b.node(-1, thread, b.function(module, name, file, 7), calls=3, own_ns=9_000_000, wait_ns=5_000_000)
    shown = show(b.build({"recorder": "calltree"}), times="wall", size=(1400, 900))
    fits = "names => names.every(name => name.scrollWidth <= name.clientWidth)"
    assert shown.page.eval_on_selector_all(".functions tbody .whole", fits)
    assert shown.page.eval_on_selector(".table-pane", "pane => pane.scrollWidth <= pane.clientWidth")
    baselines = shown.page.locator("tr", has_text="root").evaluate(
        """row => Array.from(row.querySelectorAll('.short, .place'), piece => {
          const mark = document.createElement('i');
          mark.style.display = 'inline-block';
          piece.append(mark);
          return mark.getBoundingClientRect().bottom })"""
    )
    assert len(baselines) == 2
    assert abs(baselines[0] - baselines[1]) < 0.6
    shown.page.set_viewport_size({"width": 500, "height": 900})
    shown.settle()
    seen = shown.page.locator(".functions tbody .whole", has_text=long).evaluate(
        """name => { const [box, text] = [name, name.firstChild].map(one => one.getBoundingClientRect());
          return [Math.round(text.right) <= Math.round(box.right), text.left < box.left - 20] }"""
    )
    assert seen == [True, True], "the end is in sight, the beginning is not"
    assert shown.page.eval_on_selector(".table-pane", "pane => pane.scrollWidth <= pane.clientWidth")


def test_waiting_is_the_paler_part_of_a_frame(show):
    b = Builder()
    thread = b.thread(b.process(waits="ready,lock"), name="MainThread")
    b.node(-1, thread, b.function("app", "main", "/a.py", 1), calls=2, own_ns=3_000_000, wait_ns=1_000_000)
    shown = show(b.build({"recorder": "calltree"}), times="wall")
    pixel = """(pane, [x, y]) => {
      const [at, down] = [x, y].map(one => one * devicePixelRatio);
      return Array.from(pane.querySelector('canvas').getContext('2d').getImageData(at, down, 1, 1).data) }"""
    frame = next(frame for frame in shown.seen() if frame["name"] == "app:main")
    runs, still, waits = (
        shown.page.eval_on_selector(".flame", pixel, [frame["width"] * part, frame["y"] + 16])
        for part in (0.2, 0.6, 0.75)
    )
    assert runs == still
    assert sum(waits) > sum(runs) + 60
    assert "waiting" in shown.text(".legend")
    shown.page.locator("tr", has_text="main").first.click()
    figures = shown.text(".figures")
    assert "3.00 ms (100 % of all)" in " ".join(figures.split())
    assert "own per call" in figures


def test_a_key_takes_the_tooltip_away(show, program):
    shown = show(program)
    box = shown.page.locator(".flame").bounding_box()
    for key in ("ArrowDown", "2"):
        shown.page.mouse.move(box["x"] + 100, box["y"] + 30)
        shown.page.mouse.move(box["x"] + 110, box["y"] + 30)
        shown.page.locator(".tip").wait_for(state="attached")
        shown.page.locator(".flame").focus()
        shown.press(key)
        shown.until(lambda: shown.page.locator(".tip").count() == 0)


@pytest.mark.parametrize(("size", "scheme"), [((1280, 720), "light"), ((390, 844), "dark")], ids=["wide", "phone"])
def test_every_size_and_light(show, program, scheme, size):
    shown = show(program, scheme=scheme, size=size)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    paper = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 200) == (scheme == "dark")
    shown.page.get_by_label("switch between light and dark").click()
    other = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, other[4:-1].split(","))) < 200) == (scheme == "light")
    shown.page.locator("tr", has_text="work").first.click()
    assert violations(shown) == []


def test_hostile_names_are_text(show):
    b = Builder()
    thread = b.thread(b.process(argv='["</title><b>x"]'), name=HOSTILE)
    parent = -1
    for name in (HOSTILE, "x" * 10_000_000, "\u202e" * 1000, "ordinary"):
        parent = b.node(parent, thread, b.function(name, name, f"/{name}.py", 3), calls=2, own_ns=5_000_000)
    shown = show(b.build({"recorder": "calltree"}))
    assert shown.page.locator("img, main b, h1 b").count() == 0
    assert shown.page.locator("script").count() == 2
    assert printable(HOSTILE)[:30] in shown.text("tbody")
    assert r"\u202e" in shown.text("tbody")
    assert len(shown.seen()) == 5
    shown.page.locator("tbody tr").first.click()
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert violations(shown) == []


def test_many_paths_and_deep_ones(show):
    b = Builder()
    thread = b.thread(b.process(), name="MainThread")
    functions = [b.function("m", f"f{number}", "/x/m.py", number + 1) for number in range(500)]
    parent = -1
    for depth in range(3_000):
        parent = b.node(parent, thread, functions[depth % 7], calls=1, own_ns=10_000)
    for number in range(15_000):
        b.node(-1 if number < 100 else number % 2_000, thread, functions[number % 500], calls=1, own_ns=1_000 + number)
    shown = show(b.build({"recorder": "calltree"}))
    first = len(shown.seen())
    assert 10 < first < 60_000
    shown.page.locator(".flame").evaluate("pane => pane.scrollTop = 20_000")
    shown.until(lambda: max((frame["row"] for frame in shown.seen()), default=0) > 900)
    shown.page.locator(".table-pane").evaluate("pane => pane.scrollTop = 6_000")
    shown.until(lambda: shown.page.locator("tr[aria-rowindex='230']").count() == 1)
    assert shown.page.locator("tbody tr").count() < 80
    assert shown.page.get_attribute("table", "aria-rowcount") == "501"


def test_an_empty_recording_says_so(show):
    shown = show(Builder().build({"recorder": "calltree"}))
    assert "This recording has no calls." in shown.text(".graph")
    assert "No function ran." in shown.text(".side")
    assert violations(shown) == []


def test_one_without_times_is_drawn_by_its_calls(show):
    b = Builder()
    thread = b.thread(b.process(), name="MainThread")
    top = b.node(-1, thread, b.function("app", "main", "app.py", 1), calls=1)
    b.node(top, thread, b.function("app", "leaf", "app.py", 5), calls=30)
    shown = show(b.build({"recorder": "calltree", "settings": {"timing": "none"}}))
    assert {frame["name"]: frame["value"] for frame in shown.seen(".flame")}["app:leaf"] == 30
    heads = " ".join(shown.page.locator("th").all_inner_texts())
    assert "calls" in heads
    assert not {"own", "total"} & set(heads.split())


def test_damaged_data_says_so(browser, tmp_path, program):
    path = tmp_path / "page.html"
    KIND.page(program, path)
    text = path.read_text(encoding="utf-8")
    at = text.index('id="seismo-data">') + 400
    path.write_text(text[:at] + "AAAA" + text[at + 4 :], encoding="utf-8")
    shown = Shown(browser, path, wait=False)
    shown.page.wait_for_selector("h1")
    assert "This page cannot be shown" in shown.text("#app")
    assert "seismo report FILE" in shown.text("#app")
    with pytest.raises(AssertionError, match="compressed data was not valid"):  # in the console, for who looks there
        shown.close()


def test_a_timeline_is_as_light_as_the_page_and_has_room(show):
    """Its colours follow the switch, wherever that is pressed; a narrow window leaves it half of its height."""
    with seismo.trace() as t:
        sorted(range(10), key=lambda number: -number)
    shown = show(t.recording, size=(420, 800))
    assert shown.page.locator(".canvas").bounding_box()["height"] > 400
    switch = shown.page.get_by_label("switch between light and dark")

    def light():
        shown.settle()
        return shown.page.eval_on_selector(
            ".canvas canvas", "it => it.getContext('2d').getImageData(it.width - 2, it.height - 2, 1, 1).data[0] > 127"
        )

    assert light()
    switch.click()
    shown.until(lambda: not light())
    shown.page.get_by_label("Flame graph").check()
    switch.click()
    shown.page.get_by_label("Timeline", exact=True).check()
    shown.page.locator(".sight").wait_for()
    shown.until(light)


def test_a_long_trace_does_not_swell_a_notebook(show):
    """The notebook's file keeps what a cell shows: of a long trace the flame graph, and where its timeline is shown."""

    def leaf():
        pass

    with seismo.trace() as t:
        for _ in range(CALLS_IN_NOTEBOOK + 1):
            leaf()
    assert len(t._repr_html_()) < 600_000
    shown = show(t.recording)
    assert shown.page.locator(".sight").count() == 1, "a page holds more"


@pytest.mark.parametrize(
    ("theme", "other"),
    [
        ('data-jp-theme-light="{}"', ("true", "false")),  # JupyterLab, Notebook, nbconvert
        ('class="{}"', ("vscode-light", "vscode-dark")),
    ],
)
def test_a_notebook_gives_it_its_own_light(browser, program, theme, other):
    """The light of the notebook's theme, whatever the system's is, and when the theme changes."""
    name, _, value = theme.partition("=")
    for now, then in (other, other[::-1]):
        with page(browser, color_scheme="null") as view:  # an emulated one would hold in frames, too
            view.set_content(f"<!DOCTYPE html><body {name}={value.format(now)}>{calls_frame(program)}")
            frame = view.frames[1]
            frame.wait_for_selector("html[data-drawn]", state="attached")
            assert frame.evaluate(PAPER) == LIGHTS[other.index(now)]
            view.evaluate("([name, value]) => document.body.setAttribute(name, value)", [name, then])
            frame.wait_for_function(f"() => ({PAPER})() === '{LIGHTS[other.index(then)]}'")


def test_a_notebook_draws_it_inline(showing, program):
    """Twice in one notebook, as two cells: neither knows of the other. What is for untrusted notebooks is not shown."""
    cells = f"<!DOCTYPE html><title>cells</title><body>{calls_frame(program) * 2}"
    shown = showing(lambda path, text: path.write_text(text, encoding="utf-8") and None)(cells, wait=False)
    for number in range(2):
        frame = shown.page.frame_locator(f"iframe[title='flame graph'] >> nth={number}")
        frame.locator(".functions tbody tr").first.wait_for()
        seen = frame.locator(".flame").evaluate(
            "pane => new Promise(done => requestAnimationFrame(() => setTimeout(() => done(pane.view.seen()), 50)))"
        )
        assert {"all", "app:main"} <= {one["name"] for one in seen}
    assert "trusted" not in shown.page.locator("body").inner_text()
