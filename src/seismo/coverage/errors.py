"""Errors about source files."""

from __future__ import annotations

from seismo.errors import SeismoError


class SourceError(SeismoError):
    """Source that cannot be read, decoded or parsed, or that does not exist. where: its path."""
