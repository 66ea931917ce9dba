"""The command itself: help, exit statuses, and what becomes of errors."""

import os
import pickle
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import children
import pytest

import seismo as package
from seismo import errors
from seismo.cli import failures
from seismo.cli import main as command
from seismo.model import Builder

READERS = ["report", "info", "export", "merge", "diff"]


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_the_verbs(seismo, words):
    done = seismo(*words, status=0)
    assert done.stderr == ""
    assert all(f"\n  {verb} " in done.stdout for verb in command.VERBS)
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("verb", command.VERBS)
def test_help_of_a_verb(seismo, verb):
    """Prose is as wide as the terminal; what is indented, such as an example, is not broken."""
    done = seismo(verb, "--help", status=0)
    assert done.stdout.startswith(f"usage: seismo {verb} ")
    assert seismo("help", verb).stdout == done.stdout
    assert verb not in READERS or max(map(len, done.stdout.splitlines())) <= 80
    narrow, wide = (seismo(verb, "--help", COLUMNS=columns).stdout.splitlines() for columns in ("60", "120"))
    assert max(len(line) for line in narrow if not line.startswith((" ", "usage: "))) <= 60
    assert len(narrow) > len(wide)


def test_version(seismo):
    assert seismo("--version").stdout == f"seismo {package.__version__}\n"


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("repotr", "did you mean: seismo report"),
        ("app.py", "to record a program: seismo profile app.py"),
        ("app-1.seismo", "to look at a recording: seismo report app-1.seismo"),
        ("\x1b[31m", f"the verbs are {', '.join(command.VERBS)}; see seismo --help"),
    ],
)
def test_an_unknown_verb(seismo, word, hint):
    done = seismo(word, status=2)
    assert done.stdout == ""
    assert done.stderr == f"seismo: there is no verb {word!a}\n        {hint}\n"


def test_a_program_without_a_verb_is_answered_by_its_command(seismo):
    """The hint can be pasted into a shell."""
    hint = "to record a program: seismo profile 'my app.py' --fast 'a b'"
    assert seismo("my app.py", "--fast", "a b", status=2).stderr.splitlines()[1].strip() == hint
    assert "seismo profile -m pytest -x\n" in seismo("-m", "pytest", "-x", status=2).stderr


def test_a_pipe_whose_reader_went_away_is_quiet(seismo, recording):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        for words in (["report", recording], ["--help"]):
            done = seismo(*words, stdout=writer)
            assert (done.returncode, done.stderr) == (141, "")
    finally:
        os.close(writer)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_said(seismo, recording):
    with open("/dev/full", "w") as full:
        for words in (["report", recording], ["--help"]):
            done = seismo(*words, stdout=full)
            assert (done.returncode, done.stderr) == (2, "seismo: no space left on device\n")
        seismo("nothing", stderr=full, status=2)
        seismo("report", recording, stderr=full, status=0)


@pytest.mark.filterwarnings("ignore:.*preexec_fn.*")
def test_closed_streams(seismo, recording):
    seismo("nothing", stderr=None, preexec_fn=lambda: os.close(2), status=2)
    done = seismo("report", recording, stdout=None, preexec_fn=lambda: os.close(1), status=2)
    assert done.stderr.startswith("seismo: there is no standard output\n")
    seismo("merge", "-o", "all.seismo", recording, stdout=None, preexec_fn=lambda: os.close(1), status=0)


def verb(monkeypatch, **functions):
    """Puts a module of these functions in the place of `seismo info`."""
    module = type(sys)("seismo.cli.info")
    vars(module).update(functions)
    monkeypatch.setitem(sys.modules, "seismo.cli.info", module)


@pytest.mark.parametrize(
    ("error", "status", "lines"),
    [
        (errors.RecordingError("what", "where", "do this"), 2, ["seismo: what", "        where", "        do this"]),
        (errors.UsageError("what\x1b[1m\nforged"), 2, [r"seismo: what\x1b[1m\nforged"]),
        (PermissionError(13, "Permission denied", "/x\n"), 2, ["seismo: permission denied", r"        /x\n"]),
        (MemoryError(), 2, ["seismo: out of memory"]),
    ],
)
def test_errors_become_plain_lines(monkeypatch, capsys, error, status, lines):
    def fail(args):
        raise error

    verb(monkeypatch, run=fail, add_arguments=lambda parser: None)
    monkeypatch.setattr(failures, "_drop", lambda stream: None)
    assert command.main(["info"]) == status
    assert capsys.readouterr().err.splitlines() == lines


def test_a_bug_keeps_its_traceback(monkeypatch):
    verb(monkeypatch, run=lambda args: 1 // 0, add_arguments=lambda parser: None)
    with pytest.raises(ZeroDivisionError):
        command.main(["info"])


def test_control_c_is_130(tmp_path):
    fifo = tmp_path / "fifo.seismo"
    os.mkfifo(fifo)
    child = children.popen([sys.executable, "-m", "seismo", "report", fifo])
    writer = os.open(fifo, os.O_WRONLY)  # returns once the child is reading
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    os.close(writer)
    assert (child.returncode, said) == (130, "")


def test_a_pipe_is_read_once(tmp_path):
    Builder().build({"recorder": "calltree"}).save(tmp_path / "one.seismo")
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        pool.submit((tmp_path / "pipe").write_bytes, (tmp_path / "one.seismo").read_bytes())
        assert "Functions by own time" in children.seismo("report", tmp_path / "pipe").stdout


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(errors.FormatError("what", "where", "hint")))
    assert type(error) is errors.FormatError
    assert error.lines() == ["what", "where", "hint"]
    assert str(error) == "what\nwhere\nhint"
    assert error.exit_code == 2


def test_the_command_itself_imports_nothing_heavy():
    code = "import sys, seismo.cli.main; print(*(name for name in sys.argv[1:] if name in sys.modules))"
    heavy = ["argparse", "rich", "typing", "re", "contextlib", "seismo.model", "seismo._core", "seismo.report"]
    # Without site-packages, whose own start-up may import anything.
    assert children.python("-S", "-c", code, *heavy).stdout.split() == []


def test_a_recording_is_read_without_other_tools_formats(recording):
    """They would take longer to load than the file."""
    code = "import sys; from seismo.cli.main import main; main(sys.argv[1:]); print(*sys.modules, sep='\\n')"
    loaded = children.python("-c", code, "info", recording).stdout.split()
    assert "seismo.model" in loaded
    assert "seismo.formats" not in loaded
