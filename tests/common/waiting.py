"""Waiting for events without short time limits, so that a busy machine makes a test slow but not wrong."""

import time

from seismo.errors import SeismoError


def wait_until(fact, seconds=60):
    """Return once fact() is true; a recording that cannot be read yet counts as false.

    AssertionError after the limit.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if fact():
                return
        except (SeismoError, OSError):
            pass
        time.sleep(0.02)
    raise AssertionError(f"not so within {seconds} s")
