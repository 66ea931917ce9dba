"""Which events one wants: the one language of `where`, `watch` and `--where` (docs/expressions.md).

    expression = parse('call and module("app.db") and duration > 50ms')
    expression.program                  for _core.Filter: the native part decides, mostly once a code object
    expression.evaluate({"kind": "call", "module": "app.db", "duration": 60_000_000, ...})    the same in Python

A process that is recorded imports this, so it does without re, typing and dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Protocol

    class Facts(Protocol):
        """What is known of an event or a row: a dict, or anything that finds a fact when it is asked for it.

        Names and values: kind (str, one of KINDS), module, qualname, file (str), line (int: where it is; for a function
        its first), callee (the (module, qualname) of a C function that is called), thread, task (str; "": none),
        exception (an exception or its class; or, read from a recording, the names of it and its bases; False: none),
        depth, calls (int), duration, own (ns), arg, value (objects whose get(name, default) gives a variable).
        None, or nothing: not known.
        """

        def get(self, name: str, /) -> object: ...


KINDS = (
    "call",
    "resume",
    "throw",
    "return",
    "yield",
    "unwind",
    "c_call",
    "c_return",
    "c_raise",
    "line",
    "raise",
    "stop_iteration",
    "opcode",
)  # numbered as sm_event_kind in native/event/filter.h


class Expression:
    """A checked expression. `str()` is its canonical text; equal expressions are equal and hash alike.

    kinds: the names of the KINDS of events for which it can be true. names_kind: whether the text names any kind; if
    not, the reader may have a kind of his own in mind. program: for _core.Filter. needs: the names of the facts it has
    terms about ("module", "duration", "arg" ...). needs_python: whether arg() or value() is among them.
    """

    kinds: frozenset[str]
    names_kind: bool
    program: bytes
    needs: frozenset[str]
    needs_python: bool

    def evaluate(self, facts: Facts) -> bool | None:
        """Whether an event with these facts is wanted. None: that depends on what is not known."""
        raise NotImplementedError

    def evaluate_term(self, number: int, facts: Facts) -> bool | None:
        """The arg() or value() term of this number alone (sm_facts.python asks for it), with facts `arg` or `value`."""
        raise NotImplementedError

    def only(self, terms: Collection[str], why: str) -> Expression:
        """Itself, if it uses no other terms and kinds than these; else UsageError at the first other one.

        why: a plain sentence that says why no other is possible here.
        """
        raise NotImplementedError


def parse(text: str) -> Expression:
    """The expression of this text. UsageError with the column and a hint for what is none."""
    raise NotImplementedError
