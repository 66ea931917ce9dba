"""What `--record` leaves of a program that is killed: what was counted, and a word that the end is missing."""

import itertools
import os
import signal
import sys
import time

import children
import pytest

import seismo
from seismo.model import read
from seismo.process import output_file
from seismo.report.facts import losses
from seismo.report.words import Signs
from seismo.watching.watch_recording import _keep

PROGRAM = """
import os, signal, sys, threading, time
def work(): pass
def more(): pass
for _ in range(7): work()
print("READY", flush=True)
"""
# Where the program is when it is killed: what it then runs, until the file is seen to hold all.
PLACES = {
    "python": "while True: pass",
    "thread": """
def go_on():
    while True:
        more()
        time.sleep(0.01)
threading.Thread(target=go_on).start()
""",
    "matches": "while True: more()",
}


def start(tmp_path, body, *words, watching='call("work", "more")'):
    (tmp_path / "app.py").write_text(PROGRAM + body)
    command = [sys.executable, "-m", "seismo", "watch", watching, "--count", "--record", "w.seismo", *words, "app.py"]
    child = children.popen(command, cwd=tmp_path)
    assert child.stdout.readline() == "READY\n"
    return child


def calls(recording):
    return {row.qualname: row.calls for row in recording.functions}


def wait_for(path, wanted):
    for _ in range(3000):
        recording = read(path)  # whole at any time
        assert recording.problems == []
        if wanted(calls(recording)):
            return recording
        time.sleep(0.02)
    raise AssertionError(calls(recording))


def said(recording):
    return " ".join(losses(recording, Signs(False)))


@pytest.mark.parametrize("place", PLACES)
def test_killed_where_it_stands(tmp_path, place):
    with start(tmp_path, PLACES[place]) as child:
        wait_for(tmp_path / "w.seismo", lambda found: found.get("work") == 7 and (place == "python" or "more" in found))
        child.kill()
    recording = read(tmp_path / "w.seismo")
    assert recording.problems == []
    assert calls(recording)["work"] == 7
    assert "cut-short" in list(recording.losses["kind"])
    assert "the end is missing" in said(recording)
    assert [name for name in os.listdir(tmp_path) if name.startswith(".seismo-")] == []


@pytest.mark.parametrize("place", ["time.sleep(60)", PLACES["matches"], "os.kill(os.getpid(), 15); print('ALIVE')"])
def test_ended_by_a_signal_that_nobody_handles(tmp_path, place):
    # A program is kept alive for two seconds at most: on a busy machine that may be too short.
    for _ in range(3):
        with start(tmp_path, place) as child:
            if "os.kill" not in place:
                child.send_signal(signal.SIGTERM)
            assert child.wait(60) == -signal.SIGTERM
            printed = child.stdout.read() + child.stderr.read()
        recording = read(tmp_path / "w.seismo")
        assert recording.problems == []
        if printed == "" and "cut-short" not in list(recording.losses["kind"]):
            break
    assert printed == ""
    assert "cut-short" not in list(recording.losses["kind"])
    assert [row.exit for row in recording.processes] == ["SIGTERM"]
    assert calls(recording)["work"] == 7


HANDLER = """
import signal, time
import seismo
from seismo.watching import watch_recording
watch_recording._EVERY = 1  # as often as can be, so that signals come in the middle
raised = caught = 0
ready = False
def ring(*_):
    global ready, raised
    if ready:
        ready, raised = False, raised + 1
        raise TimeoutError
def more(): pass
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
with seismo.watch('call("more")', "count", record="w.seismo") as w:
    while caught < 300:
        try:
            ready = True
            for _ in range(10_000_000):
                more()
            break  # it was never caught
        except TimeoutError:
            caught += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print(raised == caught >= 300, w.unwritten)
"""


def test_what_a_handler_of_the_programs_own_raises_is_the_programs(tmp_path):
    (tmp_path / "app.py").write_text(HANDLER)
    done = children.python("app.py", cwd=tmp_path, status=None)
    assert (done.stdout, done.stderr) == ("True \n", "")
    recording = read(tmp_path / "w.seismo")
    assert recording.problems == []
    assert "cut-short" not in list(recording.losses["kind"])


class Os:
    """The module os, whose use is interrupted by a signal once."""

    def __init__(self):
        self.left = -1

    def __getattr__(self, name):
        self.left -= 1
        if not self.left:
            signal.raise_signal(signal.SIGUSR1)
        return getattr(os, name)


def test_an_oserror_of_a_handler_is_not_taken_for_the_files(tmp_path, monkeypatch):
    def ring(*_):
        raise TimeoutError

    path, fake = tmp_path / "w.seismo", Os()
    monkeypatch.setattr(output_file, "os", fake)
    before = signal.signal(signal.SIGUSR1, ring)
    try:
        with seismo.watch('call and qualname("work") and file("*test_killed.py")', "count", record=path) as w:
            for number in itertools.count(1):
                work()
                fake.left = number
                try:
                    _keep("")
                except TimeoutError:
                    assert read(path).problems == []
                else:
                    break  # the last use came before
            fake.left = -1
        assert number > 8
        assert w.unwritten == ""
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert calls(read(path)) == {"work": number}
    assert os.listdir(tmp_path) == ["w.seismo"]


def test_a_forked_child_leaves_the_file_alone(tmp_path):
    body = """
pid = os.fork()
if not pid:
    work()
    signal.raise_signal(signal.SIGTERM)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -15
work()
"""
    with start(tmp_path, body) as child:
        _, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    recording = read(tmp_path / "w.seismo")
    assert calls(recording) == {"work": 8}
    assert list(recording.losses["kind"]) == []


def work():
    pass


def test_one_that_never_ends(tmp_path):
    (tmp_path / "app.py").write_text(
        "import seismo\ndef work(): pass\nw = seismo.watch('call(\"work\")', 'count', record='w.seismo')\n"
        "w.__enter__()\nwork()\n"
    )
    children.python("app.py", cwd=tmp_path)
    recording = read(tmp_path / "w.seismo")
    assert calls(recording) == {"work": 1}
    assert list(recording.losses["kind"]) == ["cut-short"]


def test_a_main_thread_that_waits_for_another_is_no_trap(tmp_path):
    """The main thread is asked to keep the file while it waits in C for a thread that calls functions meanwhile.

    On 3.11 a thread that is traced does not get past the beginning of a function while the main thread is asked.
    """
    program = tmp_path / "program.py"
    program.write_text(
        "import threading, time\n"
        "def leaf(): pass\n"
        "def work():\n"
        "    end = time.monotonic() + 0.4\n"
        "    while time.monotonic() < end: leaf()\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\n"
        "thread.join()\n"
        "print('done')\n"
    )
    done = children.seismo("watch", 'call("never")', "--record", tmp_path / "r.seismo", program)
    assert done.stdout == "done\n"
