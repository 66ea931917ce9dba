"""Code objects of a program."""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def nested(code: CodeType) -> Iterator[CodeType]:
    """The code and all that is defined in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from nested(const)
