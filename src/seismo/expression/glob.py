"""Patterns over names: what `sm_glob` in native/filter/glob.c does, for the places without the native core.

`*` is any text, `?` any character, `[abc]`, `[a-z]` and `[!abc]` one of a set; case counts, and so do dots and slashes
no more than letters: as fnmatch.fnmatchcase has it. A star takes as little as it can and is never tried again once the
next one is reached, so that no pattern takes longer than its length times the text's.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text is of the pattern."""
    at = place = 0  # in the pattern, in the text
    star, begun = -1, 0  # the last star, and where the text after it begins
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
    """Where the pattern goes on if its part at `at` is of this character; else 0."""
    if pattern[at] == "?":
        return at + 1
    if pattern[at] != "[":
        return at + 1 if pattern[at] == char else 0
    begin = at + 1
    negated = pattern[begin : begin + 1] == "!"
    begin += negated
    end = pattern.find("]", begin + 1)  # a bracket that comes first is one of the set
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
