"""Hashes of the code of a file's functions, which reveal changed and renamed functions.

A hash covers the syntax tree without comments, blanks and positions, without the function's own name, and without inner
definitions, which have their own hashes. The code of a module or class is its body without functions and classes.
"""

from __future__ import annotations

import ast
import hashlib
from typing import Any

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def code_hashes_of(text: str) -> dict[str, str]:
    """Return {qualname: hash} for all definitions in a source file, including `<module>`; {} if it cannot be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    parts: dict[str, list[str]] = {}
    try:
        _visit(tree.body, "", "<module>", parts, [])
    except RecursionError:
        return {}
    return {name: _hash("\n".join(found)) for name, found in parts.items()}


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _visit(body: list[ast.stmt], prefix: str, name: str, parts: dict[str, list[str]], head: list[ast.AST]) -> None:
    inner: list[Scope] = []
    shell = _Shell(inner)
    dumped = [ast.dump(node) for node in head]
    dumped += [ast.dump(shell.visit(statement)) for statement in body]
    parts.setdefault(name, []).append("\n".join(dumped))
    for scope in inner:
        qualname = f"{prefix}{scope.name}"
        if isinstance(scope, ast.ClassDef):
            _visit(scope.body, f"{qualname}.", qualname, parts, [*scope.bases, *scope.keywords, *scope.decorator_list])
        else:
            _visit(scope.body, f"{qualname}.<locals>.", qualname, parts, [scope.args, *scope.decorator_list])


class _Shell(ast.NodeTransformer):
    """A transformer that removes inner scopes from a tree and collects them."""

    def __init__(self, inner: list[Scope]) -> None:
        self.inner = inner

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, SCOPES):
            self.inner.append(node)
            return ast.Pass()
        return self.generic_visit(node)
