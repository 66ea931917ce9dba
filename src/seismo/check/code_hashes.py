"""What the functions of a file consist of, as hashes: they say which changed, and find those that were renamed.

A hash is of the syntax tree: neither comments, nor blanks, nor where it stands in the file make a difference, nor does
the function's own name, nor what is defined in it, which has a hash of its own. The code of a module and of a class is
what stands in it beside its functions and classes.
"""

from __future__ import annotations

import ast
import hashlib
from typing import Any

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def code_hashes_of(text: str) -> dict[str, str]:
    """{qualname: hash} of all that is defined in a source file, `<module>` too; {} if it cannot be parsed."""
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
    """Notes the code of one scope, and those of the scopes in it."""
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
    """Takes the bodies out of inner scopes, and notes the scopes."""

    def __init__(self, inner: list[Scope]) -> None:
        self.inner = inner

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, SCOPES):
            self.inner.append(node)
            return ast.Pass()
        return self.generic_visit(node)
