"""Parts of real traces, written by seismo export beside what is there, and read by every other command."""

import json

import children
import pytest

from seismo.model import read

PROGRAM = """
import asyncio, os, threading, time
def leaf(i):
    return i
def fast(n):
    for i in range(n):
        leaf(i)
def slow():
    time.sleep(0.02)
    fast(3)
def fail():
    fast(2)
    raise ValueError
def work():
    for _ in range(20):
        fast(50)
    slow()
    try:
        fail()
    except ValueError:
        pass
threads = [threading.Thread(target=work, name=f"worker {n}") for n in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
async def main():
    await asyncio.gather(*(asyncio.sleep(0) for _ in range(3)))
asyncio.run(main())
work()
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The trace of the program."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.py").write_text(PROGRAM)
    children.seismo("trace", "-q", "-o", "t.seismo", "program.py", cwd=folder)
    return folder / "t.seismo"


@pytest.fixture
def cut(seismo, tmp_path):
    """Cuts the file; what comes of it must agree with itself. Gives the recording."""

    def run(path, *words):
        done = seismo("export", path, "-o", "part.seismo", *words)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        verified = seismo("info", "--verify", "part.seismo")
        assert verified.returncode == 0, verified.stdout
        return read(tmp_path / "part.seismo")

    return run


def names(recording):
    functions = recording.functions["qualname"]
    return [functions[row.function] for row in recording.calls.window().calls]


def test_a_window_of_a_program(seismo, program, cut):
    whole = read(program)
    end = whole.calls.end_ns
    part = cut(program, "--from", f"{end // 4}ns", "--to", f"{end // 2}ns")
    begun = [
        row
        for row in whole.calls.window(end // 4, end // 2).calls
        if end // 4 <= row.start_ns < end // 2 and not row.flags & 5
    ]
    assert sum(part.tree["calls"]) + sum(part.tree["resumes"]) == len(begun)
    shown = seismo("report", "part.seismo")
    assert f"from {end // 4 / 1e9:,.6f} s to {end // 2 / 1e9:,.6f} s of the recording" in " ".join(shown.stdout.split())
    seismo("export", "part.seismo", "-o", "part.json", "-f", "chrome", status=0)
    seismo("diff", program, "part.seismo", status=0)


def test_the_end_can_be_said_in_words(program, cut):
    whole = read(program)
    end = whole.calls.end_ns
    middle = whole.calls.window().calls[-1].start_ns
    part = cut(program, "--from", f"end-{end + 1 - middle}ns")
    assert min(row.start_ns for row in part.calls.window().calls) >= middle
    assert part.meta["cut"] == [{"from_ns": middle, "to_ns": end, "where": ""}]
    assert cut(program, "--to", "end").calls.end_ns == end


def test_calls_of_an_expression(program, cut):
    found = names(cut(program, "--where", 'function("fast") and thread("worker 1") or function("fail")'))
    assert found.count("fast") == 20 + 1 + 3  # of the worker: in work() and slow(); in fail() of all three
    assert found.count("leaf") == 20 * 50 + 3 + 2 * 3
    where = 'function("*") and duration > 15ms and not function("work", "<module>", "_*", "run")'
    slow = cut(program, "--where", where)
    assert "slow" in names(slow)
    left = names(cut(program, "--where", 'unwind and function("fail")'))
    assert left.count("fail") == 3
    assert left.count("leaf") == 6
    assert "slow" not in left


def test_what_is_there_is_kept(seismo, traced, tmp_path):
    path = traced("pass")
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    for words in (["--from", "0s"], ["--where", "call"]):
        done = seismo("export", path, *words, "-f", "seismo", "-o", precious)
        assert (done.returncode, precious.read_bytes()) == (2, b"mine")
        assert "--force overwrites it" in done.stderr
    seismo("export", path, "--to", "1s", "-f", "seismo", "-o", precious, "--force", status=0)
    assert read(precious).calls
    same = seismo("export", path, "--to", "1s", "-o", path, "--force")
    assert (same.returncode, "the output is the recording itself" in same.stderr) == (2, True)
    seismo("export", path, "--to", "1s", "-f", "seismo", "-o", tmp_path, status=2)


def test_any_format_holds_a_part(seismo, program, cut, tmp_path):
    """The part's calls and nothing else, as of the same part in a recording; on standard output, too."""
    words = ("--where", 'function("fail")', "--to", "end")
    part = cut(program, *words)
    rows = part.calls.window().calls
    seismo("export", program, *words, "-o", "part.trace.json", status=0)
    events = json.loads((tmp_path / "part.trace.json").read_text())["traceEvents"]
    assert [event["dur"] for event in events if event["ph"] == "X"] == [
        pytest.approx((row.end_ns - row.start_ns) / 1000) for row in rows
    ]
    counted = seismo("export", program, *words, "-f", "collapsed-calls").stdout
    assert sum(int(line.rpartition(" ")[2]) for line in counted.splitlines()) == sum(part.tree["calls"])
    seismo("export", program, *words, "-f", "pstats", "-o", "part.pstats", "--time", "wait", status=2)


@pytest.mark.parametrize(("word", "value"), [("--from", "soon"), ("--to", "end-soon")])
def test_what_is_no_time_is_said(seismo, program, word, value):
    said = seismo("export", program, word, value, "-o", "part.seismo", status=2).stderr
    assert said.startswith(f"seismo: 'soon' is no time\n        {word}\n")


def test_a_profile_has_nothing_to_cut(seismo, recording):
    for words in (["--from", "1s", "-o", "part.seismo"], ["--where", "call", "-f", "pstats"]):
        said = seismo("export", recording, *words, status=2).stderr
        assert "this recording is not a trace" in said
        assert "to record one: seismo trace SCRIPT" in said
