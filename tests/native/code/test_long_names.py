"""Names that are no names: a program may call a function by a megabyte of text."""

import pytest
from lab import SOURCES, start
from recorded import Image

from seismo import _core


def named(name):
    def function():
        pass

    function.__code__ = function.__code__.replace(co_qualname=name)
    return function


@pytest.mark.parametrize("letter", ["n", "é", "€", "😀"])
@pytest.mark.parametrize("source", SOURCES)
def test_they_are_cut_with_a_mark_and_stay_apart(source, letter):
    functions = [named(letter * 100_000), named(letter * 99_999 + "x"), named(letter * 4096)]
    start(source)
    for function in functions:
        function()
    _core.stop()
    names = sorted(row["qualname"] for row in Image(_core.snapshot()).functions() if row["qualname"][0] == letter)
    assert len(names) == 3
    assert names[0] == letter * 4096
    for name in names[1:]:
        assert name.startswith(letter * 4096 + "…[+95904 characters, ")
        assert len(name) < 4200
