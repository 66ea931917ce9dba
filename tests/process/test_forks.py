"""Forks while other threads use sessions: what the child lacks holds no lock there and is inside of nothing."""

import pytest

# Python from 3.12 on warns of a fork beside threads, which is what these programs are about.
PREFACE = """
import faulthandler, warnings
warnings.simplefilter("ignore", DeprecationWarning)
def child(function):
    pid = os.fork()
    if pid == 0:
        faulthandler.dump_traceback_later(60, exit=True)  # a child that hangs says where
        function()
        os._exit(0)
    return os.waitpid(pid, 0)[1]
def beside(function):
    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=function, args=(ready, done))
    thread.start()
    ready.wait()
    return thread, done
"""

KINDS = {
    "profile": "seismo.profile()",
    "lines": "seismo.lines()",
    "cover": "seismo.cover()",
    "watch": "seismo.watch('call(\"f\")', 'keep')",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_that_another_thread_holds_is_free_in_the_child(run, kind):
    """Of sessions that are active, that have ended, and that were never begun."""
    run(f"""{PREFACE}
def holder(ready, done):
    with idle._lock, ended._lock, active._lock:
        ready.set()
        done.wait()
idle, ended, active = ({KINDS[kind]} for _ in range(3))
with ended: f()
with active:
    thread, done = beside(holder)
    def use():
        for session in (idle, ended, active):
            with session: f()
    status = child(use)
    done.set()
    thread.join()
assert status == 0, status
""")


def test_a_lock_that_the_forking_thread_holds_stays_held(run):
    run(f"""{PREFACE}
from seismo.process import fork_handlers
lock = fork_handlers.new_lock()
def use():
    assert lock._is_owned()
    lock.release()
    assert not lock._is_owned()
with lock:
    assert child(use) == 0
""")


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_threads_that_the_child_lacks_are_left(run, kind):
    """The child's own use of the session begins anew and ends; nothing is recorded before and after it."""
    run(f"""{PREFACE}
from seismo import _core
def holder(ready, done):
    with session:
        ready.set()
        done.wait()
session = {KINDS[kind]}
thread, done = beside(holder)
def nothing_runs():
    return not (_core.status()["running"] or _core.status("coverage")["running"] or session._inside)
def use():
    assert nothing_runs()
    f()
    with session:
        assert not nothing_runs() or hasattr(session, "matches")
        g()
    assert nothing_runs()
    if hasattr(session, "matches"):
        assert session.count == 1, session.count
    else:
        ran = {{row.qualname for row in session.recording.functions}}
        assert "g" in ran and "nothing_runs" in ran, ran
assert child(use) == 0
done.set()
thread.join()
assert nothing_runs()
""")


def test_blocks_of_the_forking_thread_go_on(run):
    run(f"""{PREFACE}
session = seismo.profile()
def use():
    g()
    session.__exit__(None, None, None)
    assert calls(session.recording) == {{"use": 1, "g": 1, "f": 1}}, calls(session.recording)
with session:
    assert child(use) == 0
""")


def test_another_thread_of_the_child_may_stop_what_was_started(run):
    run(f"""{PREFACE}
seismo.start()
status = []
def use():
    f()
    assert calls(seismo.stop())["f"] == 1
thread = threading.Thread(target=lambda: status.append(child(use)))
thread.start()
thread.join()
assert status == [0], status
seismo.stop()
""")


def test_who_starts_the_core_himself_answers_for_his_children(run):
    """Sessions that were there earlier have no say in it: none of their threads is about to start or to stop it."""
    run(f"""{PREFACE}
from seismo import _core
with seismo.profile(), seismo.cover(): f()
_core.start()
_core.start(recorder="coverage")
def use():
    _core.after_fork(-1, "{{}}")
    _core.after_fork(-1, "{{}}", "coverage")
    f()
    assert _core.status()["running"] and _core.snapshot()
    assert _core.status("coverage")["running"] and _core.snapshot("coverage")
assert child(use) == 0
""")


def test_the_interpreter_calls_one_function_of_ours(run):
    """All that seismo does in a forked child has one order, whatever was used first."""
    run(f"""import os
registered = []
os.register_at_fork = lambda **functions: registered.append(functions)
{PREFACE}
with seismo.profile(), seismo.cover(), seismo.watch("call", "keep"): f()
with seismo.lines(): f()
ours = [functions for functions in registered if "seismo" in str([f.__module__ for f in functions.values()])]
assert [list(functions) for functions in ours] == [["after_in_child"]], ours
""")


def test_what_fails_in_a_forked_child_keeps_nothing_from_the_others(run):
    run(f"""{PREFACE}
from seismo.process import fork_handlers
told = []
def fails(): raise LookupError("no")
fork_handlers.register(fails, fork_handlers.USERS)
fork_handlers.register(lambda: told.append(1), fork_handlers.LAST)
sys.unraisablehook = lambda failure: told.append(failure.exc_type)
def use():
    assert told == [1, LookupError], told
assert child(use) == 0
""")
