"""The Firefox profiler's files: held against those of Python 3.15's own collector, and played back to calls."""

import contextlib
import gzip
import importlib.util
import io
import itertools
import json
import random

import format_samples as samples
import journal_made
import pytest

from seismo import formats
from seismo.formats import firefox, firefox_read
from seismo.formats.timeline import steps, timeline


def document(recording):
    out = io.BytesIO()
    firefox.FORMAT.write(recording, out)
    return json.loads(out.getvalue())


def trace(seed=3):
    return journal_made.made(seed, events=300)[2]


def check(found):
    """Tables whose columns are all as long as they say, and whose numbers lead somewhere."""
    texts = found["shared"]["stringArray"]
    for thread in found["threads"]:
        lengths = {}
        for name in ("samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols"):
            table = thread[name]
            columns = {key: column for key, column in table.items() if isinstance(column, list)}
            assert {len(column) for column in columns.values()} == {table["length"]}, name
            lengths[name] = table["length"]
        leads = [
            (thread["samples"]["stack"], lengths["stackTable"]),
            (thread["stackTable"]["frame"], lengths["frameTable"]),
            (thread["frameTable"]["func"], lengths["funcTable"]),
            (thread["frameTable"]["category"], len(found["meta"]["categories"])),
            (thread["funcTable"]["name"], len(texts)),
            (thread["funcTable"]["fileName"], len(texts)),
            (thread["funcTable"]["resource"], lengths["resourceTable"]),
            (thread["resourceTable"]["name"], len(texts)),
            (thread["markers"]["name"], len(texts)),
        ]
        for column, length in leads:
            assert all(value is None or 0 <= value < length for value in column)
        assert all(prefix is None or prefix < row for row, prefix in enumerate(thread["stackTable"]["prefix"]))
        assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
    for counter in found["counters"]:
        assert found["threads"][counter["mainThreadIndex"]]["pid"] == counter["pid"]
    return found


def stacks(found, thread):
    """[(time in ns, functions of the stack)] of a thread's samples."""
    texts, table = found["shared"]["stringArray"], thread["stackTable"]
    result = []
    for stack, time in zip(thread["samples"]["stack"], thread["samples"]["time"], strict=True):
        names = []
        while stack is not None:
            function = thread["frameTable"]["func"][table["frame"][stack]]
            names.append(texts[thread["funcTable"]["name"][function]].rpartition(":")[2])
            stack = table["prefix"][stack]
        result.append((round(time * 1e6), names[::-1]))
    return result


@pytest.mark.parametrize("seed", range(8))
def test_a_trace_has_a_sample_at_each_change_of_the_stack(seed):
    made = trace(seed)
    found = check(document(made))
    shown = timeline(made, 10**9)
    names = made.functions["qualname"]
    functions = shown.calls["function"]
    assert len(found["threads"]) == len(shown.tracks)
    for thread, track in zip(found["threads"], shown.tracks, strict=True):
        wanted, path = [], []
        for now, step in steps(shown.calls, track):
            path = [*path, names[functions[step]]] if step >= 0 else path[:-1]
            wanted.append((now, path))
        assert stacks(found, thread) == wanted
        weights = [round(weight * 1e6) for weight in thread["samples"]["weight"]]
        assert weights == [after - now for (now, _), (after, _) in itertools.pairwise(wanted)] + [0]
    assert {thread["pid"] for thread in found["threads"]} == {"7"}


def test_marks_spans_counts_and_gaps_are_markers_and_counters():
    tree, p = journal_made.lone()
    p.call(0)
    p.say(
        1_000_000,
        (1, "here", {"n": 3}),
        (2, "queue", {"value": 2.5}),
        (3, "load", {"rows": 7}, 9),
        (4, "load", None, 9),
        (2, "queue", {"value": 1}),
        (3, "endless", None, 10),
        (4, "unbegun", None, 11),
    )
    p.end()
    found = check(document(journal_made.recording(tree, [p], 1)))
    markers, texts = found["threads"][0]["markers"], found["shared"]["stringArray"]
    names = [texts[number] for number in markers["name"]]
    rows = list(zip(names, markers["phase"], markers["startTime"], markers["endTime"], strict=True))
    assert rows == [("here", 0, 1, None), ("load", 1, 3, 4), ("endless", 2, 6, None), ("unbegun", 3, None, 7)]
    assert json.loads(markers["data"][0]["data"]) == {"n": 3}
    assert {data["type"] for data in markers["data"]} <= {schema["name"] for schema in found["meta"]["markerSchema"]}
    (counter,) = found["counters"]
    assert (counter["name"], counter["samples"]["time"], counter["samples"]["count"]) == ("queue", [2, 5], [2.5, -1.5])


def test_a_profile_has_made_up_times_and_says_so():
    made = samples.typical()
    found = check(document(made))
    assert "not when" in found["meta"]["importedFrom"]
    assert "not when" not in document(trace())["meta"]["importedFrom"]
    total = sum(round(weight * 1e6) for thread in found["threads"] for weight in thread["samples"]["weight"])
    assert total == sum(made.functions["own_ns"])
    assert [thread["name"] for thread in found["threads"]] == ["MainThread", "worker%3B1", "MainThread"]


def test_what_is_written_is_read_back_and_packed(tmp_path):
    made = samples.typical()
    for name in ("x.firefox.json", "x.json", "x.firefox.json.gz"):
        path = tmp_path / name
        formats.write(made, path, "firefox")
        if name.endswith("gz"):
            assert json.loads(gzip.decompress(path.read_bytes()))["meta"]
        back = formats.read(path)
        rows = {row.qualname: (row.own_ns, row.total_ns, row.file, row.line) for row in made.functions if row.own_ns}
        assert {row.qualname: (row.own_ns, row.total_ns, row.file, row.line) for row in back.functions} == rows
        assert [row.pid for row in back.processes] == [77, 78]
        assert list(back.losses["kind"]) == ["calls-unknown"]


def shared(found):
    """The same profile with the tables that all threads share since version 60, and the sources of version 58."""
    (thread,) = found["threads"]
    names = ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols")
    found["shared"] |= {name: thread.pop(name) for name in names}
    files = found["shared"]["funcTable"].pop("fileName")
    found["shared"]["sources"] = {"length": len(files), "id": [None] * len(files), "filename": files}
    sources = [None if name is None else row for row, name in enumerate(files)]
    found["shared"]["funcTable"]["source"] = sources
    return found


def test_newer_versions_are_read_too():
    made = samples.fib_tree(5)
    old, new = firefox_read.read_document(document(made)), firefox_read.read_document(shared(document(made)))
    for recording in (old, new):
        assert [(row.qualname, row.file, row.own_ns) for row in recording.functions] == [
            (row.qualname, row.file, row.own_ns) for row in made.functions
        ]


@pytest.mark.parametrize("seed", range(200))
def test_damaged_numbers_are_errors(seed):
    dice, found = random.Random(seed), document(samples.typical())
    thread = dice.choice(found["threads"])
    table = thread[dice.choice(["samples", "stackTable", "frameTable", "funcTable"])]
    column = dice.choice([column for column in table.values() if isinstance(column, list) and column])
    column[dice.randrange(len(column))] = dice.choice([-1, 10**9, 2.5, "x", None, True, [], 1e308, float("nan")])
    with contextlib.suppress(ValueError):  # some do no harm
        made = firefox_read.read_document(found)
        assert sum(made.functions["own_ns"]) >= 0


# ---- Python's own collector ----

needs_gecko = pytest.mark.skipif(
    importlib.util.find_spec("profiling") is None or importlib.util.find_spec("profiling.sampling") is None,
    reason="profiling.sampling came with Python 3.15",
)

# What the versions after Tachyon's columns no longer have, and what a timeline does not say.
DROPPED = {"stackTable": {"category", "subcategory"}, "frameTable": {"implementation", "optimizations"}}
DROPPED |= {"samples": {"eventDelay"}}
OURS = {"meta": {"exporter", "arguments"}, "": {"counters"}}


def tachyon():
    """A profile that the collector of Python's library makes of two stacks."""
    from profiling.sampling.gecko_collector import GeckoCollector

    class Info:
        def __init__(self, **fields):
            self.__dict__.update(fields)

    collector = GeckoCollector(1000)
    inner, outer = ("/src/app.py", (7, 7, 0, 0), "inner", None), ("/src/app.py", (3, 3, 0, 0), "outer", None)
    for at, frames in ((0, [inner, outer]), (1000, [outer]), (2000, [inner, outer])):
        thread = Info(thread_id=5, status=3, frame_info=frames)
        collector.collect([Info(interpreter_id=0, threads=[thread])], timestamps_us=[10_000 + at])
    return collector._build_profile()


@needs_gecko
def test_fields_are_those_of_pythons_own_files():
    theirs, ours = tachyon(), document(trace())
    pairs = [("", theirs, ours), ("meta", theirs["meta"], ours["meta"])]
    thread, mine = theirs["threads"][0], ours["threads"][0]
    pairs.append(("thread", thread, mine))
    pairs += [(name, thread[name], mine[name]) for name in thread if isinstance(thread[name], dict)]
    pairs.append(("shared", theirs["shared"], ours["shared"]))
    for name, of_theirs, of_ours in pairs:
        assert set(of_theirs) - set(of_ours) == DROPPED.get(name, set()), name
        assert set(of_ours) - set(of_theirs) == OURS.get(name, set()), name
        for key, value in of_theirs.items():
            if key in of_ours and value is not None and of_ours[key] is not None and key != "tid":
                numbers = (int, float)
                both = all(isinstance(one, numbers) for one in (value, of_ours[key]))
                assert both or type(value) is type(of_ours[key]), (name, key)
    for version in ("version", "preprocessedProfileVersion"):
        assert theirs["meta"][version] == ours["meta"][version]


@needs_gecko
def test_pythons_own_files_are_read(tmp_path):
    path = tmp_path / "gecko.json"
    path.write_text(json.dumps(tachyon()))
    made = formats.read(path)
    assert [(row.qualname, row.line) for row in made.functions] == [("outer", 3), ("inner", 7)]
    own = {row.qualname: row.own_ns for row in made.functions}
    assert own["inner"] == 2 * own["outer"] > 0
