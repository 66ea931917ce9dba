"""Descriptions of the watched program's values in one line, made without running any of its code.

A value is inspected only by C code of the interpreter: its real type (`type(v)`), the instance's real dictionary
(`_core.instance_dict`), and its slots. Containers are read by unbound methods of exact built-in types (`dict.items(v)`,
`list.__iter__(v)`), which ignore the overrides of a subclass. No __repr__, __len__, __iter__, property, __getattr__ or
metaclass runs. Dictionaries are scanned and never looked up, so no key's __eq__ or __hash__ runs either. A value that
raises, hangs, counts its own accesses or lies about its class is therefore shown like any other.

The cost of a value does not depend on its size: the visited parts, their depth and the characters are limited.
Sequences are cut before they are visited and text before it is quoted; a huge integer is shown by its size. `repr=True`
gives up these guarantees: the program's own __repr__ methods run, and only the length is limited.

Values whose names look secret (password, token, cookie ...) are hidden, in variables, fields and keys.
"""

from __future__ import annotations

import sys
from itertools import islice, takewhile
from types import (
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)

from seismo import _core
from seismo.escape import printable
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process.objects.reference_labels import is_a, text_of
from seismo.process.secrets import MASK, looks_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


# ---- attributes of types, read without their metaclasses ----

_type_name = type.__dict__["__name__"].__get__
_type_module = type.__dict__["__module__"].__get__
_type_mro = type.__dict__["__mro__"].__get__
_type_namespace = type.__dict__["__dict__"].__get__
_type_flags = type.__dict__["__flags__"].__get__
_error_args = BaseException.__dict__["args"].__get__
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: set by class statements and PyType_FromSpec


def class_name(cls: type) -> str:
    """Return MODULE.NAME of a class, without builtins and __main__."""
    name = text_of(_type_name(cls))
    try:
        module = text_of(_type_module(cls), "")
    except AttributeError:
        module = ""
    return name if module in ("", "builtins", "__main__") else f"{module}.{name}"


def entry(namespace: object, name: str) -> object:
    """Return namespace[name] of a dict or a class's namespace by scanning it, or None."""
    items = namespace.items() if isinstance(namespace, (dict, MappingProxyType)) else ()
    for key, value in islice(items, 2000):
        if type(key) is str and key == name:
            return value
    return None


CHARACTERS = 240  # the most characters of a value's text
PARTS = 80  # the most parts of a value that are visited
DEPTH = 4  # the most levels of containers
ITEMS = 12  # the most items of one container


class Shower:
    """A formatter of values, within these limits. secrets: show them. own_repr: call the instances' own __repr__."""

    __slots__ = ("own_repr", "secrets")

    def __init__(self, secrets: bool = False, own_repr: bool = False) -> None:
        self.secrets = secrets
        self.own_repr = own_repr

    def show(self, value: object) -> str:
        """Return the value as one printable line of at most CHARACTERS. Never raises."""
        try:
            text = _Showing(self).show(value, DEPTH)
        # Another thread changed the value, or it is nested too deeply.
        except (RuntimeError, MemoryError, ValueError, RecursionError):
            text = _address(value)
        return shorten(printable(text), CHARACTERS)

    def named(self, name: str, value: object) -> str:
        """Return the value of a variable, field or key of this name, or a mask if the name looks secret."""
        return MASK if not self.secrets and looks_secret(name) else self.show(value)


def shorten(text: str, characters: int) -> str:
    """Return the text, with its middle left out if it is longer than `characters`."""
    if len(text) <= characters:
        return text
    tail = characters // 4
    return f"{text[: characters - tail - 1]}…{text[len(text) - tail :] if tail else ''}"


def _address(value: object) -> str:
    return f"<{class_name(type(value))} at {id(value):#x}>"


class _Showing:
    """The state of the formatting of one value: the remaining limits, and the containers being visited."""

    __slots__ = ("inside", "left", "parts", "shower")

    def __init__(self, shower: Shower) -> None:
        self.shower = shower
        self.parts = PARTS
        self.left = CHARACTERS * 2  # the text is cut at its end, and never made longer than this
        self.inside: set[int] = set()

    def show(self, value: object, depth: int) -> str:
        """Return the value as text, with at most `depth` levels of its contents."""
        self.parts -= 1
        if self.parts < 0 or self.left < 0:
            return "…"
        kind = type(value)
        show = _EXACT.get(id(kind))  # look the type up by address, because its metaclass may define __hash__
        if show is not None:
            text = show(self, value, depth)
        elif self.shower.own_repr:
            text = self._own(value)
        else:
            text = self._instance(value, kind, depth)
        self.left -= len(text)
        return text

    def _own(self, value: object) -> str:
        try:
            text = repr(value)
        except Exception as error:  # noqa: BLE001  the program's __repr__ may raise anything
            return f"<{class_name(type(value))} whose repr raised {class_name(type(error))}>"
        return text[: CHARACTERS + 1] if type(text) is str else _address(value)

    def nested(self, value: object, depth: int, make: Callable[[], str], deep: str) -> str:
        """Return make(), or a placeholder if the container is being visited already or is too deep."""
        if id(value) in self.inside:
            return "<the same again>"
        if depth <= 0:
            return deep
        self.inside.add(id(value))
        try:
            return make()
        finally:
            self.inside.discard(id(value))

    def some(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the first items, as long as the limits allow more."""
        return takewhile(lambda _: self.parts > 0 and self.left >= 0, islice(items, ITEMS))

    def listed(self, shown: list[str], count: int) -> str:
        """Return the texts, separated by commas, and the number of those that are omitted."""
        more = count - len(shown)
        return ", ".join([*shown, f"… {more:,} more"] if more > 0 else shown)

    def sequence(self, items: Iterable[object], count: int, depth: int) -> str:
        """Return the first items and the number of omitted ones."""
        return self.listed([self.show(item, depth - 1) for item in self.some(items)], count)

    def mapping(self, value: dict[object, object], depth: int) -> str:
        """Return "KEY: VALUE, ..." of any dict, read from its storage."""
        pairs = self.some(dict.items(value))
        shown = [f"{self.show(key, depth - 1)}: {self.under(key, item, depth - 1)}" for key, item in pairs]
        return self.listed(shown, dict.__len__(value))

    def under(self, key: object, item: object, depth: int) -> str:
        """Return the value of a key, or a mask if the key looks like a secret's name."""
        if not self.shower.secrets:
            name = key if type(key) is str else key[:200].decode("latin-1") if type(key) is bytes else ""
            if name and looks_secret(name):
                return MASK
        return self.show(item, depth)

    def pair(self, value: tuple[object, ...] | list[object]) -> str:
        """Return "NAME, ***" for a pair whose first item looks like a secret's name, such as a header, or ""."""
        if len(value) != 2 or self.shower.secrets:
            return ""
        masked = self.under(value[0], None, 0) == MASK
        return f"{self.show(value[0], 1)}, {MASK}" if masked else ""

    def _instance(self, value: object, kind: type, depth: int) -> str:
        name = class_name(kind)
        special = _SPECIAL.get(name)
        if special is not None and special(value, kind):
            return repr(value)
        if is_a(value, BaseException):
            args = _error_args(value)
            short = name.rpartition(".")[2]
            return self.nested(value, depth, lambda: f"{short}({self.sequence(iter(args), len(args), depth)})", name)
        if is_a(value, type):
            return f"<class {class_name(value)!r}>"  # type: ignore[arg-type]
        for base, show in _BASES:
            if is_a(value, base):
                inner = self.nested(value, depth, lambda show=show: show(self, value, depth), "…")  # type: ignore[misc]
                member = _member(value, kind)
                return f"<{name}{member} {inner}>"
        fields = list(islice(_fields(value, kind), ITEMS + 1))
        if not fields:
            return _address(value)
        member = _member(value, kind)
        if member:
            return f"<{name}{member}>"
        return self.nested(value, depth, lambda: self._with_fields(value, name, fields, depth), _address(value))

    def _with_fields(self, value: object, name: str, fields: list[tuple[str, object]], depth: int) -> str:
        shown = [f"{field}={self.under(field, item, depth - 1)}" for field, item in self.some(fields)]
        if len(shown) < len(fields):
            shown.append("…")
        return f"<{name} at {id(value):#x} {{{', '.join(shown)}}}>"


def _fields(value: object, kind: type) -> Iterator[tuple[str, object]]:
    """Yield the names and values that an instance holds: its dictionary, then its slots."""
    own = _core.instance_dict(value)
    if own is not None:
        for key, item in own.items():
            yield text_of(key), item
    for base in _type_mro(kind):
        if not _type_flags(base) & _HEAP_TYPE:
            continue
        for key, slot in _type_namespace(base).items():
            if type(slot) is MemberDescriptorType and type(key) is str:
                try:
                    yield key, slot.__get__(value)
                except AttributeError:
                    continue  # the slot is empty


def _loaded(module: str, name: str) -> object:
    """Return an attribute of a standard module, or a new object if the program has not loaded the module."""
    modules = sys.__dict__.get("modules")  # the program may have deleted it
    there = modules.get(module) if type(modules) is dict else None
    return there.__dict__.get(name) if type(there) is ModuleType else object()


def _member(value: object, kind: type) -> str:
    """Return ".NAME" of an enum's member, or "" for other values."""
    if type(kind) is not _loaded("enum", "EnumType"):
        return ""
    name = entry(_core.instance_dict(value), "_name_")
    return f".{name[:100]}" if type(name) is str else ""


# ---- exact built-in types ----


def _text(value: str, limit: int) -> str:
    length = str.__len__(value)
    if length <= limit:
        return str.__repr__(value)
    tail = limit // 4
    head = str.__getitem__(value, slice(0, limit - tail))
    end = str.__getitem__(value, slice(length - tail, length))
    return f"{str.__repr__(head)}…{str.__repr__(end)} ({length:,} characters)"


def _bytes(kind: Any, value: object, limit: int) -> str:
    length = kind.__len__(value)
    head = bytes(kind.__getitem__(value, slice(0, limit)))
    return repr(head) + (f"… ({length:,} bytes)" if length > limit else "")


def _strings(showing: _Showing) -> int:
    return max(20, min(CHARACTERS * 3 // 4, showing.left))


def _inside(showing: _Showing, value: Any, depth: int) -> str:
    """Return the contents of a container of exactly a built-in type."""
    if type(value) is dict:
        return showing.mapping(value, depth)
    pair = showing.pair(value[:3]) if type(value) in (list, tuple) else ""
    inner = pair or showing.sequence(value, len(value), depth)
    return f"{inner}," if type(value) is tuple and len(value) == 1 else inner


def _container(opening: str, closing: str, empty: str = "") -> Callable[[_Showing, Any, int], str]:
    def show(showing: _Showing, value: Any, depth: int) -> str:
        if not value:
            return empty or opening + closing
        deep = f"{opening}…{closing}"
        return showing.nested(value, depth, lambda: f"{opening}{_inside(showing, value, depth)}{closing}", deep)

    return show


def _slice(showing: _Showing, value: Any, depth: int) -> str:
    """Return the text of a slice or a range."""
    parts = (value.start, value.stop, value.step)
    shown = [showing.show(part, depth - 1) for part in parts[: 2 if type(value) is range and value.step == 1 else 3]]
    return f"{type(value).__name__}({', '.join(shown)})"


def _code_of(function: object) -> str:
    return function.__code__.co_qualname[:200] if type(function) is FunctionType else "?"


_SHOW: dict[type, Callable[[_Showing, Any, int], str]] = {
    type(None): lambda _s, _v, _d: "None",
    bool: lambda _s, v, _d: "True" if v is True else "False",
    int: lambda _s, v, _d: int.__repr__(v) if (bits := int.bit_length(v)) <= 256 else f"<int of {bits:,} bits>",
    float: lambda _s, v, _d: float.__repr__(v),
    complex: lambda _s, v, _d: complex.__repr__(v),
    str: lambda s, v, _d: _text(str.__str__(v), _strings(s)),
    bytes: lambda s, v, _d: _bytes(bytes, v, _strings(s) // 2),
    bytearray: lambda s, v, _d: f"bytearray({_bytes(bytearray, v, _strings(s) // 2)})",
    type(...): lambda _s, _v, _d: "...",
    type(NotImplemented): lambda _s, _v, _d: "NotImplemented",
    list: _container("[", "]"),
    tuple: _container("(", ")"),
    dict: _container("{", "}"),
    set: _container("{", "}", "set()"),
    frozenset: _container("frozenset({", "})", "frozenset()"),
    range: _slice,
    slice: _slice,
    type: lambda _s, v, _d: f"<class {class_name(v)!r}>",
    FunctionType: lambda _s, v, _d: f"<function {_code_of(v)}>",
    BuiltinFunctionType: lambda _s, v, _d: f"<built-in function {text_of(v.__name__)}>",
    MethodType: lambda _s, v, _d: f"<method {_code_of(v.__func__)} of {_address(v.__self__)}>",
    ModuleType: lambda _s, v, _d: f"<module {text_of(entry(_core.instance_dict(v), '__name__'))}>",
    CodeType: lambda _s, v, _d: f"<code {v.co_qualname[:200]}>",
    GeneratorType: lambda _s, v, _d: f"<generator {v.gi_code.co_qualname[:200]} at {id(v):#x}>",
    CoroutineType: lambda _s, v, _d: f"<coroutine {v.cr_code.co_qualname[:200]} at {id(v):#x}>",
    MappingProxyType: lambda _s, v, _d: f"<mappingproxy at {id(v):#x}>",
}
_EXACT = {id(kind): show for kind, show in _SHOW.items()}


# ---- subclasses of built-in types: the class's name around the built-in part ----


def _named_tuple(showing: _Showing, value: tuple[object, ...], depth: int) -> str:
    names = entry(_type_namespace(type(value)), "_fields")
    if type(names) is not tuple or len(names) != tuple.__len__(value) or not names:
        inner = showing.sequence(tuple.__iter__(value), tuple.__len__(value), depth)
        return f"({inner})"
    pairs = zip(names, tuple.__iter__(value), strict=False)
    shown = [f"{text_of(name)}={showing.under(name, item, depth - 1)}" for name, item in islice(pairs, ITEMS)]
    return f"({showing.listed(shown, len(names))})"


_BASES: tuple[tuple[type, Callable[[_Showing, Any, int], str]], ...] = (
    (dict, lambda s, v, d: f"{{{s.mapping(v, d)}}}"),
    (list, lambda s, v, d: f"[{s.sequence(list.__iter__(v), list.__len__(v), d)}]"),
    (tuple, _named_tuple),
    (set, lambda s, v, d: f"{{{s.sequence(set.__iter__(v), set.__len__(v), d)}}}"),
    (frozenset, lambda s, v, d: f"{{{s.sequence(frozenset.__iter__(v), frozenset.__len__(v), d)}}}"),
    (bytearray, lambda s, v, _d: _bytes(bytearray, v, _strings(s) // 2)),
    *((kind, _SHOW[kind]) for kind in (str, bytes, int, float, complex)),
)


# ---- types of the standard library whose repr is C code that calls no code of the program ----


def _is_of(module: str, name: str) -> Callable[[object, type], bool]:
    """Return a function that checks the class by identity, and that an instance contains no object of the program."""

    def check(value: object, kind: type) -> bool:
        if _loaded(module, name) is not kind:
            return False
        if module == "_datetime" and _type_flags(kind) & _HEAP_TYPE:
            return False
        zone = getattr(value, "tzinfo", None) if name in ("datetime", "time") else None
        return zone is None or type(zone) is _loaded(module, "timezone")

    return check


_SPECIAL: dict[str, Callable[[object, type], bool]] = {
    **{f"datetime.{name}": _is_of("_datetime", name) for name in ("datetime", "date", "time", "timedelta", "timezone")},
    "decimal.Decimal": _is_of("_decimal", "Decimal"),
}
