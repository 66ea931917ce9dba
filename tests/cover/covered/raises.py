"""Conditions that raise on their own line: coverage.py's C tracer knows where they go, its other core does not."""


def raises(n):
    if n: raise ValueError  # fmt: skip
    try:
        if not n: raise KeyError  # fmt: skip
    except KeyError:
        pass
    return n


try:
    raises(1)
except ValueError:
    raises(0)
