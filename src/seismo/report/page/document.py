"""What the pages are made of: escaped text, the frame of a document, bars, numbers, and whole files.

Why no templates: the reading side has no engine among its dependencies, and what is needed of one is a single thing,
that no text goes out unescaped. So every text of the recorded program passes through text(), once, where it is put
into a page.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import os
import re
from importlib import resources
from typing import TYPE_CHECKING

from seismo.errors import FormatError
from seismo.escape import printable
from seismo.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_TAB = 8
SCROLLS = '<div class="scroll" tabindex="0">'  # what is wider than the window scrolls in it, by the keyboard too
_SEPARATORS = re.compile(r"(?<=[a-z0-9])_(?=[a-z0-9])|[.:/](?=\w)(?!py\b)")


def text(value: str) -> str:
    """Any text as content or as a quoted attribute: nothing in it is markup, and nothing in it is invisible."""
    return html.escape(printable(value), quote=True)


def code(value: str) -> str:
    """A line of source as text, with its tabs as blanks."""
    return text(value.expandtabs(_TAB))


def count(number: float) -> str:
    """A whole number with its thousands apart (thin blanks)."""
    return f"{number:,.0f}".replace(",", "\u202f")


def plural(number: int, one: str, many: str = "") -> str:
    """A count with its noun."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def bar(*parts: tuple[str, float]) -> str:
    """A bar of 100 units of width, of parts with a class and a width each. Drawn, for a page has no inline styles."""
    shapes = []
    x = 0.0
    for name, width in parts:
        if width > 0:
            shapes.append(f'<rect class="{name}" x="{x:.2f}" width="{min(width, 100 - x):.2f}" height="8"/>')
        x += width
    return (
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="none" width="100" height="8"/>{"".join(shapes)}</svg>'
    )


def share_bar(name: str, part: float, largest: float, whole: float) -> str:
    """A table's cell with a bar as long as the part is of the largest, and its share of the whole beside the pointer.

    What is there is never too small to be seen. If bars were shares, nearly all of a long table would be empty.
    """
    length = max(1.0, 100 * part / largest) if part > 0 and largest > 0 else 0.0
    said = percent(part, whole)
    title = f' title="{said} of all"' if said else ""
    return f'<td class="bars"{title}>{bar((name, length))}</td>'


def breakable(value: str) -> str:
    """A name or a path as text that may be broken behind its separators, rather than anywhere."""
    return _SEPARATORS.sub(r"\g<0><wbr>", text(value))


@functools.cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8").strip()


def _hash(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


_STUCK = ' class="stuck"'
MARK = '<meta name="generator" content="seismo">'  # by which a page of ours is known again


@functools.cache
def _head(style: str, script: str) -> str:
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; script-src 'sha256-{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        f"{MARK}\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<style>{style}</style>\n"
    )


def document(title: str, kind: str, top: str, main: str, keys: str, *, stuck: bool = False) -> str:
    """A whole page. title: plain text, escaped here. kind: the class of the body, for the style. The rest is markup.

    top, main: the header and what follows. keys: which keys do what, for the foot. stuck: the header stays in sight.
    """
    from seismo import __version__

    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{_head(_asset('style.css'), _asset('script.js'))}<title>{text(title)}</title>\n</head>\n"
        f'<body class="{kind}">\n<header{_STUCK if stuck else ""}>\n{top}\n</header>\n'
        f"<main>\n{main}\n</main>\n<footer><p>{keys}</p><p>seismo {text(__version__)}</p></footer>\n"
        f"<script>{_asset('script.js')}</script>\n</body>\n</html>\n"
    )


def drawn(title: str, name: str, data: str) -> str:
    """A whole page that draws itself. title: plain text, escaped here. name: of the bundle in `built` that draws it.

    data: as seismo.report.page.payload packs it. It stands in an element that no browser runs, and has no character
    that could end it.
    """
    return "".join(drawn_in_parts(title, name, data, ()))


def drawn_in_parts(title: str, name: str, data: str, more: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The same in pieces, for pages of any size. more: ids and data of further elements, each made in its turn."""
    style, script = _asset("built/page.css"), _asset(f"built/{name}.js")
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{_head(style, script)}<title>{text(title)}</title>\n</head>\n"
        f'<body>\n<div id="app"><p class="state">Reading the recording …</p></div>\n'
        '<noscript><p class="state">This page draws with a script of its own. Scripts are switched off here: '
        "<code>seismo report FILE</code> shows the same in a terminal.</p></noscript>\n"
        f'<script type="text/plain" id="seismo-data">{data}</script>\n'
    )
    for id_, one in more:
        yield f'<script type="text/plain" id="{id_}">{one}</script>\n'
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def filter_box(hint: str, more: str = "", after: str = "") -> str:
    """The field whose words filter the rows of the page's tables, more, how many rows are left, and what is after."""
    field = f'<input id="filter" type="search" placeholder="{text(hint)}" autocomplete="off">'
    return f'<p class="tools"><label>Filter {field}</label>\n{more}<span id="shown" role="status"></span>{after}</p>'


# What goes from one marked line to the next.
STEPS = (
    '<span class="step"><button type="button" id="back" title="previous (p)">↑</button>\n'
    '<button type="button" id="forth" title="next (n)">↓</button> <span id="place" role="status"></span></span>'
)


def heads(*titles: str, classes: Mapping[str, str] | None = None) -> str:
    """The heads of a table's columns, by which it can be sorted; "": that of a column of bars."""
    of = classes or {}
    return "".join(
        f'<th scope="col"{of.get(title, "")}><button type="button">{title}</button></th>'
        if title
        else '<th class="bars"></th>'
        for title in titles
    )


def divided(rows: Sequence[str], libraries: Sequence[bool], columns: int) -> list[str]:
    """The rows of a table whose own ones come first, with a line where those of libraries begin, if there are both."""
    first = next((at for at, library in enumerate(libraries) if library), 0)
    if not first:
        return list(rows)
    divider = f'<tr class="divider"><td colspan="{columns}">Libraries</td></tr>'
    return [*rows[:first], divider, *rows[first:]]


def table(anchor: str, titles: str, rows: Sequence[str], foot: str = "") -> str:
    """A table that can be sorted and filtered, and is folded if it is long. titles: heads()."""
    body = "\n".join(rows)
    return (
        f'{SCROLLS}<table id="{anchor}" class="sortable">\n<thead><tr>{titles}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n{foot}</table></div>"
    )


def save(path: str, content: str | Iterable[str]) -> None:
    """Writes a page, whole or not at all. content: the page, or its pieces. FormatError: it cannot be written."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            file.writelines([content] if isinstance(content, str) else content)
        os.replace(part, path)
    except OSError as error:
        raise FormatError(f"the page cannot be written: {error.strerror or error}", where=path) from None
    finally:
        if os.path.exists(part):
            os.unlink(part)
