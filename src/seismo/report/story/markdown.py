r"""A story as Markdown in GitHub's dialect, for agents and for comments on pull requests.

Text from the recorded program may contain any Markdown. It is put into code spans, in which nothing is a link, a
heading, HTML or a mention; a span's fence is longer than any run of backticks in it. Only a bar keeps its meaning
there: it ends a table's cell. It is escaped by a backslash, as the rules of tables require, or as `\x7c` if a backslash
precedes it, because parsers disagree on that. Invisible characters, line ends and marks of direction among them, are
Python's escapes, as everywhere in seismo.
"""

from __future__ import annotations

import functools
import re

from seismo.escape import printable
from seismo.report import words as text
from seismo.report.story import NOTE, Name, Section, Story
from seismo.report.story.fitting import fitting

BYTES = 8_000  # most bytes of a document without a requested length
CLOSELY = 60  # lines; with fewer, there are no blank lines or tables
_SIGNS = text.Signs()
_LONGEST, _SENTENCE, _CODE = 100, 600, 120  # columns of a name, of a fact or a command, of a source line
_DEEPEST = 8  # levels of a list; deeper items show their level as a number
# Text without any Markdown syntax: no underscore except inside of a word, no address, no :emoji:.
_PLAIN = re.compile(
    r"(?!.*(?:://|www\.|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:[a-z][a-z0-9_+-]*:|<[^ 0-9]))"
    r"[A-Za-z0-9 _%()+,.;:/'=<±≥≤≈µ…→×▸▁▂▃▄▅▆▇█-]*"
)
_BACKTICKS = re.compile("`+")


def markdown(story: Story, max_lines: int | None = None) -> str:
    """Return the document, which ends with a line feed. max_lines: its most lines, or None to fit into BYTES."""
    if max_lines is None:
        return fitting(story, written, lambda shown: len(shown.encode("utf-8", "replace")) <= BYTES)
    write = functools.partial(written, closely=max_lines < CLOSELY)
    return fitting(story, write, lambda shown: shown.count("\n") <= max_lines)


def written(story: Story, closely: bool = False) -> str:
    """Return all of a story. closely: without blank lines, and with lists instead of tables."""
    blank = [] if closely else [""]
    titles = ", ".join(_words(title) for title in story.left_out if title)
    note = [f"Left out: {titles}. {NOTE}" if titles else NOTE] if story.sections else []
    lines = [_title(story), *(note if closely else [])]
    for section in story.sections:
        more = f"{section.more:,} more" if section.more and section.rows else ""
        remarks = "; ".join(filter(None, (section.remarks, more if closely else "")))
        lines += blank
        if section.title:
            lines += [f"## {_words(section.title)}" + (f" ({_sentence(remarks)})" if remarks else ""), *blank]
        if not section.rows:
            lines.append(f"{'- ' if closely else ''}{_sentence(section.none)}")
        elif closely:
            lines += filter(None, (_items if section.form == "table" else _FORMS[section.form])(section))
        else:
            lines += _FORMS[section.form](section)
            lines += ["", f"{_SIGNS.cut} {more}"] if more and section.title else []
    lines += ["", *note] if note and not closely else []
    return "\n".join(lines) + "\n"


def _title(story: Story) -> str:
    return f"# {_words(story.title)}: {code(story.program)}" if story.program else f"# {_words(story.title)}"


# ---- Text. ----


def code(words: str, most: int = _LONGEST, in_table: bool = False) -> str:
    """Return a code span that shows any words literally; empty for none."""
    shown = text.beginning(printable(words), most, _SIGNS)
    if not shown:
        return ""
    if in_table:
        shown = shown.replace("\\|", "\\\\x7c").replace("|", "\\|")
    fence = "`" * (1 + max(map(len, _BACKTICKS.findall(shown)), default=0))
    blank = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def _sentence(words: str, in_table: bool = False) -> str:
    """Return a sentence that may contain the program's names: as code if it has any Markdown syntax."""
    return str(words) if _PLAIN.fullmatch(words) else code(words, _SENTENCE, in_table)


def _words(words: str) -> str:
    """Return our own words with Markdown syntax escaped."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", words)


def _cell(words: str) -> str:
    if isinstance(words, Name):
        return code(words, in_table=True)
    return _sentence(words.strip(), in_table=True)


# ---- The forms of sections. ----


def _table(section: Section) -> list[str]:
    """Return a table without empty columns."""
    cells = [[_cell(cell) for cell in row.cells] for row in section.rows]
    used = [number for number in range(len(section.headings)) if any(row[number] for row in cells)]
    heads = [_words(section.headings[number].strip()) or " " for number in used]
    lines = [f"| {' | '.join(heads)} |"]
    lines.append("|" + "|".join("--:" if number < section.numbers else "---" for number in used) + "|")
    return lines + [f"| {' | '.join(row[number] for number in used)} |" for row in cells]


def _items(section: Section) -> list[str]:
    """Return a table as a list: the names, then each number after its heading, an error after its time."""
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
    lines = []
    for row in section.rows:
        cells = [cell for cell in row.cells if cell.strip()]
        parts = [code(cell) if isinstance(cell, Name) else _sentence(cell.strip()) for cell in cells]
        level = _words(f"[{row.depth + 1}] ") if row.depth > _DEEPEST else ""
        lines.append(f"{'  ' * min(row.depth, _DEEPEST)}- {level}{' '.join(parts)}")
    return lines


def _list(section: Section) -> list[str]:
    """Return facts or next steps, two texts each."""
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
