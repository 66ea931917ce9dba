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

    def add(self, operation: int, fact: str = "", count: int = 1, at: int = 0) -> None:
        """Add an instruction.

        KIND: `at` has the bits of the kinds of events. TEXT, RANGE, PYTHON: a test of the fact with `count` operands,
        which are `at` this place of the data. NOT, AND, OR: of the last `count` operands.
        """
        number = FACTS.index(fact) if fact else 0
        self._instructions.append(bytes((operation, number)) + count.to_bytes(2, "little") + at.to_bytes(4, "little"))

    def strings(self, texts: tuple[str, ...]) -> int:
        """Add texts to the data and return their place."""
        at = len(self._data)
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            self._data += len(data).to_bytes(4, "little") + data
        return at

    def ranges(self, ranges: tuple[tuple[int, int], ...]) -> int:
        """Add ranges, whose ends are inclusive, to the data and return their place."""
        at = len(self._data)
        for low, high in ranges:
            self._data += low.to_bytes(8, "little", signed=True) + high.to_bytes(8, "little", signed=True)
        return at

    def finish(self) -> bytes:
        """Return the complete program."""
        head = [VERSION, len(self._instructions), len(self._data)]
        return b"smfl" + b"".join(n.to_bytes(4, "little") for n in head) + b"".join(self._instructions) + self._data
