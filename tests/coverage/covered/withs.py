"""Exceptions that leave `with` statements and their function."""

import contextlib


def out_of_a_with(n):
    with contextlib.ExitStack():
        if n: raise ValueError  # fmt: skip
        n += 1
    return n


def last_in_a_with(n):
    with contextlib.ExitStack():
        with contextlib.ExitStack():
            n += 1
            if n: raise ValueError  # fmt: skip


for function in out_of_a_with, last_in_a_with:
    for n in 0, 2:
        try:
            function(n)
        except ValueError:
            pass
