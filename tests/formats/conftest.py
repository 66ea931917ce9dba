"""Traced programs that several tests of viewers open."""

import children
import pytest

from seismo import model

SAYS = """
import threading, time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers():
    yield 1
    yield 2

def main():
    fib(9)
    list(numbers())
    thread = threading.Thread(target=fib, args=(6,), name="helper")
    thread.start()
    thread.join()
    time.sleep(0.01)

import seismo
with seismo.span("work", rows=3):
    seismo.count("queue", 7)
    seismo.mark("half")
    main()
    seismo.count("queue", 3)
"""
# The spans of both processes have the same number, and the child's lies within the parent's.
FORKS = """
import os, seismo
def work(n):
    return [str(i) for i in range(n)]
inside, begun = os.pipe()
child = os.fork()
if child == 0:
    os.read(inside, 1)
    with seismo.span("request", who="child"):
        seismo.count("queue", 1)
        work(5)
else:
    with seismo.span("request", who="parent"):
        seismo.count("queue", 5)
        os.write(begun, b"x")
        work(9)
        os.waitpid(child, 0)
"""


def trace(folder, text):
    """The recording of a program that was traced, with its children."""
    (folder / "app.py").write_text(text)
    children.seismo("trace", "-q", "--children", "-o", "app.seismo", "app.py", cwd=folder)
    return model.read(folder / "app.seismo")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """A program with two threads, a span, counts and a mark."""
    return trace(tmp_path_factory.mktemp("recorded"), SAYS)


@pytest.fixture(scope="session")
def forked(tmp_path_factory):
    """Two processes, each with a span and a count of the same name."""
    return trace(tmp_path_factory.mktemp("forked"), FORKS)
