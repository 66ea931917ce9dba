"""Conditions that raise on their own line: coverage.py's C tracer knows where they go, its other core does not."""


def raises(n):
    if n: raise ValueError  # fmt: skip
    try:
        if not n: raise KeyError  # fmt: skip
    except KeyError:
        pass
    return n


def past_one_that_is_named(n):
    try:
        try:
            raise KeyError
        except KeyError as error:
            n = error
            if n is error: raise ValueError  # fmt: skip
    except ValueError:
        n = 1
    return n


def in_a_loop(n):
    for i in range(n):
        try:
            if i: raise ValueError  # fmt: skip
        except ValueError as error:
            n = error


for function in raises, past_one_that_is_named, in_a_loop:
    try:
        function(2)
    except ValueError:
        pass
raises(0)
