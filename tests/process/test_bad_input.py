"""What can go wrong with a recording: a clear message, the program's own behaviour untouched, the rest kept."""

from __future__ import annotations

import os
import resource
import signal
import sys

import children
import pytest
from same import Ended

WORK = "def f(n): return n\nfor i in range(1000): f(i)\n"


def test_options_in_all_their_spellings(lab):
    lab.write("x.py", "import sys; print(sys.argv)")
    for words in (
        ["--quiet", "--output=r.seismo", "--c-functions=none", "--timing=every", "--flush=0.1", "--max-paths=100"],
        ["-q", "-or.seismo", "--clock", "monotonic", "--c-functions", "all"],
        ["-q", "-o", "r.seismo", "--"],
    ):
        ended = lab.run(["-m", "seismo", "profile", *words, "x.py", "-q", "--", "-o"])
        assert ended.out == "['x.py', '-q', '--', '-o']\n", ended.err


def test_unwritable_output(lab):
    lab.write("x.py", "print('ran')")
    (lab.folder / "folder").mkdir()
    for out, message in (("no/such/folder/r.seismo", "no folder"), ("folder", "is a directory")):
        ended = lab.run(["-m", "seismo", "profile", "-o", out, "x.py"])
        assert (ended.status, ended.out) == (2, "")
        assert message in ended.err.lower()
    if os.geteuid():
        (lab.folder / "folder").chmod(0o555)
        ended = lab.run(["-m", "seismo", "profile", "../x.py"], cwd=lab.folder / "folder")
        assert (ended.status, ended.out) == (2, "")


def test_names_and_places(lab):
    lab.write("sub/app.py", "import os\nos.chdir('/')\n")
    ended = lab.run(["-m", "seismo", "profile", "sub/app.py"])
    assert ended.status == 0
    (path,) = lab.folder.glob("app-*.seismo")  # where the program began, not where it went
    assert f"seismo report {path.name}   " in ended.err, "as the user types it, who went nowhere"
    lab.run(["-m", "seismo", "profile", "-q", "-c", "pass"])
    assert len(list(lab.folder.glob("command-*.seismo"))) == 1
    lab.run(["-m", "seismo", "profile", "-q", "-m", "sub.app"])
    assert len(list(lab.folder.glob("sub.app-*.seismo"))) == 1


@pytest.mark.parametrize("name", ["a b/it's.seismo", pytest.param("line\nend.seismo", marks=pytest.mark.matrix)])
def test_the_closing_hint_can_be_pasted_into_the_shell(lab, tmp_path, name):
    """Wherever the program went, and whatever the file is called."""
    work = lab.write("x.py", "import os\ndef f(): os.chdir('/')\nf()\n")
    (lab.folder / "a b").mkdir()
    for path in [f"./{name}"] + [str(tmp_path / os.path.basename(name))] * (" " in name):
        ended = lab.run(["-m", "seismo", "profile", "-o", path, str(work)])
        hint = ended.err.splitlines()[-1].removesuffix("   shows the rest")
        command = hint.replace("seismo", f"'{sys.executable}' -m seismo", 1)
        shown = children.run(["bash", "-c", command], cwd=lab.folder, env=lab.environment)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "__main__:f" in shown.stdout


def test_summary_does_not_import_the_programs_modules(lab):
    for name in ("json.py", "statistics.py"):
        lab.write(name, "raise SystemExit('imported')")
    lab.write("x.py", WORK)
    assert "imported" not in lab.profiled("x.py", quiet=False).err


@pytest.mark.parametrize("how", ["sys.stderr.close()", "os.close(2)", "sys.stderr = sys.__stderr__ = None"])
def test_no_summary_on_a_closed_stderr(lab, how):
    lab.write("x.py", f"import os, sys\nprint('out')\n{how}\n")
    ended = lab.profiled("x.py", quiet=False)
    assert (ended.status, ended.out) == (0, "out\n")
    if "close" in how:
        assert ended.err == ""
    assert lab.calls()["<module>"] == 1


def test_summary_goes_to_the_stderr_of_the_start(lab):
    lab.write("x.py", "import os\nfd = os.open('log', os.O_CREAT | os.O_WRONLY)\nos.dup2(fd, 2)\n")
    assert "seismo report" in lab.profiled("x.py", quiet=False).err
    assert (lab.folder / "log").read_text() == ""


def test_exit_is_recorded(lab):
    for end, exit_ in (
        ("1/0", "ZeroDivisionError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import os; os._exit(4)", "os._exit(4)"),
    ):
        lab.write("x.py", WORK + end)
        lab.profiled("x.py")
        assert lab.calls()["f"] == 1000
        assert lab.open().problems == []
        (process,) = lab.open().processes
        assert process.exit == exit_
        assert process.argv.endswith('"x.py"]')


def test_a_full_disk(lab):
    lab.write("x.py", WORK + "print('out')\n" + "\n".join(f"def g{i}(): pass\ng{i}()" for i in range(3000)))
    ended = lab.run(["-m", "seismo", "profile", "-o", "/dev/full", "x.py"])
    assert (ended.status, ended.out) == (0, "out\n")
    assert "no space left" in ended.err.lower()
    assert lab.run(["-m", "seismo", "profile", "-q", "-o", "/dev/full", "x.py"]) == Ended(0, "out\n", "")

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    uncached = {"PYTHONDONTWRITEBYTECODE": "1"}  # it would be cut, and later imports would fail
    ended = lab.profiled("x.py", preexec_fn=limit, quiet=False, env=uncached)
    assert (ended.status, ended.out) == (0, "out\n")
    assert "file too large" in ended.err.lower()
    recording = lab.open()  # what fitted can be read
    assert not [problem for problem in recording.problems if "foreign" in problem]


def test_under_coverage_like_tools_and_debuggers(lab):
    lab.write("x.py", "def f(): return 1\nf()\nprint('done')\n")
    words = ["-m", "pdb", "-c", "b f", "-c", "c", "-c", "c", "-c", "q", "x.py"]
    bare, profiled = lab.bare(*words), lab.profiled(*words)
    assert (profiled.out, profiled.status) == (bare.out, bare.status)
    for words in (["cProfile", "x.py"], ["trace", "--count", "-C", "cov", "x.py"]):
        profiled = lab.profiled("-m", *words)
        assert (profiled.status, "done" in profiled.out) == (0, True)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_no_tool_id_is_free(lab):
    lab.write("sitecustomize.py", "import sys\nfor i in range(6): sys.monitoring.use_tool_id(i, f'tool-{i}')\n")
    lab.write("x.py", "print('ran')")
    lab.environment["PYTHONPATH"] += os.pathsep + str(lab.folder)
    command = """
import sitecustomize, sys; from seismo.cli.main import main
sys.argv[1:] = ['profile', '--source', 'monitoring', 'x.py']; sys.exit(main())
"""
    ended = lab.run(["-S", "-c", command])
    assert (ended.status, ended.out) == (2, "")
    assert "tool" in ended.err
    assert "Traceback" not in ended.err
    assert not list(lab.folder.glob("*.seismo"))


def test_inside_a_recorded_program(lab):
    """A program that is recorded may record parts of itself, and may not ask for what the engine does not do."""
    lab.write(
        "x.py",
        "import seismo\ndef f(): pass\nf()\nwith seismo.profile() as p:\n    f(); f()\n"
        "print({r.qualname: r.calls for r in p.recording.functions if r.kind == 0 and r.calls})\n"
        "try:\n    with seismo.profile(c_functions='all'): pass\n"
        "except seismo.SeismoError as e: print('error', e.what)\n",
    )
    ended = lab.profiled("x.py")
    assert "'f': 2" in ended.out
    assert "error a recording with c_functions='auto' is running" in ended.out
    assert lab.calls()["f"] == 3
