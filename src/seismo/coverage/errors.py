"""Errors about source files."""

from __future__ import annotations

from seismo.errors import SeismoError


class SourceError(SeismoError):
    """Source that cannot be read, decoded or parsed, or that is no file at all. `where`: its path."""
