"""Sessions inside a program: with blocks, decorators, start and stop; nested, overlapping, on threads, across fork."""

from __future__ import annotations


def test_blocks(run):
    run("""
f()
with seismo.profile() as p:
    g(); g(); f()
f()
assert calls(p.recording) == {"g": 2, "f": 3}, calls(p.recording)
assert "ended" in repr(p)
with seismo.profile() as p:
    f()
    assert calls(p.recording)["f"] == 1
    f()
    now = p.recording
    assert "running" in repr(p)
    f()
assert calls(now)["f"] == 2
assert calls(p.recording)["f"] == 3
try:
    with seismo.profile() as p:
        f()
        raise KeyError("mine")
except KeyError as error:
    import traceback
    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)] == ["<module>"]
assert calls(p.recording)["f"] == 1

with seismo.profile() as outer:
    f()
    with seismo.profile() as inner:
        g()
        with seismo.profile() as innermost:
            pass
    f()
assert calls(outer.recording) == {"f": 3, "g": 1}, calls(outer.recording)
assert calls(inner.recording) == {"f": 1, "g": 1}, calls(inner.recording)
assert calls(innermost.recording) == {}, calls(innermost.recording)
assert all(row.calls for row in inner.recording.functions if row.qualname != "<module>")
a, b = seismo.profile(), seismo.profile()
a.__enter__(); f(); b.__enter__(); f(); a.__exit__(None, None, None); f(); b.__exit__(None, None, None); f()
assert calls(a.recording)["f"] == 2
assert calls(b.recording)["f"] == 2

for i in range(30):
    with seismo.profile(c_functions="none") as p: f()
    assert calls(p.recording)["f"] == 1
p = seismo.profile()
for i in range(30):
    with p: f()
assert calls(p.recording)["f"] == 30
assert len(p.recording.processes) == 1
""")


def test_starts_and_stops_and_nothing_of_ours_is_recorded(run):
    run("""
with seismo.profile(c_functions="all") as p:
    g()
    p.recording
    with seismo.profile() as q: f()
    q.recording
    @seismo.profile
    def h(): f()
    h()
    seismo.start(); f(); seismo.stop()
names = {(row.kind, row.qualname): row.calls for row in p.recording.functions if row.calls}
assert names == {(0, "g"): 1, (0, "f"): 4, (0, "h"): 1}, names

seismo.start()
f()
seismo.start(c_functions="auto")
g()
inner = seismo.stop()
outer = seismo.stop()
assert calls(inner) == {"f": 1, "g": 1}, calls(inner)
assert calls(outer) == {"f": 2, "g": 1}, calls(outer)
p = seismo.start()
t = threading.Thread(target=f); t.start(); t.join()
assert calls(seismo.stop())["f"] == 1
""")


def test_on_threads(run):
    run("""
def work(n, results):
    with seismo.profile() as p:
        for i in range(n): f()
        time.sleep(0.05)
    results.append(p)
results = []
threads = [threading.Thread(target=work, args=(100, results)) for _ in range(4)]
with seismo.profile() as whole:
    for t in threads: t.start()
    for t in threads: t.join()
assert calls(whole.recording)["f"] == 400, calls(whole.recording)
for p in results:
    assert 100 <= calls(p.recording)["f"] <= 400
assert len(whole.recording.threads) == 5
""")


def test_settings(run):
    run("""
with seismo.profile(c_functions="none"):
    with seismo.profile() as p: f()
    with seismo.profile(c_functions="none") as p: f()
    for settings in ({"c_functions": "all"}, {"timing": "every"}, {"clock": "monotonic"}):
        try:
            with seismo.profile(**settings): assert False
        except seismo.SeismoError as error:
            (name, value), = settings.items()
            assert name in error.what and value in error.what, error.what
    f()
with seismo.profile(c_functions="all") as p: f()
assert calls(p.recording)["f"] == 1
for settings in ({"c_functions": "some"}, {"clock": 3}, {"timing": "never"}, {"source": "tea"}, {"max_paths": 0},
                 {"timing": "none", "clock": "monotonic"}):
    try: seismo.profile(**settings)
    except seismo.SeismoError as error: assert next(iter(settings)) in error.what
    else: assert False, settings
unrecorded = seismo.profile()
for wrong in (lambda: seismo.profile(3), lambda: seismo.profile("text"), seismo.stop, lambda: unrecorded.recording):
    try: wrong()
    except seismo.SeismoError: pass
    else: assert False

for settings in ({"c_functions": "all"}, {"c_functions": "none"}, {"timing": "every"}, {"clock": "monotonic"},
                 {"source": "profilefunc"}, {"max_paths": 50}):
    with seismo.profile(**settings) as p:
        for i in range(100): f(); len("")
    assert calls(p.recording)["f"] == 100, settings
    kinds = {row.kind for row in p.recording.functions}
    (process,) = p.recording.processes
    unseen = settings.get("c_functions") == "none" or process.source == "evalframe"
    assert (1 in kinds) == (not unseen), settings
    assert process.source != "evalframe" or settings.get("c_functions") != "all"
    if "source" in settings: assert process.source == "profilefunc"
    if settings.get("clock") == "monotonic": assert process.clock.startswith("monotonic")
""")


def test_decorated_functions(run):
    run("""
@seismo.profile
def plain(n):
    "doc"
    for i in range(n): f()
    return n
assert plain.__name__ == "plain" and plain.__doc__ == "doc"
assert plain(3) == 3 and plain(4) == 4
f()
assert calls(plain.profile.recording) == {"plain": 2, "f": 7}, calls(plain.profile.recording)

@seismo.profile(c_functions="none")
def fails():
    f()
    raise KeyError
for i in range(100):
    try: fails()
    except KeyError: pass
assert calls(fails.profile.recording) == {"fails": 100, "f": 100}
assert len(fails.profile.recording.processes) == 1

@seismo.profile
def recursive(n): return n and recursive(n - 1)
recursive(10)
assert calls(recursive.profile.recording)["recursive"] == 11

class C:
    @seismo.profile
    def method(self): f()
    @staticmethod
    @seismo.profile
    def static(): f()
C().method(); C.static()
assert calls(C.method.profile.recording) == {"C.method": 1, "f": 1}

import inspect
@seismo.profile
def numbers(n):
    for i in range(n):
        f()
        got = yield i
        if got: g()
    return "end"
assert inspect.isgeneratorfunction(numbers)
def consumer():
    for i in numbers(3): time.sleep(0)
consumer()
made = numbers(2); next(made); made.send(True)
try: next(made)
except StopIteration as stop: assert stop.value == "end"
made = numbers(5); next(made); made.close()
try: numbers(1).throw(KeyError)
except KeyError: pass
def outer(): return (yield from numbers(1))
assert list(outer()) == [0]
counts = calls(numbers.profile.recording)
assert counts["f"] == 3 + 2 + 1 + 0 + 1 + counts["g"], counts
assert counts["g"] == 1
assert "consumer" not in counts
""")


def test_async_functions(run):
    run("""
import asyncio, inspect
@seismo.profile
async def fetch(n):
    for i in range(n):
        await asyncio.sleep(0.001)
        f()
    return n
@seismo.profile
async def stream(n):
    for i in range(n):
        await asyncio.sleep(0)
        g()
        yield i
assert inspect.iscoroutinefunction(fetch) and inspect.isasyncgenfunction(stream)
async def main():
    assert await asyncio.gather(fetch(2), fetch(3)) == [2, 3]
    assert [i async for i in stream(3)] == [0, 1, 2]
asyncio.run(main())
assert calls(fetch.profile.recording)["f"] == 5
assert calls(fetch.profile.recording)["fetch"] == 2
assert calls(stream.profile.recording)["g"] == 3
row = [row for row in fetch.profile.recording.functions if row.qualname == "fetch"][0]
assert row.resumes == 5, row
""")


def test_output(run, tmp_path):
    run("""
with seismo.profile(output="r.seismo") as p: f()
assert calls(seismo.open("r.seismo")) == calls(p.recording) == {"f": 1}
with seismo.profile() as q:
    with seismo.profile(output="inner.seismo") as p: g()
    f()
assert calls(seismo.open("inner.seismo")) == {"f": 1, "g": 1}
with seismo.profile(output="outer.seismo"):
    f()
    other = seismo.profile(); other.__enter__()
f()
other.__exit__(None, None, None)
assert calls(seismo.open("outer.seismo"))["f"] == 1
assert calls(other.recording)["f"] == 1
try:
    with seismo.profile(output="no/folder/r.seismo"): assert False
except seismo.RecordingError as error: assert "folder" in str(error)
os.chdir("/")
with seismo.profile() as p: f()
assert calls(p.recording)["f"] == 1
""")
    assert (tmp_path / "r.seismo").exists()
    assert not list(tmp_path.glob("*.tmp"))


def test_fork_inside(run, tmp_path):
    run("""
def in_child(): pass
with seismo.profile(output="r.seismo") as p:
    f()
    pid = os.fork()
    if pid == 0:
        in_child(); f()
        so_far = p.recording
    else:
        assert os.wait()[1] == 0
if pid == 0:
    assert calls(p.recording) == calls(so_far) == {"in_child": 1, "f": 1}, (calls(p.recording), calls(so_far))
    assert os.path.basename(p.output) == f"r-{os.getpid()}.seismo"
    assert calls(seismo.open(p.output)) == {"in_child": 1, "f": 1}
    os._exit(0)
assert calls(p.recording) == {"f": 1}
assert calls(seismo.open("r.seismo")) == {"f": 1}
""")


def test_importing_costs_nothing_and_recording_little(run):
    """Recording must not bring heavy modules into the program."""
    run("""
import subprocess
def modules(code):
    "The modules that the code brings into a fresh interpreter."
    home = os.path.dirname(os.path.dirname(seismo.__file__))
    code = f"import sys; sys.path[:0] = [{home!r}]; old = set(sys.modules)\\n{code}\\nprint(*set(sys.modules) - old)"
    return subprocess.check_output([sys.executable, "-I", "-S", "-c", code], text=True).split()
assert modules("import seismo") == ["seismo"]
brought = modules("from seismo.sessions.profile import profile\\nwith profile(): pass")
heavy = {"argparse", "json", "re", "typing", "dataclasses", "rich", "inspect", "collections", "contextlib", "enum"}
assert not heavy & set(brought), heavy & set(brought)
""")
