"""What every page keeps: one script and one style, named by their hashes, and nothing that a browser would load."""

import base64
import hashlib
import re

import pytest
from made_objects import server
from page_data import Elements, data_of

from seismo.coverage import analysis
from seismo.coverage.settings import Settings
from seismo.errors import FormatError
from seismo.model import Builder
from seismo.report.coverage.page import write_by_settings
from seismo.report.kind import of
from seismo.report.page.document import MARK, save

HOSTILE = '</code></script><script>alert(1)</script><img src=x onerror="alert(2)">\'&lt;\x1b[31m\u202e'


def recording(recorder):
    b = Builder()
    thread = b.thread(b.process(argv=["app.py", HOSTILE]), name=HOSTILE)
    function = b.function(HOSTILE, HOSTILE, f"/{HOSTILE}.py", 1)
    if recorder == "calltree":
        b.node(-1, thread, function, calls=1, own_ns=5)
    else:
        b.line(function, 1, 5, own_ns=5)
    return b.build({"recorder": recorder})


def page(recording, path):
    of(recording).page(recording, path)


def coverage(path):
    settings = Settings(folder=str(path.parent), html_title=HOSTILE)
    return write_by_settings(analysis.analyze(recording("coverage"), settings), settings, path.parent / "html")


PAGES = {
    "calls": lambda path: page(recording("calltree"), path),
    "lines": lambda path: page(recording("linetimes"), path),
    "objects": lambda path: page(server(path.parent / "app", hostile=HOSTILE), path),
    "coverage": coverage,
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_closed_to_what_the_program_calls_itself(tmp_path, kind):
    path = PAGES[kind](tmp_path / "page.html") or tmp_path / "page.html"
    with open(path, encoding="utf-8") as file:
        source = file.read()
    assert source.startswith("<!DOCTYPE html>")
    assert MARK in source
    elements = Elements(source)
    (policy,) = [given["content"] for given, _ in elements.all("meta") if given.get("http-equiv")]
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", source, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
        assert "alert(" not in content
    for name, given, _ in elements.found:
        assert name not in ("img", "link", "iframe"), name
        assert not any(attribute.startswith("on") or attribute in ("style", "src") for attribute in given)
    assert not any(ord(char) < 32 and char != "\n" for char in source)
    assert "\u202e" not in source
    head, _ = data_of(source)
    assert head["kind"] == kind
    assert head["facts"] or kind == "coverage"


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    def pieces():
        yield "one"
        raise FormatError("no more")

    (tmp_path / "page.html").write_text("before")
    with pytest.raises(FormatError, match="no more"):
        save(str(tmp_path / "page.html"), pieces())
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "before"
