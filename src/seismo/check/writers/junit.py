"""JUnit XML: a test case for each limit and subject, for viewers of test results."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from seismo.check.compare import Verdict
from seismo.check.writers import wording
from seismo.escape import printable

if TYPE_CHECKING:
    from seismo.check.check_result import Outcome


def junit(outcome: Outcome) -> str:
    """Return the file's text."""
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
