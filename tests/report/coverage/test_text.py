"""The table of coverage: at every width, sorted, cut down, in full."""

import io

import pytest
from on_paper import written

from seismo.coverage.coverage_report import CoverageReport, FileCoverage, Problem
from seismo.coverage.percentages import too_little
from seismo.coverage.settings import Settings
from seismo.errors import UsageError
from seismo.model import Builder
from seismo.report.coverage.story import missing_text, total_text
from seismo.report.coverage.text import write_end, write_line, write_problems, write_table
from seismo.report.facts import header
from seismo.report.words import Signs


def file(path, statements, missing, branches=None, **more):
    executed = [line for line in statements if line not in missing]
    return FileCoverage(
        path,
        "/home/" + path.lstrip("/"),
        statements,
        executed,
        missing,
        [],
        [f"line {number}" for number in range(1, 400)],
        branches=branches or {},
        exits={line: len(taken) + len(missed) for line, (taken, missed) in (branches or {}).items()},
        **more,
    )


def report(*files, problems=()):
    return CoverageReport(list(files), list(problems), branch=any(one.branches for one in files), counts=False)


TYPICAL = report(
    file(
        "app/core.py", list(range(1, 300)), [*range(3, 9), *range(11, 299, 2)], {20: ((21,), (25,)), 10: ((11,), (-1,))}
    ),
    file("app/a_folder_of_a_long_name/and_a_module_of_a_long_name_as_well.py", [1, 2, 3, 5], [2, 3]),
    file("app/done.py", [1, 2], []),
    file("app/empty.py", [], []),
    file("app/weird\x1b[31m.py", [1], [1]),
)


def table(made=TYPICAL, width=80, plain=False, rows=None, **settings):
    return written(write_table, made, Settings(**settings), rows, width=width, signs=Signs(plain)).splitlines()


@pytest.mark.parametrize("width", [72, 80, 100, 120, 200])
@pytest.mark.parametrize("show_missing", [False, True])
def test_it_fits_and_escapes(width, show_missing):
    lines = table(width=width, show_missing=show_missing)
    assert max(map(len, lines)) <= width
    assert "\x1b" not in "".join(lines)
    assert all(ord(char) < 128 for line in table(width=width, plain=True) for char in line)
    whole = " ".join(" ".join(lines).split())
    assert ("297" in whole) == show_missing


def test_missing_lines_and_branches():
    made = file("x.py", [1, 2, 3, 5, 9, 10], [2, 3, 9], {1: ((2,), (3,)), 5: ((9,), (10, -1)), 9: ((), (10,))})
    assert missing_text(made) == "2-3, 5->10, 5->exit, 9"
    assert total_text(TYPICAL.totals).startswith("50 % of 306 statements and 4 branches in 5 files")


def names(lines):
    return [line.split()[0].rpartition("/")[2] for line in lines[1:] if ".py" in line]


def test_order_and_choice():
    assert names(table(sort="missing"))[:2] == ["done.py", "empty.py"]
    assert names(table(sort="-missing"))[0] == "core.py"
    assert names(table(sort="-name"))[-1] == "core.py"
    assert names(table(sort="percent"))[0] == "weird\\x1b[31m.py"
    assert "done.py" not in names(table(skip_covered=True))
    assert "empty.py" not in names(table(skip_empty=True))
    assert "not shown, but counted" in table(skip_empty=True)[-1]
    cut = table(rows=1)
    assert names(cut) == ["core.py"]
    assert "4 more files" in cut[-1]
    assert next(line for line in table(rows=1) if line.startswith("TOTAL")).split()[1] == "306"
    with pytest.raises(UsageError, match="--sort cannot be"):
        table(sort="size")


def test_a_common_folder_is_said_once():
    lines = table(report(file("/opt/lib/a.py", [1], []), file("/opt/lib/sub/b.py", [1], [1])))
    assert lines[0] == "below /opt/lib/"
    assert names(lines[1:]) == ["a.py", "b.py"]


def test_a_file_that_changed_is_marked_and_the_mark_explained():
    lines = table(report(file("a.py", [1], []), file("b.py", [1], [], changed=True)))
    assert [line.split()[:2] for line in lines if ".py" in line] == [["a.py", "1"], ["b.py", "*"]]
    assert lines[-1] == "* has changed since it ran"
    assert not any("*" in line for line in table())


def test_a_line():
    made = file(
        "app/x.py",
        [1, 2],
        [2],
        {1: ((2,), (-1,))},
        contexts_by_line={1: ["", "test_a", "test_b"]},
        contexts_by_arc={(1, 2): ["test_a"]},
        hits={1: 3},
    )

    def line(place):
        return written(write_line, report(made, file("app/y.py", [1], [])), place)

    said = line("x.py:1")
    for words in ("app/x.py:1  line 1", "executed 3 times", "(test_a)", "in 2 contexts, and in none:", "  test_b"):
        assert words in said
    assert "never executed" in line("app/x.py:2")
    assert "no statement begins here" in line("/home/app/x.py:9")
    assert "no contexts" in line("y.py:1")
    for place in ("x.py", "x.py:one", ":3", "z.py:1"):
        with pytest.raises(UsageError):
            line(place)


def test_problems_are_listed():
    many = [Problem("a.py", f"bad {number}") for number in range(20)]
    said = written(write_problems, report(problems=[*many, Problem("t.html", "a template", True)]))
    assert "problem: a.py: bad 0" in said
    assert "8 more problems" in said
    assert "template" not in said


def test_the_end_of_a_program_of_which_nothing_is_left():
    stream = io.StringIO()
    settings = Settings(folder="/", fail_under=50, notes=("x: not taken over: y",))
    write_end(stream, Builder().build({"recorder": "coverage"}), report(), settings, "r.seismo")
    said = stream.getvalue()
    assert said.startswith("seismo: no line of any file that was to be recorded ran\n")
    assert "note: x: not taken over: y" in said
    assert "there is nothing to report, and 50 % are wanted" in said


def test_nothing_to_report_is_no_success():
    assert "100" not in "".join(table(report()))
    assert len(table(report())) == 1
    assert too_little(report().totals, 1)
    assert not too_little(report().totals, 0)
    assert not too_little(report(file("x.py", [1], [])).totals, 100)


def test_few_missing_lines_need_no_line_of_their_own():
    lines = table(report(file("package/module.py", [1, 2], [2], {1: ((2,), (5,))})), width=80, show_missing=True)
    assert len(lines) == 3
    assert lines[0].endswith("Missing")


def test_the_facts_count_a_line_once():
    """A module that ran as __main__ and by its name has its lines twice."""
    builder = Builder()
    for module in ("__main__", "app"):
        function = builder.function(module, "<module>", "app.py", 1)
        builder.line(function, 1)
        builder.line(function, 2)
    facts = dict(header(builder.build({"recorder": "coverage"}), Signs(False)))
    assert facts["executed"] == "2 lines of 1 file"
