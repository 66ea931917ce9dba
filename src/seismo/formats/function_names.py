"""The encoding of functions as one word, for formats with a single name, and the parser of such words.

    module:qualname (file:line)        a Python function
    module:qualname                    a C function, or a function in formats with fields for file and line
    <name>                             a synthetic node, such as <folded paths>

The colon is that of entry points and, unlike a dot, marks the end of the module. Viewers support the bracket: gprof2dot
takes file and line out of it.

The recorded program chooses names, which may hold separators of the format, newlines that forge lines, escape sequences
for terminals, or lone surrogates. Such characters are percent-encoded as in URLs, `%3B` for a semicolon, as bytes of
UTF-8. A percent sign is escaped only before two upper-case hexadecimal digits, so ordinary names are unchanged. The
decoder only decodes characters that the encoder encodes: unescape(escape(text)) == text for every text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from seismo.model.builder import LONGEST, cut

if TYPE_CHECKING:
    from collections.abc import Sequence

PYTHON, C, SYNTHETIC = 0, 1, 2

# Control characters, line ends, marks of direction, and lone surrogates.
_UNSAFE = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
_ALWAYS = f"[{_UNSAFE};]|%(?=[0-9A-F]{{2}})"
_IN_FILE = re.compile(_ALWAYS)
_IN_MODULE = re.compile(rf"{_ALWAYS}|[:(\s]")
_IN_NAME = re.compile(rf"{_ALWAYS}|\(|^[:\\]")
_IN_BARE_NAME = re.compile(rf"{_ALWAYS}|[:(]|^<(?=thread |process )")

_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")
_WRITTEN = re.compile(rf"[{_UNSAFE};:(%<\\]+")
_WRITTEN_IN_MODULE = re.compile(rf"[{_UNSAFE};:(%<\s]+")

_LONGEST_WORD = 16 * LONGEST  # three names, with their escapes
_LINE = re.compile(r"[0-9]{1,18}\Z")
_WITH_MODULE = re.compile(r"([^\s:(]+):(?![:\\])")  # neither std::sort nor C:\dir
_EMPTY = ":"


class Frame(NamedTuple):
    """A function in the one-word formats; line is 0 if it is unknown."""

    kind: int
    module: str
    qualname: str
    file: str
    line: int


def escape(text: str) -> str:
    """Return the text with all characters escaped that are unsafe in lines, terminals and encoders, and semicolons."""
    return _IN_FILE.sub(_percent, text)


def unescape(text: str) -> str:
    """Return the text that was given to escape(). Escapes that escape() does not write are unchanged."""
    return _ESCAPED.sub(_decoded, text) if "%" in text else text


def name(module: str, qualname: str) -> str:
    """Return the word without its place: `module:qualname`, escaped."""
    if module:
        return f"{_IN_MODULE.sub(_percent, module)}:{_IN_NAME.sub(_percent, qualname)}"
    return _IN_BARE_NAME.sub(_percent, qualname) or _EMPTY


def word(frame: Frame) -> str:
    """Return the whole word: `module:qualname (file:line)`, escaped, without semicolons and line ends."""
    bare = name(frame.module, frame.qualname)
    if frame.file or frame.line > 0:
        return f"{bare} ({escape(frame.file)}:{max(frame.line, 0)})"
    return bare


def distinct_names(frames: Sequence[Frame]) -> list[str]:
    """Return the functions' names, with file and line where several functions share a name."""
    names = [name(frame.module, frame.qualname) for frame in frames]
    uses = Counter(names)
    return [word(frame) if uses[text] > 1 else text for text, frame in zip(names, frames, strict=True)]


def clipped(text: str) -> str:
    """Return the word, cut if it is longer than any word of a recording's names."""
    return text if len(text) <= _LONGEST_WORD else cut(text)


def parse(text: str, file: str = "", line: int = 0) -> Frame:
    """Return the function of a word. file, line: values from other fields of the format, if it has them.

    This never fails: another tool's word becomes a function with that qualified name. The kind is a guess, because the
    word does not contain it: Python if there is a file, and C if there is only a module.
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
        module = _ESCAPED.sub(partial(_decoded, written=_WRITTEN_IN_MODULE), split[1])
        return Frame(PYTHON if file or line else C, module, unescape(text[split.end() :]), file, line)
    return Frame(PYTHON, "", "" if text == _EMPTY else unescape(text), file, line)


def json_text(value: object) -> str:
    r"""Return the value as JSON in ASCII that is also safe inside an HTML script element: `</` becomes `<\/`."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("<!--", "\\u003c!--")


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _decoded(match: re.Match[str], written: re.Pattern[str] = _WRITTEN) -> str:
    """Return the text of an escape if `written` matches it, else the escape."""
    escaped = match[0]
    try:
        decoded = bytes.fromhex(escaped.replace("%", "")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return escaped
    return decoded if written.fullmatch(decoded) else escaped
