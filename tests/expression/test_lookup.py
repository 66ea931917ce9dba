"""arg() and value(): they look at what is stored, and never run the program's code."""

import inspect

import pytest

from seismo.expression import parse


class Spy:
    """Every way of running code by looking fails the test."""

    plain = "class"

    def __init__(self):
        own = object.__getattribute__(self, "__dict__")
        own.update(id=7, shadowed="instance", deep={"list": [1, ("x", None)]})

    def fails(self, *arguments):
        raise AssertionError("the program's code was run")

    __getattribute__ = __getattr__ = __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = fails
    __getitem__ = __contains__ = __len__ = __bool__ = __repr__ = __str__ = __int__ = __index__ = __float__ = fails
    __hash__ = None
    shadowed = property(fails)
    computed = property(fails)

    def method(self):
        pass


class Meta(type):
    def __getattribute__(cls, name):
        raise AssertionError("the program's code was run")

    __call__ = type.__call__


class Slotted(metaclass=Meta):
    __slots__ = ("empty", "full")

    def __getattribute__(self, name):
        raise AssertionError("the program's code was run")


def slotted():
    made = Slotted()
    type.__dict__["__dict__"].__get__(Slotted)["full"].__set__(made, 5)
    return made


class Sly:
    __dict__ = property(Spy.fails)


class Number(int):
    __eq__ = __lt__ = Spy.fails
    __hash__ = int.__hash__


class Mapping(dict):
    __getitem__ = get = __missing__ = Spy.fails


def holds(text, **variables):
    return parse(text).evaluate({"kind": "call", "arg": variables, "value": variables})


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ('arg("x").id == 7', True),
        ('arg("x").id in (1, 7)', True),
        ('arg("x").id == 7.0', True),
        ('arg("x").id == "7"', False),
        ('arg("x").id != "7"', True),
        ('arg("x").id < "7"', False),
        ('arg("x").id <= 7 and arg("x").id >= 7', True),
        ('arg("x").plain == "class"', True),
        ('arg("x").deep["list"][1][0] == "x"', True),
        ('arg("x").deep["list"][-1][1] is None', True),
        ('arg("x").deep["list"][9] == 1', False),
        ('arg("x").deep["none"] is None', False),
        ('arg("x").deep["none"] is not None', False),
        ('arg("x").deep == 1', False),
        ('arg("x") == 7', False),
        ('arg("x") is not None', True),
        ('arg("x") == None', False),
        ('arg("x") != None', True),
        ('arg("x") not in (1, 2)', False),
        ('arg("x") is True', False),
        ('arg("x")["id"] == 7', False),
        ('arg("x").computed is not None', False),
        ('arg("x").shadowed == "instance"', False),
        ('arg("x").missing != 7', False),
        ('arg("x").method is not None', False),
        ('arg("other") is None', False),
        ('value("x").id == 7', True),
    ],
)
def test_an_object(term, expected):
    assert holds(term, x=Spy()) is expected


@pytest.mark.parametrize(
    ("make", "term", "expected"),
    [
        (slotted, 'arg("x").full == 5', True),
        (slotted, 'arg("x").empty is None', False),
        (Sly, 'arg("x").id == 7', False),
        (lambda: Number(7), 'arg("x") == 7', False),
        (lambda: Number(7), 'arg("x") < 8', False),
        (lambda: Mapping(a=1), 'arg("x")["a"] == 1', False),
        (lambda: Spy, 'arg("x").plain == "class"', True),
        (lambda: Spy, 'arg("x").computed is not None', False),
        (lambda: Slotted, 'arg("x").full is not None', False),
        (lambda: inspect, 'arg("x").CO_VARARGS == 4', True),
        (lambda: None, 'arg("x") is None', True),
        (lambda: None, 'arg("x") < 5', False),
        (lambda: None, 'arg("x").id == 5', False),
        (lambda: True, 'arg("x") is True', True),
        (lambda: 1, 'arg("x") is True', False),
        (lambda: 1, 'arg("x") == True', True),
        (lambda: float("nan"), 'arg("x") == 1', False),
        (lambda: "abc", 'arg("x") > "abb"', True),
        (lambda: "abc", 'arg("x")[0] == "a"', False),
        (lambda: [1], 'arg("x")[-2] == 1', False),
    ],
)
def test_other_values(make, term, expected):
    assert holds(term, x=make()) is expected


def test_variables_that_are_not_at_hand_are_not_known():
    expression = parse('call and arg("x") == 1')
    assert expression.evaluate({"kind": "call"}) is None
    assert expression.evaluate({"kind": "line"}) is False
    assert expression.evaluate_term(0, {"arg": {"x": 1}}) is True


def test_terms_are_numbered_from_left_to_right():
    expression = parse('arg("a") == 1 or line("f.py") and not (value("b") == 2 or arg("c") == 3)')
    known = {"arg": {"a": 0, "c": 3}, "value": {"b": 2}}
    assert [expression.evaluate_term(number, known) for number in range(3)] == [False, True, True]
