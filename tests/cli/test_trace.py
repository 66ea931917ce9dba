"""seismo trace: what its summary and the report of a program that was killed show."""

import signal

KILLED = """
import os, signal
from seismo import _core
def inner(i):
    return str(i)
def loop():
    for i in range(100):
        inner(i)
    _core.flush()
    os.kill(os.getpid(), signal.SIGKILL)
loop()
"""


def test_the_report_of_a_killed_program_shows_its_last_calls(seismo, traced):
    shown = seismo("report", traced(KILLED, status=-signal.SIGKILL)).stdout
    assert "the last 50 calls of each thread" in shown
    assert "__main__:inner" in shown.partition("the last 50 calls")[2]


def test_the_next_step_is_named(seismo, tmp_path):
    """The summary, and the report, end with the command that shows the timeline; that of a profile does not."""
    (tmp_path / "app.py").write_text("len('')")
    step = "seismo view t.seismo   shows the timeline"
    assert seismo("trace", "-o", "t.seismo", "app.py", status=0).stderr.splitlines()[-1] == step
    assert seismo("report", "t.seismo", status=0).stdout.splitlines()[-1] == step
    assert "seismo view" not in seismo("profile", "-o", "p.seismo", "app.py", status=0).stderr
    assert "seismo view" not in seismo("report", "p.seismo", status=0).stdout
