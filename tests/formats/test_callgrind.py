"""callgrind files, in gprof2dot and back."""

import io
import re
import shutil
import subprocess
from functools import partial

import format_samples as samples
import gprof2dot
import pytest

from seismo import formats

FORMAT = formats.by_name("callgrind")

# As valgrind writes: relative and hexadecimal positions, a file changed inside a function, a jump, several events.
VALGRIND = """\
# callgrind format
version: 1
creator: callgrind-3.20.0
pid: 4711
cmd:  ./a.out
part: 1


desc: I1 cache:
desc: Trigger: Program termination

positions: instr line
events: Ir Dr
summary: 130 5

ob=(1) /src/a.out
fl=(1) /src/a.c
fn=(1) main
0x400 10 20 5
+4 +2 10
fi=(2) /src/inlined.h
+4 3 30
jcnd=1/5 +4 -2
* *
fe=(1)
cfi=(3) /src/b.c
cfn=(2) work
calls=3 0x500 7
+4 11 60

fl=(3)
fn=(2)
0x500 7 50 1
cfn=(3) leaf
calls=6 0x600 9
+4 +1 10

fn=(3)
0x600 9 10
totals: 120 6
"""


written = partial(samples.written, FORMAT)


def parsed(text, capsys):
    profile = gprof2dot.CallgrindParser(io.StringIO(text)).parse()
    assert capsys.readouterr().err == ""
    return profile


def test_gprof2dot_reads_it(capsys):
    recording = samples.typical()
    profile = parsed(written(recording).decode(), capsys)
    whole = sum(recording.tree["own_ns"])
    assert profile[gprof2dot.SAMPLES] == whole
    functions = {function.name: function for function in profile.functions.values()}
    assert len(functions) == len(recording.functions)
    for row in recording.functions:
        name = f"{row.module}:{row.qualname}" if row.module else row.qualname
        assert functions[name][gprof2dot.SAMPLES] == row.own_ns
    assert functions["app.maths:fib"].called == 63
    assert functions["app.maths:fib"][gprof2dot.TOTAL_TIME_RATIO] == pytest.approx(6340 / whole)
    assert functions["__main__:main"].calls["app.maths:fib"][gprof2dot.CALLS] == 1


def test_functions_of_equal_names_stay_apart(capsys):
    b = samples.Builder()
    thread = b.thread(b.process())
    for line in (1, 2):
        b.node(-1, thread, b.function("m", "<lambda>", "m.py", line), calls=line, own_ns=line)
    profile = parsed(written(b.build()).decode(), capsys)
    assert sorted(profile.functions) == ["m:<lambda> (m.py:1)", "m:<lambda> (m.py:2)"]


def test_fib_has_the_total_of_its_outermost_call():
    lines = written(samples.fib_tree()).decode().splitlines()
    at = lines.index("calls=1 3")
    assert lines[at + 1] == f"1 {50 * (2**20 - 1)} {2**20 - 1}"


def test_no_cost_follows_no_calls():
    """callgrind_annotate would take it for the caller's own."""
    lines = written(samples.resumed()).decode().splitlines()
    assert not [line for line in lines if line.startswith("calls=0")]
    at = lines.index("calls=2 1")  # the resumes
    assert lines[at - 1] == "# no call: resumed, or running since the start"
    assert lines[at + 1].split()[1] == str(90_000_100)


def annotated(recording, tmp_path, *options):
    """What callgrind_annotate says of each function: nanoseconds by name."""
    program = shutil.which("callgrind_annotate")
    if program is None:
        pytest.skip("valgrind is not installed")
    path = tmp_path / "callgrind.out"
    path.write_bytes(written(recording))
    command = [program, "--threshold=100", "--show=ns_time", *options, str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^ *([\d,]+) \( *[\d.]+%\)  (\S+)$", out, re.MULTILINE)
    return {name.partition(":")[2].partition(":")[2]: int(cost.replace(",", "")) for cost, name in rows}


@pytest.mark.parametrize("recording", [samples.resumed(), samples.fib_tree()], ids=["resumed", "fib"])
def test_callgrind_annotate_shows_own_times(tmp_path, recording):
    own = {row.qualname: row.own_ns for row in recording.functions if row.own_ns}
    assert annotated(recording, tmp_path) == own


def test_callgrind_annotate_shows_total_times(tmp_path):
    recording = samples.resumed()
    total = {row.qualname: row.total_ns for row in recording.functions}
    assert annotated(recording, tmp_path, "--inclusive=yes") == total


def test_threads_are_parts():
    text = written(samples.typical()).decode()
    assert text.count("\npositions: line\nevents: ns_time calls\n") == 3
    assert "pid: 77\nthread: 79\npart: 2\ndesc: Thread: worker%3B1\n" in text
    back = FORMAT.reader(text.encode())
    assert [(row.process, row.name) for row in back.threads] == [(0, "MainThread"), (0, "worker;1"), (1, "MainThread")]
    assert list(back.processes["pid"]) == [77, 78]


@samples.of_any_recording
def test_functions_and_calls_of_callers_come_back(recording):
    data = written(recording)
    back = FORMAT.reader(data)
    wanted = {key: sums for key, sums in samples.flat(recording, "calls", "own_ns").items() if any(sums)}
    assert samples.flat(back, "calls", "own_ns") == wanted
    assert samples.edges(back, "calls") == samples.edges(recording, "calls")
    profile = gprof2dot.CallgrindParser(io.StringIO(data.decode())).parse()
    assert profile[gprof2dot.SAMPLES] == pytest.approx(sum(recording.tree["own_ns"]))
    assert len(profile.functions) == len({row.function for row in recording.tree})


def test_totals_come_back():
    recording = samples.typical()
    totals = {row.qualname: row.total_ns for row in FORMAT.reader(written(recording)).functions}
    for row in recording.functions:
        assert totals[row.qualname] == pytest.approx(row.total_ns, abs=5)


def test_a_file_of_valgrind_is_read():
    back = FORMAT.reader(VALGRIND.encode())
    rows = {row.qualname: row for row in back.functions}
    main = rows["main"]
    assert (main.own_ns, main.total_ns, main.file, main.line) == (60, 120, "/src/a.c", 10)
    assert (rows["work"].calls, rows["work"].own_ns, rows["work"].file) == (3, 50, "/src/b.c")
    assert (rows["leaf"].calls, rows["leaf"].own_ns, rows["leaf"].total_ns) == (6, 10, 10)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no line of events"),
        ("events: ns\nfn=f\n1 -5\n", "line 3: no number"),
        ("events: ns\nfn=f\n9999999999999999999 1\n", "line 3: no position"),
        ("fn=f\n1 5\n", "line 2: .* before the line of events"),
        ("events: ns\nfn=f\nwhat is this\n", "line 3: unknown line"),
        ("events: ns\nfn=f\ncalls=x 1\n", "line 3: no number"),
        ("events: ns\nfn=f\n" + "1" * 5000 + " 5\n", "line 3: no position"),
    ],
)
def test_what_is_no_callgrind_file_is_refused_with_the_reason(tmp_path, text, reason):
    samples.refused(tmp_path / "x.callgrind", text, reason)
