"""What the magics of IPython record, and how it is displayed: text in a terminal, the same as HTML in a notebook."""

from __future__ import annotations

import html
import io
from typing import TYPE_CHECKING, Any

from seismo.errors import UsageError
from seismo.report.paper import Paper
from seismo.report.text import Signs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

    from seismo.model import Recording

WIDTH = 100


class Recorded:
    """A session of one verb, and its table. session: a context manager with the attribute recording."""

    session: Any

    def __init__(self, options: dict[str, Any], limit: int, file: str, functions: Sequence[CodeType]) -> None:
        """options: as ipython.read gives them. file: the cell's. functions: those that -f named. Raises UsageError."""
        self.options = options
        self.limit = limit
        self.file = file
        self.functions = functions
        self.begin()

    def begin(self) -> None:
        """Makes the session."""
        raise NotImplementedError

    def write(self, paper: Paper) -> None:
        """Writes the table."""
        raise NotImplementedError

    @property
    def recording(self) -> Recording:
        """What was recorded."""
        recording: Recording = self.session.recording
        return recording

    def text(self) -> str:
        """The table as plain text."""
        stream = io.StringIO()
        self.write(Paper(stream, WIDTH, Signs()))
        return stream.getvalue()

    def __repr__(self) -> str:
        return self.text().rstrip("\n")

    def _repr_html_(self) -> str:
        """The table for a notebook. Whatever the program's names and source hold, it is text there."""
        return f'<pre style="line-height: 1.2; overflow-x: auto">{html.escape(self.text())}</pre>'


class Profiled(Recorded):
    """Calls."""

    def begin(self) -> None:
        """A session of seismo.profile."""
        import seismo
        from seismo.report.functions import ORDERS

        self.order = self.options.get("--sort", "own")
        if self.order not in ORDERS:
            raise UsageError(f"--sort cannot be {self.order!a}", hint=f"it is one of {', '.join(ORDERS)}")
        settings = {key: self.options.get(f"--{key.replace('_', '-')}") for key in ("where", "c_functions")}
        self.session = seismo.profile(**settings)

    def write(self, paper: Paper) -> None:
        """The functions."""
        from seismo.report.functions import Modules, write_functions
        from seismo.report.where import about_functions

        below = Modules(where=about_functions("calls > 0"))  # not what the cell itself was called by
        write_functions(paper, self.recording.functions, self.order, below, self.limit, None)


class Timed(Recorded):
    """Lines and their times."""

    def begin(self) -> None:
        """A session of seismo.lines."""
        import seismo

        self.session = seismo.lines(where=self._where())

    def _where(self) -> str:
        """The functions and modules that are named, else the cell."""
        parts = [
            f'file("{_quoted(code.co_filename)}") and qualname("{_quoted(code.co_qualname)}")'
            for code in self.functions
        ]
        parts += [f'module("{_quoted(module)}")' for module in self.options.get("-m", ())]
        return " or ".join(f"({part})" for part in parts or [f'file("{_quoted(self.file)}")'])

    def write(self, paper: Paper) -> None:
        """The source with its times."""
        from seismo.report.lines import write_lines

        write_lines(paper, self.recording)


class Covered(Recorded):
    """Lines that ran."""

    def begin(self) -> None:
        """A session of seismo.cover."""
        import seismo

        self.session = seismo.cover(include=[self.file], source=self.options.get("--source"))

    def write(self, paper: Paper) -> None:
        """The source with what ran of it."""


def _quoted(text: str) -> str:
    """The text inside a quoted pattern that matches nothing else."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text).replace("\\", "\\\\").replace('"', '\\"')
