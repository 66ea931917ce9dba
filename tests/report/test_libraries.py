"""Which lines a newcomer sees first: the program's own, not those of the modules that it imports."""

import io

import pytest
from on_paper import summed_up, written
from page_data import data_of

from seismo.model import Builder
from seismo.report.libraries import INSTALLED, STANDARD, libraries, library_of
from seismo.report.lines.page import page
from seismo.report.lines.text import write_report
from seismo.report.options import Options

LIB = "/opt/python/lib/python3.14/"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("<frozen importlib._bootstrap>", STANDARD),
        (LIB + "json/decoder.py", STANDARD),
        (LIB + "site-packages/attr/_make.py", INSTALLED),
        ("/usr/lib/python3/dist-packages/six.py", INSTALLED),
        ("C:\\py\\Lib\\site-packages\\six.py", INSTALLED),
        ("/home/me/.venv/bin/black", INSTALLED),
        ("/home/me/lib/python3.x/app.py", ""),
        ("/home/me/app/bin.py", ""),
        (io.__file__, STANDARD),
    ],
)
def test_whose_a_file_is(path, kind):
    assert library_of(path)[0] == kind


def test_a_library_that_is_the_program_is_its_own():
    found = libraries(
        [
            (LIB + "json/tool.py", LIB + "json/tool.py", ["__main__"]),
            (LIB + "json/decoder.py", LIB + "json/decoder.py", ["json.decoder"]),
            (LIB + "re/_parser.py", LIB + "re/_parser.py", ["re._parser"]),
        ]
    )
    assert list(found.values()) == ["", "", STANDARD]
    found = libraries([(LIB + "timeit.py", "", ["__main__"]), (LIB + "re.py", "", ["re"])])
    assert list(found.values()) == ["", STANDARD]


def test_made_code_is_its_modules_and_nothing_is_hidden_where_nothing_is_own():
    made = ("<attrs generated>", "", ["attr"])
    library = (LIB + "site-packages/attr/_make.py", "", ["attr"])
    assert libraries([library, made, ("app.py", "/app.py", ["app"])]) == {
        library[0]: INSTALLED,
        made[0]: INSTALLED,
        "app.py": "",
    }
    assert set(libraries([library, made]).values()) == {""}
    assert list(libraries([("app.py", "", ["app"]), ("<string>", "", ["namedtuple_P"])]).values()) == ["", STANDARD]
    assert libraries([library, ("<string>", "", ["__main__"])]) == {library[0]: INSTALLED, "<string>": ""}
    # Its globals may have no name: then the name of the code may tell the module.
    of_attr, of_app = (f"<attrs generated __eq__ {name}>" for name in ("attr._make.Factory", "app.Order"))
    attr = ("_make.py", LIB + "site-packages/attr/_make.py", ["attr._make"])
    found = libraries([attr, ("app.py", "/app.py", ["app"]), (of_attr, "", [""]), (of_app, "", [""])])
    assert (found[of_attr], found[of_app]) == (INSTALLED, "")
    assert libraries([attr, ("app.py", "/app.py", ["app"]), ("<template>", "", [""])])["<template>"] == ""
    assert set(libraries([library, ("/venv/bin/tool", "/venv/bin/tool", ["__main__"])]).values()) == {""}


def recording(settings=None):
    b = Builder()
    process = b.process(pid=7, start_ns=1, end_ns=100_000_001, source="monitoring", clock="tsc: x", clock_ns=8.0)
    b.thread(process, name="MainThread", wall_ns=100_000_000, cpu_ns=100_000_000, main=1)
    functions = [
        b.function("importlib._bootstrap", "find", "<frozen importlib._bootstrap>", 3),
        b.function("json", "slow", LIB + "json/__init__.py", 3),
        b.function("__main__", "mine", "/home/me/app.py", 3),
    ]
    for function, ms in zip(functions, (50, 30, 20), strict=True):
        b.line(function, 4, hits=1, own_ns=ms * 1_000_000)
    built = b.build()
    built.meta.update(recorder="linetimes", settings=settings or {})
    return built


def test_libraries_are_left_out_and_named():
    for libraries_too in (False, True):
        shown = written(write_report, recording(), Options(libraries=libraries_too))
        assert ("Lines by own time" in shown) == libraries_too
        assert ("Lines by own and inner time" in shown) == (not libraries_too)
        assert "app.py:4" in shown
        assert ("json/__init__.py" in shown) == libraries_too
        assert ("80.0 ms (80.0 %) in lines of the standard library" in shown) == (not libraries_too)
        assert "100 % is 100 ms" in shown


def test_the_summary_leaves_them_out_unless_chosen():
    for settings, hidden in (({}, True), ({"where": 'module("*")'}, False)):
        shown = "\n".join(summed_up(recording(settings)))
        assert ("_bootstrap" not in shown) == hidden
        assert ("80.0 ms (80.0 %) in lines of the standard library" in shown) == hidden
        assert ("so the lines are sorted by own and inner time" in " ".join(shown.split())) == hidden


def test_the_summary_of_a_choice_that_nothing_met():
    b = Builder()
    process = b.process(pid=7, start_ns=1, end_ns=100, source="monitoring", clock="tsc: x", clock_ns=8.0)
    b.thread(process, name="MainThread", wall_ns=100, cpu_ns=90, main=1)
    built = b.build()
    built.meta.update(recorder="linetimes", settings={"where": 'module("nothing")'})
    assert "no function that ran is one of these" in " ".join(summed_up(built))


def test_the_page_divides_them_unless_chosen():
    for settings, divided in (({}, True), ({"where": 'module("*")'}, False)):
        head, _ = data_of(page(recording(settings), Options()))
        foreign = [file["whose"] != "" for file in head["files"]]
        assert foreign == sorted(foreign), "the program's own files come first"
        assert (not foreign[0], any(foreign)) == (True, divided)
