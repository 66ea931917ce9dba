"""The HTML pages: well-formed, closed to what the program calls itself, with links that lead somewhere."""

import base64
import hashlib
import os
import re
import textwrap
from html.parser import HTMLParser
from pathlib import Path

import pytest
from made_objects import server

from seismo.cli.main import main
from seismo.coverage import analysis
from seismo.coverage.result import Problem
from seismo.coverage.settings import Settings
from seismo.errors import FormatError
from seismo.model import Builder
from seismo.report.coverage.page import page_name, write_coverage
from seismo.report.objects.page import write_objects
from seismo.report.page.document import MARK, bar, breakable, share_bar
from seismo.report.page.highlight import highlighted

VOID = {"meta", "input", "br", "wbr", "link", "img"}
ALLOWED = set(
    re.findall(
        r"\w+",
        "html head meta title style script body header main footer nav section aside h1 h2 p b i s a span code kbd "
        "label input button div table thead tbody tfoot tr th td ul ol li details summary svg rect path text g h3 br "
        "wbr",
    )
)
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


class Page(HTMLParser):
    """A page that is read strictly: every element is closed where it must be."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.path = Path(path)
        self.source = self.path.read_text(encoding="utf-8")
        self.open = []
        self.ids = []
        self.links = []
        self.elements = []  # (tag, attributes)
        self.texts = {}  # text by the tag that it stands in
        self.declaration = ""
        self.feed(self.source)
        self.close()
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)

    def handle_decl(self, declaration):
        self.declaration = declaration

    def handle_starttag(self, tag, attributes):
        assert tag in ALLOWED, tag
        names = [name for name, _ in attributes]
        assert len(set(names)) == len(names), (tag, names)
        assert not any(name.startswith("on") or name == "style" for name in names), names
        given = dict(attributes)
        self.elements.append((tag, given))
        if "id" in given:
            self.ids.append(given["id"])
        if "href" in given:
            self.links.append(given["href"])
        assert "src" not in given
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open[-1] == tag, (self.open, tag, self.getpos())
        self.open.pop()

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def text(self, tag):
        return "".join(self.texts.get(tag, []))

    def classes(self):
        return {
            attributes["id"]: attributes.get("class", "")
            for tag, attributes in self.elements
            if tag == "p" and attributes.get("id", "").startswith("L")
        }


def check(page, folder):
    """What holds for every page."""
    assert page.declaration == "DOCTYPE html"
    for link in page.links:
        target, _, anchor = link.partition("#")
        assert not re.match(r"[a-z]+:|//", link), link
        other = page if not target else Page(folder / target)
        assert not anchor or anchor in other.ids, link
    policy = next(given["content"] for tag, given in page.elements if given.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", page.source, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.search(r"https?://|url\(|@import", page.source)
    assert not any(ord(char) < 32 and char != "\n" for char in page.source)
    assert "\u202e" not in page.source


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
        {"app.py": (PROGRAM, lines), "lib/whole.py": ("x = 1\n", {1: 1}), "lib/empty.py": ("", {1: 1})},
        arcs=[(5, 6)],
        contexts=[("test_one", [5, 6]), (HOSTILE, [5])],
    )


def test_the_index_links_every_file(report, tmp_path):
    report.problems.append(Problem("lib/gone.py", "it is <gone>"))
    index = write_coverage(report, tmp_path / "html", title=f"Coverage {HOSTILE}", precision=1)
    page = Page(index)
    check(page, tmp_path / "html")
    assert [page_name(file.path) for file in report.files] == [link for link in page.links if link.endswith(".html")]
    assert report.totals.percent_text(1) + "%" in page.source
    assert "lib/gone.py" in page.text("code")
    assert "it is <gone>" in "".join(page.texts["li"])
    values = [given["data-v"] for tag, given in page.elements if tag == "td" and "data-v" in given]
    assert len(values) == 6 * (len(report.files) + 1)
    assert [float(value) for value in values]
    assert ("tr", {"class": "whole"}) in page.elements
    assert (tmp_path / "html" / ".gitignore").read_text().endswith("*\n")
    assert not list((tmp_path / "html").glob("*.part"))


def test_a_long_folder_is_said_once(report, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    far = analyzed(tmp_path, {"lib/one.py": ("x = 1\n", {1: 1}), "lib/sub/two.py": ("x = 1\n", {1: 1})})
    page = Page(write_coverage(far, tmp_path / "html"))
    check(page, tmp_path / "html")
    below = f"{os.path.realpath(tmp_path)}/lib/"
    assert below in page.text("code")
    assert page.source.count(below) == 1
    assert [link.rpartition("-")[0] for link in page.links if link.endswith(".html")] == ["one.py", "sub_two.py"]


def test_covered_files_may_be_left_out(report, tmp_path):
    page = Page(write_coverage(report, tmp_path / "html", skip_covered=True, skip_empty=True))
    check(page, tmp_path / "html")
    assert [link for link in page.links if link.endswith(".html")] == [page_name("app.py")]
    assert "in 3 files; 2 not shown" in page.text("p")
    assert len(list((tmp_path / "html").glob("*.html"))) == 2


def test_report_writes_pages(report, tmp_path, capsys):
    b = Builder()
    b.line(b.function("", "<module>", str(tmp_path / "app.py"), 1), 4, flags=1, segments=0)
    b.build({"recorder": "coverage"}).save("app.seismo")
    assert main(["report", "app.seismo", "--html", "html", "--fail-under", "90"]) == 1
    assert capsys.readouterr().out.startswith("html/index.html\n")
    timed(tmp_path).save("lines.seismo")
    assert main(["report", "lines.seismo", "--html", "lines.html"]) == 0
    assert MARK in (tmp_path / "lines.html").read_text()
    b.node(-1, b.thread(b.process()), 0, calls=1)
    b.build({"recorder": "calltree"}).save("calls.seismo")
    assert main(["report", "calls.seismo", "--html", "calls.html"]) == 0
    assert MARK in (tmp_path / "calls.html").read_text()
    assert main(["report", "calls.seismo", "--html", "html", "--force"]) == 2
    assert "html" in capsys.readouterr().err


def test_a_files_page_shows_its_lines(report, tmp_path):
    write_coverage(report, tmp_path / "html")
    page = Page(tmp_path / "html" / page_name("app.py"))
    check(page, tmp_path / "html")
    classes = page.classes()
    assert len(classes) == len(PROGRAM.splitlines())
    wanted = {"ran": [4, 6, 18], "partial": [5], "missing": [7, 10, 11], "excluded": [14, 15], "missing more": [8, 9]}
    for kind, lines in wanted.items():
        assert [int(line[1:]) for line, found in classes.items() if found == kind] == lines, kind
    shown = re.sub(r"<[^>]+>", "", "".join(re.findall(r"<code>.*?</code>", page.source)))
    assert "&lt;b&gt;many&lt;/b&gt;" in shown
    (why,) = re.findall(r'<p class="why">.*?</p>', page.source)
    assert 'href="#L7"' in why
    assert "line 5 didn" in why
    assert "12\u202f345" in page.text("span")


def test_contexts_are_there_once(report, tmp_path):
    write_coverage(report, tmp_path / "html")
    page = Page(tmp_path / "html" / page_name("app.py"))
    names = re.search(r'<ol id="contexts" hidden>(.*?)</ol>', page.source)[1]
    assert names.count("<li>") == 2 + ("(no context)" in names)
    assert names.count("test_one") == 1
    sets = re.findall(r'<li data-c="([^"]*)">', page.source)
    buttons = [(given["data-set"], tag) for tag, given in page.elements if given.get("class") == "ctx"]
    assert {int(number) for number, _ in buttons} == set(range(len(sets)))
    by_line = re.findall(r'<p id="L(\d+)"[^>]*>(?:(?!</p>).)*data-set="(\d+)"', page.source)
    of_line = {int(line): sets[int(number)] for line, number in by_line}
    assert of_line[5] != of_line[6]
    other = Page(tmp_path / "html" / page_name("lib/whole.py"))
    assert "test_one" not in other.source


def test_hostile_names_and_sources_do_no_harm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = HOSTILE.replace("/", "")
    content = f'x = 1  # {HOSTILE[:-1].replace(chr(27), "")}\n\ty = "{"<" * 50}"\n'
    report = analyzed(tmp_path, {name: ("x = 1\n", {1: 1})}, contexts=[(HOSTILE, [1])])
    report.files[0].source_lines[:] = [*content.split("\n"), "\x00\x1b]0;x\x07", "\ud800"]
    report.problems.append(Problem(HOSTILE, HOSTILE))
    index = write_coverage(report, tmp_path / "html", title=HOSTILE)
    for path in (index, tmp_path / "html" / page_name(report.files[0].path)):
        page = Page(path)
        check(page, tmp_path / "html")
        assert "alert" not in page.text("script")
        assert "alert(1)" in page.text("title")


def test_names_of_pages_are_safe_and_distinct():
    paths = ["a/b.py", "a_b.py", "a\\b.py", "../../etc/passwd", "/abs/x.py", "x" * 5000, "", "..", "é.py", "\ud800"]
    names = [page_name(path) for path in paths]
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,130}\.html", name)


def test_large_reports_are_written(tmp_path, monkeypatch):
    """Five thousand lines, each in one of many contexts: the page grows with the lines, not with their contexts."""
    monkeypatch.chdir(tmp_path)
    lines = dict.fromkeys(range(1, 5_001), 1)
    contexts = [(f"test_{number}", lines) for number in range(50)]
    report = analyzed(tmp_path, {"large.py": ("x = 1\n" * 5_000, lines)}, contexts=contexts)
    write_coverage(report, tmp_path / "html")
    page = tmp_path / "html" / page_name("large.py")
    assert page.stat().st_size < 1_500_000
    assert page.read_text().count('class="block"') == 25
    assert page.read_text().count("test_49") == 1


def test_a_folder_that_cannot_be_is_an_error(report, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FormatError, match="cannot be made"):
        write_coverage(report, tmp_path / "file" / "html")


def test_what_is_no_python_is_shown_plain():
    assert (
        highlighted(["{% if x %}", "'''", "<p>"])[2].endswith("&lt;p&gt;</i>") or "&lt;p&gt;" in highlighted(["<p>"])[0]
    )
    assert highlighted(["if x: # y", "\treturn 'z' + 1"]) == [
        '<i class="k">if</i> x: <i class="c"># y</i>',
        "        return &#x27;z&#x27; + 1",
    ]
    assert highlighted([]) == []


def test_bars_stay_within_their_width():
    assert bar(("ran", 70), ("partial", 60)).count("<rect") == 3
    widths = [float(width) for width in re.findall(r'x="[\d.]+" width="([\d.]+)"', bar(("ran", 70), ("partial", 60)))]
    assert widths == [70, 30]


def test_bars_of_a_table_are_as_long_as_the_part_is_of_the_largest():
    def lengths(part):
        cell = share_bar("hot", part, largest=40, whole=4_000)
        return [float(width) for width in re.findall(r'class="hot" x="0.00" width="([\d.]+)"', cell)]

    assert (lengths(40), lengths(10), lengths(0)) == ([100], [25], [])
    assert lengths(0.01) == [1], "what is there is seen"
    assert 'title="1.0 % of all"' in share_bar("hot", 40, 40, 4_000)
    assert "<rect" in share_bar("hot", 0, 0, 0), "of nothing"


def test_names_may_be_broken_behind_separators_only():
    assert breakable("a_b.c:<x>") == "a_<wbr>b.<wbr>c:&lt;x&gt;"
    assert breakable("/lib/__init__.py") == "/<wbr>lib/<wbr>__init__.py"
    assert breakable(HOSTILE).count("<") == breakable(HOSTILE).count("<wbr>")


# ---- lines ----


def timed(folder):
    path = folder / "app.py"
    path.write_text(PROGRAM)
    b = Builder()
    b.process(argv=["app.py", HOSTILE])
    choose = b.function("app", "choose", str(path), 4)
    module = b.function("app", "<module>", str(path), 1)
    generated = b.function("gen", HOSTILE, "<string>", 1)
    b.source(str(path), str(path), len(PROGRAM), crc=1)
    b.line(choose, 5, 100, own_ns=5_000_000)
    b.line(choose, 6, 60, own_ns=20_000_000)
    b.line(module, 4, 1, own_ns=2_000)
    b.line(module, 18, 1, own_ns=1_000)
    b.line(generated, 1, 7, own_ns=10)
    small = b.function("app", "choose.<locals>.<lambda>", str(path), 6)
    b.line(small, 6, 9, own_ns=1_000)
    b.instruction(choose, 4, 6, f"LOAD_CONST {HOSTILE}", 60)
    return b.build({"recorder": "linetimes"})


def test_an_empty_recording_has_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    b = Builder()
    b.process()
    report = analysis.analyze(b.build({"recorder": "coverage"}), Settings(folder=str(tmp_path)))
    check(Page(write_coverage(report, tmp_path / "html")), tmp_path / "html")


# ---- objects ----


def rows(page, table):
    """The cells of a table's body as text, row by row."""
    (body,) = re.findall(rf'<table id="{table}-table".*?<tbody>(.*?)</tbody>', page.source, re.DOTALL)
    cells = [
        re.findall(r"<t[hd][ >].*?</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr>.*?</tr>", body, re.DOTALL)
    ]
    return [[re.sub(r"<[^>]+>", "", cell).replace("\u202f", ",") for cell in row] for row in cells]


def test_objects_have_a_page(tmp_path):
    write_objects(server(tmp_path / "app", paths=True), tmp_path / "objects.html")
    page = Page(tmp_path / "objects.html")
    check(page, tmp_path)
    assert re.search("<h1>app.py --serve: <b>1\u202f113\u202f055 objects</b></h1>", page.source)
    assert set(page.ids) >= {"time", "calls", "types", "lifetimes", "lines", "cycles", "holders"}
    types = {row[0]: row for row in rows(page, "types")}
    assert types["app.Token"][1] == "600,000"
    assert types["app.Token"][-1] == "≈500 / 2 µs"
    assert types["list"][7] == "≥56.0 kB"
    assert types["app.Session"][-1] == "lives on"
    (lines,) = (row for row in rows(page, "lines") if row[0].startswith("app.Token"))
    assert "app.py:14" in lines[0]
    assert "tokens = [Token(part)" in lines[0]
    assert [row[0].split()[0] for row in rows(page, "cycles")] == ["app.Node"]
    calls = {row[0].split()[0]: row[1] for row in rows(page, "calls") if row[0].startswith("app.")}
    assert calls["app.Session"] == "leak: every call leaves some"
    assert "app.Token" not in calls
    assert re.search(r"<summary>Nothing is left of what \d+ other lines? made in the calls\.</summary>", page.source)
    assert any(row[0].startswith("app.Token") for row in rows(page, "dead"))


def test_every_title_of_objects_can_be_sorted_by(tmp_path):
    write_objects(server(tmp_path / "app"), tmp_path / "objects.html")
    source = (tmp_path / "objects.html").read_text()
    for table in re.findall(r'<table id="[^"]*" class="sortable">.*?</table>', source, re.DOTALL):
        heads = re.findall(r"<th[ >]", table.partition("</thead>")[0])
        body = re.findall(r"<tr>.*?</tr>", table.partition("</thead>")[2], re.DOTALL)
        assert body
        assert {len(re.findall(r"<t[hd][ >]", row)) for row in body} == {len(heads)}


def test_the_graph_of_holders_goes_from_survivors_to_roots(tmp_path):
    write_objects(server(tmp_path / "app"), tmp_path / "objects.html")
    source = (tmp_path / "objects.html").read_text()
    graph = source[source.index('<svg class="graph"') :]
    boxes = re.findall(r'<g class="(\w+)"><title>(.*?)</title><rect x="(\d+)"', graph)
    assert sum(name.startswith("module app") for _, name, _ in boxes) == 1  # three ways lead to one box
    at = {name: int(x) for _, name, x in boxes}
    kinds = {kind: {int(x) for of, _, x in boxes if of == kind} for kind, _, _ in boxes}
    assert kinds["survivors"] == {min(at.values())}
    assert kinds["root"] == {max(at.values())}
    assert max(kinds["survivors"]) < min(kinds["holder"])
    assert graph.count('class="edge"') == 10  # of nine ways one goes over two columns, in two pieces


def test_hostile_names_of_objects_do_no_harm(tmp_path):
    recording = server(tmp_path / "app", calls=100, hostile=HOSTILE, sampled=True)
    write_objects(recording, tmp_path / "objects.html", title=HOSTILE)
    page = Page(tmp_path / "objects.html")
    check(page, tmp_path)
    assert "alert" not in page.text("script")
    assert page.source.count("alert(1)") > 5


def test_objects_by_type_alone_and_none_at_all_have_a_page(tmp_path):
    b = Builder()
    b.process()
    write_objects(b.build({"recorder": "lifetimes"}), tmp_path / "objects.html")
    check(Page(tmp_path / "objects.html"), tmp_path)
    b.type("builtins", "dict", born=5, died=2)
    b.loss("refs-taken", 1, "tracemalloc")
    write_objects(b.build({"recorder": "lifetimes"}), tmp_path / "objects.html")
    page = Page(tmp_path / "objects.html")
    check(page, tmp_path)
    assert "another tool took the interpreter" in page.text("li")
    assert [row[:2] for row in rows(page, "types")] == [["dict", "5"]]
    assert "lines" not in page.ids


def test_wide_graphs_of_holders_are_cut(tmp_path):
    b = Builder()
    b.process()
    made = b.object(b.type("app", "Leaked", born=500), born=500)
    for number in range(50):
        b.holder(made, -1, f"app.Holder{number}", ".x", count=number, asked=500)
    write_objects(b.build({"recorder": "lifetimes"}), tmp_path / "objects.html")
    page = Page(tmp_path / "objects.html")
    check(page, tmp_path)
    assert "40 smaller holders are not drawn" in page.text("p")
    assert "app.Holder49 holds 49" in page.text("title")
