"""seismo where a sandbox refuses system calls, as containers and gVisor do: nothing crashes, and counts stay exact."""

from __future__ import annotations

import json
import platform
import sys

import children
import pytest

import seismo
from seismo.cli import doctor
from seismo.recording_kinds import CALLS as CALL_TREE
from seismo.recording_kinds import COVERAGE, LINES, OBJECTS

KINDS = {"profile": CALL_TREE, "trace": CALL_TREE, "lines": LINES, "cover": COVERAGE, "objects": OBJECTS}

# What other profilers need, and what seismo can do without. Numbers: x86_64, aarch64.
CALLS = {
    "perf_event_open": (298, 241),
    "sched_setattr": (314, 274),
    "timer_create": (222, 107),
    "timerfd_create": (283, 85),
    "setitimer": (38, 103),
    "adjtimex": (159, 171),
    "ptrace": (101, 117),
}
# What the sampler uses for kinds of waiting, what names temporary files, and what the C library asks for at its start.
MORE = {"close_range": (436, 436), "getrandom": (318, 278), "rseq": (334, 293)}
ANSWERS = {"refused": 0x00050001, "unknown": 0x00050026, "deadly": 0x80000000}  # EPERM, ENOSYS, the end of the process

# Forbids the calls for itself, and becomes python WORDS. Needs no rights.
SANDBOX = """
import ctypes, os, struct, sys
answer, numbers, words = int(sys.argv[1]), json_numbers, sys.argv[2:]
steps = [(0x20, 0, 0, 0)]  # load the number of the call
for number in numbers:
    steps += [(0x15, 0, 1, number), (0x06, 0, 0, answer)]  # if it is this one, answer
steps.append((0x06, 0, 0, 0x7FFF0000))  # allow
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
prctl = ctypes.CDLL(None, use_errno=True).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, program, 0, 0):
    sys.exit(f"no seccomp: {os.strerror(ctypes.get_errno())}")
os.execv(sys.executable, [sys.executable, *words])
"""
# Calls a function 301 times on two threads, waits, and forks.
PROGRAM = """
import os, threading, time
def step(): return len("x")
def work():
    for _ in range(100): step()
    time.sleep(0.01)
thread = threading.Thread(target=work)
thread.start(); work(); thread.join()
while os.path.exists(f"/proc/self/task/{thread.native_id}"): time.sleep(0.001)  # os.fork warns of a thread
if child := os.fork(): assert os.waitpid(child, 0)[1] == 0
else: step(); os._exit(0)
for _ in range(101): step()
mode = [line for line in open("/proc/self/status") if line.startswith("Seccomp:")]
print("done", *mode)
"""


def sandboxed(answer: str, *words: object, cwd) -> str:
    """Run `python WORDS` where the calls are answered like this. Return its output; it must end with status 0."""
    calls = CALLS if answer == "deadly" else CALLS | MORE
    column = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
    if column is None or sys.maxsize < 2**32:
        pytest.skip(f"the numbers of system calls on {platform.machine()} are not in this test")
    launcher = SANDBOX.replace("json_numbers", json.dumps([numbers[column] for numbers in calls.values()]))
    done = children.python("-c", launcher, ANSWERS[answer], *words, cwd=cwd, status=None)
    if done.returncode == 1 and done.stderr.startswith("no seccomp"):
        pytest.skip(done.stderr.strip())
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


@pytest.mark.parametrize("answer", ANSWERS)
def test_doctor(answer, tmp_path, capsys):
    facts = json.loads(sandboxed(answer, "-m", "seismo", "doctor", "--json", cwd=tmp_path))
    assert facts["seccomp"] == "filter"
    assert [source["name"] for source in facts["sources"] if source["chosen"]]
    assert facts["clock"]["cost_ns"] > 0
    doctor._show(facts)
    text = " ".join(capsys.readouterr().out.split())
    refused = "in part" in facts["waits"]
    assert refused == (answer != "deadly")
    assert ("the kernel refused what the sampler asks for" in text) == refused
    assert ("a filter of system calls (seccomp)" in text) == (refused or "unknown:" in text)


@pytest.mark.crossed
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("verb", KINDS)
def test_recording(answer, verb, tmp_path):
    if verb == "objects" and sys.version_info < (3, 13, 3):
        pytest.skip("reference tracing needs Python 3.13.3")
    (tmp_path / "program.py").write_text(PROGRAM)
    file = tmp_path / "r.seismo"
    out = sandboxed(answer, "-m", "seismo", verb, "-q", "-o", file, "program.py", cwd=tmp_path)
    assert out.split() == ["done", "Seccomp:", "2"]
    recording = seismo.open(file)
    assert recording.kind == KINDS[verb]
    if verb in ("profile", "trace"):
        assert [row.calls for row in recording.functions if row.qualname == "step"] == [301]
