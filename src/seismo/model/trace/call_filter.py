"""Filters for the calls of a trace: an expression compiled to tables that the core looks up for each call.

Conditions on a call's function are evaluated here, once per function (and thread, if the expression uses threads). The
remaining conditions depend on numbers of each call. Their ranges are divided into cells within which the result is
constant, and the table has a result for each cell.
"""

from __future__ import annotations

import array
import itertools
from typing import TYPE_CHECKING, Any

from seismo.errors import UsageError
from seismo.expression import Expression, parse

if TYPE_CHECKING:
    from seismo.model.recording import Recording

TERMS = ("module", "function", "qualname", "file", "line", "thread", "duration", "own", "depth")
KINDS = ("call", "return", "unwind", "yield", "c_call", "c_return", "c_raise")
WHY = f"a trace has these facts about a call: {', '.join(TERMS)}, and how it ended ({', '.join(KINDS)})"

_NUMBERS = ("duration", "own", "depth")  # numbered as in native/trace/excerpt.h
_MOST_CELLS = 4096
_C = 1  # FunctionKind.C
_LEFT = (("return", "c_return"), ("unwind", "c_raise"), ("yield", ""), ("", ""))  # Python and C; numbered as there


def about_calls(where: str | Expression) -> Expression:
    """Return the parsed expression. Raise UsageError if it is invalid or uses terms that a journal lacks."""
    return parse(str(where)).only(TERMS, KINDS, WHY)


def call_filter(recording: Recording, where: str | Expression) -> dict[str, Any]:
    """Return the argument of `_core.Journal.cut`. Raise UsageError as `about_calls` does."""
    expression = about_calls(where)
    bounds = [expression.bounds(name) for name in _NUMBERS]
    cells = list(itertools.product(*([low - 1 for low in of[:1]] + of if of else [0] for of in bounds), _LEFT))
    if len(cells) > _MOST_CELLS:
        raise UsageError("the expression compares with too many numbers", str(expression), "use fewer of them")
    raw, functions = recording._raw, recording.functions
    kinds = functions["kind"].tolist()
    threads = recording.threads.strings("name") if "thread" in expression.needs else None
    classes: dict[tuple[int, str], int] = {}
    table = bytearray()
    class_of = array.array("q")
    for function, thread in zip(raw["nodes"]["function"].tolist(), raw["nodes"]["thread"].tolist(), strict=True):
        key = (function, threads[thread] if threads else "")
        number = classes.setdefault(key, len(classes))
        if number * len(cells) == len(table):
            table += _answers(expression, _facts(functions, *key), cells)
        class_of.append(number)
    return {
        "class": class_of,
        "python": array.array("q", [kinds[function] != _C for function in raw["nodes"]["function"].tolist()]),
        "table": bytes(table),
        **{name: array.array("q", of) for name, of in zip(_NUMBERS, bounds, strict=True)},
    }


def _facts(functions: Any, function: int, thread: str) -> dict[str, Any]:
    module, qualname = functions.strings("module")[function], functions.strings("qualname")[function]
    return {
        "c": functions.numbers("kind")[function] == _C,
        "module": module,
        "qualname": qualname,
        "file": functions.strings("file")[function],
        "line": functions.numbers("line")[function],
        "thread": thread,
        "callee": (module, qualname),
    }


def _answers(expression: Expression, facts: dict[str, Any], cells: list[Any]) -> bytes:
    """Return 0 or 1 for each cell. A call is chosen by its start, or by its end if the expression names ends."""
    is_c = facts["c"]
    begins = "c_call" if is_c else "call"
    settled = expression.evaluate({**facts, "kind": begins})
    if settled is not None and not expression.named - {"call", "c_call"}:
        return bytes([settled]) * len(cells)
    answers = bytearray()
    for duration, own, depth, left in cells:
        known = {**facts, "duration": duration, "own": own, "depth": depth}
        asked = [begins, *({left[is_c]} & expression.named)]
        answers.append(any(expression.evaluate({**known, "kind": kind}) is True for kind in asked))
    return bytes(answers)
