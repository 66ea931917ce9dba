"""A program under `seismo profile -q` does and shows what it does bare: output, errors, exit status."""

from __future__ import annotations

import sys

import children
import pytest

SEEN = """
import sys, os
print(sorted(globals()), __name__, globals().get("__file__"), bool(__spec__), __package__, __doc__)
print(__builtins__ is sys.modules["builtins"], getattr(__loader__, "__name__", type(__loader__).__name__))
print(sys.argv, sys.path, sys.orig_argv, sys.flags, sys.warnoptions, sys._xoptions)
print(sys.modules["__main__"].__dict__ is globals(), sys.excepthook is sys.__excepthook__)
print(sys.getprofile(), sys.gettrace())
print(sys.getrecursionlimit(), sys.getswitchinterval(), os.getcwd(), sorted(os.environ))
print(open(os.devnull).fileno(), sys.stdin.read())
"""

# What ends as most programs do, and does on its way what could come out in another way.
GOES_ON = """
import pickle, sys, warnings
class A: pass
seen, traced = [], []
def profile(frame, event, argument): seen.append(event)
def trace(frame, event, argument):
    traced.append(event)
    return trace
def f():
    pass
def deeper(n): return deeper(n + 1)
print(pickle.loads(pickle.dumps(A())).__class__)
warnings.warn("careful")
warnings.warn("old", DeprecationWarning)
try: deeper(0)
except RecursionError as error: print(error)
sys.setprofile(profile)
f()
sys.setprofile(None)
print(seen.count("call"), sys.getprofile())
sys.settrace(trace)
f()
sys.settrace(None)
print(traced)
if __name__ == "__main__": print("err", file=sys.stderr)
"""
THREADS = """
import atexit, threading, time
atexit.register(lambda: print("atexit", "__file__" in globals(), threading.main_thread().is_alive()))
@atexit.register
def fails(): 1/0
said = threading.Event()
def late():
    said.wait()
    time.sleep(0.05)
    print("thread", threading.current_thread().name)
    1/0
threading.Thread(target=late).start()
print("main")
said.set()
"""
HOOK = """
import sys, traceback
def hook(kind, value, tb):
    print(kind, value, traceback.extract_tb(tb), sys.exc_info(), value is sys.last_value, tb is sys.last_traceback)
    traceback.print_stack(file=sys.stdout)
    print(sys._getframe().f_back)
sys.excepthook = hook
1/0
"""

ENDS = {
    "falls off the end": GOES_ON,
    "exits with a text": "import sys; sys.exit('a message')",
    "exits by a property": "class E(SystemExit):\n    @property\n    def code(self): print(1); return 6\nraise E(1)",
    "exits by a property that raises": "class E(SystemExit):\n    code = property(lambda self: 1 / 0)\nraise E(1)",
    "exits inside": "import sys\ndef f():\n    try: sys.exit(3)\n    finally: print('finally')\nf()",
    "raises from": "def f():\n    try: 1/0\n    except Exception as e: raise KeyError(2) from e\nf()",
    "raises a group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    "is interrupted": "f = open('left.txt', 'w'); f.write('text')\nraise KeyboardInterrupt",
    "has a syntax error": "def f(:\n    pass\n",
    "warns of its syntax": "# -*- coding: utf-8 -*-\nprint('\\d', 1 is 1)",
    "has bytes that are no text": "# coding: latin-1\nprint('\u00e9')\n",
    "has a hook": HOOK,
    "has a hook that raises": "import sys\ndef h(t, v, tb): 1/0\nsys.excepthook = h\nraise ValueError(1)",
    "has a hook that exits": "import sys\ndef h(t, v, tb): sys.exit(9)\nsys.excepthook = h\nraise ValueError(1)",
    "has no hook": "import sys\ndel sys.excepthook\nraise ValueError(1)",
    "leaves by os._exit": "import os, sys\nprint('out', flush=True)\nos._exit(5)",
    "is killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "is terminated": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "aborts": "import os\nos.abort()",
    "closes its stderr": "import sys\nsys.stderr.close()\nprint('still here')",
    "closes its stdout and stderr": "import sys, os\nos.close(1); os.close(2)\nsys.exit(4)",
    "has no stderr": "import sys\nsys.stderr = None\n1/0",
    "changes directory": "import os\nos.chdir('/')\nprint(os.getcwd())\nraise ValueError",
    "removes its directory": "import os, shutil\nshutil.rmtree(os.getcwd())\nprint('gone')",
    "closes all descriptors": "import os\nf = open('mine.txt', 'w')\nf.flush()\nos.closerange(3, 1024)\n"
    "g = os.open('mine2.txt', os.O_CREAT | os.O_WRONLY)\nprint(g)\nos._exit(0)",
    "has threads and atexit handlers": THREADS,
    "empties the atexit handlers": "import atexit\natexit.register(print, 'never')\natexit._clear()",
    "has a daemon thread": "import threading, time\n"
    "def t():\n    while True: time.sleep(0.001)\nthreading.Thread(target=t, daemon=True).start()\ntime.sleep(0.02)",
}


@pytest.mark.parametrize("name", ENDS)
def test_end(lab, name):
    lab.write("program.py", ENDS[name])
    work = lab.folder / "work"
    work.mkdir()
    bare = lab.bare("../program.py", "a", "-q", cwd=work)
    work.mkdir(exist_ok=True)
    profiled = lab.profiled("../program.py", "a", "-q", cwd=work)
    assert profiled == bare
    if name == "is interrupted":
        assert (work / "left.txt").read_text() == "text"  # the interpreter's own end, with its flushing, happened


STATUSES = {"0": 0, "None": 0, "True": 1, "-1": 255, "256 + 7": 7, "2 ** 40 + 5": 5, "2 ** 100": 255, "1.5": 1, "''": 1}


def test_the_status_that_a_recording_says(lab):
    """Of a program and of its forked children, which end in the same way."""
    lab.write(
        "x.py",
        f"import os, sys\nfor code in ({', '.join(STATUSES)}):\n    if os.fork() == 0: sys.exit(code)\n"
        "    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)\nsys.exit(2 ** 40 + 5)\n",
    )
    ended = lab.profiled("x.py", take=("--children",))
    expected = list(map(str, STATUSES.values()))
    assert (ended.out.split(), ended.status) == (expected, 5)
    assert sorted(row.exit for row in lab.open().processes) == sorted([*expected, "5"])


@pytest.mark.skipif(
    sys.version_info[:2] == (3, 13), reason="pdb needs the events of instructions, which get lost beside another tool"
)
@pytest.mark.parametrize("end", ["", "sys.exit(3)"])
def test_a_debugger_that_still_steps_at_the_end(lab, end):
    """It comes from the program to what the interpreter does next, as bare, and not to a function of seismo."""
    lab.write("program.py", "breakpoint()\n" + end.replace("sys.", "__import__('sys')."))
    lab.same("program.py", stdin="n\n" * 3 + "s\n" * 5 + "w\n" + "c\n")


@pytest.mark.parametrize("verb", ["profile", "cover"])
def test_no_classes_of_syntax_trees_are_made(verb, tmp_path):
    """compile() makes 126 of them, which takes longer than all else at the start; a program that runs bare has none."""
    (tmp_path / "program.py").write_text(
        "import gc\nprint([t for t in gc.get_objects() if isinstance(t, type) and t.__module__ == 'ast'])\n"
    )
    environment = children.environment(PYTHONPYCACHEPREFIX=str(tmp_path / "cache"))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    said = [
        children.seismo(verb, "-q", "-o", f"{number}.seismo", "program.py", cwd=tmp_path, env=environment).stdout
        for number in range(2)  # the first one compiles what is imported
    ]
    assert said[1] == "[]\n"


def test_what_a_script_sees(lab):
    lab.write("seen.py", SEEN)
    lab.write("sub/seen.py", SEEN)
    assert "['seen.py', 'a b', '--x', '-o']" in lab.same("seen.py", "a b", "--x", "-o", stdin="input").out
    lab.same("./sub/../sub/seen.py")
    lab.same(str(lab.folder / "seen.py"), flags=("-P",))
    (lab.folder / "link.py").symlink_to(lab.folder / "sub" / "seen.py")
    lab.same("link.py")


def test_what_a_module_sees(lab):
    lab.write("package/__init__.py", "print('init', __name__)")
    lab.write("package/__main__.py", SEEN + "\nfrom . import other")
    lab.write("package/other.py", "1/0")
    lab.write("plain.py", SEEN)
    assert lab.same("-m", "package", "-m", "x").status == 1
    lab.same("-m", "plain", "-q", stdin="x")
    lab.same("-m", "package.other")
    lab.same("-m", "plain", flags=("-P",))


def test_what_a_command_sees(lab):
    lab.same("-c", SEEN, "a", "-c", stdin="x")
    lab.same("-c", "")
    lab.same("-c", "  import sys\n  print(sys.argv)\n")  # 3.14 takes the indentation away
    lab.same("-c", "def f():\n    1/0\nf()")
    lab.same("-c", "1 +")
    lab.same("-c", "raise KeyboardInterrupt")


def test_no_such_module(lab):
    (lab.folder / "empty").mkdir()
    assert lab.same("empty").status == 1
    assert "No module named nosuch" in lab.same("-m", "nosuch").err
    lab.same("-m", "nosuch.sub")
    lab.write("package/__init__.py", "")
    lab.same("-m", "package")
    assert not lab.recording.exists()


def test_a_broken_pipe(lab):
    lab.write("many.py", "import sys\nfor i in range(100000): print(i)")
    results = []
    for words in (["many.py"], ["-m", "seismo", "profile", "-q", "-o", str(lab.recording), "many.py"]):
        with children.popen([sys.executable, *words], cwd=lab.folder, env=lab.environment) as process:
            process.stdout.readline()
            process.stdout.close()
            results.append((process.stderr.read(), process.wait(60)))
    assert results[0] == results[1]
