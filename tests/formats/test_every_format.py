"""What holds for every format: hostile names, nothing, depth, damage."""

import contextlib
import time

import format_samples as samples
import pytest

from seismo import formats
from seismo.errors import SeismoError

CALLS = [format_ for format_ in formats.FORMATS if format_.holds("calltree") and not format_.of_traces]
BOTH_WAYS = [format_ for format_ in CALLS if format_.reader and format_.name != "json"]  # reads others' JSON only
EVERY = pytest.mark.parametrize("format_", BOTH_WAYS, ids=lambda format_: format_.name)
FOREIGN = pytest.mark.parametrize(
    "format_", [format_ for format_ in BOTH_WAYS if format_.name != "seismo"], ids=lambda format_: format_.name
)


@EVERY
def test_nothing_is_written_and_read(format_, tmp_path):
    for recording in (samples.empty(), samples.idle()):
        path = tmp_path / "x"
        path.write_bytes(samples.written(format_, recording))
        assert len(format_.read(str(path)).tree) == 0


@FOREIGN
def test_hostile_names_come_back(format_):
    recording = samples.hostile()
    back = format_.reader(samples.written(format_, recording))
    wanted = {name for name in samples.HOSTILE if name}
    assert wanted <= {row.qualname for row in back.functions} | {row.file for row in back.functions}


@EVERY
def test_a_deep_tree(format_):
    recording = samples.chain(3_000)
    began = time.process_time()
    data = samples.written(format_, recording)
    back = format_.reader(data)
    assert time.process_time() - began < 30
    if "calls" in format_.name:
        return
    assert sum(back.functions["own_ns"]) == sum(recording.functions["own_ns"])
    assert {row.qualname: row.own_ns for row in back.functions if row.qualname in ("even", "odd")} == {
        row.qualname: row.own_ns for row in recording.functions
    }


@FOREIGN
def test_damage_is_an_error_and_no_crash(format_, tmp_path):
    """Reading gives a recording or a FormatError, nothing else."""
    path = tmp_path / "damaged"
    for data in samples.damaged(samples.written(format_, samples.typical()), 50):
        path.write_bytes(data)
        with contextlib.suppress(SeismoError):
            formats.read(path, format_.name)


@pytest.mark.parametrize("format_", [one for one in formats.FORMATS if one.reader], ids=lambda format_: format_.name)
def test_foreign_content_is_refused(format_, tmp_path):
    path = tmp_path / "foreign"
    for data in (b"\0\1\2", b"\x7fELF\2\1\1", b"[" * 100_000, b"<html></html>\n", b"[1,2]", b"\x1f\x8b\x08"):
        path.write_bytes(data)
        with pytest.raises(SeismoError) as error:
            formats.read(path, format_.name)
        assert str(path) in str(error.value)


@pytest.mark.parametrize("format_", CALLS, ids=lambda format_: format_.name)
def test_written_twice_is_the_same(format_):
    assert samples.written(format_, samples.typical()) == samples.written(format_, samples.typical())
