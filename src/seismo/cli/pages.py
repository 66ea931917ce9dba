"""Writing an HTML page for a verb, and opening it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from seismo.escape import printable

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable


def page(args: Namespace, write: Callable[[str], int | None], at: Callable[[str], str] = str) -> int:
    """Writes the page to --html, or where only --open asks for it, to a folder of its own; opens it if asked.

    write: writes to a path, and gives the exit status. at: the file that a page at this path begins with.
    """
    path = args.html
    if path:
        from seismo.cli.files import check_pages

        check_pages(at(path), args.force)
    else:
        import tempfile

        path = os.path.join(tempfile.mkdtemp(prefix="seismo-"), "seismo.html")
    status = write(path) or 0
    if args.open:
        _open(os.path.realpath(at(path)))
    return status


def _open(path: str) -> None:
    """Opens the page in the user's browser, and says where it is: there may be no browser, and no display."""
    import pathlib
    import webbrowser

    # Without a display, a browser in the terminal would take the terminal.
    display = not sys.platform.startswith("linux") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    try:
        opened = bool(display) and webbrowser.open(pathlib.Path(path).as_uri())
    except (webbrowser.Error, OSError):
        opened = False
    if sys.stderr is not None:
        said = "the page is" if opened else "no browser could be opened; the page is"
        print(f"seismo: {said} {printable(path)}", file=sys.stderr)
