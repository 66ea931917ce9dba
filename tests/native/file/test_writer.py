"""The C writer on a disk that fills, a descriptor that is taken away, a pipe that blocks, and without memory.

A small C program drives it as the recorder does, built here with address and undefined-behaviour checks where the
compiler has them.
"""

import errno
import re
import shutil
import subprocess
from pathlib import Path

import extensions
import pytest
from chunks import payloads
from paths import ROOT
from recorded import Image

from seismo.model import read
from seismo.pure import reader

COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    """harness(what, file, ...) -> its output lines."""
    program = extensions.shared(tmp_path_factory, "harness") / "writer"
    sources = [Path(__file__).with_name("writer_harness.c"), *sorted((ROOT / "native" / "file").glob("[tw]*.c"))]
    base = ("alloc.c", "buffer.c", "crc32.c", "write_without_signal.c")
    sources += [ROOT / "native" / "base" / name for name in base]
    command = [COMPILER, "-std=c11", "-D_GNU_SOURCE", "-DSM_TESTING", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{ROOT / 'native'}", "-o", str(program), *map(str, sources)]
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

    def build():
        if subprocess.run(command + checks, capture_output=True).returncode != 0:
            subprocess.run(command, check=True)

    extensions.once(program, build)

    def run(*arguments):
        # A preloaded sanitizer would meet its own copy in the program; and it shall not hoard what is freed
        environment = {"PATH": "/usr/bin:/bin", "ASAN_OPTIONS": "quarantine_size_mb=1:malloc_context_size=0"}
        done = subprocess.run(
            [program, *map(str, arguments)], capture_output=True, text=True, timeout=120, env=environment
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout.splitlines()

    return run


def whole(data):
    """The recording, with nothing wrong according to the reader in Python, which verifies the index as well."""
    image = Image(data, reader.read)
    assert image.problems == read(data).problems == []
    assert image.finished
    return image


def numbers(line):
    return {name: int(value) for name, value in re.findall(r"(\w+)=(-?\d+)", line)}


def test_a_full_disk_leaves_a_whole_file_and_is_caught_up_with(harness, tmp_path):
    lines = harness("full", tmp_path / "a.seismo")
    before, full, still, memory, after = map(numbers, lines)
    assert before["error"] == 0
    assert before["size"] == before["offset"]
    assert full["error"] == errno.EFBIG
    assert full["behind"] == 1
    assert full["size"] == full["offset"] >= before["size"]  # cut back to the last whole chunk
    assert still["size"] == still["offset"]
    assert memory["memory"] < 50_000  # 985,000 updates of 5,000 nodes were kept as 5,000
    assert after["behind"] == 0
    assert after["error"] == errno.EFBIG  # it stays
    assert after["size"] == after["offset"] > full["size"]
    data = (tmp_path / "a.seismo").read_bytes()
    image = whole(data)
    assert [row["calls"] for row in image.nodes] == [199] * 5000


def test_chunks_that_are_written_together_are_all_caught_up_with(harness, tmp_path):
    lines = harness("together", tmp_path / "a.seismo")
    before, first, full, again, after = map(numbers, lines)
    assert (first["taken"], first["more"]) == (3, 0)  # what is on its way comes first
    assert full["behind"] == 1
    assert full["size"] == full["offset"] == before["size"]  # none is there in part
    assert again["more"] == 2
    assert after["behind"] == 0
    data = (tmp_path / "a.seismo").read_bytes()
    assert list(map(len, payloads(data, b"LONG"))) == [1000, 2000, 3000, 1000, 2000]
    whole(data)


def test_a_descriptor_that_became_another_file_is_left_alone(harness, tmp_path):
    ours, theirs = tmp_path / "a.seismo", tmp_path / "theirs"
    (line,) = harness("stolen", ours, theirs)
    assert numbers(line)["error"] == errno.EBADF
    assert theirs.read_bytes() == b"precious"
    assert len(read(ours).functions) == 1


def test_position_and_children_do_not_matter(harness, tmp_path):
    harness("shared", tmp_path / "a.seismo")
    assert len(whole((tmp_path / "a.seismo").read_bytes()).nodes) == 10


def test_many_flushes_and_two_ends(harness, tmp_path):
    harness("flushes", tmp_path / "a.seismo")
    data = (tmp_path / "a.seismo").read_bytes()
    calls = [row["calls"] for row in whole(data).nodes]
    assert calls == [77, *range(2, 301), 300, 300]
    assert len(payloads(data, b"END ")) == 2
    assert len(payloads(data, b"TABL")) == 3 + 300 + 1
    assert read(data).tree["calls"].tolist() == calls


def test_a_pipe_gets_the_rest_later(harness, tmp_path):
    blocked, piped = map(numbers, harness("piped", tmp_path / "a.seismo"))
    assert blocked["error"] == errno.EAGAIN
    assert blocked["behind"] == 1
    assert piped["behind"] == 0
    assert len(whole((tmp_path / "a.seismo").read_bytes()).nodes) == 40_000


def test_every_allocation_may_fail(harness, tmp_path):
    lines = harness("memory", tmp_path / "a.seismo")
    assert lines[-1].startswith("memory error=0")
    assert all(line.startswith("n=") for line in lines[:-1]), lines
    assert len(lines) > 10
    whole((tmp_path / "a.seismo").read_bytes())
