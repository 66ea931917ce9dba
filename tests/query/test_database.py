"""SQL over recordings: what the tables are, and that a query reads them and reaches nothing else."""

import os
import signal
import threading

import children
import duckdb
import journal_made
import pytest

from seismo.errors import UsageError
from seismo.model import Builder, read
from seismo.query import TABLES, Database, QueryError, Source, described, in_sql

ENDLESS = "select count(*) from range(10000000) a(i), range(10000000) b(j) where hash(i, j) = 8"


def made(own_ns=1_000_000, name="work"):
    b = Builder()
    start = 1_790_000_000 * 10**9
    process = b.process(pid=4312, argv=["app.py"], start_ns=start, end_ns=start + 10**9, exit="0")
    thread = b.thread(process, name="MainThread", native_id=1, wall_ns=10**9, cpu_ns=-1, main=1)
    root = b.node(-1, thread, b.function("__main__", "<module>", "/x/app.py", 1), calls=1, own_ns=own_ns)
    work = b.node(root, thread, b.function("__main__", name, "/x/app.py", 3), calls=10, own_ns=2 * own_ns)
    b.node(work, thread, b.function("builtins", "len", kind=1), calls=1000, own_ns=30_000, flags=1)
    return b.build({"seismo": "0.1.0", "python": "3.12.1"})


@pytest.fixture(scope="module")
def one():
    """A database for all that reads: no test may leave a mark on it."""
    with Database([("app", made())]) as database:
        yield database


def ask(database, sql):
    return list(database.run(sql).rows())


def test_the_tables_have_the_rows_of_the_recording(one):
    recording = made()
    assert ask(one, "select qualname, kind, calls, own_ns, lower_bound from functions order by id") == [
        (row.qualname, row.kind.name.lower(), row.calls, row.own_ns, bool(row.lower_bound))
        for row in recording.functions
    ]
    assert ask(one, "select id, parent, depth, calls, lower_bound from paths order by id") == [
        (0, None, 0, 1, False),
        (1, 0, 1, 10, False),
        (2, 1, 2, 1000, True),
    ]
    assert ask(one, "select name, cpu_ns, main from threads") == [("MainThread", None, True)]
    assert ask(one, "select value from meta where key = 'python'") == [("3.12.1",)]


def test_every_table_is_there_for_every_recording(one):
    for name in TABLES:
        result = one.run(f"select * from {name}")
        assert result.columns == described(name)
        list(result.rows())
    assert {name for (name,) in ask(one, "show tables")} >= set(TABLES)


def test_tables_that_the_text_does_not_name_are_found_as_well(one):
    assert ask(one, "select count(*) from query_table('func' || 'tions')") == [(3,)]


def test_words_of_sql_that_are_columns_are_known_to_need_quotes():
    with duckdb.connect() as connection:
        rows = connection.execute("select keyword_name from duckdb_keywords() where keyword_category != 'unreserved'")
        words = {word for (word,) in rows.fetchall()}
    columns = {column for name in TABLES for column in described(name)}
    assert {column for column in columns if in_sql(column) != column} == columns & words
    assert not words & set(TABLES)


def test_rows_of_several_recordings_join_by_their_ids_alone():
    given = [("a", made()), ("b", made(name="other")), ("c", made())]
    with Database(given) as database:
        joined = """select p.recording, f.recording, f.qualname, above.recording, t.recording, q.recording
            from paths p join functions f on f.id = p.function join paths above on above.id = p.parent
            join threads t on t.id = p.thread join processes q on q.id = t.process"""
        rows = ask(database, joined)
        assert len(rows) == 6
        for row in rows:
            assert {row[0], row[1], row[3], row[4], row[5]} == {row[0]}
        assert ("b", "b", "other", "b", "b", "b") in rows
        assert ask(database, "select count(distinct id), count(*) from functions") == [(9, 9)]


def test_calls_of_several_traces_do_not_mix(tmp_path):
    (tmp_path / "app.py").write_text("def f():\n    g()\ndef g(): pass\nf()\n")
    file = tmp_path / "t.seismo"
    children.seismo("trace", "-q", "-o", file, tmp_path / "app.py")
    recording = read(file)
    with Database([("a", recording), ("b", recording)]) as database:
        sql = """select c.recording, f.recording, p.recording, up.qualname
            from calls c join functions f on f.id = c.function
            join calls p on p.id = c.parent join functions up on up.id = p.function
            where f.qualname = 'g' order by 1"""
        assert ask(database, sql) == [("a", "a", "a", "f"), ("b", "b", "b", "f")]


REFUSED = [
    "select * from read_text('{file}')",
    "select * from read_csv('{file}')",
    "select * from '{file}'",
    "select * from glob('{folder}/*')",
    "select * from parquet_metadata('{file}')",
    "select * from read_csv('https://example.com/x.csv')",
    "select getenv('HOME')",
    "select * from secret_of_the_test",
    "copy (select 1) to '{file}'",
    "export database '{folder}'",
    "attach '{file}' as other",
    "install httpfs",
    "set enable_external_access = true",
    "reset lock_configuration",
    "call pragma_version()",
    "create table t as select 1",
    "create macro m() as 1",
    "insert into functions select * from functions",
    "update functions set calls = 0",
    "with x as (select 1) insert into functions select * from x",
    "create secret (type s3)",
    "checkpoint",
    "prepare p as select 1",
    "select 1; select 2",
    "",
    "   -- nothing",
    "select '\0'",
    "select '\udcff'",
    "select \ud800",
    "update extensions",
    "create temp table t as pivot paths on depth",
    "explain analyze create table t as select 1",
    "EXPLAIN /* */ (format json, ANALYZE) create temp table t as select 1",
    "explain --\n analyze create or replace temp view functions as select 1",
    "explain analyze create temp macro count(x) as 5",
    "explain analyze copy (select 1) to '{file}'",
    "explain analyze set variable x = 1",
    "explain analyze pragma profile_output = '{file}'",
    "explain analyze commit",
    "explain (analyze",
    "explain analyze with x as (insert into functions select * from functions returning 1) from x",
    "with x as (copy functions to '{file}') from x",
    "from query('create table t as select 1')",
    "from json_execute_serialized_sql(json_serialize_sql('create table t as select 1'))",
    "from enable_logging(storage := 'file', storage_path := '{folder}')",
    "from add_grammar_extension('x')",
    "from read_duckdb('{file}')",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_a_query_reads_recordings_and_nothing_else(one, tmp_path, sql):
    secret_of_the_test = Builder().build({}).functions
    assert len(secret_of_the_test) == 0
    file = tmp_path / "file.csv"
    file.write_text("the secret\n1\n")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(QueryError) as refused:
        ask(one, sql.format(file=file, folder=tmp_path))
    assert "secret\n1" not in str(refused.value)
    assert "Error:" not in refused.value.what
    assert sorted(os.listdir(tmp_path)) == before
    assert file.read_text() == "the secret\n1\n"
    assert ask(one, "select count(*) from functions") == [(3,)]  # it goes on


def test_the_database_itself_forbids_writing(one, monkeypatch):
    """The list of words that may begin a query is a courtesy."""
    writing = {"create", "drop", "comment", "attach", "commit"}
    monkeypatch.setattr("seismo.query.database.READING", {"select", *writing})
    held = """select (select count(*) from functions), (select count(*) from duckdb_tables()),
        (select count(*) from duckdb_views() where not internal), (select count(*) from duckdb_types()),
        (select count(*) from duckdb_functions()), (select count(*) from duckdb_databases())"""
    ask(one, held)  # the tables are there
    before = ask(one, held)
    for sql in (
        "create table t as select 1",
        "create table t as pivot paths on depth",
        "create or replace view functions as select 1",
        "create macro m() as 1",
        "drop view functions",
        "comment on view functions is 'x'",
        "explain analyze create table t as select 1",
    ):
        with pytest.raises(QueryError, match="cannot write"):
            ask(one, sql)
        assert ask(one, held) == before
    for forgotten in (
        "create temp table t as select 1",
        "create temp table t as pivot paths on depth",
        "create temp macro count(x) as 5",
        "explain analyze create temp table t as select 1",
        "attach ':memory:' as other",
        "explain analyze commit",
    ):
        ask(one, forgotten)
        assert ask(one, held) == before, forgotten


# What DuckDB's parser would take forever for, and gigabytes; what is a megabyte.
TOO_MUCH = [
    ("select " + "(" * 9000, "nested too deeply"),
    ("with a as (" * 12 + "select from where" + ") select 1" * 12, "nested too deeply"),
    ("select 1" + " union all select 1" * 52_632, "1,000,016 characters"),
    ("select '" + "x" * 10**6 + "'", "1,000,009 characters"),
    ("select " + "x" * 10_000, "referenced column"),
]


@pytest.mark.parametrize(("sql", "said"), TOO_MUCH, ids=["brackets", "with", "union", "literal", "name"])
def test_a_query_that_is_too_long_or_too_deep_is_refused_in_a_few_words(one, sql, said):
    with pytest.raises(QueryError, match=said) as refused:
        one.run(sql)
    assert len(str(refused.value)) < 1200
    assert ask(one, "select count(*) from functions") == [(3,)]


READ = [
    "from functions",
    "with x as (select 1 as a) select a from x;",
    "with a as (with b as (with c as (select 1) from c) from b) from a",
    "select " + "(" * 90 + "1" + ")" * 90 + " in (" + ", ".join(map(str, range(3000))) + ")",
    "describe functions",
    "summarize functions",
    "explain (select 1)",
    "explain analyze /* as well */ from functions",
    "explain (analyze, format json) select 1 as x",
    "pivot paths on depth using sum(calls)",
]


@pytest.mark.parametrize("sql", READ)
def test_all_that_reads_is_a_query(one, sql):
    assert ask(one, sql)


def test_errors_say_what_is_wrong_and_where(one):
    with pytest.raises(QueryError) as wrong:
        ask(one, "select qualnam from functions")
    what, line, mark, hint = wrong.value.lines()
    assert "qualnam" in what
    assert line == "line 1: select qualnam from functions"
    assert mark.index("^") == line.index("qualnam")
    assert "qualname" in hint
    with pytest.raises(QueryError) as unknown:
        ask(one, "select * from function")
    assert unknown.value.what == "there is no table function"
    assert unknown.value.hint.startswith("did you mean functions? ")


def test_another_query_may_begin_before_the_last_one_was_read(one):
    first = one.run("select i from range(100000) t(i)").rows()
    assert next(first) == (0,)
    assert ask(one, "select count(*) from functions") == [(3,)]
    with pytest.raises(QueryError, match="another query"):
        list(first)


def test_a_query_that_takes_too_long_is_stopped():
    with Database([("app", made())], seconds=0.3) as database:
        with pytest.raises(QueryError, match=r"took longer than 0\.3 s"):
            ask(database, ENDLESS)
        assert ask(database, "select count(*) from functions") == [(3,)]


def test_an_interrupt_stops_a_query(one):
    """Also behind the handler of polars, after which the system goes on with a wait."""
    pytest.importorskip("polars")
    interrupt = (threading.main_thread().ident, signal.SIGINT)
    threading.Timer(0.3, signal.pthread_kill, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        ask(one, ENDLESS)
    assert ask(one, "select count(*) from functions") == [(3,)]


def test_an_interrupt_that_duckdb_forgets_is_repeated():
    """It does so with one that comes before it runs the query."""

    class Forgetful:
        def __init__(self, connection):
            self.connection, self.asked = connection, 0

        def __getattr__(self, name):
            return getattr(self.connection, name)

        def interrupt(self):
            self.asked += 1
            if self.asked > 1:
                self.connection.interrupt()

    with Database([("app", made())], seconds=0.3) as database:
        database._connection = Forgetful(database._connection)
        with pytest.raises(QueryError, match="took longer"):
            ask(database, ENDLESS)
        assert database._connection.asked > 1
        assert ask(database, "select count(*) from functions") == [(3,)]


def test_a_query_that_needs_too_much_memory_is_stopped_and_writes_nothing_to_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Database([("app", made())], memory="60MB") as database:
        with pytest.raises(QueryError) as much:
            ask(database, "select list(i order by hash(i)) from range(20000000) t(i)")
        assert "--memory" in much.value.hint
        assert ask(database, "select count(*) from functions") == [(3,)]
    assert os.listdir(tmp_path) == []


def test_columns_of_one_name_are_told_apart(one):
    assert one.run("select 1 as a, 2 as a, 3 as a").columns == ["a", "a_1", "a_2"]


def test_names_of_recordings_and_of_programs_are_no_sql():
    name = "x' union select 'y"
    with Database([(name, made(name="f'; drop view functions; --"))]) as database:
        assert ask(database, "select distinct recording from functions") == [(name,)]
        assert ask(database, "select qualname from functions where calls = 10") == [("f'; drop view functions; --",)]


def test_names_that_are_no_text_are_escaped():
    with Database([("a\udcff", made(name="f\ud800"))]) as database:
        assert ask(database, "select recording, qualname from functions where calls = 10") == [("a\\udcff", "f?")]


def test_imports_need_no_library_of_tables():
    code = "import sys, seismo.model, seismo.cli.main, seismo.query; print(*sys.modules)"
    assert not {"pyarrow", "polars", "duckdb", "numpy"} & set(children.python("-c", code).stdout.split())


def test_the_plain_way_to_register_is_as_right(monkeypatch):
    import duckdb._sources

    monkeypatch.delattr(duckdb._sources, "ArrowScanSource")
    with Database([("app", made())]) as database:
        assert ask(database, "select sum(calls) from functions") == [(1011,)]


def test_calls_between_two_times_are_read_alone(monkeypatch):
    _, played, recording = journal_made.made(4, events=3000, wild=False)
    end = int(max(one.ns for one in played)) + 1
    windows = []
    real = type(recording.calls).stream
    monkeypatch.setattr(
        type(recording.calls), "stream", lambda calls, *window: windows.append(window) or real(calls, *window)
    )
    expected = [tuple(map(int, row[:2])) for row in recording.calls.window(end // 4, end // 2).calls]
    with Database([("one", recording)]) as database:
        sql = f"select start_ns, end_ns from CALLS_BETWEEN ( {end // 4}, {end // 2:_}.0 ) order by id;"
        assert list(database.run(sql).rows()) == expected
        assert windows == [(end // 4, end // 2)], "the rest of the file is not read"
        (joined,) = database.run(
            f"select count(*) from calls_between(0, {end}) a join calls_between(0, {end}) b on a.parent = b.id"
        ).rows()
        assert joined[0] > 100
        windows.clear()
        as_text = """select 'calls_between(1, 2)', $$calls_between(1, 2)$$, e'\\'calls_between(1)' as "calls_between(1)"
            -- from calls_between(1, 2)
            /* from calls_between(1, 2) */ where '; calls_between(' <> 'é' ; -- calls_between(1, 2)"""
        result = database.run(as_text)
        assert list(result.rows()) == [("calls_between(1, 2)", "calls_between(1, 2)", "'calls_between(1)")]
        assert (result.columns[2], windows) == ("calls_between(1)", [])
        (mixed,) = database.run(
            f"select 'é', count(*) from calls_between /* é */ (0 /* ) */, +{end}) where 'é' = 'é'"
        ).rows()
        assert mixed == ("é", len(recording.calls.window(0, end).calls))
        for wrong in ("a, 5", "5", "'1', 5", "1e400, 5", "", "(1), 5"):
            with pytest.raises(UsageError, match="two numbers, of nanoseconds"):
                database.run(f"from calls_between({wrong})")
    with Database([Source("one", recording, 0, end // 3)]) as database:
        (latest,) = database.run(f"select max(start_ns) < {end // 3} from calls_between({end // 4}, {end})").rows()
        assert latest == (True,), "--from and --to hold for it, too"
