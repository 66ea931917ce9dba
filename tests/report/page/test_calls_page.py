"""The page of calls: one closed file, whose data has the numbers that the report prints."""

import re
from pathlib import Path

import pytest
from page_data import data_of

from seismo.model import Builder
from seismo.report.calls.functions import COLUMNS
from seismo.report.calls.page import SMALLER, calls_page
from seismo.report.calls.page_selection import Chosen
from seismo.report.calls.paths import Paths

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\'&lt;\x1b[31m\u202e\ud800'


@pytest.fixture
def hostile():
    b = Builder()
    thread = b.thread(b.process(argv=f'["{HOSTILE[:8]}"]'), name=HOSTILE)
    parent = -1
    for name in (HOSTILE, "x" * 10_000_000, "plain"):
        parent = b.node(parent, thread, b.function(name, name, f"/{name}.py", 3), calls=2, own_ns=5_000_000)
    return b.build({"recorder": "calltree"})


def test_names_are_text_in_the_data(hostile):
    head, _ = data_of(calls_page(hostile))
    assert head["names"][2:] == ["plain", SMALLER]
    assert r"\u202e\ud800" in head["names"][0]
    assert all(len(name) <= 400 and name.isprintable() for name in head["names"])


def walk(columns):
    """(path of functions, calls) for each path, from the depths alone."""
    path = []
    for depth, function, calls in zip(columns["t.depth"], columns["t.function"], columns["t.calls"], strict=True):
        path[depth:] = [function]
        yield tuple(path), calls


def test_the_paths_are_those_of_the_report(json_tool):
    head, columns = data_of(calls_page(json_tool, Chosen(json_tool, imports=True)))
    tree = json_tool.timed("cpu").tree
    expected = []
    for node in range(len(tree)):
        path, at = [], node
        while at >= 0:
            path.append(tree["function"][at])
            at = tree["parent"][at]
        expected.append((tuple(reversed(path)), tree["calls"][node]))
    assert sorted(walk(columns)) == sorted(expected)
    assert columns["t.thread"] == [0, 1]
    assert sum(columns["t.own"]) == pytest.approx(sum(tree["own_ns"]), rel=1e-6)
    assert (head["threads"][0]["name"], head["leftOut"]) == ("MainThread", 0)


def test_what_is_left_out_stays_in_the_sums(json_tool):
    whole = Paths.of(json_tool, 99).columns("")
    some = Paths.of(json_tool, 99, most=6)
    columns = some.columns("")
    assert some.left_out == len(json_tool.tree) - sum(function != 99 for function in some.functions)
    assert some.left_out > 5
    for name in ("calls", "exceptions", "own", "wait"):
        if name in whole:
            assert sum(columns[name][1]) == pytest.approx(sum(whole[name][1]), rel=1e-6)
    assert 99 in some.functions
    assert re.fullmatch("0(1(2(3)*)*)*.*", "".join(map(str, some.depths)))


def _importing():
    """A program that imports a library's module, which imports another one; finding and loading takes 10 each."""
    b = Builder()
    process = b.process(waits="ready,lock")
    thread = b.thread(process, name="MainThread", main=1)
    find = b.function("importlib._bootstrap", "_find_and_load", "<frozen importlib._bootstrap>", 1)
    loads = b.function("marshal", "loads", "", 0, kind=1)
    above = b.node(-1, thread, b.function("__main__", "<module>", "/app.py", 1), calls=1, own_ns=50)
    b.node(above, thread, loads, calls=1, own_ns=3)
    for name in ("json", "json.decoder"):
        found = b.node(above, thread, find, calls=1, own_ns=10)
        b.node(found, thread, loads, calls=1, own_ns=7)
        body = b.function(name, "<module>", f"/usr/lib/python3.12/{name}.py", 1)
        above = b.node(found, thread, body, calls=1, own_ns=100)
    return b, process, b.function


def test_imports_are_one_thing():
    """A module's body is below its importer; the import system is one row, and a path below each importer."""
    b, _, _ = _importing()
    head, columns = data_of(calls_page(b.build({"recorder": "calltree"})))
    names = head["names"]
    assert names[-2:] == ["<import system>", SMALLER]
    paths = {" > ".join(names[function] for function in path): calls for path, calls in walk(columns)}
    assert paths == {
        "<module>": 1,
        "<module> > loads": 1,
        "<module> > <import system>": 2,
        "<module> > import json": 1,
        "<module> > import json > <import system>": 2,
        "<module> > import json > import json.decoder": 1,
    }
    rows = dict(zip(names, zip(columns["f.calls"], columns["f.wall.own"], strict=True), strict=False))
    assert rows["<import system>"] == (4, 34)
    assert rows["loads"] == (1, 3)
    assert rows["_find_and_load"] == (0, 0)
    assert sum(columns["f.wall.own"]) == sum(columns["t.own"]) == head["wholes"]["wall"]


def test_idle_waits_are_in_no_number():
    b, process, function = _importing()
    worker = b.thread(process, name="worker")
    at = b.node(-1, worker, function("concurrent.futures.thread", "_worker", "/usr/lib/python3.12/t.py", 1), calls=1)
    b.node(at, worker, function("_queue", "SimpleQueue.get", "", 0, kind=1), calls=9, wait_ns=5_000_000_000)
    head, columns = data_of(calls_page(b.build({"recorder": "calltree"})))
    assert head["wholes"]["wall"] == 287
    assert "t.wait" not in columns
    assert dict(head["facts"])["idle"] == "1 thread waited for work for 5.00 s, which no number here includes"


def test_an_empty_recording_has_a_page():
    head, columns = data_of(calls_page(Builder().build({"recorder": "calltree"})))
    assert head["names"] == [SMALLER]
    assert columns["t.depth"] == columns["f.calls"] == []


def test_each_function_has_its_own_lines(tmp_path):
    file = tmp_path / "app.py"
    file.write_text(
        "import x\n\n\n@x.cached\ndef outer(n):\n    if n:\n        return [\n            one\n"
        "            for one in n\n        ]\n\n    return lambda: 3\n\n\ndef broken(:\n    pass\n"
    )
    b = Builder()
    thread = b.thread(b.process(), name="MainThread")
    places = {"outer": 4, "outer.<locals>.<listcomp>": 7, "outer.<locals>.<lambda>": 12, "broken": 15, "gone": 99}
    for name, line in places.items():
        b.node(-1, thread, b.function("app", name, str(file), line), calls=1, own_ns=5)
    head, _ = data_of(calls_page(b.build({"recorder": "calltree"})))
    lengths = {name: len(head["sources"][str(at)]["lines"]) for at, name in enumerate(places)}
    assert lengths == {
        "outer": 9, "outer.<locals>.<listcomp>": 4, "outer.<locals>.<lambda>": 1, "broken": 1, "gone": 0,
    }  # fmt: skip
    assert "no such line" in head["sources"]["4"]["problem"]


def test_the_page_declares_the_columns_of_the_report(json_tool):
    """Each is declared once, in Python; a column that the page could not draw would be an error in a browser only."""
    head, columns = data_of(calls_page(json_tool))
    declared = {column["name"]: column for column in head["table"]}
    assert declared.keys() <= COLUMNS.keys()
    assert {"own", "error", "percent", "total", "calls", "awaiting"} <= declared.keys()
    script = (Path(__file__).parents[3] / "web/src/table/functions.ts").read_text("utf-8")
    forms = set(re.findall(r"^  (\w+)[(:]", script.partition("const FORMS")[2].partition("\n};")[0], re.MULTILINE))
    for column in declared.values():
        assert column["form"] in forms
        assert {f"f.{column['of']}", f"f.cpu.{column['of']}", f"f.{column['of']}.own"} & columns.keys()
