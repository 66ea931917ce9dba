"""Hostile files take bounded memory: they are read in it, or refused with the reason. Each is made by a few lines here.

What is read runs in a child whose memory is limited, so that what would fill the machine fails the test instead.
"""

import gzip
import json
import marshal
import resource
from pathlib import Path

import children
import format_samples as samples
import pytest
from chunks import HEADER, chunk, frames, uvarint

import seismo
from seismo import formats
from seismo.formats.base import MAX_REBUILT
from seismo.formats.protobuf import bytes_field, number_field, packed_field
from seismo.model import Builder, read

PACKAGE = Path(seismo.__file__).parents[1]
READ = """
import sys
from seismo import formats
recording = formats.read(sys.argv[1])
print(len(recording.tree), len(recording.functions))
if len(sys.argv) > 2:
    formats.write(recording, sys.argv[2])
"""


def limited(program, *words, megabytes):
    """What a program prints that may have so much memory, beside what an interpreter has."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, ((megabytes + 300) << 20,) * 2)

    environment = {"PYTHONPATH": str(PACKAGE), "PATH": "/usr/bin:/bin"}
    done = children.python("-c", program, *words, env=environment, preexec_fn=limit)
    return done.stdout.split()


def test_a_tracefile_with_a_test_for_each_line(tmp_path):
    """Sets of lines as bits would take the square: 5 GB."""
    path = tmp_path / "many.info"
    path.write_text("".join(f"TN:t{i}\nSF:/x.py\nDA:{i + 1},1\nend_of_record\n" for i in range(20_000)))
    limited(READ, path, megabytes=400)
    small = tmp_path / "few.info"
    small.write_text("".join(f"TN:t{i}\nSF:/x.py\nDA:{i + 1},1\nDA:1,1\nend_of_record\n" for i in range(70)))
    names = formats.read(small).contexts["name"]
    assert sorted(names) == sorted(f"t{i}" for i in range(70))


@pytest.mark.matrix
def test_a_call_graph_in_which_all_call_all(tmp_path):
    """The tree that is rebuilt has a bound; calls and times are still those of the file."""
    names = [(f"f{i}.py", i, f"f{i}") for i in range(100)]
    callers = dict.fromkeys(names, (1, 1, 1e-6, 2e-6))
    path = tmp_path / "all.pstats"
    path.write_bytes(marshal.dumps(dict.fromkeys(names, (100, 100, 0.0001, 0.0002, callers)), 4))
    recording = formats.read(path)
    assert len(recording.tree) <= MAX_REBUILT + 100 * 101
    assert sum(recording.tree["calls"]) == 100 * 100
    assert {function.calls for function in recording.functions} == {100}


@pytest.mark.matrix
def test_a_stack_of_many_frames(tmp_path):
    path = tmp_path / "deep.speedscope.json"
    profile = {"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": 1, "weights": [1]}
    profile["samples"] = [[0, 1] * 100_000]
    path.write_text(json.dumps({"shared": {"frames": [{"name": "f"}, {"name": "g"}]}, "profiles": [profile]}))
    assert limited(READ, path, megabytes=300) == ["200000", "2"]


@pytest.mark.parametrize(
    "content",
    [pytest.param(b"\0", id="zeros"), pytest.param(b"2\0", id="empty strings", marks=pytest.mark.matrix)],
)
def test_a_packed_bomb_is_refused_before_it_is_unpacked(tmp_path, content):
    path = tmp_path / "bomb.pb.gz"
    path.write_bytes(gzip.compress(content * (1 << 20) * (64 // len(content)), 9) * 8)
    program = READ.replace("recording = formats.read(sys.argv[1])", "").partition("print")[0] + (
        "try:\n    formats.read(sys.argv[1])\nexcept formats.FormatError as error:\n    print(error)\n"
    )
    assert "it unpacks to more than" in " ".join(limited(program, path, megabytes=200))


@pytest.mark.matrix
def test_what_is_packed_well_is_read(tmp_path):
    """Small files may unpack to some megabytes, and several members are one file."""
    path = tmp_path / "well.pb.gz"
    strings = [b"", b"time", b"nanoseconds", *[b"f"] * 300_000]
    start = bytes_field(1, number_field(1, 1) + number_field(2, 2))
    path.write_bytes(gzip.compress(start) + gzip.compress(b"".join(bytes_field(6, one) for one in strings)))
    assert len(formats.read(path).tree) == 0
    samples.refused(path, path.read_bytes()[:-9], "cut short")


def long_names():
    """A profile whose functions all have one name of a megabyte."""
    parts = [bytes_field(6, text) for text in (b"", b"time", b"nanoseconds", b"n" * (1 << 20))]
    parts.append(bytes_field(1, number_field(1, 1) + number_field(2, 2)))
    for i in range(1, 1501):
        parts.append(bytes_field(5, number_field(1, i) + number_field(2, 3) + number_field(5, i)))
        parts.append(bytes_field(4, number_field(1, i) + bytes_field(4, number_field(1, i) + number_field(2, i))))
        parts.append(bytes_field(2, packed_field(1, [i]) + packed_field(2, [5])))
    return b"".join(parts)


def test_long_names_are_cut_with_a_mark(tmp_path):
    path, out = tmp_path / "names.pb.gz", tmp_path / "out.speedscope.json"
    path.write_bytes(long_names())
    assert limited(READ, path, out, megabytes=500) == ["1500", "1500"]
    assert out.stat().st_size < 1500 * 5000
    name = json.loads(out.read_text())["shared"]["frames"][0]["name"]
    assert name.startswith("nnnn")
    assert f"n…[+{(1 << 20) - 4096} characters, " in name


def test_names_that_begin_alike_stay_apart():
    b = Builder()
    thread = b.thread(b.process())
    for end in "ab":
        b.node(-1, thread, b.function("m", "x" * 5000 + end), calls=1)
    assert len(b.build().functions) == 2


def test_a_recording_of_long_names_is_cut_too():
    b = Builder()
    thread = b.thread(b.process())
    b.node(-1, thread, b.function("m", "NAME"), calls=1)
    image = b.build().to_bytes()
    made = image[:HEADER]
    for start, end, kind in frames(image):
        payload = image[start + 12 : end]
        if kind == b"STRS":
            payload = payload.replace(b"\x04NAME", uvarint(100_000) + "é".encode() * 50_000)
        made += chunk(kind, payload)
    recording = read(made)
    (name,) = recording.functions["qualname"]
    assert name.startswith("éé")
    assert "é…[+" in name
    assert len(name) < 10_000
    assert any("names of more than" in str(problem) for problem in recording.problems)
