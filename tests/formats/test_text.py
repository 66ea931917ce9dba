import json

from format_samples import HOSTILE, texts
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seismo.formats.function_names import PYTHON, SYNTHETIC, C, Frame, escape, json_text, parse, unescape, word


@settings(max_examples=500, deadline=None)
@given(texts)
@example("%3B")
@example("%253B")
@example("%%3B")
@example("%2%3B;")
def test_what_is_escaped_comes_back(text):
    assert unescape(escape(text)) == text


@settings(max_examples=500, deadline=None)
@given(texts, texts, texts, st.integers(0, 10**9))
def test_a_word_comes_back_and_breaks_no_line(module, qualname, file, line):
    written = word(Frame(PYTHON, module, qualname, file, line))
    assert ";" not in written
    assert written.isascii() or written.encode()
    assert len(written.splitlines()) == 1
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in written)
    assert parse(written)[1:] == (module, qualname, file, line)


def test_words_read_as_people_expect():
    assert word(Frame(PYTHON, "app.db", "Pool.get", "/src/app/db.py", 12)) == "app.db:Pool.get (/src/app/db.py:12)"
    assert word(Frame(C, "builtins", "len", "", 0)) == "builtins:len"
    assert word(Frame(SYNTHETIC, "", "<folded paths>", "", 0)) == "<folded paths>"


def test_words_of_other_tools():
    assert parse("run (app/main.py:7)") == Frame(PYTHON, "", "run", "app/main.py", 7)
    assert parse("std::vector::push_back") == Frame(PYTHON, "", "std::vector::push_back", "", 0)
    assert parse("[unknown]") == Frame(PYTHON, "", "[unknown]", "", 0)
    assert parse("my%20file%2F.py") == Frame(PYTHON, "", "my%20file%2F.py", "", 0)


@given(st.one_of(st.sampled_from(HOSTILE), texts))
def test_json_is_the_same_value_and_safe_in_a_page(text):
    written = json_text({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert "</" not in written
    assert "<!--" not in written
    assert written.isascii()
