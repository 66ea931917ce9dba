"""Random programs that run to their end: functions of nested statements.

All that is decided is asked of `c()`, which answers from a list and at last says no for ever. So every `while` ends,
and whatever a `finally` swallows, nothing runs for long.
"""

import sys
import textwrap

# A branch is known by its jump, and what follows on the same line is taken to have been passed, up to the next line.
# A trace function also hears of what calls raise there, on the way to a `with` that goes on behind it. From 3.12 on,
# only a trace function hears that the line returns or raises through a `with`.
ONE_WAY_A_LINE = sys.version_info >= (3, 12)

PRELUDE = """
class A(Exception):
    pass
class B(Exception):
    pass
class W:
    def __init__(self, quiet):
        self.quiet = quiet
    def __enter__(self):
        return self
    def __exit__(self, *exc):
        if self.quiet == 2 and exc[0] is None:
            raise A
        return self.quiet == 1
    async def __aenter__(self):
        return self
    async def __aexit__(self, *exc):
        return self.quiet == 1
class N:
    def __init__(self, count):
        self.left = count
    def __aiter__(self):
        return self
    async def __anext__(self):
        if not self.left:
            raise StopAsyncIteration
        self.left -= 1
        return self.left
answers = []
def c():
    return answers.pop() if answers else 0
def e(error=A):
    if c():
        raise error
    return 0
"""

EPILOGUE = """
def call(function):
    try:
        made = function()
        if hasattr(made, "__anext__"):
            made = made.__anext__()
        if hasattr(made, "send"):
            for i in range(9):
                if i == 4 and hasattr(made, "throw"):
                    made.throw(B)
                made.send(None)
    except Exception:
        pass
"""


class Program:
    """Lines of source, made of a stream of random choices. random: a random.Random."""

    def __init__(self, random):
        self.random = random
        self.lines = []
        self.statements = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def add(self, depth, text):
        self.lines.append("    " * depth + text)

    def head(self, depth, text, place):
        """A clause; place: letters of what may stand here: l in a loop, s in except*, g in a generator, a in async."""
        if self.chance(8):
            harmless = ONE_WAY_A_LINE or self.chance(50)
            self.add(depth, f"{text} {self.pick('x = 1', 'pass') if harmless else self.ending(place)}")
            return
        self.add(depth, text)
        for _ in range(self.pick(1, 1, 1, 2, 2, 3)):
            self.statement(depth + 1, place)

    def simple(self):
        return self.pick(
            "x = 1", "pass", "e()", "x = c()", "e(B)", "x = [i for i in range(2) if c()]", "assert not c()"
        )

    def condition(self):
        return self.pick(*["c()"] * 8, "c() and c()", "c() or c()", "not c()", "x", "(c() if c() else x)", "True", "0")

    def ending(self, place):
        choices = ["raise A", "raise A", "raise B"]
        if "s" not in place:
            choices += ["return", "return c()"] if place.count("g") + place.count("a") < 2 else ["return"]
        choices += ["break", "continue"] * 2 * ("l" in place)
        if "h" in place:
            choices += ["raise"]
        return self.pick(*choices)

    def statement(self, depth, place):
        self.statements += 1
        kinds = ["simple"] * 3 + ["ending"]
        if depth < 6 and self.statements < 40:
            kinds += ["choice"] * 3 + ["loop", "repeat", "attempt", "attempt", "attempt", "block", "match"]
        if "g" in place:
            kinds.append("suspend")
        getattr(self, "make_" + self.pick(*kinds))(depth, place)

    def make_simple(self, depth, place):
        if self.chance(10):
            self.add(depth, "x = (c(),")
            self.add(depth + 1, "e())")
            return
        self.add(depth, self.simple())

    def make_ending(self, depth, place):
        if self.chance(70):
            self.add(depth, f"if {self.condition()}:")
            depth += 1
        self.add(depth, self.ending(place))

    def make_suspend(self, depth, place):
        self.add(depth, self.pick("yield", "x = yield c()", "yield from [1, 2]") if "a" not in place else "yield 1")

    def make_choice(self, depth, place):
        self.head(depth, f"if {self.condition()}:", place)
        for _ in range(self.pick(0, 0, 0, 1, 2)):
            self.head(depth, f"elif {self.condition()}:", place)
        if self.chance(40):
            self.head(depth, "else:", place)

    def make_loop(self, depth, place):
        word = (
            "async for x in N(c())" if "a" in place and self.chance(50) else f"for x in range({self.pick(1, 2, 'c()')})"
        )
        self.head(depth, f"{word}:", place + "l")
        if self.chance(25):
            self.head(depth, "else:", place)

    def make_repeat(self, depth, place):
        self.head(depth, f"while {self.pick('c()', 'c()', 'c() and not x', 'not not c()')}:", place + "l")
        if self.chance(25):
            self.head(depth, "else:", place)

    def make_attempt(self, depth, place):
        self.head(depth, "try:", place)
        handlers = self.pick(0, 1, 1, 2)
        star = "*" if self.chance(8) else ""
        inside = (place.replace("l", "") + "s" if star else place) + "h"
        for _ in range(handlers):
            self.head(depth, f"except{star} {self.pick('A', 'B', '(A, B)', 'A as error')}:", inside)
        if handlers and not star and self.chance(25):
            self.head(depth, "except:", place + "h")
        if handlers and self.chance(25):
            self.head(depth, "else:", place)
        if not handlers or self.chance(50):
            self.head(depth, "finally:", place)

    def make_block(self, depth, place):
        word = "async with" if "a" in place and self.chance(50) else "with"
        items = self.pick("W(0)", "W(0)", "W(0) as x", "W(1)", "W(c())", "W(2)", "W(0), W(c())", "W(1), W(0)")
        self.head(depth, f"{word} {items}:", place)

    def make_match(self, depth, place):
        self.add(depth, "match c():")
        for _ in range(self.pick(1, 1, 2)):
            self.head(depth + 1, f"case {self.pick('0', '1', '2', '0 | 2', 'x if x', 'x if c()')}:", place)
        if self.chance(50):
            self.head(depth + 1, f"case {self.pick('_', 'x', '1')}:", place)

    def function(self, name):
        self.statements = 0
        place = self.pick("", "", "", "", "g", "a", "ag")
        self.add(0, f"{'async ' * ('a' in place)}def {name}():")
        self.add(1, "x = 0")
        if "g" in place:
            self.add(1, "yield 0")
        for _ in range(self.random.randint(1, 3)):
            self.statement(1, place)


def program(random):
    """The text of a module that runs for some milliseconds at most. Python takes it unless `SyntaxError` says no."""
    made = Program(random)
    names = [f"f{i}" for i in range(random.randint(1, 3))]
    for name in names:
        made.function(name)
    runs = [
        f"answers[:] = {[random.choice((0, 0, 1)) for _ in range(random.choice((3, 8, 30)))]}; call({name})"
        for name in names
        for _ in range(random.randint(1, 6))
    ]
    return textwrap.dedent(PRELUDE + "\n".join(made.lines) + "\n" + EPILOGUE) + "\n".join(runs) + "\n"
