r"""A story as Markdown: GitHub's, which agents read, and which a pull request's comment shows.

What the recorded program named may hold anything that Markdown knows. It stands in code spans, in which nothing is a
link, a heading, HTML or a mention; a span's fence is longer than any run of backticks in it. One sign has a meaning
even there: a bar ends a table's cell. It is written with a backslash before it, as the rules of tables have it, or,
where a backslash stands before it already and parsers disagree, as the escape `\x7c`. Characters that are not plainly
visible, line ends and marks of direction among them, are Python's escapes, as everywhere in seismo.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.report import words as text
from seismo.report.story import NOTE, Name
from seismo.report.story.fitting import fitting

if TYPE_CHECKING:
    from seismo.report.story import Row, Section, Story

BYTES = 8_000  # of a document whose length nobody asked for
CLOSELY = 60  # lines: with fewer, none is spent on looks
_SIGNS = text.Signs()
_LONGEST, _SENTENCE, _CODE = 100, 600, 120  # columns of a name, of a fact or a command, of a source line
_DEEPEST = 8  # levels of a list; what is deeper says its level
# What is no sign of Markdown's, and none of GitHub's: no underscore but inside of a word, no address, no :emoji:.
_PLAIN = re.compile(
    r"(?!.*(?:://|www\.|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:[a-z][a-z0-9_+-]*:|<[^ 0-9]))"
    r"[A-Za-z0-9 _%()+,.;:/'=<±≥≤≈µ…→×▸▁▂▃▄▅▆▇█-]*"
)
_BACKTICKS = re.compile("`+")


def markdown(story: Story, max_lines: int | None = None) -> str:
    """The document, with its last line's end. max_lines: its lines; None: as many as BYTES have room for."""
    if max_lines is None:
        return fitting(story, written, lambda shown: len(shown.encode("utf-8", "replace")) <= BYTES)
    write = written_closely if max_lines < CLOSELY else written
    return fitting(story, write, lambda shown: shown.count("\n") <= max_lines)


def written_closely(story: Story) -> str:
    """All of a story without a line that says nothing: no blank ones, and lists in place of tables."""
    lines = [_title(story)]
    if story.sections:
        lines.append(_left_out(story) + NOTE)
    for section in story.sections:
        more = f"{section.more:,} more" if section.more and section.rows else ""
        remarks = "; ".join(filter(None, (section.remarks, more)))
        if section.title:
            lines.append(f"## {_words(section.title)}" + (f" ({_sentence(remarks)})" if remarks else ""))
        if not section.rows:
            lines.append(f"- {_sentence(section.none)}")
        elif section.form == "table":
            lines += _items(section)
        else:
            lines += [line for line in _FORMS[section.form](section) if line]
    return "\n".join(lines) + "\n"


def written(story: Story) -> str:
    """All of a story."""
    lines = [_title(story)]
    for section in story.sections:
        lines.append("")
        if section.title:
            remark = f" ({_sentence(section.remarks)})" if section.remarks else ""
            lines += [f"## {_words(section.title)}{remark}", ""]
        if not section.rows:
            lines.append(_sentence(section.none))
            continue
        lines += _FORMS[section.form](section)
        if section.more and section.title:
            lines += ["", f"{_SIGNS.cut} {section.more:,} more"]
    if story.sections:
        lines += ["", _left_out(story) + NOTE]
    return "\n".join(lines) + "\n"


def _title(story: Story) -> str:
    return f"# {_words(story.title)}: {code(story.program)}" if story.program else f"# {_words(story.title)}"


def _left_out(story: Story) -> str:
    """Which sections are missing, as a sentence with a blank behind it; "": none."""
    titles = ", ".join(_words(title) for title in story.left_out if title)
    return f"Left out: {titles}. " if titles else ""


# ---- what is said ----


def code(words: str, most: int = _LONGEST, in_table: bool = False) -> str:
    """A code span that shows the words and is nothing else, whatever they are; empty for none."""
    shown = text.beginning(printable(words), most, _SIGNS)
    if not shown:
        return ""
    if in_table:
        shown = shown.replace("\\|", "\\\\x7c").replace("|", "\\|")
    fence = "`" * (1 + max(map(len, _BACKTICKS.findall(shown)), default=0))
    blank = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def _sentence(words: str, in_table: bool = False) -> str:
    """A sentence that may name something of the program's: as it is if no sign in it means anything, or as code."""
    return str(words) if _PLAIN.fullmatch(words) else code(words, _SENTENCE, in_table)


def _words(words: str) -> str:
    """Words of our own."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", words)


def _cell(words: str) -> str:
    if isinstance(words, Name):
        return code(words, in_table=True)
    return _sentence(words.strip(), in_table=True)


# ---- the forms of sections ----


def _table(section: Section) -> list[str]:
    """A table without the columns in which nothing stands."""
    cells = [[_cell(cell) for cell in row.cells] for row in section.rows]
    used = [number for number in range(len(section.headings)) if any(row[number] for row in cells)]
    heads = [_words(section.headings[number].strip()) or " " for number in used]
    lines = [f"| {' | '.join(heads)} |"]
    lines.append("|" + "|".join("--:" if number < section.numbers else "---" for number in used) + "|")
    return lines + [f"| {' | '.join(row[number] for number in used)} |" for row in cells]


def _items(section: Section) -> list[str]:
    """A table as a list: the names, then each number behind its heading, an error behind its time."""
    lines = []
    for row in section.rows:
        numbers = ""
        for heading, cell in zip(section.headings[: section.numbers], row.cells, strict=False):
            if cell.strip():
                numbers += f" {cell.strip()}" if heading == "±" else f", {heading.strip()} {cell.strip()}"
        names = " ".join(filter(None, map(_cell, row.cells[section.numbers :])))
        lines.append(f"- {names}: {_sentence(numbers.removeprefix(', '))}" if numbers else f"- {names}")
    return lines


def _tree(section: Section) -> list[str]:
    return [_item(row, "  " * min(row.depth, _DEEPEST)) for row in section.rows]


def _item(row: Row, lead: str) -> str:
    level = f"[{row.depth + 1}] " if row.depth > _DEEPEST else ""
    parts = [code(cell) if isinstance(cell, Name) else _sentence(cell.strip()) for cell in row.cells if cell.strip()]
    return f"{lead}- {_words(level)}{' '.join(parts)}"


def _list(section: Section) -> list[str]:
    """Facts, and what to do next: two words each."""
    facts = section.name == "facts"
    lines = []
    for row in section.rows:
        first = f"**{_words(row.cells[0])}**" if facts else f"{code(row.cells[0], 4_000)}:"
        lines.append(f"- {first} {_sentence(row.cells[1])}")
    return lines


def _code(section: Section) -> list[str]:
    lines: list[str] = []
    for row in section.rows:
        shown = [text.beginning(printable(line.expandtabs(4)), _CODE, _SIGNS) for line in row.code]
        fence = "`" * max(3, 1 + max((len(run) for line in shown for run in _BACKTICKS.findall(line)), default=0))
        lines += [""] * bool(lines) + [" ".join(_cell(cell) for cell in row.cells if cell)]
        lines += ["", f"{fence}text", *shown, fence] if shown else []
    return lines


_FORMS = {"table": _table, "tree": _tree, "list": _list, "code": _code}
