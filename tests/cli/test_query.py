"""seismo query: what it writes in each format, and what it says where it cannot."""

import csv
import io
import json
import re
import venv
from pathlib import Path

import children
import duckdb
import pytest

from seismo import errors
from seismo.model import Builder, read

CALLS = "select qualname, calls, own_ns from functions order by calls desc"


def test_text_lines_up(seismo, recording):
    done = seismo("query", recording, CALLS, status=0)
    head, rule, *rows = done.stdout.splitlines()
    assert head.split() == ["qualname", "calls", "own_ns"]
    assert set(rule) == {"-", " "}
    assert [row.split()[:2] for row in rows] == [["len", "1000"], ["work", "10"], ["<module>", "1"]]
    assert len({len(row) for row in rows}) == 1


def test_csv_and_json_have_the_same_rows(seismo, recording, tmp_path):
    text = seismo("query", recording, CALLS, "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    objects = json.loads(seismo("query", recording, CALLS, "--format", "json").stdout)
    assert [row["qualname"] for row in rows] == [row["qualname"] for row in objects] == ["len", "work", "<module>"]
    assert [float(row["own_ns"]) for row in rows] == [row["own_ns"] for row in objects]
    seismo("query", recording, CALLS, "-o", "out.json", status=0)
    assert json.loads((tmp_path / "out.json").read_text()) == objects


def test_parquet_holds_the_rows_and_replaces_nothing_by_itself(seismo, recording, tmp_path):
    done = seismo("query", recording, CALLS + " -- all", "-o", "out.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    with duckdb.connect() as connection:
        rows = connection.execute(f"select qualname, calls from '{tmp_path / 'out.parquet'}'").fetchall()
    assert rows == [("len", 1000), ("work", 10), ("<module>", 1)]
    assert "--force" in seismo("query", recording, "select 1", "-o", "out.parquet", status=2).stderr
    seismo("query", recording, "select 1 as x", "-o", "out.parquet", "--force", status=0)
    seismo("query", recording, "select nope from functions", "-o", "other.parquet", status=2)
    assert sorted(path.name for path in tmp_path.glob("*parquet*")) == ["out.parquet"]
    assert "-o OUT" in seismo("query", recording, "select 1", "--format", "parquet").stderr


def test_a_query_that_fails_leaves_what_is_there(seismo, recording, tmp_path):
    (tmp_path / "out.csv").write_text("mine")
    sql = "select if(i < 100000, i, error('boom')) from range(200000) t(i)"
    assert "boom" in seismo("query", recording, sql, "-o", "out.csv", "--force", status=2).stderr
    assert (tmp_path / "out.csv").read_text() == "mine"


def test_the_newest_recording_is_asked_where_none_is_named(seismo, recording):
    done = seismo("query", "select sum(calls) as n from functions")
    assert done.stdout.split() == ["n", "----", "1011"]
    assert "the newest recording" in done.stderr


def test_several_recordings_and_options_between_them(seismo, recording, slower):
    sql = "select recording, sum(own_ns) > 4e6 as slow from functions group by recording order by recording"
    done = seismo("query", recording, "--format", "csv", slower, sql)
    assert done.stdout.splitlines() == ["recording,slow", "app-4312.seismo,False", "slower.seismo,True"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["query", "FILE"], "no query is given"),
        (["query", "FILE", "selec 1"], 'syntax error at or near "selec"'),
        (["query", "FILE", "from read_text('/etc/passwd')"], "neither files nor the network"),
        (["query", "nothing.seismo", "select 1"], "there is no such file"),
        (["query", "FILE", "select 1", "--format", "xml"], "--format"),
        (["query", "FILE", "select 1", "--memory", "much"], "DuckDB does not start"),
        (["query", "FILE", "select 1", "--from", "1s"], "this recording is not a trace"),
        (["query", "FILE", "select 1", "--time", "wait"], "does not separate waiting"),
        (["query", "FILE", "select 1", "-o", "."], "directory"),
    ],
)
def test_mistakes_are_said(seismo, recording, words, said):
    done = seismo(*[recording if word == "FILE" else word for word in words], status=2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_without_duckdb_the_command_that_installs_it_is_given(seismo, recording, tmp_path):
    (tmp_path / "duckdb.py").write_text("raise ImportError('no')")
    without = {"PYTHONPATH": children.environment(tmp_path)["PYTHONPATH"]}
    assert "pip install 'seismo[query]'" in seismo("query", recording, "select 1", **without, status=2).stderr
    seismo("query", recording, "--tables", **without, status=0)


@pytest.mark.parametrize(
    ("receipt", "origin", "command"),
    [
        ("pipx_metadata.json", "{}", "pipx inject place 'duckdb>=2'"),
        ("uv-receipt.toml", "", "uv tool install --with 'duckdb>=2' seismo"),
        (
            "uv-receipt.toml",
            '{"url": "file:///my/seismo", "dir_info": {"editable": true}}',
            "uv tool install --with 'duckdb>=2' --editable /my/seismo",
        ),
        ("", "", "uv pip install --python {python} 'seismo[query]'"),
    ],
)
def test_the_command_is_of_the_tool_that_installed_seismo(recording, tmp_path, receipt, origin, command):
    """A folder as the tool leaves it: an environment without pip, the tool's receipt, and seismo's metadata."""
    place = tmp_path / "place"
    venv.create(place, symlinks=True)
    packages = next(place.glob("lib/python*/site-packages"))
    (packages / "seismo").symlink_to(Path(errors.__file__).parent)
    about = packages / "seismo-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text('Name: seismo\nVersion: 0.1.0\nRequires-Dist: duckdb>=2; extra == "query"\n')
    (about / "direct_url.json").write_text(origin)
    if receipt:
        (place / receipt).touch()
    python = place / "bin" / "python"
    env = children.environment(PYTHONPATH="")
    done = children.run([python, "-m", "seismo", "query", recording, "select 1"], env=env)
    assert done.stderr.splitlines()[1].strip() == command.format(python=python)


def test_the_tables_are_listed_with_their_columns(seismo, recording):
    shown = seismo("query", recording, "--tables").stdout
    assert re.search(r"^functions +3  the functions", shown, re.MULTILINE)
    assert '"column"' in shown
    assert "own_error_ns" in shown


HOSTILE = "a\x1b[31m\u202e\n| b"


def test_hostile_names_do_nothing_to_a_terminal(seismo, tmp_path):
    b = Builder()
    thread = b.thread(b.process(pid=1, argv=["x"]), name=HOSTILE)
    b.node(-1, thread, b.function("m", HOSTILE, "x.py", 1), calls=1)
    file = tmp_path / "hostile.seismo"
    b.build({}).save(file)
    sql = "select qualname as \"a\x1b[31m\", [qualname] as list, {'k': qualname} as s from functions"
    for form in ("text", "json"):
        shown = seismo("query", file, sql, "--format", form).stdout
        assert shown.replace("\n", "").isprintable()
    (row,) = json.loads(shown)
    assert list(row.values()) == [HOSTILE, [HOSTILE], {"k": HOSTILE}]
    (_, row) = csv.reader(
        io.StringIO(seismo("query", file, "select qualname from functions", "--format", "csv").stdout)
    )
    assert row == [HOSTILE]
    wrong = seismo("query", file, "select error(qualname) from functions", status=2)
    assert wrong.stderr.replace("\n", "").isprintable()


def test_text_ends_where_it_says(seismo, recording):
    shown = seismo("query", recording, "select i from range(5000) t(i)").stdout.splitlines()
    assert len(shown) == 1003
    assert "--limit 0" in shown[-1]
    assert len(seismo("query", recording, "select i from range(5000) t(i)", "--limit", 0).stdout.splitlines()) == 5002


def test_a_window_limits_the_calls(seismo, tmp_path):
    (tmp_path / "app.py").write_text("def f(): pass\nf()\nf()\n")
    seismo("trace", "-q", "--timing", "every", "-o", "t.seismo", "app.py", status=0)
    sql = "select count(*) as n from calls join functions f on f.id = calls.function where qualname = 'f'"
    second = max(row.start_ns for row in read(tmp_path / "t.seismo").calls.window().calls)
    for options, expected in [([], "2"), (["--from", f"{second}ns"], "1"), (["--to", f"{second}ns"], "1")]:
        assert seismo("query", "t.seismo", sql, *options).stdout.split()[-1] == expected


def test_a_damaged_recording_is_asked_for_what_it_has(seismo, recording):
    data = recording.read_bytes()
    recording.write_bytes(data[: len(data) - 30])
    done = seismo("query", recording, "select problem from problems", status=0)
    assert "no rows" not in done.stdout
    assert "cut off or damaged" in done.stderr


def test_numbers_of_a_killed_program_are_said_to_be_those_of_a_part(seismo, tmp_path):
    """The counts are right up to the last flush, and look whole."""
    (tmp_path / "dies.py").write_text("import os, signal\ndef f(): return 1\nf()\nos.kill(os.getpid(), signal.SIGKILL)")
    seismo("profile", "-q", "-o", "dead.seismo", "dies.py")
    done = seismo("query", "dead.seismo", "select count(*) as n from functions", status=0)
    assert "seismo: dead.seismo: the end is missing" in done.stderr


def test_calls_in_time_are_those_of_a_trace(seismo, recording):
    """No rows of `calls` would read as: nothing was called. The column of that name is another matter."""
    for sql in ("select count(*) from calls", "select * from calls_between(0, 1e9)"):
        done = seismo("query", recording, sql, status=0)
        assert done.stderr == f"seismo: {recording.name}: it is not a trace: seismo trace records the times of calls\n"
    assert seismo("query", recording, "select calls from functions", status=0).stderr == ""
