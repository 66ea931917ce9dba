"""Tests of `children`: a stuck child fails the test that waits for it, with its stacks."""

import sys

import pytest
from children import ended, popen

STUCK = """
import os, time
if os.fork() == 0:
    time.sleep(600)  # holds the pipes open when its parent is gone
print("begun", flush=True)
def waits_for_ever():
    time.sleep(600)
waits_for_ever()
"""


def child():
    return popen([sys.executable, "-c", STUCK])


def test_it_says_where_it_was():
    with child() as stuck:
        assert stuck.stdout.readline() == "begun\n"
        with pytest.raises(AssertionError, match="waits_for_ever"):
            ended(stuck, 0.1)


def test_a_failing_test_leaves_none_behind():
    def fails(stuck):
        with stuck:
            assert stuck.stdout.readline() == "begun\n"
            raise ZeroDivisionError

    stuck = child()
    with pytest.raises(ZeroDivisionError):
        fails(stuck)
    assert stuck.returncode == -9
