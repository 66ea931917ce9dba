"""Syntax trees of Python files, for tests that hold what the repository's own text must be."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node consists of, without the expressions: they are most of it, and hold no import or function."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from statements(child)
