"""Next steps: complete shell commands, each with its purpose."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from seismo.escape import shell_word
from seismo.report.facts import losses
from seismo.report.story import Name, Row, Section
from seismo.report.words import Signs

if TYPE_CHECKING:
    from seismo.model import Recording

_LONGEST = 300  # most characters of a program's command line to repeat


class Steps:
    """The commands for a recording in a file."""

    def __init__(self, recording: Recording, file: str) -> None:
        self._file, self._program = shell_word(file), _program(recording)
        self._lost = bool(losses(recording, Signs()))
        self._found: list[tuple[str, str]] = []

    def report(self, why: str, *options: str) -> None:
        """Add another report of the same file."""
        self._found.append((" ".join(["seismo report", self._file, *options]), why))

    def of_file(self, verb: str, why: str) -> None:
        """Add another command for the same file."""
        self._found.append((f"seismo {verb} {self._file}", why))

    def record(self, why: str, verb: str, *options: str) -> None:
        """Add another recording of the program, if its command line is known and unique."""
        if self._program:
            self._found.append((" ".join(["seismo", verb, *options, self._program]), why))

    def section(self) -> Section:
        """Return commands and their purposes, the most promising first and the one about losses last."""
        if self._lost:
            self.of_file("info", "what was lost, and how it was recorded")
        rows = [
            Row({"command": command, "why": why}, (Name(command), Name(why)), 0.87 * 0.7**place)
            for place, (command, why) in enumerate(self._found)
        ]
        return Section("next", "What to look at next", rows, form="list", none="nothing more to see")


def option(name: str, value: str) -> str:
    """Return an option with its value, whatever that is, quoted for a shell."""
    word = shell_word(value)
    return f"{name} {word}" if not value.startswith("-") else f"{name}={word}"


def _program(recording: Recording) -> str:
    """Return the program's command line without its interpreter and the interpreter's options."""
    lines = {process.argv: process.words for process in recording.processes}
    if len(lines) != 1:
        return ""
    (words,) = lines.values()
    if words and os.path.basename(words[0]).startswith("python"):
        words = words[1:]
    elif words and not words[0].endswith(".py"):  # a notebook, or a program that embeds Python
        return ""
    shown = " ".join(map(shell_word, words))
    # Skip command lines with other options of the interpreter: only the interpreter can parse them.
    runs = bool(words) and (words[0] in ("-m", "-c") or not words[0].startswith("-"))
    return shown if runs and len(shown) <= _LONGEST else ""
