"""Lines that LINE events do not tell: what follows a loop is executed where its instructions are, on every version."""

import linecache
import sys

import pytest
from covered import compiled, cover
from instructions import Heard

import seismo

LOOPS = {
    "for": """
        def f(items):
            for item in items:
                if item:
                    break
            return items
        CALLS
    """,
    "one line": """
        def f(items):
            for item in items:
                if item: break
            return items
        CALLS
    """,
    "raise": """
        def f(items):
            for item in items:
                if item:
                    break
            raise ValueError
        def call(items):
            try:
                f(items)
            except ValueError:
                pass
        call([0])
        call([0, 0])
    """,
    "nested": """
        def f(items):
            for one in items:
                for item in items:
                    if item:
                        break
                if one:
                    break
            return items
        CALLS
    """,
    "else": """
        def f(items):
            for item in items:
                if item:
                    break
            else:
                items = ()
            return items
        CALLS
    """,
    "enclosed": """
        def f(items):
            try:
                raise ValueError
            except ValueError:
                for item in items:
                    if item:
                        break
                return items
        CALLS
    """,
    "generator": """
        def g(items):
            for item in items:
                if item:
                    break
                yield item
            return
        def f(items):
            list(g(items))
        CALLS
    """,
    "async for": """
        import asyncio
        async def numbers(items):
            for item in items:
                yield item
        async def g(items):
            async for item in numbers(items):
                if item:
                    break
            return items
        def f(items):
            asyncio.run(g(items))
        CALLS
    """,
    "many": """
        def f(items):
            PAD
            for item in items:
                if item:
                    PAD
                    break
            return items
        CALLS
    """.replace("PAD", "; ".join(["item = items"] * 200)),
}
CALLS = {"exhausted": "f([0, 0])", "left": "f([1])", "both": "f([0]); f([1]); f([0])"}
PROGRAMS = {
    f"{name}, {how}": text.replace("CALLS", call) for name, text in LOOPS.items() for how, call in CALLS.items()
}


def by_instructions(code):
    """The lines that instructions are executed of."""
    heard = Heard(code.co_filename)
    heard.start()
    try:
        exec(code, {})
    finally:
        heard.stop()
    return heard.lines


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there is no sys.monitoring to tell the truth")
@pytest.mark.parametrize("branch", [False, True], ids=["lines", "branches"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_lines_behind_loops_are_executed(program, branch):
    code = compiled(PROGRAMS[program])
    assert set(cover(code, branch=branch).lines) - {0} == by_instructions(code)


@pytest.mark.parametrize("where", [None, 'function("f")'], ids=["all", "narrowed"])
@pytest.mark.parametrize("program", ["for", "nested", "enclosed", "many"])
def test_lines_behind_loops_are_hit(program, where):
    """As often as the function returns."""
    code = compiled(LOOPS[program].replace("CALLS", "f([0, 0]); f([1]); f([0])"))
    text = linecache.cache[code.co_filename][2]
    number = 1 + max(i for i, line in enumerate(text) if "return items" in line)
    with seismo.lines(where=where) as recorded:
        exec(code, {})
    files = {function.id: function.file for function in recorded.recording.functions}
    rows = [row for row in recorded.recording.lines if files[row.function] == code.co_filename]
    assert [row.hits for row in rows if row.line == number] == [3]
    assert cover(code, counts=True).lines[number] == 3
