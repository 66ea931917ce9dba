"""The page of coverage in a real browser: the tree of files, a source with what is missing, the report's numbers."""

import dataclasses
import re
import textwrap
from pathlib import Path

import pytest
from browser import cells_of
from browsers import violations
from on_paper import written

from seismo.cli.main import main
from seismo.coverage import analysis
from seismo.coverage.coverage_report import Problem
from seismo.coverage.percentages import percent_text
from seismo.coverage.settings import Settings
from seismo.errors import FormatError
from seismo.model import Builder
from seismo.report.coverage.page import write_by_settings
from seismo.report.coverage.text import write_table

HOSTILE = '</code></script><script>alert(1)</script><img src=x onerror="alert(2)">\'&lt;\x1b[31m\u202e'
PROGRAM = textwrap.dedent(
    '''\
    """A program."""


    def choose(value):
        if value > 1:
            return "<b>many</b>"
        elif (
            value
        ):
            return "one & only"
        return "none"  # </p>


    def skipped():  # pragma: no cover
        return 1


    choose(2)
    '''
)


def analyzed(folder, files, *, arcs=(), contexts=(), counts=True):
    """The report of files: {name: (text, {line: hits})}."""
    b = Builder()
    b.process()
    for name, (content, lines) in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        function = b.function("", "<module>", str(path), 1)
        b.source(str(path), str(path), len(content.encode()))
        rows = {line: b.line(function, line, hits, flags=0 if counts else 1) for line, hits in lines.items()}
        for begin, end in arcs:
            b.arc(function, begin, end, flags=1)
        for context, ran in contexts:
            b.context(context, [rows[line] for line in ran if line in rows])
    recording = b.build({"recorder": "coverage", "branch": bool(arcs), "counts": counts})
    return analysis.analyze(recording, Settings(folder=str(folder)))


@pytest.fixture
def report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = {1: 1, 4: 1, 5: 12345, 6: 12345, 18: 2}
    return analyzed(
        tmp_path,
        {
            "app.py": (PROGRAM, lines),
            "lib/deep/whole.py": ("x = 1\n", {1: 1}),
            "lib/deep/part.py": ("x = 1\nif x:\n    y = 2\nelse:\n    y = 3\n", {1: 1, 2: 1, 3: 1}),
            "lib/empty.py": ("", {1: 1}),
        },
        arcs=[(5, 6), (2, 3)],
        contexts=[("test_one", [5, 6]), (HOSTILE, [5])],
    )


@pytest.fixture
def show(showing):
    """Opens the page of a report: show(report, **of Settings and of Shown)."""

    def write(path, report, **settings):
        return Path(write_by_settings(report, Settings(**settings), path.with_suffix("")))

    return showing(write)


def files(shown):
    """The rows of the table of files: their cells."""
    return cells_of(shown.page, ".list tbody tr:not(.space)")


def source(shown):
    """The rows of the source: their classes and cells."""
    return cells_of(shown.page, ".whole-source tbody tr:not(.space)", classes=True)


def opened(shown, name):
    shown.page.locator(".list tr", has_text=name).first.click()
    shown.until(lambda: shown.page.locator(".whole-source").count() == 1)


@pytest.mark.browser
def test_the_files_are_a_tree_or_a_table(show, report):
    shown = show(report)
    assert [row[0] for row in files(shown)] == [
        "app.py", "open folderlib/", "open folderdeep/", "part.py", "whole.py", "empty.py",
    ]  # fmt: skip
    shown.page.locator(".list tr", has_text="deep/").click()
    shown.settle()
    assert [row[0] for row in files(shown)][1:] == ["open folderlib/", "closed folderdeep/", "empty.py"]
    deep = next(row for row in files(shown) if "deep" in row[0])
    assert deep[1:5] == ["71 %", "1", "1", "5"], "a folder has what its files have together"
    shown.press("2")
    shown.page.get_by_role("button", name="missing", exact=True).click()
    assert [row[0] for row in files(shown)][:2] == ["app.py", "lib/deep/part.py"]
    shown.page.get_by_label("Only incomplete files").check()
    shown.settle()
    assert len(files(shown)) == 2
    shown.press("/")
    shown.page.keyboard.type("part")
    shown.settle()
    assert [row[0] for row in files(shown)] == ["lib/deep/part.py"]


@pytest.mark.browser
def test_a_source_shows_what_ran_and_what_did_not_and_why(show, report):
    shown = show(report)
    opened(shown, "app.py")
    classes = {row[1]: row[0].replace(" here", "").replace(" off", "") for row in source(shown) if row[1]}
    assert len(classes) == len(PROGRAM.splitlines())
    wanted = {"ran": [4, 6, 18], "partial": [5], "missing": [7, 10, 11], "excluded": [14, 15], "missing more": [8, 9]}
    for kind, lines in wanted.items():
        assert [int(line) for line, found in classes.items() if found == kind] == lines, kind
    by_line = {row[1]: row for row in source(shown) if row[1]}
    assert by_line["5"][2] == "12,345"
    assert by_line["6"][3].startswith('return "<b>many</b>"')
    (why,) = [row for row in source(shown) if row[0].startswith("why")]
    assert why[-1].startswith("→ 7 line 5 didn't jump to line 7")
    shown.page.get_by_role("button", name="executed").click()
    shown.settle()
    assert [row[1] for row in source(shown) if row[0] == "ran"] == ["4", "6", "18"], "marked when asked for"


@pytest.mark.browser
def test_the_keyboard_goes_from_place_to_place(show, report):
    shown = show(report)
    shown.page.locator(".list tbody button").first.focus()
    shown.press("Enter")
    shown.until(lambda: shown.page.locator(".whole-source").count() == 1)
    assert "1 of 2 places" in shown.text(".steps")
    here = lambda: [row[1] for row in source(shown) if "here" in row[0]]  # noqa: E731
    assert here() == ["5"]
    shown.press("n")
    assert here() == ["7"]
    shown.press("p", "p")
    assert here() == ["7"], "round the first place to the last"
    shown.press("u")
    assert shown.page.locator(".whole-source").count() == 0
    shown.page.locator(".list tbody button").first.focus()
    shown.press("ArrowDown", "ArrowDown")
    shown.until(lambda: "deep" in shown.page.evaluate("document.activeElement.textContent"))
    shown.press("?")
    assert shown.page.get_by_role("dialog").is_visible()


@pytest.mark.browser
def test_contexts_of_a_line(show, report):
    shown = show(report)
    opened(shown, "app.py")
    buttons = shown.page.locator("button.contexts")
    assert buttons.all_inner_texts() == ["2 contexts", "1 context"]
    buttons.first.click()
    assert "Line 5 ran in 2 contexts" in shown.text(".contexts-pane h3")
    names = shown.page.locator(".contexts-pane li").all_inner_texts()
    assert "test_one" in names
    assert any("alert(1)" in name for name in names)
    shown.press("Escape")
    assert shown.page.locator(".contexts-pane").count() == 0


@pytest.mark.browser
def test_an_address_names_a_line_of_a_file(show, report, browser, tmp_path):
    shown = show(report)
    opened(shown, "app.py")
    shown.page.locator(".why a").click()
    shown.settle()
    assert shown.page.url.endswith("#app.py:7")
    assert [row[1] for row in source(shown) if "here" in row[0]] == ["7"]


@pytest.mark.browser
@pytest.mark.parametrize("precision", [0, 2])
def test_the_table_has_the_report_to_the_letter(show, report, precision):
    """Every number and all missing lines are those that `seismo report` prints."""
    settings = Settings(show_missing=True, precision=precision)
    _, *lines = written(write_table, report, settings, width=240).splitlines()
    printed = {}
    for line in lines:
        name, statements, missing, branches, partial, rest = re.split(r"\s{2,}", line, maxsplit=5)
        percent, _, more = re.match(r"([\d.]+ %) ?([█░]*)\s*(.*)", rest).groups()
        printed[name] = [percent, missing, partial, statements, branches, more]
    shown = show(report, precision=precision)
    shown.press("2")
    found = {row[0]: [*row[1:6], row[7]] for row in files(shown)}
    total = printed.pop("TOTAL")
    assert found == printed
    assert shown.text(".total b") == total[0]
    said = shown.text(".total > span:not(.cover-bar)")
    assert said.startswith(f"{int(total[3]) - int(total[1])} of {total[3]} statements and ")
    assert f" of {total[4]} branches, in 4 files" in said


@pytest.mark.browser
def test_percentages_are_rounded_as_in_the_report(show, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sizes = [(1, 3), (1, 8), (5, 8), (199, 200), (1, 200), (0, 7), (7, 7), (29, 200)]
    texts = {
        f"f{at}.py": ("x = 1\n" * whole, dict.fromkeys(range(1, ran + 1), 1)) for at, (ran, whole) in enumerate(sizes)
    }
    report = analyzed(tmp_path, {name: (text, ran or {0: 1}) for name, (text, ran) in texts.items()})
    for precision in (0, 1):
        shown = show(report, precision=precision)
        expected = [f"{percent_text(file.numbers.percent, precision)} %" for file in report.files]
        assert [row[1] for row in files(shown)] == expected


@pytest.mark.browser
@pytest.mark.parametrize(("size", "scheme"), [((1280, 720), "light"), ((390, 844), "dark")], ids=["wide", "phone"])
def test_every_size_and_light(show, report, scheme, size):
    report.problems.append(Problem("lib/gone.py", "it is <gone>"))
    shown = show(report, scheme=scheme, size=size, html_title=f"Coverage {HOSTILE}")
    assert violations(shown) == []
    opened(shown, "app.py")
    shown.page.locator("button.contexts").first.click()
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert violations(shown) == []
    shown.page.get_by_label("switch between light and dark").click()
    assert violations(shown) == []


@pytest.mark.browser
def test_hostile_names_and_sources_are_text(show, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = HOSTILE.replace("/", "")
    report = analyzed(tmp_path, {name: ("x = 1\n", {1: 1})}, contexts=[(HOSTILE, [1])])
    report.files[0].source_lines[:] = [f"x = 1  # {HOSTILE}", "\x00\x1b]0;x\x07", "\ud800", "y" * 100_000]
    report.problems.append(Problem(HOSTILE, HOSTILE))
    shown = show(report, html_title=HOSTILE)
    opened(shown, "alert")
    assert shown.page.locator("img").count() == 0
    assert shown.page.locator("script").count() == 3, "the script, the data, the data of the file"
    assert "alert(1)" in shown.text(".whole-source")
    assert r"\u202e" in shown.text(".whole-source")
    assert "alert(1)" in shown.page.title()
    shown.page.locator(".whole-source th a").first.click()
    assert shown.page.locator(".whole-source").count() == 1, "its address leads to it"


@pytest.mark.browser
def test_five_thousand_files_and_twenty_thousand_lines(show, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = dict.fromkeys(range(1, 20_001), 1)
    contexts = [(f"test_{number}", lines) for number in range(20)]
    report = analyzed(tmp_path, {"large.py": ("x = 1\n" * 20_000, lines)}, contexts=contexts)
    few = analyzed(tmp_path, {"small.py": ("x = 1\n", {1: 1})}).files[0]
    for number in range(5_000):
        report.files.append(dataclasses.replace(few, path=f"folder{number % 70}/module{number}.py"))
    shown = show(report)
    assert (tmp_path / "page0" / "index.html").stat().st_size < 5_000_000
    assert len(files(shown)) < 100
    assert "5,001 files" in shown.text(".total")
    shown.press("2")
    assert shown.page.locator(".list table").get_attribute("aria-rowcount") == "5002"
    shown.page.fill("input[type=search]", "large")
    shown.settle()
    opened(shown, "large.py")
    assert len(source(shown)) < 100
    assert shown.page.locator("button.contexts").first.inner_text() == "20 contexts"


@pytest.mark.browser
def test_an_empty_recording_says_so(show, tmp_path):
    b = Builder()
    b.process()
    shown = show(analysis.analyze(b.build({"recorder": "coverage"}), Settings(folder=str(tmp_path))))
    assert "There is no file to report" in shown.text(".summary")
    assert violations(shown) == []


@pytest.mark.browser
def test_a_source_that_changed_and_one_that_is_empty(show, report):
    report.files[0].changed = True
    shown = show(report)
    assert "changed" in files(shown)[0][0]
    opened(shown, "app.py")
    assert "has changed since" in shown.text(".reading")
    shown.page.locator(".list tr", has_text="empty.py").click()
    shown.until(lambda: "This file is empty" in shown.text(".reading"))


@pytest.mark.browser
def test_covered_files_may_be_left_out(show, report):
    shown = show(report, skip_covered=True, skip_empty=True)
    shown.press("2")
    assert [row[0] for row in files(shown)] == ["app.py", "lib/deep/part.py"]
    assert "in 4 files; 2 not shown" in shown.text(".total")


def test_the_folder_has_one_page_and_says_that_it_is_made(report, tmp_path):
    index = write_by_settings(report, Settings(), tmp_path / "html")
    names = sorted(path.name for path in (tmp_path / "html").iterdir())
    assert names == [".gitignore", "index.html"]
    assert str(index).endswith("index.html")
    assert (tmp_path / "html" / ".gitignore").read_text().endswith("*\n")
    page = (tmp_path / "html" / "index.html").read_text()
    assert page.count("<script>") == 1, "one bundle, however many files there are"
    assert page.count('<script type="text/plain"') == 1 + len(report.files)


def test_a_folder_that_cannot_be_is_an_error(report, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FormatError, match="cannot be made"):
        write_by_settings(report, Settings(), tmp_path / "file" / "html")


def test_report_writes_the_page(report, tmp_path, capsys):
    b = Builder()
    b.line(b.function("", "<module>", str(tmp_path / "app.py"), 1), 4, flags=1)
    b.build({"recorder": "coverage"}).save("app.seismo")
    assert main(["report", "app.seismo", "--html", "html", "--fail-under", "90"]) == 1
    assert capsys.readouterr().out.startswith("html/index.html\n")
    b.node(-1, b.thread(b.process()), 0, calls=1)
    b.build({"recorder": "calltree"}).save("calls.seismo")
    assert main(["report", "calls.seismo", "--html", "html", "--force"]) == 2
    assert "html" in capsys.readouterr().err
