"""Running and waiting beside each other, in all that is shown."""

import gzip
import io
import json
import re

import pytest
from children import seismo
from on_paper import summed_up, written
from page_data import data_of

from seismo import formats
from seismo.model import Builder, read
from seismo.report.calls.imports import NAME, with_imports_as_one
from seismo.report.facts import header
from seismo.report.lines import text as lines_report
from seismo.report.lines.page import page as lines_page
from seismo.report.options import Options
from seismo.report.waiting import reasons
from seismo.report.words import Signs, cells

MS = 1_000_000
TOLD = "rseq, ready, lock"


def server(waits=TOLD, cpu_ns=130 * MS):
    """A program's own code that computes for 100 ms and waits, a worker that only waits; 4 s on the wall in all."""
    b = Builder()
    process = b.process(pid=1, argv=["serve.py"], source="monitoring", waits=waits)
    main_thread = b.thread(process, name="MainThread", wall_ns=2_000 * MS, cpu_ns=cpu_ns, main=1)
    worker = b.thread(process, name="worker", wall_ns=2_000 * MS, cpu_ns=0)
    root = b.node(-1, main_thread, b.function("app", "main", "/x/serve.py", 1), calls=1, own_ns=30 * MS)

    def node(parent, thread, function, calls, ran, lock=0, ready=0, other=0):
        wait = (lock + ready + other) * MS if waits else 0
        own = (ran + lock + ready + other) * MS
        parts = {"lock_ns": lock * MS, "ready_ns": ready * MS} if waits else {}
        return b.node(parent, thread, function, calls=calls, own_ns=own, wait_ns=wait, **parts)

    node(root, main_thread, b.function("app", "page", "/x/serve.py", 9), 50, 100, lock=600, ready=270)
    node(root, main_thread, b.function("select", "poll", kind=1), 20, 0, other=1_000)
    run = b.node(-1, worker, b.function("app", "worker", "/x/serve.py", 20), calls=1)
    node(run, worker, b.function("_queue", "SimpleQueue.get", kind=1), 10, 0, other=2_000)
    return b.build({"recorder": "calltree", "implementation": "CPython", "python": "3.14.1"})


def timed_lines():
    b = Builder()
    process = b.process(pid=1, argv=["serve.py"], waits=TOLD)
    b.thread(process, wall_ns=2_000 * MS, cpu_ns=100 * MS)
    function = b.function("app", "page", "/x/serve.py", 9)
    b.line(function, 10, 5, own_ns=80 * MS)
    b.line(function, 11, 5, own_ns=20 * MS, wait_ns=1_900 * MS, lock_ns=1_800 * MS)
    return b.build({"recorder": "linetimes"})


def table(lines, title="Functions"):
    start = next(number for number, line in enumerate(lines) if line.startswith(title))
    rows = lines[start + 1 : lines.index("", start) if "" in lines[start:] else None]
    return [re.split(r"  +| (?=lock|preempted|other)", row.strip(" ▸")) for row in rows]


def test_elapsed_time_is_ranked_and_waiting_is_beside_it(report):
    lines = report(server(), 120)
    assert lines[0] == "serve.py  took 2.00 s on 2 threads: 130 ms running, 1.87 s waiting, 2.00 s idle"
    tree = table(lines, "Call tree")
    assert tree[0] == ["total %", "total", "own", "waiting", "calls", "function"]
    assert tree[1] == ["100 %", "2.00 s", "30.0 ms", "1.87 s", "1", "app:main", "serve.py:1"]
    assert [row[-2] for row in tree[2:4]] == ["select:poll", "app:page"]
    assert tree[-1] == ["idle: 1 thread waited for work for 2.00 s"]
    head, *rows = table(lines)
    assert head == ["own", "own %", "waiting", "for", "total", "calls", "function"]
    assert rows[0][:4] == ["1.00 s", "50.0 %", "1.00 s", "other"]
    assert rows[1][:5] == ["970 ms", "48.5 %", "870 ms", "lock+preempted", "970 ms"]
    assert "100 % is 2.00 s of elapsed time" in " ".join(lines)


def test_running_can_be_ranked_with_waiting_beside_it(report):
    lines = report(server(), 120, time="cpu")
    said = "waiting 3.87 s of the threads' 4.00 s: 600 ms for the interpreter's lock, 270 ms for a processor, 3.00 s"
    assert said in " ".join(" ".join(lines).split())
    assert "2.00 s of it in _queue:SimpleQueue.get" in " ".join(lines)
    head, *rows = table(lines)
    assert head == ["own", "own %", "waiting", "for", "total", "calls", "function"]
    assert [row[-2] if row[-1].startswith(("serve", "(C)")) else row[-1] for row in rows] == [
        "app:page", "app:main", "select:poll", "_queue:SimpleQueue.get", "app:worker",
    ]  # fmt: skip
    assert rows[0][:5] == ["100 ms", "76.9 %", "870 ms", "lock+preempted", "100 ms"]
    assert rows[1][:3] == ["30.0 ms", "23.1 %", "130 ms"], "it did not wait"
    assert rows[2][:4] == ["0", "0 %", "1.00 s", "other"]
    assert "100 % is 130 ms of running" in " ".join(lines)
    tree = table(lines, "Call tree")
    assert tree[0] == ["total %", "total", "own", "waiting", "calls", "function"]
    assert tree[1] == ["100 %", "130 ms", "30.0 ms", "1.87 s", "1", "app:main", "serve.py:1"]
    assert not any("worker" in cell for row in tree for cell in row), "a thread that only waits has no row"
    assert max(map(cells, report(server(), 80))) <= 80


@pytest.mark.parametrize(
    ("times", "title", "first"),
    [
        ("wall", "Functions by own time (100 % is 2.00 s of elapsed time)", ["1.00 s", "50.0 %", "1.00 s", "other"]),
        ("wait", "Functions by time waiting (100 % is 1.87 s of waiting)", ["1.00 s", "53.5 %", "other", "1.00 s"]),
    ],
)
def test_the_wall_or_waiting_can_be_ranked(report, times, title, first):
    lines = report(server(), 120, time=times)
    assert title in lines
    rows = table(lines)
    assert rows[1][:4] == first
    assert rows[1][-2] == "select:poll"
    own, total = (sum(server().timed(times).functions[name]) for name in ("own_ns", "total_ns"))
    assert own == pytest.approx((4_000 if times == "wall" else 3_870) * MS)
    assert total >= own


def test_no_row_without_waiting_is_among_those_by_waiting(report):
    """Of a program's functions, most never wait: rows of zeros would be most of what --all shows."""
    for order in ("own", "total", "calls"):
        names = [row[-2] for row in table(report(server(), 120, time="wait", limit=99, sort=order))[1:]]
        assert ("app:main" in names) == (order == "total"), "only what it called waited"
        assert "select:poll" in names
    assert "app:main" in [row[-2] for row in table(report(server(), 120, limit=None))[1:]]
    assert "% of the waiting (" in " ".join(report(server(), 120, time="wait", limit=1))


def test_callers_and_callees_have_waiting(report):
    rows = table(report(server(), 100, callees=["main"], time="cpu"), "  1 call,")
    assert rows[0] == ["total", "share", "waiting", "calls", "callee"]
    assert rows[1][:4] == ["100 ms", "76.9 %", "870 ms", "50"]
    assert rows[2][:4] == ["0", "0 %", "1.00 s", "20"]
    assert rows[3][-1] == "(its own time)"


def test_a_thread_alone_is_told_the_same_way(report):
    lines = report(server(), 120, thread=["worker"])
    assert table(lines)[1][-3:] == ["10", "_queue:SimpleQueue.get", "(C)"]
    assert table(lines)[1][0] == "0", "it waited for work, and did nothing else"


def test_a_recording_that_tells_nothing_reads_as_ever_with_a_word(report):
    lines = report(server(waits=""), 120)
    text = " ".join(" ".join(lines).split())
    assert "waiting the threads ran 130 ms of their 4.00 s; it is not known where" in text
    head, *rows = table(lines)
    assert head == ["own", "own %", "total", "calls", "function"]
    assert rows[0][:2] == ["2.00 s", "50.0 %"]
    assert "(100 % is 4.00 s in functions)" in text
    assert report(server(waits=""), 120, time="wall") == lines
    quiet = report(server(waits="", cpu_ns=3_900 * MS), 120)
    assert not any(line.startswith("waiting") for line in quiet)


@pytest.mark.parametrize(("waits", "words"), [("clock", ", reason unknown"), ("rseq, ready", ": 270 ms for a p")])
def test_what_was_not_told_apart_is_said(report, waits, words):
    text = " ".join(" ".join(report(server(waits), 120)).split())
    assert f"3.87 s of the threads' 4.00 s{words}" in text


def test_nothing_waited_nothing_said(chain, report):
    assert "wait" not in "\n".join(report(chain(["f"])))


def test_where_there_are_no_times_nothing_is_said_of_them():
    """A recording of objects, or of coverage: whether its threads waited changes none of its numbers."""
    for recorder in ("lifetimes", "coverage"):
        b = Builder()
        process = b.process(pid=1, argv=["serve.py"], start_ns=1, end_ns=4_000 * MS)
        b.thread(process, name="MainThread", wall_ns=4_000 * MS, cpu_ns=100 * MS, main=1)
        assert "waiting" not in dict(header(b.build({"recorder": recorder}), Signs()))


def test_reasons():
    known = {"lock", "ready"}
    assert reasons(100, 0, 95, known) == "lock"
    assert reasons(100, 50, 45, known) == "preempted+lock"
    assert reasons(100, 50, 45, known, roomy=False) == "preempted"
    assert reasons(100, 0, 0, known) == "other"
    assert reasons(100, 0, 0, set()) == ""
    assert reasons(0, 0, 0, known) == ""


def test_the_summaries():
    lines = summed_up(server(), "x.seismo")
    assert " ".join(lines).startswith(
        "seismo: 82 calls of 5 functions in 2.00 s on 2 threads: 130 ms running, 1.87 s waiting"
    )
    assert [line.split()[-1] for line in lines[3:5]] == ["select:poll", "app:page"]
    assert len(lines) <= 15
    lines = summed_up(timed_lines())
    assert lines[0].endswith("100 ms running, 1.90 s waiting")
    assert [line.split()[:2] for line in lines[2:4]] == [["1.92", "s"], ["80.0", "ms"]]


def test_lines():
    lines = written(lines_report.write_report, timed_lines(), Options(time="cpu")).splitlines()
    assert [row[:4] for row in table(lines, "Lines by")[1:3]] == [
        ["80.0 ms", "80.0 %", "16.0 ms", "5"],
        ["20.0 ms", "20.0 %", "1.90 s", "lock"],
    ]
    assert any(line.split()[:2] == ["waiting", "1.90"] for line in lines)
    assert max(map(cells, written(lines_report.write_report, timed_lines(), Options(), width=72).splitlines())) <= 72
    head, columns = data_of(lines_page(timed_lines(), Options()))
    assert set(head["there"]) == {"cpu", "wall", "wait"}
    assert 1_900 * MS in [round(wait) for wait in columns["l.wait"]]
    assert "lock" in head["reasons"]


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server().save("serve.seismo")
    return "serve.seismo"


def exported(name, time=None):
    """The server's recording in another format."""
    out = io.BytesIO()
    formats.write(server(), out, name, time=time)
    return out.getvalue()


@pytest.mark.parametrize(("time", "weight"), [("cpu", 100 * MS), ("wall", 970 * MS), ("wait", 870 * MS)])
def test_formats_with_one_time_have_the_one_that_is_asked_for(time, weight):
    stacks = dict(line.rsplit(" ", 1) for line in exported("collapsed", time).decode().splitlines())
    assert int(next(stacks[key] for key in stacks if key.endswith("page"))) == weight
    for name in ("speedscope", "pstats", "callgrind", "pprof"):
        back = formats.by_name(name).reader(exported(name, time))
        own = {row.qualname: row.own_ns for row in back.functions}
        assert own["page"] == pytest.approx(weight, rel=1e-3), name


def test_callgrind_and_pprof_have_waiting_beside_it():
    text = exported("callgrind").decode()
    assert "events: ns_time calls ns_waiting" in text
    assert f"\n9 {970 * MS} 50 {870 * MS}\n" in text
    assert f"totals: {4_000 * MS} 82 {3_870 * MS}\n" in text
    assert b"waiting" in gzip.decompress(exported("pprof"))


def test_json_has_the_wall_and_what_of_it_was_waiting(file):
    document = json.loads(seismo("export", file, "-f", "json").stdout)
    row = next(row for row in document["functions"] if row["qualname"] == "page")
    assert (row["own_ns"], row["wait_ns"], row["lock_ns"]) == (970 * MS, 870 * MS, 600 * MS)
    refused = seismo("export", file, "-f", "json", "--time", "cpu", status=2)
    assert "json files always have elapsed times" in refused.stderr


def test_the_commands_take_time(file):
    assert "Functions by time waiting" in seismo("report", file, "--time", "wait", "--limit", 1).stdout
    assert "--time cannot be 'idle'" in seismo("report", file, "--time", "idle", status=2).stderr
    server().save("other.seismo")
    assert "old       4.00 s in 82 calls" in seismo("diff", "--time", "wall", file, "other.seismo").stdout
    assert "old       130 ms in 82 calls" in seismo("diff", file, "other.seismo").stdout
    server(waits="").save("untold.seismo")
    for words in (
        ["report", "untold.seismo"],
        ["export", "untold.seismo", "-f", "collapsed"],
        ["diff", file, "untold.seismo"],
    ):
        refused = seismo(*words, "--time", "wait", status=2)
        assert "the recording does not separate waiting from running" in refused.stderr


@pytest.mark.parametrize("times", ["cpu", "wall", "wait"])
def test_threads_on_one_another_keep_their_times(times):
    recording = server().timed(times)
    combined = recording.combined()
    for name in ("own_ns", "wait_ns"):
        assert sum(combined.functions[name]) == pytest.approx(sum(recording.functions[name]))
    saved = read(combined.to_bytes())
    if times == "wall":
        assert sum(saved.functions["own_ns"]) == pytest.approx(sum(recording.functions["own_ns"]))
    with pytest.raises(ValueError, match="times are one of cpu, wall, wait"):
        recording.timed("idle")


@pytest.mark.parametrize("times", ["wall", "cpu", "wait", "calls"])
def test_running_and_waiting_have_columns_of_their_own_whichever_times_rank(times):
    page = next(row for row in server().timed(times).functions if row.qualname == "page")
    path = next(row for row in server().timed(times).tree if row.function == page.id)
    line = timed_lines().timed(times).lines[1]
    for row, running, waiting in ((page, 100 * MS, 870 * MS), (path, 100 * MS, 870 * MS), (line, 20 * MS, 1_900 * MS)):
        assert row.own_running_ns == pytest.approx(running)
        assert row.own_waiting_ns == waiting
        assert row.wait_ns == waiting
        if times != "calls":
            assert row.own_ns == pytest.approx({"wall": running + waiting, "cpu": running, "wait": waiting}[times])
    functions = server().timed(times).functions
    assert functions["own_waiting_ns"] == functions["wait_ns"]
    assert functions.numbers("own_running_ns")[page.id] == 100 * MS


def test_the_import_systems_running_and_waiting_are_moved_with_its_time():
    b = Builder()
    thread = b.thread(b.process(waits=TOLD), wall_ns=100 * MS)
    top = b.node(-1, thread, b.function("app", "main", "/x/app.py", 1), calls=1, own_ns=10 * MS)
    for qualname in ("_find_and_load", "_load"):
        function = b.function("importlib._bootstrap", qualname, "<frozen importlib._bootstrap>", 3)
        top = b.node(top, thread, function, calls=1, own_ns=30 * MS, wait_ns=20 * MS)
    row = next(row for row in with_imports_as_one(b.build({"recorder": "calltree"})) if row.qualname == NAME)
    assert (row.own_ns, row.own_running_ns, row.own_waiting_ns) == (60 * MS, 20 * MS, 40 * MS)
