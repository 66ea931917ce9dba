"""Recordings without times: everywhere calls stand where times would, and times are refused in a sentence."""

import functools
import io
import re

import children
import pytest

import seismo
from seismo import model
from seismo.errors import FormatError, UsageError
from seismo.formats import write

PROGRAM = """
def leaf(): return len("leaf")
def branch():
    for _ in range(30): leaf()
def main():
    for _ in range(20): branch()
    try: int("x")
    except ValueError: pass
main()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The path of a recording with these options, and its summary. Each is made once."""
    folder = tmp_path_factory.mktemp("timeless")
    (folder / "program.py").write_text(PROGRAM)

    @functools.cache
    def record(*options):
        path = folder / f"{len(options)}.seismo"
        program = folder / "program.py"
        return path, children.seismo("profile", "--c-functions", "all", *options, "-o", path, program).stderr

    return record


def test_every_call_is_counted_and_no_time_is_shown(recorded):
    path, summary = recorded("--timing", "none")
    assert re.search(r"\d %\s+600  __main__:leaf", summary), summary
    shown = children.seismo("report", path).stdout
    assert "no times were taken" in shown
    assert "≥" not in shown
    assert re.search(r"^ +\d[\d.]* % +600 +1,200 +__main__:leaf", shown, re.MULTILINE), shown
    head, tree = shown.split("Call tree by calls")
    assert re.search(r"% +1,220 +20 .*branch", tree), tree
    assert not re.search(r"\d (ns|µs|ms)\b", head.partition("Functions by")[2] + tree)
    recording = model.read(path)
    assert recording.timeless
    counts = {row.qualname: row.calls for row in recording.functions}
    assert (counts["leaf"], counts["len"], counts["branch"]) == (600, 600, 20)
    assert not any(recording.functions["own_ns"])
    assert [row.waits for row in recording.processes] == [""], "nobody has tried how waiting can be told: that sleeps"


def test_times_are_refused(recorded):
    path, _ = recorded("--timing", "none")
    assert "made without times" in children.seismo("report", path, "--time", "cpu", status=2).stderr
    with pytest.raises(FormatError, match="hold times"):
        write(model.read(path), io.BytesIO(), "speedscope")


def test_formats_of_calls_have_the_counts(recorded):
    path, _ = recorded("--timing", "none")
    file = io.BytesIO()
    write(model.read(path), file, "collapsed-calls")
    assert any(
        line.endswith("main;__main__:branch;__main__:leaf 600") for line in file.getvalue().decode().splitlines()
    )


def test_diff_compares_calls_alone(recorded):
    timed, _ = recorded()
    path, _ = recorded("--timing", "none")
    shown = children.seismo("diff", path, timed).stdout
    assert "no times are compared" in " ".join(shown.split())
    assert "own time" not in shown
    assert "Changed in calls: none" in shown


def test_any_recording_can_be_ranked_by_calls(recorded):
    path, _ = recorded()
    shown = children.seismo("report", path, "--time", "calls").stdout
    assert "Functions by calls (100 % is" in shown
    rows = shown.partition("Functions by calls")[2].splitlines()[2:]
    assert {rows[0].split()[-2], rows[1].split()[-2]} <= {"__main__:leaf", "builtins:len"}, rows[:2]


def test_what_needs_times_says_so():
    with pytest.raises(UsageError, match="a trace has times"), seismo.trace(timing="none"):
        pass
