"""Which parts of a Python source are keywords, strings, comments and numbers, and which lines continue others.

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
_LAYOUT = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER)
_LONGEST = 2_000  # characters of a line that is looked at; generated lines may have millions

Span = tuple[int, int, str]  # first and last column of characters, and a class


class Highlighted:
    """The lines of a source as markup, and where the statements begin that take several."""

    def __init__(self, lines: list[str]) -> None:
        self._spans: dict[int, list[Span]] = {}
        self.begins: dict[int, int] = {}  # the first line of what a line continues
        self._tokenize(lines)
        self.lines = [_line(line, self._spans.get(number, [])) for number, line in enumerate(lines, 1)]

    def _tokenize(self, lines: list[str]) -> None:
        source = io.StringIO("".join(f"{line}\n" for line in lines))
        begin = 0
        try:
            for token in tokenize.generate_tokens(source.readline):
                if token.type == tokenize.NEWLINE:
                    for line in range(begin + 1, token.start[0] + 1):
                        self.begins[line] = begin
                    begin = 0
                elif not begin and token.type not in _LAYOUT:
                    begin = token.start[0]
                name = _class(token)
                if name:
                    self._add(token, name, lines)
        except (SyntaxError, tokenize.TokenError, ValueError, RecursionError, MemoryError):
            pass  # what was found until there

    def _add(self, token: tokenize.TokenInfo, name: str, lines: list[str]) -> None:
        (first, column), (last, end) = token.start, token.end
        for line in range(first, last + 1):
            length = len(lines[line - 1]) if line <= len(lines) else 0
            span = (column if line == first else 0, end if line == last else length, name)
            self._spans.setdefault(line, []).append(span)


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
