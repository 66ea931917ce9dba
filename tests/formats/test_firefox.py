"""The Firefox profiler's files: held against those of Python 3.15's own collector, and played back to calls."""

import gzip
import importlib.util
import itertools
import json
from collections import Counter
from types import SimpleNamespace

import format_samples as samples
import journal_made
import pytest

from seismo import formats
from seismo.formats import firefox, function_names
from seismo.formats.trace_tracks import steps, trace_tracks


def document(recording):
    return json.loads(samples.written(firefox.FORMAT, recording))


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


def stacks(found, thread, whole=False):
    """[(time in ns, functions of the stack)] of a thread's samples. whole: with their modules."""
    texts, table = found["shared"]["stringArray"], thread["stackTable"]
    result = []
    for stack, time in zip(thread["samples"]["stack"], thread["samples"]["time"], strict=True):
        names = []
        while stack is not None:
            function = thread["frameTable"]["func"][table["frame"][stack]]
            shown = texts[thread["funcTable"]["name"][function]]
            names.append(shown if whole else shown.rpartition(":")[2])
            stack = table["prefix"][stack]
        result.append((round(time * 1e6), names[::-1]))
    return result


@pytest.mark.parametrize("seed", range(3))
def test_a_trace_has_a_sample_at_each_change_of_the_stack(seed):
    made = trace(seed)
    found = check(document(made))
    shown = trace_tracks(made, 10**9)
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
    assert "in sequence" in found["meta"]["importedFrom"]
    assert "in sequence" not in document(trace())["meta"]["importedFrom"]
    total = sum(round(weight * 1e6) for thread in found["threads"] for weight in thread["samples"]["weight"])
    assert total == sum(made.functions["own_ns"])
    assert [thread["name"] for thread in found["threads"]] == ["MainThread", "worker%3B1", "MainThread"]


def test_each_path_of_a_profile_has_its_own_time(tmp_path):
    made = samples.typical()
    names = [function_names.name(row.module, row.qualname) for row in made.functions]
    wanted = samples.by_path(made, "own_ns", thread_key=lambda row: row.native_id, key=lambda row: names[row.id])
    for path in ("x.firefox.json", "x.json", "x.firefox.json.gz"):
        formats.write(made, tmp_path / path, "firefox")
        data = (tmp_path / path).read_bytes()
        found = check(json.loads(gzip.decompress(data) if path.endswith("gz") else data))
        shown = Counter()
        for thread in found["threads"]:
            for (_, stack), weight in zip(stacks(found, thread, whole=True), thread["samples"]["weight"], strict=True):
                shown[thread["tid"], *stack] += round(weight * 1e6)
        assert +shown == {path: ns for path, (ns,) in wanted.items()}
        functions = {}
        for thread in found["threads"]:
            table, texts = thread["funcTable"], found["shared"]["stringArray"]
            for row, number in enumerate(table["name"]):
                file = table["fileName"][row]
                functions[texts[number]] = (texts[file] if file is not None else "", table["lineNumber"][row] or 0)
        places = {
            names[row.id]: (row.file and function_names.name("", row.file), max(row.line, 0)) for row in made.functions
        }
        assert functions == {shown: places[shown] for shown in functions}


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

    collector = GeckoCollector(1000)
    inner, outer = ("/src/app.py", (7, 7, 0, 0), "inner", None), ("/src/app.py", (3, 3, 0, 0), "outer", None)
    for at, frames in ((0, [inner, outer]), (1000, [outer]), (2000, [inner, outer])):
        thread = SimpleNamespace(thread_id=5, status=3, frame_info=frames)
        collector.collect([SimpleNamespace(interpreter_id=0, threads=[thread])], timestamps_us=[10_000 + at])
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
                both = all(isinstance(one, int | float) for one in (value, of_ours[key]))
                assert both or type(value) is type(of_ours[key]), (name, key)
    for version in ("version", "preprocessedProfileVersion"):
        assert theirs["meta"][version] == ours["meta"][version]
