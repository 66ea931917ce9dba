"""The syntax tree of an expression: terms and the operators that join them.

Each class can return its canonical text (`text`), append itself to a native program (`emit`) and decide an event in
Python (`decide`): True, False, or None if unknown facts decide.
"""

from __future__ import annotations

import os

from seismo.expression.compiler import AND, KIND, LEAST, MOST, NOT, OR, PYTHON, RANGE, TEXT, Program
from seismo.expression.glob import matches
from seismo.expression.lexer import quoted
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.expression import Facts

    Ranges = tuple[tuple[int, int], ...]
    Literal = str | int | float | bool | None

KINDS = (  # numbered like sm_event_kind in native/filter/filter.h
    *("call", "resume", "throw", "return", "yield", "unwind", "c_call", "c_return", "c_raise"),
    *("line", "raise", "stop_iteration", "opcode"),
)
UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

_OF_C = ("c_call", "c_return", "c_raise")
_TIMED = ("call", "return", "unwind", *_OF_C)
# The kinds of events that can have a fact, by default all, as in native/filter/filter.c.
AVAILABLE = {
    "callee": _OF_C,
    "exception": ("call", "throw", "unwind", "raise", "stop_iteration", "c_call", "c_raise"),
    "duration": _TIMED,
    "own": _TIMED,
}


def lacks(fact: str, facts: Facts) -> bool:
    """Return True if events of this kind never have such a fact."""
    kind = facts.get("kind")
    return kind is not None and kind not in AVAILABLE.get(fact, KINDS)


class Term:
    """A predicate on events, or several joined. column: its position in the text, from 0."""

    __slots__ = ("column",)
    column: int

    if TYPE_CHECKING:

        def text(self) -> str: ...
        def emit(self, program: Program) -> None: ...
        def decide(self, facts: Facts) -> bool | None: ...

    def terms(self) -> Iterator[Term]:
        """Yield all terms that are joined in it, from left to right."""
        yield self

    def facts(self) -> tuple[str, ...]:
        """Return the names of the facts that it needs."""
        return ()


class _OfFact(Term):
    """A predicate on one fact."""

    __slots__ = ("fact",)
    fact: str

    def facts(self) -> tuple[str, ...]:
        return (self.fact,)


class Text(_OfFact):
    """`module("app.*", "lib")`: a pattern matches. script: path of the program's script, for files (see `paths_of`)."""

    __slots__ = ("patterns", "script")

    def __init__(self, column: int, fact: str, patterns: tuple[str, ...]) -> None:
        self.column, self.fact, self.patterns, self.script = column, fact, patterns, ""

    def _held(self) -> tuple[str, ...]:
        """Return the patterns to compare with the fact."""
        if self.fact != "file":
            return self.patterns
        return tuple(path for pattern in self.patterns for path in paths_of(pattern, self.script))

    def text(self) -> str:
        return f"{self.fact}({', '.join(map(quoted, self.patterns))})"

    def emit(self, program: Program) -> None:
        patterns = self._held()
        program.add(TEXT, self.fact, len(patterns), program.strings(patterns))

    def decide(self, facts: Facts) -> bool | None:
        if lacks(self.fact, facts):
            return False
        patterns = self._held()
        names, whole = _texts(self.fact, facts)
        if any(matches(pattern, name) for pattern in patterns for name in names):
            return True
        return False if whole else None


def paths_of(pattern: str, script: str) -> tuple[str, ...]:
    """Return the patterns of full paths for a file's pattern. script: path of the program's script, or "".

    An absolute pattern is unchanged. One that begins with ./ is relative to the current folder. A pattern that can mean
    the program's script means only that file, so other files of its name need a longer path. Any other pattern also
    matches after any slash.
    """
    if pattern.startswith("/"):
        return (pattern,)
    if pattern.startswith("./"):
        rest = pattern
        while rest.startswith("./"):
            rest = rest[2:].lstrip("/")
        here = _literal(_folder()) + rest
        own = (_literal(script),) if script and matches(here, _flat(script)) else ()
        return (rest, "./" + rest, here, *own)
    if script and not any(char in pattern for char in "*?[") and _flat(script).endswith("/" + pattern):
        return (_literal(script),)
    return (pattern, "*/" + pattern)


def _folder() -> str:
    try:
        return os.getcwd().rstrip("/") + "/"
    except OSError:
        return "./"


def _flat(path: str) -> str:
    """Return the path without folders named `.`, which the path of a script has if it was run as ./app.py."""
    return path.replace("/./", "/")


def _literal(path: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


def _texts(fact: str, facts: Facts) -> tuple[tuple[str, ...], bool]:
    """Return the texts to match patterns of this fact with, and True if they are complete."""
    if fact in ("name", "callee"):
        if fact == "name":
            module, qualname = facts.get("module"), facts.get("qualname")
        else:
            pair = facts.get("callee")
            module, qualname = pair if isinstance(pair, tuple) else (None, None)
        if not isinstance(qualname, str):
            return (), False
        names = (qualname, qualname.rpartition(".")[2])
        full = (f"{module}.{qualname}", f"{module}:{qualname}") if module else ()
        return (*names, *full), module is not None
    if fact == "exception":
        return _exception_names(facts.get("exception"))
    found = facts.get("qualname" if fact == "function" else fact)
    if not isinstance(found, str):
        return (), False
    if fact == "function":
        return (found.rpartition(".")[2],), True
    if not found and fact in ("thread", "task"):  # there is no such thread or task
        return (), True
    return (found,), True


def _exception_names(exception: object) -> tuple[tuple[str, ...], bool]:
    if exception is None:
        return (), False
    if exception is False:
        return (), True
    if isinstance(exception, (tuple, list)):
        return tuple(map(str, exception)), True
    kind = exception if isinstance(exception, type) else type(exception)
    names: list[str] = []
    for base in type.__dict__["__mro__"].__get__(kind):
        name, qualname = type.__dict__["__name__"].__get__(base), type.__dict__["__qualname__"].__get__(base)
        names.append(name)
        try:
            module = type.__dict__["__module__"].__get__(base)
        except AttributeError:  # the program deleted it
            continue
        if type(module) is str:
            names += [f"{module}.{name}", f"{module}.{qualname}"]
    return tuple(names), True


class Number(_OfFact):
    """`depth > 3`, `line in (10-20, 30)`: a number is inside one of the ranges."""

    __slots__ = ("operator", "ranges")

    def __init__(self, column: int, fact: str, operator: str, ranges: Ranges) -> None:
        self.column, self.fact, self.operator, self.ranges = column, fact, operator, ranges

    def text(self) -> str:
        if self.operator == "in":
            return f"{self.fact} in ({', '.join(self.listed())})"
        return f"{self.fact} {self.operator} {self._shown(self.ranges[0][0])}"

    def _shown(self, value: int) -> str:
        if self.fact not in ("duration", "own"):
            return str(value)
        units = [unit for unit, size in UNITS.items() if value % size == 0 and value]
        unit = units[-1] if units else "ns"
        return f"{value // UNITS[unit]}{unit}"

    def listed(self) -> list[str]:
        """Return the ranges as text."""
        shown = [(self._shown(low), self._shown(high)) for low, high in self.ranges]
        return [low if low == high else f"{low}-{high}" for low, high in shown]

    def inside(self) -> Ranges:
        """Return the ranges of whole numbers that satisfy it."""
        if self.operator == "in":
            return self.ranges
        value = self.ranges[0][0]
        below, above = ((LEAST, value - 1),), ((value + 1, MOST),) if value < MOST else ()
        return {
            "==": ((value, value),),
            "!=": (*below, *above),
            "<": below,
            "<=": ((LEAST, value),),
            ">": above,
            ">=": ((value, MOST),),
        }[self.operator]

    def emit(self, program: Program) -> None:
        ranges = self.inside()
        program.add(RANGE, self.fact, len(ranges), program.ranges(ranges))

    def decide(self, facts: Facts) -> bool | None:
        if lacks(self.fact, facts):
            return False
        value = facts.get(self.fact)
        if not isinstance(value, (int, float)) or value - value != 0:  # infinite or NaN
            return None
        return any(low <= int(value) <= high for low, high in self.inside())


class Kind(Term):
    """`call`, `call("app.*.save")`, `line("app/pay.py", 120)`: the kind of the event."""

    __slots__ = ("kind", "parts")

    def __init__(self, column: int, kind: str, parts: tuple[Text | Number, ...] = ()) -> None:
        self.column, self.kind, self.parts = column, kind, parts

    def text(self) -> str:
        shown = [
            text
            for part in self.parts
            for text in (map(quoted, part.patterns) if isinstance(part, Text) else part.listed())
        ]
        return f"{self.kind}({', '.join(shown)})" if shown else self.kind

    def facts(self) -> tuple[str, ...]:
        return tuple(fact for part in self.parts for fact in part.facts())

    def emit(self, program: Program) -> None:
        program.add(KIND, count=0, at=1 << KINDS.index(self.kind))
        for part in self.parts:
            part.emit(program)
        if self.parts:
            program.add(AND, count=1 + len(self.parts))

    def decide(self, facts: Facts) -> bool | None:
        kind = facts.get("kind")
        if kind is not None and kind != self.kind:
            return False
        values = [part.decide(facts) for part in self.parts]
        return False if False in values else None if kind is None or None in values else True


class Variable(_OfFact):
    """`arg("user").id == 7`: a comparison that Python decides. number: its position among these terms, from 0."""

    __slots__ = ("literals", "lookup", "name", "number", "operator", "path")

    def __init__(self, column: int, fact: str, name: str, path: tuple[tuple[str, str | int], ...]) -> None:
        self.column, self.fact, self.name, self.path = column, fact, name, path
        self.operator = "=="
        self.literals: tuple[Literal, ...] = ()
        self.number = 0
        from seismo.expression import value_lookup  # at once, so that nothing is imported in the middle of a program

        self.lookup = value_lookup

    def text(self) -> str:
        path = "".join(f".{key}" if how == "." else f"[{literal_text(key)}]" for how, key in self.path)
        literals = ", ".join(map(literal_text, self.literals))
        if self.operator in ("in", "not in"):
            literals = f"({literals})"
        return f"{self.fact}({quoted(self.name)}){path} {self.operator} {literals}"

    def emit(self, program: Program) -> None:
        program.add(PYTHON, self.fact, at=program.strings((self.name,)))

    def decide(self, facts: Facts) -> bool | None:
        variables = facts.get(self.fact)
        if variables is None:
            return None
        value = variables.get(self.name, self.lookup.MISSING)  # type: ignore[attr-defined]
        return self.lookup.compares(self.lookup.follow(value, self.path), self.operator, self.literals)


def literal_text(value: Literal) -> str:
    """Return a literal as source text of an expression."""
    return quoted(value) if isinstance(value, str) else repr(value)


class Not(Term):
    """`not TERM`."""

    __slots__ = ("operand",)

    def __init__(self, column: int, operand: Term) -> None:
        self.column, self.operand = column, operand

    def text(self) -> str:
        inner = self.operand.text()
        return f"not ({inner})" if isinstance(self.operand, Join) else f"not {inner}"

    def emit(self, program: Program) -> None:
        self.operand.emit(program)
        program.add(NOT)

    def decide(self, facts: Facts) -> bool | None:
        value = self.operand.decide(facts)
        return None if value is None else not value

    def terms(self) -> Iterator[Term]:
        yield from self.operand.terms()


class Join(Term):
    """Two or more terms joined by one operator. Nested joins of the same operator are merged."""

    __slots__ = ("operands", "word")

    def __init__(self, column: int, word: str, operands: list[Term]) -> None:
        self.column, self.word = column, word
        self.operands: list[Term] = []
        for operand in operands:
            same = isinstance(operand, Join) and operand.word == word
            self.operands += operand.operands if isinstance(operand, Join) and same else [operand]

    def text(self) -> str:
        parts = [
            f"({operand.text()})" if isinstance(operand, Join) and self.word == "and" else operand.text()
            for operand in self.operands
        ]
        return f" {self.word} ".join(parts)

    def emit(self, program: Program) -> None:
        for operand in self.operands:
            operand.emit(program)
        program.add(AND if self.word == "and" else OR, count=len(self.operands))

    def decide(self, facts: Facts) -> bool | None:
        decisive = self.word == "or"
        unknown = False
        for operand in self.operands:
            value = operand.decide(facts)
            if value is decisive:
                return decisive
            unknown = unknown or value is None
        return None if unknown else not decisive

    def terms(self) -> Iterator[Term]:
        for operand in self.operands:
            yield from operand.terms()
