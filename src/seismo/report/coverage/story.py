"""The story of a recording of coverage."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from seismo.coverage.percentages import Percentages, ranges
from seismo.coverage.recorded_settings import settings_text
from seismo.errors import UsageError
from seismo.escape import printable
from seismo.report import words as text
from seismo.report.coverage.options import analyzed
from seismo.report.facts import header, wall_ns
from seismo.report.story import Name, Row, Section, Story, facts_section, falling, rounded
from seismo.report.story.steps import Steps, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.coverage.coverage_report import CoverageReport, FileCoverage
    from seismo.coverage.settings import Settings
    from seismo.model import Recording
    from seismo.report.kind import Facts
    from seismo.report.options import Options
    from seismo.report.words import Signs

_SIGNS = text.Signs()
PROBLEMS = 12
# The columns of a table of files: the number for each heading; SHORT has the headings on a terminal.
COLUMNS = {"statements": "statements", "missing": "missing", "branches": "branches", "partial_branches": "partial"}
SHORT = {"statements": "Stmts", "missing": "Miss", "branches": "Branch", "partial": "Partial", "covered": "Cover"}
# The values of --sort, and the number that each sorts by.
ORDERS = {"name": "", **{head: name for name, head in COLUMNS.items()}, "percent": "percent"}


def total_text(totals: Percentages, precision: int = 0) -> str:
    """Return the total in words: `87 % of 120 statements and 40 branches in 3 files`."""
    what = text.number_of(totals.statements, "statement")
    if totals.branches:
        what += f" and {text.number_of(totals.branches, 'branch', 'branches')}"
    files = text.number_of(totals.files, "file")
    return f"{totals.percent_text(precision)} % of {what} in {files}"


def missing_text(file: FileCoverage) -> str:
    """Return the missing lines and branches: `12-15, 20->25, 33->exit`. Branches at missing lines are not repeated."""
    runs = ranges(file.missing, file.statements)
    items = [(first, f"{first}-{last}" if last > first else str(first)) for first, last in runs]
    missing = set(file.missing)
    items += [
        (line, f"{line}->{to if to > 0 else 'exit'}")
        for line, to in file.missing_branches
        if line not in missing and to not in missing
    ]
    return ", ".join(words for _, words in sorted(items))


def nothing_text(report: CoverageReport) -> str:
    """Return why there is no file to report."""
    if any(problem.path and " ran" in problem.text for problem in report.main_problems):
        return "no source of what was executed can be read"
    return "no line of any file that was to be recorded ran"


def story(recording: Recording, file: str, most: int, options: Options) -> Story:
    """Return the story. file: the name in commands. most: rows of a section."""
    report, settings = analyzed(recording, options)
    words = total_text(report.totals, settings.precision) if report.files else nothing_text(report)
    sections = [
        facts_section([("covered", words), *story_facts(recording, settings, _SIGNS)]),
        _files(report, most, settings.precision),
        _missing(report, most),
        _branches(report, most),
        _problems(report),
    ]
    sections = [section for section in sections if section.rows or section.name == "files"]
    sections.append(_steps(recording, file, report))
    return Story.of(recording, file, "coverage", "Coverage of", _totals(recording, report), sections)


def story_facts(recording: Recording, settings: Settings, signs: Signs) -> Facts:
    """Return the recording's facts, the settings, and notes on them."""
    by = settings_text(settings)
    facts = [*header(recording, signs), *([("settings", printable(by))] if by else [])]
    return facts + [("note", printable(note)) for note in settings.notes]


def numbers(of: Percentages) -> dict[str, Any]:
    """Return the numbers of a file, or of all files."""
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


def files_section(report: CoverageReport, files: Sequence[FileCoverage], precision: int) -> Section:
    """Return a table of these files, in their order, and the total of all."""
    names = [name for name in COLUMNS if report.branch or name not in ("branches", "partial_branches")]

    def cells(of: Percentages) -> list[str]:
        return [f"{of.percent_text(precision)} %", *(text.count(getattr(of, name)) for name in names)]

    to_do = [file.numbers.missing + file.numbers.missing_branches for file in files]
    largest = max([1, *to_do])
    rows = []
    for place, (file, left) in enumerate(zip(files, to_do, strict=True)):
        data = {"file": file.absolute, "path": file.path, "changed": file.changed, **numbers(file.numbers)}
        row = [*cells(file.numbers), Name(file.path), missing_text(file)]
        rows.append(Row({**data, "missing_lines": file.missing}, row, falling(0.9, place, left / largest)))
    heads = ["covered", *(COLUMNS[name] for name in names)]
    return Section(
        "files",
        "Files, those with the most to do first",
        rows,
        headings=[*heads, "file", "lines and branches that are missing"],
        numbers=len(heads),
        total=cells(report.totals),
        none=f"no file to report: {nothing_text(report)}",
    )


def _files(report: CoverageReport, most: int, precision: int) -> Section:
    files = sorted(report.files, key=lambda one: (-one.numbers.missing - one.numbers.missing_branches, one.path))
    section = files_section(report, files[:most], precision)
    section.more = len(files) - len(section.rows)
    return section


def shown_files(report: CoverageReport, skip_covered: bool, skip_empty: bool) -> list[FileCoverage]:
    """Return the files that are not left out as covered completely, or as without statements."""
    return [
        file
        for file in report.files
        if not (skip_empty if not file.statements else skip_covered and file.numbers.percent == 100)
    ]


def chosen(report: CoverageReport, settings: Settings) -> list[FileCoverage]:
    """Return the files to show, in the order of the settings. Raises UsageError for an unknown order."""
    shown = shown_files(report, settings.skip_covered, settings.skip_empty)
    turned, name = settings.sort.startswith("-"), settings.sort.lstrip("-") or "name"
    if name not in ORDERS:
        raise UsageError(f"--sort cannot be {settings.sort!a}", hint=f"use one of {', '.join(ORDERS)}, or -NAME")
    number = ORDERS[name]
    if number:
        shown.sort(key=lambda file: getattr(file.numbers, number), reverse=turned)  # stable: then by name
    elif turned:
        shown.reverse()
    return shown


def most_to_do(files: list[FileCoverage], rows: int) -> list[FileCoverage]:
    """Return at most `rows` files, those with the most missing, in unchanged order."""
    by_work = sorted(files, key=lambda file: -(file.numbers.missing + file.numbers.missing_branches))
    chosen = {id(file) for file in by_work[:rows]}
    return [file for file in files if id(file) in chosen]


def _region(file: FileCoverage, line: int) -> str:
    """Return the innermost function that contains a line."""
    regions = [region for region in file.regions if region.kind == "function" and line in region.lines]
    return max(regions, key=lambda region: region.start).name if regions else ""


def _source(file: FileCoverage, line: int) -> str:
    return file.source_lines[line - 1].strip() if not file.changed and 0 < line <= len(file.source_lines) else ""


def _missing(report: CoverageReport, most: int) -> Section:
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
    problems = report.main_problems
    rows = [
        Row({"file": one.path, "problem": one.text}, [Name(one.path), Name(one.text)], falling(0.6, place))
        for place, one in enumerate(problems[:PROBLEMS])
    ]
    return Section("problems", "Problems", rows, headings=("file", "what"), more=len(problems) - len(rows))


def _steps(recording: Recording, file: str, report: CoverageReport) -> Section:
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
    return steps.section()
