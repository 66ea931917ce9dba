"""The registry: names, suffixes, and where outputs go."""

import io
import os
import stat
import sys
import threading

import format_samples as samples
import pytest
from objects_made import told

from seismo import formats
from seismo.errors import FormatError, SeismoError

CALLS = [format_ for format_ in formats.FORMATS if format_.holds("calltree") and not format_.of_traces]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("dir.json/a.prof", "pstats"),
        ("callgrind.out.4711", "callgrind"),
        ("A.JSON", "json"),
        (".coverage", "coverage"),
        (".coverage.host.12.Xyz", "coverage"),
        ("coverage.json", "coverage-json"),
        ("mycoverage.json", "json"),
        ("coverage.xml", "cobertura"),
    ],
)
def test_the_suffix_says_the_format(path, name):
    assert formats.for_path(path).name == name


def test_names_and_suffixes_name_formats():
    for format_ in formats.FORMATS:
        assert formats.by_name(format_.name) is format_
        assert formats.by_name(format_.name.upper()) is format_
        for suffix in format_.suffixes:
            assert formats.by_name(suffix) is format_
            assert formats.for_path(f"a{suffix}") is format_
    assert formats.names() == [format_.name for format_ in formats.FORMATS]


@pytest.mark.parametrize("ask", [lambda: formats.by_name("xml"), lambda: formats.for_path("a.xml")])
def test_unknown_formats_list_the_known(ask):
    with pytest.raises(FormatError) as error:
        ask()
    assert isinstance(error.value, SeismoError)
    for name in formats.names():
        assert name in str(error.value)
    assert formats.by_path("a.xml") is None


@pytest.mark.parametrize("recorder", ["calltree", "watch", ""])
def test_calls_are_calls_whoever_recorded_them(recorder):
    recording = samples.fib_tree()
    recording.meta["recorder"] = recorder
    assert formats.names(recorder) == formats.names("calltree")
    formats.write(recording, io.BytesIO(), "pstats")
    recording.meta["recorder"] = "linetimes"
    with pytest.raises(FormatError, match="a recording of times of lines"):
        formats.write(recording, io.BytesIO(), "pstats")
    assert formats.names("linetimes") == ["seismo"]


def test_objects_have_formats_of_their_own(tmp_path):
    fitting = formats.names("lifetimes")
    assert fitting == ["collapsed", "speedscope", "json", "seismo"]
    for format_ in formats.FORMATS:
        if format_.name in fitting:
            formats.write(told(), tmp_path / "x", format_.name)
            assert (tmp_path / "x").stat().st_size > 500 or format_.name == "collapsed"
            continue
        with pytest.raises(FormatError, match="a recording of births and deaths of objects") as error:
            formats.write(told(), tmp_path / "refused", format_.name)
        assert error.value.hint.endswith("formats for this recording: collapsed, speedscope, json, seismo")
    assert not (tmp_path / "refused").exists()


def test_only_stacks_of_objects_have_a_weight(tmp_path):
    for recording, name, weight in (
        (told(), "json", "bytes"),
        (told(), "collapsed", "time"),
        (samples.typical(), "collapsed", "births"),
    ):
        with pytest.raises(FormatError, match=f"cannot be weighted by {weight}") as error:
            formats.write(recording, tmp_path / "x", name, weight)
        assert "births, bytes, survivors" in error.value.hint
    assert not (tmp_path / "x").exists()


def test_the_mode_of_a_new_file_is_the_usual_one_and_an_old_one_stays(tmp_path):
    before = os.umask(0o027)
    try:
        formats.write(samples.fib_tree(), tmp_path / "new.json")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640
    old = tmp_path / "old.json"
    old.write_text("old")
    old.chmod(0o600)
    formats.write(samples.fib_tree(), old)
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    assert old.read_text() != "old"


class Broken:
    """A recording that fails half-way: after the functions, at the tree."""

    def __init__(self, error):
        self._recording = samples.typical()
        self._error = error

    def timed(self, times):
        return self

    def __getattr__(self, name):
        if name == "losses" or (name == "tree" and not isinstance(self._error, OSError)):
            raise self._error
        return getattr(self._recording, name)


@pytest.mark.parametrize("error", [RuntimeError("bug"), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_failed_write_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "out.json"
    path.write_text("precious")
    expected = FormatError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected, match=r"No space left on device|bug|^$"):
        formats.write(Broken(error), path)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["out.json"]
    with pytest.raises(expected, match=r"No space left on device|bug|^$"):
        formats.write(Broken(error), tmp_path / "new.json")
    assert os.listdir(tmp_path) == ["out.json"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_said(tmp_path):
    with pytest.raises(FormatError, match="No space left"):
        formats.write(samples.typical(), "/dev/full", "pstats")


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(FormatError, match="directory"):
        formats.write(samples.typical(), tmp_path, "json")
    with pytest.raises(FormatError, match="cannot be written"):
        formats.write(samples.typical(), tmp_path / "none" / "out.json")
    with pytest.raises(FormatError, match="cannot be read"):
        formats.read(tmp_path, "json")
    with pytest.raises(FormatError, match="cannot be read"):
        formats.read(tmp_path / "none.json")


def test_a_link_is_followed(tmp_path):
    target = tmp_path / "target.json"
    target.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    formats.write(samples.fib_tree(), link)
    assert link.is_symlink()
    assert target.read_text() != "old"


def test_a_pipe_is_written_to(tmp_path):
    fifo = tmp_path / "pipe.json"
    os.mkfifo(fifo)
    got = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    formats.write(samples.fib_tree(), fifo)
    reader.join(10)
    assert got[0].startswith(b'{"format":"seismo"')
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_standard_output(capfdbinary, monkeypatch):
    formats.write(samples.fib_tree(), "-", "pstats")
    sys.stdout.flush()
    assert capfdbinary.readouterr().out[0] & 0x7F == ord("{")  # a marshalled dict
    text = io.StringIO()
    monkeypatch.setattr(sys, "stdout", text)
    formats.write(samples.fib_tree(), None, "collapsed")
    assert "__main__:<module>;__main__:fib 50" in text.getvalue()
    with pytest.raises(FormatError, match="binary"):
        formats.write(samples.fib_tree(), "-", "pprof")
    with pytest.raises(FormatError, match="it follows from"):
        formats.write(samples.fib_tree(), "-")


def test_binary_is_not_put_on_a_terminal(monkeypatch):
    class Terminal(io.TextIOWrapper):
        def isatty(self):
            return True

    terminal = Terminal(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", terminal)
    with pytest.raises(FormatError, match="terminal"):
        formats.write(samples.fib_tree(), "-", "seismo")
    formats.write(samples.fib_tree(), "-", "collapsed")
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(FormatError, match="no standard output"):
        formats.write(samples.fib_tree(), "-", "collapsed")


def test_open_files_of_bytes_and_of_text(tmp_path):
    recording = samples.typical()
    for format_ in CALLS:
        data = io.BytesIO()
        formats.write(recording, data, format_.name)
        assert data.getvalue()
        if format_.binary:
            with pytest.raises(FormatError, match="binary"):
                formats.write(recording, io.StringIO(), format_.name)
        else:
            text = io.StringIO()
            formats.write(recording, text, format_.name)
            assert text.getvalue().encode() == data.getvalue()
            with open(tmp_path / "text", "w", encoding="utf-8") as file:
                file.write("before\n")
                formats.write(recording, file, format_.name)
            assert (tmp_path / "text").read_bytes() == b"before\n" + data.getvalue()


def test_each_entry_says_what_is_lost():
    for format_ in formats.FORMATS:
        assert format_.description
        assert format_.lost
        assert format_.kept or format_.reader is None
