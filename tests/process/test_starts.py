"""How a program is started, and with which switches of the interpreter, changes nothing of how it is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import zipapp

import pytest
from paths import SOURCE

PROGRAM = """
import os, sys
def f(n): return n
for i in range(5): f(i)
print(__name__, __file__, __package__, sys.argv, sys.path[0], sys.orig_argv[-2:])
print(sys.flags, sys.warnoptions, sys._xoptions, getattr(sys, "get_lazy_imports", int)())
"""


def shown(lab, *words, **options):
    """Holds bare and recorded against each other, and the recording against what the program does."""
    lab.same(*words, **options)
    assert lab.calls()["f"] == 5
    assert lab.open().problems == []


def test_folders_links_and_pipes(lab):
    lab.write("here/__main__.py", PROGRAM)
    lab.write("real/tool", "import beside\n" + PROGRAM)
    lab.write("real/beside.py", "")
    (lab.folder / "bin").mkdir()
    (lab.folder / "bin/first").symlink_to("../real/tool")
    (lab.folder / "second").symlink_to("bin/first")
    zipapp.create_archive(lab.folder / "here", lab.folder / "app.pyz", interpreter="/usr/bin/env python3")
    shown(lab, ".", cwd=lab.folder / "here")
    for words in (["./here/"], ["real/tool", "x"], ["second"], ["app.pyz"]):
        shown(lab, *words)
    shown(lab, "/dev/stdin", stdin=PROGRAM)


def test_a_script_in_a_named_pipe_is_opened_once(lab):
    pipe = lab.folder / "pipe"
    os.mkfifo(pipe)
    (lab.folder / "text").write_text(PROGRAM)
    ends = []
    for words in ([pipe], ["-m", "seismo", "profile", "-q", "-o", lab.recording, pipe]):
        with subprocess.Popen(["sh", "-c", "cat text > pipe"], cwd=lab.folder) as writer:
            ends.append(lab.run([str(word) for word in words]))
            assert writer.wait(60) == 0
    assert ends[0] == ends[1]
    assert lab.calls()["f"] == 5


SWITCHES = [
    ("-OO", "-B", "-s", "-P"),
    ("-I",),
    ("-S",),
    ("-X", "dev", "-W", "error"),
    ("-X", "frozen_modules=off"),
    ("-X", "faulthandler", "-X", "tracemalloc=3"),
    ("-bb", "-X", "warn_default_encoding", "-W", "always"),
    *([("-X", "lazy_imports=all")] if sys.version_info >= (3, 15) else []),
]


@pytest.mark.parametrize("switches", SWITCHES, ids=" ".join)
def test_switches(lab, switches):
    """By a launcher that finds seismo where -E, -I and -S do not look for it."""
    lab.write("x.py", PROGRAM)
    lab.write("launcher", f"import sys\nsys.path.append({str(SOURCE)!r})\nfrom seismo.cli.main import main\nmain()\n")
    bare = lab.bare("x.py", flags=switches)
    assert bare.status == 0
    for verb in (["trace", "-q"], ["cover", "-q"]):
        assert lab.run(["launcher", *verb, "-o", "r.seismo", "x.py"], flags=switches) == bare
        assert lab.open().problems == []
        assert verb[0] == "cover" or lab.calls()["f"] == 5


@pytest.mark.skipif(sys.version_info < (3, 15), reason="there are no lazy imports")
def test_lazy_imports_for_all(lab):
    """They are the program's and its children's; seismo, from within as well, is as it always is."""
    lab.environment["PYTHON_LAZY_IMPORTS"] = "all"
    lab.write("late.py", "print('late')\n")
    lab.write(
        "x.py",
        "import subprocess, sys\nimport late\ndef f(): print(sys.get_lazy_imports(), 'late' in sys.modules)\n"
        "f(); late.__name__; f()\n"
        "if len(sys.argv) < 2: sys.exit(subprocess.run([sys.executable, 'x.py', 'child']).returncode)\n",
    )
    assert lab.same("x.py", take=("--children",)).out == "all False\nlate\nall True\n" * 2
    assert lab.calls()["f"] == 4
    lab.write(
        "api.py",
        "from seismo import hooks\nimport seismo, sys\ndef f(): pass\nseen = []\n"
        "with hooks.set_profile(lambda *event: seen.append(event), where='call(\"f\")'): f()\n"
        "with seismo.profile() as p: f()\n"
        "print(len(seen), {row.qualname: row.calls for row in p.recording.functions}['f'], sys.get_lazy_imports())\n",
    )
    assert lab.bare("api.py").out == "1 1 all\n"


@pytest.mark.crossed
@pytest.mark.parametrize("call", ["_run_exitfuncs()", "_clear()"])
@pytest.mark.parametrize("imported", ["atexit", "atexit, threading"])
def test_exit_functions_that_the_program_runs_or_drops(lab, call, imported):
    """The recording goes on after them, and ends where the program does."""
    lab.write(
        "x.py",
        f"import sys, {imported}\ndef f(): print('f')\natexit.register(f)\nf()\natexit.{call}\nf()\nsys.exit(3)\n",
    )
    bare = lab.bare("x.py")
    assert bare.status == 3
    for verb in ("profile", "cover"):
        assert lab.run(["-m", "seismo", verb, "-q", "-o", "r.seismo", "x.py"]) == bare
        assert [row.exit for row in lab.open().processes] == ["3"]
        assert "cut-short" not in list(lab.open().losses["kind"])
        assert verb == "cover" or lab.calls()["f"] == bare.out.count("f")
