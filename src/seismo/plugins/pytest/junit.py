"""Results of --seismo-check in pytest's JUnit XML (--junitxml), for the suite and each test.

When the check runs, pytest has completed the elements of the tests but not yet written them. So the counts of a test
become properties of its element, and a test beyond a limit gets a failure element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from seismo.check.writers import wording
from seismo.escape import printable
from seismo.plugins.pytest.suite_counts import test_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from seismo.check.check_result import Outcome


def add_results(config: pytest.Config, outcome: Outcome, over: Mapping[str, str]) -> None:
    """Add the results to the report of --junitxml, if there is one. `over`: messages of tests beyond their budgets."""
    try:
        from _pytest.junitxml import mangle_test_address, xml_key
    except ImportError:
        return
    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    xml.add_global_property("seismo.verdict", outcome.verdict.value)
    xml.add_global_property("seismo.headline", wording.headline(outcome))
    for quantity, count in outcome.new.totals.items():
        xml.add_global_property(f"seismo.{quantity}", str(count))
    failures: dict[str, list[str]] = {test: [text] for test, text in over.items()}
    comparison = outcome.comparison
    for finding in comparison.beyond if comparison is not None else ():
        text = f"{wording.what(finding)}: {finding.old} -> {finding.new}, limit {finding.limit}"
        xml.add_global_property("seismo.beyond", text)
        if isinstance(finding.subject, str):
            failures.setdefault(test_of(finding.subject), []).append(text)
    for after, before in outcome.worse:
        xml.add_global_property("seismo.worse", wording.grown(after, before))
    all_elements = [reporter.to_xml() for reporter in xml.node_reporters_ordered]
    elements = {(one.get("classname"), one.get("name")): one for one in all_elements}
    for test, counts in outcome.new.tests.items():
        names = mangle_test_address(test_of(test))
        place = ".".join([*([xml.prefix] if xml.prefix else []), *names[:-1]])
        element = elements.get((place, names[-1]))
        if element is None:
            continue
        block = test.removeprefix(test_of(test))
        for quantity, count in counts.items():
            _property(element, f"seismo.{quantity}{block}", str(count))
        if not block and test in failures and element.find("failure") is None:
            message_text = "\n".join(printable(line) for text in failures[test] for line in text.split("\n"))
            ET.SubElement(element, "failure", message="seismo check: a count is over its limit").text = message_text
            xml.stats["failure"] += 1
            xml.stats["passed"] -= 1


def _property(element: ET.Element, name: str, value: str) -> None:
    into = element.find("properties")
    if into is None:
        into = ET.Element("properties")
        element.insert(0, into)
    ET.SubElement(into, "property", name=printable(name), value=value)
