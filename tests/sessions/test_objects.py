"""seismo.objects: a part of a program, from inside. Counts are exact."""

import asyncio
import gc
import sys
from pathlib import Path

import pytest

import seismo
from seismo.errors import UsageError
from seismo.process.objects.holder_search import Search
from seismo.process.objects.recorder import why_not

# Tests that also apply to interpreters which cannot record objects are in test_session_results.py.
pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "never")
HERE = __name__


class Thing:
    """Has no attributes, so that one is one object."""

    __slots__ = ("part",)


class Other:
    __slots__ = ()


KEPT: list = []


def make(count):
    for _ in range(count):
        Thing()


def keep(count):
    KEPT.extend([Thing() for _ in range(count)])


@pytest.fixture(autouse=True)
def _empty():
    yield
    KEPT.clear()


def test_nothing():
    with seismo.objects() as r:
        pass
    assert (r.born, r.died, r.alive) == (0, 0, 0)
    r.assert_objects(max_born=0, max_alive=0)
    assert len(r.since()) == 0
    assert str(r.since()) == "nothing survives\n"


def test_known_content():
    with seismo.objects() as r:
        a, b = Thing(), Thing()
        Thing()
    assert (r.born, r.died, r.alive) == (3, 1, 2)
    del a, b


def test_while_it_runs():
    with seismo.objects() as r:
        a = Thing()
        first = (r.born, r.died, r.alive)
        del a
        second = (r.born, r.died, r.alive)
    assert first == (1, 0, 1)
    assert second[1:] >= (1, 0)
    assert r.alive <= 2  # the tuples that are looked at


def test_survivors():
    with seismo.objects() as r:
        keep(3)
        r.mark("before")
        keep(5)
        r.mark("between")
        keep(2)
        inside = [row for row in r.since("before") if row.type == f"{HERE}.Thing"]
    for rows in (inside, [row for row in r.since("before") if row.type == f"{HERE}.Thing"]):
        assert [(row.count, row.function, row.path) for row in rows] == [(7, f"{HERE}:keep", ())]
        assert rows[0].line == keep.__code__.co_firstlineno + 1
        assert rows[0].file == __file__
        assert rows[0].bytes == 7 * sys.getsizeof(Thing())
        assert not rows[0].at_least
    counts = {row.type: row.count for row in r.since("before", until="between")}
    assert counts[f"{HERE}.Thing"] == 5
    assert f"7 × {HERE}.Thing" in str(r.since("before"))
    assert [row.name for row in r.recording.marks] == ["before", "between"]
    with pytest.raises(UsageError, match="no mark 'x'"):
        r.since("x")


def test_holders(thawed, monkeypatch):
    monkeypatch.setattr(Search.__init__, "__defaults__", (60,))  # seconds; all of pytest is searched
    with seismo.objects() as r:
        keep(4)
        [tree] = [tree for tree in r.since().holders() if tree.row.type == f"{HERE}.Thing"]
        shown = str(tree)
    assert tree.asked == 4
    assert [(holder.holder, holder.by, holder.count) for holder in tree.held_by] == [(f"module {HERE}", "KEPT", 4)] or [
        (holder.holder, holder.by) for holder in tree.held_by[0].held_by
    ] == [(f"module {HERE}", "KEPT")]
    assert f"← module {HERE} KEPT" in shown
    with pytest.raises(UsageError, match="has ended"):
        r.since().holders()


def test_budgets():
    with seismo.objects() as r:
        make(10)
        keep(2)
    r.assert_objects(max_born=100, max_alive=10)
    r.assert_objects(max_born=12, max_alive=2, of=Thing)
    r.assert_objects(max_born=0, of=Other)
    with pytest.raises(AssertionError) as error:
        r.assert_objects(max_born=11, max_alive=1, of=Thing)
    text = str(error.value)
    assert "12 objects were born, and 11 may be:" in text
    assert f"10 × {HERE}.Thing  {Path(__file__).name}:{make.__code__.co_firstlineno + 2} in make" in text
    assert "2 objects are alive, and 1 may be:" in text
    for of in ("Thing", f"{HERE}.Thing", f"{HERE}.T*", ["nosuch", Thing]):
        with pytest.raises(AssertionError):
            r.assert_objects(max_alive=1, of=of)
    with pytest.raises(AssertionError, match="objects were born"):
        r.assert_objects(max_born=0)
    with pytest.raises(UsageError, match="of="):
        r.assert_objects(max_born=0, of=[3])


def test_garbage_in_cycles():
    def cycle():
        one, two = Thing(), Thing()
        one.part, two.part = two, one

    with seismo.objects() as kept:
        cycle()
    with seismo.objects(collect=True) as collected:
        cycle()
    assert (kept.born, kept.alive) == (2, 2)
    assert collected.alive == 0
    with pytest.raises(AssertionError, match="collect=True"):
        kept.assert_objects(max_alive=0)
    [row] = [row for row in collected.recording.types if row.full_name == f"{HERE}.Thing"]
    assert (row.born, row.died_by_gc) == (2, 2)
    gc.collect()


def test_what_lived_at_a_sessions_end_is_told_after_other_sessions():
    with seismo.objects() as first:
        keep(3)
    with seismo.objects():
        KEPT.append(Other())
    rows = [(row.type, row.function, row.count) for row in first.since() if row.function == f"{HERE}:keep"]
    assert (f"{HERE}.Thing", f"{HERE}:keep", 3) in rows
    with seismo.objects():
        pass
    with pytest.raises(AssertionError, match="Thing"):
        first.assert_objects(max_alive=0, of="Thing")


def test_decorated_functions():
    @seismo.objects
    def one(count):
        make(count)
        return "result"

    @seismo.objects(collect=True)
    def two():
        keep(3)
        yield 1
        keep(4)

    @seismo.objects
    async def three():
        await asyncio.sleep(0)
        keep(5)

    @seismo.objects
    def empty(count, more=None):
        pass

    @seismo.objects
    def empty_generator():
        yield

    empty(1, more=2)
    assert list(empty_generator()) == [None]
    assert (empty.objects.born, empty_generator.objects.born) == (0, 0)
    assert one(4) == "result"
    assert one(4) == "result"
    one.objects.assert_objects(max_born=8, of=Thing)
    with pytest.raises(AssertionError):
        one.objects.assert_objects(max_born=7, of=Thing)
    assert list(two()) == [1]
    assert two.objects.alive >= 7
    asyncio.run(three())
    assert three.objects.alive >= 5


def test_sessions_nest_and_add_up():
    outer = seismo.objects()
    with outer:
        a = Thing()
        with seismo.objects() as inner:
            keep(2)
    assert [row.count for row in inner.since() if row.type == f"{HERE}.Thing"] == [2]
    assert [row.count for row in outer.since() if row.type == f"{HERE}.Thing"] in ([2, 1], [1, 2])
    with outer:
        Thing()
    thing = next(row for row in outer.recording.types if row.full_name == f"{HERE}.Thing")
    assert thing.born == 4
    assert repr(outer) == "<seismo.objects: ended>"
    del a


def test_types_only():
    with seismo.objects(objects="types") as r:
        make(5)
        keep(1)
    r.assert_objects(max_born=6, of=Thing)
    assert r.alive == 1
    with pytest.raises(AssertionError, match="6 × "):
        r.assert_objects(max_born=5, of=Thing)
    with pytest.raises(UsageError, match="only types"):
        r.since()


def test_call_paths():
    def outer():
        keep(2)

    with seismo.objects(paths=True) as r:
        outer()
    [row] = [row for row in r.since() if row.type == f"{HERE}.Thing"]
    assert row.path[-2:] == (f"{HERE}:{outer.__qualname__}", f"{HERE}:keep")


def test_a_file(tmp_path):
    path = tmp_path / "block.seismo"
    with seismo.objects(output=path, span="make") as r:
        make(6)
    recording = seismo.open(path)
    assert recording.problems == []
    [thing] = [row for row in recording.types if row.full_name == f"{HERE}.Thing"]
    assert (thing.born, thing.died) == (6, 6)
    assert [row.calls for row in recording.object_spans] == [1]
    assert r.born >= 6


def test_beside_others():
    with seismo.profile(), pytest.raises(UsageError, match="not at the same time"), seismo.objects():
        pass
    with seismo.objects(), pytest.raises(UsageError, match="not at the same time"), seismo.profile():
        pass
    with seismo.objects(), pytest.raises(UsageError, match="objects="), seismo.objects(objects="types"):
        pass


def test_questions_at_the_wrong_time():
    session = seismo.objects()
    with pytest.raises(UsageError, match="does not run"):
        session.mark("x")
    with pytest.raises(UsageError, match="nothing is recorded"):
        session.since()
    assert (session.born, session.alive) == (0, 0)
