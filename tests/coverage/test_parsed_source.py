"""What of a source test_source_same.py does not hold: patterns of one's own, words, odd texts."""

import pytest

from seismo.coverage import parsed_source, settings
from seismo.errors import UsageError


def test_a_case_that_always_matches_is_excluded_with_its_body_and_no_other():
    """Random programs seldom have one (test_source_same.py)."""
    text = "match a:\n    case 1:\n        b = 1  # pragma: no cover\n    case _:\n        c = 2  # pragma: no cover\n"
    parsed = parsed_source.parse(text, "app.py")
    assert (parsed.excluded, parsed.statements) == ({3, 4, 5}, {1, 2})


def test_patterns_may_span_lines():
    text = "a = 1\n# off\nb = 2\nif c:\n    d = 3\n# on\ne = 4\n"
    parsed = parsed_source.parse(text, "app.py", exclude=[r"# off\n(?:.*\n)*?# on"])
    assert parsed.statements == {1, 7}
    assert parsed.excluded == {2, 3, 4, 5, 6}


def test_patterns_are_the_callers():
    parsed = parsed_source.parse("a = 1  # pragma: no cover\nassert b\n", "app.py", exclude=["^assert"])
    assert (parsed.statements, parsed.excluded) == ({1}, {2})
    assert parsed_source.parse("a = 1  # pragma: no cover\n", "app.py", exclude=[]).excluded == frozenset()


def test_a_bad_pattern_is_named():
    with pytest.raises(UsageError) as caught:
        parsed_source.parse("a = 1\n", "app.py", exclude=[*settings.EXCLUDE, "(a"])
    assert caught.value.where == "(a"


def test_words_for_steps():
    text = "def f(a):\n    for i in a:\n        if i:\n            return 1\n    raise A\nclass C:\n    x = 1\n"
    steps = parsed_source.parse(text, "app.py").steps
    assert steps.does((3, 4)) == "jump to line 4"
    assert steps.does((4, -1)) == "return from function 'f'"
    assert steps.does((5, -1)) == "except from function 'f'"
    assert steps.does((7, -6)) == "exit class 'C'"
    assert steps.does((6, -1)) == "exit the module"
    assert steps.missing((3, 4)) == "line 3 didn't jump to line 4 because the condition on line 3 was never true"
    assert steps.missing((2, 3)).startswith("line 2 didn't jump to line 3 because the loop on line 2 ")
    assert steps.missing((1, 99)) == "line 1 didn't jump to line 99"


# ---- texts as files have them ----


@pytest.mark.parametrize(
    ("data", "statements"),
    [
        (b"", set()),
        (b"a = 1", {1}),
        (b"a = 1\r\nb = (\r\n2)\r\n", {1, 2}),
        (b"a = 1\rb = 2\r", {1, 2}),
        (b"a = 1\n\x0cb = 2\nif a:\n\tc = '\x0c'\n", {1, 2, 3, 4}),
        (b"\xef\xbb\xbfa = '\xc3\xa9'\nb = 2\n", {1, 2}),
        (b"# coding: latin-1\na = '\xe9'\n", {2}),
        (b"#!/x\n# vim: set fileencoding=cp1252 :\nif '\x80': a = 1\n", {3}),
        (b"a = 1\n\nb = '\xff\xfe'\n", {1, 3}),
        ("if 'é' in 'ü': a = (\n1)\nb = 2\n".encode(), {1, 3}),
        ("def é(ü, \\\n ö='ß:'):  # ñ\n  return 1\n".encode(), {1, 3}),
    ],
)
def test_texts(data, statements):
    assert parsed_source.parse(data, "app.py").statements == statements


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"# coding: nonsense\n", "decoded"),
        (b"if a:\n", "parsed"),
        (b"\x00", "null bytes"),
        (b"(" * 3000, "parsed"),
        (b"-" * 100_000 + b"1", "parsed"),
        (b"<html>{{ name }}</html>", "parsed"),
        (b"a = '\xff'\n", "decoded"),
    ],
)
def test_texts_that_are_no_python(data, what):
    with pytest.raises(parsed_source.SourceError) as caught:
        parsed_source.parse(data, "folder/app.py")
    assert what in caught.value.what
    assert caught.value.where.startswith("folder/app.py")
    assert "\n" not in caught.value.what


def test_warnings_of_the_source_are_not_shown(recwarn):
    parsed_source.parse("a = '\\d'\nassert (a, b)\nc is 1\n", "app.py")
    assert not recwarn.list
