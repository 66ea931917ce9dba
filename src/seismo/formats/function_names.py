"""How a function is written as one word in formats that have a single name for it, and how such a word is read back.

The word is

    module:qualname (file:line)        a Python function
    module:qualname                    a C function, or where file and line have fields of their own
    <what it stands for>               a synthetic node, such as <folded paths>

The colon is that of entry points: unlike a dot, it tells where the module ends. Viewers know the bracket: gprof2dot
takes file and line out of it.

Names belong to the recorded program and may hold anything: the separators of the format, newlines that would forge
lines, escape sequences that would reach somebody's terminal, lone surrogates that no encoder takes. Such characters
are written as in a URL, `%3B` for a semicolon, the bytes being those of UTF-8 (surrogates included). A percent sign
itself is escaped only where two upper-case hexadecimal digits follow, so usual names stay as they are; and reading
decodes only what writing would have encoded, so the `%20` of somebody else's file stays `%20`. Each part is escaped
once and read back once: unescape(escape(text)) is text, for every text.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from seismo.model.builder import LONGEST, cut

PYTHON, C, SYNTHETIC = 0, 1, 2

# Control characters, line ends, marks that turn the direction of a text, and surrogates that stand alone.
_UNSAFE = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
_ALWAYS = f"[{_UNSAFE};]|%(?=[0-9A-F]{{2}})"
_IN_FILE = re.compile(_ALWAYS)
_IN_MODULE = re.compile(rf"{_ALWAYS}|[:(\s]")
_IN_NAME = re.compile(rf"{_ALWAYS}|\(|^[:\\]")
_IN_BARE_NAME = re.compile(rf"{_ALWAYS}|[:(]|^<(?=thread |process )")

_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")
_WRITTEN = re.compile(rf"[{_UNSAFE};:(%<\\]+")
_WRITTEN_IN_MODULE = re.compile(rf"[{_UNSAFE};:(%<\s]+")

_LONGEST_WORD = 16 * LONGEST  # three names, and what escaping adds
_LINE = re.compile(r"[0-9]{1,18}\Z")
_WITH_MODULE = re.compile(r"([^\s:(]+):(?![:\\])")  # neither std::sort nor C:\dir
_EMPTY = ":"


class Frame(NamedTuple):
    """A function as the one-word formats know it; `line` is 0 where nothing is known."""

    kind: int
    module: str
    qualname: str
    file: str
    line: int


def escape(text: str) -> str:
    """The text without semicolons, control characters and what else would break a line, a terminal or an encoder."""
    return _IN_FILE.sub(_percent, text)


def unescape(text: str) -> str:
    """What escape() was given. Leaves alone what escape() would not have written."""
    return _ESCAPED.sub(_decoded, text) if "%" in text else text


def name(module: str, qualname: str) -> str:
    """The word without its place: `module:qualname`, escaped."""
    if module:
        return f"{_IN_MODULE.sub(_percent, module)}:{_IN_NAME.sub(_percent, qualname)}"
    return _IN_BARE_NAME.sub(_percent, qualname) or _EMPTY


def word(frame: Frame) -> str:
    """The whole word: `module:qualname (file:line)`, escaped. No semicolon is in it, and nothing that ends a line."""
    bare = name(frame.module, frame.qualname)
    if frame.file or frame.line > 0:
        return f"{bare} ({escape(frame.file)}:{max(frame.line, 0)})"
    return bare


def clipped(text: str) -> str:
    """The word, cut if no names that a recording keeps could make one of its length."""
    return text if len(text) <= _LONGEST_WORD else cut(text)


def parse(text: str, file: str = "", line: int = 0) -> Frame:
    """The function that a word names; `file` and `line` are what the format says beside it, if it does.

    Never fails: a word from another tool becomes a function whose qualified name is the word. The kind is a guess, for
    the word does not hold it: Python where there is a file, C where there is only a module.
    """
    text = clipped(text)
    bare, bracket, place = text.partition(" (")
    placed, colon, number = place.removesuffix(")").rpartition(":")
    if bracket and colon and place.endswith(")") and _LINE.match(number):
        text, file, line = bare, unescape(placed), int(number)
    if not (file or line) and text.startswith("<") and text.endswith(">"):
        return Frame(SYNTHETIC, "", unescape(text), "", 0)
    split = _WITH_MODULE.match(text)
    if split:
        module = _ESCAPED.sub(_decoded_in_module, split[1])
        return Frame(PYTHON if file or line else C, module, unescape(text[split.end() :]), file, line)
    return Frame(PYTHON, "", "" if text == _EMPTY else unescape(text), file, line)


def json_text(value: object) -> str:
    r"""The value as JSON in ASCII, safe inside an HTML script element as well: `</` is written `<\/`."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("<!--", "\\u003c!--")


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _decoded(match: re.Match[str]) -> str:
    return _bytes_of(match[0], _WRITTEN)


def _decoded_in_module(match: re.Match[str]) -> str:
    return _bytes_of(match[0], _WRITTEN_IN_MODULE)


def _bytes_of(escaped: str, written: re.Pattern[str]) -> str:
    try:
        decoded = bytes.fromhex(escaped.replace("%", "")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return escaped
    return decoded if written.fullmatch(decoded) else escaped
