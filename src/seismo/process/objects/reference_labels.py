"""Labels of references (attribute, key, index or variable), and names of the objects that hold them.

As in seismo.watching.value_repr, no code of the program may run. Objects are inspected by their real type. Unbound
methods of built-in types, such as `dict.items(x)`, read the storage whatever a subclass overrides, and descriptors made
by C code read slots and members. No repr, no comparison, no hash, no property, no `__class__`. Containers are scanned
for the object by identity, never searched with `in`. If another thread changes a container meanwhile, the search in it
ends.

gc.get_referrers() is not used, because it walks the whole heap for each object and does not return the label.
"""

from __future__ import annotations

from _collections import deque  # type: ignore[import-not-found]  # collections would import a dozen modules
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CellType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)

from seismo import _core
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


# For each id() of a wanted object, the exact way it is held, and the general way shared with others in the container.
Ways = dict[int, tuple[str, str]]

SCANNED = 100_000  # the most entries of a container to scan; later ones are held at SOMEWHERE
SOMEWHERE = "[…]"
IN_SET = "{…}"
_TEXT = 40  # the most characters of a key to show

_type_name = type.__dict__["__qualname__"].__get__
_type_module = type.__dict__["__module__"].__get__
_type_mro = type.__dict__["__mro__"].__get__
_type_namespace = type.__dict__["__dict__"].__get__
_type_basicsize = type.__dict__["__basicsize__"].__get__
_type_dictoffset = type.__dict__["__dictoffset__"].__get__
_module_dict: Any = ModuleType.__dict__["__dict__"].__get__  # type: ignore[index]
_function_name = FunctionType.__dict__["__qualname__"].__get__
_function_globals = FunctionType.__dict__["__globals__"].__get__
_function_code = FunctionType.__dict__["__code__"].__get__
_function_closure = FunctionType.__dict__["__closure__"].__get__
_cell_contents = CellType.__dict__["cell_contents"].__get__

_GENERATORS = {
    GeneratorType: ("generator", "gi_frame"),
    CoroutineType: ("coroutine", "cr_frame"),
    AsyncGeneratorType: ("async generator", "ag_frame"),
}

# References in these types behind descriptors that are no members; reading them creates nothing.
_KEPT = {
    FunctionType: ("__defaults__", "__kwdefaults__", "__code__", "__dict__"),
    MethodType: ("__self__", "__func__"),
    BuiltinFunctionType: ("__self__",),
    BaseException: ("args", "__traceback__", "__context__", "__cause__"),
    CodeType: ("co_consts", "co_names", "co_filename", "co_name", "co_qualname", "co_linetable", "co_exceptiontable"),
}


# ---- Names. ----


def is_a(value: object, kind: type) -> bool:
    """Return True if the value's real type is a subclass of `kind`, whatever __class__ or a metaclass return."""
    return type.__subclasscheck__(kind, type(value))


def text_of(value: object, otherwise: str = "?") -> str:
    """Return the beginning of a real str, or `otherwise` for any other object."""
    return value[:200] if type(value) is str else otherwise


def type_name(kind: type) -> str:
    """Return MODULE.QUALNAME of a type, without `builtins`."""
    name = text_of(_type_name(kind))
    try:
        module = text_of(_type_module(kind), "")
    except AttributeError:  # the program has deleted __module__
        module = ""
    return name if module in ("", "builtins") else f"{module}.{name}"


def namespace_name(namespace: object) -> str:
    """Return the `__name__` in a module's globals."""
    return text_of(next((value for key, value in _items(namespace) if type(key) is str and key == "__name__"), None))


def describe(holder: object) -> tuple[str, bool]:
    """Return the name of a holder, and True if it is a root: defined by the program's text and held by its module."""
    kind = type(holder)
    if is_a(holder, type):
        return f"type {type_name(holder)}", True  # type: ignore[arg-type]
    if is_a(holder, ModuleType):
        return f"module {namespace_name(_module_dict(holder))}", True
    if kind is FunctionType:
        name = text_of(_function_name(holder))
        return f"function {namespace_name(_function_globals(holder))}:{name}", "<locals>" not in name
    if kind is FrameType:
        return frame_name(holder), False  # type: ignore[arg-type]
    if kind in _GENERATORS:
        word, _ = _GENERATORS[kind]
        return f"{word} {text_of(kind.__dict__['__qualname__'].__get__(holder))}", False
    if kind is CodeType:
        return f"code {text_of(holder.co_qualname)}", True  # type: ignore[attr-defined]
    return type_name(kind), False


def frame_name(frame: FrameType) -> str:
    """Return the name of a frame."""
    return f"frame {namespace_name(frame.f_globals)}:{frame.f_code.co_qualname}"


# ---- Ways. ----


def ways(holder: object, wanted: set[int]) -> Ways:
    """Return how the holder holds each of the wanted objects (by id); "" if unknown."""
    found: Ways = {}
    try:
        for part, exact, general in _all_ways(holder):
            number = id(part)
            if number in wanted and number not in found:
                found[number] = (exact(), general) if callable(exact) else (exact, general)
                if len(found) == len(wanted):
                    break
    except RuntimeError:  # another thread changed the container
        pass
    if len(found) < len(wanted):
        missing = (SOMEWHERE, SOMEWHERE) if any(is_a(holder, base) for base, _ in _CONTAINERS) else ("", "")
        found = dict.fromkeys(wanted, missing) | found
    return found


def _all_ways(holder: Any) -> Iterator[tuple[object, Any, str]]:
    """Yield the references in a holder, cheap ones first, as (object, exact label, general label)."""
    kind = type(holder)
    for base, places in _CONTAINERS:
        if is_a(holder, base):
            yield from places(holder)
    if _type_basicsize(kind) > object.__basicsize__:
        yield from _in_members(holder)
    for base, names in _KEPT.items():
        if is_a(holder, base):
            yield from _in_descriptors(holder, base, names)
    if kind in _PLACES:
        yield from _PLACES[kind](holder)
    elif kind in _GENERATORS:
        frame = kind.__dict__[_GENERATORS[kind][1]].__get__(holder)
        if frame is not None:
            yield from variables(frame)
    elif is_a(holder, type):
        yield from _named(list(_type_namespace(holder).items()))
    elif _type_dictoffset(kind):
        yield from _named(_items(_core.instance_dict(holder)))
    yield kind, "its type", "its type"


def _items(namespace: Any) -> Iterator[tuple[object, object]]:
    """Yield the entries of a dict, ignoring a subclass's overrides."""
    if is_a(namespace, dict):
        pair: tuple[object, object]
        for number, pair in enumerate(dict.items(namespace)):
            if number == SCANNED:
                return
            yield pair


def _named(pairs: Iterable[tuple[object, object]], dot: str = ".") -> Iterator[tuple[object, str, str]]:
    for key, value in pairs:
        yield value, dot + text_of(key), dot + text_of(key)


def _in_dict(holder: object) -> Iterator[tuple[object, Any, str]]:
    for key, value in _items(holder):
        yield value, lambda key=key: key_name(key), SOMEWHERE
        yield key, "as a key", "as a key"


def key_name(key: object) -> str:
    """Return a key in brackets if it is short text or a number, else its type."""
    if type(key) is str:
        cut = key if len(key) <= _TEXT else key[: _TEXT - 1] + "…"
        return f"[{cut!r}]"
    if type(key) is int and -(10**18) < key < 10**18:
        return f"[{key}]"
    return f"[{type_name(type(key))}]"


def _in_sequence(parts: Iterator[object]) -> Iterator[tuple[object, Any, str]]:
    for index, part in enumerate(parts):
        if index == SCANNED:
            return
        yield part, f"[{index}]", SOMEWHERE


def _in_set(holder: Any) -> Iterator[tuple[object, Any, str]]:
    base: Any = set if is_a(holder, set) else frozenset
    return ((part, IN_SET, IN_SET) for part in base.__iter__(holder))


def _in_tuple(holder: Any) -> Iterator[tuple[object, Any, str]]:
    """Yield the references of a tuple. Its first items keep their own labels: an index, or a name in a named tuple."""
    names: object = None
    if type(holder) is not tuple:
        names = next((value for key, value in _type_items(type(holder)) if key == "_fields"), None)
    parts: Iterator[object] = tuple.__iter__(holder)
    for index, part in enumerate(parts):
        if index == SCANNED:
            return
        label = f"[{index}]"
        if type(names) is tuple and index < len(names) and type(names[index]) is str:
            label = f".{names[index]}"
        yield part, label, SOMEWHERE if index >= 10 and label[0] == "[" else label


def _type_items(kind: type) -> Iterator[tuple[str, object]]:
    """Yield the names and values of a type and its bases, the type's own first."""
    for base in _type_mro(kind):
        for key, value in list(_type_namespace(base).items()):
            if type(key) is str:
                yield key, value


def _in_members(holder: object) -> Iterator[tuple[object, str, str]]:
    """Yield slots, and members declared by C code."""
    for name, member in _type_items(type(holder)):
        if type(member) is MemberDescriptorType:
            try:
                value = member.__get__(holder)
            except (AttributeError, TypeError):  # the slot is empty
                continue
            yield value, f".{name}", f".{name}"


def _in_descriptors(holder: object, base: type, names: tuple[str, ...]) -> Iterator[tuple[object, str, str]]:
    namespace = _type_namespace(base)
    for name in names:
        descriptor = namespace.get(name)
        if type(descriptor) in (GetSetDescriptorType, MemberDescriptorType):
            yield descriptor.__get__(holder), f".{name}", f".{name}"


def _cells(function: object) -> Iterator[tuple[str, object]]:
    return zip(_function_code(function).co_freevars, _function_closure(function) or (), strict=False)


def _in_closure(function: object) -> Iterator[tuple[object, str, str]]:
    for name, cell in _cells(function):
        yield from ((value, name, name) for value, _, _ in _in_cell(cell))


def _in_cell(cell: object) -> Iterator[tuple[object, str, str]]:
    try:
        yield _cell_contents(cell), "", ""
    except ValueError:  # the cell is empty
        return


def variables(frame: FrameType) -> Iterator[tuple[object, str, str]]:
    """Return the local variables of a frame, including those of its closure."""
    names = frame.f_locals
    if type(names) is dict or _type_name(type(names)) == "FrameLocalsProxy":
        return _named(list(names.items()), "")
    return _named(_items(names), "")  # the frame of a class body with a custom mapping as its namespace


_CONTAINERS: tuple[tuple[type, Any], ...] = (
    (dict, _in_dict),
    (list, lambda holder: _in_sequence(list.__iter__(holder))),
    (tuple, _in_tuple),
    (set, _in_set),
    (frozenset, _in_set),
    (deque, lambda holder: _in_sequence(deque.__iter__(holder))),
)
_PLACES: dict[type, Any] = {FunctionType: _in_closure, CellType: _in_cell, FrameType: variables}


# ---- Intermediate objects. ----


def closure_name(function: object, cell: object) -> str:
    """Return the variable by which a function holds a cell, or "" if it does not."""
    cells = _cells(function) if type(function) is FunctionType else ()
    return next((name for name, part in cells if part is cell), "")


def is_own_dict(owner: object, namespace: object) -> bool:
    """Return True if the dict is the one with the owner's attributes."""
    kind = type(owner)
    if is_a(owner, type) or not _type_dictoffset(kind):
        return False
    if is_a(owner, ModuleType):
        return _module_dict(owner) is namespace
    return _core.instance_dict(owner) is namespace


def globals_of(holder: object) -> object:
    """Return the globals of a function or a module, or None for anything else."""
    if is_a(holder, ModuleType):
        return _module_dict(holder)
    return _function_globals(holder) if type(holder) is FunctionType else None
