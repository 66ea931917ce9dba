"""The temporary file of a trace in memory: gone however the program ends, and a clear word where there can be none."""

import children
import pytest

import seismo

BEGIN = """
import os, seismo, signal, sys
def leaf(): pass
session = seismo.trace()
session.__enter__()
for _ in range(30_000): leaf()
"""


def run(code, **environment):
    return children.python("-c", code, env=children.environment(**environment), status=None)


@pytest.mark.parametrize(
    "end",
    [
        "session.__exit__(None, None, None)",
        "pass",
        "os._exit(0)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os.execv(sys.executable, [sys.executable, '-c', ''])",
        "os.fork() and os.wait()",
    ],
)
def test_nothing_of_it_stays(tmp_path, end):
    run(BEGIN + end, TMPDIR=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_closes_what_it_does_not_know_keeps_its_recording():
    code = f"""{BEGIN}
os.closerange(3, 4096)
other = os.open(os.devnull, os.O_RDWR)
session.__exit__(None, None, None)
os.fstat(other)
print(sum(session.recording.tree["calls"]) >= 30_000)
"""
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_where_there_is_no_folder_it_says_what_to_do(monkeypatch):
    import tempfile

    def none():
        raise FileNotFoundError(2, "No usable temporary directory found in ['/full']")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    with pytest.raises(seismo.RecordingError, match="No usable temporary directory") as caught, seismo.trace():
        pass
    assert "TMPDIR" in str(caught.value)
    assert "output=" in str(caught.value)


def test_a_full_folder_is_told_at_the_end():
    code = """
import resource, seismo, signal, sys
sys.dont_write_bytecode = True  # it would be cut, and later imports would fail
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def leaf(): pass
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    with seismo.trace():
        for i in range(3000): exec(f"def f{i}(): leaf()\\nf{i}()")
except seismo.RecordingError as error:
    print(error)
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert "temporary file" in done.stdout
    assert "TMPDIR" in done.stdout


def test_a_trace_inside_another_one_takes_no_file():
    with seismo.trace() as outer, seismo.trace() as inner:
        len("")
    assert outer.recording.calls
    assert not inner.recording.calls
