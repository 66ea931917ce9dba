"""Names that no format expects, in every kind of recording, written in every format that holds it, and opened again."""

import io
import json
import re
from contextlib import suppress

import covered_samples
import format_samples as samples
import gprof2dot
import journal_made
import pytest
from coverage import CoverageData
from object_builder import ObjectBuilder as Builder
from pycobertura import Cobertura

from seismo import formats, model

NAMES = {
    "not-utf-8": "caf\udce9",
    "surrogate": "\ud800 lone",
    "newline": "a\nend_of_record\nSF:b\r\nc",
    "nul": "a\0b",
    "long": "x" * 10_000,
    "markup": "</script><b x='1'>&amp;\"]]>--><?x?>",
    "controls": "\x1b[31m\x07\x7f\x85\u202e\u2028\ufffe\uffff",
    "separators": "a;b:c,d=e|f%3B\\g(h) 1\t2",
}
START = 10**18


def calls(name, _folder):
    b = Builder()
    times = {"start_ns": START, "end_ns": START + 10**9}
    thread = b.thread(b.process(pid=1, argv=[name], host=name, exit=name, interpreter=name, **times), name=name)
    top = b.node(-1, thread, b.function(name, name, name, 1), calls=1, own_ns=1000)
    middle = b.node(top, thread, b.function("m", name, "f.py", 2), calls=2, own_ns=1000)
    b.node(middle, thread, b.function(name, name, kind=1), calls=3, own_ns=1000)
    b.loss(name, 1, name)
    return b.build({"recorder": "calltree", name: name})


def trace(name, _folder):
    tree, p = journal_made.lone()
    p.call(0)
    p.say(1000, (3, name[:900], {name: name[:900]}, 1), (2, name[:900], 3), (1, name[:900], [name[:900]]))
    for _ in range(10):
        p.call(1)
        p.mark()
        p.leave(journal_made.RETURN)
    p.say(500, (4, name[:900], None, 1))
    p.end()
    process = {"argv": [name], "host": name}
    return journal_made.recording(
        tree, [p], 2, names=[name] * 2, place=(name, name), thread=name, meta={name: name}, **process
    )


def lines(name, _folder):
    b = Builder()
    b.process(pid=1, argv=[name], start_ns=START, end_ns=START + 10**9)
    function = b.function(name, name, name, 1)
    b.line(function, 2, 5, own_ns=1000)
    b.add("instructions", function=function, line=2, text=name, hits=3)
    b.source(name, name)
    return b.build({"recorder": "lines", name: name})


def objects(name, _folder):
    b = Builder()
    b.process(pid=1, argv=[name], start_ns=START, end_ns=START + 10**9)
    made = b.function(name, name, name, 1)
    type_ = b.type(name, name, born=9, died=5, size=16)
    node = b.node(-1, b.thread(0, name=name), made, calls=1)
    leaked = b.object(type_, made, 3, node, born=9, died=5, span_born=5, span_live=4)
    b.object_span(made, 1, start_ns=1, end_ns=2, born=9, died=5, live=4)
    b.object_survivor(0, leaked, 4)
    b.holder(leaked, -1, name, name, count=4, asked=4)
    b.mark(name, 5, 1)
    return b.build({"recorder": "lifetimes", name: name})


def covered(name, folder):
    """A file of that name, if the system takes it, and one of a usual name, in a context of that name."""
    text = f"def f():\n    return {name!a}\n\n\nclass C:\n    def g(self): pass\n# </script>\nif f():\n    f()\n"
    files = []
    word = name.replace("/", "|")
    for path in (folder / "app.py", folder / word / "b.py", folder / f"{word}.py"):
        with suppress(OSError, ValueError):  # the program may have called it so all the same
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        files.append((path, {1: 1, 2: 2, 5: 1, 6: 1, 8: 1, 9: 1}, [(8, 9)], {name: [2, 9]}))
    return covered_samples.by_hand(*files)


KINDS = {"calls": calls, "trace": trace, "lines": lines, "objects": objects, "coverage": covered}
RECORDER = {"calls": "calltree", "trace": "calltree", "objects": "lifetimes"}
CASES = [
    pytest.param(format_, make, name, id=f"{format_.name}-{kind}-{title}")
    for format_ in formats.FORMATS
    for kind, make in KINDS.items()
    for title, name in NAMES.items()
    if format_.holds(RECORDER.get(kind, kind)) and (kind == "trace" or not format_.of_traces)
]


def lines_of(data):
    """The lines of a text, in which nothing does anything to a terminal or to a reader of lines."""
    text = data.decode()
    assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)
    return text.split("\n")


def opened(name, path):
    """What the format's usual reader makes of the file."""
    data = path.read_bytes()
    if name in ("json", "speedscope", "chrome", "firefox", "coverage-json"):
        assert data.isascii()
        assert b"</script" not in data
        return samples.valid(name, data) if name in samples.VALIDATORS else json.loads(data)
    if name.startswith("collapsed"):
        return gprof2dot.CollapseParser(io.StringIO("\n".join(lines_of(data)))).parse()
    if name == "pstats":
        return gprof2dot.PstatsParser(str(path)).parse()
    if name == "callgrind":
        return gprof2dot.CallgrindParser(io.StringIO("\n".join(lines_of(data)))).parse()
    if name == "cobertura":
        return len(Cobertura(str(path)).files())
    if name == "coverage":
        read = CoverageData(str(path))
        read.read()
        return len(read.measured_files())
    if name == "lcov":
        return sum(bool(re.match("SF:", line)) for line in lines_of(data))
    return None  # perfetto, pprof and seismo's own have no reader in Python but ours


@pytest.mark.parametrize(("format_", "make", "name"), CASES)
def test_a_name_is_escaped_as_the_format_allows(format_, make, name, tmp_path):
    recording = make(name, tmp_path)
    path = tmp_path / "written"
    formats.write(recording, path, format_.name)
    found = opened(format_.name, path)
    if format_.name in ("cobertura", "coverage", "lcov"):
        sources = 3 if format_.name == "coverage" else len(list(tmp_path.rglob("*.py")))
        assert found == sources
    if format_.reader and format_.name != "json":
        back = format_.read(str(path))
        assert len(back.functions) >= 1
        assert model.read(back.to_bytes()).kind == back.kind
