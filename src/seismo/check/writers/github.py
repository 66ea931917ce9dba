"""Annotations for GitHub Actions: workflow commands, shown beside the lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.check.compare import Verdict
from seismo.check.writers import wording
from seismo.escape import printable

if TYPE_CHECKING:
    from seismo.check.check_result import Outcome


def github(outcome: Outcome) -> str:
    """Return a command for the result, for each suspect and for each exceeded limit."""
    level = {Verdict.BEYOND: "error", Verdict.UNDECIDED: "warning"}.get(outcome.verdict, "notice")
    lines = [_command(level, wording.headline(outcome), title="seismo check")]
    if outcome.verdict is Verdict.BEYOND:
        for suspect in outcome.suspects:
            path, _, line = suspect.where.rpartition(":")
            if path and not path.startswith(("/", "lib/", "site-packages/", "<")):
                title = f"{wording.name(suspect.function)} {wording.reason(suspect)}"
                message = "\n".join([title, *wording.details(suspect)])
                lines.append(_command("warning", message, file=path, line=line, title="seismo check"))
    for finding in outcome.comparison.findings if outcome.comparison is not None else ():
        if finding.verdict is Verdict.BEYOND:
            old, new = finding.old, finding.new
            numbers = f"{wording.both(old, new)} ({wording.change(old, new)})"
            message = f"{wording.what(finding)}: {numbers}, limit {finding.limit}"
            lines.append(_command("error", message, title="seismo check"))
    return "\n".join(lines) + "\n"


def _command(level: str, message: str, **properties: str) -> str:
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{level} {given}::{_data(message)}"


def _data(text: str) -> str:
    shown = "\n".join(printable(line) for line in text.split("\n"))
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")
