"""What calls leave alive, in the file of a recording that goes on: a process that is killed has told of it as well."""

from __future__ import annotations

import os
import random
import signal
import time

import children
import pytest
from births import Births, Other, Thing, kept, load, needs_tracer, run, start

from seismo import _core
from seismo.model import read
from seismo.model.objects import leaks

pytestmark = needs_tracer


def handle(things=1, others=0):
    kept.extend(Thing() for _ in range(things))
    kept.extend(Other() for _ in range(others))


def told(births):
    """All that a recording says of what calls left."""
    return (
        births.survivors("Thing", "Other"),
        [row["live"] for row in births.spans()],
        {name: births.total(name, "span_live") for name in ("Thing", "Other")},
    )


def truth():
    return told(Births(_core.snapshot()))


def test_each_flush_tells(handled):
    """Rows of pairs that are no more are used again or taken back, also while rows of calls are put together."""
    rng = random.Random(11)
    rows, shrunk = 0, 0
    for calls in (1, 3, 40, 0, 200, 3000, 2000, 10, 6000, 0, 5, 1):
        for _ in range(calls):
            handle(rng.random() < 0.1, rng.random() < 0.05)
        del kept[: rng.randint(0, len(kept))]
        _core.flush()
        births = load(handled)
        assert [problem for problem in births.problems if "end" not in problem] == []
        assert told(births) == truth()
        assert all(row["count"] for row in births.tables["object_survivors"])
        shrunk += len(births.tables["object_survivors"]) < rows
        rows = len(births.tables["object_survivors"])
    _core.stop()
    assert load(handled).problems == []
    assert told(load(handled)) == truth()
    assert shrunk > 1


def test_a_snapshot_between_flushes_changes_nothing(handled):
    handle(3)
    _core.flush()
    before = told(load(handled))
    del kept[1:]
    assert truth()[0] == {(0, "Thing"): 1}
    assert told(load(handled)) == before
    _core.flush()
    assert told(load(handled)) == truth()


def test_very_many_objects_are_counted_less_often(handled):
    """Then what the file has is of an earlier flush as a whole, and it says so until it is counted again."""
    handle(2)
    kept.extend(map(float, range(1_050_000)))
    _core.flush()
    first = told(load(handled))
    handle(5)
    del kept[0]
    _core.flush()
    second = load(handled)
    assert first[0] == {(0, "Thing"): 2}
    if "survivors-old" in second.losses:  # unless this machine stood still in between
        assert second.losses["survivors-old"] > 0
        assert told(second) == (first[0], [2, 0], first[2])
    else:
        assert second.survivors("Thing") == {(0, "Thing"): 1, (1, "Thing"): 5}
    _core.stop()
    assert "survivors-old" not in load(handled).losses
    assert load(handled).survivors("Thing") == {(0, "Thing"): 1, (1, "Thing"): 5}


def test_a_process_that_is_killed(path):
    run("""
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
kept = []
def handle(number):
    kept.append(Thing())
    if number < 2: kept.append([Thing(), number])
start(fd=fd, span=calls_of("handle"))
for number in range(20): handle(number)
_core.flush()
for number in range(10): handle(number)
del kept[:3]
_core.flush()
handle(0)
os.kill(os.getpid(), 9)
""", str(path), status=-signal.SIGKILL)  # fmt: skip
    births = load(path)
    assert births.survivors("Thing") == {
        **{(number, "Thing"): 1 for number in range(2, 30)},
        (1, "Thing"): 1,
        (20, "Thing"): 2,
        (21, "Thing"): 2,
    }
    assert births.total("Thing", "live") == births.total("Thing", "span_live") == 31
    verdicts = {(leak.group.type, leak.group.line): leak.verdict for leak in leaks.leaks(read(path))}
    assert leaks.STEADY in verdicts.values()


POOL = """
import multiprocessing
import sys
import time
kept = []
class Thing:
    pass
def work(number):
    kept.append(Thing())
    return number
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(sum(pool.map(work, range(40), chunksize=1)))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_workers_of_a_pool(tmp_path, method):
    """They are terminated when they have worked, and none comes to an end of its own."""
    (tmp_path / "app.py").write_text(POOL)
    words = ["objects", "-q", "--children", "--leaks", "work", "-o", "r.seismo", "app.py", method]
    ended = children.seismo(*words, cwd=tmp_path)
    assert ended.stdout == "780\n"
    recording = read(os.fspath(tmp_path / "r.seismo"))
    [type_] = [row.id for row in recording.types if row.name == "Thing"]
    things = {row.id for row in recording.objects if row.type == type_}
    alive = sum(row.live for row in recording.objects if row.id in things)
    left = sum(row.count for row in recording.object_survivors if row.object in things)
    assert left == alive == sum(row.span_live for row in recording.objects if row.id in things)
    assert left >= 1  # the first result of each that worked was flushed before it was handed over
    assert "Thing" in {leak.group.type.rpartition(".")[2] for leak in leaks.leaks(recording)}


def test_the_timeline_ends_with_the_program(path):
    """Who holds what lives is asked when it is over. Other threads of the tests' process would drop objects then."""
    run("""
import time
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
start(fd=fd)
kept = [Thing() for _ in range(3)]
_core.objects_quiet(True)
_core.objects_end()
del kept[1:]
time.sleep(0.05)
_core.stop()
""", str(path))  # fmt: skip
    births = load(path)
    last = births.tables["object_times"][-1]
    assert births.tables["processes"][0]["end_ns"] - last["time_ns"] > 40_000_000
    assert last["born"] == sum(row["born"] for row in births.tables["types"])
    assert last["died"] == sum(row["died"] for row in births.tables["types"])


def test_the_timeline_goes_on_when_something_is_born():
    start()
    _core.objects_end()
    time.sleep(0.05)
    handle(3)
    _core.stop()
    births = Births(_core.snapshot())
    last = births.tables["object_times"][-1]
    assert last["time_ns"] - births.tables["processes"][0]["start_ns"] >= 50_000_000
    assert last["born"] == sum(row["born"] for row in births.tables["types"])
