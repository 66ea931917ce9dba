"""Python source as coverage sees it: statements, what is excluded, which line goes on to which."""

from __future__ import annotations

from seismo.errors import SeismoError


class SourceError(SeismoError):
    """Source that cannot be read, decoded or parsed, or that is no file at all. `where`: its path."""
