"""Births and deaths of objects in JSON, collapsed stacks and speedscope."""

import io
import json
import re

import format_samples as samples
import gprof2dot
import pytest
from object_builder import ObjectBuilder as Builder
from objects_made import META, drawn, told

from seismo import formats
from seismo.formats.base import MAX_DEPTH
from seismo.formats.function_names import escape
from seismo.model.objects.groups import by_path, by_type
from seismo.model.objects.leaks import leaks

SAMPLES = [told, *(lambda seed=seed: drawn(seed) for seed in range(3))]
VALUES = {"births": "born", "bytes": "bytes", "survivors": "live"}


def written(recording, name, weight=""):
    return samples.written(name, recording, weight).decode()


# ---- JSON ----


@pytest.mark.parametrize("make", [*SAMPLES, lambda: Builder().build(META)])
def test_the_schema_holds(make):
    samples.valid("json", written(make(), "json"))


def test_the_lists_say_what_the_model_does():
    document = json.loads(written(told(), "json"))
    types = {row["type"]: row for row in document["types"]}
    dicts = types["dict"]
    assert (dicts["born"], dicts["died"], dicts["live"], dicts["died_by_gc"]) == (120, 110, 10, 40)
    assert (dicts["bytes"], dicts["at_least"], dicts["bytes_live"], dicts["live_at_least"]) == (7680, True, 640, True)
    assert types["float"]["before"] == 7
    first = document["objects"][0]
    columns = ("type", "qualname", "file", "line")
    assert [first[column] for column in columns] == ["app.Session", "handle", "/src/app.py", 12]
    assert document["lifetimes"][0] == {"object": 4, "unit": "births", "bucket": 0, "count": 100}
    assert len(document["spans"]) == 20
    assert document["survivors"][0] == {"span": 0, "object": 0, "count": 1}
    assert document["holders"][1]["holder"] == "module app"
    assert document["marks"] == [{"name": "before", "time_ns": 1001, "born": 100, "process": 0}]
    assert document["timeline"][-1] == {"time_ns": 1030, "born": 300, "died": 270}


def test_leaks_are_listed():
    listed = json.loads(written(told(), "json"))["leaks"]
    assert [(row["type"], row["line"], row["verdict"], row["alive"]) for row in listed] == [
        (leak.group.type, leak.group.line, leak.verdict, leak.alive) for leak in leaks(told())
    ]
    assert listed[0]["parts"] == [2] * 10
    assert (listed[0]["per_call"], listed[0]["bytes"], listed[0]["objects"]) == (1, 960, [0])


def test_calls_alone_have_no_lists_of_objects():
    assert not json.loads(written(samples.typical(), "json")).keys() & {"types", "objects", "leaks"}


# ---- stacks ----


def totals(recording, weight):
    """What stacks add up to, by type."""
    sums = {}
    for group in by_path(recording) or by_type(recording):
        value = getattr(group, VALUES[weight])
        if value:
            sums[escape(group.type)] = sums.get(escape(group.type), 0) + value
    return sums


@pytest.mark.parametrize("weight", formats.WEIGHTS)
@pytest.mark.parametrize("make", SAMPLES)
def test_stacks_have_the_weight_that_was_asked_for(make, weight):
    recording = make()
    sums = {}
    stacks = []
    for line in written(recording, "collapsed", weight).splitlines():
        stack, amount = re.fullmatch(r"(.*) ([0-9]+)", line).groups()
        stacks.append(stack)
        leaf = stack.split(";")[-1]
        sums[leaf] = sums.get(leaf, 0) + int(amount)
    assert sums == totals(recording, weight)
    assert len(set(stacks)) == len(stacks)
    document = samples.valid("speedscope", written(recording, "speedscope", weight))
    (profile,) = document["profiles"]
    names = [frame["name"] for frame in document["shared"]["frames"]]
    again = {}
    for sample, amount in zip(profile["samples"], profile["weights"], strict=True):
        again[names[sample[-1]]] = again.get(names[sample[-1]], 0) + amount
    assert again == sums
    assert sum(profile["weights"]) == profile["endValue"]
    assert profile["unit"] == ("bytes" if weight == "bytes" else "none")


def test_without_paths_a_stack_is_the_line_and_the_type():
    assert written(told(), "collapsed", "survivors").splitlines() == [
        "app:handle (/src/app.py:12);app.Session 20",
        "app:handle (/src/app.py:13);dict 10",
        "app:handle (/src/app.py:15);tuple 2",
    ]
    assert written(told(), "collapsed") == written(told(), "collapsed", "births")


def test_with_paths_the_maker_has_the_line_that_made_them():
    b = Builder()
    thread = b.thread(b.process(), "t")
    main, make = b.function("app", "main", "a.py", 1), b.function("app", "make", "a.py", 5)
    sort = b.function("builtins", "sorted", kind=1)
    type_ = b.type("builtins", "list", born=9)
    top = b.node(-1, thread, main, calls=1)
    below = b.node(top, thread, make, calls=1)
    b.object(type_, make, 7, below, born=4)
    b.object(type_, make, 8, b.node(below, thread, sort, calls=1), born=3)
    b.object(type_, -1, 0, top, born=1)
    b.object(type_, born=1)
    assert set(written(b.build(META), "collapsed").splitlines()) == {
        "app:main (a.py:1);app:make (a.py:7);list 4",
        "app:main (a.py:1);app:make (a.py:8);builtins:sorted;list 3",
        "app:main (a.py:1);list 1",
        "<no Python function>;list 1",
    }


def test_types_alone_are_stacks_of_one():
    b = Builder()
    b.type("app", "T", born=5, died=5, size=10)
    b.type("", "U", born=2, size=8)
    assert written(b.build(META), "collapsed", "bytes") == "U 16\napp.T 50\n"
    assert written(b.build(META), "collapsed", "survivors") == "U 2\n"


def test_a_deep_path_is_cut():
    b = Builder()
    thread = b.thread(b.process(), "t")
    f, g = b.function("deep", "f", "d.py", 1), b.function("deep", "g", "d.py", 9)
    node = -1
    for _ in range(20_000):
        node = b.node(node, thread, f, calls=1)
    b.object(b.type("", "T", born=1), g, 11, b.node(node, thread, g, calls=1), born=1)
    (line,) = written(b.build(META), "collapsed").splitlines()
    assert line.count(";") == MAX_DEPTH + 2
    assert line.endswith(";<deeper>;deep:g (d.py:11);T 1")


def test_viewers_read_them():
    text = written(told(), "collapsed")
    profile = gprof2dot.CollapseParser(io.StringIO(text)).parse()
    assert profile[gprof2dot.SAMPLES] == 1640
    assert formats.by_name("collapsed").reader(text.encode()).functions
    back = formats.by_name("speedscope").reader(written(told(), "speedscope", "bytes").encode())
    assert sum(back.functions["own_ns"]) == sum(totals(told(), "bytes").values())


def test_nothing_is_written():
    nothing = Builder().build(META)
    assert written(nothing, "collapsed") == ""
    samples.valid("speedscope", written(nothing, "speedscope"))
