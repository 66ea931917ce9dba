"""What counts as a statement, what is excluded, which line goes on to which: written down case by case."""

import textwrap

import pytest

from seismo.coverage import default_exclusions, parsed_source
from seismo.errors import UsageError


def parse(text, **options):
    return parsed_source.parse(textwrap.dedent(text).lstrip("\n"), "app.py", **options)


def branches(parsed):
    """The lines that have several ways on, with these."""
    ways = {}
    for start, end in sorted(parsed.arcs):
        ways.setdefault(start, []).append(end)
    return {line: to for line, to in ways.items() if parsed.exit_counts.get(line, 0) > 1}


STATEMENTS = {
    "docstrings of all kinds are none": (
        """
        '''A module.'''
        def f():
            '''A function.

            With several lines.
            '''
            return 1
        class C:
            "A class."
            x = 1
        """,
        {2, 7, 8, 10},
    ),
    "a statement of several lines counts once": (
        """
        a = [
            1,
            2,
        ]
        b = a[0] + \\
            a[1]
        '''text
        ''' + 'x'
        """,
        {1, 5, 7},
    ),
    "what the compiler drops is none": (
        """
        def f():
            global x
            if 0:
                a = 1
            if __debug__:
                b = 2
            return b
            c = 3
        """,
        {1, 3, 5, 6, 7},
    ),
    "decorators count, each on its line": (
        """
        @first
        @second(
            1)
        def f(a,
              b=2):
            pass
        """,
        {1, 2, 4, 6},
    ),
    "else, finally and try have no line of their own, except try": (
        """
        try:
            a = 1
        except A:
            b = 2
        else:
            c = 3
        finally:
            d = 4
        """,
        {1, 2, 3, 4, 6, 8},
    ),
    "each case is one": (
        """
        match a:
            case 1:
                b = 1
            case _:
                b = 2
        """,
        {1, 2, 3, 4, 5},
    ),
    "several on a line are one": ("a = 1; b = 2\nif a: b = 3\nfor i in a: b = i\n", {1, 2, 3}),
    "comprehensions belong to their statement": (
        """
        a = [
            i
            for i in b
            if i
        ]
        """,
        {1},
    ),
}


@pytest.mark.parametrize("case", STATEMENTS)
def test_statements(case):
    text, expected = STATEMENTS[case]
    assert parse(text).statements == expected


EXCLUDED = {
    "a line": ("a = 1  # pragma: no cover\nb = 2\n", {1}, {2}),
    "the logical line of the comment": ("a = [\n    1,  # pragma: no cover\n    2,\n]\nb = 2\n", {1}, {5}),
    "a suite, but not its else": (
        "if a:  # pragma: no cover\n    b = 1\n    if c:\n        d = 2\nelse:\n    e = 3\n",
        {1, 2, 3, 4},
        {6},
    ),
    "an else": ("if a:\n    b = 1\nelse:  # pragma: no cover\n    e = 3\n", {3, 4}, {1, 2}),
    "an elif": (
        "if a:\n    b = 1\nelif c:  # pragma: no cover\n    e = 3\nelse:\n    d = 4\n",
        {3, 4},
        {1, 2, 6},
    ),
    "a function": ("def f(a,\n      b):  # pragma: no cover\n    return 1\nb = 2\n", {1, 2, 3}, {4}),
    "a function by its decorator": (
        "@f  # pragma: no cover\n@g\ndef f():\n    a = 1\n\n    return 2\nb = 2\n",
        {1, 2, 3, 4, 5, 6},
        {7},
    ),
    "a class with all in it": ("class C:  # pragma: no cover\n    def f(self):\n        pass\nb = 2\n", {1, 2, 3}, {4}),
    "handlers": (
        "try:\n    a = 1\nexcept A:  # pragma: no cover\n    b = 2\nfinally:  # pragma: no cover\n    c = 3\n",
        {3, 4, 5, 6},
        {1, 2},
    ),
    "a head is over at its colon": ("if a:\n    b = 1  # pragma: no cover\n    c = 2\n", {2}, {1, 3}),
    "a case that always matches goes with its body": (
        "match a:\n    case 1:\n        b = 1\n    case _:\n        c = 2  # pragma: no cover\n",
        {4, 5},
        {1, 2, 3},
    ),
    "but no other case": ("match a:\n    case 1:\n        b = 1  # pragma: no cover\n", {3}, {1, 2}),
    "what is for type checkers": ("if TYPE_CHECKING:\n    import a\nb = 1\n", {1, 2}, {3}),
    "bodies that are dots": ("def f(): ...\ndef g():\n    ...\ndef h(\n) -> int: ...\na = 1\n", {1, 2, 3, 4, 5}, {6}),
    "dots among others are not": ("a = b[...]\nc = 1\n", set(), {1, 2}),
    "a comment alone": ("a = 1\n# pragma: no cover\nb = 2\n", {2}, {1, 3}),
}


@pytest.mark.parametrize("case", EXCLUDED)
def test_excluded(case):
    text, excluded, statements = EXCLUDED[case]
    parsed = parsed_source.parse(text, "app.py")
    assert parsed.excluded == excluded
    assert parsed.statements == statements


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
        parsed_source.parse("a = 1\n", "app.py", exclude=[*default_exclusions.EXCLUDE, "(a"])
    assert caught.value.where == "(a"


ARCS = {
    "if": ("if a:\n    b = 1\nc = 2\n", {1: [2, 3]}),
    "if with else, both to the end": ("def f():\n    if a:\n        b = 1\n    else:\n        c = 2\n", {2: [3, 5]}),
    "elif": ("if a:\n    b = 1\nelif c:\n    d = 2\ne = 3\n", {1: [2, 3], 3: [4, 5]}),
    "a condition of several lines": ("if (a and\n    b):\n    c = 1\nd = 2\n", {1: [3, 4]}),
    "a constant condition is no branch": (
        "if True:\n    a = 1\nwhile 1:\n    if b:\n        break\nc = 2\n",
        {4: [3, 5]},
    ),
    "nothing behind a condition that always holds": (
        "if not 0:\n    a = 1\nelif (lambda: b)():\n    c = 2\nelif d:\n    e = 3\nf = 4\n",
        {},
    ),
    "loops": (
        "for i in a:\n    b = 1\nelse:\n    c = 2\nwhile d:\n    e = 3\nf = 4\n",
        {1: [2, 4], 5: [6, 7]},
    ),
    "break and continue": (
        "for i in a:\n    if b:\n        break\n    if c:\n        continue\n    d = 1\nelse:\n    e = 2\nf = 3\n",
        {1: [2, 8], 2: [3, 4], 4: [5, 6]},
    ),
    "return": ("def f():\n    if a:\n        return 1\n    return 2\n", {2: [3, 4]}),
    "out of the function": ("def f():\n    if a:\n        b = 1\n", {2: [-1, 3]}),
    "a function's code begins at its decorator": ("@d\ndef f():\n    if a:\n        b = 1\n", {3: [-1, 4]}),
    "on one line": ("if a: b = 1\nelse: c = 2\nd = 3\n", {1: [2, 3]}),
    "a function on one line": ("def f(): return 1\na = 2\n", {1: [-1, 2]}),
    "match": (
        "match a:\n    case 1:\n        b = 1\n    case 2 if c:\n        d = 2\ne = 3\n",
        {2: [3, 4], 4: [5, 6]},
    ),
    "match with a case for all": (
        "match a:\n    case 1:\n        b = 1\n    case _:\n        d = 2\ne = 3\n",
        {2: [3, 4]},
    ),
    "handlers are no branches": ("try:\n    a = 1\nexcept A:\n    b = 2\nexcept B:\n    c = 3\nd = 4\n", {}),
    "finally goes on to one place": (
        "def f():\n    try:\n        if a:\n            return 1\n    finally:\n        b = 2\n    c = 3\n",
        {3: [4, 6]},
    ),
    "a with is left straight": (
        "with a:\n    if b:\n        c = 1\nd = 2\n",
        {2: [3, 4]},
    ),
    "a with in a with": ("with a:\n    with b:\n        if c:\n            d = 1\ne = 2\n", {3: [4, 5]}),
    "asserts and comprehensions are no branches": ("assert a, b\nc = [i for i in d if i]\ne = f if g else h\n", {}),
}


@pytest.mark.parametrize("case", ARCS)
def test_branches(case):
    text, expected = ARCS[case]
    assert branches(parsed_source.parse(text, "app.py")) == expected


def test_steps_through_a_with_are_put_straight():
    parsed = parsed_source.parse("with a:\n    with b:\n        c = 1\nd = 2\n", "app.py")
    assert parsed.steps.with_steps == {(3, 2): (3, 4), (2, 1): None, (1, 4): None}
    assert parsed.arcs == {(1, 2), (2, 3), (3, 4), (4, -1)}


def test_excluded_ways_do_not_make_a_branch():
    parsed = parsed_source.parse("if a:\n    b = 1  # pragma: no cover\nc = 2\n", "app.py")
    assert parsed.exit_counts[1] == 1


def test_lines_of_partial_branches():
    parsed = parsed_source.parse(
        "while True:\n    pass\nif a:  # pragma: no branch\n    b = 1\nif (c and  # pragma: no branch\n d):\n  e\n", "a"
    )
    assert parsed.no_branch == {1, 3, 5}


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


def test_long_chains_and_deep_code():
    text = "if a == 0:\n    b = 0\n" + "".join(f"elif a == {i}:\n    b = {i}\n" for i in range(1, 90))
    parsed = parsed_source.parse(text, "app.py")
    assert len(parsed.statements) == 180
    assert parsed.exit_counts[1] == 2


def test_regions():
    text = """
    def f():
        x = 1

        def g():
            return 2
        return g

    class C:
        y = 1

        def m(self):
            return 1

        class D:
            def n(self): return 2
    """
    regions = {(r.kind, r.name): (r.start, set(r.lines)) for r in parse(text).regions}
    assert regions == {
        ("function", "f"): (1, {2, 3, 4, 6}),
        ("function", "f.g"): (4, {5}),
        ("class", "C"): (8, {12}),
        ("function", "C.m"): (11, {12}),
        ("class", "C.D"): (14, {15}),
        ("function", "C.D.n"): (15, {15}),
    }


def test_first_lines():
    parsed = parsed_source.parse("a = (\n    1)\nb = 2\n", "app.py")
    assert [parsed.first_line(n) for n in (1, 2, 3, -2, 99)] == [1, 1, 3, -1, 99]


# ---- texts as files have them ----


@pytest.mark.parametrize(
    ("data", "statements"),
    [
        (b"", set()),
        (b"\n\n", set()),
        (b"# only a comment", set()),
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
        (b"# coding: hex\n", "decoded"),
        (b"if a:\n", "parsed"),
        (b"a = 'abc\n", "parsed"),
        (b"\x00", "null bytes"),
        (b"(" * 3000, "parsed"),
        (b"-" * 100_000 + b"1", "parsed"),
        (b"<html>{{ name }}</html>", "parsed"),
        (b"print 'hello'\n", "parsed"),
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
