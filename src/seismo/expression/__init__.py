"""Which events one wants: the one language of `where`, `watch` and `--where` (docs/expressions.md).

    expression = parse('call and module("app.db") and duration > 50ms')
    expression.program                  for _core.Filter: the native part decides, mostly once a code object
    expression.evaluate({"kind": "call", "module": "app.db", "duration": 60_000_000, ...})    the same in Python

A process that is recorded imports this, so it does without re, typing and dataclasses.
"""

from __future__ import annotations

from seismo.errors import UsageError
from seismo.expression.lexer import fail
from seismo.expression.parser import read
from seismo.expression.program import LEAST, MOST, Program
from seismo.expression.terms import BITS, KINDS, Kind, Number, Text, Variable
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Protocol

    from seismo.expression.terms import Term

    class Facts(Protocol):
        """What is known of an event or a row: a dict, or anything that finds a fact when it is asked for it.

        Names and values: kind (str, one of KINDS), module, qualname, file (str), line (int: where it is; for a function
        its first), callee (the (module, qualname) of a C function that is called), thread, task (str; "": none),
        exception (an exception or its class; or, read from a recording, the names of it and its bases; False: none),
        depth, calls (int), duration, own (ns), arg, value (objects whose get(name, default) gives a variable).
        None, or nothing: not known.
        """

        def get(self, name: str, /) -> object:
            """The fact of this name."""


__all__ = ["KINDS", "Expression", "Facts", "parse"]


class Expression:
    """A checked expression. `str()` is its canonical text; equal expressions are equal and hash alike.

    kinds: the names of the KINDS of events for which it can be true. names_kind: whether the text names any kind; if
    not, the reader may have a kind of his own in mind. program: for _core.Filter. needs: the names of the facts it has
    terms about ("module", "duration", "arg" ...; "name" and "callee" stand for the patterns of a kind). needs_python:
    whether arg() or value() is among them. text: what was parsed.
    """

    __slots__ = ("_canonical", "_root", "_terms", "_variables", "kinds", "names_kind", "needs", "program", "text")

    def __init__(self, root: Term, text: str) -> None:
        self._root = root
        self.text = text
        self._canonical = root.text()
        self._terms = list(root.terms())
        self._variables = [term for term in self._terms if isinstance(term, Variable)]
        for number, variable in enumerate(self._variables):
            variable.number = number
        yes, maybe = root.possible()
        self.kinds = frozenset(kind for kind in KINDS if (yes | maybe) & BITS[kind])
        self.names_kind = any(isinstance(term, Kind) for term in self._terms)
        self.needs = frozenset(fact for term in self._terms for fact in term.facts())
        program = Program()
        root.emit(program)
        self.program = program.finish()

    @property
    def needs_python(self) -> bool:
        """Whether there are terms that only Python can decide."""
        return bool(self._variables)

    @property
    def named(self) -> frozenset[str]:
        """The kinds that the text names."""
        return frozenset(term.kind for term in self._terms if isinstance(term, Kind))

    def bounds(self, fact: str) -> list[int]:
        """The numbers from which on another answer is possible, as far as this fact (`duration` ...) decides."""
        ranges = [
            span for term in self._terms if isinstance(term, Number) and term.fact == fact for span in term.inside()
        ]
        return sorted({low for low, _ in ranges if low > LEAST} | {high + 1 for _, high in ranges if high < MOST})

    def evaluate(self, facts: Facts) -> bool | None:
        """Whether an event with these facts is wanted. None: that depends on what is not known."""
        return self._root.decide(facts)

    def evaluate_term(self, number: int, facts: Facts) -> bool | None:
        """The arg() or value() term of this number alone (sm_facts.python asks for it), with facts `arg` or `value`."""
        return self._variables[number].decide(facts)

    def only(self, terms: Collection[str], kinds: Collection[str], why: str) -> Expression:
        """Itself, if it has terms about these facts and names these kinds only; else UsageError at the first other one.

        why: a plain sentence that says why no other is possible here. Patterns of a kind are facts "name" and "callee"
        in `needs`, but part of their kind here.
        """
        for term in self._terms:
            if isinstance(term, Kind):
                word = "" if term.kind in kinds else term.kind
            else:
                word = next((fact for fact in term.facts() if fact not in terms), "")
            if word:
                fail(self.text, term.column, f"{word} cannot be used here", why)
        return self

    def with_main(self, module: str) -> Expression:
        """The same, where the module of this name runs as the main program: what is said of it holds for __main__."""
        root = read(self.text)
        for term in root.terms():
            for part in term.parts if isinstance(term, Kind) else (term,):
                if isinstance(part, Text) and part.fact in ("name", "module"):
                    part.patterns += tuple(
                        "__main__" + pattern[len(module) :]
                        for pattern in part.patterns
                        if pattern.startswith(module + ".") or (pattern == module and part.fact == "module")
                    )
        return Expression(root, root.text())

    def with_script(self, path: str) -> Expression:
        """The same, where the program is a script of this path: a file that may be it, is it, and no other."""
        root = read(self.text)
        for term in root.terms():
            for part in term.parts if isinstance(term, Kind) else (term,):
                if isinstance(part, Text) and part.fact == "file":
                    part.script = path
        return Expression(root, self.text)

    def __str__(self) -> str:
        return self._canonical

    def __repr__(self) -> str:
        return f"<seismo expression {self._canonical}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other._canonical == self._canonical

    def __hash__(self) -> int:
        return hash(self._canonical)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return parse, (self.text,)


def parse(text: str) -> Expression:
    """The expression of this text. UsageError with the column and a hint for what is none."""
    if not isinstance(text, str):
        raise UsageError(
            f"an expression must be a str, not {type(text).__name__}", hint='such as: call and module("app.*")'
        )
    expression = Expression(read(text), text)
    if not expression.kinds:
        fail(
            text,
            0,
            "no event can ever match this",
            "an event has one kind: join several kinds with or; only some kinds have duration, own and exception",
        )
    return expression
