"""Recordings made by hand, held against sources: what is executed, what is missing, and what goes wrong."""

import os
import textwrap
import zipfile
import zlib

import pytest

from seismo.coverage.analysis import analyze
from seismo.coverage.percentages import Percentages, fails_under, percent_text, ranges, threshold_precision
from seismo.coverage.settings import Settings
from seismo.errors import UsageError
from seismo.model import Builder

SOURCE = """
def f(a):
    if a:
        return [
            1,
        ]
    for i in a:
        a = i
    return 2


f(0)
if False:
    x = 1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path.resolve()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip("\n"))
    return path


class Recorded:
    """A recording of functions of files, in the making."""

    def __init__(self, folder, **meta):
        self.folder = folder
        self.meta = {"recorder": "coverage", "branch": True, "folder": str(folder), **meta}
        self.builder = Builder()
        self.builder.process()

    def source(self, file, path=None, data=None):
        data = (self.folder / file).read_bytes() if data is None else data
        self.builder.source(str(file), str(path or self.folder / file), len(data), 0, zlib.crc32(data))

    def code(self, file, lines, arcs=(), name="<module>", line=1, module="app", hits=1):
        number = self.builder.function(module, name, str(file), line)
        rows = [self.builder.line(number, line, hits) for line in lines]
        return rows, [self.builder.arc(number, *arc, hits) for arc in arcs]

    def report(self, **settings):
        return analyze(self.builder.build(self.meta), Settings(folder=str(self.folder), **settings))


@pytest.fixture
def recorded(folder):
    return Recorded(folder)


def test_what_ran_and_what_is_missing(folder, recorded):
    write(folder / "app.py", SOURCE)
    recorded.source("app.py")
    recorded.code("app.py", [1, 11])
    recorded.code("app.py", [2, 6, 8], [(2, 6), (6, 8)], "f")
    report = recorded.report()
    (file,) = report.files
    assert report.problems == []
    assert (report.branch, report.counts, report.has_contexts) == (True, False, False)
    assert (file.path, file.absolute) == ("app.py", str(folder / "app.py"))
    assert file.statements == [1, 2, 3, 6, 7, 8, 11, 12]  # the compiler has dropped line 13
    assert file.executed == [1, 2, 6, 8, 11]
    assert file.missing == [3, 7, 12]
    assert file.hits is None
    assert file.branches == {2: ((6,), (3,)), 6: ((8,), (7,))}
    assert (file.executed_branches, file.missing_branches) == ([(2, 6), (6, 8)], [(2, 3), (6, 7)])
    assert file.numbers == Percentages(8, 3, 0, 4, 2, 2, 1)
    assert report.totals == file.numbers
    assert file.numbers.percent == pytest.approx(100 * 7 / 12)
    assert file.source_lines[0] == "def f(a):"
    assert file.missing_text(2, 3) == "line 2 didn't jump to line 3 because the condition on line 2 was never true"
    assert file.first_lines == {3: 3, 4: 3, 5: 3}


def test_any_line_of_a_statement_tells_that_it_ran(folder, recorded):
    write(folder / "app.py", SOURCE)
    recorded.code("app.py", [4], name="f")
    assert recorded.report().files[0].executed == [3]


def test_without_branches(folder):
    recorded = Recorded(folder, branch=False)
    write(folder / "app.py", SOURCE)
    recorded.code("app.py", [1, 11])
    file = recorded.report().files[0]
    assert (file.branches, file.numbers.branches) == ({}, 0)
    assert file.numbers.percent_text() == "25"


def test_hits_are_those_of_the_first_line(folder):
    recorded = Recorded(folder, counts=True)
    write(folder / "app.py", "a = [\n    b\n    for b in c]\nd = (\n    f())\ndef g(): h()\n")
    recorded.code("app.py", [1], hits=2)
    recorded.code("app.py", [2, 3], hits=9)
    recorded.code("app.py", [5], hits=4)
    recorded.code("app.py", [6])
    recorded.code("app.py", [6], name="g", line=6, hits=7)
    report = recorded.report()
    assert report.counts
    assert report.files[0].hits == {1: 2, 4: 4, 6: 8}


def test_steps_through_a_with_are_put_straight(folder, recorded):
    write(folder / "app.py", "with a:\n    if b:\n        c = 1\nd = 2\n")
    recorded.code("app.py", [1, 2, 4], [(-1, 1), (1, 2), (2, 1), (1, 4), (4, -1)])
    assert recorded.report().files[0].branches == {2: ((4,), (3,))}


def test_a_line_of_several_code_objects_has_gone_on_in_each_that_ran(folder, recorded):
    write(folder / "app.py", "def f(): return 1\nclass C: x = 1\n@d\ndef g(): return 2\na = 3\n")
    recorded.code("app.py", [1, 2, 3, 4, 5])
    recorded.code("app.py", [2], name="C", line=2)
    recorded.code("app.py", [4], name="C.<locals>.g", line=3)
    file = recorded.report().files[0]
    assert file.branches == {1: ((2,), (-1,)), 2: ((-2, 3), ()), 4: ((-3, 5), ())}


def test_partial_and_excluded_branches(folder, recorded):
    write(
        folder / "app.py",
        """
        if a:  # pragma: no branch
            b = 1
        if c:
            d = 2  # pragma: no cover
        match e:
            case 1:
                pass  # pragma: no cover
            case 2:
                pass
        """,
    )
    recorded.code("app.py", [1, 3, 5, 6, 8], [(1, 3), (3, 4), (6, 8)])
    file = recorded.report().files[0]
    assert file.exits == {1: 2, 8: 2}
    assert file.branches == {1: ((3,), ()), 8: ((), (-1, 9))}
    assert file.numbers.partial_branches == 2


def test_regions(folder, recorded):
    write(
        folder / "app.py",
        """
        class C:
            def f(self):
                if self:
                    return 1

            def f(self):
                return 2
        class D:
            pass
        x = 1
        """,
    )
    recorded.code("app.py", [1, 2, 6, 8, 9, 10])
    recorded.code("app.py", [3, 4], [(3, 4)], "C.f", 2)
    file = recorded.report().files[0]
    functions = file.regions_of("function")
    assert [(name, start, one.executed, one.missing) for name, (start, one) in functions.items()] == [
        ("C.f", 2, [3, 4], []),
        ("C.f@6", 6, [], [7]),
        ("", 1, [1, 2, 6, 8, 9, 10], []),
    ]
    method = functions["C.f"][1]
    assert (method.executed_branches, method.missing_branches) == ([(3, 4)], [(3, -2)])
    assert method.numbers == Percentages(2, 0, 0, 2, 1, 1, 1)
    classes = {name: one.executed for name, (_, one) in file.regions_of("class").items()}
    assert classes == {"C": [3, 4], "D": [], "": [1, 2, 6, 8, 9, 10]}


def test_contexts(folder, recorded):
    write(folder / "app.py", "if a:\n    b = (\n        1)\nc = 2\n")
    lines, arcs = recorded.code("app.py", [1, 2, 3, 4], [(1, 2), (1, 4)])
    recorded.builder.context("test_one", lines[:2], arcs[:1])
    recorded.builder.context("test_two", [lines[0], lines[2]], arcs[1:])
    recorded.builder.context("test_two", [lines[1]])
    report = recorded.report()
    file = report.files[0]
    assert report.has_contexts
    assert file.contexts_by_line == {1: ["test_one", "test_two"], 2: ["test_one", "test_two"], 3: ["test_two"], 4: [""]}
    assert (file.contexts_of(2), file.contexts_of(4), file.contexts_of(9)) == (["test_one", "test_two"], [""], [])
    assert (file.contexts_of_arc((1, 2)), file.contexts_of_arc((1, 4))) == (["test_one"], ["test_two"])
    only = recorded.report(report_contexts=("one$",)).files[0]
    assert (only.executed, only.executed_branches) == ([1, 2], [(1, 2)])


def test_conditions(folder, recorded):
    write(folder / "app.py", "if a and b:\n    c = 1\n")
    assert recorded.builder.function("app", "<module>", "app.py", 1) == 0
    place = {"line": 1, "column": 3, "end_line": 1, "end_column": 4}
    recorded.builder.add("branches", function=0, offset=4, kind=0, **place, fell=2, jumped=1)
    recorded.code("app.py", [1, 2], [(1, 2)])
    (decision,) = recorded.report().files[0].conditions
    assert decision.line == 1
    assert len(decision.operands) == 2


# ---- which files ----


@pytest.fixture
def project(folder, recorded):
    for name in ("main.py", "pkg/__init__.py", "pkg/a.py", "pkg/b.py", "pkg/sub/__init__.py", "pkg/sub/c.py"):
        write(folder / name, "x = 1\n")
    for name in ("pkg/free/d.py", "pkg/.e.py", "pkg/f.py~", "pkg/g.h.py", "pkg/setup.pyw"):
        write(folder / name, "y = 1\n")
    recorded.code("main.py", [1], module="__main__")
    recorded.code(folder / "pkg/__init__.py", [1], module="pkg")
    recorded.code("pkg/a.py", [1], module="pkg.a")
    return recorded


def paths(report):
    return [file.path for file in report.files]


def test_files_that_never_ran_are_reported(project, folder):
    everything = ["pkg/__init__.py", "pkg/a.py", "pkg/b.py", "pkg/setup.pyw", "pkg/sub/__init__.py", "pkg/sub/c.py"]
    report = project.report(source_dirs=("pkg",))
    assert paths(report) == ["main.py", *everything]
    assert [file.numbers.missing for file in report.files] == [0, 0, 0, 1, 1, 1, 1]
    assert paths(project.report(source=("pkg",))) == ["main.py", *everything]
    some = paths(project.report(source_pkgs=("pkg",), omit=("*/b.py", "pkg/sub/*")))
    assert some == ["main.py", "pkg/__init__.py", "pkg/a.py", "pkg/setup.pyw"]
    assert "pkg/free/d.py" in paths(project.report(source_dirs=("pkg",), include_namespace_packages=True))


def test_a_source_folder_that_is_none_is_a_problem(project):
    report = project.report(source_dirs=("nowhere",))
    assert [(problem.path, problem.minor) for problem in report.problems] == [("nowhere", False)]
    assert len(report.files) == 3


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("main.py",), ["main.py"]),
        (("a.py",), ["pkg/a.py"]),
        (("pkg/*",), ["pkg/__init__.py", "pkg/a.py"]),
        (("*/pkg/*.py",), ["pkg/__init__.py", "pkg/a.py"]),
        (("pkg/?.py",), ["pkg/a.py"]),
        (("p*",), []),
        (("*.py",), ["main.py", "pkg/__init__.py", "pkg/a.py"]),
        (("a\\py",), []),
    ],
)
def test_patterns_of_files(project, patterns, expected):
    every = ["main.py", "pkg/__init__.py", "pkg/a.py"]
    assert paths(project.report(include=patterns)) == expected
    assert paths(project.report(report_include=patterns)) == expected
    rest = [path for path in every if path not in expected]
    assert paths(project.report(omit=patterns)) == rest
    assert paths(project.report(report_omit=patterns)) == rest


@pytest.mark.parametrize("pattern", ["***/a", "x**", "**x", "**/**", "a[b", "]"])
def test_patterns_that_mean_nothing(project, pattern):
    with pytest.raises(UsageError) as caught:
        project.report(include=(pattern,))
    assert caught.value.what == f"a file pattern cannot be {pattern!r}"


def test_several_names_of_one_file_are_one(folder, recorded):
    write(folder / "real/app.py", "a = 1\nb = 2\nc = 3\n")
    os.symlink(folder / "real", folder / "link")
    recorded.source("app.py", folder / "link/app.py", (folder / "real/app.py").read_bytes())
    recorded.code("app.py", [1])
    recorded.code(folder / "real/app.py", [2])
    recorded.code("link/../link/app.py", [3])
    report = recorded.report()
    assert paths(report) == ["real/app.py"]
    assert report.files[0].executed == [1, 2, 3]


# ---- what goes wrong ----


def problems(report):
    return {problem.path: problem.text for problem in report.problems if not problem.minor}


def test_source_that_cannot_be_had_is_a_problem_and_the_rest_is_reported(folder, recorded):
    write(folder / "good.py", "a = 1\n")
    write(folder / "bad.py", "a = (\n")
    (folder / "odd.py").write_bytes(b"# coding: nonsense\n")
    (folder / "folder.py").mkdir()
    for name in ("good.py", "bad.py", "odd.py", "folder.py", "gone.py", "\0.py"):
        recorded.code(name, [1])
    report = recorded.report()
    assert paths(report) == ["good.py"]
    found = problems(report)
    assert {os.path.basename(path) for path in found} == {"bad.py", "odd.py", "folder.py", "gone.py", "\0.py"}
    assert "parsed" in found[str(folder / "bad.py")]
    assert "bad.py, line 1" in found[str(folder / "bad.py")]
    assert "decoded" in found[str(folder / "odd.py")]
    assert "no such source file" in found[str(folder / "gone.py")]
    assert "\n" not in "".join(found.values())


def test_templates_and_generated_code_are_minor(folder, recorded):
    write(folder / "page.html", "<p>{{ name }}</p>\n")
    recorded.builder.source("<string>", "", -1, 0, -1)
    recorded.code("page.html", [1])
    recorded.code("<string>", [1])
    recorded.code("<template>", [1])
    recorded.code("", [1])
    report = recorded.report()
    assert report.files == []
    assert problems(report) == {}
    assert {problem.path for problem in report.problems} == {str(folder / "page.html"), "<string>", "<template>", ""}


def test_source_in_a_zip(folder, recorded):
    with zipfile.ZipFile(folder / "lib.zip", "w") as archive:
        archive.writestr("pkg/a.py", "a = 1\nb = 2\n")
    data = b"a = 1\nb = 2\n"
    recorded.source("lib.zip/pkg/a.py", None, data)
    recorded.code("lib.zip/pkg/a.py", [1])
    recorded.code("lib.zip/pkg/none.py", [1])
    (folder / "broken.zip").write_bytes(b"PK nonsense")
    recorded.code("broken.zip/a.py", [1])
    report = recorded.report()
    assert [(file.path, file.missing) for file in report.files] == [("lib.zip/pkg/a.py", [2])]
    assert len(problems(report)) == 2


def test_source_that_has_changed(folder, recorded):
    write(folder / "app.py", "a = 1\nb = 2\n")
    write(folder / "same.py", "a = 1\n")
    recorded.source("app.py", None, b"a = 1\nb = 3\n")
    recorded.source("same.py")
    recorded.code("app.py", [1])
    recorded.code("same.py", [1])
    report = recorded.report()
    files = [(file.path, file.changed, file.missing) for file in report.files]
    assert files == [("app.py", True, [2]), ("same.py", False, [])]
    assert list(problems(report)) == [str(folder / "app.py")]
    assert "changed" in problems(report)[str(folder / "app.py")]


def test_an_unreadable_source_is_not_a_changed_one(folder, recorded):
    write(folder / "app.py", "a = 1\n")
    recorded.builder.source("app.py", str(folder / "app.py"), -1, 0, -1)
    recorded.code("app.py", [1])
    assert recorded.report().problems == []


def test_recordings_of_different_sources_merged(folder):
    write(folder / "app.py", "a = 1\nb = 2\n")
    parts = []
    for data in (b"a = 1\nb = 2\n", b"b = 2\na = 1\nc = 3\n"):
        recorded = Recorded(folder)
        recorded.source("app.py", None, data)
        recorded.code("app.py", [1])
        parts.append(recorded.builder.build(recorded.meta))
    report = analyze(parts[0].merge(parts[1]), Settings(folder=str(folder)))
    assert report.files[0].executed == [1]
    texts = [problem.text for problem in report.problems]
    assert len(texts) == 2
    assert "changed" in texts[0]
    assert "2 different versions" in texts[1]


def test_a_line_table_that_lies(folder, recorded):
    write(folder / "app.py", "a = 1\nb = 2\n")
    recorded.code("app.py", [1, 2, 77, 2**40, 0, -3], [(1, 77), (-(2**40), 2)])
    report = recorded.report()
    assert report.files[0].executed == [1, 2]
    assert "(77, 1099511627776)" in problems(report)[str(folder / "app.py")]


def test_nothing_recorded(recorded):
    report = recorded.report()
    assert (report.files, report.problems, report.totals) == ([], [], Percentages())
    assert report.totals.percent == 100


def test_an_empty_file(folder, recorded):
    write(folder / "app.py", "")
    recorded.code("app.py", [1])
    file = recorded.report().files[0]
    assert (file.statements, file.numbers.percent_text(), file.branches, file.source_lines) == ([], "100", {}, [])
    assert file.regions_of("function")[""][0] == 1


# ---- numbers ----


@pytest.mark.parametrize(
    ("percent", "precision", "text"),
    [
        (0, 0, "0"), (0.001, 0, "1"), (0.49, 0, "1"), (1.4, 0, "1"), (99.4, 0, "99"), (99.6, 0, "99"),
        (99.999, 2, "99.99"), (0.0001, 2, "0.01"), (100, 2, "100.00"), (2.5, 0, "2"), (66.666666, 1, "66.7"),
    ],
)  # fmt: skip
def test_percentages_are_0_and_100_only_when_they_are(percent, precision, text):
    assert percent_text(percent, precision) == text


@pytest.mark.parametrize(
    ("percent", "threshold", "precision", "fails"),
    [
        (99.99, 100, 0, True), (100, 100, 0, False), (79.5, 80, 0, False), (79.4, 80, 0, True), (79.5, 80, 1, True),
        (79.94, 79.95, 0, True), (79.946, 79.95, 0, False), (0, 0, 0, False),
    ],
)  # fmt: skip
def test_too_small_a_total(percent, threshold, precision, fails):
    assert fails_under(percent, threshold, precision) is fails


def test_a_threshold_is_a_percentage_and_a_precision_not_negative():
    for threshold in (-1, 101, float("nan")):
        with pytest.raises(UsageError):
            fails_under(50, threshold)
    with pytest.raises(UsageError):
        percent_text(50, -1)
    assert [threshold_precision(of) for of in (80, 80.5, 80.25, 90.0)] == [0, 1, 2, 0]


def test_ranges_of_lines():
    statements = [1, 2, 3, 4, 5, 10, 11, 12, 13, 14]
    assert ranges([1, 2, 5, 10, 11, 13, 14], statements) == [(1, 2), (5, 11), (13, 14)]
    assert ranges([], statements) == []
    assert ranges(statements, statements) == [(1, 14)]
