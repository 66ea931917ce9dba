"""The HTML pages: well-formed, closed to what the program calls itself, with links that lead somewhere."""

import base64
import hashlib
import re
import textwrap
from html.parser import HTMLParser
from pathlib import Path

from made_objects import server

from seismo.model import Builder
from seismo.report.objects.page import write_objects

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
