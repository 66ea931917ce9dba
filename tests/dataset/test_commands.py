"""Datasets on the command line: a folder wherever a file goes."""

import json
import shutil

import pytest
import random_recordings

from seismo.dataset import append
from seismo.model import Builder, merge, read


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with four recordings, and a dataset of them with two versions."""
    folder = tmp_path_factory.mktemp("made")
    paths = [folder / f"{seed}.seismo" for seed in range(4)]
    for seed, path in enumerate(paths):
        random_recordings.calls(seed).save(path)
    append(folder / "ds", paths[:2], {"version": "1"})
    append(folder / "ds", paths[2:], {"version": "2"})
    return folder


@pytest.fixture
def files(made, tmp_path):
    for path in made.glob("*.seismo"):
        shutil.copy(path, tmp_path)
    return [f"{seed}.seismo" for seed in range(4)]


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made / "ds", tmp_path / "ds")
    return "ds"


def test_export_goes_on_after_a_file_that_cannot_be_read(seismo, files, tmp_path):
    (tmp_path / "bad.seismo").write_bytes(b"x")
    words = (files[0], "bad.seismo", "none.seismo", files[0], files[1])
    status, _, errors = seismo("export", *words, "-f", "dataset", "-o", "ds")
    bad, none, twice, last = errors.splitlines()
    assert status == 2
    assert bad.startswith("seismo: bad.seismo: left out: ")
    assert none.startswith("seismo: none.seismo: left out: there is no such file")
    assert twice == "seismo: 0.seismo: it is in the dataset already"
    assert last == "seismo: 2 of 5 recordings appended to ds"
    assert seismo("export", *files, "-f", "dataset", "-o", "ds")[0] == 0


def test_idle_threads_are_left_out_as_of_a_merge(seismo, tmp_path):
    names = []
    for pid in range(3):
        b = Builder()
        process = b.process(pid, start_ns=10**18 + pid)
        main, worker = b.thread(process, "MainThread", main=1), b.thread(process, "worker")
        b.node(-1, main, b.function("app", "main", "app.py", 1), calls=1, own_ns=10**6)
        loop = b.node(-1, worker, b.function("app", "loop", "app.py", 9), calls=1, own_ns=10**6)
        get = b.function("_queue", "SimpleQueue.get", kind=1)
        b.node(loop, worker, get, calls=5, own_ns=10**9, wait_ns=10**9)
        names.append(f"{pid}.seismo")
        b.build({"recorder": "calltree"}).save(tmp_path / names[-1])
    assert seismo("export", *names, "-f", "dataset", "-o", "ds")[0] == 0
    assert seismo("merge", *names, "-o", "all.seismo")[0] == 0
    mine, theirs = (seismo("report", name)[1] for name in ("ds", "all.seismo"))
    assert "3.00 s idle" in mine.splitlines()[0]
    assert mine.splitlines()[0] == theirs.splitlines()[0]
    assert "3 threads waited for work" in theirs
    assert "idle: threads waited for work for 3.00 s" in mine


def test_pages_and_info_work_on_a_dataset(seismo, folder, tmp_path):
    assert seismo("report", folder, "--html", "page.html")[0] == 0
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert "4 processes" in seismo("info", folder)[1]
    status, _, errors = seismo("report", folder, "--thread", "MainThread")
    assert (status, "the threads of a sum cannot be chosen" in errors) == (2, True)
    assert seismo("info", folder, "--verify") == (0, "4 recordings are whole, 0 problems\n", "")


def test_diff_by_a_label(seismo, folder, files):
    status, text, _ = seismo("diff", folder, "--by", "label=version")
    assert status == 0
    separate = seismo("diff", "--old", *files[:2], "--new", *files[2:])[1]

    def changed(text):
        return text.partition("Changed in calls")[2].partition("Changed in own time")[0]

    assert changed(text)
    assert changed(text) == changed(separate)
    assert seismo("diff", folder, "--by", "label=version", "--old", "2", "--new", "1")[0] == 0
    for words, problem in (
        (("--by", "version"), "name a label"),
        (("--by", "label=vers"), "no recording has the label 'vers'"),
        (("--by", "label=version", "--old", "3"), "two values of the label"),
        (("--by", "label=version", "--old", "1"), "two values of the label"),
    ):
        status, _, errors = seismo("diff", folder, *words)
        assert (status, problem in errors) == (2, True), errors


def test_query_reads_the_dataset_and_nothing_else(seismo, folder, files, tmp_path):
    whole = merge(read(tmp_path / name) for name in files)
    sql = "select f.qualname, sum(calls)::bigint as calls from calls_by_path join functions f using (function) "
    sql += "group by all"
    status, text, _ = seismo("query", folder, sql, "--format", "json")
    assert status == 0
    found = {row["qualname"]: row["calls"] for row in json.loads(text) if row["calls"]}
    assert found == {row.qualname: row.calls for row in whole.functions if row.calls}
    rows = json.loads(
        seismo("query", folder, "select distinct labels['version'] as v from processes order by v", "--format", "json")[
            1
        ]
    )
    assert rows == [{"v": "1"}, {"v": "2"}]
    tables = seismo("query", folder, "--tables")[1]
    assert "calls_by_path" in tables
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for wrong, problem in (
        (f"select * from '{tmp_path / 'secret.csv'}'", "neither files nor the network"),
        (f"copy functions to '{tmp_path / 'ds' / 'x.parquet'}'", "only queries can be run"),
        ("select * from calls_by_pth", "did you mean calls_by_path"),
        ("select * from calls_between(1, 2)", "a dataset has no calls in time"),
    ):
        status, _, errors = seismo("query", folder, wrong)
        assert (status, problem in errors) == (2, True), errors


def test_report_by_groups_names_functions_and_escapes_names(seismo, tmp_path):
    for task in range(10):
        b = Builder()
        thread = b.thread(b.process(task, start_ns=task, host="h\x1b[31m"), "main", main=1)
        root = b.node(-1, thread, b.function("app", "work", "app.py", 1), calls=1, own_ns=10**6 + task)
        if task == 7:
            b.node(root, thread, b.function("app", "retry\x1b[31m", "app.py", 9), calls=40, own_ns=10**7)
        append(tmp_path / "ds", [b.build({"recorder": "calltree"})], {"task": f"t{task}\x1b[0m"})
    b.build({"recorder": "calltree"}).save(tmp_path / "t.seismo")
    status, text, _ = seismo("report", "ds", "--by", "task")
    assert status == 0
    assert "\x1b" not in text
    spread, _, why = text.partition("What explains the slowest 1 of 10")
    assert "app:work  app.py:1" in spread
    first = why.splitlines()[why.splitlines().index(next(line for line in why.splitlines() if "explains" in line)) + 1]
    assert first.endswith("x1b[31m  app.py:9")
    assert first.split()[0] == "100"
    assert "there are 1 groups" in seismo("report", "ds", "--by", "host")[2]
    assert "--by cannot be 'hots'" in seismo("report", "ds", "--by", "hots")[2]
    assert "--by cannot be 'host'" in seismo("report", "t.seismo", "--by", "host")[2]
    assert "--html does not go with --by task" in seismo("report", "ds", "--by", "task", "--html", "x.html")[2]
    assert "no recording has the label '?'" in seismo("report", "ds", "--by", "label:\udc80")[2]
    (tmp_path / "ds").rename(tmp_path / "d\udc80")
    assert "whose name is not UTF-8" in seismo("report", "d\udc80")[2]


def test_a_function_that_moved_is_compared_with_itself_by_label_and_by_name(seismo, tmp_path):
    for number, line in enumerate((10, 10, 14, 14)):
        b = Builder()
        thread = b.thread(b.process(number, start_ns=number + 1), "main", main=1)
        b.node(-1, thread, b.function("m", "decode", "m.py", line), calls=10 + line, own_ns=10**6)
        append(tmp_path / "ds", [b.build({"recorder": "calltree"})], {"version": str(line)})
    b.build({"recorder": "calltree"}).save(tmp_path / "0.seismo")
    text = seismo("diff", "ds", "--by", "label=version")[1]
    assert "New functions: none" in text
    assert "m:decode" in text.partition("Changed in calls")[2].partition("New functions")[0]
    for more, lines in (((), ["10", "14"]), (("--by-name",), ["10"])):
        text = seismo("report", "ds", "--by", "process", *more)[1].partition("What explains")[0]
        found = [line.rpartition("m.py:")[2] for line in text.splitlines() if "m:decode" in line]
        assert sorted(found) == lines or (more and found in (["10"], ["14"]))
    status, _, errors = seismo("report", "0.seismo", "--by-name")
    assert (status, "--by-name applies to the groups of a dataset" in errors) == (2, True)


def test_hostile_labels_and_names_of_tasks_are_harmless_wherever_they_are_shown(seismo, tmp_path):
    hostile = "</script><script>alert(1)</script>\x1b[31m\u202e';--"
    for task in range(3):
        b = Builder()
        thread = b.thread(b.process(task, start_ns=task + 1, host=hostile), hostile, main=1)
        b.node(-1, thread, b.function("m", "f", "m.py", 1), calls=1, own_ns=10**6 * (task + 1))
        b.build({"recorder": "calltree"}).save(tmp_path / f"{task}.seismo")
        labels = ("--label", f"task={hostile}{task}", "--label", f"{hostile}={hostile}{task % 2}")
        assert seismo("export", f"{task}.seismo", "-f", "dataset", "-o", "ds", *labels)[0] == 0
    for words in (
        ("report", "ds"),
        ("info", "ds"),
        ("report", "ds", "--by", "task"),
        ("report", "ds", "--by", f"label:{hostile}x"),
        ("diff", "ds", "--by", f"label={hostile}"),
        ("query", "ds", "select task, labels from processes"),
        ("report", "ds", "--html", "page.html"),
        ("export", "ds", "-f", "collapsed"),
    ):
        status, *texts = seismo(*words)
        assert status == (2 if words[-1].endswith("x") else 0), texts
        text = "".join(texts)
        assert not {"\x1b", "\u202e"} & set(text), words
    page = (tmp_path / "page.html").read_text()
    assert "alert(1)</script>" not in page
    assert not {"\x1b", "\u202e"} & set(page)


def test_mistakes_of_export(seismo, files, folder):
    for words, problem in (
        ((files[0], "-f", "dataset"), "the folder of the dataset is not named"),
        ((files[0], "-f", "dataset", "-o", "d", "--label", "x"), "--label cannot be 'x'"),
        ((files[0], "-f", "dataset", "-o", "d", "--from", "1s"), "--from does not go with -f dataset"),
        ((files[0], "-o", "x.pstats", "--label", "a=b"), "--label applies to datasets only"),
        ((*files, "-o", "x.pstats"), "one file is enough"),
        ((folder, "-f", "dataset", "-o", "d"), "this is a dataset, not a recording"),
        ((files[0], "-f", "dataset", "-o", files[1]), "this is a file"),
    ):
        status, _, errors = seismo("export", *words)
        assert (status, problem in errors) == (2, True), errors
    for words, problem in (
        (("report", "."), "this is a folder, not a recording"),
        (("merge", *files, "--engine", "duckdb", "-o", "other.seismo"), "--engine applies to datasets only"),
        (("merge", folder, files[0], "-o", "other.seismo"), "a dataset goes with no other file"),
        (("query", folder, files[0], "select 1"), "a dataset goes with no other file"),
    ):
        status, _, errors = seismo(*words)
        assert (status, problem in errors) == (2, True), errors


def test_without_pyarrow_the_command_that_installs_it_is_given(seismo, files, monkeypatch):
    import importlib

    from seismo.dataset import schema

    schema.library.cache_clear()

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    status, _, errors = seismo("export", files[0], "-f", "dataset", "-o", "ds")
    assert (status, "datasets need PyArrow, which is not installed" in errors) == (2, True)
    assert "install" in errors
