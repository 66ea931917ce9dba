"""Politeness: what belongs to others is left alone, what is ours is given back, and what is taken from us is told."""

import gc
import os
import resource
import sys
import threading
import weakref

import pytest
from lab import MONITORING, SOURCES, leaf, needs_monitoring, recorded, run, start, taken_ids
from recorded import image

from seismo import _core


def hooks():
    """Who has the tool ids, and which profile functions are set."""
    tools = [sys.monitoring.get_tool(i) for i in range(6)] if MONITORING else []
    return tools, threading.getprofile() if hasattr(threading, "getprofile") else None, sys.getprofile()


@pytest.mark.parametrize("source", SOURCES)
def test_stop_without_start(source):
    _core.stop()
    _core.stop("again")
    assert recorded(source, leaf).calls() == {"leaf": 1}
    _core.stop()
    assert image().calls() == {"leaf": 1}


def test_nothing_before_the_first_start():
    out = run("""
_core.stop(); _core.flush()
try: _core.snapshot()
except RuntimeError as error: print(error)
print(_core.status()["running"], _core.check(), _core.quietly(len, "ab"), _core.objects_alive())
_core.after_fork(-1, "{}")
    """)
    assert out == "nothing has been recorded yet\nFalse True 2 {}\n"


@pytest.mark.parametrize("source", SOURCES)
def test_everything_is_given_back(source):
    """Fifty recordings leave no tool id, hook, reference or memory behind."""

    def cycle():
        start(source, c_functions="all")
        for _ in range(50):
            leaf()
        sorted([3, 1], key=lambda x: x)
        _core.snapshot()
        _core.stop()

    def size():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def references():
        return [sys.getrefcount(one) for one in (leaf, leaf.__code__, cycle.__code__)]

    before = hooks()
    for _ in range(10):
        cycle()
    gc.collect()
    counts = references()
    first = size()
    for _ in range(50):
        cycle()
    gc.collect()
    assert references() == counts
    assert hooks() == before
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps freed memory
        assert size() - first < 500_000


@needs_monitoring
def test_no_free_tool_id():
    with taken_ids() as ours:
        with pytest.raises(RuntimeError, match=r"all six tool ids of sys\.monitoring are taken"):
            start("monitoring")
        assert not _core.status()["running"]
        assert _core.status()["tool_id"] == -1
        assert [sys.monitoring.get_tool(i) for i in ours] == [f"other {i}" for i in ours]
    assert recorded("monitoring", leaf).calls() == {"leaf": 1}


@needs_monitoring
def test_each_free_tool_id_will_do():
    for left in range(6):
        with taken_ids(left):
            start("monitoring")
            assert _core.status()["tool_id"] == left
            leaf()
            _core.stop()
        assert image().calls() == {"leaf": 1}
        assert sys.monitoring.get_tool(left) is None


@needs_monitoring
def test_places_that_an_earlier_holder_of_the_id_disabled_are_recorded():
    """The interpreter keeps them disabled, although the id was freed."""
    out = run("""
monitoring = sys.monitoring
events = (monitoring.events.PY_START, monitoring.events.PY_RETURN)
for tool in range(6):
    monitoring.use_tool_id(tool, "earlier")
    for event in events: monitoring.register_callback(tool, event, lambda *_: monitoring.DISABLE)
    monitoring.set_events(tool, sum(events))
work(1)
for tool in range(6):
    monitoring.set_events(tool, 0)
    for event in events: monitoring.register_callback(tool, event, None)
    monitoring.free_tool_id(tool)
start("auto", source="monitoring")
work(2)
_core.stop()
print(image().calls()["leaf"], _core.status()["repaired"])
    """)
    assert out == "2 0\n"


@needs_monitoring
@pytest.mark.parametrize("taken_over", [False, True])
def test_tool_id_freed_by_force(taken_over):
    """As other profilers do: we neither crash nor touch the new owner's, and say what was lost."""
    out = run("""
start(flush_ms=1)
work(10)
tool = _core.status()["tool_id"]
for event in (1, 4): sys.monitoring.register_callback(tool, event, None)
sys.monitoring.set_events(tool, 0)
sys.monitoring.free_tool_id(tool)
seen = []
if sys.argv[1] == "True":
    sys.monitoring.use_tool_id(tool, "robber")
    sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, lambda *args: seen.append(args))
    sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)
work(10)
_core.flush()
_core.stop()
work(10)
recorded = image()
print(recorded.losses.get("hook-lost", 0) > 0, recorded.calls()["work"], sys.monitoring.get_tool(tool), len(seen) > 10)
    """, str(taken_over))  # fmt: skip
    assert out == ("True 1 robber True\n" if taken_over else "True 1 None False\n")


@needs_monitoring
def test_other_tools_go_on():
    """A tool that was there before gets its events as before, while we record and after."""
    seen = []
    tool = 4
    events = sys.monitoring.events
    sys.monitoring.use_tool_id(tool, "other")
    try:
        sys.monitoring.register_callback(tool, events.PY_START, lambda code, offset: seen.append(code.co_name))
        sys.monitoring.set_events(tool, events.PY_START)
        leaf()
        start("monitoring", c_functions="all")
        leaf()
        _core.stop()
        leaf()
    finally:
        sys.monitoring.set_events(tool, 0)
        sys.monitoring.register_callback(tool, events.PY_START, None)
        sys.monitoring.free_tool_id(tool)
    assert seen.count("leaf") == 3
    assert image().calls()["leaf"] == 1


def test_the_program_sets_a_profile_function():
    """It gets its events, and its function is there afterwards. On 3.11 we go on beside it; later, where this source is
    a makeshift, we lose ours on this thread and say so."""
    out = run("""
start(source="profilefunc", flush_ms=1)
work(10)
seen = []
def profile(frame, event, arg): seen.append(event)
sys.setprofile(profile)
work(10)
_core.stop()
print(sys.getprofile() is profile)
sys.setprofile(None)
recorded = image()
print(recorded.calls()["work"], recorded.losses.get("hook-lost", 0), seen.count("call"))
    """)  # fmt: skip
    assert out == ("True\n1 1 11\n" if MONITORING else "True\n2 0 11\n")


@needs_monitoring
def test_the_program_has_a_profile_function():
    out = run("""
def profile(frame, event, arg): pass
sys.setprofile(profile)
try: start(source="profilefunc")
except RuntimeError as error: print(error)
print(sys.getprofile() is profile, _core.status()["running"])
sys.setprofile(None)
start(source="profilefunc"); work(1); _core.stop()
print(image().calls())
    """)  # fmt: skip
    assert out.splitlines()[0].startswith("another profiler holds this thread's profile function")
    assert out.splitlines()[1:] == ["True False", "{'work': 1, 'leaf': 1}"]


@needs_monitoring
def test_the_program_profiles_itself_beside_us():
    """sys.setprofile, sys.settrace and cProfile work as ever under the monitoring source."""
    out = run("""
import cProfile, pstats
start()
events = []
sys.setprofile(lambda frame, event, arg: events.append(event))
work(3)
sys.setprofile(None)
profile = cProfile.Profile()
profile.enable(); work(4); profile.disable()
_core.stop()
calls = {key[2]: row[0] for key, row in pstats.Stats(profile).stats.items()}
print(events.count("call"), calls["work"], calls["leaf"])
print(image().calls()["leaf"])
    """)  # fmt: skip
    assert out == "4 1 4\n7\n"


@needs_monitoring
def test_events_restarted_by_others():
    """restart_events brings our switched-off places back: they are switched off again, and counts stay lower bounds.

    A function that was interrupted once for long never proves trivial, so several are called: one at least must.
    """
    out = run("""
start(c_functions="auto")
NAMES = ["isdigit", "isspace", "isalpha", "isupper", "islower", "istitle", "isalnum", "isascii"]
fills = {}
for name in NAMES:
    exec(f"def fill_{name}(n):\\n for i in range(n): 'text'.{name}()", fills)
for _ in range(20):
    for name in NAMES:
        fills["fill_" + name](2000)
    sys.monitoring.restart_events()
_core.stop()
from recorded import LOWER_BOUND, C
recorded = image()
python, c = recorded.calls(), recorded.calls(C)
switched_off = [name for name in NAMES if c["str." + name] < 40000]
nodes = [node for root in recorded.forests()["MainThread"] for node in root.walk() if node.name.startswith("str.is")]
bounded = {node.name.removeprefix("str.") for node in nodes if node.flags & LOWER_BOUND}
print({python["fill_" + name] for name in NAMES}, bounded == set(switched_off), len(switched_off) > 0)
    """)  # fmt: skip
    assert out == "{20} True True\n"


def test_subinterpreters_are_refused():
    """To start there is an import error or a plain sentence, never a crash; the main interpreter goes on recording."""
    out = run("""
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
start()
work(3)
r, w = os.pipe()
script = f'''
import os, sys
sys.path[:] = {sys.path!r}
try:
    from seismo import _core
    _core.start()
except ImportError as error:
    os.write({w}, b"import error")
except RuntimeError as error:
    os.write({w}, str(error).encode())
def f(): pass
for _ in range(1000): f()
'''
one = interpreters.create()
failed = interpreters.run_string(one, script)
interpreters.destroy(one)
print(os.read(r, 1000).decode())
work(4)
_core.stop()
print(image().calls()["leaf"], "f" in image().calls())
    """)  # fmt: skip
    said, counts = out.splitlines()
    assert said in ("import error", "seismo records the main interpreter only, and this is a subinterpreter")
    assert counts == f"7 {sys.version_info >= (3, 14)}", "it starts nothing itself, and is recorded from 3.14 on"


@pytest.mark.parametrize("source", SOURCES)
def test_no_module_is_held(source):
    """Nothing that was recorded is kept alive by the recording."""

    class Thing:
        def method(self):
            return [self]

    thing = Thing()
    gone = weakref.ref(thing)
    start(source, c_functions="all")
    thing.method()
    del thing
    assert gone() is None
    _core.stop()
