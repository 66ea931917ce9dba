"""A program that replaces built-in names and never puts them back is recorded to its end, and told of, all the same."""

import sys

import children
import pytest

from seismo.model import read

NAMES = ["len", "__import__", "all but raising"]
VERBS = ["profile", "lines", "cover", *(["objects"] if sys.version_info >= (3, 13, 3) else [])]
PROGRAM = """
import atexit, builtins, os
def work(): pass
def broken(*args, **kwargs): raise SystemError("the program's own")
for _ in range(3): work()
names = [name for name, value in vars(builtins).items() if callable(value) and name != "SystemError"]
names = names if NAME == "all but raising" else [NAME]
if CHILD and os.fork() == 0:
    vars(builtins).update(dict.fromkeys(names, broken))
    work()
    os._exit(0)
if CHILD:
    os.wait()
atexit.register(os.write, 1, b"END\\n")
vars(builtins).update(dict.fromkeys(names, broken))
work()
"""


def run(tmp_path, verb, name, child, *words):
    (tmp_path / "app.py").write_text(f"NAME, CHILD = {name!r}, {child}\n{PROGRAM}")
    done = children.seismo(verb, "-o", "a.seismo", *words, "app.py", cwd=tmp_path)
    assert done.stdout == "END\n"
    assert "failed" not in done.stderr
    assert "no summary" not in done.stderr
    assert "seismo report a.seismo" in done.stderr
    recording = read(tmp_path / "a.seismo")
    assert recording.problems == []
    assert "cut-short" not in list(recording.losses["kind"])
    return recording


@pytest.mark.parametrize("name", NAMES)
def test_the_end_is_as_always(tmp_path, name):
    recording = run(tmp_path, "profile", name, False)
    assert {row.qualname: row.calls for row in recording.functions}["work"] == 4


@pytest.mark.parametrize("verb", VERBS)
def test_with_children(tmp_path, verb):
    """Every verb, and both processes: what ends the first one is no other than without children."""
    assert len(run(tmp_path, verb, "all but raising", True, "--children").processes) == 2


SESSION = """
import builtins, os, seismo
def work(): pass
def broken(*args, **kwargs): raise SystemError("the program's own")
space = vars(builtins)
theirs = dict(space)
names = [name for name, value in vars(builtins).items() if callable(value) and name != "SystemError"]
with seismo.VERB() as p:
    vars(builtins).update(dict.fromkeys(names, broken))
    work()
p.print()
p.report()
p.save("a.seismo")
assert builtins.len is broken
space.update(theirs)
os.write(1, b"END\\n")
"""


@pytest.mark.parametrize("verb", [*VERBS, "trace"])
def test_a_session_shows_itself(tmp_path, verb):
    (tmp_path / "app.py").write_text(SESSION.replace("VERB", verb))
    done = children.python("app.py", cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout.endswith("END\n")
    assert ("work" if verb in ("profile", "trace") else "app.py") in done.stdout
    assert read(tmp_path / "a.seismo").problems == []
