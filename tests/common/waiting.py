"""Waits for what will come about, as long as it takes: a busy machine makes a test slow and not wrong."""

import os
import signal
import subprocess
import time

from seismo.errors import SeismoError


def wait_until(fact, seconds=60):
    """Returns once fact() is true; a recording that cannot be read yet is no fact. AssertionError if it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if fact():
                return
        except (SeismoError, OSError):
            pass
        time.sleep(0.02)
    raise AssertionError(f"not so within {seconds} s")


def ended(child: subprocess.Popen[str], seconds: float = 120) -> tuple[str, str]:
    """What a child process prints until it ends. One that is stuck is made to say where, is killed, and the test fails.

    The child has PYTHONFAULTHANDLER=1 and is the head of a session of its own (start_new_session=True), so that
    processes that it has left behind end with it: they would hold the pipes open.
    """
    try:
        return child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGABRT)  # faulthandler prints where all threads are
        try:
            out, err = child.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate(timeout=10)
        raise AssertionError(f"it was stuck after {seconds} s\n{out}\n{err}") from None


class Bounded(subprocess.Popen[str]):
    """A child that no test waits for without end: a `with` block that fails, or leaves it running, kills it."""

    def __exit__(self, *error: object) -> None:
        try:
            self.wait(timeout=0 if error[0] else 60)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
        super().__exit__(*error)  # type: ignore[arg-type]
