"""Access to pytest's terminal for seismo's reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from seismo.report.paper import Paper


def paper_of(terminal: TerminalReporter) -> Paper:
    """Return a paper that writes to pytest's terminal, coloured if pytest uses colours."""
    from seismo.report.paper import ColourPaper, Paper

    writer = terminal._tw
    terminal.ensure_newline()
    writer.flush()
    return (ColourPaper if writer.hasmarkup else Paper)(writer._file, writer.fullwidth)
