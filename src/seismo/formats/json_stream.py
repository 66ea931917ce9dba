"""The top level of a large JSON document, member by member: a trace of millions of events is never there as a whole.

    for key, value in members(text, "traceEvents"): ...

gives the members of the top object in their order, and of those lists that are named, each element by itself. A list at
the top level counts as one that is named. Traces of programs that were killed end anywhere: what is whole before that
is given, and then the key is CUT.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CUT = "\0cut"

_SPACE = re.compile(r"[ \t\n\r]*").match
_NEXT = re.compile(r"[ \t\n\r]*(.?)", re.DOTALL).match


class Real(str):
    """A number with a fraction or an exponent, as it is written: times are exact so."""

    __slots__ = ()


_DECODER = json.JSONDecoder(parse_float=Real)


def _value(text: str, at: int) -> tuple[object, int]:
    found = _SPACE(text, at)
    return _DECODER.raw_decode(text, found.end() if found else at)


def _sign(text: str, at: int) -> tuple[str, int]:
    found = _NEXT(text, at)
    return (found[1], found.end()) if found else ("", at)


def members(text: str, *named: str) -> Iterator[tuple[str, object]]:
    """The members of the document. ValueError: it is none of an object or a list, or damaged other than cut short."""
    sign, at = _sign(text, 0)
    if sign == "[":
        yield from _Elements(text, at, named[0])
        return
    if sign != "{":
        raise ValueError("it is no JSON object and no list")
    while True:
        sign, after = _sign(text, at)
        if sign == "}":
            return
        if sign == ",":
            at = after
            continue
        key, at = _value(text, at)
        sign, at = _sign(text, at)
        if not isinstance(key, str) or sign != ":":
            raise ValueError(f"character {at}: no member of an object")
        sign, after = _sign(text, at)
        if sign == "[" and key in named:
            elements = _Elements(text, after, key)
            yield from elements
            if elements.cut:
                return
            at = elements.at
        else:
            value, at = _value(text, at)
            yield key, value


class _Elements:
    """The elements of a list that begins before `at`, which is the place after it when all have been given."""

    def __init__(self, text: str, at: int, key: str) -> None:
        self.at = at
        self.cut = False
        self._text = text
        self._key = key

    def __iter__(self) -> Iterator[tuple[str, object]]:
        text, key = self._text, self._key
        while not self.cut:
            sign, after = _sign(text, self.at)
            if sign in ("]", ","):
                self.at = after
                if sign == "]":
                    return
                continue
            try:
                value, self.at = _value(text, self.at)
            except json.JSONDecodeError as error:
                if error.pos < len(text) - _LAST and not error.msg.startswith("Unterminated"):
                    raise
                self.cut = True
                yield CUT, None
            else:
                yield key, value


_LAST = 8
"""Characters of a number or a word that may be cut."""
