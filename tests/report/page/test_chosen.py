"""The page of some functions and threads: `seismo report --html` with --module, --thread, --where."""

from functools import partial

import children
import pytest
from page_data import data_of
from threads import in_threads

import seismo
from seismo.cli.main import main
from seismo.model import Builder
from seismo.report import words
from seismo.report.calls.functions import FunctionCells, selected_rows
from seismo.report.calls.page import calls_page
from seismo.report.calls.page_selection import NOT_SHOWN, Chosen
from seismo.report.calls.paths import Paths
from seismo.report.shown_functions import Modules, about_functions


@pytest.fixture
def page(tmp_path):
    """What the page has that the command writes: page(recording, *options) is its head and its columns."""

    def write(recording, *options):
        recording.save(tmp_path / "a.seismo")
        out = tmp_path / "a.html"
        children.seismo("report", tmp_path / "a.seismo", "--html", out, "--force", *options)
        return data_of(out.read_text(encoding="utf-8"))

    return write


def walk(head, columns):
    """Each path as names, with its calls and its own time."""
    path, found = [], {}
    rows = zip(*(columns[f"t.{name}"] for name in ("depth", "function", "calls", "own")), strict=True)
    for depth, function, calls, own in rows:
        path[depth:] = [head["names"][function]]
        assert ">".join(path) not in found
        found[">".join(path)] = (calls, round(own))
    return found


def made():
    """app.main calls lib.enter, which calls app.work; app.main calls lib.other; another thread calls app.work."""
    b = Builder()
    main_thread, other = (b.thread(b.process(), name=name) for name in ("MainThread", "writer"))
    begin, work = b.function("app", "main", "/a.py", 1), b.function("app", "work", "/a.py", 9)
    enter, after = b.function("lib.core", "enter", "/l.py", 1), b.function("lib", "other", "/l.py", 9)
    top = b.node(-1, main_thread, begin, calls=1, own_ns=1_000)
    into = b.node(top, main_thread, enter, calls=2, own_ns=200)
    b.node(into, main_thread, work, calls=3, own_ns=30)
    b.node(top, main_thread, after, calls=4, own_ns=400)
    b.node(-1, other, work, calls=5, own_ns=50)
    return b.build({"recorder": "calltree"})


def test_functions_of_a_module_alone(page):
    """What was left out has no name in the page; its time is one frame below its caller, and no sum has changed."""
    head, columns = page(made(), "--module", "app")
    assert head["names"][:2] == ["main", "work"]
    assert head["names"][3] == NOT_SHOWN
    assert ["shown", "only functions of modules app"] in head["facts"]
    assert walk(head, columns) == {
        "main": (1, 1_000),
        f"main>{NOT_SHOWN}": (6, 600),
        "main>work": (3, 30),
        "work": (5, 50),
    }
    assert columns["f.calls"] == [1, 8]
    assert head["wholes"]["cpu"] == 1_680  # shares are of all, as in the report


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--exclude-module", "lib*"], ["main", "work"]),
        (["--where", "calls > 2"], ["work", "other"]),
        (["--only", "*enter"], ["enter"]),
        (["--where", "calls > 100"], []),
        (["--thread", "1", "--module", "lib*"], []),
    ],
)
def test_who_is_in_the_page(page, options, names):
    head, columns = page(made(), *options)
    assert head["names"][: len(columns["f.calls"])] == names
    assert sum(columns["t.own"]) == (50 if "--thread" in options else 1_680)
    assert any(label == "shown" for label, _ in head["facts"])


def test_a_thread_alone(page):
    head, columns = page(made(), "--thread", "writer")
    assert walk(head, columns) == {"work": (5, 50)}
    assert [thread["name"] for thread in head["threads"]] == ["writer"]
    assert ["shown", "only 1 thread: writer"] in head["facts"]


def test_a_thread_that_is_not_there_is_an_error(tmp_path):
    made().save(tmp_path / "a.seismo")
    words = ("a.seismo", "--html", "a.html", "--thread", "nobody")
    assert "there is no thread 'nobody'" in children.seismo("report", *words, cwd=tmp_path, status=2).stderr
    assert not (tmp_path / "a.html").exists()


def test_all_of_it_is_not_called_a_part(page):
    head, _ = page(made())
    assert not any(label == "shown" for label, _ in head["facts"])
    assert NOT_SHOWN not in head["names"]


@pytest.mark.parametrize("times", ["cpu", "wall", "wait"])
@pytest.mark.parametrize("threads", [(), ("writer",), ("*",)])
@pytest.mark.parametrize("where", ["", "calls > 1000", 'module("json*")'])
def test_the_table_has_the_numbers_of_the_report(json_tool, threads, where, times):
    modules = Modules(where=about_functions(where)) if where else Modules()
    chosen = Chosen(json_tool, times, modules, threads, imports=True)
    head, columns = data_of(calls_page(json_tool, chosen))
    report = json_tool.timed(times)
    numbers = [row.id for row in json_tool.threads if not threads or threads == ("*",) or row.name in threads]
    table = report.combined(numbers).functions if threads else report.functions
    rows = sorted(selected_rows(table, "own", modules))
    names = head["names"][: len(columns["f.calls"])]
    cells = FunctionCells(report, words.Signs(), table)
    assert [name.removeprefix("import ") for name in names] == [
        table["module" if cells.name(row).startswith("import ") else "qualname"][row] for row in rows
    ]
    for name in ("own", "own_error", "total", "total_error"):
        assert columns[f"f.{times}.{name}"] == [table[f"{name}_ns"][row] for row in rows], name
    assert columns["f.calls"] == [table["calls"][row] for row in rows]
    assert head["wholes"][times] == cells.whole_ns


def test_errors_of_merged_paths_are_those_of_the_model():
    """What the page says of a path on several threads is never narrower than Recording.total_error()."""
    with seismo.profile() as p:
        in_threads(*[partial(outer, 5_000)] * 5)
    recording = p.recording.timed("cpu")
    tree, names = recording.tree, recording.functions["qualname"]
    paths = Paths.of(recording, len(names))
    columns = {name: values for name, (_, values) in paths.columns("").items()}
    found: dict[str, list[int]] = {}
    for at, node in enumerate(paths.order):
        if names[tree["function"][node]] in ("outer", "inner"):
            found.setdefault(names[tree["function"][node]], []).append(at)
    assert {name: len(rows) for name, rows in found.items()} == {"outer": 5, "inner": 5}
    for rows in found.values():
        errors = [columns["total_error"][at] for at in rows]
        shared = [error * columns["common"][at] / 255 for error, at in zip(errors, rows, strict=True)]
        squares = sum(error**2 - common**2 for error, common in zip(errors, shared, strict=True))
        merged = min(sum(errors), (squares + sum(shared) ** 2) ** 0.5)
        assert recording.total_error([paths.order[at] for at in rows]) <= 1.000001 * merged


def inner(number):
    return number + 1


def outer(rounds=200):
    for number in range(rounds):
        inner(number)


def test_the_timeline_of_some_functions_and_threads(page):
    """The calls that are left out take no room: what they called stands one row higher."""
    with seismo.trace() as t:
        in_threads(outer, name="writer")
        outer()
    head, columns = page(t.recording, "--where", 'function("inner")', "--thread", "writer")
    assert [row["name"] for row in head["trace"]["threads"]] == ["writer"]
    assert [row["depth"] for row in head["trace"]["threads"]] == [1]
    assert columns["c.threads"] == [200]
    assert set(columns["c.depth"]) == {0}
    assert [head["names"][number] for number in set(columns["c.function"])] == ["inner"]
    head, columns = page(t.recording, "--module", __name__)
    assert len(columns["c.threads"]) == len(head["trace"]["threads"]) == 2
    depths = {head["names"][at]: depth for at, depth in zip(columns["c.function"], columns["c.depth"], strict=True)}
    assert depths["inner"] == depths["outer"] + 1


@pytest.mark.browser
def test_what_is_shown_is_said_on_the_page(showing):
    def write(path, recording):
        recording.save(path.with_suffix(".seismo"))
        assert main(["report", str(path.with_suffix(".seismo")), "--html", str(path), "--module", "app"]) == 0

    shown = showing(write)(made())
    assert "only functions of modules app" in shown.text("header.facts summary")
    assert shown.names() == {"all", "app:main", "app:work", NOT_SHOWN}
    assert shown.page.locator("tbody tr").count() == 2
    shown.page.fill("input[type=search]", "lib")
    shown.settle()
    assert "0 functions" in shown.text("#found")
