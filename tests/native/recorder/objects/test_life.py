"""A recording of births and deaths beside all that can happen to a process: forks, threads, exits, other tracers."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from births import Births, Thing, load, needs_tracer, recorded, run, start
from threads import in_threads

from seismo import _core

pytestmark = needs_tracer


def make(count):
    return [Thing() for _ in range(count)]


def sites_of_things():
    return {site for site in _core.objects_alive() if _core.objects_site(site)[1] == "Thing"}


# ---- start and stop ----


@pytest.mark.parametrize("options", [{}, {"paths": True}, {"objects": "types"}])
def test_one_recording_after_another(options):
    kept = []
    for count in (3, 5):
        with recorded(**options) as births:
            kept += make(count)
            make(2)
        assert births.type("Thing", "born", "died", "live", "peak") == (count + 2, 2, count, count + 2)
        assert "objects" not in options or births.tables["objects"] == []
    with recorded(**options) as births:
        del kept[:]
    assert births.type("Thing", "born", "died", "before") == (0, 0, 8)


def test_after_a_profile_and_before_one():
    for _ in range(2):
        with recorded(paths=True):
            make(1)
        _core.start(calibrate=False, c_functions="none", running=False)
        make(1)
        _core.stop()
        assert Births(_core.snapshot()).calls()["make"] == 1
        with recorded() as births:
            make(1)
        assert births.total("Thing", "born", "make") == 1
        assert births.tables["nodes"] == []


def test_call_paths_tell_who_called():
    def left():
        return make(2)

    def right():
        return make(3)

    with recorded(paths=True) as births:
        kept = left() + right()
    functions = {row["id"]: row["qualname"].rpartition(".")[2] for row in births.functions()}
    nodes = {row["id"]: row for row in births.tables["nodes"]}
    made = {}
    for row in births.objects():
        if row["type"] == "Thing":
            callers = nodes[nodes[row["node"]]["parent"]]
            made[functions[callers["function"]]] = made.get(functions[callers["function"]], 0) + row["born"]
    assert made == {"left": 2, "right": 3}
    assert len(kept) == 5


def test_call_paths_make_no_objects():
    """The tracer hears what the interpreter makes to tell of calls; that is not the program's."""
    names = {"Thing": Thing}
    exec("def long_one():\n    a = b = 0\n" + "    a += b\n" * 400 + "    return Thing()\n", names)
    long_one = names["long_one"]
    counts = []
    for options in ({}, {"paths": True}, {"paths": True, "c_functions": "all"}):
        with recorded(**options) as births:
            for _ in range(5):
                long_one()
                len([])
        # one for each code object is the interpreter's own, when it begins to tell of its calls (3.14)
        counts.append({name: row["born"] for name, row in births.types().items() if row["born"] and name != "list"})
    assert counts[0] == counts[1] == counts[2]


def test_stop_from_another_thread():
    start()
    kept = make(3)
    in_threads(_core.stop)
    kept += make(4)
    assert _core.check()
    assert Births(_core.snapshot()).total("Thing", "born") == 3
    with recorded() as births:
        kept += make(1)
    assert births.total("Thing", "live") == 1


# ---- quiet ----


@pytest.mark.parametrize("objects", ["lines", "types"])
def test_nothing_is_recorded_while_quiet(objects):
    start(objects=objects)
    kept = make(4)
    _core.objects_quiet(True)
    _core.objects_quiet(True)
    ours = make(7)
    _core.objects_quiet(False)
    ours += make(1)
    _core.objects_quiet(False)
    kept += make(1)
    before = _core.status()
    del ours
    _core.stop()
    births = Births(_core.snapshot())
    row = births.types()["Thing"]
    assert row["born"] == 5
    if objects == "lines":
        assert (row["live"], row["before"]) == (5, 0)
    assert before["births"] >= before["deaths"]
    assert len(kept) == 5


def test_what_dies_while_quiet_has_died():
    with recorded() as births:
        kept = make(4)
        _core.objects_quiet(True)
        del kept[1:]
        gc.collect()
        _core.objects_quiet(False)
    assert births.type("Thing", "born", "died", "live") == (4, 3, 1)


def test_quietly_called_functions_are_not_seen():
    with recorded() as births:
        _core.quietly(make, 5)
        make(2)
    assert births.types()["Thing"]["born"] == 2


# ---- questions ----


def test_marks_and_what_is_alive_since():
    start()
    kept = make(3)
    first = _core.objects_mark("first")
    kept += make(4)
    second = _core.objects_mark("second")
    kept += make(5)
    del kept[0], kept[3], kept[-1]

    def alive(*bounds):
        things = sites_of_things()
        return sum(count for site, count in _core.objects_alive(*bounds).items() if site in things)

    assert (alive(), alive(first), alive(0, first), alive(first, second), alive(second)) == (9, 7, 2, 3, 4)
    (site,) = sites_of_things()
    assert _core.objects_site(site)[:5] == (Thing.__module__, "Thing", __name__, "make", __file__)
    found = _core.objects_addresses((site, 10**6))
    assert list(found) == [site]
    assert sorted(found[site]) == sorted(map(id, kept))
    assert len(_core.objects_addresses((site,), limit=2)[site]) == 2
    for wrong in (("0",), (-1,), [site]):
        with pytest.raises((TypeError, OverflowError)):
            _core.objects_addresses(wrong)
    _core.stop()
    births = Births(_core.snapshot())
    assert [(row["name"], row["born"]) for row in births.tables["marks"]] == [("first", first), ("second", second)]
    assert sum(row["live"] for row in births.objects() if row["type"] == "Thing") == 9
    with pytest.raises(IndexError):
        _core.objects_site(10**6)
    with pytest.raises(TypeError, match="str"):
        _core.objects_mark(3)


def test_questions_leave_no_trace():
    start()
    kept = make(3)
    before = _core.status()["births"]
    for _ in range(5):
        _core.objects_alive()
        _core.objects_addresses((0,))
        _core.objects_site(0)
    after = _core.status()["births"]
    _core.stop()
    assert after - before <= 2 + 5  # the range, and a tuple for the argument of each call
    assert len(kept) == 3


def test_holders_are_rows():
    with recorded() as births:
        kept = make(1)
        (site,) = sites_of_things()
        with pytest.raises(IndexError):
            _core.objects_add_holders([(site, 5, 0, 1, 1, "list", "")])
        with pytest.raises(TypeError):
            _core.objects_add_holders([None])
        _core.objects_add_holders([(site, -1, 8, 1, 1, "replaced", "")])
        _core.objects_add_holders([(site, -1, 0, 3, 3, "list", "[0]"), (site, 0, 1, 3, 3, "module app", "kept")])
    assert [(row["parent"], row["flags"], row["holder"], row["by"]) for row in births.tables["holders"]] == [
        (-1, 0, "list", "[0]"),
        (0, 1, "module app", "kept"),
    ]
    assert len(kept) == 1


# ---- other tracers ----


@pytest.mark.parametrize("options", [{}, {"paths": True}])
def test_tracemalloc_was_there_first(options):
    tracemalloc.start()
    try:
        with recorded(**options) as births:
            kept = make(100)
        traced = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert traced > 100 * 16
    assert births.total("Thing", "live") == len(kept)
    assert "refs-taken" not in births.losses


def tracemalloc_midway():
    """A block with tracemalloc in the middle of it: what came of it, what was said at its end, which died meanwhile."""
    with recorded() as births:
        kept = make(200)
        _core.status()  # the last look that found us there
        tracemalloc.start()
        unheard = make(5)
        gone = {id(thing) for thing in kept[100:]}
        del kept[100:]
        tracemalloc.stop()
        status = _core.status()  # looks, and takes the slot again
        kept += make(300)  # some of them at addresses of those that died
        del unheard
    return births, status, gone & {id(thing) for thing in kept}


def test_tracemalloc_starts_midway():
    """It takes the slot without a word: what is missing is said, and who died meanwhile is found out."""
    for _ in range(20):
        births, status, reused = tracemalloc_midway()
        if births.losses["refs-taken"] == 1:
            break  # else a look came in between, which comes twenty times a second, and tracemalloc took the slot twice
    row = births.types()["Thing"]
    assert births.losses["refs-taken"] == 1
    assert status["taken"] >= 1
    assert status["blind_ns"] > 0
    assert births.losses["refs-blind"] >= status["blind_ns"]
    assert row["born"] == 500
    assert row["before"] <= 5
    assert row["unseen"] >= len(reused)  # an allocator need not use addresses again
    assert row["born"] == row["died"] + row["unseen"] + row["live"]


# ---- processes ----


def test_a_forked_child_counts_anew():
    out = run("""
kept = [Thing() for _ in range(10)]
start()
kept += [Thing() for _ in range(5)]
pid = os.fork()
if pid == 0:
    _core.after_fork(-1, "{}")
    kept += [Thing() for _ in range(3)]
    del kept[:12]
if pid: os.waitpid(pid, 0)
_core.stop()
row = image().types()["Thing"]
print(_core.check(), row["born"], row["died"], row["live"], row["before"])
    """)
    assert out.splitlines() == ["True 3 0 3 12", "True 5 0 5 0"]


def test_a_forked_child_that_records_no_more():
    out = run("""
start(span=calls_of("f"))
def f():
    pid = os.fork()
    if pid == 0:
        _core.after_fork(-2, "{}")
        kept = [Thing() for _ in range(3)]
        print(_core.status()["running"], flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
f()
_core.stop()
print(image().problems)
    """)
    assert out.splitlines() == ["False", "[]"]


def test_forks_in_the_middle_of_a_collection_and_in_threads():
    """Children of all kinds that just go on, and end: with the recorder's own memory in whatever state."""
    out = run("""
import gc, threading, time
class Forks:
    def __del__(self):
        pid = os.fork()
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)
def work(until):
    while not until.is_set(): [Thing() for _ in range(100)]
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
start(paths=True)
until = threading.Event()
threads = [threading.Thread(target=work, args=(until,)) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(5):
    forks = Forks(); forks.me = forks; del forks
    gc.collect()
until.set()
for thread in threads: thread.join()
_core.stop()
print(_core.check(), image().problems)
    """)
    assert out == "True []\n"


@pytest.mark.parametrize("options", ["", "paths=True", "objects='types'", "span=calls_of('*')"])
def test_the_interpreter_ends_while_it_records(options):
    out = run(f"""
import atexit, threading, time
class Ends:
    def __del__(self): [Thing() for _ in range(10)]
start({options})
kept = Ends()
sys.kept = Ends()
atexit.register(lambda: [Thing() for _ in range(10)])
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
def spin():
    while True: [Thing() for _ in range(100)]
threading.Thread(target=spin, daemon=True).start()
threading.Thread(target=lambda: [Thing() for _ in range(1000)]).start()
time.sleep(0.05)
print("done")
    """)
    assert out == "done\n"


def test_stop_in_atexit_and_in_a_finalizer(path):
    run("""
import atexit
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
start(fd=fd)
class Stops:
    def __del__(self): _core.stop()
kept = [Stops(), *(Thing() for _ in range(10))]
@atexit.register
def last():
    del kept[1:]
    _core.stop()
""", str(path))  # fmt: skip
    births = load(path)
    assert births.problems == []
    assert births.type("Thing", "born", "died") == (10, 10)


def test_a_session_of_os_fork_and_memory_that_grows():
    """A live table that has been grown many times over is the child's, too, and both go their own ways."""
    out = run("""
start(max_live=20000)
kept = [Thing() for _ in range(50000)]
pid = os.fork()
if pid == 0:
    _core.after_fork(-1, "{}")
    kept += [Thing() for _ in range(30000)]
    del kept[::2]
    ok = _core.check()
    os._exit(0 if ok else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
del kept[::3]
_core.stop()
births = image()
row = births.types()["Thing"]
print(_core.check(), births.problems, row["born"], row["died"], births.losses["objects-sampled"] > 1)
    """)
    assert out.splitlines() == ["0", "True [] 50000 16667 True"]
