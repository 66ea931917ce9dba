"""Programs run bare and under `seismo profile`, in separate processes, to compare their visible behaviour."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import children

import seismo

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Ended:
    status: int
    out: str
    err: str


class Lab:
    """A folder with programs, which bare() and profiled() run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recording = folder / "r.seismo"
        self.environment = {
            **children.environment(),
            "PYTHONFAULTHANDLER": "",  # it would name the frames below the program
            "PYTHONUNBUFFERED": "",
            "PYTHONHASHSEED": "0",
            "COLUMNS": "80",
        }

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, words: list[str], flags: tuple[str, ...] = (), stdin: str = "", **options: Any) -> Ended:
        ended = children.run(
            [sys.executable, *flags, *words],
            cwd=options.pop("cwd", self.folder),
            env={**self.environment, **options.pop("env", {})},
            input=stdin,
            errors="surrogateescape",
            **options,
        )
        return Ended(ended.returncode, *(re.sub("0x[0-9a-f]+", "0x", text) for text in (ended.stdout, ended.stderr)))

    def bare(self, *words: str, **options: Any) -> Ended:
        return self.run(list(words), **options)

    def profiled(self, *words: str, quiet: bool = True, take: tuple[str, ...] = (), **options: Any) -> Ended:
        return self.run(
            ["-m", "seismo", "profile", *(["-q"] if quiet else []), "-o", str(self.recording), *take, *words], **options
        )

    def same(self, *words: str, take: tuple[str, ...] = (), **options: Any) -> Ended:
        """Run the program in both ways and compare. Return the bare result."""
        bare = self.bare(*words, **options)
        assert self.profiled(*words, take=take, **options) == bare
        return bare

    def open(self, path: Path | None = None) -> Any:
        return seismo.open(path or self.recording)

    def calls(self, path: Path | None = None) -> dict[str, int]:
        """Return calls of Python functions by name, over all processes and threads."""
        counts: dict[str, int] = {}
        for row in self.open(path).functions:
            if row.kind == 0:
                counts[row.qualname] = counts.get(row.qualname, 0) + row.calls
        return counts
