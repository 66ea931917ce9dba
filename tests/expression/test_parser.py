"""The language: what is one, what is none and where, and that the canonical form says the same."""

import pickle

import pytest
from expressions import expressions
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.errors import ExpressionError, UsageError
from seismo.expression import KINDS, parse
from seismo.expression.lexer import tokens


@given(expressions())
@settings(max_examples=150, deadline=None)
def test_the_canonical_form_says_the_same(expression):
    again = parse(str(expression))
    assert again == expression
    assert hash(again) == hash(expression)
    assert str(again) == str(expression)
    assert again.program == expression.program
    assert (again.kinds, again.needs) == (expression.kinds, expression.needs)


WORDS = [
    "call", "and", "or", "not", "(", ")", "line", "in", "==", "<", ",", '"x"', "5", "5ms", "module", "arg", ".", "-",
]  # fmt: skip


@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
        expressions().map(str).flatmap(lambda text: st.integers(0, len(text)).map(lambda n: text[:n] + text[n + 1 :])),
    )
)
@settings(max_examples=400, deadline=None)
def test_no_text_gives_another_error(text):
    try:
        parse(text)
    except UsageError as caught:
        error = caught
    else:
        return
    assert 0 <= error.column <= len(text)
    mark = error.where.split("\n")[1]
    assert mark.strip() == "^"
    assert len(mark) <= 105
    assert error.what == error.what.strip() != ""
    assert all(line.isprintable() for line in error.lines())


@pytest.mark.parametrize(
    ("text", "column", "what", "hint"),
    [
        ("", 0, "the expression is empty", "such as"),
        ("call and", 8, "something is missing after 'and'", "a kind of event"),
        ("not", 3, "something is missing after 'not'", ""),
        ("call call", 5, '"and" or "or" is missing', ""),
        ('call and modul("x")', 9, "there is no term 'modul'", "did you mean: module"),
        ("retrun", 0, "there is no term", "did you mean: return"),
        ("time > 5ms", 0, "there is no term 'time'", "did you mean: duration"),
        ("frobnicate_the_thing", 0, "there is no term", "the terms are call"),
        ('call and (module("x")', 9, "not closed", 'add a ")"'),
        ("call)", 4, "closes nothing", ""),
        ('module("a" "b")', 11, 'a ")" or a comma is missing', ""),
        ('module("a",)', 11, "a pattern is missing", ""),
        ("duration > 50", 11, "a unit is missing", "duration > 50ms"),
        ("duration > 5m", 11, "no unit 'm'", "ns, us, ms, s"),
        ("duration > 1e3ms", 11, "an exponent", ""),
        ("duration > 0.1ns", 11, "finer than a nanosecond", ""),
        ("duration > 10000000000s", 11, "too large", ""),
        ("calls > 1234567890123456789012345678901", 8, "too long", ""),
        ("depth > 1.5", 8, "a whole number", ""),
        ("duration", 0, "duration is a number", "duration > 50ms"),
        ("line in 5", 8, "a list is missing", "line in (10-20, 30)"),
        ("line in (9-3)", 9, "ends before it begins", ""),
        ("call > 5", 5, "cannot be compared", "calls > 100"),
        ("return == 5", 7, "cannot be compared", "return and duration"),
        ("10 <= line <= 20", 11, "cannot be chained", "line in (10-20)"),
        ("5", 0, "a number cannot be used alone", ""),
        ('module == "app"', 7, "takes a pattern", 'module("app")'),
        ("module", 0, "module needs a pattern", 'module("app.*")'),
        ("exception(KeyError)", 10, "a pattern is missing", '"KeyError"'),
        ('module("")', 7, "an empty pattern", ""),
        ('raise("KeyError")', 5, "raise takes no pattern", 'exception("KeyError")'),
        ('line("a.py", call)', 13, "a file or a line", ""),
        ('"x', 0, "does not end", 'close it with "'),
        (r'function("\q")', 10, "no such escape", ""),
        ("call && line", 5, "'&&' has no meaning", "did you mean: and"),
        ('arg("u")', 8, "a comparison is missing", 'arg("u") == 7'),
        ("arg(u) == 7", 4, "the name of a variable", '"u"'),
        ('arg("u*") == 7', 4, "is not the name of a variable", ""),
        ('arg("u").f() == 1', 10, "methods cannot be called", ""),
        ('arg("u")[1.5] == 1', 9, "a string or a whole number", ""),
        ('arg("u")["k" == 1', 13, '"]" is missing', ""),
        ('arg("u") is 7', 12, "only None, True and False", "use =="),
        ('arg("u") < None', 11, "neither less nor greater", ""),
        ('arg("u") == x', 12, "a value is missing", '"x"'),
        ('arg("u") == 1e999', 12, "too large", ""),
        ("call and return", 0, "no event can ever match", "join several kinds with or"),
        ('module("' + "x" * 1001 + '")', 7, "too long", "1000"),
        ("call or " * 500 + "call", 4000, "too many terms", ""),
        ("(" * 51 + "call" + ")" * 51, 50, "nested too deeply", ""),
        ("x" * 10_001, 10_000, "too long", "10000"),
    ],
)
def test_errors_say_what_and_where(text, column, what, hint):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    error = caught.value
    assert error.column == column
    assert what in error.what
    assert hint in error.hint
    shown, mark = error.where.split("\n")
    if column < len(text):
        assert shown[len(mark) - 1] == text[column]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.column) == (str(error), column)


@pytest.mark.parametrize("text", [None, b"call", 5])
def test_what_is_no_text_is_no_expression(text):
    with pytest.raises(UsageError, match="an expression must be a str"):
        parse(text)


def test_an_expression_is_shown_in_one_line():
    with pytest.raises(ExpressionError) as caught:
        parse("call\nand\x1b[31m")
    assert caught.value.where.split("\n") == ["call and?[31m", "        ^"]
    assert caught.value.lines()[1:3] == ["call and?[31m", "        ^"]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("50ms<duration", "duration > 50ms"),
        ("duration>=1.5ms", "duration >= 1500us"),
        ("own == 2µs or own == 0s", "own == 2us or own == 0ns"),
        ("(call)and((return or line))or not(not(yield))", "call and (return or line) or not not yield"),
        ("call and (line or return) and (raise and opcode or unwind)", None),
        ("module('it\"s', 'a\\n')", r'module("it\"s", "a\x0a")'),
        ("line('a.py',5,7-9)", 'line("a.py", 5, 7-9)'),
        ("line in (5 , 7 - 9)", "line in (5, 7-9)"),
        ("line\n>\t1_000", "line > 1000"),
        ("arg('x').y['k'][-1]not in('a',-1,2.50)", 'arg("x").y["k"][-1] not in ("a", -1, 2.5)'),
        ('value("x") is  not None', 'value("x") is not None'),
    ],
)
def test_canonical_form(text, canonical):
    if canonical is None:
        with pytest.raises(UsageError, match="no event"):
            parse(text)
    else:
        assert str(parse(text)) == canonical


def test_what_an_expression_says_of_itself():
    expression = parse('call("app.*") and duration > 5ms and arg("n").x > 1')
    assert expression.kinds == {"call"}
    assert expression.needs == {"name", "duration", "arg"}
    assert expression.needs_python
    assert expression.named
    assert repr(expression) == f"<seismo expression {expression}>"
    assert pickle.loads(pickle.dumps(expression)) == expression
    assert expression != parse("call")
    plain = parse('module("app")')
    assert plain.kinds == set(KINDS)
    assert (plain.named, plain.needs_python) == (frozenset(), False)
    assert parse("duration > 5ms").kinds == {"call", "return", "unwind", "c_call", "c_return", "c_raise"}
    assert parse("not (call or line)").kinds == set(KINDS) - {"call", "line"}


def test_only_some_terms():
    static = {"module", "function", "qualname", "name", "file", "line"}
    good = parse('call("app.*") and module("x") or line > 5')
    assert good.only(static, {"call"}, "why") is good
    for text, column, word in [
        ('module("x") and depth > 5', 16, "depth"),
        ('module("x") or return', 15, "return"),
        ("line", 0, "line"),
        ('not arg("x") == 5', 4, "arg"),
    ]:
        with pytest.raises(ExpressionError, match=word) as caught:
            parse(text).only(static, {"call"}, "only what a function is decides here")
        assert caught.value.column == column
        assert caught.value.hint == "only what a function is decides here"


def test_the_main_program_by_its_modules_name():
    """A script app.py runs as __main__; who says app means it."""
    expression = parse(
        'call("app.handle", "other.*", "save") and not module("app", "app.db", "apple") or function("app")'
    )
    assert str(expression.with_main("app")) == (
        'call("app.handle", "other.*", "save", "__main__.handle") '
        'and not module("app", "app.db", "apple", "__main__", "__main__.db") or function("app")'
    )
    assert (
        parse('call("app.handle")')
        .with_main("app")
        .evaluate({"kind": "call", "module": "__main__", "qualname": "handle"})
    )
    assert expression.with_main("nosuch") == expression


def test_reading_takes_linear_time():
    """A word of ten thousand letters and a string of a thousand are no harder than their length."""
    assert len(tokens("é" * 9000)) == 2
    with pytest.raises(UsageError):
        parse("a" * 10_000)
