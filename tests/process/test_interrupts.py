"""Ctrl-C in a recorded program: the process dies of it as it does bare, and the recording is whole."""

import os
import signal
import sys

import children
import pytest
from same import Ended

from seismo.model import read

VERBS = ["profile", "trace", "lines", "cover"] + ["objects"] * (sys.version_info >= (3, 13, 3))
APP = "import time\ndef work(): pass\nwork()\nprint('READY', flush=True)\nwhile True: time.sleep(0.01)\n"


def interrupted(folder, words, times):
    """The exit status, and what the program itself has printed on stderr."""
    with children.popen([sys.executable, *words, "app.py"], cwd=folder) as child:
        assert child.stdout.readline() == "READY\n"
        for _ in range(times):
            child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    return child.returncode, err


@pytest.mark.crossed
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("quiet", [[], ["-q"]], ids=["", "quiet"])
@pytest.mark.parametrize("verb", VERBS)
def test_the_process_dies_of_it_and_the_recording_is_whole(tmp_path, verb, quiet, times):
    (tmp_path / "app.py").write_text(APP)
    status, err = interrupted(tmp_path, ["-m", "seismo", verb, *quiet, "-o", "r.seismo"], times)
    assert status == -signal.SIGINT
    assert "process/run_program.py" not in err
    assert times == 2 or ("seismo" not in err) == bool(quiet)
    recording = read(tmp_path / "r.seismo")
    assert recording.problems == []
    assert [row.exit for row in recording.processes] == ["KeyboardInterrupt"]
    assert "cut-short" not in list(recording.losses["kind"])


def test_a_watch(tmp_path):
    (tmp_path / "app.py").write_text(APP)
    for times in (1, 2):
        words = ["-m", "seismo", "watch", 'call("work")', "--count", "--record", "w.seismo", "--force"]
        assert interrupted(tmp_path, words, times)[0] == -signal.SIGINT
        assert "cut-short" not in list(read(tmp_path / "w.seismo").losses["kind"])


def test_a_shells_loop_ends(tmp_path):
    (tmp_path / "app.py").write_text("import os, signal\nprint('RAN', flush=True)\nos.killpg(0, signal.SIGINT)\n")
    loop = 'for i in 1 2 3; do "$0" -m seismo profile -o r.seismo app.py; done; echo AFTER'
    assert children.run(["bash", "-c", loop, sys.executable], cwd=tmp_path).stdout == "RAN\n"


@pytest.mark.parametrize("line", ["", "import atexit; atexit.register(eval, '0')\n"])
def test_as_bare_whatever_the_program_does_at_its_end(lab, line):
    """Up to 3.13 an evaluated text makes the interpreter forget that it is to die of SIGINT."""
    lab.write("app.py", f"{line}raise KeyboardInterrupt\n")
    for words in (["app.py"], ["-m", "app"]):
        bare = lab.bare(*words).status
        assert [lab.profiled(*words, quiet=quiet).status for quiet in (True, False)] == [bare, bare]


LAUNCHER = """
import os, signal
from seismo.cli.main import main
from seismo.MODULE import WHERE as where
real = where.WHAT
def interrupted(*args, **options):
    os.kill(os.getpid(), signal.SIGINT)
    return real(*args, **options)
where.WHAT = interrupted
main()
"""
PLACES = {
    "the recorder stops": "process.engine Recorder stop",
    "the file is finished": "process.output_file Output finish",
    "the parts are merged": "process merge_parts merge_folder",
    "the summary is made": "cli recording stderr_is_open",
}


def launched(lab, place, *words):
    """Runs `seismo WORDS` in a process that Ctrl-C interrupts at a call of this function."""
    module, where, what = place.split()
    lab.write("launcher", LAUNCHER.replace("MODULE", module).replace("WHERE", where).replace("WHAT", what))
    return lab.run(["launcher", *words])


@pytest.mark.parametrize(
    "place", ["output_file Output", "exit_and_exec subscribe", "engine start_core", "run_program _load_script"]
)
def test_while_seismo_starts(lab, place):
    """The process dies of it before the program begins; it is not lost, and no frame of seismo is shown."""
    lab.write("x.py", "print('the program goes on')\n")
    ended = launched(lab, f"process {place}", "profile", "-q", "-o", "r.seismo", "x.py")
    assert ended == Ended(-signal.SIGINT, "", "KeyboardInterrupt\n")


@pytest.mark.crossed
@pytest.mark.parametrize("last", ["", "raise KeyboardInterrupt\n", "os._exit(5)\n"])
@pytest.mark.parametrize("place", PLACES)
def test_while_the_recording_ends(lab, place, last):
    """The end is not cut short; one that the program has not asked for leaves out the summary, with status 130."""
    lab.write("app.py", f"import os\ndef work(): pass\nwork()\n{last}")
    ended = launched(lab, PLACES[place], "profile", "--children", "-o", "r.seismo", "app.py")
    assert ended.status == {"": 130, "os._exit(5)\n": 5}.get(last, -signal.SIGINT)
    assert "launcher" not in ended.err
    assert "calls of" not in ended.err
    assert lab.open().problems == []
    assert "cut-short" not in list(lab.open().losses["kind"])
    assert lab.calls()["work"] == 1
    assert [name for name in os.listdir(lab.folder) if "parts" in name] == []


def test_while_seismo_looks_at_a_child_that_starts(lab):
    """It is the program's, which goes on where it handles it."""
    lab.write(
        "app.py",
        "import os, sys\ntry:\n    os.posix_spawn(sys.executable, [sys.executable, '-c', ''], os.environ)\n"
        "    os.wait()\nexcept KeyboardInterrupt:\n    print('HANDLED')\n",
    )
    ended = launched(lab, "process exit_and_exec _mapping", "profile", "-q", "--children", "-o", "r.seismo", "app.py")
    assert ended == Ended(0, "HANDLED\n", "")
