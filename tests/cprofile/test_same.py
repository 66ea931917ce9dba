"""The same as cProfile says, where it is right: single-threaded programs."""

from __future__ import annotations

import cProfile
import io
import pstats
import re
import sys
from contextlib import suppress

import children
import pytest
from counted import callees, counts, profiled
from program import load
from workloads import class_things, json_things, parse_things, regex_things

from seismo.cprofile import Profile


class Log(list):
    """Overrides what it calls."""

    def append(self, item):
        super().append(item)


def method_things():
    log = Log()
    log.append(1)
    list.append(log, 2)
    str.upper("a")
    dict.fromkeys("ab")
    int.from_bytes(b"a", "big")
    list.__new__(Log)
    [].sort(key=len)
    sorted([[1], [2]], key=len)
    str.join(" ", ["a"])


def asyncio_things():
    import asyncio

    async def leaf(n):
        await asyncio.sleep(0)
        return n

    async def main():
        await asyncio.gather(*(leaf(i) for i in range(4)))

    asyncio.run(main())


def of_parity(program):
    """A program of tests/parity, as a function."""
    names = {"__name__": "program"}
    exec(compile("\n" * program.line + program.text, str(program.path), "exec"), names)

    def work():
        with suppress(BaseException):
            names["main"]()

    work.__name__ = program.name.replace(" ", "-")
    return work


WORKLOADS = [
    parse_things,
    json_things,
    class_things,
    regex_things,
    asyncio_things,
    method_things,
    *(of_parity(program) for program in load() if program.name != "sys.settrace beside us"),
]


def plain(counted):
    """Methods that a class overrides go by their name: cProfile shows an address there (callstats/names.c)."""
    overridden = re.compile(r"<function (?:\w+\.)*(append|close) at 0x\w+>|<method '(append|close)' of .*>")

    def name(text):
        found = overridden.match(text)
        return found[1] or found[2] if found else text

    sums: dict = {}
    for key, (calls, recursive) in counted.items():
        key = tuple(map(name, key)) if isinstance(key, tuple) else name(key)
        before = sums.get(key, (0, 0))
        sums[key] = before[0] + calls, before[1] + recursive
    return sums


@pytest.mark.parametrize("options", [{}, {"builtins": False}, {"subcalls": False}], ids=str)
@pytest.mark.parametrize("work", WORKLOADS, ids=lambda work: work.__name__)
def test_counts(work, options):
    if "bound-methods-of-C-functions" in work.__name__ and (3, 12) <= sys.version_info < (3, 14):
        pytest.skip("cProfile loses the functions that call them")
    profiled(Profile(), work)  # caches fill
    theirs = cProfile.Profile(**options)
    # 3.14 and later forget these at enable()
    theirs_enable = theirs.enable
    theirs.enable = lambda: theirs_enable(**{"subcalls": True, "builtins": True, **options})
    profiled(theirs, work)
    ours = profiled(Profile(**options), work)
    assert plain(counts(ours)) == plain(counts(theirs))
    assert plain(callees(ours)) == plain(callees(theirs))
    assert counts(ours)


def table(profile):
    out = io.StringIO()
    stats = pstats.Stats(profile, stream=out).sort_stats("name")
    stats.print_stats()
    stats.print_callers()
    stats.print_callees()
    return re.sub(r"0x[0-9a-f]+", "0x0", out.getvalue())


def test_the_tables_are_the_same():
    """With a clock that stands still but for a tick at each reading, to the last character."""

    def ticking():
        ticking.now += 1
        return ticking.now

    printed = []
    for kind in (cProfile.Profile, Profile):
        ticking.now = 0
        printed.append(table(profiled(kind(ticking, 0.001), json_things)))
    assert printed[0] == printed[1]
    assert "json" in printed[1]


SCRIPT = """
import sys, threading
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(10), sys.argv, __name__, "__file__" in globals())
import __main__
if sys.argv[1:] == ["exit"]: sys.exit(3)
if sys.argv[1:] == ["fail"]: raise KeyError("x")
"""


def command(module, *words, folder):
    done = children.run([sys.executable, "-m", module, *words], cwd=folder)
    out = re.sub(r"in \d+\.\d+ seconds|\d+\.\d{3}", "TIME", done.stdout).replace("seismo.cprofile", module)
    return done.returncode, out, done.stderr


@pytest.mark.parametrize(
    "words",
    [["app.py"], ["-s", "ncalls", "app.py", "exit"], ["app.py", "fail"], ["-o", "out", "-m", "app", "a", "-b"]],
    ids=" ".join,
)
def test_the_command_line(words, tmp_path):
    (tmp_path / "app.py").write_text(SCRIPT)
    status, out, err = command("seismo.cprofile", *words, folder=tmp_path)
    assert (status, bool(err)) == ((1, True) if "fail" in words else (0, False))
    if "-o" in words:
        stats = pstats.Stats(str(tmp_path / "out")).stats
        assert {name[2]: row[1] for name, row in stats.items()}["fib"] == 177
        assert out.startswith("55 ['")
        assert "'a', '-b']" in out
        return
    theirs = command("cProfile", *words, folder=tmp_path)
    assert out.splitlines()[0] == theirs[1].splitlines()[0]
    assert status == theirs[0]
    assert "177/1" in out
    assert ("Ordered by: call count" in out) == ("ncalls" in words)


def test_the_command_line_overwrites_statistics_only(tmp_path):
    """Where cProfile would write over the script itself."""
    (tmp_path / "app.py").write_text(SCRIPT)
    refused = command("seismo.cprofile", "-o", "app.py", "app.py", folder=tmp_path)
    assert refused[0] == 2
    assert "exists and holds no statistics" in refused[2]
    assert (tmp_path / "app.py").read_text() == SCRIPT
    for module in ("cProfile", "seismo.cprofile"):
        assert command(module, "-o", "out", "app.py", folder=tmp_path)[0] == 0
        assert pstats.Stats(str(tmp_path / "out")).stats
    (tmp_path / "none.py").write_text("")
    assert command("seismo.cprofile", "-o", "out", "none.py", folder=tmp_path)[0] == 0
    assert command("seismo.cprofile", "-o", "out", "none.py", folder=tmp_path)[0] == 0


@pytest.mark.parametrize("words", [["-s", "demo", "x"], ["-m"], ["missing.py"]], ids=" ".join)
def test_a_wrong_command_line(words, tmp_path):
    ours, theirs = (command(module, *words, folder=tmp_path) for module in ("seismo.cprofile", "cProfile"))
    if words == ["-m"]:  # there cProfile fails with an IndexError
        assert ours[0] == 2
    else:
        assert ours[0] == theirs[0] != 0
    if ours[2] and words != ["-m"]:
        assert ours[2].splitlines()[-1].partition(": ")[2] == theirs[2].splitlines()[-1].partition(": ")[2]
