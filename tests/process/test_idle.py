"""What a program did is in its file an interval later, though no event comes any more, and is safe from SIGKILL.

Each program says on its standard output what it has done, and then waits in C until it is killed.
"""

import contextlib
import os
import resource
import signal
import sys
import time
from pathlib import Path

import children
import pytest

from seismo import _core
from seismo.errors import RecordingError
from seismo.model import read

WAYS = {
    "profile": ["profile"],
    "no times": ["profile", "--timing", "none"],
    "lines": ["lines"],
    "trace": ["trace"],
    "cover": ["cover"],
    "hits": ["cover", "--counts"],
    "objects": ["objects"],
    "paths": ["objects", "--paths"],
}
if _core.objects_objection() is not None:
    WAYS = {name: words for name, words in WAYS.items() if words[0] != "objects"}


def ways(*but):
    """The others; what is one of them with one more option is left to the matrix."""
    more = {"no times", "hits", "paths"}
    return [pytest.param(way, marks=[pytest.mark.matrix] * (way in more)) for way in WAYS if way not in but]


INTERVAL = 0.05  # seconds
PATIENCE = 30  # seconds: hundreds of intervals, on a busy machine

WORK = """
import os, sys, threading, time
def leaf(i): return [i]
def burst(n):
    for i in range(n):
        leaf(i)
def again(): return 1
def done(): os.write(1, b"done\\n")
def for_ever(): os.read(0, 1)
"""


@pytest.fixture
def start(tmp_path):
    """start(words, program) -> a child that records into r.seismo and has done its first part; killed at the end."""
    running = []

    def start(words, program):
        (tmp_path / "app.py").write_text(WORK + program)
        options = [*words, "-q", "-o", "r.seismo", "--flush", str(INTERVAL), "app.py"]
        child = children.popen([sys.executable, "-m", "seismo", *options], cwd=tmp_path)
        running.append(child)
        says_done(child)
        return child

    yield start
    for child in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def leaves(recording):
    """How often `leaf` was called, as far as this kind of recording counts that."""
    if recording.kind == "lifetimes":
        functions, types = list(recording.functions["qualname"]), list(recording.types["name"])
        made = (row for row in recording.objects if row.function >= 0 and types[row.type] == "list")
        return sum(row.born for row in made if functions[row.function] == "leaf")
    if recording.kind in ("linetimes", "coverage"):
        return max((row.hits for row in recording.lines if row.line == 3), default=0)
    return sum(row.calls for row in recording.functions if row.qualname == "leaf")


def has(recording, *bursts):
    """Whether these bursts are in the recording, of which the second one is followed by again()."""
    if recording.meta["settings"].get("counts") is False:  # it says only that something ran
        ran = {recording.functions[row.function].qualname for row in recording.lines}
        return "leaf" in ran and ("again" in ran) == (len(bursts) > 1)
    return leaves(recording) == sum(bursts)


def until(path: Path, holds) -> None:
    """Waits for the recording, or one in this folder, to be as it should be; the program does nothing any more."""
    for _ in range(int(PATIENCE / INTERVAL)):
        for file in path.iterdir() if path.is_dir() else [path]:
            with contextlib.suppress(RecordingError):  # nothing was written yet
                if holds(read(file)):
                    return
        time.sleep(INTERVAL)
    pytest.fail(f"what was done is not in {path}")


def says_done(child):
    assert child.stdout.readline() == "done\n"


def go_on(child):
    """Let the program do its next part, and wait until it is done."""
    child.stdin.write("x")
    child.stdin.flush()
    says_done(child)


def killed(child, path):
    """Kill the program and return its recording."""
    child.kill()
    child.wait()
    return read(path)


def ended(child, path, status):
    """Let the program run to its end and return its recording."""
    assert child.communicate("x")[0] == ""
    assert child.returncode == status
    return read(path)


def at_rest(path: Path) -> os.stat_result:
    """Waits until nothing is written for six intervals; returns what the file then is."""
    for _ in range(PATIENCE):
        before = path.stat()
        time.sleep(6 * INTERVAL)
        after = path.stat()
        if (before.st_mtime_ns, before.st_size, before.st_ino) == (after.st_mtime_ns, after.st_size, after.st_ino):
            return after
    pytest.fail(f"{path} is written again and again")


TWICE = """
burst({})
done()
for_ever()
burst({})
again()
done()
for_ever()
sys.exit(7)
"""


@pytest.mark.parametrize("way", WAYS)
def test_each_burst_is_in_the_file_and_then_nothing_is_written(start, tmp_path, way):
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], TWICE.format(3000, 1))
    until(path, lambda recording: has(recording, 3000))
    at_rest(path)
    go_on(child)
    until(path, lambda recording: has(recording, 3000, 1))
    quiet = at_rest(path)
    left = killed(child, path)
    assert has(left, 3000, 1)
    assert left.problems == []
    (process,) = left.processes
    assert process.end_ns <= quiet.st_mtime_ns + 100_000_000  # since when it may lack something


THREADS = """
def work():
    burst(500)
    ready.release()
    threading.Event().wait()
ready = threading.Semaphore(0)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
for _ in range(4):
    ready.acquire()
done()
threading.Event().wait()
"""


FORK_BESIDE = """
def work():
    if os.fork() == 0:
        os._exit(0)
    os.waitpid(-1, 0)
    burst(400)
    done()
    for_ever()
threading.Thread(target=work, daemon=True).start()
threading.Event().wait()
"""


@pytest.mark.crossed
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("way", ways("cover", "hits"))
@pytest.mark.parametrize("threads", ["all wait", "one forks"])
def test_threads_while_the_main_one_waits_in_c(start, tmp_path, threads, way):
    program, count = {"all wait": (THREADS, 2000), "one forks": (FORK_BESIDE, 400)}[threads]
    start(WAYS[way], program)
    until(tmp_path / "r.seismo", lambda recording: leaves(recording) == count)


FORK = """
if os.fork() == 0:
    burst(700)
    done()
    for_ever()
burst(300)
os.waitpid(-1, 0)
"""
POOLED = """
import multiprocessing
def child():
    burst(700)
    done()
    for_ever()
if __name__ == "__main__":
    burst(300)
    process = multiprocessing.get_context("{}").Process(target=child)
    process.start()
    process.join()
"""
FAMILIES = {"forked": FORK, **{method: POOLED.format(method) for method in ("forkserver", "spawn")}}


@pytest.mark.crossed
@pytest.mark.parametrize("way", ways("cover", "hits", "paths"))
@pytest.mark.parametrize("family", FAMILIES)
def test_children_that_wait(start, tmp_path, family, way):
    start([*WAYS[way], "--children"], FAMILIES[family])
    until(tmp_path / "r.seismo", lambda recording: leaves(recording) == 300)
    until(tmp_path / "r.seismo.parts", lambda recording: leaves(recording) == 700)


STORM = """
def work():
    while not over:
        leaf(0)
over = False
threading.Thread(target=work).start()
for _ in range(30):
    pid = os.fork()
    if pid == 0:
        burst(10)
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
over = True
done()
for_ever()
"""


@pytest.mark.parametrize("way", ways("cover", "hits"))
def test_forks_while_the_file_is_written(start, tmp_path, way):
    child = start([*WAYS[way], "--flush", "0.001"], STORM)
    left = ended(child, tmp_path / "r.seismo", 0)
    assert (left.problems, "cut-short" in list(left.losses["kind"])) == ([], False)


MANY_PATHS = """
names = {}
exec("".join(f"def f{i}(k):\\n for g in ALL if k else (): g(k - 1)\\n" for i in range(10)), names)
names["ALL"] = [names[f"f{i}"] for i in range(10)]
for function in names["ALL"]: function(3)
done()
for_ever()
burst(1)
done()
for_ever()
"""


@pytest.mark.parametrize("way", ["profile", "no times"])
def test_a_write_of_many_paths_costs_what_has_changed(start, tmp_path, way):
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], MANY_PATHS)
    until(path, lambda recording: sum(row.calls for row in recording.functions if row.qualname == "f9") == 1_111)
    assert len(read(path).tree) > 10_000
    before = path.stat().st_size
    go_on(child)
    until(path, lambda recording: leaves(recording) == 1)
    assert path.stat().st_size < before + before // 10


# ---- killed at work ----

COUNTING = """
log = os.open("log", os.O_CREAT | os.O_WRONLY)
done()
n = 0
while True:
    burst(100)
    n += 100
    os.write(log, b"%d %d\\n" % (time.time_ns(), n))
"""


@pytest.mark.crossed
@pytest.mark.parametrize("way", ways("cover", "hits"))
@pytest.mark.parametrize("stopped", [False, True], ids=["killed", "stopped"])
def test_all_that_came_before_the_stated_time_is_there(start, tmp_path, way, stopped):
    child = start(WAYS[way], COUNTING)
    until(tmp_path / "r.seismo", lambda recording: leaves(recording) > 100)
    if stopped:
        child.send_signal(signal.SIGSTOP)
        time.sleep(3 * INTERVAL)
    left = killed(child, tmp_path / "r.seismo")
    (process,) = left.processes
    logged = [tuple(map(int, line.split())) for line in (tmp_path / "log").read_text().splitlines()]
    assert left.problems == []
    before = process.end_ns - 1_000_000  # the time of the day may be slewed; recordings follow the monotonic clock
    assert max((count for at, count in logged if at < before), default=0) <= leaves(left) <= logged[-1][1] + 100
    assert process.end_ns <= (tmp_path / "r.seismo").stat().st_mtime_ns + 100_000_000


# ---- the file is meddled with, or cannot be written ----


@pytest.mark.crossed
@pytest.mark.parametrize("way", ways("hits"))
@pytest.mark.parametrize("what", ["cut", "halved", "removed", "replaced"])
def test_a_program_whose_file_is_taken_away_ends_as_ever(start, tmp_path, way, what):
    """A file that is cut is whole after the next write, except for a trace's journal."""
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], TWICE.format(1000, 1000))
    until(path, lambda recording: has(recording, 1000))
    if what in ("cut", "halved"):
        os.truncate(path, path.stat().st_size // 2 if what == "halved" else 0)
    elif what == "removed":
        path.unlink()
    else:
        (tmp_path / "new").write_text("precious")
        (tmp_path / "new").replace(path)
    go_on(child)
    if what in ("cut", "halved") and way != "trace":
        until(path, lambda recording: has(recording, 1000, 1000) and recording.problems == [])
    left = ended(child, path, 7)
    assert has(left, 1000, 1000)
    lacks = ["the journal of this trace is missing: only its counts and times are left"]
    assert left.problems == (lacks if way == "trace" and what in ("cut", "halved") else [])


@pytest.mark.parametrize("way", ways("hits"))
def test_a_full_disk_that_has_room_again(start, tmp_path, way):
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], TWICE.format(1000, 1000))
    until(path, lambda recording: has(recording, 1000))
    _, most = resource.prlimit(child.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (path.stat().st_size, most))
    go_on(child)
    until(path, lambda recording: "cut off: its last writes failed" in " ".join(recording.problems))
    assert has(read(path), 1000)
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (most, most))
    until(path, lambda recording: has(recording, 1000, 1000) and recording.problems == [])
    left = ended(child, path, 7)
    assert (has(left, 1000, 1000), left.problems, "cut-short" in list(left.losses["kind"])) == (True, [], False)


def test_a_trace_that_is_cut_and_then_killed_says_so(start, tmp_path):
    path = tmp_path / "r.seismo"
    child = start(["trace"], TWICE.format(1000, 1000))
    until(path, lambda recording: leaves(recording) == 1000)
    os.truncate(path, at_rest(path).st_size - 1)
    go_on(child)
    time.sleep(3 * INTERVAL)
    left = killed(child, path)
    assert leaves(left) == 1000
    assert "cut off or damaged" in " ".join(left.problems)


READ_ONLY = """
os.chmod(".", 0o555)
if os.getuid() == 0:
    os.setuid(65534)
for n in range(20):
    burst(1000)
    time.sleep(0.02)
done()
for_ever()
"""


@pytest.mark.parametrize("way", ways("cover", "hits"))
def test_a_folder_that_becomes_read_only(start, tmp_path, way):
    path = tmp_path / "r.seismo"
    start(WAYS[way], READ_ONLY)
    until(path, lambda recording: leaves(recording) == 20_000 and recording.problems == [])
    assert sorted(os.listdir(tmp_path)) == ["app.py", path.name]
