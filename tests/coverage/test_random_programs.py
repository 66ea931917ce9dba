"""Lines and branches of random programs are those of coverage.py's C tracer, and what random programs found."""

import subprocess
import sys
from pathlib import Path

import pytest
from covered import cover
from measure import under_coverage, under_seismo

ROOT = Path(__file__).parents[2]


def test_random_programs():
    """`make fuzz` goes on where this ends."""
    words = [sys.executable, ROOT / "fuzz" / "fuzz_cover.py", "--seed", "0", "--count", "15"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "15 programs, 0 finds" in done.stdout


ASYNC_ENDLESS = """
    import asyncio
    async def numbers(n):
        for i in range(n):
            yield i
    async def f(n):
        BODY
        if n > 1:
            return 1
        if n:
            return 2
        return 3
    for n in range(3):
        asyncio.run(f(n))
"""


@pytest.mark.parametrize(
    "body",
    [
        "async for i in numbers(n): continue",
        "[i async for i in numbers(n)]",
        "[0 async for i in numbers(n) async for j in numbers(i)]",
    ],
)
def test_branches_behind_an_async_for_on_one_line(body):
    """A loop whose body jumps back on its own line used up what may be spent on following ways."""
    found = cover(ASYNC_ENDLESS.replace("BODY", body), branch=True)
    assert {arc for arc in found.arcs if arc[0] in (7, 9)} >= {(7, 8), (7, 9), (9, 10), (9, 11)}


def test_a_choice_in_last_place_of_except_star():
    """What except* does with the rest of a group is a jump of the compiler's own: it is no other branch."""
    found = cover(
        """
        def f(x):
            try:
                raise ExceptionGroup("", [ValueError()])
            except* ValueError:
                if x:
                    x += 1
            return x
        f(0)
        f(1)
        """,
        branch=True,
    )
    assert {arc for arc in found.arcs if arc[0] == 5} == {(5, 6), (5, 7)}


HANDLER_RAISES = """
def f(x):
    try:
        try:
            raise KeyError
        except* KeyError:
            try:
                raise KeyError
            except KeyError:
                try:
                    if not x:
                        raise KeyError
                finally:
                    if x:
                        raise
                    while not not x: raise KeyError
    except KeyError: x = 1
f(0)
"""

FINALLY_RAISES = """
def g():
    raise KeyError
def f(x):
    try:
        if x:
            raise ValueError
    finally:
        g()
        match x:
            case 2:
                raise ValueError
try:
    f(1)
except KeyError:
    pass
"""


@pytest.mark.parametrize("text", [HANDLER_RAISES, FINALLY_RAISES], ids=["in-except-star", "in-finally"])
def test_what_a_handler_raises_in_last_place(text, tmp_path, monkeypatch):
    """What except* does with the rest of a group is known then: it raises. And 3.11 leaves a `finally` by its last
    line, wherever in it the exception was raised."""
    monkeypatch.setenv("COVERAGE_CORE", "ctrace")
    program = tmp_path / "program.py"
    program.write_text(text)
    name = str(program)
    theirs, ours = under_coverage(name, [name])[name], under_seismo(name, [name])[name]
    assert [ours[what] for what in ("executed", "taken")] == [theirs[what] for what in ("executed", "taken")]


FINALLY = """
    class Swallow:
        def __enter__(self):
            pass
        def __exit__(self, *exc):
            return True
    def f(x):
        with Swallow():
            try:
                raise ValueError
            finally:
                if x:
                    return 0
        return x
    f(0)
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="only 3.11 reports steps that no jump takes")
def test_a_finally_goes_on_raising_from_its_last_line():
    assert (11, 7) in cover(FINALLY, branch=True).arcs


RAISING = """
class Raising:
    def __enter__(self):
        pass
    def __exit__(self, *exc):
        raise KeyError
try:
    with Raising():
        assert __name__
    late = 1
except KeyError:
    pass
"""


def test_a_line_that_a_with_statement_kept_from_running_is_missing(tmp_path):
    """The jump out of the last line leads to it, but the end of the `with` raises."""
    program = tmp_path / "program.py"
    program.write_text(RAISING)
    assert under_seismo(str(program), [str(program)])[str(program)]["missing"] == [10]
