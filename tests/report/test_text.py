"""Numbers and names as text."""

import io
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seismo.escape import printable, shell_word
from seismo.report import words as text
from seismo.report.function_names import place

SIGNS = text.Signs()
PLAIN = text.Signs(plain=True)


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (0, "0"),
        (-5, "0"),
        (0.4, "<1 ns"),
        (1, "1.00 ns"),
        (9.996, "10.0 ns"),
        (999.6, "1.00 µs"),
        (45_600, "45.6 µs"),
        (999_999, "1.00 ms"),
        (999_999_999, "1.00 s"),
        (12_345_678_901, "12.3 s"),
        (999_600_000_000, "1,000 s"),
    ],
)
def test_duration_has_three_digits(ns, shown):
    assert text.duration(ns, SIGNS) == shown


def test_without_unicode_signs_are_ascii():
    assert text.duration(1500, PLAIN) == "1.50 us"
    assert text.calls(7, True, PLAIN) == ">=7"
    assert text.error(3, 100, PLAIN) == "+-3 %"
    assert text.shorten("abcdefghijkl", 6, PLAIN) == "~hijkl"


def test_signs_follow_the_encoding():
    assert text.Signs.of(io.TextIOWrapper(io.BytesIO(), "ascii")).micro == "us"
    assert text.Signs.of(io.TextIOWrapper(io.BytesIO(), "latin-1")).error == "+-"
    assert text.Signs.of(io.TextIOWrapper(io.BytesIO(), "utf-8")).error == "±"
    assert text.Signs.of(io.StringIO()).error == "±"


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(0, 0, ""), (0, 9, "0 %"), (1, 1000, "<1 %"), (1, 100, "1.0 %"), (123, 1000, "12.3 %"), (9996, 10000, "100 %")],
)
def test_percent(part, whole, shown):
    assert text.percent(part, whole) == shown


@pytest.mark.parametrize(
    ("error", "time", "shown"),
    [(0, 5, ""), (9, 1000, ""), (10, 1000, "±1 %"), (26, 1000, "±3 %"), (98, 100, "±98 %"), (5, 1, ""), (5, 0, "")],
)
def test_error_is_relative(error, time, shown):
    assert text.error(error, time, SIGNS) == shown


@pytest.mark.parametrize(
    ("time", "error", "shown", "rank"),
    [
        (1_500, 0, "1.50 µs", 1_500),
        (1_500, 1_400, "1.50 µs", 1_500),
        (0, 0, "0", 0),
        (0, 0.2, "< 1 ns", 0),
        (2e6, 3.01e6, "< 6 ms", 0),
        (1e6, 0.999e6, "< 2 ms", 1_000),
        (1e6, 1.2e6, "< 2.2 ms", 0),
        (5e6, 45e6, "< 50 ms", 0),
        (1e12, 4.2e12, "< 6,000 s", 0),
    ],
)
def test_a_time_that_is_not_known_is_an_upper_bound_and_ranked_by_its_lower_one(time, error, shown, rank):
    assert text.time(time, error, SIGNS) == shown
    assert text.rank(time, error) == pytest.approx(rank)
    assert text.is_unknown(time, error) == shown.startswith("< ")


@given(st.floats(0, 1e18), st.floats(0, 1e18))
def test_an_upper_bound_is_never_rounded_down(time, error):
    shown = text.time(time, time + error + 1, SIGNS).removeprefix("< ")
    number, unit = shown.replace(",", "").split()
    size = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    assert float(number) * size >= (2 * time + error + 1) * (1 - 1e-9)


def test_damaged_times_are_shown_somehow():
    for time in (float("inf"), float("nan"), 1e300):
        for error in (0.0, 1.0, float("inf"), float("nan")):
            assert text.time(time, error, SIGNS)
            text.error(error, time, SIGNS)
            text.share(time, error, 1e9)


@pytest.mark.parametrize(
    ("time", "error", "shown"),
    [(25, 1, "25.0 %"), (10, 15, "< 25 %"), (0, 0.5, "<1 %"), (0, 2.5, "< 3 %"), (0, 400, ""), (0, 0, "0 %")],
)
def test_the_share_of_an_unknown_time_is_a_bound_too(time, error, shown):
    assert text.share(time, error, 100) == shown


def test_shorten_keeps_the_end():
    name = "json.encoder:_make_iterencode.<locals>._iterencode_dict"
    assert text.shorten(name, 80, SIGNS) == name
    assert text.shorten(name, 48, SIGNS) == "json.encoder:_make_iterencode…_iterencode_dict"
    assert text.shorten(name, 30, SIGNS) == "…_iterencode_dict"
    assert text.shorten(name, 12, SIGNS) == "…encode_dict"
    assert text.shorten("flask.json.tag:TagDict.check", 20, SIGNS) == "…tag:TagDict.check"
    assert text.shorten("flask.json.tag:<module>", 20, SIGNS) == "…json.tag:<module>"
    assert text.shorten("/home/me/shop/orders.py", 20, SIGNS) == "…me/shop/orders.py"
    assert text.shorten(name, 1, SIGNS) == "…"


@given(st.text(), st.integers(0, 40))
def test_shorten_fits(name, width):
    assert text.cells(text.shorten(name, width, SIGNS)) <= width


@given(st.text())
def test_printable_is_printable(name):
    shown = printable(name)
    assert shown.isprintable()
    assert name.isprintable() == (shown == name)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain", "plain"),
        ("red\x1b[31m", r"red\x1b[31m"),
        ("two\nlines\r", r"two\nlines\r"),
        ("bidi\u202e\u2066", r"bidi\u202e\u2066"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("lone\ud800", r"lone\ud800"),
        ("c1\x9b31m", r"c1\x9b31m"),
        ("no\xa0break", r"no\xa0break"),
    ],
)
def test_hostile_text_becomes_visible(name, shown):
    assert printable(name) == shown


def test_wide_letters_take_two_columns():
    assert text.cells("日本") == 4
    assert text.cells("e\u0301") == 1
    assert text.left("日本", 6) == "日本  "
    assert text.right("日本", 6) == "  日本"


def test_names_and_places():
    assert text.function_name(0, "m", "f") == "m:f"
    assert text.function_name(0, "", "f") == "f"
    assert text.function_name(2, "m", "<folded paths>") == "<folded paths>"
    assert text.location("/a/b/c.py", 7) == "c.py:7"
    assert text.location("/a/json/__init__.py", 7) == "json/__init__.py:7"
    assert text.location("C:\\a\\c.py", 7) == "c.py:7"
    assert text.location("c.py", 0) == "c.py"
    assert place(1, "builtins", "", 0) == "(C)"
    assert text.location("", 3) == ""


@given(st.text(alphabet="ab ", max_size=60), st.integers(1, 20))
def test_wrapped_loses_no_word(words, width):
    assert " ".join(text.wrapped(words, width)) == words


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("app-1.seismo", "app-1.seismo"),
        ("a b", "'a b'"),
        ("it's", "'it'\"'\"'s'"),
        ("", "''"),
        ("-x", "'-x'"),
        ("é", "'é'"),
        ("a\nb'\\\udcff\x1b", r"$'a\012b\'\\\377\033'"),
    ],
)
def test_a_word_for_the_shell(text, word):
    assert shell_word(text) == word
    printf = subprocess.run(["bash", "-c", f"printf %s {word}"], stdout=subprocess.PIPE, check=True).stdout
    assert printf == os.fsencode(text)
