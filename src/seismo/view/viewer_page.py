"""The viewer's page: a frame for the bundle of the front end, with a policy that allows no other code."""

from __future__ import annotations

import functools

from seismo.report.page.document import MARK, _asset, _hash
from seismo.view.server import POLICY


@functools.cache
def page() -> str:
    """Return the page. It requests everything else by relative addresses, because its own holds the token."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{MARK}\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n<title>seismo view</title>\n'
        f"<style>{_asset('built/view.css')}</style>\n</head>\n"
        '<body><div id="app"><noscript>This page draws with JavaScript, which is switched off in this '
        "browser.</noscript></div>\n"
        f"<script>{_asset('built/view.js')}</script>\n</body>\n</html>\n"
    )


@functools.cache
def policy() -> str:
    """Return the page's Content-Security-Policy."""
    return POLICY.format(
        style=f"'sha256-{_hash(_asset('built/view.css'))}'", script=f"'sha256-{_hash(_asset('built/view.js'))}'"
    )
