"""How a process ends, becomes another program, or starts one: as bare, and nothing lost without a word."""

from __future__ import annotations

import os
import shutil
import sys

import children
import pytest
from same import Ended

import seismo
from seismo.process import exit_and_exec

OS_FUNCTIONS = """
import inspect, os, posix, sys, traceback, _posixsubprocess
for name in ("_exit", "execv", "execve", "posix_spawn", "posix_spawnp"):
    function = getattr(os, name)
    print(name, type(function), function is getattr(posix, name), function in os.supports_fd, function.__module__)
    print(function, function.__name__, function.__qualname__, function.__text_signature__, inspect.signature(function))
print(type(_posixsubprocess.fork_exec), "seismo" in str(_posixsubprocess.fork_exec))
class Status:
    def __index__(self):
        print("asked once")
        raise KeyError("no number")
for call in (
    lambda: os.execve("/nonexistent", ["x"], {}),
    lambda: os.execv(),
    lambda: os.execv("/nonexistent", ["x"], 3),
    lambda: os.execv("/bin/sh", []),
    lambda: os.execv("/bin/sh", [3]),
    lambda: os.execv("/bin/sh", ["sh\\0"]),
    lambda: os.execve("/nonexistent", ["a"], 5),
    lambda: os.execve(path="/bin/sh", argv=["a"], env={"a=b": "c"}),
    lambda: os.execvp("no such program", ["a"]),
    lambda: os.execl("/nonexistent", "a"),
    lambda: os._exit("x"),
    lambda: os._exit(),
    lambda: os._exit(1, 2),
    lambda: os._exit(state=1),
    lambda: os._exit(2**80),
    lambda: os._exit(Status()),
    lambda: os.posix_spawn("/nonexistent", ["a"], 5),
    lambda: os.posix_spawn("/nonexistent", ["a"], {}),
    lambda: os.posix_spawn("/nonexistent"),
    lambda: os.posix_spawnp("/nonexistent", ["a"], {}, setsid=7, nothing=1),
    lambda: _posixsubprocess.fork_exec(1),
):
    try:
        call()
    except BaseException:
        print(traceback.format_exc())
seen = []
sys.setprofile(lambda frame, event, argument: seen.append(frame.f_code.co_filename) if event == "call" else None)
try: os.execv("/nonexistent", ["a"])
except OSError: pass
sys.setprofile(None)
print(seen)
"""

VERBS = {
    "profile": ["profile", "-q", "-o", "r.seismo"],
    "children": ["profile", "-q", "--children", "-o", "r.seismo"],
    "lines": ["lines", "-q", "-o", "r.seismo"],
    "cover": ["cover", "-q", "--children", "-o", "r.seismo"],
    "watch": ["watch", 'call("no_such_function")', "-q"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_the_functions_are_the_interpreters_own(shared, verb):
    shared.write("x.py", OS_FUNCTIONS)
    assert shared.run(["-m", "seismo", *VERBS[verb], "x.py"]) == shared.bare("x.py")


FAILS = """
import os, sys
def after(): return 1
def main():
    for call in (lambda: os.execv("/nonexistent", ["x"]), lambda: os.execve("/bin/sh", ["x"], {"a": "b" * 300000})):
        try: call()
        except OSError: pass
    for _ in range(1000): after()
main()
"""


def exits(lab):
    """Return how each process in the recording ended."""
    return [process.exit for process in lab.open().processes]


def test_an_exec_that_fails_changes_nothing(lab):
    lab.write("x.py", FAILS)
    for verb in ("profile", "children"):
        assert lab.run(["-m", "seismo", *VERBS[verb], "x.py"]) == Ended(0, "", "")
        assert lab.calls()["after"] == 1000
        assert exits(lab) == ["0"]
        assert not lab.open().problems
    lab.run(["-m", "seismo", *VERBS["lines"], "x.py"])
    assert {row.line: row.hits for row in lab.open().lines}[3] == 1000
    lab.run(["-m", "seismo", "cover", "-q", "--counts", "-o", "r.seismo", "x.py"])
    assert "100 %" in children.seismo("report", "r.seismo", cwd=lab.folder).stdout.replace("\xa0", " ")
    assert exits(lab) == ["0"]


LATE = """
import os, signal, subprocess, sys
from seismo import _core
def before(): return 1
def after(): return 1
subprocess.run([sys.executable, "-c", "def child(): pass\\nchild()"])
before()
for _ in range(2):
    try: os.execv("./broken", ["broken"])
    except OSError: pass
for _ in range(10):
    after()
_core.flush()
_core.flush("coverage")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("verb", ["profile", pytest.param("cover", marks=pytest.mark.matrix)])
def test_a_program_that_is_killed_after_an_exec_that_failed_late(lab, verb):
    """The merge of the children, made before the exec, is not what is left: that would claim to have an end."""
    lab.write("x.py", LATE)
    lab.write("broken", "\x7fELF, but no program")
    (lab.folder / "broken").chmod(0o755)
    lab.run(["-m", "seismo", verb, "-q", "--children", "-o", "r.seismo", "x.py"])
    (folder,) = [path for path in lab.folder.iterdir() if path.is_dir() and list(path.glob("*.seismo"))]
    left = seismo.open(lab.recording)
    assert exits(lab) == [""]
    assert "cut-short" in {loss.kind for loss in left.losses}
    names = left.functions["qualname"]
    if verb == "profile":
        assert sum(row.calls for row in left.tree if names[row.function] == "after") == 10
    else:
        assert "after" in names
    assert len(list(folder.glob("*.seismo"))) == 1


def test_an_exec_that_succeeds_ends_the_recording(lab):
    lab.write("x.py", "import os\ndef f(): pass\nfor i in range(5): f()\nos.execv('/bin/echo', ['echo', 'next'])\n")
    for verb in ("profile", "children", "cover"):
        assert lab.run(["-m", "seismo", *VERBS[verb], "x.py"]) == Ended(0, "next\n", "")
        assert not lab.open().problems
        assert exits(lab) == ["exec"]
    said = lab.profiled("x.py", quiet=False)
    assert said.out == "next\n"
    assert "seismo report" in said.err


BECOMES = """
import os, subprocess, sys
def before(): pass
def after(): pass
def leaf(): pass
stage = sys.argv[1]
if stage in ("leaf", "end"):
    leaf()
if stage == "end":
    print(os.environ.get("A"), [name for name in ("PYTHONPATH", "SEISMO_CHILDREN") if name in os.environ])
    sys.exit(3)
if stage == "leaf":
    sys.exit(0)
for i in range(5): before() if stage == "first" else after()
subprocess.run([sys.executable, "x.py", "leaf"], check=True)
sys.stdout.flush()
if stage == "first":
    os.execv(sys.executable, [sys.executable, "x.py", "second"])
sanitizers = {name: os.environ[name] for name in ("LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
os.execve(sys.executable, [sys.executable, "x.py", "end"], {"A": "1", **sanitizers})
"""


@pytest.mark.parametrize("name", ["trace", pytest.param("cover", marks=pytest.mark.matrix)])
def test_what_a_program_becomes_by_exec_is_recorded_with_its_children(lab, name):
    lab.write("x.py", BECOMES)
    ended = lab.run(["-m", "seismo", name, "-q", "--children", "-o", "r.seismo", "x.py", "first"])
    assert ended == Ended(3, "1 []\n", "")
    assert not lab.open().problems
    assert exits(lab).count("exec") == 2
    assert len(exits(lab)) == 5
    assert not (lab.folder / "r.seismo.parts").exists()
    if name != "cover":
        assert [lab.calls()[called] for called in ("before", "after", "leaf")] == [5, 5, 3]


def test_who_stays_what_it_is_after_an_exec_leaves_no_folder(lab):
    """A program that is not Python, one that is recorded by itself, and a Python that is not reached."""
    lab.write("y.py", "def other(): pass\nother()\n")
    for words in (
        ["/bin/echo", "next"],
        [sys.executable, "-m", "seismo", "profile", "-q", "-o", "y.seismo", "y.py"],
        [sys.executable, "-I", "y.py"],
    ):
        lab.write("x.py", f"import os\ndef f(): pass\nf()\nos.execv({words[0]!r}, {words!r})\n")
        ended = lab.run(["-m", "seismo", *VERBS["children"], "x.py"])
        assert (ended.err, ended.status) == ("", 0)
        assert not lab.open().problems
        assert exits(lab) == ["exec"]
        assert lab.calls()["f"] == 1
        assert not (lab.folder / "r.seismo.parts").exists()
    assert lab.calls(lab.folder / "y.seismo")["other"] == 1


def test_an_exec_of_which_nobody_knows_how_it_ends(lab):
    """The kernel asks another program to run it, or not: the file is whole either way."""
    lab.write("strange", "neither a program nor a script")
    (lab.folder / "strange").chmod(0o755)
    lab.write(
        "x.py",
        "import os\ndef f(): pass\nf()\ntry: os.execv('./strange', ['strange'])\nexcept OSError as e: print(e)\nf()\n"
        "os.kill(os.getpid(), 9)\n",
    )
    lab.same("x.py")
    assert lab.calls()["f"] >= 1
    (exit_,) = exits(lab)
    assert exit_ != "exec"


def test_a_child_of_a_family_that_execs_after_a_failed_one(lab):
    lab.write("leaf.py", "def leaf(): pass\nleaf()\n")
    lab.write(
        "x.py",
        "import os, sys\ndef work(): pass\nif os.fork() == 0:\n    work()\n"
        "    try: os.execv('/nonexistent', ['x'])\n    except OSError: work()\n"
        "    os.execv(sys.executable, [sys.executable, 'leaf.py'])\nos.wait()\n",
    )
    lab.same("x.py", take=("--children",))
    calls = lab.calls()
    assert (calls["work"], calls["leaf"]) == (2, 1)


def test_functions_are_given_back_and_shared():
    """Another tool may exchange them in turn, before or after us: each is called once, and ours is gone at the end."""
    program = """
import os, sys
from seismo import _core
heard = []
def hear(name, values, names):
    heard.append((name, values, names))
    if name == "execv": 1 / 0  # nobody's business
for starts in (False, True, False):
    _core.set_process_receiver(hear, starts)
    try: os.execv("/nonexistent", ["a"])
    except OSError: pass
    try: os.posix_spawn("/nonexistent", ["a"], {}, setsid=False)
    except OSError: pass
    _core.set_process_receiver(None, False)
    try: os.execv("/nonexistent", ["a"])
    except OSError: pass
print([name for name, values, names in heard], heard[0], heard[1])
print([names for name, values, names in heard if name == "posix_spawn"])
def replace(name, values, names): return (7,)
_core.set_process_receiver(replace, False)
os._exit(status=3)
"""
    ended = children.python("-u", "-c", program, status=7)
    assert ended.stderr == ""
    first, second = ended.stdout.splitlines()
    assert first.startswith(str(["execv"] * 4 + ["posix_spawn"] + ["execv"] * 2))
    assert "('execv', ('/nonexistent', ['a']), ()) ('execv', None, ())" in first
    assert second == "[('setsid',)]"


# ---- children ----

WAYS = [
    ("cover", "context", "²"),
    ("cover", "context", "007"),
    ("cover", "context", "two\nlines\x1f\udcff 'quoted' \""),
    ("profile", "where", 'function("leaf", "007")'),
]


@pytest.mark.parametrize(("recorder", "name", "value"), WAYS)
def test_settings_arrive_as_they_were_given(recorder, name, value):
    settings = {name: value, "flush_ms": 7, "branch": 1, "nothing": None, "real": 0.5, "flag": True, "list": ["a", 1]}
    for folder in ("/plain", "/a\nfolder\n{}", "/\udcff"):
        recorders = {recorder: settings, "another": {}}
        assert exit_and_exec.unpack(exit_and_exec.pack(recorders, folder, 7)) == (recorders, folder, 7)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{} x", '{"recorders": 3}', '{"recorders": {"cover": 3}}', "\0", '{"recorders": {}, "heir": '],
)
def test_what_is_no_settings_is_refused(text):
    with pytest.raises(ValueError, match=r"not JSON|cannot be read|Expecting"):
        exit_and_exec.unpack(f"{text}\n/folder")


def test_a_context_reaches_the_children(lab):
    context = "two\nlines ²"
    lab.write("leaf.py", "x = 1\n")
    lab.write("x.py", "import subprocess, sys\nsubprocess.run([sys.executable, 'leaf.py'], check=True)\n")
    assert lab.run(["-m", "seismo", *VERBS["cover"], "--context", context, "x.py"]) == Ended(0, "", "")
    recording = lab.open()
    assert len(recording.processes) == 2
    assert {row.name for row in recording.contexts} == {context}


def test_a_child_that_cannot_be_recorded_leaves_a_mark(lab):
    """It runs on as bare, and so does what it starts."""
    folder = lab.folder / "parts"
    folder.mkdir()
    hook = f"{os.path.dirname(seismo.__file__)}/process/child_startup"
    code = "import os, subprocess, sys; print(sorted(set(os.environ) & {'SEISMO_CHILDREN', 'PYTHONPATH'}))"
    packed = f"no settings\n{folder}"
    ended = children.run(
        [sys.executable, "-c", f"{code}\nsubprocess.run([sys.executable, '-c', {code!r}])"],
        env=os.environ | {"PYTHONPATH": hook, "SEISMO_CHILDREN": packed, "PYTHONUNBUFFERED": "1"},
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[]\n[]\n", "")
    (mark,) = folder.iterdir()
    lines = mark.read_text().splitlines()
    assert mark.suffix == ".mark"
    assert lines[2] == ".".join(map(str, sys.version_info[:3]))
    assert "ValueError" in lines[4]


def test_what_a_mark_says_is_in_the_recording(lab):
    lab.write(
        "x.py",
        "import os\nparts = 'r.seismo.parts'\n"
        "pid = os.fork()\nif pid == 0: os._exit(0)\nos.wait()\n"
        "with open(f'{parts}/7-0.mark', 'w') as f: f.write('7\\n6\\n3.9.2\\npython3.9 o.py\\nImportError: \\x1b[31m')\n"
        "with open(f'{parts}/8-0.mark', 'w') as f: f.write('')\n"
        "os.mkfifo(f'{parts}/9-0.mark')\nos.symlink('/etc/passwd', f'{parts}/10-0.mark')\n",
    )
    ended = lab.profiled("x.py", take=("--children",), quiet=False)
    assert "4 child processes could not be recorded" in ended.err
    assert "nothing" not in ended.err
    recording = lab.open()
    details = [row.detail for row in recording.losses if row.kind == "child-unrecorded"]
    assert any("python3.9 o.py (pid 7, Python 3.9.2): ImportError: " in detail for detail in details)
    assert not any("root:" in detail for detail in details)
    assert not (lab.folder / "r.seismo.parts").exists()
    said = children.seismo("report", "r.seismo", cwd=lab.folder).stdout
    assert "could not be recorded" in said
    assert "\x1b" not in said
    assert "could not be recorded" in children.seismo("info", "r.seismo", cwd=lab.folder).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")
def test_a_forked_child_without_rights_leaves_a_mark(lab):
    for folder in (lab.folder, *lab.folder.parents[:3]):
        folder.chmod(0o755)
    lab.write(
        "x.py",
        "import os\nif os.fork() == 0:\n    os.setuid(65534)\n    if os.fork() == 0: os._exit(0)\n    os.wait()\n"
        "    os._exit(0)\nos.wait()\n",
    )
    lab.same("x.py", take=("--children",))
    recording = lab.open()
    assert len(recording.processes) == 2
    losses = [(row.kind, row.count) for row in recording.losses if row.kind.startswith("child")]
    assert losses == [("child-unrecorded", 1)]


def test_a_child_that_still_runs_is_said_in_the_recording(lab):
    command = [sys.executable, "-m", "seismo", "profile", "--children", "-o", str(lab.recording), "x.py"]
    lab.write(
        "x.py",
        "import subprocess, sys\nchild = [sys.executable, '-c', 'import sys; print(1, flush=True); sys.stdin.read()']\n"
        "child = subprocess.Popen(child, stdout=subprocess.PIPE)\nchild.stdout.readline()\n",
    )
    process = children.popen(command, cwd=lab.folder, env=lab.environment)
    process.wait(60)  # the child ends with its input, which is closed only now
    _, err = process.communicate()
    assert "still ran" in err
    assert [row.kind for row in lab.open().losses if row.kind.startswith("child")] == ["child-running"]
    assert len(list((lab.folder / "r.seismo.parts").glob("*.seismo"))) == 1


FAILS_LATE = {
    "busy": "file = open('tool', 'ab')  # while it is open for writing, nobody can execute it\n",
    "audit": "def hook(event, args):\n    if event == 'os.exec': raise OSError('no')\nsys.addaudithook(hook)\n",
}


@pytest.mark.crossed
@pytest.mark.parametrize("why", FAILS_LATE)
@pytest.mark.parametrize("verb", ["profile", "cover"])
def test_an_exec_that_fails_after_it_looked_well_loses_no_children(lab, verb, why):
    """What the children left is merged before an exec, for nobody does it afterwards; and again at the real end."""
    folder = lab.folder
    lab.write("leaf.py", "def leaf(): pass\nleaf()\n")
    shutil.copy("/bin/true", folder / "tool")
    program = f"""
import os, subprocess, sys
{FAILS_LATE[why]}
def work(): pass
def start(): subprocess.run([sys.executable, 'leaf.py'], check=True)
start(); start(); work()
for _ in range(2):
    try: os.execv('./tool', ['tool'])
    except OSError: work()
    start()
print('on')
"""
    lab.write("x.py", program)
    assert lab.run(["-m", "seismo", verb, "--children", "-q", "-o", "r.seismo", "x.py"]) == Ended(0, "on\n", "")
    recording = lab.open()
    assert len(recording.processes) == 5
    assert set(recording.losses["kind"]) <= {"sites-off"}
    if verb == "profile":
        calls = {row.qualname: row.calls for row in recording.functions}
        assert (calls["leaf"], calls["work"], calls["start"]) == (4, 3, 4)
    assert sorted(path.name for path in folder.iterdir() if "r.seismo" in path.name) == ["r.seismo"]
