"""The compiler from an expression to the flat program for the native core (format: native/filter/program.h).

Operators follow their operands. The operands of terms (patterns, ranges and names) are in a separate data section after
the instructions.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

KIND, TEXT, RANGE, PYTHON, NOT, AND, OR = range(7)
VERSION = 1

# in the order of sm_fact
FACTS = (
    *("module", "function", "qualname", "name", "file", "callee", "thread", "task", "exception"),
    *("line", "depth", "calls", "duration", "own", "arg", "value"),
)
LEAST, MOST = -(2**63), 2**63 - 1


class Program:
    """A program under construction."""

    def __init__(self) -> None:
        self._instructions: list[bytes] = []
        self._data = bytearray()

    def kind(self, mask: int) -> None:
        """Add a test for the kinds of events whose bits are set."""
        self._add(KIND, 0, 0, mask)

    def text(self, fact: str, patterns: tuple[str, ...]) -> None:
        """Add a test that a pattern matches the fact."""
        self._add(TEXT, FACTS.index(fact), len(patterns), self._strings(patterns))

    def ranges(self, fact: str, ranges: tuple[tuple[int, int], ...]) -> None:
        """Add a test that the number is in one of the ranges, whose ends are inclusive."""
        at = len(self._data)
        for low, high in ranges:
            self._data += low.to_bytes(8, "little", signed=True) + high.to_bytes(8, "little", signed=True)
        self._add(RANGE, FACTS.index(fact), len(ranges), at)

    def python(self, fact: str, name: str) -> None:
        """Add a test that Python decides, about the variable of this name."""
        self._add(PYTHON, FACTS.index(fact), 1, self._strings((name,)))

    def join(self, operation: int, operands: int) -> None:
        """Add NOT of the last operand, or AND or OR of the last operands."""
        self._add(operation, 0, operands, 0)

    def finish(self) -> bytes:
        """Return the complete program."""
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
