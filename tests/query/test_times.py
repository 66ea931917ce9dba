"""Conditions on the times of calls: what comes of them is what reading everything gives, and the rest is not read."""

import functools
import random

import duckdb
import journal_made
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.model import read
from seismo.model.trace.arrow_stream import FROM_THE_BEGINNING, STREAM_COLUMNS, Times
from seismo.query import Database

INDEPENDENT = [column for column in STREAM_COLUMNS if column not in FROM_THE_BEGINNING]
AT = {column: number for number, column in enumerate(STREAM_COLUMNS)}


class Chosen:
    """A stream of calls under a condition, for DuckDB's plain way."""

    def __init__(self, stream, times, columns):
        self.given = stream, times, columns

    def __arrow_c_stream__(self, requested_schema=None):
        stream, times, columns = self.given
        return stream.chosen(times, columns)


@functools.cache
def connected():
    return duckdb.connect()


def rows(stream, times=None, columns=STREAM_COLUMNS):
    connection = connected()
    connection.register("given", Chosen(stream, times or Times(), columns))
    found = connection.execute("select * from given").fetchall()
    assert [column[0] for column in connection.description] == list(columns)
    connection.unregister("given")
    return found


def holds(row, times):
    start, end = row[AT["start_ns"]], row[AT["end_ns"]]
    return times.start_least <= start <= times.start_most and times.end_least <= end <= times.end_most


def conditions(rnd, known):
    """Conditions of all shapes, with bounds at times of events and beside them."""
    times = sorted({row[AT[name]] for row in known for name in ("start_ns", "end_ns")}) or [0]

    def some():
        return max(0, rnd.choice(times) + rnd.choice((-1, 0, 0, 1)))

    low, high = sorted((some(), some()))
    yield Times(start_least=low, start_most=high)
    yield Times(start_least=low)
    yield Times(start_most=high)
    yield Times(end_least=low, end_most=high)
    yield Times(end_least=low)
    yield Times(end_most=high)
    yield Times(start_most=high, end_least=low)
    yield Times(start_least=low, end_most=high)
    yield Times(start_least=high, start_most=low)


def check(recording, rnd):
    known = rows(recording.calls.stream())
    for times in conditions(rnd, known):
        expected = [row for row in known if holds(row, times)]
        stream = recording.calls.stream()
        assert rows(stream, times) == expected
        columns = rnd.sample(INDEPENDENT, rnd.randint(1, len(INDEPENDENT)))
        assert rows(stream, times, columns) == [tuple(row[AT[name]] for name in columns) for row in expected]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_a_condition_on_times_gives_what_reading_everything_gives(seed):
    rnd = random.Random(seed)
    check(journal_made.made(seed, events=rnd.choice((30, 200, 600)), wild=rnd.random() < 0.5)[2], rnd)


@functools.cache
def long():
    """A trace of many blocks. Nobody writes to it."""
    return journal_made.made(9, events=6000, wild=False)[2]


def test_so_it_does_in_a_long_trace():
    check(long(), random.Random(0))


def test_so_it_does_behind_a_damaged_block():
    data = bytearray(long().to_bytes())
    at = data.index(b"JRNL", len(data) // 3)
    data[at + 40] ^= 0xFF
    check(read(bytes(data)), random.Random(1))


@functools.cache
def damaged_early():
    """The long trace with a damaged block near its beginning, which readings that get there tell of."""
    data = long().to_bytes()
    at = len(data) // 8
    while (at := data.index(b"JRNL", at + 1)) < len(data) // 3:
        broken = bytearray(data)
        broken[at + 40] ^= 0xFF
        recording = read(bytes(broken))
        end = recording.calls.blocks[len(recording.calls.blocks) // 3].time_ns
        if recording.calls.window(0, end).problems and not recording.calls.window(end, look_back=0).problems:
            return recording
    raise AssertionError("no such block")


def middle(recording):
    blocks = recording.calls.blocks
    return blocks[len(blocks) // 2].time_ns


@pytest.mark.parametrize(
    "where", ["start_ns >= {m}", "start_ns between {m} and {m} + 1000000", "start_ns = {m} and thread is not null"]
)
def test_sql_reads_only_the_blocks_that_its_condition_touches(where):
    recording = damaged_early()
    sql = f"select count(*), sum(end_ns - start_ns) from calls where {where.format(m=middle(recording))}"
    with Database([("a", recording)]) as database:
        ((count, _),) = database.run(sql).rows()
        assert database.problems == []
        everything = database.run(sql.replace("from calls", "from (from calls limit 100000000)")).rows()
        assert [row[0] for row in everything] == [count]
        assert database.problems != []  # that one met the damage


def test_ids_and_flags_need_all_that_came_before():
    recording = damaged_early()
    with Database([("a", recording)]) as database:
        list(database.run(f"select id, unwound from calls where start_ns >= {middle(recording)}").rows())
        assert database.problems != []


@pytest.mark.parametrize(
    "where",
    [
        "start_ns >= {m} and start_ns < {n}",
        "not (start_ns < {m}) and {n} > end_ns",
        "start_ns in ({m}, {n})",
        "start_ns >= {m}.5 and start_ns < 1e18",
        "end_ns > {m} and start_ns < {n}",
        "start_ns is null",
    ],
)
def test_sql_gives_the_same_under_any_condition(where):
    recording = long()
    blocks = recording.calls.blocks
    m, n = (blocks[len(blocks) * part // 4].time_ns for part in (1, 3))
    sql = "select recording, id, start_ns, end_ns, node, depth, unwound from {} where " + where.format(m=m, n=n)
    counting = "select recording, count(*), sum(end_ns) from {} where " + where.format(m=m, n=n) + " group by all"
    kept = "(from calls order by id limit 100000000)"  # behind a limit nothing is pushed
    with Database([("a", recording), ("b", recording)]) as database:
        assert len(recording.calls.window().calls) < 100000000
        for text in (sql, counting):
            found, expected = (sorted(database.run(text.format(table)).rows()) for table in ("calls", kept))
            assert found == expected


def test_conditions_on_both_sides_of_a_join_are_apart():
    recording = long()
    end = recording.calls.end_ns
    with Database([("a", recording)]) as database:
        part = "(select count(*) from calls where start_ns {} {})"
        sql = f"select {part.format('<', end // 2)}, {part.format('>=', end // 2)}"
        ((before, after),) = database.run(sql).rows()
        ((all_of_them,),) = database.run("select count(*) from calls").rows()
    assert before > 0
    assert after > 0
    assert before + after == all_of_them


def test_what_is_cut_off_by_a_window_is_judged_as_it_is_shown():
    recording = long()
    end = recording.calls.end_ns
    with Database([("a", recording)]) as database:
        table = f"calls_between({end // 4}, {end // 2})"
        sql = f"select start_ns, end_ns from {{}} where start_ns >= {end // 3} and end_ns < {end // 2 - 5}"
        found = sorted(database.run(sql.format(table)).rows())
        expected = sorted(database.run(sql.format(f"(from {table} limit 100000000)")).rows())
    assert found == expected != []
