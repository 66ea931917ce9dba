"""The baseline as a text file: what it holds comes back, merges line by line, and says where it is wrong."""

import pytest
from counts import exact
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repositories import commit, git

from seismo.check.baseline import read, read_text, text_of, write
from seismo.check.measurement import Function, Measurement, Range, Stamp
from seismo.errors import CheckError

NAMES = st.text(max_size=6)
RANGES = st.tuples(st.integers(0, 2**62), st.integers(0, 2**40)).map(lambda pair: Range(pair[0], sum(pair)))
COUNTS = st.dictionaries(st.sampled_from(["calls", "lines", "exceptions", "births", "bytes"]), RANGES)
MEASUREMENTS = st.builds(
    Measurement,
    st.builds(Stamp, NAMES, NAMES, NAMES, NAMES, st.dictionaries(NAMES, NAMES, max_size=3)),
    st.dictionaries(st.builds(Function, NAMES, NAMES, NAMES), COUNTS, max_size=3),
    st.dictionaries(NAMES, COUNTS, max_size=2),
    st.none() | RANGES,
)


@given(MEASUREMENTS)
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])  # as it is on a busy machine
def test_what_is_written_comes_back_whatever_the_names(measurement):
    text = text_of(measurement)
    assert read_text(text) == measurement
    assert text_of(read_text(text)) == text
    assert all(char.isprintable() for line in text.split("\n") for char in line)


def one(**functions):
    made = Measurement(Stamp("script app.py", "3.13.4", "linux-x86_64", "1.0", {"numpy": "2.1"}))
    for name, calls in functions.items():
        made.functions[Function("app", name, "app.py")] = exact(calls=calls, lines=10 * calls)
        made.codes[Function("app", name, "app.py")] = f"{calls:012x}"
    return made


def test_the_file_is_for_people():
    made = one(load=2, save=1)
    made.functions[Function("builtins", "len")] = {"calls": Range(3, 5)}
    made.tests["tests/test_a.py::test_b[x y]"] = exact(calls=9)
    made.depth = Range(14, 14)
    assert text_of(made).splitlines()[1:] == [
        "format 1",
        "program script app.py",
        "python 3.13.4",
        "platform linux-x86_64",
        "seismo 1.0",
        "dependency numpy 2.1",
        "depth 14",
        "function app:load app.py calls=2 lines=20 code=000000000002",
        "function app:save app.py calls=1 lines=10 code=000000000001",
        "function builtins:len - calls=3..5",
        r"test tests/test_a.py::test_b[x\x20y] calls=9",
    ]


def test_two_branches_that_change_other_functions_merge(tmp_path):
    before = {f"f{number}": 1 for number in range(9)}
    git(tmp_path, "init", "-b", "main")
    path = tmp_path / "counts.txt"
    for branch, changed in (("main", {}), ("one", {"f1": 2}), ("two", {"f7": 3, "g": 1})):
        if changed:
            git(tmp_path, "checkout", "-q", "-b", branch, "main")
        write(one(**(before | changed)), path)
        commit(tmp_path, branch)
    git(tmp_path, "merge", "-q", "one")
    assert read(path) == one(**(before | {"f1": 2, "f7": 3, "g": 1}))


START = "format 1\n"


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("", "not a baseline", 0),
        ("hello\n", "not a baseline", 1),
        ("format 99\n", "format '99'", 1),
        (START + "function app:f app.py calls=1\n<<<<<<< main\n", "merge", 3),
        (START + "function app:f app.py calls=1\nfunction app:f app.py calls=2\n", "twice", 3),
        (START + "function app.f app.py calls=1\n", "module:name", 2),
        (START + "function app:f app.py calls=-1\n", "no number", 2),
        (START + "function app:f app.py calls=5..4\n", "ends before it begins", 2),
        (START + "function app:f app.py walls=5\n", "not a count", 2),
        (START + "function app:\\x1 app.py calls=5\n", "not an escape", 2),
        (START + "calls 5\n", "cannot be read", 2),
    ],
)
def test_a_bad_file_is_told_with_its_line(text, what, line):
    with pytest.raises(CheckError) as told:
        read_text(text, "counts.txt")
    assert what in told.value.what
    assert told.value.where == (f"counts.txt, line {line}" if line else "counts.txt")
    assert told.value.hint


def test_no_file_and_a_recording_say_so(tmp_path):
    with pytest.raises(CheckError, match="no baseline yet"):
        read(tmp_path / "none.txt")
    (tmp_path / "a.seismo").write_bytes(b"\x8fseismo\n\x00\x01")
    with pytest.raises(CheckError, match="a recording, not a baseline"):
        read(tmp_path / "a.seismo")


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(CheckError, match="cannot be written"):
        write(one(f=1), tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
