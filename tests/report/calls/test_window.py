"""What a trace says in text: a window of time, the end of a program that died, the longest calls; and its check."""

import array
import io

import journal_made
import pytest
from children import seismo
from on_paper import written

from seismo.errors import UsageError
from seismo.model import merge, read
from seismo.model.combine import with_losses
from seismo.report.calls import window
from seismo.report.calls.text import write_trace
from seismo.report.calls.verify import write_verified
from seismo.report.calls.window import nanoseconds, write_window
from seismo.report.paper import Paper


def returns(p, function, ns=0):
    """Play a call that takes so long."""
    p.call(function)
    p.pass_time(ns)
    p.leave(journal_made.RETURN)


def played():
    """main calls f1 500 times, which calls f3 three or four times; then f1 and f4 in turn; then a generator."""
    tree, p = journal_made.lone(start_ns=1000)
    p.call(0)
    for turn in range(500):
        p.pass_time(200)
        p.call(1)
        for _ in range(3 + turn % 2):
            returns(p, 3, 500)
        p.leave(journal_made.RETURN)
        p.mark()
    for _ in range(20):
        returns(p, 1)
        p.call(4)
        p.pass_time(700)
        p.leave(journal_made.UNWIND)
        p.mark()
    p.call(2)
    p.leave(journal_made.YIELD)
    p.enter(tree.child(0, p.node, 2), resumed=True)
    p.instant(1, "here\x1b[31m", {"n": 3})
    p.mark()
    p.end(in_order=False)
    names = ["main", "f1", "steps", "f3", "f4"]
    return journal_made.recording(tree, [p], 5, names=names)


def shown(recording, around, span=None, **how):
    return written(write_window, recording, around, span, **how)


def test_loops_are_one_line():
    """Five hundred rounds of a loop are a line, though inner loops turn three and four times."""
    text = shown(played(), "0.001s", "2s")
    lines = text.splitlines()
    assert sum("made:f1" in line for line in lines) == 2
    assert any("made:f1" in line and "× 500" in line for line in lines)
    assert any("made:f4" in line and "× 20, left by an exception, 2 of 2 a round" in line for line in lines)
    assert any("made:steps" in line and "resumed" in line for line in lines)


def test_a_window_shows_its_time_only():
    recording = played()
    early = shown(recording, "10us", "4us")
    assert "made:main" in early
    assert "made:f4" not in early
    assert "from 0.000008 s to 0.000012 s" in early


def test_the_end_is_the_last_calls_with_those_that_made_them():
    text = shown(played(), "end")
    assert "52 calls" in text or "51 calls" in text
    assert "made:main" in text
    assert "still running" in text
    assert "mark here" in text
    assert "\x1b" not in text


def test_each_thread_ends_in_its_own_time(monkeypatch):
    """One that ended long before does not use up the calls that are read, so that the others' last ones are missing."""
    monkeypatch.setattr(window, "MOST", 700)
    tree = journal_made.Tree()
    threads = [journal_made.Played(tree, thread, 0, 1000, block_bytes=400) for thread in range(2)]
    for p, rounds in zip(threads, (2, 1000), strict=True):
        for _ in range(rounds):
            returns(p, 1, 500)
            p.mark()
        returns(p, 3)
        p.end()
    recording = journal_made.recording(tree, threads, 5, threads=2, names=["main", "f1", "steps", "last", "f4"])
    text = shown(recording, "end")
    assert text.count("made:last") == 2
    assert "calls were read" not in text
    assert text.count("thread 0") == 1


def test_rows_are_limited_and_the_rest_is_told():
    assert "more (--limit N)" in shown(played(), "0.001s", "2s", limit=2)


@pytest.mark.parametrize(
    ("word", "ns"),
    [("1.2s", 1_200_000_000), ("300ms", 300_000_000), ("45us", 45_000), ("5", 5 * 10**9), (".5 s", 5 * 10**8)],
)
def test_times_are_read(word, ns):
    assert nanoseconds(word, "--around") == ns


@pytest.mark.parametrize("word", ["", "soon", "1.2.3s", "-1s", "9" * 30])
def test_what_is_no_time_is_refused(word):
    with pytest.raises(UsageError, match="is no time"):
        nanoseconds(word, "--around")


def test_a_time_after_the_end_is_refused():
    with pytest.raises(UsageError, match="ended before that time"):
        shown(played(), "5s")


def test_the_command_shows_a_window_and_verifies(tmp_path):
    path = tmp_path / "made.seismo"
    played().save(path)
    assert "made:main" in seismo("report", path, "--around", "end").stdout
    assert "Longest calls" in seismo("report", path).stdout
    assert "the journal agrees with the tree: 2,292 calls, 1 resume" in seismo("info", "--verify", path).stdout
    assert "--window needs --around" in seismo("report", path, "--window", "1ms", status=2).stderr


def test_verifying_tells_where_journal_and_tree_differ():
    recording = played()
    raw = recording._raw["nodes"]
    calls = raw["calls"].tolist()
    calls[1] += 1
    raw["calls"] = memoryview(array.array("q", calls))
    out = io.StringIO()
    assert write_verified(Paper(out, 100), read(recording.to_bytes()), "made.seismo") == 1
    assert "node 1, made:f1: calls 520, in the tree 521" in out.getvalue()


def deep():
    """Thirty calls in each other, the innermost of which calls two functions."""
    tree, p = journal_made.lone(start_ns=1000)
    for number in range(30):
        p.call(number)
    p.pass_time(10_000)
    p.mark()
    for number in (30, 31):
        returns(p, number, 100)
        p.mark()
    p.end(in_order=False)
    return journal_made.recording(tree, [p], 32)


def test_what_a_thread_is_deep_inside_is_said_above():
    """The calls of a deep program stand at the margin; what they are in is a line, the nearest of it."""
    lines = shown(deep(), "12us", "2us").splitlines()
    inside = next(line for line in lines if line.startswith("inside "))
    assert "made:f27" in " ".join(lines)
    assert "made:f3 " not in inside
    row = next(line for line in lines if "made:f31" in line)
    assert row.index("made:f31") < 50


def test_a_journal_that_outlived_its_tree_agrees_with_it():
    """Of a program that was killed, the journal tells what came after the last flush of the tree."""
    recording = played()
    raw = recording._raw["nodes"]
    raw["calls"] = memoryview(bytearray(8 * len(raw["calls"]))).cast("q")
    out = io.StringIO()
    cut = with_losses(recording, [{"kind": "cut-short", "count": 1000, "thread": -1, "detail": "process 7"}])
    assert write_verified(Paper(out, 100), cut, "made.seismo") == 0
    assert "goes on after its last flush: 2,292 events more" in out.getvalue()


def spoken():
    """A span in another one, one that an exception left, one without an end, and a count."""
    tree, p = journal_made.lone(start_ns=1000)
    p.call(0)
    for kind, number, name, data, after in [
        (3, 1, "request", {"path": "/x"}, 1_000),
        (3, 2, "load", {"rows": 3, "in": 1}, 4_000),
        (4, 2, "load", {"error": "OSError"}, 500),
        (2, None, "queue", {"value": 4}, 500),
        (4, 1, "request", None, 1_000),
        (3, 3, "request", {"path": "/y\x1b"}, 2_000),
        (4, 3, "request", None, 1_000),
        (3, 4, "open", None, 3_000),
    ]:
        p.instant(kind, name, data, span=number)
        p.mark()
        p.pass_time(after)
    p.leave(journal_made.RETURN)
    p.mark()
    p.end()
    return journal_made.recording(tree, [p], 1)


def test_spans_have_a_line_each_with_what_they_are_in():
    """Not one line where it begins and another where it ends: how long it took is what one asks for."""
    text = shown(spoken(), "10us", "1s")
    assert "span request path='/x': 6.00 µs" in text
    assert "span load rows=3 in request: 4.00 µs, left by OSError" in text
    assert "span open: goes on" in text
    assert "count queue = 4" in text
    assert "\x1b" not in text


def test_a_window_says_where_a_span_ends_that_began_before_it():
    text = shown(spoken(), "6us", "2us")
    assert "span load ends" in text
    assert "span request" not in text


def test_the_longest_spans_are_in_the_report():
    """Of each name one, with how many there are and what they took together; without an end, it took at least that."""
    lines = written(write_trace, spoken()).splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("Longest spans"))
    request, load, open_ = lines[first + 2 : first + 5]
    assert request.split() == ["6.00", "µs", "0.000001", "s", "2", "8.00", "µs", "request", "path='/x'"]
    assert "load rows=3  left by OSError" in load
    assert "≥ 3.00 µs" in open_
    assert "still open" in open_
    assert "Longest spans" not in shown(played(), "end")


def test_a_merge_ends_with_the_last_calls_of_those_who_were_killed():
    """What the others did last is no part of how this one died."""
    killed, ended = played(), played()
    ended._raw["processes"]["pid"] = memoryview(array.array("q", [8]))
    cut = with_losses(killed, [{"kind": "cut-short", "count": 1000, "thread": -1, "detail": "process 7"}])
    text = written(write_trace, merge([ended, cut]))
    assert text.count("made:main") == 2  # among the longest calls, and of one thread
    assert "the last 50 calls of each thread" in text
    assert "the last 50 calls" not in written(write_trace, merge([ended, played()]))


def test_a_profile_has_nothing_to_show_around_a_time(tmp_path):
    path, recording = tmp_path / "profile.seismo", played()
    recording._journal = None
    recording.save(path)
    assert "this recording is not a trace" in seismo("report", path, "--around", "1s", status=2).stderr
    seismo("info", "--verify", path, status=2)
