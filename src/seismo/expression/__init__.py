"""The expression language of `where`, `watch` and `--where`, which selects events (docs/expressions.md).

    expression = parse('call and module("app.db") and duration > 50ms')
    expression.program                  for _core.Filter: native evaluation, mostly once per code object
    expression.evaluate({"kind": "call", "module": "app.db", "duration": 60_000_000, ...})    the same in Python

Recorded processes import this package, so it avoids re, typing and dataclasses.
"""

from __future__ import annotations

from seismo.errors import UsageError
from seismo.expression.compiler import LEAST, MOST, Program
from seismo.expression.lexer import fail
from seismo.expression.parser import read
from seismo.expression.terms import KINDS, Kind, Number, Term, Text, Variable
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Protocol

    class Facts(Protocol):
        """The known facts about an event or a row: a dict, or an object that finds a fact on demand.

        kind: str, one of KINDS
        module, qualname, file, thread, task: str; thread and task are "" if there is none
        line: int, the current line; for a function, its first
        callee: (module, qualname) of the C function that is called
        exception: an exception or its class; from a recording, the names of it and its bases; False if there is none
        depth, calls: int
        duration, own: ns
        arg, value: objects whose get(name, default) returns a variable

        A fact that is None or missing is unknown.
        """

        def get(self, name: str, /) -> object:
            """Return the fact of this name."""


__all__ = ["KINDS", "Expression", "Facts", "parse"]


class Expression:
    """A checked expression. `str()` returns its canonical text, by which expressions compare and hash.

    kinds: the names of the KINDS of events for which it can be true
    program: the program for _core.Filter
    needs: names of the facts in its terms ("module", "duration", "arg" ...); "name" and "callee" stand for patterns of
    a kind
    needs_python: True if arg() or value() is among them
    text: the source text
    """

    __slots__ = ("_canonical", "_root", "_terms", "_variables", "kinds", "needs", "program", "text")

    def __init__(self, root: Term, text: str) -> None:
        self._root = root
        self.text = text
        self._canonical = root.text()
        self._terms = list(root.terms())
        self._variables = [term for term in self._terms if isinstance(term, Variable)]
        for number, variable in enumerate(self._variables):
            variable.number = number
        self.kinds = frozenset(kind for kind in KINDS if root.decide({"kind": kind}) is not False)
        self.needs = frozenset(fact for term in self._terms for fact in term.facts())
        program = Program()
        root.emit(program)
        self.program = program.finish()

    @property
    def needs_python(self) -> bool:
        """Return True if some terms can only be decided in Python."""
        return bool(self._variables)

    @property
    def named(self) -> frozenset[str]:
        """Return the kinds that the text names; if there is none, the caller may choose a default kind."""
        return frozenset(term.kind for term in self._terms if isinstance(term, Kind))

    def patterns(self) -> list[tuple[str, list[str]]]:
        """Return the word of each term with patterns, and these; the lines of `line("app/pay.py", 120)` follow them."""
        found: list[tuple[str, list[str]]] = []
        for term in self._terms:
            if isinstance(term, Text):
                found.append((term.fact, list(term.patterns)))
            elif isinstance(term, Kind) and term.parts:
                parts = (part.patterns if isinstance(part, Text) else part.listed() for part in term.parts)
                found.append((term.kind, [text for of_part in parts for text in of_part]))
        return found

    def bounds(self, fact: str) -> list[int]:
        """Return the values at which terms about this number (`duration` ...) change their result, sorted."""
        ranges = [
            span for term in self._terms if isinstance(term, Number) and term.fact == fact for span in term.inside()
        ]
        return sorted({low for low, _ in ranges if low > LEAST} | {high + 1 for _, high in ranges if high < MOST})

    def evaluate(self, facts: Facts) -> bool | None:
        """Return True if an event with these facts matches, False if not, or None if unknown facts decide."""
        return self._root.decide(facts)

    def evaluate_term(self, number: int, facts: Facts) -> bool | None:
        """Decide the arg() or value() term of this number (for sm_facts.python), with facts `arg` or `value`."""
        return self._variables[number].decide(facts)

    def only(self, terms: Collection[str], kinds: Collection[str], why: str) -> Expression:
        """Return self if it has only terms about these facts and kinds. Raise UsageError at the first other term.

        why: a sentence that explains the limits. Patterns of a kind count as part of their kind here, although `needs`
        lists them as "name" and "callee".
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
        """Return the expression for a run of this module as the main program: its patterns also match __main__."""
        root = read(self.text)
        for part in _texts(root, "name", "module"):
            part.patterns += tuple(
                "__main__" + pattern[len(module) :]
                for pattern in part.patterns
                if pattern.startswith(module + ".") or (pattern == module and part.fact == "module")
            )
        return Expression(root, root.text())

    def with_script(self, path: str) -> Expression:
        """Return the expression for a run of this script, which file patterns can then mean (see terms.paths_of)."""
        root = read(self.text)
        for part in _texts(root, "file"):
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


def _texts(root: Term, *facts: str) -> Iterator[Text]:
    """Yield the terms that match patterns with one of these facts."""
    for term in root.terms():
        for part in term.parts if isinstance(term, Kind) else (term,):
            if isinstance(part, Text) and part.fact in facts:
                yield part


def parse(text: str) -> Expression:
    """Parse the text and return its expression. Raise UsageError with the column and a hint if it is invalid."""
    if not isinstance(text, str):
        raise UsageError(
            f"an expression must be a str, not {type(text).__name__}", hint='such as: call and module("app.*")'
        )
    expression = Expression(read(text), text)
    if not expression.kinds:
        hint = "an event has one kind: join several kinds with or; only some kinds have duration, own and exception"
        fail(text, 0, "no event can ever match this", hint)
    return expression
