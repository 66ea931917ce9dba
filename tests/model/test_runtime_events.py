"""What a trace says of the interpreter: threads, children, imports, pauses."""

import textwrap

import children
import pytest
from on_paper import written

import seismo
from seismo.model import read
from seismo.report.calls.text import write_trace

PROGRAM = """
    import gc, os, threading, time
    def work(): pass
    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()
    import first
    forever = threading.Thread(target=time.sleep, args=(3600,), name="forever", daemon=True)
    forever.start()
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    print(child)
    gc.collect()
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("landmarks")
    (folder / "first.py").write_text("import second\n")
    (folder / "second.py").write_text("import time\ntime.sleep(0.002)\n")
    (folder / "main.py").write_text(textwrap.dedent(PROGRAM))
    done = children.seismo("trace", "-q", "--children", "-o", "x.seismo", "main.py", cwd=folder)
    return seismo.open(folder / "x.seismo"), int(done.stdout), folder


def named(recording, *kinds):
    return [(row.kind, row.name) for row in recording.calls.landmarks if row.kind in kinds]


def test_threads_begin_and_end(traced):
    recording, _, _ = traced
    threads = [said for said in named(recording, "thread begins", "thread ends") if said[1] in ("worker", "forever")]
    assert threads == [("thread begins", "worker"), ("thread ends", "worker"), ("thread begins", "forever")]


def test_children_begin(traced):
    recording, child, _ = traced
    assert named(recording, "child") == [("child", f"process {child}")]


def test_imports_have_the_time_of_the_modules_own_code(traced):
    recording, _, _ = traced
    found = {row.name: row for row in recording.calls.landmarks if row.kind == "import"}
    first, second = found["first"], found["second"]
    assert first.time_ns < second.time_ns
    assert 2_000_000 <= second.data["took_ns"] <= first.data["took_ns"]
    assert "__main__" not in found


def test_a_report_says_so(traced):
    recording, _, folder = traced

    def report(*words):
        return children.seismo("report", folder / "x.seismo", *words).stdout

    text = report()
    assert "Garbage collector" in text
    assert "Longest imports" in text
    assert "garbage collection on " in report("--around", f"{recording.calls.pauses[-1].start_ns}ns")
    text = report("--around", "0s", "--window", "100s")
    assert "import second: " in text
    assert "thread begins worker" in text


@pytest.mark.parametrize("suffix", ["pftrace", "chrome.json"])
def test_viewers_get_it_too(traced, suffix, tmp_path):
    _, child, folder = traced
    path = tmp_path / f"x.{suffix}"
    children.seismo("export", folder / "x.seismo", "-o", path)
    data = path.read_bytes()
    for words in ("garbage collection", "import second", f"child process {child}"):
        assert words.encode() in data, words


@pytest.mark.parametrize("killed", [False, True])
def test_a_report_of_a_long_trace_says_so_too(traced, monkeypatch, killed):
    """Without reading the whole of it, and of a program that was killed, whose trace has no end."""
    _, _, folder = traced
    data = (folder / "x.seismo").read_bytes()
    if killed:
        data = data[: data.rindex(b"END ") - 4]
    monkeypatch.setattr("seismo.report.calls.trace.SOME_BYTES", 0)
    monkeypatch.setattr("seismo.report.calls.trace.MOST_BYTES", 0)
    monkeypatch.setattr("seismo.model.trace.calls.Calls.sums", None)
    text = written(write_trace, read(data), width=80)
    assert "Longest calls" in text
    assert "importlib._bootstrap" not in text  # five frames to each import, which has a list of its own
    assert "Garbage collector" in text
    assert "Longest imports" in text
