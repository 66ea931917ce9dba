"""The programs of the truth benchmark: a few phases each, whose shares of the running time are measured bare.

Every phase is a function of a number of repeats, called once per turn. Each stresses a weakness of profilers: the more
calls a phase makes for its time, the more of a probe's cost it receives, and the larger it appears beside phases that
just compute. The code of a phase is generated randomly from a seed (length and contents of bodies, depth of calls,
number of functions), so that nobody can tune for one program. The same seed generates the same program.

The phases of a program take turns, so that a change of the machine's speed affects all of them. Each is timed by the
CPU time of its thread.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from textwrap import indent
from threading import Thread
from time import thread_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Phase = Any  # a function of the number of repeats
Program = dict[str, Phase]
SECONDS = 0.12  # the bare time of a phase at scale 1

_STATEMENTS = (
    "x = x + {small}",
    "x = (x * {small} + y) & 0xffff",
    "y = x if x > y else y - {small}",
    "x, y = y, x",
    "x = x + row[x & 7]",
    "table[x & 15] = y",
    "y = box.value + x & 0xff",
    "if x > {large}: x = x - {large}",
    "text = f'{{x}} {{y}}'",
    "pair = (x, y); x = pair[0] ^ {small}",
)
_HEAD = """
class Box:
    def __init__(self): self.value = 3
box, row, table = Box(), list(range(8)), dict.fromkeys(range(16), 1)
"""


@dataclass(frozen=True)
class Chance:
    """The random choices of a seed."""

    random: random.Random

    def about(self, size: int) -> int:
        """Return a positive integer within a factor of 1.5 of this size."""
        return max(1, round(size * 1.5 ** self.random.uniform(-1, 1)))

    def body(self, size: int, indented: int = 1) -> str:
        """Return about this number of statements on x, y and the module's names."""
        chosen = self.random.choices(_STATEMENTS, k=self.about(size))
        lines = (
            line.format(small=self.random.randrange(1, 9), large=self.random.randrange(50, 5000)) for line in chosen
        )
        return indent("\n".join(lines), "    " * indented)


def _made(source: str) -> Program:
    """Return the phases that the source defines: functions whose names begin with phase_."""
    names: dict[str, Any] = {"__name__": "phases"}
    exec(compile(_HEAD + source, "<phases>", "exec"), names)
    return {name: value for name, value in names.items() if name.startswith("phase_")}


def _plain(chance: Chance) -> str:
    """Return the source of a phase without calls."""
    return f"def phase_plain(n):\n    x, y = 1, 2\n    for _ in range(n):\n{chance.body(12, 2)}\n"


def turns(chance: Chance) -> Program:
    """Return phases with tiny calls, calls of small, medium and large loops, a generator, and recursion."""
    source = """
def tiny(x): return x + 1
def phase_tiny(n):
    x = 0
    for _ in range(n): x = tiny(x)
def count(size):
    total = 0
    for i in range(size): total += i
    return total
def produce(size):
    for i in range(size): yield i
def phase_generator(n):
    total = 0
    for value in produce(n): total += value
def descend(depth): return 0 if depth == 0 else 1 + descend(depth - 1)
"""
    for name, size in (("small", 12), ("medium", 120), ("large", 4000)):
        source += f"def phase_{name}(n):\n    for _ in range(n): count({chance.about(size)})\n"
    return _made(f"{source}def phase_recursion(n):\n    for _ in range(n): descend({chance.about(60)})\n")


def bodies(chance: Chance) -> Program:
    """Return phases with functions and methods of one to sixty statements, and one without calls."""
    source = ""
    for size in (1, 3, 8, 20, 60):
        source += f"def leaf_{size}(x, y):\n{chance.body(size)}\n    return x\n"
        source += f"def phase_body_{size}(n):\n    x = 1\n    for i in range(n): x = leaf_{size}(x, i)\n"
    source += f"""
class Thing:
    def __init__(self, value): self.value = value
    @property
    def twice(self): return self.value * 2
    def add(self, x, y=1):
{chance.body(2, 2)}
        self.value = x
        return self
def phase_methods(n):
    for i in range(n): Thing(i).add(i).twice
{_plain(chance)}"""
    return _made(source)


def depths(chance: Chance) -> Program:
    """Return phases with shallow and deep recursion, chains of functions, many functions, and a tree of calls."""
    source = ""
    for name, depth in (("shallow", 6), ("deep", 70), ("deepest", 600)):
        source += f"""
def down_{name}(depth, x, y):
{chance.body(2)}
    return x if depth == 0 else down_{name}(depth - 1, x, y)
def phase_{name}(n):
    for i in range(n): down_{name}({chance.about(depth)}, i, 1)
"""
    length = chance.about(12)
    for i in range(length):
        below = f"x = link_{i + 1}(x, y)" if i + 1 < length else "pass"
        source += f"def link_{i}(x, y):\n{chance.body(1)}\n    {below}\n    return x\n"
    source += "def phase_chain(n):\n    for i in range(n): link_0(i, 2)\n"
    many = chance.about(300)
    for i in range(many):
        source += f"def one_{i}(x, y):\n{chance.body(3)}\n    return x\n"
    source += f"every = [{', '.join(f'one_{i}' for i in range(many))}]\n"
    source += f"""
def phase_many(n):
    for i in range(n): every[i * 7 % {many}](i, 1)
def grow(depth, x, y):
{chance.body(2)}
    return 1 if depth == 0 else grow(depth - 1, x, y) + grow(depth - 1, y, x)
def phase_tree(n):
    for i in range(n): grow({chance.about(5)}, i, 1)
{_plain(chance)}"""
    return _made(source)


def suspended(chance: Chance) -> Program:
    """Return phases with small, large and nested generators, and coroutines by hand and under asyncio."""
    return _made(f"""
import asyncio
def small(n):
    for x in range(n): yield x
def phase_small(n):
    for _ in small(n): pass
def large(n):
    y = 1
    for x in range(n):
{chance.body(15, 2)}
        yield x
def phase_large(n):
    for _ in large(n): pass
def over(n, levels):
    if levels: yield from over(n, levels - 1)
    else: yield from range(n)
def phase_over(n):
    for _ in range(n):
        for _ in over(8, {chance.about(4)}): pass
def phase_expression(n): sum(x + 1 for x in range(n) if x & 1)
async def inner(x, y):
{chance.body(3)}
    return x
async def outer(x): return await inner(x, 1) + await inner(2, x)
def phase_coroutines(n):
    for i in range(n):
        try: outer(i).send(None)
        except StopIteration: pass
async def ticks(n):
    for i in range(n):
        await inner(i, 1)
        if i % 10 == 0: await asyncio.sleep(0)
async def several(n): await asyncio.gather(*(ticks(n) for _ in range(4)))
def phase_asyncio(n): asyncio.run(several(n))
{_plain(chance)}""")


def c_functions(chance: Chance) -> Program:
    """Return phases with short and long C functions, callbacks from C, and methods of built-in types."""
    size = chance.about(400)
    return _made(f"""
import random
unsorted = random.Random({size}).sample(range(100000), {size})
words = [str(word) for word in unsorted]
def phase_short(n):
    seen = []
    for i in range(n):
        seen.append(abs(i))
        if len(seen) > 100: seen.clear()
def phase_text(n):
    for i in range(n): str(i).rjust(8).strip().startswith("1")
def phase_long(n):
    for _ in range(n): sorted(unsorted)
def key(x): return -x
def phase_callbacks(n):
    for _ in range(n): sorted(unsorted, key=key)
def phase_join(n):
    for _ in range(n): " ".join(words).split()
def phase_called(n):
    for i in range(n): key(i); divmod(i, 7); key(i + 1)
{_plain(chance)}""")


def raising(chance: Chance) -> Program:
    """Return phases with exceptions caught near and many frames below, finally, with, and iteration."""
    return _made(f"""
import contextlib
def fail(x, y):
{chance.body(2)}
    raise ValueError(x)
def phase_near(n):
    for i in range(n):
        try: fail(i, 1)
        except ValueError: pass
def fall(depth, x):
    if depth == 0: raise KeyError(x)
    fall(depth - 1, x)
def phase_far(n):
    for i in range(n):
        try: fall({chance.about(12)}, i)
        except KeyError: pass
def guarded(x, y):
    try:
{chance.body(3, 2)}
        return x
    finally: y = x
def phase_finally(n):
    for i in range(n): guarded(i, 1)
class Guard:
    def __enter__(self): return self
    def __exit__(self, *_): return True
@contextlib.contextmanager
def managed():
    yield 1
def phase_with(n):
    for i in range(n):
        with Guard(): i + 1
def phase_managed(n):
    for i in range(n):
        with managed(): i + 1
class Steps:
    def __init__(self): self.left = 5
    def __iter__(self): return self
    def __next__(self):
        if self.left == 0: raise StopIteration
        self.left -= 1
        return self.left
def phase_iteration(n):
    for _ in range(n):
        for _ in Steps(): pass
{_plain(chance)}""")


def library(chance: Chance) -> Program:
    """Return phases that use the standard library: real functions of many sizes."""
    return _made(f"""
import ast, copy, difflib, fractions, json, re, string, textwrap, tokenize, io
source = '''def f(a, b=1, *c, **d):
    for i in range(10):
        if i % 2 and (a or not b): yield [x ** 2 for x in c if x], {{1: a, "k": b}}
        else: print(f"{{a}}", lambda y: y + 1, sep="", end=a.b[1:2])
''' * 3
tree, nested = ast.parse(source), {{"a": [{{"b": [1, 2, "x" * 20]}} for _ in range({chance.about(12)})]}}
def phase_unparse(n):
    for _ in range(n): ast.unparse(tree)
def phase_diff(n):
    for i in range(n): list(difflib.unified_diff(source.split(), source.replace("a", "ab").split()))
def phase_json(n):
    for _ in range(n): json.dumps(nested, indent=1)
def phase_compile(n):
    for i in range(n): re.purge(); re.compile(r"(?P<a>[a-z]+)[.](\\\\d{{1,3}}|x*?)$")
def phase_fractions(n):
    for i in range(1, n + 1): sum(fractions.Fraction(i, k) for k in range(1, 9))
def phase_copy(n):
    for _ in range(n): copy.deepcopy(nested)
def phase_wrap(n):
    for _ in range(n): textwrap.fill(source, {chance.about(50)})
def phase_tokenize(n):
    for _ in range(n): list(tokenize.generate_tokens(io.StringIO(source).readline))
""")


def threads(chance: Chance) -> Program:
    """Return phases of three other programs; each turn runs in a new thread."""
    chosen = {**turns(chance), **bodies(chance), **suspended(chance)}
    return {name: chosen[name] for name in ("phase_tiny", "phase_large", "phase_body_8", "phase_methods", "phase_over")}


PROGRAMS: dict[str, Callable[[Chance], Program]] = {
    made.__name__.replace("_", " "): made
    for made in (turns, bodies, depths, suspended, c_functions, raising, library, threads)
}
TURNS = {"turns": 40, "threads": 10}


class Running:
    """A program of this process, with the number of repeats of each phase per turn."""

    def __init__(self, name: str, seed: int, scale: float) -> None:
        """Initialize; at scale 1, each phase takes about SECONDS bare."""
        self.turns = TURNS.get(name, 10)
        self.in_threads = name == "threads"
        chance = Chance(random.Random(f"{name} {seed}"))
        self.phases = PROGRAMS[name](chance)
        weights = {phase: chance.random.uniform(0.5, 1.5) for phase in self.phases}
        self.repeats = {
            phase: self._repeats(function, scale * weights[phase] * SECONDS / self.turns)
            for phase, function in self.phases.items()
        }

    def _repeats(self, phase: Phase, wanted: float) -> int:
        """Return the number of repeats that takes this time."""
        repeats, took = 1, 0.0
        while took < min(wanted, 0.004):
            repeats *= 2
            took = min(self._clocked(phase, repeats) for _ in range(3))
        return max(1, round(repeats * wanted / took))

    def _clocked(self, phase: Phase, repeats: int) -> float:
        """Return the thread's CPU time in seconds."""
        ran = thread_time()
        phase(repeats)
        return thread_time() - ran

    def run(self) -> dict[str, float]:
        """Run the program once. Return {phase: CPU seconds}."""
        took = dict.fromkeys(self.phases, 0.0)
        clocked = self._beside if self.in_threads else self._clocked
        for _ in range(self.turns):
            for name, phase in self.phases.items():
                took[name] += clocked(phase, self.repeats[name])
        return took

    def _beside(self, phase: Phase, repeats: int) -> float:
        took: list[float] = []
        thread = Thread(target=lambda: took.append(self._clocked(phase, repeats)))
        thread.start()
        thread.join()
        return took[0]
