"""A program with many distinct paths: a few functions that call each other in every order.

Each call is a new path: with WIDTH functions and a depth d there are WIDTH + WIDTH^2 + ... + WIDTH^d paths under the
first, and as many calls.
"""

from __future__ import annotations

from collections.abc import Callable

Function = Callable[[int], None]
TEMPLATE = """
def f{0}(depth):
    if depth:
        for function in functions:
            function(depth - 1)
"""


def make(width: int) -> list[Function]:
    """`width` functions with code objects of their own; each calls all of them with one less, down to nought."""
    functions: list[Function] = []
    scope: dict[str, object] = {"functions": functions}
    for i in range(width):
        exec(compile(TEMPLATE.format(i), f"paths_{i}.py", "exec"), scope)
        function = scope[f"f{i}"]
        assert callable(function)
        functions.append(function)
    return functions


def count(width: int, depth: int) -> int:
    """How many distinct paths a walk of this width and depth makes, the first function's own among them."""
    return sum(width**level for level in range(depth + 1))
