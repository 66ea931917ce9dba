"""The native evaluator and the one in Python agree; patterns are fnmatch's; facts that are not known stay so."""

import fnmatch
import os
import re

import pytest
from expressions import FACTS, Mine, expressions
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo import _core
from seismo.expression import KINDS, parse
from seismo.expression.glob import matches


def native_verdict(expression, facts):
    """Return the core's verdict on an event, which does not contradict that on its function."""
    kind = KINDS.index(facts["kind"])
    names = [facts.get(name) or "" for name in ("module", "qualname", "file")]
    others = [facts.get(name) for name in ("thread", "task", "exception", "", "depth", "calls", "duration", "own")]
    of_event = kind, *names, facts.get("callee") or (None, None), facts.get("line") or 0, tuple(others)
    verdict, yes, maybe = _core.Filter(expression.program).of_event(*of_event)
    assert verdict is True or not yes >> kind & 1
    assert verdict is False or (yes | maybe) >> kind & 1
    return verdict


@given(expressions(native_only=True), FACTS)
@settings(max_examples=150, deadline=None)
def test_both_evaluators_agree(expression, facts):
    assert native_verdict(expression, facts) is expression.evaluate(facts)
    kinds = _core.Filter(expression.program).kinds
    assert {kind for number, kind in enumerate(KINDS) if kinds >> number & 1} == expression.kinds


@given(expressions(native_only=True), FACTS, st.sets(st.sampled_from(["depth", "calls", "duration", "own", "thread"])))
@settings(max_examples=150, deadline=None)
def test_what_becomes_known_never_changes_a_verdict(expression, facts, hidden):
    less = {name: value for name, value in facts.items() if name not in hidden}
    assert expression.evaluate(less) in (None, expression.evaluate(facts))
    assert native_verdict(expression, facts | dict.fromkeys(hidden)) is expression.evaluate(less)


SOME = st.text("ab-]![^*?é\\\n𝛼\udcff", max_size=10)


@given(SOME, SOME)
@settings(max_examples=300, deadline=None)
def test_patterns_are_those_of_fnmatch(pattern, text):
    expected = None
    if not re.search(r"\[[^\]]*-[^\]]*!", pattern):  # a reversed range before a "!" makes that a negation there
        expected = fnmatch.fnmatchcase(text, pattern)
        assert matches(pattern, text) == expected
    encoded = [one.encode("utf-8", "surrogatepass") for one in (pattern, text)]
    assert _core.Filter._glob(*encoded) == matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "is_of_it"),
    [
        ("app.*.save", "app.models.Order.save", True),
        ("app.*.save", "app.save", False),
        ("*", "", True),
        ("", "", True),
        ("?", "é", True),
        ("[a-c]x[!0-9]", "bxé", True),
        ("[é-ü]", "ö", True),
        ("[", "[", True),
        ("[]]", "]", True),
        ("[a-]", "-", True),
        ("A", "a", False),
        ("*a*a*a*a*a*a*a*a*a*a*b", "a" * 5000, False),
    ],
)
def test_patterns(pattern, text, is_of_it):
    assert matches(pattern, text) is is_of_it
    assert _core.Filter._glob(pattern.encode(), text.encode()) is is_of_it


@given(st.binary(max_size=12), st.binary(max_size=12))
@settings(max_examples=200, deadline=None)
def test_patterns_of_any_bytes_end(pattern, text):
    assert _core.Filter._glob(pattern, text) in (True, False)
    if b"[" not in text:
        assert _core.Filter._glob(text.replace(b"*", b"?"), text.replace(b"*", b"?")) is True


@pytest.mark.parametrize(
    ("pattern", "path", "is_of_it"),
    [
        ("app/pay.py", "/src/app/pay.py", True),
        ("pay.py", "/src/app/pay.py", True),
        ("./app/pay.py", "/src/app/pay.py", False),
        ("./app/pay.py", f"{os.getcwd()}/app/pay.py", True),
        ("./app/pay.py", "app/pay.py", True),
        (".//pay.py", f"{os.getcwd()}/pay.py", True),
        ("app/pay.py", "app/pay.py", True),
        ("ay.py", "/src/app/pay.py", False),
        ("app/*", "/src/app/deep/x.py", True),
        ("/src/*", "/src/app/pay.py", True),
        ("/app/*", "/src/app/pay.py", False),
        ("*.py", "/src/app/pay.py", True),
    ],
)
def test_files_match_by_the_end_of_their_path(pattern, path, is_of_it):
    for text in (f'file("{pattern}")', f'line("{pattern}", 7)'):
        expression = parse(text)
        facts = {"kind": "line", "file": path, "line": 7, "module": "m", "qualname": "q"}
        assert expression.evaluate(facts) is is_of_it
        assert native_verdict(expression, facts) is is_of_it


@pytest.mark.parametrize(
    "pattern", ["Mine", "KeyError", "LookupError", "builtins.KeyError", "expressions.Mine", "*.Mine"]
)
@pytest.mark.parametrize("exception", [Mine, Mine("x")])
def test_exceptions_match_by_class_and_bases(pattern, exception):
    expression = parse(f'raise and exception("{pattern}")')
    assert expression.evaluate({"kind": "raise", "exception": exception}) is True
    assert native_verdict(expression, {"kind": "raise", "exception": exception}) is True


def test_exceptions_of_other_classes_do_not_match():
    class Odd(Exception):
        pass

    class Other(Exception):
        pass

    Odd.__module__ = 5
    for kind in (Odd, Other):
        for pattern, is_of_it in [("KeyError", False), ("*.Odd", False), ("Exception", True), (kind.__name__, True)]:
            expression = parse(f'raise and exception("{pattern}")')
            assert expression.evaluate({"kind": "raise", "exception": kind()}) is is_of_it
            assert native_verdict(expression, {"kind": "raise", "exception": kind()}) is is_of_it


def test_more_terms_than_a_verdict_has_bits():
    """From the 65th on, terms about the function are looked at again at each event."""
    expression = parse(" or ".join(f'function("f{n}") and depth > 1' for n in range(80)))
    for n, wanted in [(0, True), (63, True), (64, True), (79, True), (80, False)]:
        facts = {"kind": "call", "module": "m", "qualname": f"f{n}", "file": "f", "line": 1, "depth": 2}
        assert native_verdict(expression, facts) is wanted


def test_a_recordings_names_of_an_exception():
    assert parse('raise and exception("LookupError")').evaluate(
        {"kind": "raise", "exception": ("KeyError", "LookupError")}
    )


def test_a_whole_call_is_decided_when_it_ends():
    expression = parse('call("app.*") and duration > 50ms')
    begun = {"kind": "call", "module": "app.db", "qualname": "save", "file": "f", "line": 1}
    assert expression.evaluate(begun) is native_verdict(expression, begun) is None
    for duration, wanted in [(60_000_000, True), (50_000_000, False)]:
        ended = begun | {"duration": duration}
        assert expression.evaluate(ended) is native_verdict(expression, ended) is wanted
    assert expression.evaluate({"kind": "call", "module": "lib", "qualname": "x"}) is False


def test_durations_that_are_no_whole_numbers():
    expression = parse("duration > 5ns")
    assert expression.evaluate({"kind": "call", "duration": 6.5}) is True
    assert expression.evaluate({"kind": "call", "duration": 5.0}) is False
    assert expression.evaluate({"kind": "call", "duration": float("inf")}) is None
    assert expression.evaluate({"kind": "call", "duration": float("nan")}) is None
