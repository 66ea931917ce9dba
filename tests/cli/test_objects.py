"""seismo objects: a program in a process of its own."""

import pytest

from seismo.model import read
from seismo.process.objects.recorder import why_not

POSSIBLE = pytest.mark.skipif(bool(why_not()), reason=why_not() or "never")

PROGRAM = """
import sys
class Order:
    def __init__(self, number):
        self.number = number
SEEN = {}
def handle(number):
    order = Order(number)
    SEEN[number] = order
    return [Order(-1) for _ in range(9)]
def main():
    for number in range(int(sys.argv[1])):
        handle(number)
if __name__ == "__main__":
    main()
    print("done")
    sys.exit(3)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "app.py").write_text(PROGRAM)
    return tmp_path


def of_type(recording, name):
    [row] = [row for row in recording.types if row.full_name == name]
    return row


def held(recording):
    """Who holds survivors: for each type the ways, from the survivors to an end."""
    found = {}
    rows = list(recording.holders)
    parents = {row.parent for row in rows}
    for row in rows:
        if row.id not in parents:
            steps, at = [], row
            while True:
                steps.append(f"{at.holder} {at.by}")
                if at.parent < 0:
                    break
                at = rows[at.parent]
            name = recording.types[recording.objects[row.object].type].full_name
            found.setdefault(name, []).append(" < ".join(reversed(steps)))
    return found


@pytest.mark.skipif(not why_not(), reason="births and deaths are recorded here")
def test_refusal(seismo, program):
    ended = seismo("objects", "app.py", "5", status=2)
    assert ended.stdout == ""
    assert "3.13.3" in ended.stderr
    assert "tracemalloc" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(program.glob("*.seismo*"))
    assert "3.13.3" in seismo("objects", "--help", status=0).stdout


@POSSIBLE
@pytest.mark.parametrize("what", ["app.handle", 'call("app.handle")', "handle"])
def test_leaks(seismo, program, what):
    """A function is meant by its module's own name, too, when that is the main program."""
    seismo("objects", "-q", "--leaks", what, "-o", "r.seismo", "app.py", "40", status=3)
    recording = read(program / "r.seismo")
    spans = list(recording.object_spans)
    assert sum(row.calls for row in spans) == 40
    order = of_type(recording, "__main__.Order")
    rows = [row for row in recording.objects if row.type == order.id]
    assert sum(row.span_born for row in rows) == 400
    assert sum(row.span_live for row in rows) == 40
    assert held(recording)["__main__.Order"] == ["dict […] < module __main__ SEEN"]
    assert recording.meta["settings"]["leaks"] == 1


@POSSIBLE
def test_a_name_that_nothing_has_is_told(seismo, program):
    """A slip in the name: else the report would look as if the calls had left nothing."""
    done = seismo("objects", "--leaks", "app.handel", "-o", "r.seismo", "app.py", "4", status=3)
    told = 'none: nothing that ran is call("app.handel", "__main__.handel") (--leaks); names are as in a report'
    assert f"calls: {told}" in " ".join(done.stderr.split())
    assert f"spans {told}" in " ".join(seismo("report", "r.seismo").stdout.split())
    right = seismo("objects", "--leaks", "app.handle", "-o", "r.seismo", "app.py", "4", status=3)
    assert "nothing that ran" not in right.stderr + seismo("report", "r.seismo").stdout


GARBAGE = """
import gc, sys
class Order:
    def __init__(self):
        self.me = self
def handle():
    Order()
gc.disable()
for _ in range(30):
    handle()
if sys.argv[1] == "on":
    gc.enable()
"""


@POSSIBLE
@pytest.mark.parametrize(("collector", "live"), [("on", 0), ("off", 30)])
def test_garbage_in_cycles_is_no_leak(seismo, program, collector, live):
    """It is collected before it is asked what is alive, unless the program has switched the collector off."""
    (program / "garbage.py").write_text(GARBAGE)
    seismo("objects", "-q", "--leaks", "handle", "-o", "r.seismo", "garbage.py", collector, status=0)
    recording = read(program / "r.seismo")
    order = of_type(recording, "__main__.Order")
    assert (order.born, order.live, order.died_by_gc) == (30, live, 30 - live)
    assert sum(row.span_live for row in recording.objects if row.type == order.id) == live


@POSSIBLE
def test_a_span_of_a_module_with_paths(seismo, program):
    taken = ["--span", "app.main", "--paths", "--holders", "0"]
    seismo("objects", "-q", *taken, "-o", "r.seismo", "-m", "app", "7", status=3)
    recording = read(program / "r.seismo")
    assert [row.calls for row in recording.object_spans] == [1]
    assert len(recording.holders) == 0
    order = of_type(recording, "__main__.Order")
    names = recording.functions["qualname"]
    paths = set()
    for row in recording.objects:
        if row.type == order.id:
            path, node = [], row.node
            while node >= 0:
                path.append(names[recording.tree[node].function])
                node = recording.tree[node].parent
            paths.add(" < ".join(path[:3]))
    assert paths == {"handle < main < <module>"}


@POSSIBLE
def test_children(seismo, program):
    (program / "parent.py").write_text(
        "import os, subprocess, sys, app\napp.handle(1)\n"
        "if os.fork() == 0:\n    app.handle(2)\n    os._exit(0)\nos.wait()\n"
        "subprocess.run([sys.executable, '-c', 'import app; app.handle(3)'])\n"
    )
    seismo("objects", "-q", "--children", "-o", "r.seismo", "parent.py", status=0)
    recording = read(program / "r.seismo")
    assert sum(row.born for row in recording.types if row.full_name == "app.Order") == 30
    assert len(recording.processes) == 3
