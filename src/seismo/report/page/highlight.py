"""Which parts of a Python source are keywords, strings, comments and numbers, line by line.

By the tokenizer of this interpreter. A source that it does not take, of a later version or of no Python at all, is
shown plain: colours are a convenience, and no page fails for them.
"""

from __future__ import annotations

import io
import keyword
import tokenize

from seismo.report.page.document import code, text

# Since 3.12 (f) and 3.14 (t), strings with expressions in them come in parts.
_PARTS = [f"{kind}STRING_{part}" for kind in "FT" for part in ("START", "MIDDLE", "END")]
_STRINGS = {getattr(tokenize, name) for name in ("STRING", *_PARTS) if hasattr(tokenize, name)}
_LONGEST = 2_000  # characters of a line that is looked at; generated lines may have millions

Span = tuple[int, int, str]  # first and last column of characters, and a class


def highlighted(lines: list[str]) -> list[str]:
    """The lines of a source as markup: one a line, escaped."""
    spans = _spans(lines)
    return [_line(line, spans.get(number, [])) for number, line in enumerate(lines, 1)]


def _spans(lines: list[str]) -> dict[int, list[Span]]:
    """What is coloured of each line, in order."""
    found: dict[int, list[Span]] = {}
    # A lone surrogate, which no decoder gives, would break the tokenizer: a question mark is as wide.
    whole = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace").decode()
    if "\0" in whole:  # no Python, and 3.12's tokenizer fails in odd ways
        return found
    source = io.StringIO(whole)
    try:
        for token in tokenize.generate_tokens(source.readline):
            name = _class(token)
            if not name:
                continue
            (first, column), (last, end) = token.start, token.end
            for line in range(first, last + 1):
                length = len(lines[line - 1]) if line <= len(lines) else 0
                span = (column if line == first else 0, end if line == last else length, name)
                found.setdefault(line, []).append(span)
    except (SyntaxError, tokenize.TokenError, ValueError, RecursionError, MemoryError):
        pass  # what was found until there
    return found


def _line(line: str, spans: list[Span]) -> str:
    if not spans or "\t" in line or len(line) > _LONGEST:
        return code(line)
    pieces = []
    at = 0
    for first, last, name in spans:
        if first < at:
            continue
        pieces.append(text(line[at:first]))
        pieces.append(f'<i class="{name}">{text(line[first:last])}</i>')
        at = last
    pieces.append(text(line[at:]))
    return "".join(pieces)


def _class(token: tokenize.TokenInfo) -> str:
    if token.type in _STRINGS:
        return "s"
    if token.type == tokenize.COMMENT:
        return "c"
    if token.type == tokenize.NUMBER:
        return "d"
    return "k" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else ""
