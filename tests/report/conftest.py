"""Recordings made by hand, and reports of them as text."""

import array
import io
import json
import os
from pathlib import Path

import pytest

from seismo.model import Builder, Recording
from seismo.report.calls.text import write_report
from seismo.report.facts import header, write_notes
from seismo.report.options import Options
from seismo.report.paper import Paper

GOLDEN = Path(__file__).parent / "golden"
LIBRARY = "/usr/lib/python3.12"


@pytest.fixture(scope="session")
def json_tool():
    """The recording of a run of json.tool, always the same: a program as they are.

    It has a few long paths, a generator that calls itself, C functions, two threads, losses.
    """
    b = Builder()
    second = 10**9
    start = 1_790_000_000 * second
    process = b.process(
        pid=4312,
        ppid=17,
        host="box",
        argv=json.dumps(["-m", "json.tool", "big file.json"]),
        interpreter="/usr/bin/python3.12",
        start_ns=start,
        end_ns=start + 1_830_000_000,
        exit="0",
        clock="tsc",
        source="monitoring",
        clock_ns=12.9,
        cost_error=0.1,
    )
    main = b.thread(
        process, name="MainThread", native_id=4312, wall_ns=1_830_000_000, cpu_ns=1_801_000_000, main=1,
        start_ns=start, end_ns=start + 1_830_000_000,
    )  # fmt: skip
    other = b.thread(
        process, name="writer", native_id=4313, wall_ns=300_000_000, cpu_ns=100_000_000, main=0,
        start_ns=start, end_ns=start + 300_000_000,
    )  # fmt: skip

    def python(module, qualname, file, line, flags=0):
        return b.function(module, qualname, f"{LIBRARY}/{file}", line, flags=flags)

    def c(module, qualname):
        return b.function(module, qualname, "", 0, kind=1)

    def node(parent, function, calls, own_ns, thread=main, **more):
        return b.node(parent, thread, function, calls=calls, own_ns=own_ns, **more)

    make = "_make_iterencode.<locals>."
    iterencode_dict = python("json.encoder", make + "_iterencode_dict", "json/encoder.py", 334, flags=1)
    write = c("_io", "TextIOWrapper.write")
    run = node(-1, python("runpy", "_run_module_as_main", "runpy.py", 173), 1, 12_000, flags=4)
    code = node(run, python("runpy", "_run_code", "runpy.py", 67), 1, 3_000)
    module = node(code, python("json.tool", "<module>", "json/tool.py", 1), 1, 40_000_000)
    tool = node(module, python("json.tool", "main", "json/tool.py", 20), 1, 5_000_000, exceptions=1)
    load = node(tool, python("json", "load", "json/__init__.py", 274), 1, 1_000)
    loads = node(load, python("json", "loads", "json/__init__.py", 299), 1, 1_500)
    decode = node(loads, python("json.decoder", "JSONDecoder.decode", "json/decoder.py", 333), 1, 2_000)
    raw = node(decode, python("json.decoder", "JSONDecoder.raw_decode", "json/decoder.py", 343), 1, 4_000)
    node(raw, c("_json", "Scanner.__call__"), 1, 412_000_000)
    dump = node(tool, python("json", "dump", "json/__init__.py", 120), 1, 80_000_000)
    encode = node(
        dump, python("json.encoder", make + "_iterencode", "json/encoder.py", 414, flags=1), 1, 120_000_000,
        resumes=812_345,
    )  # fmt: skip
    level = node(encode, iterencode_dict, 1, 150_000_000, resumes=812_344)
    isinstance_ = c("builtins", "isinstance")
    for depth in range(1, 7):
        node(level, isinstance_, 1_500_000, 15_000_000, flags=1)
        level = node(level, iterencode_dict, 91_234, 90_000_000 // depth, resumes=600_000)
    node(dump, write, 812_345, 111_000_000)
    thread_run = node(-1, python("threading", "Thread._bootstrap", "threading.py", 999), 1, 1_000_000, thread=other)
    node(thread_run, write, 1_000, 20_000_000, thread=other, awaits=2, await_ns=5_000_000)
    b.loss("sites-off", 12, "")
    b.loss("repaired", 1, "")
    b.loss("paths-folded", 3, "")
    return b.build({"implementation": "CPython", "python": "3.12.1", "platform": "linux", "seismo": "0.1.0"})


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # those of who runs the tests


@pytest.fixture(scope="session")
def chain():
    """Makes a recording of one path: chain(functions) where each is a name, or a name and its own time in ns."""

    def make(names, own_ns=1_000_000, meta=None, **more):
        b = Builder()
        thread = b.thread(b.process(pid=1), name="MainThread")
        parent = -1
        for name in names:
            function = b.function("m", name, "/x/m.py", 1)
            parent = b.node(parent, thread, function, calls=1, own_ns=own_ns, **more)
        return b.build(meta or {})

    return make


@pytest.fixture(scope="session")
def report():
    """The report of a recording as lines: report(recording, width, **options)."""

    def make(recording, width=80, signs=None, **options):
        out = io.StringIO()
        paper = Paper(out, width, signs)
        write_report(paper, recording, Options(**options))
        write_notes(paper, header(recording, paper.signs))
        return out.getvalue().splitlines()

    return make


@pytest.fixture(scope="session")
def doubtful():
    """A recording whose times have other errors: doubtful(recording, {qualname: error in ns}); all others none."""

    def make(recording, errors):
        names = recording.functions["qualname"]
        estimated = {name: memoryview(array.array(c.format, c)) for name, c in recording._estimated.items()}
        functions, parents = recording.tree["function"], recording.tree["parent"]
        for function, name in enumerate(names):
            estimated["function_own_error_ns"][function] = errors.get(name, 0.0)
        for row in range(len(functions)):
            estimated["own_error_ns"][row] = estimated["total_error_ns"][row] = errors.get(names[functions[row]], 0.0)
        for row in range(len(functions) - 1, -1, -1):
            if parents[row] >= 0:
                estimated["total_error_ns"][parents[row]] += estimated["total_error_ns"][row]
        for row, error in enumerate(estimated["total_error_ns"]):
            estimated["total_square"][row], estimated["total_distortion"][row] = error**2, 0.0
        changed = Recording(recording._raw, recording._strings, recording.meta)
        changed.__dict__["_estimated"] = estimated  # in the place of the cached property
        changed.timed = lambda times: changed  # estimated anew, it would have its own errors again
        return changed

    return make


@pytest.fixture(scope="session")
def same_as_golden():
    """Compares text with a file of tests/report/golden; SEISMO_GOLDEN=write writes the file instead."""

    def compare(name, lines):
        path = GOLDEN / name
        text = "\n".join(lines) + "\n"
        if os.environ.get("SEISMO_GOLDEN") == "write":
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{name}: SEISMO_GOLDEN=write pytest {__file__} renews it"

    return compare
