"""The viewer's page: a frame for the bundle of the front end, with a policy that allows no other code."""

from __future__ import annotations

import functools

from seismo.report.page.document import MARK, _asset, _hash
from seismo.view.server import POLICY, Answer


@functools.cache
def answer() -> Answer:
    """Return the page. It requests everything else by relative addresses, because its own holds the token."""
    style, script = _asset("built/view.css"), _asset("built/view.js")
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{MARK}\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n<title>seismo view</title>\n'
        f"<style>{style}</style>\n</head>\n"
        '<body><div id="app"><noscript>This page draws with JavaScript, which is switched off in this '
        "browser.</noscript></div>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )
    policy = POLICY.format(style=f"'sha256-{_hash(style)}'", script=f"'sha256-{_hash(script)}'")
    return Answer(page.encode(), "text/html; charset=utf-8", policy)
