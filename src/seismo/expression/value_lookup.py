"""Access to the recorded program's values without running any of its code.

`getattr` runs properties, `__getattr__` and descriptors; `x[key]` runs `__getitem__`; `==` runs `__eq__`. Expressions
are evaluated in the middle of the program's functions, so they do none of that. They see only stored data: an
instance's own attributes, its slots, plain values in its classes, and the items of real dicts, lists and tuples. They
compare only numbers, strings and None of exactly those types. For other values only `is` may hold.

One gap is left: a dict compares the requested key with keys of equal hash, whose `__eq__` may be the program's.
"""

from __future__ import annotations

from _operator import ge, gt, le, lt

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo.expression.terms import Literal

MISSING = object()

_MEMBER = type(type(lambda: None).__dict__["__closure__"])  # the type of slots
_GETSET = type(type(lambda: None).__dict__["__code__"])  # the type of __dict__
_PLAIN = (str, int, float, bool, bytes, type(None), list, tuple, dict)
_MRO = type.__dict__["__mro__"]
_CLASS_DICT = type.__dict__["__dict__"]
_ORDERS = {"<": lt, "<=": le, ">": gt, ">=": ge}


def follow(value: object, path: tuple[tuple[str, str | int], ...]) -> object:
    """Return the object at the end of the path, or MISSING."""
    for how, key in path:
        if value is MISSING:
            break
        value = _attribute(value, str(key)) if how == "." else _item(value, key)
    return value


def _item(value: object, key: str | int) -> object:
    if type(value) is dict:
        return value.get(key, MISSING)
    if type(value) in (list, tuple) and type(key) is int:
        items: list[object] | tuple[object, ...] = value  # type: ignore[assignment]
        return items[key] if -len(items) <= key < len(items) else MISSING
    return MISSING


def _attribute(value: object, name: str) -> object:
    """Return an attribute as inspect.getattr_static does, or MISSING if it would have to be computed."""
    kind = type(value)
    if kind is type or type in _MRO.__get__(kind):  # for classes: their own attributes, not a metaclass's
        held = _in_class(value, name)
        return held if type(held) in _PLAIN else MISSING
    found: Any = _in_class(kind, name)
    if type(found) is _MEMBER:
        try:
            return found.__get__(value, kind)
        except AttributeError:  # an empty slot
            return MISSING
    if found is not MISSING and type(found) not in _PLAIN and _in_class(type(found), "__set__") is not MISSING:
        return MISSING  # a data descriptor such as a property hides the instance's attribute
    own = _instance_dict(value, kind)
    if own is not None:
        held = dict.get(own, name, MISSING)
        if held is not MISSING:
            return held
    return found if type(found) in _PLAIN else MISSING


def _in_class(kind: object, name: str) -> object:
    for base in _MRO.__get__(kind):
        held = _CLASS_DICT.__get__(base).get(name, MISSING)
        if held is not MISSING:
            return held
    return MISSING


def _instance_dict(value: object, kind: type) -> dict[str, object] | None:
    holder: Any = _in_class(kind, "__dict__")
    if type(holder) not in (_GETSET, _MEMBER):  # there is none, or a property has that name
        return None
    try:
        own = holder.__get__(value, kind)
    except (AttributeError, TypeError):
        return None
    return own if dict in _MRO.__get__(type(own)) else None


def compares(value: object, operator: str, literals: tuple[Literal, ...]) -> bool:
    """Return True if the comparison holds. No comparison holds for MISSING."""
    if value is MISSING:
        return False
    if operator in ("is", "is not"):
        return (value is literals[0]) == (operator == "is")
    if operator in ("in", "not in"):
        equal = any(_equal(value, literal) for literal in literals)
        return equal if operator == "in" else not equal and _comparable(value)
    literal = literals[0]
    if operator == "==":
        return _equal(value, literal)
    if operator == "!=":
        return not _equal(value, literal) and (_comparable(value) or literal is None)
    ordered = value is not None and literal is not None and _alike(value, literal)
    return ordered and bool(_ORDERS[operator](value, literal))  # type: ignore[arg-type]


def _comparable(value: object) -> bool:
    return value is None or type(value) in (str, int, float, bool)


def _equal(value: object, literal: Literal) -> bool:
    if value is None or literal is None:
        return value is literal
    return _alike(value, literal) and value == literal


def _alike(value: object, literal: Literal) -> bool:
    """Return True for two strings or two numbers."""
    return _comparable(value) and (type(value) is str) == (type(literal) is str)
