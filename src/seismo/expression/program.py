"""Writes an expression as the flat program that the native core takes: the format is in native/filter/program.h.

The operands of and, or and not come before them. What a term compares with lies in a part of its own behind the
instructions.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

KIND, TEXT, RANGE, PYTHON, NOT, AND, OR = range(7)
VERSION = 1

# sm_fact
FACTS = (
    "module",
    "function",
    "qualname",
    "name",
    "file",
    "callee",
    "thread",
    "task",
    "exception",
    "line",
    "depth",
    "calls",
    "duration",
    "own",
    "arg",
    "value",
)
LEAST, MOST = -(2**63), 2**63 - 1


class Program:
    """The program so far."""

    def __init__(self) -> None:
        self._instructions: list[bytes] = []
        self._data = bytearray()

    def kind(self, mask: int) -> None:
        """True for the kinds of events whose bits are set."""
        self._add(KIND, 0, 0, mask)

    def text(self, fact: str, patterns: tuple[str, ...]) -> None:
        """True when a pattern matches the fact."""
        self._add(TEXT, FACTS.index(fact), len(patterns), self._strings(patterns))

    def ranges(self, fact: str, ranges: tuple[tuple[int, int], ...]) -> None:
        """True when the number is inside of one of the ranges, their ends included."""
        at = len(self._data)
        for low, high in ranges:
            self._data += low.to_bytes(8, "little", signed=True) + high.to_bytes(8, "little", signed=True)
        self._add(RANGE, FACTS.index(fact), len(ranges), at)

    def python(self, fact: str, name: str) -> None:
        """What Python decides, about the variable of this name."""
        self._add(PYTHON, FACTS.index(fact), 1, self._strings((name,)))

    def join(self, operation: int, operands: int) -> None:
        """NOT of the last one, AND and OR of the last operands."""
        self._add(operation, 0, operands, 0)

    def finish(self) -> bytes:
        """The whole."""
        head = [VERSION, len(self._instructions), len(self._data)]
        return b"smfl" + b"".join(n.to_bytes(4, "little") for n in head) + b"".join(self._instructions) + self._data

    def _add(self, operation: int, fact: int, count: int, at: int) -> None:
        self._instructions.append(bytes((operation, fact)) + count.to_bytes(2, "little") + at.to_bytes(4, "little"))

    def _strings(self, texts: tuple[str, ...]) -> int:
        at = len(self._data)
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            self._data += len(data).to_bytes(4, "little") + data
        return at
