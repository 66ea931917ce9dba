"""The lexer of expressions, and their errors, which point at a column.

This does not use `re`, whose import would cost a recorded process more milliseconds than all of this.
"""

from __future__ import annotations

from seismo.errors import ExpressionError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

LONGEST = 10_000  # characters of an expression
LONGEST_STRING = 1000
LONGEST_NUMBER = 30
_WIDE = 100  # the most characters of the expression in an error

WORD, STRING, NUMBER, SIGN, END = "word", "string", "number", "sign", "end"

_SIGNS = ("==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ",", ".", "-")
# Maps operators of other languages to those of this one, for hints.
_ELSEWHERE = {"&&": "and", "||": "or", "&": "and", "|": "or", "=": "==", "=~": '("pattern")', "<>": "!=", "!": "not"}
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t", "r": "\r"}
_HEX = {"x": 2, "u": 4, "U": 8}


class Token:
    """A word, string, number or sign. text: the source text, or a string's value. unit: the letters after a number."""

    __slots__ = ("column", "end", "kind", "text", "unit")

    def __init__(self, kind: str, text: str, column: int, end: int, unit: str = "") -> None:
        self.kind, self.text, self.column, self.end, self.unit = kind, text, column, end, unit


def fail(text: str, column: int, what: str, hint: str = "") -> NoReturn:
    """Raise ExpressionError, showing the expression with a mark under the column."""
    start = max(0, column - _WIDE + 20) if len(text) > _WIDE else 0
    shown = "".join(char if char.isprintable() else "?" if char not in "\n\t\r" else " " for char in text)
    before, after = "…" if start else "", "…" if start + _WIDE < len(text) else ""
    where = f"{before}{shown[start : start + _WIDE]}{after}\n{' ' * (column - start + len(before))}^"
    raise ExpressionError(what, where, hint, column)


def quoted(value: str) -> str:
    """Return the string as a literal of an expression: in double quotes, with unprintable characters escaped."""
    parts = []
    for char in value:
        if char in ('"', "\\"):
            parts.append("\\" + char)
        elif char.isprintable():
            parts.append(char)
        else:
            code = ord(char)
            parts.append(f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}")
    return '"' + "".join(parts) + '"'


def tokens(text: str) -> list[Token]:
    """Return the expression's tokens, of which the last is END. Raise ExpressionError."""
    if len(text) > LONGEST:
        fail(text, LONGEST, f"the expression is too long: {len(text)} characters", f"the limit is {LONGEST}")
    found = []
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
            continue
        if char in "\"'":
            token = _string(text, at)
        elif char.isdecimal() and char.isascii():
            token = _number(text, at)
        elif char.isidentifier():
            end = at + 1
            while end < len(text) and ("a" + text[end]).isidentifier():
                end += 1
            token = Token(WORD, text[at:end], at, end)
        else:
            token = _sign(text, at)
        found.append(token)
        at = token.end
    found.append(Token(END, "", len(text), len(text)))
    return found


def _sign(text: str, at: int) -> Token:
    pair = text[at : at + 2]
    for sign in _SIGNS:
        if pair.startswith(sign):
            return Token(SIGN, sign, at, at + len(sign))
    for sign in (pair, text[at]):
        if sign in _ELSEWHERE:
            fail(text, at, f"{sign!r} has no meaning here", f"did you mean: {_ELSEWHERE[sign]}")
    return fail(text, at, f"the character {text[at]!a} has no meaning here")


def _string(text: str, at: int) -> Token:
    quote = text[at]
    parts: list[str] = []
    end = at + 1
    while end < len(text) and text[end] != quote:
        if text[end] == "\\":
            char, end = _escape(text, end)
            parts.append(char)
        else:
            parts.append(text[end])
            end += 1
    if end >= len(text):
        fail(text, at, "the string that begins here does not end", f"close it with {quote}")
    if len(parts) > LONGEST_STRING:
        fail(text, at, f"the string is too long: {len(parts)} characters", f"the limit is {LONGEST_STRING}")
    return Token(STRING, "".join(parts), at, end + 1)


def _escape(text: str, at: int) -> tuple[str, int]:
    """Return the character of an escape sequence, and the position after it."""
    char = text[at + 1 : at + 2]
    if char in _ESCAPES:
        return _ESCAPES[char], at + 2
    size = _HEX.get(char, 0)
    digits = text[at + 2 : at + 2 + size]
    if size and len(digits) == size and all(digit in "0123456789abcdefABCDEF" for digit in digits):
        code = int(digits, 16)
        if code <= 0x10FFFF:
            return chr(code), at + 2 + size
    hint = r'a backslash is written "\\"; there are \" \n \t \r \xHH \uHHHH \UHHHHHHHH'
    return fail(text, at, "there is no such escape", hint)


def _digits(text: str, at: int) -> int:
    while at < len(text) and (text[at] == "_" or (text[at].isascii() and text[at].isdecimal())):
        at += 1
    return at


def _number(text: str, at: int) -> Token:
    end = _digits(text, at)
    if text[end : end + 1] == "." and text[end + 1 : end + 2].isascii() and text[end + 1 : end + 2].isdecimal():
        end = _digits(text, end + 1)
    if text[end : end + 1] in ("e", "E"):
        sign = end + 2 if text[end + 1 : end + 2] in ("+", "-") else end + 1
        if _digits(text, sign) > sign:
            end = _digits(text, sign)
    number = text[at:end].replace("_", "")
    if len(number) > LONGEST_NUMBER:
        fail(text, at, "the number is too long", f"the limit is {LONGEST_NUMBER} digits")
    last = end
    while last < len(text) and text[last].isalpha():
        last += 1
    return Token(NUMBER, number, at, last, text[end:last])
