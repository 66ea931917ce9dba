"""Collapsed stacks, in gprof2dot and back."""

import io
import re

import format_samples as samples
import gprof2dot
import pytest

from seismo import formats
from seismo.formats import call_path_builder as paths
from seismo.model import Builder

FORMAT = formats.by_name("collapsed")


def written(recording, name="collapsed"):
    return samples.written(name, recording).decode()


def test_one_thread_has_no_marker_and_several_have():
    assert written(samples.fib_tree(1)).splitlines() == ["__main__:<module> 10", "__main__:<module>;__main__:fib 50"]
    assert written(samples.fib_tree(1), "collapsed-long").splitlines() == [
        "__main__:<module> (fib.py:1) 10",
        "__main__:<module> (fib.py:1);__main__:fib (fib.py:3) 50",
    ]
    first = {line.split(";")[0] for line in written(samples.typical()).splitlines()}
    assert first == {"<process 77>", "<process 78>"}


def test_gprof2dot_reads_it(capsys):
    recording = samples.typical()
    for name, fib in (("collapsed", "app.maths:fib"), ("collapsed-long", "/src/app/maths.py:app.maths:fib")):
        profile = gprof2dot.CollapseParser(io.StringIO(written(recording, name))).parse()
        assert profile[gprof2dot.SAMPLES] == sum(recording.tree["own_ns"])
        assert profile.functions[fib][gprof2dot.SAMPLES] == 6300
    assert capsys.readouterr().err == ""


def only_marked(recording):
    """Whether the file tells all threads apart: one alone has no marker."""
    return len({row.thread for row in recording.tree if row.own_ns}) > 1 and len(
        {row.thread for row in recording.tree}
    ) == len(recording.threads)


@samples.of_any_recording
def test_paths_and_weights_come_back(recording):
    back = FORMAT.reader(written(recording, "collapsed-long").encode())
    key = (lambda row: row.name) if only_marked(recording) else (lambda row: "")
    assert samples.by_path(back, "own_ns", thread_key=key) == samples.by_path(recording, "own_ns", thread_key=key)


@samples.of_any_recording
def test_short_names_tell_functions_apart_as_long_ones_do(recording):
    short, long = (FORMAT.reader(written(recording, name).encode()) for name in ("collapsed", "collapsed-long"))
    assert len(short.functions) == len(long.functions)
    assert sorted(short.functions["own_ns"]) == sorted(long.functions["own_ns"])
    assert sorted(short.tree["own_ns"]) == sorted(long.tree["own_ns"])
    for column in ("module", "qualname"):
        assert sorted(short.functions[column]) == sorted(long.functions[column])


@samples.of_any_recording
def test_calls_come_back_where_they_are_the_weight(recording):
    back = formats.by_name("collapsed-calls").reader(written(recording, "collapsed-calls").encode())
    short = {"thread_key": lambda row: "", "key": lambda row: (row.module, row.qualname)}
    assert samples.by_path(back, "calls", **short) == samples.by_path(recording, "calls", **short)


def test_threads_and_processes_come_back():
    back = FORMAT.reader(written(samples.typical()).encode())
    threads = [(row.native_id, row.name) for row in back.threads]
    assert threads == [(77, "MainThread"), (79, "worker;1"), (78, "MainThread")]
    assert list(back.processes["pid"]) == [77, 78]


def test_too_many_paths_are_refused(monkeypatch):
    monkeypatch.setattr(paths, "MAX_NODES", 1000)
    FORMAT.reader(b";".join([b"a"] * 1000) + b" 1\n")
    with pytest.raises(ValueError, match="more than 1000 paths"):
        FORMAT.reader(b";".join([b"a"] * 1001) + b" 1\n")


def test_files_of_other_tools_are_read():
    text = "main;run (app.py:3);std::sort 12\r\nmain;run (app.py:3) 3.5\n\n[unknown];C:\\dir\\f.dll!g 4\n"
    back = FORMAT.reader(text.encode())
    rows = {row.qualname: row for row in back.functions}
    assert (rows["run"].file, rows["run"].line, rows["run"].own_ns) == ("app.py", 3, 4)
    assert rows["main"].total_ns == 16
    assert rows["C:\\dir\\f.dll!g"].own_ns == 4
    assert set(back.losses["kind"]) == {"calls-unknown", "unit-assumed"}


@pytest.mark.parametrize("text", ["main", "main;run x", "main -3", " 5", "a;b 99999999999999999999", "a;b 1e5"])
def test_what_is_no_stack_is_refused_with_its_line(tmp_path, text):
    samples.refused(tmp_path / "x.collapsed", f"ok 1\n{text}\n", r"line 2|a weight")


def test_short_names():
    """Of two functions of one name the line tells which, of two on the same line the file does."""
    b = Builder()
    thread = b.thread(b.process(pid=1))
    functions = [
        b.function("app", "main", "/long/way/app.py", 1),
        b.function("app", "<lambda>", "/long/way/app.py", 5),
        b.function("app", "<lambda>", "/long/way/app.py", 9),
        b.function("app", "twin", "/a/app.py", 3),
        b.function("app", "twin", "/b/app.py", 3),
        b.function("builtins", "len", kind=1),
        b.function("app", "len", kind=1),
        b.function("", "<folded paths>", kind=2),
        b.function("app", "odd (C)", "/long/way/app.py", 30),
    ]
    for function in functions:
        b.node(-1, thread, function, own_ns=7)
    recording = b.build({})
    lines = written(recording).splitlines()
    assert all(re.fullmatch(r"(.*) ([0-9]+)", line) for line in lines)  # flamegraph.pl's and speedscope's pattern
    words = [line.removesuffix(" 7") for line in lines]
    assert words == [
        "app:main",
        "app:<lambda> (:5)",
        "app:<lambda> (:9)",
        "app:twin (/a/app.py:3)",
        "app:twin (/b/app.py:3)",
        "builtins:len (C)",
        "app:len (C)",
        "<folded paths>",
        "app:odd %28C)",
    ]
    back = FORMAT.reader(written(recording).encode())
    for column in ("kind", "module", "qualname"):
        assert list(back.functions[column]) == list(recording.functions[column])


def test_files_with_long_names_are_read_as_ever():
    back = FORMAT.reader(b"app:main (app.py:1);builtins:len 3\n")
    assert list(back.functions["kind"]) == [0, 1]
    assert list(back.functions["file"]) == ["app.py", ""]
