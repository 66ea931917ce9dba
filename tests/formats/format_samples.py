"""Recordings that the format tests write and read: a typical one, fib, hostile, deep, and arbitrary ones."""

import io
import json
import random
import re
from collections import defaultdict
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import DOCS

from seismo import formats
from seismo.errors import FormatError
from seismo.model import Builder

SCHEMAS = {
    "json": json.loads((DOCS / "json-schema.json").read_text()),
    "speedscope": json.loads((Path(__file__).parent / "data" / "speedscope-schema.json").read_text()),
}
VALIDATORS = {
    "json": jsonschema.Draft202012Validator(SCHEMAS["json"]),
    "speedscope": jsonschema.Draft7Validator(SCHEMAS["speedscope"]),
}
HOSTILE = [
    "a;b;c",
    "new\nline 5",
    "\x1b[31mred\x1b[0m",
    "\x07\x00\r\t",
    "\ud800 lone \udfff",
    "</script><script>alert(1)</script><!--",
    "(1) looks like a reference",
    "fn=(2) x",
    "# comment",
    "%3B already",
    "100%",
    "a:b",
    "name (file.py:3)",
    "<thread 1 forged>",
    "<process 1>",
    "<built-in method x.y>",
    "'quotes' \"double\" \\back\\slash",
    "\u202eright to left\u2028\u2029",
    "日本語 é 🎉",
    "",
    " ",
    ":",
    "x" * 4096,
    ";%3B" * 1024,
]


def typical():
    """Two processes, three threads, C functions, recursion, a generator, a lower bound, losses."""
    b = Builder()
    first = b.process(
        pid=77,
        ppid=1,
        host="box",
        argv=json.dumps(["app.py", "--fast"]),
        interpreter="/usr/bin/python3",
        start_ns=1_790_000_000_000_000_000,
        end_ns=1_790_000_001_000_000_000,
        exit="0",
        clock="tsc",
        source="monitoring",
    )
    second = b.process(pid=78, ppid=77)
    main_thread = b.thread(first, name="MainThread", native_id=77, main=1, wall_ns=5_000, cpu_ns=4_000)
    worker = b.thread(first, name="worker;1", native_id=79)
    child = b.thread(second, name="MainThread", native_id=78, main=1)
    main = b.function("__main__", "main", "/src/app.py", 1)
    fib = b.function("app.maths", "fib", "/src/app/maths.py", 10)
    gen = b.function("app.maths", "numbers", "/src/app/maths.py", 30, flags=1)
    method = b.function("app.shapes", "Shape.<locals>.area", "/src/app/shapes.py", 7)
    length = b.function("builtins", "len", kind=1)
    append = b.function("builtins", "list.append", kind=1)
    popleft = b.function("collections", "deque.popleft", kind=1)
    folded = b.function("", "<folded paths>", kind=2)
    top = b.node(-1, main_thread, main, calls=1, own_ns=1_000)
    node = top
    for level in range(6):
        node = b.node(node, main_thread, fib, calls=2**level, own_ns=100 * 2**level)
    b.node(node, main_thread, length, calls=5, own_ns=40, flags=1)
    b.node(top, main_thread, append, calls=12, own_ns=120)
    b.node(top, main_thread, folded, calls=3, own_ns=77, flags=2)
    g = b.node(top, main_thread, gen, calls=2, resumes=9, own_ns=300, awaits=2, await_ns=5_000, exceptions=1)
    b.node(g, main_thread, method, calls=9, own_ns=90)
    other = b.node(-1, worker, main, calls=1, own_ns=500)
    b.node(other, worker, popleft, calls=4, own_ns=44)
    b.node(other, worker, method, calls=6, own_ns=60)
    b.node(-1, child, method, calls=1, own_ns=2_500)
    b.loss("repaired", 2, "generator\nclosed")
    return b.build({"seismo": "0.1.0"})


def fib_tree(depth=20):
    """The tree that fib leaves: one node a level. Calls, and own time in ns."""
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    node = b.node(-1, thread, b.function("__main__", "<module>", "fib.py", 1), calls=1, own_ns=10)
    fib = b.function("__main__", "fib", "fib.py", 3)
    for level in range(depth):
        node = b.node(node, thread, fib, calls=2**level, own_ns=50 * 2**level)
    return b.build()


def resumed():
    """`start` calls a generator that does little; `finish` only resumes it, and then it works. One frame ran before."""
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    gen, burn = b.function("m", "gen", "m.py", 1), b.function("m", "burn", "m.py", 5)
    main = b.node(-1, thread, b.function("m", "<module>", "m.py", 1), own_ns=40, flags=4)
    start = b.node(main, thread, b.function("m", "start", "m.py", 10), calls=1, own_ns=300)
    finish = b.node(main, thread, b.function("m", "finish", "m.py", 20), calls=1, own_ns=5_000)
    b.node(start, thread, gen, calls=1, own_ns=200)
    again = b.node(finish, thread, gen, resumes=2, own_ns=100)
    b.node(again, thread, burn, calls=1, own_ns=90_000_000)
    running = b.node(main, thread, b.function("m", "running", "m.py", 30), own_ns=7, flags=4)
    b.node(running, thread, burn, calls=1, own_ns=60)
    return b.build()


def chain(depth):
    """One call below another, of alternating functions."""
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    functions = [b.function("deep", name, "deep.py", 1 + place) for place, name in enumerate(("even", "odd"))]
    node = -1
    for level in range(depth):
        node = b.node(node, thread, functions[level % 2], calls=1, own_ns=level + 1)
    return b.build()


def hostile():
    """Every hostile text as module, name, file and thread."""
    b = Builder()
    process = b.process(pid=5, argv=json.dumps(HOSTILE[:-1]), exit=HOSTILE[1])
    for place, text in enumerate(HOSTILE):
        thread = b.thread(process, name=text, native_id=1000 + place)
        top = b.node(-1, thread, b.function(text, "f", "f.py", 1), calls=1, own_ns=11_000)
        named = b.node(top, thread, b.function("m", text, "f.py", 2), calls=2, own_ns=22_000)
        b.node(named, thread, b.function("m", "g", text, 3), calls=3, own_ns=33_000)
        b.node(named, thread, b.function(text, text, kind=1), calls=4, own_ns=44_000)
        b.loss(text, 1, text)
    return b.build({text: text for text in HOSTILE})


def empty():
    """Nothing at all: no process, no thread."""
    return Builder().build()


def idle():
    """A thread in which nothing happened."""
    b = Builder()
    b.thread(b.process(pid=9), name="MainThread")
    return b.build()


def of_hosts(folder, tasks, workers=()):
    """A dataset of processes on hosts h0 and h1, each with a task; those of `workers` call in a second thread, too."""
    pytest.importorskip("duckdb", reason="datasets need DuckDB")
    pytest.importorskip("pyarrow", reason="datasets need PyArrow")
    from seismo.dataset import append

    for number, task in enumerate(tasks):
        b = Builder()
        process = b.process(100, host=f"h{number % 2}", start_ns=1 + number)
        for name in ("MainThread", "w")[: 1 + (number in workers)]:
            thread = b.thread(process, name, main=name != "w")
            top = b.node(-1, thread, b.function("m", "run", "m.py", 1), calls=1, own_ns=10)
            b.node(top, thread, b.function("m", "step", "m.py", 9), calls=10**number, own_ns=5)
        append(folder, [b.build({"recorder": "calltree"})], {"task": task} if task else {})
    return folder


texts = st.text(
    alphabet=st.one_of(
        st.sampled_from(";:()<>%/\\. \n\r\x1b\x00\ud800\u202e#'\"2B=*+-"),
        st.characters(codec=None, exclude_categories=()),
    ),
    max_size=12,
)


# Callgrind and pstats write ~ for what is in no file, callgrind knows ??? as well
NO_FILES = ("", "~", "???")


@st.composite
def recordings(draw, times=st.integers(0, 10**15)):  # noqa: B008  a strategy never changes
    """Arbitrary recordings whose paths are distinct, as the recorder's are."""
    b = Builder()
    ids = []
    for pid in range(draw(st.integers(1, 2))):
        process = b.process(pid=pid + 1)
        for native in range(draw(st.integers(1, 3))):
            ids.append(b.thread(process, name=draw(texts), native_id=100 * pid + native))
    functions = []
    for place in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from([0, 0, 1]))
        file, line = draw(texts), draw(st.integers(1, 10**6))
        file, line = ("f.py" if file in NO_FILES else file, line) if kind == 0 else ("", 0)
        module = draw(texts) or ("m" if kind == 1 else "")
        functions.append(b.function(module, draw(texts) + str(place), file, line, kind=kind))
    made = []
    known = set()
    for _ in range(draw(st.integers(0, 25))):
        parent, thread = draw(st.sampled_from([(-1, thread) for thread in ids] + made[-8:]))
        function = draw(st.sampled_from(functions))
        if (parent, thread, function) in known:
            continue
        known.add((parent, thread, function))
        counts = {key: draw(st.integers(0, 10**6)) for key in ("calls", "resumes", "exceptions", "awaits")}
        node = b.node(
            parent,
            thread,
            function,
            own_ns=draw(times),
            await_ns=draw(times),
            flags=draw(st.sampled_from([0, 1])),
            **counts,
        )
        made.append((node, thread))
    return b.build()


def of_any_recording(test):
    """Run a test with arbitrary recordings."""
    return settings(max_examples=40, deadline=None)(given(recordings())(test))


def function_key(row):
    return (row.module, row.qualname, row.file, row.line)


def sums(keys, rows, columns):
    """{key: the sums of the columns over its rows}, without the keys where all of them are 0."""
    found = defaultdict(lambda: (0,) * len(columns))
    for key, row in zip(keys, rows, strict=True):
        found[key] = tuple(sum_ + getattr(row, column) for sum_, column in zip(found[key], columns, strict=True))
    return {key: values for key, values in found.items() if any(values)}


def flat(recording, *columns, key=function_key):
    """{function: the columns' sums}."""
    return sums(map(key, recording.functions), recording.functions, columns)


def by_path(recording, *columns, thread_key=lambda thread: thread.name, key=function_key):
    """{(thread, function, function, ...): the columns' sums}."""
    threads = [thread_key(row) for row in recording.threads]
    keys = [key(row) for row in recording.functions]
    paths = []
    for row in recording.tree:
        paths.append((*(paths[row.parent] if row.parent >= 0 else (threads[row.thread],)), keys[row.function]))
    return sums(paths, recording.tree, columns)


def edges(recording, column, key=function_key):
    """{(caller, callee): the column's sum}; the caller of a root is None."""
    keys = [key(row) for row in recording.functions]
    rows = list(recording.tree)
    callers = (keys[rows[row.parent].function] if row.parent >= 0 else None for row in rows)
    found = sums(zip(callers, (keys[row.function] for row in rows), strict=True), rows, [column])
    return {edge: value for edge, (value,) in found.items()}


def written(entry, recording, weight=""):
    """The file that a format makes of a recording. entry: the format, or its name."""
    out = io.BytesIO()
    (formats.by_name(entry) if isinstance(entry, str) else entry).write(recording, out, weight)
    return out.getvalue()


def valid(name, data):
    """The document that a JSON file of this format holds, by the schema of the format."""
    document = json.loads(data)
    VALIDATORS[name].validate(document)
    return document


def damaged(whole, turns):
    """Yield a file's content cut short, with other bytes, a piece of it twice, without a piece, with other numbers."""
    dice = random.Random(20)
    numbers = [found.span() for found in re.finditer(rb"\d+", whole)]
    for turn in range(turns):
        data = bytearray(whole)
        at = dice.randrange(len(data))
        kind = turn % 5
        if kind == 0:
            del data[at:]
        elif kind == 1:
            for _ in range(dice.randrange(1, 6)):
                data[dice.randrange(len(data))] = dice.randrange(256)
        elif kind == 2:
            data[at:at] = data[dice.randrange(len(data)) :][: dice.randrange(100)]
        elif kind == 3:
            del data[at : at + dice.randrange(1, 20)]
        elif numbers:
            start, end = dice.choice(numbers)
            data[start:end] = dice.choice([b"-1", b"1e400", b"18446744073709551616", b"null", b"99"])
        yield bytes(data)


def refused(path, data, reason):
    """Holds that the file at `path`, with this content, is refused with the reason."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(FormatError, match=reason):
        formats.read(path)
