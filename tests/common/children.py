"""The one way in which tests start Python: in what environment, and for how long anybody waits for it.

Compilers, git and shells are no children in this sense: subprocess.run does for them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from paths import SOURCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SECONDS = 120  # after which a child is stuck: many times what the slowest takes on a busy machine


def environment(*folders: str | Path, **more: str) -> dict[str, str]:
    """The environment of the tests, where the package under test can be imported, and what is in these folders.

    A child that a signal kills says where it was. What a user's shell says of colours and columns is left out.
    """
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR", "NO_COLOR")}
    paths = os.pathsep.join(map(str, (SOURCE, *folders)))
    return {**kept, "PYTHONPATH": paths, "PYTHONFAULTHANDLER": "1", **more}


class Child(subprocess.Popen[str]):
    """A child that no test waits for without end: a `with` block that fails, or leaves it running, kills it."""

    def __exit__(self, *error: object) -> None:
        try:
            self.wait(timeout=0 if error[0] else SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
        super().__exit__(*error)  # type: ignore[arg-type]


def popen(command: Sequence[str | Path], env: Mapping[str, str] | None = None, **options: Any) -> Child:
    """A child at work, in a session of its own, its streams pipes of text where `options` says nothing else."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    settled = {"text": True, "start_new_session": True, **streams, **options}
    return Child(command, env=environment() if env is None else env, **settled)


def ended(child: subprocess.Popen[str], seconds: float = SECONDS, stdin: str | None = None) -> tuple[str, str]:
    """What a child prints until it ends. One that is stuck is made to say where, is killed, and the test fails.

    Processes that it has left behind end with it: they would hold the pipes open.
    """
    try:
        return child.communicate(stdin, timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGABRT)  # faulthandler prints where all threads are
        try:
            out, err = child.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate(timeout=10)
        raise AssertionError(f"it was stuck after {seconds} s\n{out}\n{err}") from None


def run(
    command: Sequence[str | Path], input: str | None = None, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """A child that has ended. check: it must end with status 0."""
    if input is None:
        options = {"stdin": subprocess.DEVNULL, **options}
    with popen(command, **options) as child:
        out, err = ended(child, stdin=input)
    assert not check or child.returncode == 0, f"ended with {child.returncode}\n{out}\n{err}"
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def python(*words: object, status: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """`python WORDS`, which must end with this status. None: any."""
    done = run([sys.executable, *map(str, words)], **options)
    assert status in (None, done.returncode), f"ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def seismo(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """`seismo WORDS`; takes what `python` takes."""
    return python("-m", "seismo", *words, **options)


def printed(program: str, *words: object, status: int = 0, **options: Any) -> str:
    """What a program, given as text, prints. It must say nothing on stderr where it is to end with status 0."""
    done = python("-c", program, *words, status=status, **options)
    assert status != 0 or done.stderr == "", done.stderr
    return done.stdout
