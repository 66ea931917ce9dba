"""Writing of an HTML page for a verb, and opening it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable


def page(args: Namespace, write: Callable[[str], int | None], at: Callable[[str], str] = str) -> int:
    """Write and open the page as the options ask. `write` takes a path; `at` returns the first file of a page there."""
    path = args.html
    if path:
        from seismo.formats.destination import check_free
        from seismo.report.page import MARK

        check_free(at(path), args.force, MARK.encode())
    else:
        import tempfile

        path = os.path.join(tempfile.mkdtemp(prefix="seismo-"), "seismo.html")
    status = write(path) or 0
    if args.open:
        from pathlib import Path

        from seismo.cli.files import say

        path = os.path.realpath(at(path))
        found = "the page is" if opened(Path(path).as_uri()) else "no browser could be opened; the page is"
        say(f"{found} {path}")
    return status


def opened(address: str) -> bool:
    """Open an address in the browser. Return False without a display: a text browser would use the terminal."""
    import webbrowser

    display = not sys.platform.startswith("linux") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    try:
        return bool(display) and webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
