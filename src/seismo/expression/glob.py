"""Glob patterns over names: the Python version of `sm_glob` in native/filter/glob.c.

`*` matches any text, `?` any character, `[abc]`, `[a-z]` and `[!abc]` one of a set. Case matters, and dots and slashes
are ordinary characters, as in fnmatch.fnmatchcase. Only the last star is extended by backtracking, so the time is
bounded by the product of the lengths of pattern and text.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401


def matches(pattern: str, text: str) -> bool:
    """Return True if the pattern matches the whole text."""
    at = place = 0  # positions in the pattern and in the text
    star, begun = -1, 0  # the last star, and the start of the text after it
    while place < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, begun = at, place
            at += 1
            continue
        after = _one(pattern, at, text[place]) if at < len(pattern) else 0
        if after:
            at, place = after, place + 1
        elif star >= 0:
            begun += 1
            at, place = star + 1, begun
        else:
            return False
    return not pattern[at:].strip("*")


def _one(pattern: str, at: int, char: str) -> int:
    """Return the position after the pattern's part at `at` if it matches this character, or 0."""
    if pattern[at] == "?":
        return at + 1
    if pattern[at] != "[":
        return at + 1 if pattern[at] == char else 0
    begin = at + 1
    negated = pattern[begin : begin + 1] == "!"
    begin += negated
    end = pattern.find("]", begin + 1)  # a bracket in first place belongs to the set
    if end < 0:
        return at + 1 if char == "[" else 0
    inside = False
    while begin < end:
        if begin + 2 < end and pattern[begin + 1] == "-":
            inside = inside or pattern[begin] <= char <= pattern[begin + 2]
            begin += 3
        else:
            inside = inside or pattern[begin] == char
            begin += 1
    return end + 1 if inside != negated else 0
