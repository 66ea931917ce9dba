"""The command, and recordings to run it on."""

import functools
import os

import children
import pytest

from seismo.model import Builder


@pytest.fixture
def seismo(tmp_path):
    """Runs `seismo WORDS` in an empty folder; gives the finished process, however it ended."""
    return functools.partial(children.seismo, cwd=tmp_path, status=None)


@pytest.fixture
def on_terminal(tmp_path):
    """Runs `python WORDS` with stderr, and stdout unless another is given, on a terminal. Gives what that shows."""

    def run(*words, cwd=tmp_path, stdout=None, status=0, **env):
        ours, theirs = os.openpty()
        try:
            environment = children.environment(**{"TERM": "xterm", "COLUMNS": "120", **env})
            streams = {"stdout": stdout or theirs, "stderr": theirs}
            children.python(*words, cwd=cwd, env=environment, status=status, **streams)
            os.set_blocking(ours, False)
            shown = b""
            while part := _read(ours):
                shown += part
        finally:
            os.close(ours)
            os.close(theirs)
        return shown.decode()

    return run


def _read(fd):
    try:
        return os.read(fd, 65536)
    except BlockingIOError:
        return b""


@pytest.fixture
def traced(seismo, tmp_path):
    """Records a program given as text. Returns the path."""

    def trace(text, *options, status=0):
        (tmp_path / "program.py").write_text(text)
        seismo("trace", "-q", *options, "-o", "t.seismo", "program.py", status=status)
        return tmp_path / "t.seismo"

    return trace


def make(own_ns=1_000_000):
    b = Builder()
    start = 1_790_000_000 * 10**9
    process = b.process(pid=4312, ppid=1, argv=["app.py", "a b"], start_ns=start, end_ns=start + 10**9, exit="0")
    thread = b.thread(process, name="MainThread", native_id=4312, wall_ns=10**9, cpu_ns=9 * 10**8, main=1)
    root = b.node(-1, thread, b.function("__main__", "<module>", "/x/app.py", 1), calls=1, own_ns=own_ns)
    work = b.node(root, thread, b.function("__main__", "work", "/x/app.py", 3), calls=10, own_ns=2 * own_ns)
    b.node(work, thread, b.function("builtins", "len", kind=1), calls=1000, own_ns=30_000, flags=1)
    return b.build({"seismo": "0.1.0", "implementation": "CPython", "python": "3.12.1", "platform": "linux"})


@pytest.fixture
def recording(tmp_path):
    """The path of a small recording."""
    path = tmp_path / "app-4312.seismo"
    make().save(path)
    return path


@pytest.fixture
def slower(tmp_path):
    """The path of a recording of the same program, three times as slow."""
    path = tmp_path / "slower.seismo"
    make(3_000_000).save(path)
    return path
