"""Values of hostile programs: shown within limits, and none of the program's own code runs."""

import collections
import dataclasses
import datetime as dt
import enum
import sys

import pytest

from seismo.watching.value_repr import MASK, Shower, looks_secret

ran = []


def forbidden(*_args, **_kwargs):
    ran.append(sys._getframe(1).f_lineno)
    raise ZeroDivisionError


class Hostile:
    def __init__(self):
        object.__setattr__(self, "kept", 1)

    __repr__ = __str__ = __len__ = __iter__ = __hash__ = __eq__ = __bool__ = __format__ = forbidden
    __getattribute__ = __setattr__ = __dir__ = __reduce_ex__ = __sizeof__ = forbidden
    __dict__ = property(forbidden)
    __class__ = property(forbidden)
    value = property(forbidden)


class Meta(type):
    __repr__ = __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = __getattribute__ = forbidden


class OfMeta(metaclass=Meta):
    pass


class Dict(dict):
    items = keys = __iter__ = __len__ = __getitem__ = __repr__ = __bool__ = forbidden


class List(list):
    __iter__ = __len__ = __getitem__ = __repr__ = __bool__ = forbidden


class Tuple(tuple):
    __slots__ = ()
    __iter__ = __len__ = __getitem__ = __repr__ = forbidden


class Set(set):
    __iter__ = __len__ = __contains__ = __repr__ = forbidden


class Str(str):
    __slots__ = ()
    __str__ = __len__ = __getitem__ = __repr__ = __hash__ = __eq__ = forbidden


class Bytes(bytearray):
    __class__ = property(forbidden)
    __len__ = __getitem__ = __repr__ = __bytes__ = forbidden


class Int(int):
    __repr__ = __str__ = __index__ = bit_length = __bool__ = forbidden


class Key:
    def __hash__(self):
        ran.append("hash")
        return 7

    __eq__ = __repr__ = forbidden


class Error(Exception):
    args = property(forbidden)
    __str__ = __repr__ = forbidden


class Slots:
    __slots__ = ("token", "x", "y")


def hostile_values():
    slots = Slots()
    slots.x, slots.token = 1, "t"
    return {
        "Hostile": (Hostile(), "{kept=1}>"),
        "class": (OfMeta, "OfMeta'>"),
        "instance": (OfMeta(), "OfMeta at"),
        "dict": (Dict(a=1), "Dict {'a': 1}>"),
        "list": (List([1, 2]), "List [1, 2]>"),
        "tuple": (Tuple((1, 2)), "Tuple (1, 2)>"),
        "set": (Set({1}), "Set {1}>"),
        "str": (Str("abc"), "Str 'abc'>"),
        "bytes": (Bytes(b"abc"), "Bytes b'abc'>"),
        "int": (Int(5), "Int 5>"),
        "key": ({Key(): 1}, "Key at"),
        "error": (Error("a", 1), "Error('a', 1)"),
        "slots": (slots, "{token=***, x=1}>"),
        "method": (object.__getattribute__(Hostile(), "__init__"), "<method "),
    }


@pytest.mark.parametrize("name", sorted(hostile_values()))
def test_no_code_of_the_program_runs(name):
    value, expected = hostile_values()[name]
    ran.clear()
    text = Shower().show(value)
    assert not ran
    assert expected in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "None"),
        (True, "True"),
        (-5, "-5"),
        (1.5, "1.5"),
        ("a\x1b[31m\n\u202e\ud800", r"'a\x1b[31m\n\u202e\ud800'"),
        (b"\xff", r"b'\xff'"),
        ([1, (2,), {3}], "[1, (2,), {3}]"),
        ({}, "{}"),
        ((), "()"),
        (set(), "set()"),
        (range(3), "range(0, 3)"),
        (slice(1, 2), "slice(1, 2, None)"),
        (int, "<class 'int'>"),
        (len, "<built-in function len>"),
        (sys, "<module sys>"),
        (KeyError("k"), "KeyError('k')"),
        (dt.date(2020, 1, 2), "datetime.date(2020, 1, 2)"),
        (collections.OrderedDict(a=1), "<collections.OrderedDict {'a': 1}>"),
    ],
)
def test_built_in_values(value, expected):
    assert Shower().show(value) == expected


def test_named_tuples_enums_and_dataclasses():
    point = collections.namedtuple("point", "x password")  # noqa: PYI024  the run-time kind
    colour = enum.Enum("colour", "red")
    data = dataclasses.make_dataclass("data", ["n", "token"])
    assert Shower().show(point(1, "p")).endswith("point (x=1, password=***)>")
    assert Shower().show(colour.red).endswith("colour.red>")
    assert Shower().show(data(1, "t")).endswith("{n=1, token=***}>")


def test_what_is_shown_is_bounded():
    endless = []
    endless.append(endless)
    wide = ["x" * 10**6] * 10**5
    deep = None
    for _ in range(10**4):
        deep = [deep]
    for value in (endless, wide, deep, 10**10**6, "x" * 10**7, dict.fromkeys(range(10**5)), b"x" * 10**7):
        assert 0 < len(Shower().show(value)) <= 240
    assert Shower().show(endless) == "[<the same again>]"
    assert len(Shower(own_repr=True).show(type("Long", (), {"__repr__": lambda _: "x" * 10**6})())) <= 240


def test_secrets_are_masked_wherever_they_have_a_name():
    shower = Shower()
    assert shower.named("db_password", "x") == MASK
    value = {"user": 1, "api_key": "x", b"Cookie": "y", "nested": {"secretStuff": 1}}
    assert shower.show(value) == "{'user': 1, 'api_key': ***, b'Cookie': ***, 'nested': {'secretStuff': ***}}"
    assert shower.show([("Authorization", "Bearer x")]) == "[('Authorization', ***)]"
    assert Shower(secrets=True).show({"token": "x"}) == "{'token': 'x'}"
    names = ["password", "X-Auth-Token", "apiKey", "pwd", "private_key", "sessionid"]
    assert all(map(looks_secret, names))
    assert not any(map(looks_secret, ["author", "spin", "keyboard", "count", "pass_through"]))


def test_own_repr_only_on_request():
    calls = []
    cls = type("Shown", (), {"__repr__": lambda self: calls.append(1) or "shown\x1b"})
    Shower().show(cls())
    assert not calls
    assert Shower(own_repr=True).show(cls()) == r"shown\x1b"
    assert "whose repr raised ZeroDivisionError" in Shower(own_repr=True).show(OwnReprFails())


class OwnReprFails:
    def __repr__(self):
        raise ZeroDivisionError
