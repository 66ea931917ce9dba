"""coverage.py's JSON report, format 3: lines, branches and numbers of files, functions and classes.

The output equals that of `coverage json` for the same data, with two exceptions: `meta`, and contexts, which are
written if there are any. Functions and classes have contexts only for their own lines, not for the whole file.

The reader takes executed lines, taken branches and contexts. Statements and exclusions always follow from the source.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from seismo.coverage.percentages import Percentages, percent_text
from seismo.formats.base import Format, checked, separated
from seismo.formats.coverage_base import CoverageBuilder, report_of, tool_version
from seismo.formats.function_names import json_text
from seismo.recording_kinds import COVERAGE

if TYPE_CHECKING:
    from seismo.coverage.coverage_report import CoverageReport, FileCoverage
    from seismo.model import Recording

FORMAT_VERSION = 3
_READABLE = (2, 3)  # 3 added functions and classes
# The members of a summary, and the attributes of Percentages that have their values.
_SUMMARY = {
    "covered_lines": "executed",
    "num_statements": "statements",
    "percent_covered": "percent",
    "missing_lines": "missing",
    "excluded_lines": "excluded",
    "percent_statements_covered": "percent_statements",
}
_BRANCHES = {
    "num_branches": "branches",
    "num_partial_branches": "partial_branches",
    "covered_branches": "executed_branches",
    "missing_branches": "missing_branches",
    "percent_branches_covered": "percent_branches",
}


def _write(recording: Recording, out: TextIO, report: CoverageReport | None) -> None:
    report = report_of(recording, report)
    meta = {
        "format": FORMAT_VERSION,
        "version": tool_version(),
        "timestamp": _ended(recording),
        "branch_coverage": report.branch,
        "show_contexts": report.has_contexts,
    }
    out.write(f'{{"meta": {json_text(meta)}, "files": {{')
    files = (f"\n{json_text(covered.path)}: {json_text(_file(report, covered))}" for covered in report.files)
    out.writelines(separated(files, ","))
    out.write(f'}},\n"totals": {json_text(_summary(report, report.totals))}}}\n')


def _file(report: CoverageReport, covered: FileCoverage) -> dict[str, Any]:
    contexts = covered.contexts_by_line if report.has_contexts else None
    found = _part(report, covered)
    if contexts is not None:
        found["contexts"] = dict(contexts)
    for kind, title in (("function", "functions"), ("class", "classes")):
        found[title] = {}
        for name, (start, lines) in covered.regions_of(kind).items():
            found[title][name] = region = _part(report, lines) | {"start_line": start}
            if contexts is not None:
                region["contexts"] = {line: contexts[line] for line in lines.executed if line in contexts}
    return found


def _part(report: CoverageReport, part: FileCoverage) -> dict[str, Any]:
    found: dict[str, Any] = {
        "executed_lines": part.executed,
        "summary": _summary(report, part.numbers),
        "missing_lines": part.missing,
        "excluded_lines": part.excluded,
    }
    if report.branch:
        found["executed_branches"] = part.executed_branches
        found["missing_branches"] = part.missing_branches
    return found


def _summary(report: CoverageReport, numbers: Percentages) -> dict[str, Any]:
    """Return counts and percentages. A percentage is followed by its text."""
    found: dict[str, Any] = {}
    for name, attribute in (_SUMMARY | _BRANCHES if report.branch else _SUMMARY).items():
        found[name] = getattr(numbers, attribute)
        if name.startswith("percent"):
            found[f"{name}_display"] = percent_text(found[name], report.precision)
    return found


def _ended(recording: Recording) -> str:
    """Return the end of the recording in coverage.py's format: local time without a zone."""
    end = max(recording.processes["end_ns"], default=0)
    when = datetime.fromtimestamp(end / 1e9, UTC) if end > 0 else datetime.now(UTC)
    return when.astimezone().replace(tzinfo=None).isoformat()


def is_report(document: object) -> bool:
    """Return True if a parsed JSON document is such a report."""
    if not isinstance(document, dict) or not isinstance(document.get("files"), dict):
        return False
    meta = document.get("meta")
    return isinstance(meta, dict) and "branch_coverage" in meta


def read_document(document: object) -> Recording:
    """Return the recording of a parsed report. Raise ValueError if it is none, or of another version."""
    if not is_report(document) or not isinstance(document, dict):
        raise ValueError('it has no "files", or no "meta" with "branch_coverage"')
    meta = document["meta"]
    if meta.get("format") not in _READABLE:
        raise ValueError(f"its format is {str(meta.get('format'))[:20]}, known are 2 and 3")
    covered = CoverageBuilder()
    branch = meta.get("branch_coverage") is True
    for path, content in document["files"].items():
        _read_file(covered, path, content, branch)
    return covered.build("coverage-json", branch)


def _read_file(covered: CoverageBuilder, path: str, content: object, branch: bool) -> None:
    about = checked(content, dict, f"{path[:60]!r}")
    contexts = checked(about.get("contexts", {}), dict, "the value of contexts")
    for names in contexts.values():
        for name in checked(names, list, "the contexts of a line"):
            checked(name, str, "a context")
    file = covered.file(path)
    for line in checked(about.get("executed_lines"), list, "executed_lines"):
        covered.line(file, checked(line, int, "a line number"), contexts=contexts.get(str(line), []))
    for arc in checked(about.get("executed_branches", []), list, "executed_branches") if branch else ():
        if not isinstance(arc, list) or len(arc) != 2:
            raise ValueError("a branch is not a pair of lines")
        begin, end = (checked(line, int, "a line number") for line in arc)
        covered.arc(file, begin, end, contexts.get(str(begin), []))


FORMAT = Format(
    name="coverage-json",
    description="the JSON report of coverage.py (format 3), for scripts and services",
    suffixes=(".coverage.json",),
    writer=_write,
    reader=lambda data: read_document(json.loads(data)),
    lost="hit counts, conditions, losses",
    kept="executed lines, taken branches, contexts",
    of=(COVERAGE,),
    needs_sources=True,
    mark=b'"version":"seismo ',
)
