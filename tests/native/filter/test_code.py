"""What a code object decides natively, before any event; and programs that are none."""

import random
import struct

import pytest
from allocations import can_fail, each_fails
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo import _core
from seismo.expression import KINDS, parse


def verdict(text, code, globals_=None):
    """(the kinds that are wanted, those that may be)."""
    native = _core.Filter(parse(text).program)
    sets = [{kind for n, kind in enumerate(KINDS) if bits >> n & 1} for bits in native.of_code(code, globals_)]
    assert not sets[0] & sets[1]
    return tuple(sets)


SOURCE = """
def outer(user, /, n=1, *rest, key=None, **more):
    local = 1
    def inner(x):
        y = n
        return x

    return local
class Box:
    def put(self): pass
"""
MODULE = compile(SOURCE, "/src/app/pay.py", "exec")
OUTER = next(c for c in MODULE.co_consts if getattr(c, "co_name", "") == "outer")
INNER = next(c for c in OUTER.co_consts if getattr(c, "co_name", "") == "inner")
PUT = next(c for c in MODULE.co_consts if getattr(c, "co_name", "") == "Box").co_consts
PUT = next(c for c in PUT if getattr(c, "co_name", "") == "put")
NAMED = {"__name__": "app.pay"}


@pytest.mark.parametrize(
    "text",
    [
        'call("outer")',
        'call("app.pay.outer")',
        'call("app.*")',
        'call and module("x", "app.*")',
        'call and file("app/pay.py") and line == 2',
        'call and function("outer") and not qualname("*.*")',
    ],
)
def test_a_code_object_decides_for_good(text):
    assert verdict(text, OUTER, NAMED) == ({"call"}, set())
    assert verdict(text.replace("outer", "other").replace("app", "lib"), OUTER, NAMED) == (set(), set())


def test_a_module_that_was_not_known_at_first_is_learnt():
    code = next(c for c in compile("def late(): pass", "/src/app/late.py", "exec").co_consts if hasattr(c, "co_name"))
    assert verdict('call("app.late.late")', code) == (set(), set())
    assert verdict('call("app.late.late")', code, {}) == (set(), set())
    assert verdict('call("app.late.late")', code, {"__name__": "app.late"}) == ({"call"}, set())
    assert verdict('call("app.late.late")', code, {"__name__": "other"}) == ({"call"}, set())


def test_a_name_is_that_of_the_function_its_path_or_all_of_it():
    for pattern in ("inner", "outer.<locals>.inner", "app.pay.outer.*", "app.pay.*"):
        assert verdict(f'return("{pattern}")', INNER, NAMED) == ({"return"}, set())
    assert verdict('return("pay.outer.*")', INNER, NAMED) == (set(), set())
    assert verdict('return("Box.put")', PUT, NAMED) == ({"return"}, set())
    assert verdict('function("Box.put")', PUT, NAMED) == (set(), set())


def test_only_code_with_the_line_is_asked_for_it():
    assert verdict('line("app/pay.py", 3)', OUTER)[1] == {"line"}
    assert verdict('line("app/pay.py", 5)', OUTER) == (set(), set())  # that is the inner function's
    assert verdict('line("app/pay.py", 5)', INNER)[1] == {"line"}
    assert verdict('line("app/pay.py", 4-5)', OUTER)[1] == {"line"}
    assert verdict('line("app/pay.py", 100-200)', OUTER) == (set(), set())
    assert verdict('line("other.py", 3)', OUTER) == (set(), set())
    assert verdict("line and line >= 1", OUTER) == ({"line"}, set())
    assert verdict("line and line in (4, 5, 6)", INNER) == ({"line"}, set())
    assert verdict("call and line == 2", OUTER) == ({"call"}, set())
    assert verdict("call and line == 3", OUTER) == (set(), set())
    assert verdict("raise and line == 3", OUTER) == (set(), {"raise"})


def test_only_code_with_the_variable_is_asked_for_it():
    for name in ("user", "n", "rest", "key", "more"):
        assert verdict(f'call and arg("{name}") == 1', OUTER) == (set(), {"call"})
    for name in ("local", "inner", "use", "users", "é"):
        has = name == "é"  # left to Python
        assert verdict(f'call and arg("{name}") == 1', OUTER) == (set(), {"call"} if has else set())
    for code, name, has in [(OUTER, "local", 1), (INNER, "n", 1), (INNER, "z", 0), (MODULE, "anything", 1)]:
        assert verdict(f'line and value("{name}") == 1', code) == (set(), {"line"} if has else set())
    assert verdict('call and not arg("user") == 1', PUT) == ({"call"}, set())


def test_what_an_event_of_a_kind_does_not_have_is_false():
    assert verdict("not duration > 5ms", OUTER) == (
        set(KINDS) - {"call", "return", "unwind", "c_call", "c_return", "c_raise"},
        {"call", "return", "unwind", "c_call", "c_return", "c_raise"},
    )
    assert verdict('exception("K")', OUTER)[1] == {
        "call", "throw", "unwind", "raise", "stop_iteration", "c_call", "c_raise",
    }  # fmt: skip
    assert verdict('c_call("len") or call', OUTER) == ({"call"}, {"c_call"})


@given(st.binary(max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_bytes_may_be_a_line_table(table):
    code = OUTER.replace(co_linetable=table)
    yes, maybe = verdict("line and line == 3", code)
    assert not yes or not maybe


def test_the_line_table_is_read_as_the_interpreter_reads_it():
    lines = [9, 2000, 3, 70_000]
    text = "def f(x):\n"
    place = 1
    for line in sorted(lines):
        text += "\n" * (line - place - 1) + "  x = (x,\n x)\n"
        place = line + 1
    names = {}
    exec(compile(text, "long.py", "exec"), names)
    code = names["f"].__code__
    expected = {line for _, _, line in code.co_lines() if line is not None}
    assert {3, 70_000} < expected
    for line in {*expected, *(line + 2 for line in expected), *(line - 1 for line in expected)}:
        assert (verdict(f"line and line == {line}", code)[1] == {"line"}) == (line in expected), line


# ---- programs ----

NO_CALLEE = None, None


def program(*instructions, data=b"", version=1, count=None, size=None):
    head = struct.pack("<4sIII", b"smfl", version, len(instructions) if count is None else count, len(data))
    body = b"".join(struct.pack("<BBHI", *one) for one in instructions)
    return (head + body + data)[:size]


KIND, TEXT, RANGE, PYTHON, NOT, AND, OR = range(7)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a filter.s program"),
        (b"smfl", "not a filter.s program"),
        (program((KIND, 0, 0, 1), version=2), "another version"),
        (program(), "shorter or longer than it states"),
        (program((KIND, 0, 0, 1), count=2), "shorter or longer than it states"),
        (program((KIND, 0, 0, 1), size=-1), "shorter or longer than it states"),
        (program(*[(KIND, 0, 0, 1)] * 5000), "too long"),
        (program((KIND, 0, 0, 1), (KIND, 0, 0, 1)), "one result"),
        (program((9, 0, 0, 1)), "unknown operation"),
        (program((AND, 0, 1, 0)), "operands"),
        (program((KIND, 0, 0, 1), (AND, 0, 0, 0)), "operands"),
        (program((KIND, 0, 0, 1), (AND, 0, 2, 0)), "operands"),
        (program((KIND, 0, 0, 1), (KIND, 0, 0, 1), (NOT, 0, 2, 0)), "operands"),
        (program((TEXT, 12, 0, 0)), "asks for a fact that this kind of term does not have"),
        (program((TEXT, 200, 0, 0)), "asks for a fact that this kind of term does not have"),
        (program((RANGE, 0, 0, 0)), "asks for a fact that this kind of term does not have"),
        (program((PYTHON, 0, 1, 0), data=b"\0\0\0\0"), "asks for a fact that this kind of term does not have"),
        (program((PYTHON, 14, 2, 0), data=b"\0" * 8), "asks for a fact that this kind of term does not have"),
        (program((TEXT, 0, 1, 0)), "outside"),
        (program((TEXT, 0, 1, 5), data=b"\0\0\0\0"), "outside"),
        (program((TEXT, 0, 1, 2**32 - 1), data=b"\0\0\0\0"), "outside"),
        (program((TEXT, 0, 1, 0), data=b"\5\0\0\0abc"), "outside"),
        (program((TEXT, 0, 1, 0), data=b"\xff\xff\xff\xffabc"), "outside"),
        (program((TEXT, 0, 2, 0), data=b"\1\0\0\0a"), "outside"),
        (program((RANGE, 10, 1, 0), data=b"\0" * 15), "outside"),
        (program((RANGE, 10, 65535, 0), data=b"\0" * 16), "outside"),
        (program((KIND, 0, 0, 1), *[(NOT, 0, 1, 0)] * 129), "too deeply"),
    ],
)
def test_no_programs(data, why):
    with pytest.raises(ValueError, match=why):
        _core.Filter(data)


def test_the_largest_programs_are_taken():
    wide = program(*[(KIND, 0, 0, 1)] * 4095, (OR, 0, 4095, 0))
    assert _core.Filter(wide).of_code(OUTER) == (1, 0)
    deep = program((KIND, 0, 0, 1), *[(NOT, 0, 1, 0)] * 128)
    assert _core.Filter(deep).of_event(0, "", "", "", NO_CALLEE, 0, (None,) * 8) == (True, 1, 0)
    assert _core.Filter(program((TEXT, 0, 0, 0))).kinds == 2 ** len(KINDS) - 1


def test_bad_arguments():
    native = _core.Filter(parse("call").program)
    for call in (lambda: _core.Filter("call"), lambda: native.of_code(5), lambda: native.of_event(0, 5)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match="expected a Filter"):
        _core.start(where="call")


@can_fail
def test_out_of_memory():
    data = parse('call and module("app")').program
    assert each_fails(lambda: _core.Filter(data)) == 5  # the filter, the loader and the filter's three arrays


def test_expressions_of_every_size_compile():
    rnd = random.Random(5)
    for size in (1, 2, 10, 499):
        text = " or ".join(f'call("f{rnd.randrange(99)}*") and line in (1-9, {n + 10})' for n in range(size // 2 or 1))
        assert _core.Filter(parse(text).program).kinds == 1
