"""The recorder's own function in the interpreter's slot, and what sends events the long way."""

import contextlib
import ctypes
import threading
import time
import tracemalloc

import extensions
import pytest
from births import WHY_NOT, Thing, needs_tracer, recorded, run
from paths import TESTS
from threads import beside

from seismo import _core
from seismo.hooks.references import set_ref_tracer

pytestmark = needs_tracer


def in_the_slot():
    get = ctypes.pythonapi.PyRefTracer_GetTracer
    get.restype = ctypes.c_void_p
    return get(ctypes.byref(ctypes.c_void_p()))


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    if WHY_NOT is None:
        assert in_the_slot() is None


def live_things(count):
    return [Thing() for _ in range(count)]


@pytest.mark.parametrize("objects", ["lines", "types"])
def test_another_tool_joins_and_leaves(objects):
    heard = []
    with recorded(objects=objects) as births:
        alone = in_the_slot()
        kept = live_things(10)
        with set_ref_tracer(heard.extend):
            shared = in_the_slot()
            kept += live_things(20)
            del kept[:5]
        assert in_the_slot() == alone != shared
        kept += live_things(40)
        del kept[:5]
    assert sum(row[1] for row in heard if row[0] is Thing and row[3] == "create") == 20
    assert births.type("Thing", "born", "died", "live") == (70, 10, 60)


def test_it_joins_another_tool_and_leaves_first():
    heard = []
    with set_ref_tracer(heard.extend) as tracer:
        shared = in_the_slot()
        with recorded() as births:
            assert in_the_slot() == shared
            kept = live_things(30)
        assert in_the_slot() == shared
        kept.clear()
        assert tracer.status()["tools"] == 1
    assert births.type("Thing", "born", "died") == (30, 0)
    assert sum(row[1] for row in heard if row[0] is Thing) == 60


def test_what_dies_while_blind_is_found_when_its_address_is_used_again():
    """Classes that died meanwhile are not taken for the new ones at their addresses."""
    with recorded() as births:
        old = type("Old", (), {"__slots__": ()})
        kept = [old() for _ in range(100)]
        tracemalloc.start()
        kept.clear()  # nobody hears of it
        del old
        _core.status()
        tracemalloc.stop()
        _core.status()
        new = [type(f"New{n}", (), {"__slots__": ()}) for n in range(20)]
        for _ in range(20):
            kept += [kind() for kind in new]
        kept.clear()
    types = births.types()
    for n in range(20):
        row = types[f"New{n}"]
        assert (row["born"], row["died"]) == (20, 20)
    assert types["Old"]["born"] == 100
    assert types["Old"]["live"] + types["Old"]["unseen"] + types["Old"]["died"] == 100


def test_subinterpreters_in_other_threads_do_no_harm():
    program = """
import threading
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
start()
done = []
def other():
    for _ in range(3):
        one = interpreters.create()
        interpreters.run_string(one, "[[complex(i, i)] for i in range(20000)]")
        interpreters.destroy(one)
    done.append(True)
threads = [threading.Thread(target=other) for _ in range(2)]
for thread in threads: thread.start()
count = 0
while len(done) < 2:
    Thing()
    count += 1
for thread in threads: thread.join()
_core.stop()
types = image().types()
print(types.get("complex"), types["Thing"]["born"] == types["Thing"]["died"] == count, _core.check())
"""
    assert run(program) == "None True True\n"


def test_ages_in_time_are_known_across_idle_stretches():
    with recorded() as births:
        kept = live_things(64)
        time.sleep(0.3)
        kept.clear()
    row = next(row for row in births.objects() if row["type"] == "Thing")
    ages = {
        age["bucket"]: age["count"]
        for age in births.tables["lifetimes"]
        if age["object"] == row["id"] and age["unit"] == 1
    }
    assert sum(ages.values()) == 64
    assert min(ages) >= 14  # 4^13 ns is 67 ms, 4^14 is 268 ms: the sleep, however late its beginning was known


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    source = TESTS / "hooks" / "foreign_tracer.c"
    return ctypes.PyDLL(str(extensions.library(source, extensions.shared(tmp_path_factory, "foreign"))))


def test_a_foreign_tracer_that_has_it_in_its_chain(foreign):
    with recorded() as births:
        foreign.foreign_install(1)
        _core.status()
        kept = live_things(10)
        heard = []
        with set_ref_tracer(heard.extend):
            kept += live_things(10)
        assert sum(row[1] for row in heard if row[0] is Thing) == 10
        kept += live_things(10)
        foreign.foreign_uninstall(1)
        _core.status()
        kept += live_things(10)
        kept.clear()
    assert births.type("Thing", "born", "died") == (40, 40)


def test_a_foreign_tracer_that_still_calls_it_after_its_end(foreign):
    with recorded():
        foreign.foreign_install(1)
        _core.status()
    kept = live_things(100)
    kept.clear()
    foreign.foreign_uninstall(0)
    with recorded() as births:
        kept += live_things(5)
    assert births.types()["Thing"]["born"] == 5


def test_threads_and_tools_that_come_and_go():
    stop = threading.Event()
    counts = []

    def work():
        count = 0
        while not stop.is_set():
            live_things(50)
            count += 50
        counts.append(count)

    with recorded() as births, beside(*[work] * 3):
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            with contextlib.suppress(Exception), set_ref_tracer(len):
                live_things(5)
            _core.objects_quiet(True)
            live_things(5)
            _core.objects_quiet(False)
        stop.set()
    thing = births.types()["Thing"]
    assert thing["born"] >= sum(counts)
    assert thing["born"] == thing["died"]
