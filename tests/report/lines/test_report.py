"""The report of line times: made by hand, so that every number is known."""

import zipfile
import zlib

import pytest
from on_paper import summed_up, written

from seismo.model import Builder
from seismo.report.lines.text import write_report
from seismo.report.lines.timed_source import timed_program
from seismo.report.options import Options
from seismo.report.sources import read_source

MS = 1_000_000
SOURCE = "import os\n\ndef f(n):\n\tx = '\x1b[31m'\n    return sum(v for v in n)\n\n\ndef g():\n    return 1\n"


def recording(path):
    """A file with two functions, one of them with a generator expression; one function without a file."""
    b = Builder()
    process = b.process(pid=7, start_ns=1, end_ns=100 * MS, source="monitoring", clock="tsc: x", clock_ns=8.0)
    b.thread(process, name="MainThread", wall_ns=100 * MS, cpu_ns=90 * MS, main=1)
    f = b.function("app", "f", str(path), 3)
    small = b.function("app", "f.<locals>.<genexpr>", str(path), 5)
    g = b.function("app", "g", str(path), 8)
    made = b.function("made", "evil\x1b[31m", "<string>", 1)
    elsewhere = b.function("", "<elsewhere>", "", 0, kind=2)

    def line(function, number, hits, own, inner=0, **more):
        b.line(function, number, hits=hits, own_ns=own * MS, inner_ns=float(inner * MS), **more)

    line(f, 4, 10, 1)
    line(f, 5, 10, 4, inner=60)
    line(small, 5, 1000, 60)
    line(g, 9, 5, 2, awaits=3, await_ns=50 * MS)
    line(made, 2, 1, 3)
    line(elsewhere, 0, 0, 30)
    data = SOURCE.encode()
    b.source(str(path), str(path), size=len(data), mtime_ns=0, crc=zlib.crc32(data))
    return b.build({"recorder": "linetimes"})


def shown(what, width=100, **options):
    return written(write_report, what, Options(**options), width=width)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "app.py"
    path.write_text(SOURCE)
    return path


def test_hottest_lines_first(path):
    text = shown(recording(path))
    table = text.split("Lines by own time")[1].split("Functions by")[0]
    rows = [line for line in table.splitlines() if "app.py:" in line or "string" in line]
    assert rows[0].split()[:2] == ["60.0", "ms"]
    assert "app.py:5  return sum(v for v in n)" in rows[0]
    assert rows[1].split()[:2] == ["4.00", "ms"]
    assert "60.0 ms" in rows[1].split("4.00 ms", 1)[1]
    assert "50.0 ms" in table
    assert "100 % is 70.0 ms in lines" in text


def test_source_with_times_beside_it(path):
    text = shown(recording(path), min=0)
    lines = text.split("app:f  ")[1].split("app:g")[0].splitlines()
    assert any(line.endswith("3  def f(n):") for line in lines)
    assert any("▸ <genexpr>" in line and "1,000" in line and "█████" in line for line in lines)
    assert "\x1b" not in text
    assert "\\x1b[31m" in text
    assert "evil\\x1b" in text
    assert "the code was generated while the program ran" in text


def test_order_limit_and_choice(path):
    what = recording(path)
    assert "Lines by hits" in shown(what, sort="hits")
    assert "1 more line" in shown(what, limit=4)
    assert "app.py" not in shown(what, module=("made",)).split("Lines by")[1]
    assert "none" in shown(what, module=("other",))
    assert max(map(len, shown(what, width=72, min=0).splitlines())) <= 110


def test_a_source_that_changed_or_is_gone(path):
    what = recording(path)
    path.write_text(SOURCE.replace("sum", "max"))
    assert "the file has changed since" in shown(what)
    path.unlink()
    text = shown(what)
    assert "there is no such source file" in text
    assert "app.py:5" in text


def test_sources_in_odd_encodings(tmp_path):
    odd = tmp_path / "odd.py"
    odd.write_bytes(b"# -*- coding: latin-1 -*-\nx = '\xe9'\n")
    assert read_source(str(odd), []).lines[1] == "x = 'é'"
    odd.write_bytes(b"# -*- coding: nonsense -*-\nx = '\xff'\n")
    source = read_source(str(odd), [])
    assert "encoding" in source.problem
    assert source.text(2).startswith("x = ")
    assert source.text(99) == ""
    assert "cannot be read" in read_source("a\0b", []).problem
    assert "could not be found" in read_source("x.py", [("", 0, -1)]).problem
    assert "has changed" in read_source(str(odd), [(str(odd), 1, 5), (str(odd), 2, 6)]).problem


def test_a_line_that_no_file_has_is_elsewhere(path):
    what = Builder()
    process = what.process(pid=7, start_ns=1, end_ns=100, source="monitoring", clock="tsc: x", clock_ns=8.0)
    what.thread(process, name="MainThread", wall_ns=3 * MS, cpu_ns=3 * MS, main=1)
    for number in (0, 1):
        function = what.function("__main__", "<module>", str(path), number)
        what.line(function, number, hits=1, own_ns=MS)
    assert [line.line for line in timed_program(what.build()).lines] == [1]


def test_a_source_in_a_zip_archive(tmp_path):
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("app/core.py", SOURCE)
    assert read_source("core.py", [(f"{archive}/app/core.py", len(SOURCE), zlib.crc32(SOURCE.encode()))]).problem == ""
    assert read_source(f"{archive}/app/core.py", []).text(3) == "def f(n):"
    assert "cannot be read" in read_source(f"{archive}/app/gone.py", []).problem
    archive.write_bytes(b"no archive")
    assert "cannot be read" in read_source(f"{archive}/app/core.py", []).problem


def test_time_elsewhere_is_no_lines(path):
    program = timed_program(recording(path))
    assert program.whole_ns == pytest.approx(70 * MS)
    assert [file.name for file in program.files] == [str(path), "<string>"]
    (f, _) = program.files[0].functions
    assert f.whole_ns == pytest.approx(65 * MS)
    assert f.own_ns == pytest.approx(5 * MS)


def test_the_summary(path):
    lines = summed_up(recording(path), "r.seismo")
    assert lines[0] == "seismo: 1,026 hits of 5 lines in 100 ms: 90.0 ms running"
    assert "app.py:5" in lines[2]
    assert lines[-1].startswith("seismo report r.seismo")
    assert len(lines) <= 15
    assert "\x1b" not in "".join(lines)


def test_instructions_stand_in_their_order():
    """Those that ran only after the first flush have later rows."""
    b = Builder()
    b.process()
    work = b.function("m", "work", "/gone/m.py", 5)
    b.line(work, 6, 3)
    for offset, text in ((4, "RETURN_VALUE"), (0, "LOAD_FAST x"), (2, "UNARY_NOT")):
        b.add("instructions", function=work, offset=offset, line=6, text=text, hits=3)
    program = timed_program(b.build({"recorder": "linetimes"}))
    assert [offset for offset, _, _ in program.instructions[work, 6]] == [0, 2, 4]
