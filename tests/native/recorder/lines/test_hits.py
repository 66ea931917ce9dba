"""Hits are exact: they are what sys.settrace and sys.monitoring themselves tell."""

import sys
import sysconfig
from collections import Counter
from contextlib import suppress
from fnmatch import fnmatchcase

import pytest
from lab import run
from paths import TESTS
from program import load
from recorded import filter_of, image, traced
from timing import hits, start

from seismo import _core

# These loop within a line: sys.settrace reports a jump back to the line that it is in as another hit, sys.monitoring
# does not (docs/lines.md). The last one traces itself.
LEFT_OUT = {
    "any and all over generators",
    "asynchronous comprehension",
    "code kept alive twice",
    "comprehensions",
    "forty functions from one place",
    "generator expressions",
    "sys.settrace beside us",
}
PROGRAMS = [program for program in load() if program.name not in LEFT_OUT]
FILES = [*sorted({str(program.path) for program in PROGRAMS}), "matching.py"]
MATCHING = """
def matching(value):
    match value:
        case {"a": x} if x > 1:
            return x
        case [1, *rest]:
            return dict(
                x=rest,
                y=[
                    value,
                    len(rest),
                ],
            )
        case str() | int():
            return value
        case _:
            pass
def main():
    for value in ({"a": 2}, {"a": 1}, [1, 2], "s", 1.5):
        matching(value)
"""
CODES = [
    *(compile("\n" * program.line + program.text, str(program.path), "exec") for program in PROGRAMS),
    compile(MATCHING, "matching.py", "exec"),
]


def main():
    for code in CODES:
        names = {"__name__": "program"}
        exec(code, names)
        with suppress(BaseException):
            names["main"]()


def all_hits(found):
    return sum((hits(found, file) for file in FILES), Counter())


def recorded_hits(program, **options):
    start(timing="sampled", **options)
    program()
    _core.stop()
    assert _core.check()
    return image()


def test_as_settrace():
    """Also in generated code."""
    found = recorded_hits(main)
    assert found.losses == {}
    assert hits(found, "<string>")["f", 2] == 1000
    assert all_hits(found) + hits(found, "<string>") == traced(main, *FILES, "<string>")


def compare_with_a_python_tool():
    monitoring = sys.monitoring
    seen = Counter()
    monitoring.use_tool_id(2, "test")
    monitoring.register_callback(2, monitoring.events.LINE, lambda code, line: seen.update([(id(code), line)]))
    # Without PY_START, one-line functions would tell nothing (gh-155992).
    monitoring.register_callback(2, monitoring.events.PY_START, lambda code, offset: None)
    start(timing="sampled")
    monitoring.set_events(2, monitoring.events.LINE | monitoring.events.PY_START)
    main()
    monitoring.set_events(2, 0)
    _core.stop()
    for event in (monitoring.events.LINE, monitoring.events.PY_START):
        monitoring.register_callback(2, event, None)
    monitoring.free_tool_id(2)
    ours = image()
    ids = {row["id"] for row in ours.functions() if row["qualname"] != "compare_with_a_python_tool"}
    mine = sum(row["hits"] for row in ours.tables["lines"] if row["function"] in ids)
    here = id(compare_with_a_python_tool.__code__)
    assert mine == sum(count for (code, _), count in seen.items() if code != here)
    assert mine > 500


IN_A_CHILD = """
import os, runpy
sys.path.insert(0, sys.argv[2])
runpy.run_path(sys.argv[1])["compare_with_a_python_tool"]()
"""


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring came with 3.12")
def test_as_monitoring_tells_a_python_tool():
    """Of all code that runs, asyncio's too.

    In a process of its own: a thread of pytest-xdist's may take an order after the one tool has started and before the
    other has.
    """
    run(IN_A_CHILD, __file__, str(TESTS / "parity"))


def test_narrowed_and_whole_are_the_same():
    whole = all_hits(recorded_hits(main))
    for wanted in ("numbers", "Base.*", "helper", "main.*", "main.*.<lambda?"):
        where = filter_of(f'qualname("{wanted}")')
        expected = {key: count for key, count in whole.items() if fnmatchcase(key[0], wanted)}
        got = all_hits(recorded_hits(main, where=where))
        assert got
        assert got == expected, wanted


def test_again_and_after_other_recordings():
    """What one recording switches off, the next has again."""
    whole = all_hits(recorded_hits(main))
    recorded_hits(main, where=filter_of('qualname("numbers")'))
    assert all_hits(recorded_hits(main)) == whole
    _core.start(calibrate=False, c_functions="none", running=False)
    main()
    _core.stop()
    assert image().calls()["fib"] == 9
    assert all_hits(recorded_hits(main)) == whole


@pytest.mark.skipif(sysconfig.get_config_var("Py_DEBUG") == 1, reason="the interpreter's own asserts stop at such code")
def test_code_that_lies_about_its_lines():
    def honest():
        a = 1
        return a  # noqa: RET504

    # Entries of as many units as the code has (the interpreter trusts them): the first one's line is far off.
    units = len(honest.__code__.co_code) // 2
    sizes = [8] * (units // 8) + [units % 8] * (units % 8 > 0)
    step = bytes([0x40 | 63] * 4 + [31])  # a signed number of six bits each
    far = bytes([0x80 | 13 << 3 | sizes[0] - 1]) + step + bytes(0x80 | 15 << 3 | size - 1 for size in sizes[1:])
    far = honest.__code__.replace(co_linetable=far)
    for code in (far, honest.__code__.replace(co_firstlineno=2**31 - 10), honest.__code__.replace(co_firstlineno=0)):
        lying = type(honest)(code, {})
        found = recorded_hits(lying)
        assert sum(row["hits"] for row in found.tables["lines"]) >= 0
