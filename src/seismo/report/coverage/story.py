"""The story of a recording of coverage."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from seismo.coverage.percentages import ranges
from seismo.coverage.recorded_settings import settings_text
from seismo.escape import printable
from seismo.report import words as text
from seismo.report.coverage.text import missing_text, nothing_text, total_text
from seismo.report.facts import command_line, header, losses, wall_ns
from seismo.report.story import Name, Row, Section, Story, facts_section, falling, next_section, rounded
from seismo.report.story.steps import Steps, option

if TYPE_CHECKING:
    from seismo.coverage.coverage_report import CoverageReport, FileCoverage
    from seismo.coverage.percentages import Percentages
    from seismo.coverage.settings import Settings
    from seismo.model import Recording
    from seismo.report.coverage import Coverage
    from seismo.report.options import Options

_SIGNS = text.Signs()
PROBLEMS = 12


def story(kind: Coverage, recording: Recording, file: str, most: int, options: Options | None) -> Story:
    """What there is to tell. file: what commands call it. most: rows of a section."""
    if options is not None:
        from seismo.report.coverage.options import settings_of

        kind = kind.by(settings_of(options, recording))
    report, settings = kind.analysis(recording)
    sections = [
        facts_section(_facts(recording, report, settings)),
        _files(report, most, settings.precision),
        _missing(report, most),
        _branches(report, most),
        _problems(report),
    ]
    sections = [section for section in sections if section.rows or section.name == "files"]
    sections.append(next_section(_steps(recording, file, report)))
    lost = bool(losses(recording, _SIGNS))
    return Story("coverage", "Coverage of", command_line(recording), file, _totals(recording, report), sections, lost)


def _facts(recording: Recording, report: CoverageReport, settings: Settings) -> list[tuple[str, str]]:
    """Those of the terminal's report, and what it all comes to."""
    words = total_text(report.totals, settings.precision) if report.files else nothing_text(report)
    facts = [("covered", words), *header(recording, _SIGNS)]
    by = settings_text(settings)
    facts += [("settings", printable(by))] if by else []
    return facts + [("note", printable(note)) for note in settings.notes]


def numbers(of: Percentages) -> dict[str, Any]:
    """What a file, or all of them, come to."""
    names = ("statements", "missing", "excluded", "branches", "partial_branches", "missing_branches")
    return {**{name: getattr(of, name) for name in names}, "percent": round(of.percent, 6)}


def _totals(recording: Recording, report: CoverageReport) -> dict[str, Any]:
    return {
        "wall_ns": rounded(wall_ns(recording)),
        "processes": len(recording.processes),
        "files": len(report.files),
        "branch": report.branch,
        "counts": report.counts,
        **numbers(report.totals),
    }


def _files(report: CoverageReport, most: int, precision: int) -> Section:
    """The files, those first in which most is missing."""
    files = sorted(report.files, key=lambda one: (-one.numbers.missing - one.numbers.missing_branches, one.path))
    largest = files[0].numbers.missing + files[0].numbers.missing_branches if files else 0
    branches = report.branch or any(file.has_branches for file in files)
    rows = []
    for place, file in enumerate(files[:most]):
        of = file.numbers
        data = {"file": file.absolute, "path": file.path, "changed": file.changed, **numbers(of)}
        missing = missing_text(file)
        counts = [of.statements, of.missing, *([of.branches, of.partial_branches] if branches else [])]
        cells = [f"{of.percent_text(precision)} %", *map(text.count, counts), Name(file.path), missing]
        to_do = of.missing + of.missing_branches
        rows.append(Row({**data, "missing_lines": file.missing}, cells, falling(0.9, place, to_do / max(1, largest))))
    heads = ["covered", "statements", "missing", *(["branches", "partial"] if branches else [])]
    return Section(
        "files",
        "Files, those with the most to do first",
        rows,
        headings=[*heads, "file", "lines and branches that are missing"],
        numbers=len(heads),
        more=len(files) - len(rows),
        none=f"no file to report: {nothing_text(report)}",
    )


def _region(file: FileCoverage, line: int) -> str:
    """The innermost function that a line is in."""
    regions = [region for region in file.regions if region.kind == "function" and line in region.lines]
    return max(regions, key=lambda region: region.start).name if regions else ""


def _source(file: FileCoverage, line: int) -> str:
    return file.source_lines[line - 1].strip() if not file.changed and 0 < line <= len(file.source_lines) else ""


def _missing(report: CoverageReport, most: int) -> Section:
    """Runs of lines that never ran, the longest first."""
    runs = []
    for file in report.files:
        for first, last in ranges(file.missing, file.statements):
            count = bisect_right(file.missing, last) - bisect_left(file.missing, first)
            runs.append((count, file, first, last))
    runs.sort(key=lambda run: (-run[0], run[1].path, run[2]))
    rows = []
    for place, (count, file, first, last) in enumerate(runs[:most]):
        region, source = _region(file, first), _source(file, first)
        data = {"file": file.absolute, "path": file.path, "first": first, "last": last, "statements": count}
        data |= {"function": region, "source": source}
        lines = f"{first}-{last}" if last > first else str(first)
        cells = [text.count(count), lines, Name(file.path), Name(region), Name(source)]
        rows.append(Row(data, cells, falling(0.8, place, count / runs[0][0])))
    return Section(
        "missing",
        "Lines that never ran, the longest runs first",
        rows,
        headings=("statements", "lines", "file", "function", "first of them"),
        numbers=2,
        more=len(runs) - len(rows),
    )


def _branches(report: CoverageReport, most: int) -> Section:
    """Branches of executed lines that were never taken."""
    found = []
    for file in report.files:
        never = set(file.missing)
        found += [(file, line, to) for line, to in file.missing_branches if line not in never]
    rows = []
    for place, (file, line, to) in enumerate(found[:most]):
        words, source = file.missing_text(line, to), _source(file, line)
        data = {"file": file.absolute, "path": file.path, "line": line, "to": to, "words": words, "source": source}
        cells = [Name(f"{file.path}:{line}"), Name(words), Name(source)]
        rows.append(Row(data, cells, falling(0.6, place)))
    return Section(
        "branches",
        "Branches that were never taken",
        rows,
        headings=("line", "what did not happen", "source"),
        more=len(found) - len(rows),
    )


def _problems(report: CoverageReport) -> Section:
    problems = [problem for problem in report.problems if not problem.minor]
    rows = [
        Row({"file": one.path, "problem": one.text}, [Name(one.path), Name(one.text)], falling(0.6, place))
        for place, one in enumerate(problems[:PROBLEMS])
    ]
    return Section("problems", "Problems", rows, headings=("file", "what"), more=len(problems) - len(rows))


def _steps(recording: Recording, file: str, report: CoverageReport) -> list[tuple[str, str]]:
    steps = Steps(recording, file)
    if report.totals.missing or report.totals.missing_branches:
        steps.report("all missing lines and branches, file by file", "--show-missing --skip-covered")
    if report.branch:
        steps.report("operands of conditions that were never true or never false", "--conditions")
    if report.has_contexts and report.files:
        ran = max(report.files, key=lambda one: len(one.executed))
        if ran.executed:
            steps.report("who runs a line", option("--line", f"{ran.path}:{ran.executed[0]}"))
    if not report.branch:
        steps.record("which branches were taken, besides", "cover", "--branch")
    if losses(recording, _SIGNS):
        steps.of_file("info", "what was lost, and how it was recorded")
    return steps.found
