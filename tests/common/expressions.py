"""Hypothesis strategies for expressions and facts."""

from hypothesis import strategies as st

from seismo.errors import UsageError
from seismo.expression import KINDS, Expression, parse
from seismo.expression.lexer import quoted

LETTERS = "abé.[]!-*?/_"
PATTERNS = st.text(LETTERS, min_size=1, max_size=6) | st.sampled_from(["app.*", "*", "Key*", "app/pay.py"])
NUMBERS = st.integers(0, 30) | st.integers(0, 2**63 - 1)
DURATIONS = st.tuples(NUMBERS, st.sampled_from(["ns", "us", "ms", "s"])).filter(
    lambda pair: pair[0] * {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[pair[1]] < 2**63
)
LITERALS = st.one_of(
    st.integers(-(10**20), 10**20).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["True", "False", "None"]),
    st.text(max_size=5).map(quoted),
)
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]


def listed(patterns):
    return ", ".join(map(quoted, patterns))


def ranges(values):
    return st.lists(st.tuples(values, values).map(sorted), min_size=1, max_size=3)


@st.composite
def texts(draw):
    word = draw(st.sampled_from(["module", "function", "qualname", "file", "thread", "task", "exception"]))
    return f"{word}({listed(draw(st.lists(PATTERNS, min_size=1, max_size=3)))})"


@st.composite
def numbers(draw):
    word = draw(st.sampled_from(["line", "depth", "calls", "duration", "own"]))
    value = (DURATIONS.map(lambda pair: f"{pair[0]}{pair[1]}")) if word in ("duration", "own") else NUMBERS
    sign = draw(st.sampled_from([*COMPARISONS, "in", "flipped"]))
    if sign == "in" and word in ("duration", "own"):
        return f"{word} in ({', '.join(draw(st.lists(value, min_size=1, max_size=3)))})"
    if sign == "in":
        return f"{word} in ({', '.join(f'{low}-{high}' for low, high in draw(ranges(NUMBERS)))})"
    if sign == "flipped":
        return f"{draw(value)} < {word}"
    return f"{word} {sign} {draw(value)}"


@st.composite
def kinds(draw):
    word = draw(st.sampled_from(KINDS))
    patterns = draw(st.lists(PATTERNS, max_size=2))
    if word == "line":
        lines = [f"{low}-{high}" for low, high in draw(ranges(st.integers(0, 30)))] if draw(st.booleans()) else []
        inside = ", ".join([*map(quoted, patterns), *lines])
        return f"line({inside})" if inside else "line"
    return f"{word}({listed(patterns)})" if patterns and word not in ("raise", "stop_iteration") else word


@st.composite
def variables(draw):
    path = "".join(draw(st.lists(st.sampled_from([".id", '["key"]', "[0]", "[-1]"]), max_size=3)))
    begin = f'{draw(st.sampled_from(["arg", "value"]))}("{draw(st.sampled_from(["user", "n"]))}"){path}'
    sign = draw(st.sampled_from(["==", "!=", "in", "not in", "is", "is not", "<"]))
    if sign in ("in", "not in"):
        return f"{begin} {sign} ({', '.join(draw(st.lists(LITERALS, min_size=1, max_size=3)))})"
    if sign in ("is", "is not"):
        return f"{begin} {sign} {draw(st.sampled_from(['None', 'True', 'False']))}"
    return f"{begin} {sign} {draw(LITERALS.filter(lambda text: text != 'None'))}"


def expression_texts(native_only=False):
    terms = st.one_of(texts(), numbers(), kinds(), *([] if native_only else [variables()]))
    return st.recursive(
        terms,
        lambda inner: st.one_of(
            inner.map(lambda text: f"not ({text})"),
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) and {pair[1]}"),
            st.tuples(inner, inner).map(lambda pair: f"{pair[0]} or ({pair[1]})"),
        ),
        max_leaves=8,
    )


def parsed(text) -> Expression | None:
    """Return the parsed expression, or None if it can never be true."""
    try:
        return parse(text)
    except UsageError as error:
        assert error.what == "no event can ever match this"  # noqa: PT017
        return None


def expressions(native_only=False):
    return expression_texts(native_only).map(parsed).filter(bool)


class Mine(KeyError):
    pass


NAMES = st.text("abé./_", min_size=1, max_size=8) | st.sampled_from(["app", "app.db", "save", "Order.save"])
MAYBE_NAMES = st.none() | NAMES

FACTS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "module": NAMES,
        "qualname": NAMES,
        "file": st.sampled_from(["/src/app/pay.py", "pay.py", "/a/b", "a"]) | NAMES,
        "line": st.integers(1, 40),
        "callee": st.none() | st.tuples(NAMES, NAMES),
        "thread": MAYBE_NAMES | st.just(""),
        "task": MAYBE_NAMES | st.just(""),
        "exception": st.sampled_from([None, False, KeyError, Mine, OSError(), Mine("x")]),
        "depth": st.none() | st.integers(1, 30),
        "calls": st.none() | st.integers(1, 2**63 - 1),
        "duration": st.none() | st.integers(0, 2**63 - 1) | st.integers(0, 40),
        "own": st.none() | st.integers(0, 40),
    }
)
