"""Waits for what will come about, as long as it takes: a busy machine makes a test slow and not wrong."""

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
