"""Out of memory at each of a recorder's allocations in turn: never a crash, never an exception in the program, and the
next recording is whole."""

import children
import pytest
from allocations import can_fail
from births import needs_tracer
from lab import SOURCES, WITH_C

pytestmark = can_fail

PRELUDE = """
import os, sys
from failing import EVERYTHING, asked, fail_each, problems_of_files
from recorded import filter_of, image
from seismo import _core
settings, how = eval(sys.argv[1]), sys.argv[2]
recorder = settings.get("recorder", "calltree")
def start(**more):
    _core.start(**{"calibrate": False, "running": False, **settings, **more})
def fail(fresh, *meanwhile, begin=lambda n: start()):
    fail_each(fresh, begin, *meanwhile, forever=how == "forever", recorder=recorder)
class Thing:
    pass
def leaf():
    return Thing()
def work(n):
    for _ in range(n): leaf()
def counted(table, column, **of):
    (row,) = (row for row in image().tables[table] if row[column] and all(row[name] == of[name] for name in of))
    return row[column]
def number(qualname):
    (row,) = (row for row in image().functions() if row["qualname"] == qualname)
    return row["id"]
"""

# Of each recorder: what is recorded while its allocations fail, and then without.
CALLS = """
exec(EVERYTHING)
fail(lambda: program, asked(_core.snapshot), _core.flush)
start(); work(3); _core.stop()
assert counted("nodes", "calls", function=number("leaf")) == 3
"""
LINES = """
exec(EVERYTHING)
fail(lambda: program, asked(_core.snapshot), _core.flush)
start(); work(3); _core.stop()
assert counted("lines", "hits", function=number("leaf")) == 3
"""
# A program with something of everything, whose own result shows whether it was disturbed.
OBJECTS = """
import gc
class Dies:
    def __del__(self): self.me = None
def numbers(n):
    for i in range(n):
        yield [Thing(), i]
def handle(n):
    kept = [Thing() for _ in range(n)]
    kept += numbers(3)
    Dies()
    return len(kept) + len({type(f"Made{i}", (), {})() for i in range(3)})
def program():
    total = 0
    for n in range(3): total += handle(n)
    waiting = [numbers(2) for _ in range(3)]
    for generator in waiting: next(generator)
    [Thing() for _ in range(4000)]
    gc.collect()
    return total
fail(
    lambda: program,
    asked(_core.objects_alive, lambda: _core.objects_addresses(tuple(range(50))), lambda: _core.objects_mark("m")),
    asked(_core.snapshot), _core.flush,
)
start()
kept = [Thing() for _ in range(5)]
_core.stop()
assert counted("types", "born", name="Thing") == 5
"""
COVERAGE = """
from covered import Covered
text = "def test_leaf(): return 1\\nleaf = test_leaf" + EVERYTHING
def fresh():
    names = {"__name__": "program"}
    exec(compile(text, "/nowhere/program.py", "exec"), names)
    return names["program"]
now = None
def made():
    global now
    now = fresh()
    return now
truth = fresh()()
def contexts():
    for context in ("one", "two", ""):
        _core.cover_context(context)
        assert now() == truth
def lines():
    program = fresh()
    _core.start(recorder="coverage"); program(); _core.stop(recorder="coverage")
    return set(Covered(_core.snapshot("coverage"), "/nowhere/program.py").lines)
before = lines()
assert len(before) > 15
def begin(n):
    fd = os.open("out", os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600) if n % 2 else -1
    _core.start(branch=True, tests=True, fd=fd, flush_ms=1, **settings)
fail(made, contexts, asked(lambda: _core.snapshot("coverage")), lambda: _core.flush("coverage"), begin=begin)
assert lines() == before
"""

LINE = "'recorder': 'linetimes', 'clock': 'simulated'"
PROGRAMS = [
    *((CALLS, f"'source': {source!r}, 'c_functions': 'none', 'max_paths': 60") for source in SOURCES),
    *((CALLS, f"'source': {source!r}, 'c_functions': 'all', 'max_paths': 60") for source in WITH_C),
    (LINES, LINE),
    (LINES, f"{LINE}, 'where': filter_of('module(\"__main__\")')"),
    pytest.param(COVERAGE, "'recorder': 'coverage', 'counts': False", marks=pytest.mark.matrix),
    (COVERAGE, "'recorder': 'coverage', 'counts': True"),
    *(
        pytest.param(OBJECTS, f"'recorder': 'lifetimes', {more}", marks=needs_tracer)
        for more in (
            "'span': filter_of('call(\"handle\") or call(\"numbers\")'), 'max_live': 1000",
            "'paths': True, 'c_functions': 'none'",
            "'objects': 'types'",
        )
    ),
]


def run(program, settings, *arguments, cwd):
    return children.printed(PRELUDE + program, f"{{{settings}}}", *arguments, cwd=cwd)


@pytest.mark.parametrize("how", ["once", "forever"])
@pytest.mark.parametrize(("program", "settings"), PROGRAMS)
def test_each_allocation_fails(program, settings, how, tmp_path):
    """Once, or all from it on do."""
    run(program, settings, how, cwd=tmp_path)


@pytest.mark.parametrize(
    ("settings", "after"),
    [
        *((f"'source': {source!r}, 'c_functions': 'none'", range(1, 160)) for source in SOURCES),
        pytest.param(
            "'recorder': 'lifetimes', 'span': filter_of('call(\"work\")')", range(1, 120, 7), marks=needs_tracer
        ),
    ],
)
def test_with_a_file(settings, after, tmp_path):
    """The same for what writes: the file stays whole."""
    program = f"""
def begin(fd): start(fd=fd)
print(problems_of_files("r", begin, lambda: work(3), _core.flush, lambda: work(2), after={after}))
"""
    assert run(program, settings, "once", cwd=tmp_path) == "[]\n"


def test_what_had_no_room_is_written_with_the_next_save(tmp_path):
    """Nothing of it is called again, and what it calls has no path without it."""
    program = """
def deep(n): n and deep(n - 1)
def begin(fd): start(fd=fd)
print(problems_of_files("r", begin, lambda: deep(100), _core.flush, leaf, after=range(1, 80)))
"""
    assert run(program, "'c_functions': 'none'", "once", cwd=tmp_path) == "[]\n"
