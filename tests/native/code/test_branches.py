"""Where the ways of a branch lead: as coverage.py resolves them. And code objects that lie."""

from __future__ import annotations

import ast
import dis
import random
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from allocations import can_fail, each_fails
from codes import nested
from paths import TESTS

from seismo import _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

needs_branches = pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 reports no branches")

# A good deal of every kind of statement; match and except* come with the program of tests/coverage.
MODULES = ["asyncio.base_events", "dataclasses", "tokenize"]


def sources() -> Iterator[tuple[str, str]]:
    for name in MODULES:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        yield spec.origin, Path(spec.origin).read_text(encoding="utf-8")
    program = TESTS / "coverage" / "covered" / "branching.py"
    far = "; ".join(["x += len('abc') + x"] * 60)  # jumps over it take EXTENDED_ARG
    yield str(program), program.read_text().replace("  FAR\n", f"  {far}\n")


def raising_lines(text: str) -> set[int]:
    """Lines with a raise that does not stand alone: coverage.py goes on behind it, and so leads to the next line."""
    choices = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If)]
    return {c.lineno for c in choices if isinstance(c.body[0], ast.Raise) and c.body[0].lineno == c.lineno}


@needs_branches
def test_ways_lead_where_coverage_resolves_them() -> None:
    pytest.importorskip("coverage", minversion="7.17")
    from coverage import bytecode, parser

    if "RETURN_CONST" in dis.opmap:  # its resolver is for 3.14 and later
        bytecode.RETURNS.add(dis.opmap["RETURN_CONST"])
    ways = 0
    for path, text in sources():
        first = parser.multiline_map_from_text(text)
        statements = parser.PythonParser(text=text, filename=path)
        statements.parse_source()
        possible, exits, raising = statements.arcs(), statements.exit_counts(), raising_lines(text)
        for code in nested(compile(text, path, "exec", dont_inherit=True)):
            resolver = bytecode.BranchArcResolver(code, bytecode.bytes_to_lines(code), first)
            for row in _core.code_branches(code):
                for way in (0, 1):
                    if row["silent"] >> way & 1 or row["from_line"] in raising:
                        continue
                    line, to = row["from_line"], row["to_line"][way]
                    mine = (first.get(line, line), first.get(to, to))
                    theirs = resolver.resolve(row["offset"], row["to"][way]) or (0, 0)
                    told = {arc for arc in (mine, theirs) if arc in possible and exits.get(arc[0], 0) > 1}
                    assert len(told) == 0 or mine == theirs, (path, code.co_qualname, row, way)
                    ways += len(told)
    assert ways > 900


def check(code: CodeType) -> int:
    """What the header promises of every table, whatever the code object says."""
    rows = _core.code_branches(code)
    size = len(code.co_code)
    for row in rows:
        assert 0 <= row["offset"] < size
        assert all(0 <= to < size for to in (*row["to"], *row["also"]))
        assert all(-1 <= line_event < size for line_event in row["line_events"])
        assert 0 <= row["line"] < 2**31
        assert row["end_line"] == -1 or row["end_line"] > 0
        assert all(-1 <= column < 2**31 for column in (row["column"], row["end_column"]))
        assert all(line >= 0 or line == -code.co_firstlineno for line in row["to_line"])
        assert 0 <= row["kind"] <= 5
    offsets = [row["offset"] for row in rows]
    assert offsets == sorted(set(offsets))
    return len(rows)


def garbled(data: bytes, chance: random.Random) -> bytes:
    """A few bytes of it changed, or lost, or all of it noise."""
    if not data or chance.random() < 0.1:
        return chance.randbytes(chance.randrange(40))
    noise = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        noise[chance.randrange(len(noise))] = chance.choice((0, 63, 64, 127, 128, 255, chance.randrange(256)))
    return bytes(noise[: chance.randrange(len(noise)) + 1] if chance.random() < 0.2 else noise)


@pytest.mark.skipif(sysconfig.get_config_var("Py_DEBUG") == 1, reason="the interpreter's own asserts stop at such code")
def test_line_and_exception_tables_that_lie() -> None:
    chance = random.Random(4)
    codes = [
        code
        for path, text in sources()
        if path.endswith(("branching.py", "tokenize.py"))
        for code in nested(compile(text, path, "exec"))
    ]
    branches = 0
    for code in codes * 8:
        lie: dict[str, Any] = {"co_linetable": garbled(code.co_linetable, chance)}
        if chance.random() < 0.5:
            lie["co_exceptiontable"] = garbled(code.co_exceptiontable, chance)
        if chance.random() < 0.5:
            lie["co_firstlineno"] = chance.choice((0, 1, 2**31 - 1))
        branches += check(code.replace(**lie))
    assert branches > 100 or sys.version_info < (3, 12)


def test_bytecode_that_lies() -> None:
    """Jumps to anywhere. (Arguments only, with room behind: the interpreter takes the room of caches for granted.)"""
    chance = random.Random(5)
    codes = [code for path, text in sources() if "branching" in path for code in nested(compile(text, path, "exec"))]
    branches = 0
    for code in codes * 8:
        noise = bytearray(code.co_code)
        for at in range(1, len(noise), 2):
            if noise[at - 1] in dis.hasjrel and chance.random() < 0.5:
                noise[at] = chance.choice((0, 1, 127, 255, chance.randrange(256)))
        many = bytes((dis.opmap["EXTENDED_ARG"], 255)) * chance.choice((0, 1, 3, 6))
        branches += check(code.replace(co_code=many + bytes(noise) + bytes((dis.opmap["NOP"], 0)) * 20))
    assert branches > 100 or sys.version_info < (3, 12)


@can_fail
def test_out_of_memory() -> None:
    code = next(code for _, text in sources() for code in nested(compile(text, "x", "exec")) if code.co_name == "run")
    assert each_fails(lambda: _core.code_branches(code)) == (3 if sys.version_info >= (3, 12) else 1)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="3.12 and later report branches")
def test_no_branches_on_3_11() -> None:
    assert _core.code_branches(check.__code__) == []
