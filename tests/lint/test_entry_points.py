"""What only tests use of the native core is not in what users install; tools/try_wheel.py looks into a wheel."""

import ast
import re
import types

from paths import ROOT

from seismo import _core

MODULE = ROOT / "native" / "module"
TESTING = re.compile(r"^#ifdef SM_TESTING$(.*?)^#(?:endif|else)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"\{\"(\w+)\", ")
# The functions of coverage have this prefix, which the recorder adds to a function's name.
PREFIX = "cover_"


def only_for_tests() -> set[str]:
    """Return the functions and methods that the core has only when it is built for tests."""
    parts = [part for path in MODULE.glob("*.c") for part in TESTING.findall(path.read_text())]
    return {name for part in parts for name in ENTRY.findall(part)}


def used_by_seismo() -> set[str]:
    """Return the names that the package takes of the core, as attributes, by import or as words of a call."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                # A module's function is read from the module; a method from whatever the object is called.
                found |= {node.attr} if owner == "_core" else {f".{node.attr}"}
            elif isinstance(node, ast.ImportFrom) and node.module == "seismo._core":
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "_core":
                words = {word.value for word in node.args[:1] if isinstance(word, ast.Constant)}
                found |= words | {f"{PREFIX}{word}" for word in words}
    return found


def in_core() -> set[str]:
    """Return the functions of the core and, each after a dot, the methods of its types."""
    functions = {name for name, value in vars(_core).items() if isinstance(value, types.BuiltinFunctionType)}
    classes = [value for value in vars(_core).values() if isinstance(value, type) and not issubclass(value, tuple)]
    members = {name for kind in classes for name, value in vars(kind).items() if callable(value)}
    return functions | {f".{name}" for name in members if not name.startswith("__")}


def test_what_only_tests_use_is_not_built_for_users():
    unused = {name.lstrip(".") for name in in_core() - used_by_seismo()}
    assert unused - only_for_tests() == set(), "put them between #ifdef SM_TESTING and #endif"
