"""Shared helpers for tests of line times: starting a recording, and a recording's lines by function."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from paths import TESTS
from recorded import Image, image

from seismo import _core

if TYPE_CHECKING:
    from collections.abc import Callable


FOLDER = str(TESTS / "native" / "recorder" / "lines")
tick = _core._advance_clock


def start(**options: Any) -> None:
    """Start a recording of what follows, on a clock that the test advances."""
    given = {"clock": "simulated", "running": False, "calibrate": False, **options}
    _core.start(recorder="linetimes", **given)


class Lines:
    """The lines of a recording in the tests' files: by function name, and line number relative to the def."""

    def __init__(self, recorded: Image) -> None:
        self.image = recorded
        self.rows: dict[tuple[str, int], dict[str, Any]] = {}
        functions = {row["id"]: row for row in recorded.functions()}
        for row in recorded.tables["lines"]:
            function = functions[row["function"]]
            if function["file"] and not function["file"].startswith((FOLDER, "made")):
                continue
            name = function["qualname"].rpartition(".")[2]
            key = (name, row["line"] - function["line"] if function["line"] else 0)
            assert key not in self.rows, f"{key} has two rows"
            self.rows[key] = row

    def of(self, name: str, column: str = "hits") -> dict[int, Any]:
        """Return a column of a function's lines, without those with 0."""
        return {line: row[column] for (function, line), row in self.rows.items() if function == name and row[column]}

    def own(self, name: str) -> dict[int, int]:
        """Return own times; the sampler takes a sample whenever the simulated clock advances."""
        return self.of(name, "sampled_ns")


def recorded(program: Callable[[], object], **options: Any) -> Lines:
    """Record a program, and check the structures and that there are no losses."""
    start(**options)
    try:
        program()
    finally:
        _core.stop()
    assert _core.check()
    lines = Lines(image())
    assert lines.image.losses == {}
    return lines


def hits(lines: Image, file: str) -> Counter[tuple[str, int]]:
    """Return hits by (code name, line) of a recording, for code of this file."""
    functions = {row["id"]: row for row in lines.functions()}
    seen: Counter[tuple[str, int]] = Counter()
    for row in lines.tables["lines"]:
        function = functions[row["function"]]
        if function["file"] == file and row["hits"]:
            seen[function["qualname"], row["line"]] += row["hits"]
    return seen
