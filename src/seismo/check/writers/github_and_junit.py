"""Results for CI services: annotations of GitHub Actions beside the lines of a pull request, and JUnit's XML."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from seismo.check.compare import Verdict
from seismo.check.writers import wording
from seismo.escape import printable

if TYPE_CHECKING:
    from seismo.check.check_result import Outcome


def github(outcome: Outcome) -> str:
    """Return workflow commands: for the result, for each suspect and for each exceeded limit."""
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


def junit(outcome: Outcome) -> str:
    """Return JUnit XML with a test case for each limit and subject, for viewers of test results."""
    cases: list[str] = []
    failures = errors = 0
    details = []
    for suspect in outcome.suspects:
        details.append(f"{wording.name(suspect.function)} ({printable(suspect.where)}) {wording.reason(suspect)}")
        details += [f"  {line}" for line in wording.details(suspect)]
    for finding in outcome.comparison.findings if outcome.comparison is not None else ():
        numbers = wording.both(finding.old, finding.new)
        title = quoteattr(printable(f"{wording.what(finding)}: {finding.limit}"))
        head = f'  <testcase classname="seismo check" name={title}'
        if finding.verdict is Verdict.BEYOND:
            failures += 1
            body = escape("\n".join([numbers, *details]))
            cases.append(f"{head}><failure message={quoteattr(numbers)}>{body}</failure></testcase>")
        elif finding.verdict in (Verdict.UNDECIDED, Verdict.UNMEASURED):
            errors += 1
            cases.append(f"{head}><error message={quoteattr(wording.IN_WORDS[finding.verdict])}/></testcase>")
        else:
            cases.append(f"{head}/>")
    for pair in outcome.worse:
        failures += 1
        message = quoteattr(wording.grown(*pair))
        title = quoteattr(wording.name(pair[0].function))
        head = f'  <testcase classname="seismo check growth" name={title}'
        cases.append(f"{head}><failure message={message}/></testcase>")
    if outcome.times is not None:
        message = quoteattr(wording.time_said(outcome))
        body = f"><failure message={message}/></testcase>" if outcome.times.is_beyond else "/>"
        failures += outcome.times.is_beyond
        cases.append(f'  <testcase classname="seismo check" name="CPU time"{body}')
    head = f'<testsuite name="seismo check" tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"
