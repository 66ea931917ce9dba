"""Functions of compiled modules (Cython, mypyc): each row of a report names them as such."""

import json

import pytest
from on_paper import summed_up
from page_data import data_of

from seismo.model import Builder
from seismo.report import kind
from seismo.report.calls.page import calls_page
from seismo.report.story.document import document
from seismo.report.story.markdown import markdown

FULL, BRIEF = "(compiled, its inside is not recorded)", "(compiled)"


@pytest.fixture(scope="module")
def formatted():
    """A program of which most of the time is in one function that mypyc compiled."""
    b = Builder()
    thread = b.thread(b.process(pid=1, source="monitoring"), name="MainThread", main=1)
    top = b.node(-1, thread, b.function("app", "<module>", "/x/app.py", 1), calls=1, own_ns=10_000_000)
    for module, name, own in (
        ("black.linegen", "transform_line", 820_000_000),
        ("_json", "Scanner.__call__", 100_000_000),
        ("builtins", "len", 70_000_000),
    ):
        b.node(top, thread, b.function(module, name, "", 0, kind=1), calls=9, own_ns=own)
    return b.build({})


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_rows_of_the_tree_and_of_the_table_name_compiled_code(formatted, report, width):
    lines = report(formatted, width)
    rows = [line for line in lines if "form_line" in line]
    assert len(rows) == 2
    assert all(line.endswith((FULL, BRIEF)) and len(line) <= width for line in rows)
    assert width < 120 or all(line.endswith(FULL) for line in rows)
    others = [line for line in lines if "Scanner" in line or "builtins:len" in line]
    assert len(others) == 4
    assert not any("compiled" in line for line in others)
    assert any("compiled modules (black)" in line for line in lines)


def test_a_name_is_cut_for_it_and_not_the_other_way_round(report):
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread", main=1)
    b.node(-1, thread, b.function("pack.age.module", "A" * 50 + ".method", "", 0, kind=1), calls=9, own_ns=820_000)
    rows = [line for line in report(b.build({}), 60) if ".method" in line or "…method" in line]
    assert len(rows) == 2
    assert all(line.endswith(f"method  {BRIEF}") and len(line) <= 60 for line in rows)


def test_the_summary_of_a_run_names_it(formatted, monkeypatch):
    for columns in ("60", "80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        assert any("transform_line" in line and BRIEF[:9] in line for line in summed_up(formatted))


def test_documents_and_the_page_name_it(formatted):
    story = kind.of(formatted).story(formatted)
    rows = json.loads(document(story))["sections"]["functions"]["rows"]
    assert {row["qualname"] for row in rows if row["compiled"]} == {"transform_line"}
    assert FULL in markdown(story)
    head, _ = data_of(calls_page(formatted))
    places = dict(zip(head["names"], head["places"], strict=False))
    assert places["transform_line"] == FULL
    assert places["len"] == "(C)"
