"""Other interpreters of a recorded process: counts known by construction, their rows, and what is stated if not."""

import collections
import sys

import children
import pytest

import seismo

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="other interpreters are recorded from 3.14 on")

FREES = getattr(sys, "_is_gil_enabled", lambda: True)()  # the memory of interpreters that have ended
KINDS = ["isolated", "legacy"]  # with a GIL of its own, and with the shared one

LEAF = "def leaf(): pass\nfor _ in range(100): leaf()\n"
RUN = """
import _interpreters, sys, threading
def run(code):
    one = _interpreters.create(sys.argv[1])
    failed = _interpreters.exec(one, code)
    assert failed is None, failed
    _interpreters.destroy(one)
def begun(count, code, rounds=1):
    def maker():
        for _ in range(rounds): run(code)
    threads = [threading.Thread(target=maker) for _ in range(count)]
    for thread in threads: thread.start()
    return threads
"""

# Threads make interpreters, one after the other. Each runs two threads at the same time, and the main one runs on.
PROGRAM = (
    RUN
    + """
makers, rounds, n = map(int, sys.argv[2:])
CODE = f'''
import threading
def leaf(): pass
def boom(): raise ValueError
def numbers(count):
    for i in range(count): yield i
class Thing:
    def __init__(self): leaf()
def key(x): return -x
def work():
    for _ in range({n}): leaf()
    assert sum(numbers({n})) == {n} * ({n} - 1) // 2
    for i in range({n}):
        try: boom()
        except ValueError: pass
        Thing()
        divmod(i, 3)
    sorted(range({n}), key=key)
    for i in range({n} // 50):
        space = dict()
        exec("def made(): return %d\\\\ndef other(): return made()" % i, space)
        for _ in range(3): space["other"]()
thread = threading.Thread(target=work)
thread.start()
work()
thread.join()
'''
def mine(i): pass
threads = begun(makers, CODE, rounds)
for i in range(n): mine(i)
for thread in threads: thread.join()
"""
)

# The second interpreter's tool takes the id of the recorder.
TAKEN = f"""{RUN}
LEAF = {LEAF!r}
TAKE = '''
import sys
m = sys.monitoring
mine = next(i for i in range(6) if m.get_tool(i) == "seismo")
m.free_tool_id(mine)
m.use_tool_id(mine, "other")
m.register_callback(mine, m.events.PY_START, lambda *a: None)
m.set_events(mine, m.events.PY_START)
'''
run(LEAF)
run(LEAF + TAKE + LEAF + "assert m.get_tool(mine) == 'other'")
run(LEAF)
"""

POOL = """
import os, signal, sys
from concurrent.futures import InterpreterPoolExecutor
import helper
if __name__ == "__main__":
    pool = InterpreterPoolExecutor(3)
    assert sum(pool.map(helper.work, [1000] * 10)) == 10000
    if sys.argv[1:] == ["kill"]:
        os.kill(os.getpid(), signal.SIGTERM)
"""

HELPER = """
def leaf(): pass
def work(n):
    for _ in range(n): leaf()
    return n
"""

SESSIONS = f"""
import _interpreters, collections, seismo
LEAF = {LEAF!r}
IDS = "import sys; assert not any(sys.monitoring.get_tool(i) for i in range(6))"
def run(one, code):
    failed = _interpreters.exec(one, code)
    assert failed is None, failed
old = _interpreters.create()
made = []
for options in ({{}}, {{"interpreters": "main"}}, {{}}):
    with seismo.profile(**options) as session:
        made.append(_interpreters.create())
        run(made[-1], LEAF)
        run(old, LEAF)
    for one in [old, *made]: run(one, LEAF + IDS)
    found = collections.Counter()
    for row in session.recording.functions: found[row.qualname] += row.calls
    print(found["leaf"], [(loss.kind, loss.count) for loss in session.recording.losses])
for one in [old, *made]: _interpreters.destroy(one)
"""

# Coverage, a hook and short recordings begin and end on the main thread while other interpreters run.
BESIDE = (
    RUN
    + """
import collections, seismo
from seismo import hooks
WORK = '''
def leaf(): pass
def work():
    for i in range(2000):
        leaf()
        if i % 50 == 0: exec("def made(): pass\\\\nmade()", dict())
work()
'''
def covered(n):
    return [i for i in range(n)]
def calls(session):
    found = collections.Counter()
    for row in session.recording.functions: found[row.qualname] += row.calls
    return found
with seismo.profile(c_functions="none") as session:
    threads = begun(2, WORK, 3)
    while any(thread.is_alive() for thread in threads):
        with seismo.cover():
            hook = hooks.set_profile(lambda *event: None, threads="all")
            covered(10)
            hook.remove()
print(calls(session)["leaf"], calls(session)["made"], [loss.kind for loss in session.recording.losses])
threads = begun(2, WORK, 3)
while any(thread.is_alive() for thread in threads):
    with seismo.profile() as session:
        for _ in range(1000): covered(1)
    assert calls(session)["covered"] == 1000
"""
)

# Prints whether Python makes a tuple for an audited operation, as it does while there is an audit hook in C.
AUDITED = """
import _interpreters, tracemalloc
def f(): pass
def audits():
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    f.__code__
    after = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return after - before >= 40
print(audits(), audits())
_interpreters.destroy(_interpreters.create())
print(audits(), audits())
"""

# A thread runs another interpreter while the process ends.
ALIVE = """
import _interpreters, sys, threading, time
one = _interpreters.create(sys.argv[1])
begun = "def leaf(): pass\\nfor _ in range(1000): leaf()"
assert _interpreters.exec(one, begun) is None
endless = "def busy(): pass\\ndef forever():\\n    while True: busy()\\nforever()"
threading.Thread(target=_interpreters.exec, args=(one, endless), daemon=True).start()
time.sleep(0.3)
"""

# Interpreters are made and ended; prints the resident memory, in kilobytes, a third of the way and at the end.
MANY = f"""{RUN}
def resident(): return int(open("/proc/self/statm").read().split()[1]) * 4
for i in range(1, 121):
    run({LEAF!r})
    if i in (40, 120): print(resident())
"""

LONG = f"""{RUN}
for thread in begun(3, "def leaf(): pass\\nfor _ in range(50_000): leaf()"): thread.join()
"""

# The parent of forks goes on; a child is forked when no other interpreter lives: CPython's own would crash there.
FORKED = f"""{RUN}
import os
LEAF = {LEAF!r}
run(LEAF)
pid = os.fork()
run(LEAF)
if pid != 0: assert os.waitpid(pid, 0)[1] == 0
"""


def recorded(folder, verb, program, *arguments, options=(), status=0, **more):
    """Return the calls by name, and the recording, of a recorded run."""
    (folder / "program.py").write_text(program)
    command = [verb, "-q", "-o", "kept.seismo", *options, "program.py", *map(str, arguments)]
    children.seismo(*command, cwd=folder, status=status, **more)
    recording = seismo.open(folder / "kept.seismo")
    return calls(recording), recording


def calls(recording):
    found = collections.Counter()
    for row in recording.functions:
        found[row.qualname] += row.calls
    return found


def losses(recording):
    return {loss.kind: loss.count for loss in recording.losses}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", ["profile", "trace", "profile --timing every", "profile --timing none"])
def test_every_call_is_counted(words, kind, tmp_path):
    makers, rounds, n = 3, 2, 300
    runs = 2 * makers * rounds
    verb, *options = [*words.split(), "--c-functions", "all"]
    found, recording = recorded(tmp_path, verb, PROGRAM, kind, makers, rounds, n, options=options)
    assert (found["mine"], found["work"], found["numbers"]) == (n, runs, runs)
    assert found["leaf"] == 2 * runs * n
    assert found["boom"] == found["Thing.__init__"] == found["key"] == found["divmod"] == runs * n
    assert found["made"] == found["other"] == runs * (n // 50) * 3
    assert losses(recording) == {}
    names = {thread.name for thread in recording.threads}
    assert {"MainThread", "interpreter 1", "interpreter 2", "interpreter 1: Thread-1 (work)"} <= names


@pytest.mark.parametrize("kind", KINDS)
def test_interpreters_come_and_go(kind, tmp_path):
    """Their threads fold like others, and the addresses of their code objects are used again."""
    found, recording = recorded(tmp_path, "profile", PROGRAM, kind, 2, 8, 50)
    assert found["leaf"] == 2 * 2 * 16 * 50
    assert found["made"] == 2 * 16 * 3
    assert "other-interpreters" not in losses(recording)


@pytest.mark.parametrize("options", [["--interpreters", "main"], ["--where", 'function("leaf")']], ids=str)
def test_left_out_interpreters_are_stated(options, tmp_path):
    found, recording = recorded(tmp_path, "profile", PROGRAM, "isolated", 1, 2, 100, options=options)
    assert found["leaf"] == 0
    assert losses(recording)["other-interpreters"] == 2


@pytest.mark.parametrize("kind", KINDS)
def test_another_tool_takes_the_id_in_one(kind, tmp_path):
    """It keeps the id. What ran there before and in the others is counted, and the loss is stated."""
    found, recording = recorded(tmp_path, "profile", TAKEN, kind)
    assert found["leaf"] == 300
    assert losses(recording)["hook-lost"] == 1


@pytest.mark.parametrize("end", ["", "kill"])
def test_pools(end, tmp_path):
    (tmp_path / "helper.py").write_text(HELPER)
    env = children.environment(tmp_path)
    found, recording = recorded(tmp_path, "profile", POOL, *end.split(), status=-15 if end else 0, env=env)
    assert (found["work"], found["leaf"]) == (10, 10000)
    assert "other-interpreters" not in losses(recording)


FIRST = "import _interpreters as i; i.exec(i.create(), 'import sys; print(repr(sys.path[0]), flush=True)')"


@pytest.mark.parametrize("words", [["app/program.py"], ["-m", "program"], ["-c", FIRST], ["app"]], ids=" ".join)
def test_they_find_the_modules_that_they_find_without_us(words, tmp_path):
    """The first entry of sys.path is the program's, although the process began with another one."""
    (tmp_path / "app").mkdir()
    for path in ("app/program.py", "app/__main__.py", "program.py"):
        (tmp_path / path).write_text(FIRST)
    bare = children.python(*words, cwd=tmp_path).stdout
    assert bare.startswith(("'", '"'))
    assert children.seismo("profile", "-q", "-o", "kept.seismo", *words, cwd=tmp_path).stdout == bare


@pytest.mark.parametrize("choice", ["all", "main"])
def test_the_audit_hook_comes_with_the_first_interpreter(choice, tmp_path):
    """Programs that import what makes interpreters, but make none, run as without seismo."""
    (tmp_path / "program.py").write_text(AUDITED)
    command = ["profile", "--interpreters", choice, "-q", "-o", "kept.seismo", "program.py"]
    first, last = children.seismo(*command, cwd=tmp_path).stdout.splitlines()
    assert first == "False False"
    assert last == ("True True" if choice == "all" else "False False")


def test_sessions_leave_no_hook_behind(tmp_path):
    """An interpreter that is older than the recording is not recorded, and counted."""
    assert children.printed(SESSIONS, cwd=tmp_path).splitlines() == [
        "100 [('other-interpreters', 1)]",
        "0 [('other-interpreters', 2)]",
        "100 [('other-interpreters', 1)]",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_other_recorders_begin_and_end_beside(kind, tmp_path):
    assert children.printed(BESIDE, kind, cwd=tmp_path) == f"{2 * 3 * 2000} {2 * 3 * 40} []\n"


@pytest.mark.parametrize("kind", KINDS)
def test_many_calls_in_each_of_several_at_once(kind, tmp_path):
    found, recording = recorded(tmp_path, "profile", LONG, kind)
    assert found["leaf"] == 150_000
    assert "other-interpreters" not in losses(recording)


@pytest.mark.skipif(not FREES, reason="the interpreter itself loses 3.5 MB with each that ends")
@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_constant(kind, tmp_path):
    """What ended interpreters leave behind, such as entries of code or of threads, would add up."""
    (tmp_path / "program.py").write_text(MANY)
    command = ["profile", "-q", "-o", "kept.seismo", "program.py", kind]
    before, after = map(int, children.seismo(*command, cwd=tmp_path).stdout.split())
    assert after - before < 1500
    assert calls(seismo.open(tmp_path / "kept.seismo"))["leaf"] == 120 * 100


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_runs_while_the_process_ends(kind, tmp_path):
    """What it ran before is recorded. How CPython ends such a process is its own affair: it may crash or warn."""
    found, _ = recorded(tmp_path, "profile", ALIVE, kind, status=None)
    assert found["leaf"] == 1000
    assert found["busy"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_forked_children_record_those_that_they_make(kind, tmp_path):
    found, _ = recorded(tmp_path, "profile", FORKED, kind, options=["--children"])
    assert found["leaf"] == 300
