"""Matches as JSON lines: one object per match, in ASCII.

This does not use json, which would import re and a dozen other modules into the watched program.
"""

from __future__ import annotations

from _json import encode_basestring_ascii as quote

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.watching.match import Match


def encode(value: object) -> str:
    """Return the JSON of text, numbers, None, lists and dicts with text keys."""
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quote(key)}: {encode(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(encode, value)) + "]"
    return repr(value)


def is_ours(begin: bytes) -> bool:
    """Return True if a file that begins with these bytes holds such lines."""
    return begin.startswith(b'{"moment": "')


def line(match: Match) -> str:
    """Return one match as a line, with its line end."""
    fields = match.fields()
    fields["time"] = round(match.time, 6)
    return encode(fields) + "\n"
