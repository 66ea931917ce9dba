"""Watches, hooks and `seismo.cprofile` without the GIL, on programs whose counts are known by construction."""

import children
import pytest

BEGIN = """
import collections, sys, threading, time
from seismo import hooks
def leaf(n):
    return n + 1
def boom():
    raise KeyError
def numbers(n):
    yield from range(n)
class Caught(Exception): pass
def work(n):
    for i in range(n):
        leaf(i)
        try: boom()
        except KeyError: pass
        list(numbers(2))
def together(threads, function, *arguments):
    ready = threading.Barrier(threads)
    def run():
        ready.wait()
        function(*arguments)
    workers = [threading.Thread(target=run) for _ in range(threads)]
    for worker in workers: worker.start()
    return workers
def wait_for(workers):
    for worker in workers: worker.join()
"""


def printed(program, *arguments):
    return children.printed(BEGIN + program, *map(str, arguments)).split()


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_a_watch_counts_each_call(threads):
    """Also those that only their ends or their arguments choose."""
    for expression, wanted in (
        ("call and function('leaf')", 300),
        ("call and function('leaf') and arg('n') < 100", 100),
        ("call and function('leaf') and duration >= 0ns", 300),
        ("call and function('boom') and exception('KeyError')", 300),
        ("yield and function('numbers')", 600),
        ("raise and function('boom')", 300),
        ("line and function('leaf')", 300),
    ):
        out = printed(
            """
import seismo
with seismo.watch(sys.argv[2], "count") as watch:
    wait_for(together(int(sys.argv[1]), work, 300))
assert not watch.failed and watch.lost == 0
print(watch.count)
            """,
            threads,
            expression,
        )
        assert out == [str(threads * wanted)], expression


def test_a_watch_that_prints_writes_whole_lines():
    out = children.python(
        "-c",
        BEGIN
        + """
import seismo
with seismo.watch("call and function('leaf')", args=True, output=sys.stdout) as watch:
    wait_for(together(4, work, 50))
        """,
    ).stdout
    found = [line for line in out.splitlines() if "leaf(" in line]
    assert len(found) == 200
    assert all("n=" in line for line in found)


@pytest.mark.parametrize("kind", ["set_profile", "set_trace"])
@pytest.mark.parametrize("where", ["", "call and function('leaf')"])
def test_a_hook_on_all_threads_receives_each_call(kind, where):
    out = printed(
        """
here = threading.local()
found = []
def note(frame, event, arg):
    if event == "call" and frame.f_code is leaf.__code__:
        if not hasattr(here, "count"):
            here.count = collections.Counter()
            found.append(here.count)
        here.count["leaf"] += 1
with getattr(hooks, sys.argv[1])(note, threads="all", where=sys.argv[2] or None):
    wait_for(together(6, work, 500))
print(sum(count["leaf"] for count in found))
        """,
        kind,
        where,
    )
    assert out == ["3000"]


def test_hooks_come_and_go_while_threads_run():
    """A hook for all threads that is set once receives the same as if it were alone."""
    out = printed(
        """
over = threading.Event()
here, found = threading.local(), []
def steady(frame, event, arg):
    if event == "call" and frame.f_code is leaf.__code__:
        if not hasattr(here, "count"):
            here.count = [0]
            found.append(here.count)
        here.count[0] += 1
def passing(frame, event, arg): return passing
def come_and_go():
    while not over.is_set():
        with hooks.set_profile(passing), hooks.set_trace(passing, threads="all", where="line and function('boom')"):
            leaf(0)
            mine[threading.get_ident()] += 1
mine = collections.defaultdict(int)
with hooks.set_profile(steady, threads="all"):
    others = together(2, come_and_go)
    wait_for(together(4, work, 400))
    while len(mine) < 2: time.sleep(0.001)
    over.set()
    wait_for(others)
print(sum(count[0] for count in found) - sum(mine.values()))
        """
    )
    assert out == ["1600"]


def test_a_hook_may_wait_for_another_thread_that_calls_one():
    out = printed(
        """
met = threading.Barrier(2)
count = []
def note(frame, event, arg):
    if event == "call" and frame.f_code is leaf.__code__:
        met.wait(30)
        count.append(1)
with hooks.set_profile(note, threads="all"):
    wait_for(together(2, lambda: [leaf(n) for n in range(20)]))
print(len(count))
        """
    )
    assert out == ["40"]


def test_a_hook_that_raises_is_removed_on_its_thread_only():
    out = printed(
        """
caught = []
def note(frame, event, arg):
    if event == "call" and frame.f_code is leaf.__code__ and frame.f_locals["n"] == 7:
        raise Caught
def go():
    for i in range(20):
        try: leaf(i)
        except Caught: caught.append(i)
with hooks.set_profile(note, threads="all"):
    wait_for(together(4, go))
print(caught)
        """
    )
    assert out == ["[7,", "7,", "7,", "7]"]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_cprofile_counts_each_call(threads):
    out = printed(
        """
import pstats
from seismo import cprofile
profiler = cprofile.Profile()
profiler.enable()
wait_for(together(int(sys.argv[1]), work, 400))
profiler.disable()
counts = {name: row[1] for (_, _, name), row in pstats.Stats(profiler).stats.items()}
print(counts["leaf"], counts["boom"], counts["work"])
        """,
        threads,
    )
    assert out == [str(threads * 400), str(threads * 400), str(threads)]


def test_children_of_a_watched_program_with_threads_go_on():
    out = printed(
        """
import os, seismo, warnings
warnings.simplefilter("ignore", DeprecationWarning)
over = threading.Event()
def busy():
    while not over.is_set(): leaf(1)
with seismo.watch("call and function('boom')", "count") as watch:
    others = together(3, busy)
    for _ in range(10):
        child = os.fork()
        if child == 0:
            for _ in range(50):
                try: boom()
                except KeyError: pass
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    try: boom()
    except KeyError: pass
    over.set()
    wait_for(others)
print(watch.count)
        """
    )
    assert out == ["1"]
