"""What a program could notice of being recorded, under every verb that runs one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import children
import extensions
import pytest
from same import Ended

import seismo
from seismo.process.objects.recorder import why_not

VERBS = {
    "profile": ["profile", "-q", "-o", "r.seismo"],
    "profile all": ["profile", "-q", "-o", "r.seismo", "--c-functions", "all"],
    "lines": ["lines", "-q", "-o", "r.seismo"],
    "cover": ["cover", "-q", "--branch", "-o", "r.seismo"],
    "objects": ["objects", "-q", "-o", "r.seismo"],
    "watch": ["watch", 'call("no_such_function")', "-q"],
}
if why_not():
    del VERBS["objects"]

DEPTH = """
import sys
def reached(n=1):
    try: return reached(n + 1)
    except RecursionError: return n
def nested():
    low, high = 1, 50000
    while low < high - 1:
        n = (low + high) // 2
        made = []
        for _ in range(n): made = [made]
        try: repr(made); low = n
        except RecursionError: high = n
    return low
print(reached(), sys.getrecursionlimit(), NESTED)
sys.setrecursionlimit(500)
print(reached(), sys.getrecursionlimit(), NESTED)
try: sys.setrecursionlimit(1)
except RecursionError as error: print(error)
def deep(n): return deep(n - 1) if n else sys.setrecursionlimit(60)
try: deep(70)
except RecursionError as error: print(error)
sys.setrecursionlimit(1000)
import atexit, threading
atexit.register(lambda: print(reached()))
thread = threading.Thread(target=lambda: print(reached()))
thread.start(); thread.join()
sys.stderr.write(str(reached()))
raise ValueError("shown as bare")
"""


IN_THE_MATRIX = ["profile all", "lines"]  # profile and cover start a program in the same ways


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.matrix] * (name in IN_THE_MATRIX)) for name in VERBS])
def verb(request):
    return ["-m", "seismo", *VERBS[request.param]]


def ways_of(verb):
    """How many ways to start a program are tried: all with `profile`, since other verbs start it by the same code."""
    return None if verb[2] == "profile" else 1


def test_the_depth_of_recursion(shared, verb):
    # From 3.14 on, C code is bounded by the stack's addresses, of which ours take some.
    program = DEPTH.replace("NESTED", "nested()" if sys.version_info < (3, 14) else "0")
    shared.write("depth.py", program)
    shared.write("bin/seismo", LAUNCHER)  # -m seismo would use runpy before the program does, which is then specialized
    for words in (["depth.py"], ["-m", "depth"], ["-c", program])[: ways_of(verb)]:
        assert shared.run(["bin/seismo", *verb[2:], *words]) == shared.bare(*words)


BOTTOM = """
import faulthandler, inspect, signal, sys, threading, traceback, warnings
def inner():
    traceback.print_stack(file=sys.stdout)
    print([frame.function for frame in inspect.stack()])
    faulthandler.dump_traceback(sys.stdout)
    deepest = sys._current_frames()[threading.get_ident()]
    while deepest.f_back: deepest = deepest.f_back
    print(deepest.f_code.co_name)
inner()
try: print(sys._getframe(1).f_code.co_name)
except ValueError as error: print(error)
warnings.warn("names the caller", stacklevel=2)
warnings.warn("names the caller's caller", stacklevel=3)
signal.signal(signal.SIGUSR1, lambda number, frame: print(len(inspect.stack()), frame.f_code.co_name))
signal.raise_signal(signal.SIGUSR1)
seen = []
def trace(frame, event, arg):
    seen.append(event)
    return trace
def traced(): return 1
sys.settrace(trace)
traced()
"""


ENDS = ["", "1 / 0", "sys.setprofile(trace)", "sys.exit(3)", "sys.settrace(None)"]


@pytest.mark.crossed
@pytest.mark.parametrize("end", [*ENDS[:3], *(pytest.param(end, marks=pytest.mark.matrix) for end in ENDS[3:])])
def test_nothing_is_below_the_program_on_the_stack(shared, verb, end):
    name = f"bottom{ENDS.index(end)}"
    shared.write(f"{name}.py", f"{BOTTOM}{end}\n")
    for words in ([f"{name}.py"], ["-m", name])[: 2 if end in ENDS[:2] else 1]:
        assert shared.run([*verb, *words]) == shared.bare(*words)
        if verb[2] != "watch":
            assert "repaired" not in list(shared.open().losses["kind"])


COMPILED = """# cython: language_level=3, profile=True
def numbers(n):
    try:
        for i in range(n):
            try: yield i
            except KeyError: print("went on", i)
    finally:
        print("left")
async def waits(x):
    try: return await x
    except ValueError as error: return repr(error)
"""

THROWS = """
import asyncio
from compiled import numbers, waits
made = numbers(5)
print(next(made), made.throw(KeyError()), next(made))
made.close()
made = numbers(3)
next(made)
try: made.throw(OSError(1, "one"))
except OSError as error: print(repr(error), repr(error.__context__))
del made
async def fails():
    await asyncio.sleep(0)
    raise ValueError("two")
print(asyncio.run(waits(fails())))
task = waits(asyncio.sleep(9))
async def cancelled():
    waiting = asyncio.create_task(task)
    await asyncio.sleep(0)
    waiting.cancel()
    try: await waiting
    except asyncio.CancelledError: print("cancelled")
asyncio.run(cancelled())
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with a module that Cython has compiled so that it tells of its calls."""
    folder = extensions.shared(tmp_path_factory, "compiled")
    extensions.cython("compiled", COMPILED, folder)
    return folder


@pytest.mark.skipif(hasattr(sys, "gettotalrefcount"), reason="debug builds let no deallocator set an exception")
@pytest.mark.matrix
def test_exceptions_thrown_into_what_cython_has_compiled(shared, verb, compiled):
    """Its generators go on with the exception set, of which the interpreter makes a SystemError under other tools."""
    shared.write("throws.py", f"import sys\nsys.path.append({str(compiled)!r})\n{THROWS}")
    bare, recorded = shared.bare("throws.py"), shared.run([*verb, "throws.py"])
    assert all(word in bare.out for word in ("went on", "left", "two", "cancelled"))
    assert recorded == bare


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there is no sys.monitoring")
def test_ids_that_others_count_on_are_free(shared, verb):
    """hypothesis warns where it cannot have 3, cProfile fails without 2."""
    shared.write("ids.py", "import sys\nprint([sys.monitoring.get_tool(i) for i in range(4)])\n")
    assert shared.run([*verb, "ids.py"]).out == "[None, None, None, None]\n"


STDIN = """# coding: utf-8
import sys
print(sorted(globals()), __name__, __file__, sys.argv, sys.path[0], sys.orig_argv, repr(sys.stdin.read()))
def f(n):
    return 1 // n
f(1)
sys.exit(f(int(sys.argv[1])))
"""


def test_a_program_on_standard_input(shared, verb):
    texts = [("0", STDIN), ("1", STDIN), ("", "def f(:\n"), ("", ""), ("", "import sys; sys.exit('bye')")]
    for number, text in texts[: ways_of(verb)]:
        assert shared.run([*verb, "-", number], stdin=text) == shared.bare("-", number, stdin=text)


def test_what_is_counted_of_a_program_on_standard_input(lab):
    lab.same("-", "1", stdin=STDIN)
    assert lab.calls()["f"] == 2
    assert lab.run(["-m", "seismo", "profile", "-q", "-"], stdin="pass").status == 0
    assert len([*lab.folder.glob("stdin-*")]) == 1
    command = ["sh", "-c", f"{sys.executable} -m seismo profile - <&-"]
    closed = children.run(command, cwd=lab.folder, env=lab.environment)
    assert (closed.returncode, closed.stdout) == (2, "")
    assert "cannot read the program from standard input" in closed.stderr


LAUNCHER = """import re
import sys
from seismo.cli.main import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""


LAUNCHERS = {
    "relative": ["../bin/seismo"],
    "link": ["../bin/link"],
    "zipapp": ["../bin/seismo.pyz"],
    "module": ["-m", "seismo"],
}


@pytest.mark.crossed  # each way says by itself where its file is; all verbs ask the same function of it
@pytest.mark.parametrize("way", LAUNCHERS)
@pytest.mark.parametrize("name", ["profile all", *(name for name in VERBS if name not in ("profile all", "watch"))])
def test_the_launcher_is_in_no_recording(lab, name, way):
    """Neither its lines nor the call of sys.exit by which it ends; the program's own call of that is."""
    import zipfile

    lab.write("bin/seismo", LAUNCHER)
    (lab.folder / "bin/link").symlink_to("seismo")
    with zipfile.ZipFile(lab.folder / "bin/seismo.pyz", "w") as archive:
        archive.writestr("__main__.py", LAUNCHER)
    lab.write("work/a.py", "import sys\nprint(1)\nif len(sys.argv) > 1: sys.exit(0)\n")
    for args in ([], ["exit"]) if name == "profile all" else ([],):
        ended = lab.run([*LAUNCHERS[way], *VERBS[name], "a.py", *args], cwd=lab.folder / "work")
        assert ended == Ended(0, "1\n", "")
        opened = lab.open(lab.folder / "work/r.seismo")
        files = {Path(row.file).name for row in opened.functions if row.file and not row.file.startswith("<")}
        assert files <= {"a.py"} or name == "objects"
        assert not [row.file for row in opened.functions if "seismo" in row.file and "a.py" not in row.file]
        calls = {row.qualname: row.calls for row in opened.functions if row.kind}
        if name == "profile all":
            assert calls.get("exit", 0) == len(args)
            assert calls["print"] == 1


def test_threads_and_handlers_after_the_end_are_recorded(lab):
    lab.write(
        "x.py",
        "import atexit, sys, threading, time\ndef late(): pass\ndef last(): late()\natexit.register(last)\n"
        "ended = threading.Event()\ndef work():\n    threading.main_thread().join()\n    late()\n"
        "threading.Thread(target=work).start()\nif len(sys.argv) > 1: sys.exit(3)\n",
    )
    for words in ([], ["exit"]):
        lab.same("x.py", *words, take=("--c-functions", "all"))
        assert lab.calls()["late"] == 2
        names = {row.qualname: row.calls for row in lab.open().functions if row.kind}
        assert names.get("exit", 0) == len(words)


def test_pytest_warns_of_nothing(lab):
    """An installed seismo is one of pytest's plugins, whose modules it would rewrite: it is imported already."""
    metadata = "Metadata-Version: 2.1\nName: seismo\nVersion: 99\n"
    lab.write("site/seismo-99.dist-info/METADATA", metadata)
    lab.write("site/seismo-99.dist-info/entry_points.txt", "[pytest11]\nseismo = seismo.plugins.pytest_plugin\n")
    lab.write("site/seismo-99.dist-info/RECORD", "seismo/__init__.py,,\nseismo/plugins/pytest_plugin.py,,\n")
    lab.environment["PYTHONPATH"] = os.pathsep.join([str(Path(seismo.__file__).parents[1]), str(lab.folder / "site")])
    lab.write("work/pytest.ini", "[pytest]\nfilterwarnings = error\n")
    lab.write("work/test_a.py", "def test(): pass\n")
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "console_output_style=classic"]
    ended = lab.run(["-m", "seismo", *VERBS["cover"], *words], cwd=lab.folder / "work")
    assert "1 passed in" in ended.out
    assert "warning" not in ended.out + ended.err
    assert ended.status == 0
