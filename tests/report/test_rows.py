"""Rows and tables as an interpreter and a notebook show them."""

import re

import pytest

from seismo.model import Builder
from seismo.report.rows import FIRST

HOSTILE = "<img src=x>\x1b[31m\u202e\n"
START = 1_700_000_000_000_000_000


@pytest.fixture
def recording():
    b = Builder()
    thread = b.thread(b.process(pid=7, start_ns=START), HOSTILE, start_ns=START, wall_ns=2_000_000_000, cpu_ns=-1)
    b.node(-1, thread, b.function("app", "load", "/src/app.py", 3), calls=4, own_ns=1_500_000, wait_ns=1_200_000)
    b.node(-1, thread, b.function("app", HOSTILE, "/src/app.py", 9, flags=2), calls=1, own_ns=60)
    for number in range(FIRST):
        b.node(-1, thread, b.function("builtins", f"f{number}", kind=1), calls=12_345)
    return b.build({})


def test_a_table_shows_its_first_rows_with_units(recording):
    title, head, first, *lines = repr(recording.functions).splitlines()
    assert title == f"<Table of {FIRST + 2} FunctionRows>"
    assert head.split()[:4] == ["id", "module", "qualname", "calls"]
    assert re.match(r" 0  app       load  .* 4 .* 1\.50 ms .* 300 µs +1\.20 ms ", first)
    assert len(lines) == FIRST
    assert lines[-1].startswith("… 2 more rows; more columns: kind, file, line,")


def test_every_table_has_a_repr_and_html(recording):
    tables = [
        getattr(recording, name) for name in ("tree", "threads", "processes", "losses", "lines", "types", "marks")
    ]
    for table in tables:
        assert repr(table).startswith(f"<Table of {len(table)} ")
        assert table._repr_html_().count("<tr>") == 1 + min(FIRST, len(table))
        for row in table:
            assert repr(row).startswith(type(row).__name__ + "(id=0")
            assert row._repr_html_().count("<tr>") == len(row)
            break
    assert "2023-11-14 22:13:20" in repr(recording.threads)
    assert "unknown" in repr(recording.threads), "the CPU time"


def test_a_row_leaves_out_what_is_0(recording):
    shown = repr(recording.functions[0])
    assert shown.startswith(
        "FunctionRow(id=0, kind=FunctionKind.PYTHON, module='app', qualname='load', file='/src/app.py'"
    )
    assert "own_ns=1.50 ms" in shown
    assert "own_waiting_ns=1.20 ms" in shown
    assert "exceptions" not in shown
    assert "flags=FunctionFlags.COROUTINE" in repr(recording.functions[1])
    html = recording.functions[0]._repr_html_()
    assert "<td>own_running_ns</td><td>300 µs</td>" in html
    assert "<td>exceptions</td><td>0</td>" in html


def test_hostile_names_are_escaped(recording):
    for shown in (recording.functions, recording.functions[1], recording.threads, recording.threads[0]):
        text, html = repr(shown), shown._repr_html_()
        assert r"\x1b[31m\u202e\n" in text
        assert "&lt;img" in html
        assert "<img" not in html
        for bad in ("\x1b", "\u202e"):
            assert bad not in text + html
