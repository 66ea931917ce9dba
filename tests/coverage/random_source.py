"""Random Python source: every statement, in the layouts that make lines hard to tell."""

import sys

from random_program import RandomText

LINES = [
    "a = 1", "b += f(a)", "pass", "global g", "import os", "del a", "assert a", "x: int = 1", "x: int", "'text'", "f()",
]  # fmt: skip
BREAKING = [
    "a = [1,{n}2]", "f(a,{n}b,{n})", 'b = """one{n}two"""', "c = {{1:{n}2}}", "x = (lambda: 0,{n}lambda:{n}1)",
    "d = a if b else ({n}c)", "e = [i for i in a{n}if i{n}for j in i]", "from os import ({n}path,{n}sep)",
    "x: int = ({n}1)", 'y = f"{{a}} {{b:>3}}" {bn}"c"', "assert ({n}a), ({n}b)", "a = 1 + {bn}2", "del (a,{n}b)",
]  # fmt: skip
CONDITIONS = [
    "a", "a and b", "not a", "f(a)", "True", "0", "not 0", "1 and 2", "0 or False", "None", "a == 'x:y'", "'é' in a",
]  # fmt: skip
BREAKING_CONDITIONS = [
    "(a and{n}b)", "f(a,{n}b)", "a or {bn}b", "[1,{n}2]", "(lambda: a)()", "{{1: 2}}", "({n}a{n})", "x[1:{n}2]",
]  # fmt: skip
COMMENTS = ["", "", "", "", "", "  # pragma: no cover", "  # pragma: no branch", "  # else: x", "  # it's"]
PATTERNS = ["1", "'a'", "[x, y]", "x if x", "x if (y)", "{'k': v}", "A(b=1)", "({n}1 |{n}2)", "(1 | 2) as z", "None"]
LAST_PATTERNS = ["_", "x", "(1 | _)", "_ if a", "(_)", "1"]


class Source(RandomText):
    def add(self, indent, text):
        """Adds a logical line; {n} are line breaks in brackets, {bn} such with a backslash."""
        text = text.replace("{{", "{").replace("}}", "}")
        inside = indent + self.pick("  ", "    ", "", " ") if text.count("{n}") else indent
        comment = self.pick(*COMMENTS) if self.chance(20) else ""
        in_string = '"""' in text
        breaks = self.pick("\n", "\n", f"{'' if in_string else comment}\n", "\n" if in_string else "\n\n")
        text = text.replace("{n}", f"{breaks}{inside}").replace("{bn}", f"\\\n{inside}")
        self.lines += f"{indent}{text}{self.pick(*COMMENTS)}".split("\n")
        if self.chance(10):
            self.lines.append(self.pick("", f"{indent}# comment", "# pragma: no cover", "   ", f"{indent}# x = 1 \\"))

    def simple(self):
        return self.pick(*BREAKING) if self.chance(30) else self.pick(*LINES)

    def statement(self, indent, depth, place):
        """place: letters of what may stand here: l in a loop, f in a function."""
        kinds = ["simple"] * 4 + ["several", "blank"] + ["ending"] * (1 + 2 * ("f" in place) + 2 * ("l" in place))
        if depth:
            kinds += ["if", "if", "for", "while", "with", "try", "try", "def", "def", "class", "match"]
        getattr(self, "make_" + self.pick(*kinds))(indent, depth, place)

    def suite(self, indent, head, depth, place):
        """A clause."""
        if self.chance(12):
            choices = ["pass", "a = 1", "f(a,{n}b)", "raise A"] + ["return"] * ("f" in place)
            body = "; ".join(self.pick(*choices) for _ in range(self.random.randint(1, 2)))
            self.add(indent, f"{head}: {body}" if self.chance(80) else f"{head}: {{bn}}{body}")
            return
        self.add(indent, f"{head}:" if self.chance(95) else f"{head} {{bn}}:")
        deeper = indent + self.pick("  ", "    ", "\t") if not indent.strip(" ") else "    "
        if self.chance(15):
            self.add(deeper, self.pick('"doc"', '"""doc{n}doc"""', "..."))
        for _ in range(self.random.randint(1, 3)):
            self.statement(deeper, depth - 1, place)

    def condition(self):
        return self.pick(*BREAKING_CONDITIONS) if self.chance(25) else self.pick(*CONDITIONS)

    def make_simple(self, indent, depth, place):
        self.add(indent, self.simple())

    def make_several(self, indent, depth, place):
        end = self.pick("", "", ";", "; {bn}") if self.chance(20) else ""
        joined = self.pick("; ", ";", "; {bn}")
        self.add(indent, joined.join(self.simple() for _ in range(2)) + end)
        if end == "; {bn}":
            self.lines[-1] = ""

    def make_blank(self, indent, depth, place):
        self.lines += self.pick([""], ["", ""], [f"{indent}# pragma: no cover"], ["  "], ["#"])

    def make_if(self, indent, depth, place):
        if self.chance(8):
            self.add(indent, self.pick("if TYPE_CHECKING:", "if 1:", "if 0:"))
            self.add(indent + " ", self.simple())
        else:
            self.suite(indent, f"if {self.condition()}", depth, place)
        for _ in range(self.pick(0, 0, 0, 1, 2)):
            self.suite(indent, f"elif {self.condition()}", depth, place)
        if self.chance(40):
            self.suite(indent, "else", depth, place)

    def make_for(self, indent, depth, place):
        asynchronous = "async " if "a" in place and self.chance(50) else ""
        self.suite(indent, f"{asynchronous}for {self.pick('i', 'i, j')} in {self.condition()}", depth, place + "l")
        if self.chance(25):
            self.suite(indent, "else", depth, place)

    def make_while(self, indent, depth, place):
        if self.chance(15):
            self.add(indent, "while True:")
            self.statement(indent + " ", depth - 1, place + "l")
            self.add(indent + " ", "pass")
        else:
            self.suite(indent, f"while {self.condition()}", depth, place + "l")
        if self.chance(25):
            self.suite(indent, "else", depth, place)

    def make_with(self, indent, depth, place):
        items = ["a", "f(a,{n}b) as c", "(a,{n} b as d)", "a, b", "(a)", "a as b, {bn}c as d"]
        items.append("(f() as a,{n}g() as b,{n})")
        asynchronous = "async " if "a" in place and self.chance(50) else ""
        self.suite(indent, f"{asynchronous}with {self.pick(*items)}", depth, place)

    def make_try(self, indent, depth, place):
        self.suite(indent, "try", depth, place)
        handlers = self.random.randint(0, 2)
        star = "*" if "l" not in place and "f" not in place and self.chance(20) else ""
        for _ in range(handlers):
            self.suite(indent, f"except{star} {self.pick('A', '(A,{n} B)', 'A as e', 'f(a) as e')}", depth, place)
        if handlers and not star and self.chance(20):
            self.suite(indent, "except", depth, place)
        if handlers and self.chance(30):
            self.suite(indent, "else", depth, place)
        if not handlers or self.chance(30):
            self.suite(indent, "finally", depth, place)

    def decorate(self, indent):
        for _ in range(self.pick(0, 0, 0, 1, 2)):
            choices = ["@a", "@a.b(1,{n}2)", "@({n}a)", "@(a{n})", "@f(lambda: 0)", "@(  # )({n}a{n})"]
            self.add(indent, self.pick(*choices))

    def make_def(self, indent, depth, place):
        self.decorate(indent)
        asynchronous = self.chance(20)
        parameters = ["", "a", "a, /, b=1, *c, d, **e", "a,{n}b", "a: int = {{1: 2}},{n}*, z", "a=lambda: 0"]
        parameters += ["{n}a: 'x:y',{n}", "*, a={n}1"]
        returns = self.pick("", "", " -> int", " -> x[1:{n}2]", " -> 'a:b'")
        generic = self.pick("[T]", "[T: (int,{n}str)]") if sys.version_info >= (3, 12) and self.chance(20) else ""
        self.suite(
            indent,
            f"{'async ' * asynchronous}def f{generic}({self.pick(*parameters)}){returns}",
            depth,
            "fa" if asynchronous else "f",
        )

    def make_class(self, indent, depth, place):
        self.decorate(indent)
        bases = ["", "()", "(B)", "(B,{n}metaclass=M)", "({n})", "(x[{{1:{n}2}}])"]
        self.suite(indent, f"class A{self.pick(*bases)}", depth, "")

    def make_match(self, indent, depth, place):
        self.add(indent, f"match {self.condition()}:")
        deeper = indent + "  "
        for _ in range(self.random.randint(0, 3)):
            self.suite(deeper, f"case {self.pick(*PATTERNS)}", depth, place)
        self.suite(deeper, f"case {self.pick(*LAST_PATTERNS)}", depth, place)

    def make_ending(self, indent, depth, place):
        choices = ["raise A", "raise A({n}a)"]
        if "f" in place:
            choices += ["return", "yield", "yield a", "x = yield ({n}a)"]
            choices += ["await a"] if "a" in place else ["return a", "return (a,{n}b)"]
        if "l" in place:
            choices += ["break", "continue"] * 2
        self.add(indent, self.pick(*choices))


def program(random):
    """The text of a module. It may be that no Python accepts it: `global` behind a use, for one."""
    source = Source(random)
    if source.chance(30):
        first = ['"doc"', '"""doc{n}doc"""', "from __future__ import annotations", "#!/usr/bin/python"]
        source.add("", source.pick(*first))
    for _ in range(random.randint(1, 5)):
        source.statement("", 3, "")
    text = "\n".join(source.lines)
    return text + source.pick("\n", "", "\n\n", "\n# end")
