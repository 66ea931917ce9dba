"""The journal of a trace as it comes into the file: whole, in order, in bounded memory."""

import gc
import os
import resource
import textwrap
import threading

import children
import pytest
from chunks import payloads
from journals import qualnames, read, recorded, sums, trace
from lab import TRACING, start
from recorded import Image
from threads import beside

import seismo
from seismo import _core
from seismo.model.enums import CallFlags

PROGRAM = """
def leaf(): pass
def work(n):
    for _ in range(n):
        leaf()
"""


def traced(path, calls, **options):
    """The calls of the program's only thread, and the recording that has them."""
    namespace = {}
    exec(PROGRAM, namespace)
    with seismo.trace(output=path, c_functions="none", **options):
        namespace["work"](calls)
    image = read(path)
    (stream,) = image.streams.values()
    return stream, image


def test_events_are_in_their_order_and_times_go_up(path):
    namespace = {}
    exec("def b(): pass\ndef a():\n    b()\n    b()\ndef main():\n    a()\n    b()\n", namespace)
    with seismo.trace(output=path, c_functions="none"):
        namespace["main"]()
    image = read(path)
    (stream,) = image.streams.values()
    assert qualnames(image, stream)[-5:] == ["main", "a", "b", "b", "b"]
    depths = [call.depth for call in stream][-5:]
    assert [depth - depths[0] for depth in depths] == [0, 1, 2, 2, 1]
    starts = [call.start_ns for call in stream]
    assert starts == sorted(starts)


@pytest.mark.parametrize("timing", ["sampled", "every"])
def test_every_event_has_its_own_time_when_that_is_asked_for(timing, path):
    stream, image = traced(path, 5000, timing=timing)
    exact = [call.start_bound_ns == 0 for call in stream if not call.flags & CallFlags.BEFORE]
    assert len(exact) == 5001
    assert all(exact) if timing == "every" else sum(exact) < 2500
    assert sums(image.data) == recorded(image.nodes)


@pytest.mark.parametrize("source", TRACING)
def test_times_of_all_events_are_those_of_the_clock_and_add_up_to_own_times(source, path):
    """Long ones, and ones that take no time at all, among siblings that a byte does not name any more."""
    tick = _core._advance_clock
    namespace = {"tick": tick}
    exec("".join(f"def f{i}(): tick({i * i * i})\n" for i in range(130)), namespace)
    functions = [namespace[f"f{i}"] for i in range(130)]

    def outer():
        for function in functions:
            function()
            tick(3)

    with path.open("w+b") as file:
        start(source, clock="simulated", timing="every", journal=True, fd=file.fileno())
        for _ in range(3):
            outer()
        _core.stop()
    image = read(path)
    (stream,) = image.streams.values()
    took = [call.end_ns - call.start_ns for call in stream]
    assert took == [130 * 3 + sum(i * i * i for i in range(130)), *(i * i * i for i in range(130))] * 3
    assert sum(node["timed_ns"] for node in image.tables["nodes"]) == sum(took[::131])
    assert all(node["timed"] > 0 and node["sampled"] == 0 for node in image.tables["nodes"])


UNEVEN = """
import random
def make(seed):
    chance = random.Random(seed)
    def leaf(): tick(chance.choice((20, 50, 80)))
    def short():
        tick(30)
        for _ in range(chance.randrange(5)): leaf()
    def steps():
        for _ in range(3):
            tick(40)
            yield leaf()
    def fails():
        tick(60)
        raise ValueError
    def long():
        tick(chance.choice((100, 1_000, 300_000)))
        short()
        tick(chance.choice((10, 10, 40_000)))
    def work():
        for _ in range(1000):
            chance.choice((short, short, short, leaf, long))()
            if chance.random() < 0.05: list(steps())
            if chance.random() < 0.05:
                try: fails()
                except ValueError: pass
    return work
"""


@pytest.mark.parametrize("source", TRACING)
def test_the_bounds_of_times_that_were_not_read_hold_against_the_same_run_with_each_read(source, tmp_path):
    """On a clock that the program alone moves, each event has a true time; no estimate is off by more than it says."""
    told = {}
    for timing in ("every", "sampled"):
        path = tmp_path / f"{timing}.seismo"
        namespace = {"tick": _core._advance_clock, "__name__": "made"}
        exec(UNEVEN, namespace)
        work = namespace["make"](7)
        with path.open("w+b") as file:
            start(source, clock="simulated", timing=timing, journal=True, fd=file.fileno())
            gc.disable()  # what others call at a collection would be in one run and not in the other
            try:
                work()
            finally:
                gc.enable()
            _core.stop()
        recording = seismo.open(path)
        functions = recording.functions["qualname"]
        main = next(thread.id for thread in recording.threads if thread.main)  # those of the test runner run on
        told[timing] = [
            (functions[row.function], row.depth, edge, bound, exact)
            for row in recording.calls.window().calls
            if row.thread == main
            for edge, bound, exact in (
                (row.start_ns, row.start_bound_ns, row.flags & CallFlags.BEFORE),
                (row.end_ns, row.end_bound_ns, row.flags & CallFlags.OPEN),
            )
            if not exact
        ]
    true, estimated = told["every"], told["sampled"]
    assert [row[:2] for row in true] == [row[:2] for row in estimated]
    assert all(bound == 0 for _, _, _, bound, _ in true)
    unread = [bound for _, _, _, bound, _ in estimated if bound]
    assert len(unread) > len(estimated) / 4
    wrong = [
        (name, time - other, bound)
        for (name, _, time, bound, _), (_, _, other, _, _) in zip(estimated, true, strict=True)
        if abs(time - other) > bound + 1
    ]
    assert wrong == []
    off = [abs(one[2] - other[2]) for one, other in zip(estimated, true, strict=True)]
    assert sum(off) > 0


def test_the_distance_between_two_readings_of_the_clock_is_bounded(path):
    stream, _ = traced(path, 20_000)
    events = [(call.start_ns, call.start_bound_ns) for call in stream]
    events += [(call.end_ns, call.end_bound_ns) for call in stream]
    unread = "".join("?" if bound else "." for _, bound in sorted(events)).split(".")
    assert max(map(len, unread)) <= 40


def test_threads_by_the_thousand_are_told_apart_in_memory_within_bounds(path):
    code = """
        import threading
        def work(): pass
        def kilobytes():
            for line in open("/proc/self/status"):
                if line.startswith("VmRSS"): return int(line.split()[1])
        def turns(number):
            for i in range(number):
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
        def grown():
            before = kilobytes()
            turns(600)
            return kilobytes() - before
        turns(1020)
        print(min(grown() for _ in range(4)))
    """
    done = trace(code, path)
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        # A stream that is kept takes more than 1 kB a thread. Buffers grow in some of the four turns.
        assert int(done.stdout) < 500  # kB
    image = read(path)
    assert len(image.streams) == 1 + 1020 + 4 * 600
    assert len({thread for thread, _ in image.streams}) == 1002  # of which one stands for many
    assert sums(image.data) == recorded(image.nodes)


def test_a_fork_in_the_middle_of_a_call_is_in_it_in_both_processes(path, tmp_path):
    """The child's trace begins on the path where it was forked, and both ends of the calls on it are told."""
    code = """
        import os
        def leaf(): pass
        def inner():
            leaf()
            child = os.fork()
            leaf()
            return child
        def outer():
            child = inner()
            leaf()
            return child
        child = outer()
        if child: os.waitpid(child, 0)
    """
    trace(code, path)
    (forked,) = (part for part in tmp_path.glob("*.seismo") if part != path)
    for part in (path, forked):
        image = read(part)
        assert sums(image.data) == recorded(image.nodes)
        recording = seismo.open(part)
        names_of = recording.functions["qualname"]
        calls = list(recording.calls)
        told = {names_of[row.function]: row for row in calls}
        before = part == forked
        assert sum(names_of[row.function] == "leaf" for row in calls) == (2 if before else 3)
        for name in ("inner", "outer"):
            assert bool(told[name].flags & CallFlags.BEFORE) == before
            assert not told[name].flags & (CallFlags.OPEN | CallFlags.ENDED_UNSEEN | CallFlags.BEGAN_UNSEEN)
        assert names_of[calls[told["inner"].parent].function] == "outer"


def test_a_generator_that_other_threads_go_on_with(path):
    """Each step is on the thread that took it, ends as it ended there, and leaves the other threads as they were."""
    code = """
        import threading
        def leaf(): pass
        def steps():
            for _ in range(2):
                leaf()
                yield
            raise ValueError
        def closed():
            try: yield leaf()
            finally: pass # without it, 3.13 closes a generator that it does not run
        def go_on(generator):
            try: next(generator)
            except ValueError: pass
        def on_a_thread(function, *arguments):
            thread = threading.Thread(target=function, args=arguments)
            thread.start()
            thread.join()
        one, other = steps(), closed()
        go_on(one)
        on_a_thread(go_on, one)
        go_on(other)
        on_a_thread(other.close)
        on_a_thread(go_on, one)
        leaf()
    """
    trace(code, path)
    image = read(path)
    assert sums(image.data) == recorded(image.nodes)
    recording = seismo.open(path)
    names_of = recording.functions["qualname"]
    how = CallFlags.RESUMED | CallFlags.YIELDED | CallFlags.UNWOUND
    told = [(names_of[row.function], row.thread, row.flags & how) for row in recording.calls]
    assert [row[1:] for row in told if row[0] == "steps"] == [
        (0, CallFlags.YIELDED),
        (1, CallFlags.RESUMED | CallFlags.YIELDED),
        (3, CallFlags.RESUMED | CallFlags.UNWOUND),
    ]
    assert [row[1:] for row in told if row[0] == "closed"] == [
        (0, CallFlags.YIELDED),
        (2, CallFlags.RESUMED | CallFlags.UNWOUND),
    ]
    assert [row[1:] for row in told if row[0] == "leaf"] == [(0, 0), (0, 0), (0, 0), (1, 0)]


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))


def test_a_full_disk_costs_memory_within_bounds_and_is_told(path):
    code = """
        import random, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        def a(): pass
        def b(): pass
        choose = random.Random(1).choices((a, b), k=1000)
        for _ in range(3_000):
            for function in choose: function()
        for line in open("/proc/self/status"):
            if line.startswith("VmHWM"): print(line.split()[1])
    """
    done = trace(code, path, "--c-functions", "none", preexec_fn=limit_files)
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps freed memory
        assert int(done.stdout) < 60_000  # kB
    assert path.stat().st_size <= 400_000
    assert seismo.open(path).problems or seismo.open(path).losses


def test_nothing_is_kept_where_there_is_no_file():
    _core.start(journal=True, calibrate=False)
    namespace = {}
    exec(PROGRAM, namespace)
    namespace["work"](100_000)
    _core.stop()
    assert payloads(_core.snapshot()) == []
    assert Image(_core.snapshot()).calls()["leaf"] == 100_000


def test_a_thread_that_outlives_the_trace(path):
    go_on, started = threading.Event(), threading.Event()

    def wait():
        started.set()
        go_on.wait()

    session = seismo.trace(output=path)
    session.__enter__()
    with beside(wait):
        started.wait()
        session.__exit__(None, None, None)
        go_on.set()
    image = read(path)
    assert sums(image.data) == recorded(image.nodes)


def test_what_is_recorded_to_learn_costs_is_in_no_file(tmp_path):
    """The next recording's writer may be made where the last one's was."""
    code = """
        import os, sys, seismo
        def leaf(): pass
        def work():
            for _ in range(600): leaf()
        for turn in range(20):
            with seismo.trace(output=f"{turn}.seismo", c_functions="none", timing=("every", "sampled")[turn % 2]):
                work()
    """
    done = children.python("-c", textwrap.dedent(code), cwd=tmp_path)
    assert done.stderr == ""
    for turn in range(20):
        image = read(tmp_path / f"{turn}.seismo")
        assert image.calls()["leaf"] == 600
        assert sums(image.data) == recorded(image.nodes)
