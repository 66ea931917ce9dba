"""The frame of every page (policy, style, data, script), and the saving of its file in one step.

There are no templates, because the reading side depends on no template engine. Only the title is text of the recorded
program in the markup, and it passes through text(); all else is packed (seismo.report.page.payload).
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import os
from importlib import resources
from typing import TYPE_CHECKING

from seismo.errors import FormatError, missing_folder
from seismo.escape import printable
from seismo.model.replaced_file import replaced
from seismo.report.page.payload import packed, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from seismo.report.page.payload import Columns


def text(value: str) -> str:
    """Return any text as content or as a quoted attribute, without markup or invisible characters."""
    return html.escape(printable(value), quote=True)


@functools.cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8").strip()


def _hash(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


MARK = '<meta name="generator" content="seismo">'  # identifies a page made by seismo


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


def drawn(title: str, head: Mapping[str, object], columns: Columns) -> str:
    """Return a whole page that draws itself, with the bundle in `built` that the head's `kind` names.

    title: plain text, escaped here. head, columns: as in seismo.report.page.payload.packed(), without the title.
    """
    return "".join(drawn_in_parts(title, str(head["kind"]), packed({**head, "title": shown(title)}, columns), ()))


def drawn_in_parts(title: str, name: str, data: str, more: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the page in pieces, for pages of any size.

    title: plain text, escaped here. name: of the bundle in `built` that draws it. data: from packed(), in which no
    character can end the element around it. more: ids and data of further elements, made on demand.
    """
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


def save(path: str | os.PathLike[str], content: str | Iterable[str]) -> None:
    """Write a page, whole or not at all. content: the page or its pieces. Raises FormatError if writing fails."""
    path = os.fspath(path)
    try:
        with replaced(path) as file:
            file.writelines(piece.encode() for piece in ([content] if isinstance(content, str) else content))
    except OSError as error:
        hint = "name a file in it, such as report.html" if os.path.isdir(path) else missing_folder(path)
        raise FormatError(f"the page cannot be written: {error.strerror or error}", path, hint) from None
