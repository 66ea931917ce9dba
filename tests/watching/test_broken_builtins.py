"""A program that replaces what is built in behaves as it does bare, and is watched all the same."""

import children
import pytest

PROGRAM = """\
import builtins, datetime, enum, os, sys

class Colour(enum.Enum):
    RED = 1

class Point:
    def __init__(self):
        self.x = datetime.date(2020, 1, 2)

    def __repr__(self):
        raise SystemExit("asked for its repr")

def f(x, point, colour):
    if x:
        raise KeyError("caught\\u202e")
    return [x] * 30

def run():
    f(0, Point(), Colour.RED)
    try:
        f(1, Point(), {"a": (1, 2)})
    except KeyError:
        pass

%s
run()
%s
os.write(1, b"fine\\n")
"""

BREAK = """
space = vars(builtins)
names = {name: value for name, value in space.items() if callable(value)}
kept = {"KeyError", "__build_class__", *%r}
def broken(*args, **kwargs):
    return 1 / 0
space.update(dict.fromkeys(set(names) - kept, broken))
"""
MEND = "space.update(names)"
SYS = """
class Broken:
    def __getattribute__(self, name): raise SystemExit(3)
modules, streams = sys.modules, (sys.stdout, sys.stderr)
sys.stderr = sys.stdout = sys.modules["enum"] = sys.modules["_datetime"] = Broken()
del sys.modules
"""
MEND_SYS = """
sys.modules, (sys.stdout, sys.stderr) = modules, streams
sys.modules["enum"] = enum
del modules["_datetime"]
"""


def run(tmp_path, *words, before="", after=""):
    (tmp_path / "main.py").write_text(PROGRAM % (before, after))
    how = {"encoding": "utf-8", "PYTHONIOENCODING": "utf-8"}
    done = children.seismo("watch", *words, "main.py", cwd=tmp_path, **how)
    assert done.stdout == "fine\n"
    assert "Traceback" not in done.stderr
    assert "taken out" not in done.stderr
    return done.stderr


def said(text):
    """What is the same in all runs: the summary, and how many matches were shown."""
    lines = text.splitlines()
    return [line for line in lines if line.startswith("seismo")], sum(line.startswith("  +") for line in lines)


@pytest.mark.parametrize(
    "words",
    [
        ('call("f")', "--args", "--returns", "--record", "out.seismo"),
        ('line("main.py", 13-16) or raise and exception("KeyError")', "--vars", "--stack"),
        ('call("f") and value("point").x is not None', "--args", "--json", "out.json"),
        ('call("f") and duration > 0ns', "--histogram", "--count"),
    ],
)
def test_a_program_that_replaces_all_that_is_built_in(tmp_path, words):
    bare = run(tmp_path, *words)
    assert said(run(tmp_path, *words, before=BREAK % ((),), after=MEND)) == said(bare)
    assert any("match" in line for line in said(bare)[0])


def test_what_is_shown_at_the_end_is_shown_if_they_stay_replaced(tmp_path):
    """What the interpreter itself needs at its end is left."""
    stays = BREAK % (("__import__", "BaseException", "Exception", "SystemExit"),)
    done = run(tmp_path, 'call("f")', "--args", before=stays)
    assert done.splitlines()[-1] == 'seismo: 2 matches: call("f")'
    assert "no function that ran matches call('nosuch')" in run(tmp_path, 'call("nosuch")', before=stays)


def test_a_program_without_its_modules_and_streams(tmp_path):
    done = run(tmp_path, 'call("f")', "--args", "--returns", before=SYS, after=MEND_SYS)
    assert 'seismo: 2 matches: call("f")' in done


def test_at_the_end_of_the_stack(tmp_path):
    """The program's own RecursionError comes where it comes bare."""
    before = (
        "depth = 0\n"
        "def dive():\n    global depth\n    depth += 1\n    f(0, 0, 0)\n    dive()\n"
        "try:\n    dive()\nexcept RecursionError:\n    pass\n"
    )
    done = run(tmp_path, 'call("f")', "--args", "--returns", "-o", "out.txt", before=before)
    assert "matches: call" in done


API = """\
import builtins, io, sys
import seismo

class Stream(io.StringIO):
    def write(self, text):
        raise SystemExit("the stream's own")

def f(x):
    return x

old = builtins.len, builtins.isinstance, builtins.repr
with seismo.watch('call("f")', args=True, returns=True, output=Stream()) as w:
    f(1)
assert w.failed == "SystemExit(\\"the stream's own\\")", w.failed
with seismo.watch('call("f")', args=True, returns=True, action="keep") as w:
    builtins.len = builtins.isinstance = builtins.repr = lambda *args: 1 / 0
    f(2)
    builtins.len, builtins.isinstance, builtins.repr = old
assert w.matches[0].args == {"x": "2"}, w.matches
assert not w.failed
sys.stderr = None
with seismo.watch('call("f")', args=True) as w:
    f(3)
assert w.count == 1
"""


def test_from_inside(tmp_path):
    (tmp_path / "main.py").write_text(API)
    assert children.python("main.py", cwd=tmp_path).stdout == ""
