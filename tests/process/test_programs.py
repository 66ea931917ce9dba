"""Programs of every kind of control flow: they run as bare, their calls are counted exactly, and a trace agrees."""

from __future__ import annotations

import os
import sys

import children
import pytest
from control_flow import PROGRAMS

# Without times the ends of calls are not reported: no word of a stack that had to be repaired.
WAYS = {"auto": (), "all": ("--c-functions", "all"), "none": ("--c-functions", "none"), "counts": ("--timing", "none")}


def greenlets_may_run(name, way):
    if name == "greenlets":
        pytest.importorskip("greenlet")
        if sys.version_info < (3, 12) and way != "all" and "libasan" in os.environ.get("LD_PRELOAD", ""):
            pytest.skip("greenlet copies the C stack, which AddressSanitizer takes for an overrun of our frame there")


def as_bare(lab, name, *words):
    """Run a program bare and by a verb: its output is the same, and its calls are those that it makes."""
    text, expected = PROGRAMS[name]
    program = f"program_{name}.py".replace(" ", "_")
    lab.write(program, text)
    recorded = lab.run(["-m", "seismo", *words, "-q", "-o", "r.seismo", program])
    assert recorded == lab.bare(program)
    calls = lab.calls()
    assert {name: calls.get(name) for name in expected} == expected
    assert not lab.open().problems


@pytest.mark.crossed
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(shared, name, way):
    greenlets_may_run(name, way)
    as_bare(shared, name, "profile", *WAYS[way])
    assert way != "counts" or "repaired" not in list(shared.open().losses["kind"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_traced_program(shared, name):
    greenlets_may_run(name, "trace")
    as_bare(shared, name, "trace")
    assert "agrees with the tree" in children.seismo("info", "--verify", "r.seismo", cwd=shared.folder).stdout


def test_c_functions_by_default(lab):
    """All but on 3.11, where the recording, the summary and the report say that they were left out, and why."""
    lab.write("program.py", "def f(x): return len(x)\nfor i in range(50): f('abc')\nprint(hash(1))\n")
    said = lab.run(["-m", "seismo", "profile", "-o", "r.seismo", "program.py"]).err
    recording = lab.open(lab.folder / "r.seismo")
    shown = children.seismo("report", "r.seismo", cwd=lab.folder).stdout
    counted = {row.qualname: row.calls for row in recording.functions}
    out = sys.version_info < (3, 12)
    assert counted["f"] == 50
    assert ("len" in counted, "hash" in counted) == (not out, not out)
    assert ("C functions were left out (--c-functions all records them)" in said) == out
    assert ("C functions were left out: their time is their callers'" in shown) == out
    lab.run(["-m", "seismo", "profile", "-q", "--c-functions", "all", "-o", "all.seismo", "program.py"])
    counted = {row.qualname: row.calls for row in lab.open(lab.folder / "all.seismo").functions}
    assert (counted["len"], counted["hash"]) == (50, 1)
    assert "left out" not in children.seismo("report", "all.seismo", cwd=lab.folder).stdout


FAILS = """
import sys
class Broken(Exception):
    def __str__(self): return 'broken'
def fails(): raise Broken
"""


def test_printing_of_the_traceback_is_not_recorded(lab):
    """The interpreter's own: its modules would be the largest rows. Nothing of the program's is lost."""
    lab.write("program.py", FAILS + "import atexit\natexit.register(lambda: None)\nfails()\n")
    bare = lab.same("program.py")
    assert "Broken: broken" in bare.err
    assert bare.status == 1
    assert lab.calls() == {"<module>": 1, "fails": 1, "<lambda>": 1, "Broken": 1}
    assert not lab.open().problems


@pytest.mark.parametrize(
    "text",
    [
        "import traceback\nsys.excepthook = lambda *error: traceback.print_exception(*error)\n",
        "sys.excepthook = lambda *error: sys.__excepthook__(*error)\n",
        "sys.settrace(lambda *event: None)\n",
    ],
    ids=["own hook", "hook that calls the interpreter's", "tracer"],
)
def test_hook_of_the_program_is_recorded(lab, text):
    """Events of a program with a tracer of its own are not held back from it, and so are recorded, too."""
    lab.write("program.py", FAILS + text + "fails()\n")
    lab.same("program.py")
    assert lab.calls()["Broken.__str__"] >= 1


def test_tracer_of_the_program_sees_the_printing(lab):
    """The tracer's count is the same as bare."""
    count = "seen = []\nsys.settrace(lambda frame, *_: seen.append(frame.f_code.co_name))\n"
    end = "import atexit\natexit.register(lambda: print(seen.count('__str__')))\n"
    lab.write("program.py", FAILS + end + count + "fails()\n")
    assert int(lab.same("program.py").out) >= 1
