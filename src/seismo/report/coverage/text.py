"""Coverage on a terminal or a pipe: a table of files, a line's contexts, conditions, and untested changed lines.

A row is a file: its statements and branches, how many of them were missed, the percentage with a bar, and the missing
lines. `12-15` never ran; `20->25` is a branch of line 20 that was never taken. The missing lines are shortened to one
line, or shown in full on several. The layout adapts to the paper's width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from seismo.coverage.coverage_report import CoverageReport, FileCoverage, common_folder
from seismo.coverage.percentages import Percentages, percent_text
from seismo.errors import UsageError
from seismo.escape import printable
from seismo.report.coverage.story import SHORT, chosen, files_section, most_to_do, nothing_text, story_facts, total_text
from seismo.report.facts import losses, time_taken, write_notes, write_opening
from seismo.report.paper import ColourPaper, Paper, Span
from seismo.report.tables import Grid
from seismo.report.words import Signs, beginning, cells, count, left, number_of, shorten, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.coverage.conditions import Decision, Operand
    from seismo.coverage.git_changes import Change
    from seismo.coverage.settings import Settings
    from seismo.model import Recording
    from seismo.report.story import Section

BAR = 10  # columns of a bar
ROWS_AT_END = 40  # most rows of the table at the end of a run
PROBLEMS = 12  # most problems to show
LEAST_MISSING = 12  # least columns for the missing lines; with less they are left out, or are below the row
GOOD_MISSING = 22  # least columns for the missing lines beside a bar; with less the bar is left out
ROOMY_MISSING = 30  # columns for the missing lines in full; with less they are below the row
LEAST_NAME = 16
INDEPENDENCE = {"shown": "MC/DC shown", "refuted": "MC/DC missing", "unknown": "MC/DC unknown"}

# ---- The whole report, and the few lines at the end of a program. ----


def write_report(paper: Paper, recording: Recording, report: CoverageReport, settings: Settings, minor: bool) -> None:
    """Write the first line, the table, the problems and the notes. minor: as in write_problems()."""
    write_opening(paper, recording, time_taken(recording, paper.signs).partition(":")[0])
    paper.line()
    paper.flush()
    write_table(paper, report, settings)
    write_problems(paper, report, minor=minor)
    write_notes(paper, story_facts(recording, settings, paper.signs))


def write_end(
    stream: TextIO,
    recording: Recording,
    report: CoverageReport,
    settings: Settings,
    path: str = "",
    coloured: bool = False,
) -> None:
    """Write the summary at the end of a run, in the recorded process. path: the recording's, quoted for a shell."""
    import shutil

    paper = (ColourPaper if coloured else Paper)(stream, min(120, shutil.get_terminal_size((80, 24)).columns))
    totals = report.totals
    what = total_text(totals, settings.precision) if report.files else nothing_text(report)
    paper.line((f"seismo: {what}", "strong"))
    if report.files:
        write_table(paper, report, settings, ROWS_AT_END)
    for note in settings.notes:
        _write_wrapped(paper, f"note: {printable(note)}")
    write_problems(paper, report, 4)
    for loss in losses(recording, paper.signs)[:4]:
        _write_wrapped(paper, f"lost: {loss}", "warning")
    if settings.fail_under:
        write_verdict(paper, totals, settings)
    if path:
        paper.line(f"seismo report {printable(path)}   shows the rest")
    paper.flush()


def write_verdict(paper: Paper, totals: Percentages, settings: Settings) -> bool:
    """Write whether the total reaches the threshold, and return True if it does not."""
    from seismo.coverage.percentages import threshold_precision, too_little

    fails = too_little(totals, settings.fail_under, settings.precision)
    has = percent_text(totals.percent, threshold_precision(settings.fail_under, settings.precision))
    words = (
        f"coverage of {has} % is {'less than' if fails else 'at least'} the {settings.fail_under:g} % that are wanted"
    )
    if not totals.files:
        words = f"there is nothing to report, and {settings.fail_under:g} % are wanted"
    paper.line((words, "bad" if fails else "good"))
    return fails


def write_problems(paper: Paper, report: CoverageReport, limit: int = PROBLEMS, minor: bool = False) -> None:
    """Write the problems of the analysis. minor: include generated code and templates."""
    problems = report.problems if minor else report.main_problems
    if problems:
        paper.line()
    for problem in problems[:limit]:
        where = f"{problem.path}: " if problem.path else ""
        _write_wrapped(paper, printable(f"problem: {where}{problem.text}"), "warning")
    if len(problems) > limit:
        paper.line((f"{paper.signs.cut} {number_of(len(problems) - limit, 'more problem')}", "warning"))


def _write_wrapped(paper: Paper, sentence: str, style: str = "") -> None:
    for index, line in enumerate(wrapped(sentence, paper.width - 6)):
        paper.line((("      " if index else "") + line, style))


# ---- The table. ----


def write_table(paper: Paper, report: CoverageReport, settings: Settings, rows: int | None = None) -> None:
    """Write the table of files and their total, or a sentence if there are no files.

    rows: the most files, those with the most to do, or None for all.
    """
    shown = chosen(report, settings)
    if not report.files:  # a total of 100 % would be true but misleading
        paper.line((f"no file to report: {nothing_text(report)}", "warning"))
        return
    kept = shown if rows is None else most_to_do(shown, rows)
    section = files_section(report, kept, settings.precision)
    folder = common_folder(kept)
    if folder:
        paper.line("below ", (printable(folder), "strong"))
    _Layout(paper, section, settings.show_missing, len(folder)).write(section, report.totals)
    if not shown:
        paper.line(("no file to show", "quiet"))
    skipped = len(report.files) - len(shown)
    if skipped:
        why = [words for words, on in (("covered", settings.skip_covered), ("empty", settings.skip_empty)) if on]
        are = "is" if skipped == 1 else "are"
        paper.line((f"{number_of(skipped, ' or '.join(why) + ' file')} {are} not shown, but counted", "quiet"))
    if len(kept) < len(shown):
        more = number_of(len(shown) - len(kept), "more file")
        paper.line((f"{paper.signs.cut} {more}, with less to do", "quiet"))
    if any(file.changed for file in kept):
        paper.line(("* has changed since it ran", "quiet"))


class _Layout:
    """The widths of the columns of a section of files. folder: length of the common path above the table."""

    def __init__(self, paper: Paper, section: Section, show_missing: bool, folder: int) -> None:
        self.paper, self.show_missing = paper, show_missing
        self.signs: Signs = paper.signs
        self.names = [printable(row.cells[-2][folder:]) + (" *" if row.data["changed"] else "") for row in section.rows]
        heads = [SHORT[head] for head in section.headings[1 : section.numbers]]
        numbers = [self._numbers(row.cells[: section.numbers]) for row in section.rows]
        self.grid = Grid([*heads, SHORT["covered"]], [*numbers, self._numbers(section.total)], paper.width)
        longest = max([5, *map(cells, self.names)])
        wanted = max((len(row.cells[-1]) for row in section.rows), default=0)
        self.least = min(LEAST_MISSING, max(wanted, len("Missing")))
        room = paper.width - self.grid.used - max(LEAST_NAME, longest) - min(max(wanted, self.least), GOOD_MISSING) - 2
        self.bar = BAR if room > BAR else 0
        room = paper.width - self.grid.used - (self.bar + 1 if self.bar else 0)
        least = self.least + 2 if wanted else 0
        self.name = max(LEAST_NAME, min(longest, room - least))
        self.missing = max(0, room - self.name - 2) if wanted else 0
        if show_missing and self.missing < min(wanted, ROOMY_MISSING):  # they go below the row
            self.name, self.missing = max(LEAST_NAME, min(longest, room)), 0

    @staticmethod
    def _numbers(row: Sequence[str]) -> list[str]:
        """Return the numbers in the order of the terminal: the percentage last."""
        return [*row[1:], row[0]]

    def write(self, section: Section, totals: Percentages) -> None:
        """Write the heading, the rows, and the total."""
        head = left("File", self.name) + "  " + self.grid.head.removesuffix("  ")
        head += " " * (self.bar + 1 if self.bar else 0) + ("  Missing" if self.missing >= self.least else "")
        self.paper.line((head, "head"))
        for name, row in zip(self.names, section.rows, strict=True):
            name = left(shorten(name, self.name, self.signs), self.name)
            numbers = self._cells(row.cells[: section.numbers], row.data["percent"])
            self._write([(name, "name"), *numbers], row.cells[-1])
        self.paper.line((left("TOTAL", self.name), "strong"), *self._cells(section.total, totals.percent))

    def _cells(self, row: Sequence[str], percent: float) -> list[Span | str]:
        style = "good" if percent >= 90 else "warning" if percent >= 60 else "bad"
        numbers, cover = "  " + self.grid.line(self._numbers(row)).removesuffix("  "), cells(row[0])
        shown: list[Span | str] = [numbers[:-cover], (numbers[-cover:], style)]
        if self.bar:
            full = _full(percent, self.bar)
            shown += [" ", (self.signs.full * full, style), (self.signs.empty * (self.bar - full), "quiet")]
        return shown

    def _write(self, row: list[Span | str], words: str) -> None:
        """Write a file's row, and below it the missing lines that do not fit."""
        beside = self.missing >= self.least
        if beside and not self.show_missing:
            self.paper.line(*row, "  ", (_cut(words, self.missing, self.signs), "quiet"))
            return
        indent = self.paper.width - self.missing if beside else 4
        lines = wrapped(words, self.paper.width - indent) if self.show_missing else []
        self.paper.line(*row, *(["  ", lines.pop(0)] if beside else []))
        for line in filter(None, lines):
            self.paper.line(" " * indent, line)


def _cut(words: str, width: int, signs: Signs) -> str:
    if len(words) <= width:
        return words
    kept = words[: width - len(signs.cut) - 1]
    return kept.rpartition(",")[0] + f", {signs.cut}" if "," in kept else kept + signs.cut


def _full(percent: float, width: int) -> int:
    """Return the length of the full part of a bar; it is 0 or the whole width only for exactly 0 or 100 %."""
    if percent in (0, 100):
        return round(width * percent / 100)
    return min(width - 1, max(1, round(width * percent / 100)))


# ---- The contexts of one line. ----


def write_line(paper: Paper, report: CoverageReport, place: str, limit: int | None = 40) -> None:
    """Write whether a line ran, how often, in which contexts, and where its branches went. place: FILE:N."""
    file, line = _place(report, place)
    source = file.source_lines[line - 1] if 0 < line <= len(file.source_lines) else ""
    paper.line((printable(f"{file.path}:{line}"), "strong"), "  ", printable(source.strip()))
    if line in file.excluded:
        paper.line("excluded")
    elif line in file.missing:
        paper.line(("never executed", "bad"))
    elif line not in file.statements:
        paper.line("no statement begins here")
    else:
        hits = file.hits.get(line, 0) if file.hits is not None else 0
        paper.line(("executed" + (f" {number_of(hits, 'time')}" if hits else ""), "good"))
    taken, missing = file.branches.get(line, ((), ()))
    for to in taken:
        paper.line("  did ", printable(file.arc_text(line, to)), *_who(file.contexts_of_arc((line, to))))
    for to in missing:
        paper.line((f"  {printable(file.missing_text(line, to))}", "bad"))
    contexts = file.contexts_of(line)
    named = [name for name in contexts if name]
    if named:
        paper.line(f"in {number_of(len(named), 'context')}" + (", and in none" if "" in contexts else "") + ":")
        for name in named[:limit]:
            paper.line("  ", printable(name))
        if limit is not None and len(named) > limit:
            paper.line((f"  {paper.signs.cut} {len(named) - limit:,} more (--all shows them)", "quiet"))
    elif line in file.executed:
        paper.line(("the recording has no contexts: seismo cover --contexts test", "quiet"))


def _who(names: Sequence[str]) -> list[Span | str]:
    named = [printable(name) for name in names if name]
    more = f" and {len(named) - 2:,} more" if len(named) > 2 else ""
    return [(f"  ({', '.join(named[:2])}{more})", "quiet")] if named else []


def _place(report: CoverageReport, place: str) -> tuple[FileCoverage, int]:
    name, colon, number = place.rpartition(":")
    if not colon or not number.isdecimal() or not name:
        raise UsageError(f"--line cannot be {place!a}", hint="it is FILE:NUMBER, such as app/core.py:12")
    found = [file for file in report.files if name in (file.path, file.absolute)]
    found = found or [file for file in report.files if file.absolute.endswith("/" + name.removeprefix("./"))]
    if len(found) != 1:
        names = ", ".join(printable(file.path) for file in (found or report.files)[:8])
        what = f"{len(found)} files are" if found else "no file of the recording is"
        raise UsageError(f"{what} called {name!a}", "--line", f"there are: {names}")
    return found[0], int(number)


# ---- Conditions. ----
#
# A decision is one line, with its operands below. Each operand has the outcomes that were seen, whether it was shown to
# decide independently (MC/DC), and the reason for anything unknown.


def _seen_text(operand: Operand, exact: bool) -> str:
    """Return the outcomes: `true 12, false never`, or a note if the branches do not show them."""
    if operand.true is None or operand.false is None:
        return "unknown"
    words = []
    for name, number in (("true", operand.true), ("false", operand.false)):
        if number:
            words.append(f"{name} {number:,}" if exact else f"{name} seen")
        else:
            words.append(f"{name} unknown" if operand.doubtful else f"{name} never")
    return ", ".join(words)


def _outcomes_text(decisions: Sequence[Decision]) -> str:
    """Return the total: `7 of 12 outcomes in 3 decisions seen`."""
    seen = sum(decision.seen for decision in decisions)
    needed = sum(decision.needed for decision in decisions)
    return f"{seen:,} of {number_of(needed, 'outcome')} in {number_of(len(decisions), 'decision')} seen"


def write_conditions(paper: Paper, report: CoverageReport, everything: bool) -> None:
    """Write the report of all files with decisions. everything: include decisions with nothing missing."""
    every = [decision for file in report.files for decision in file.conditions]
    if not every:
        paper.line("No conditions: the recording has no branches (--branch; Python 3.12 or later).")
        return
    for file in report.files:
        if file.conditions:
            paper.line(f"{printable(file.path)}  {_outcomes_text(file.conditions)}")
        for decision in file.conditions:
            if decision.seen < decision.needed or everything:
                _write_decision(paper, decision)
    paper.line(f"total  {_outcomes_text(every)}")


def _write_decision(paper: Paper, decision: Decision) -> None:
    paper.line(beginning(f"{decision.line:>6}  {decision.kind}: {printable(decision.text)}", paper.width, paper.signs))
    for operand in decision.operands:
        facts = "constant" if operand.constant else _seen_text(operand, decision.exact)
        if len(decision.operands) > 1 and not operand.constant:
            facts += f"; {INDEPENDENCE[operand.independence]}"
        note = f" ({operand.note})" if operand.note and not operand.constant else ""
        paper.line(beginning(f"          {printable(operand.text)}: {facts}{note}", paper.width, paper.signs))


# ---- Changed lines. ----


def write_changes(paper: Paper, report: CoverageReport, changes: Sequence[Change], revision: str) -> tuple[int, int]:
    """Write which changed lines were not executed. Return the number of changed statements, and how many were missed.

    A changed line counts if a statement begins at it, or if it is part of one.
    """
    by_path = {file.absolute: file for file in report.files}
    rows: list[tuple[FileCoverage, list[int], list[int], list[tuple[int, int]]]] = []
    unknown: list[str] = []
    for change in changes:
        file = by_path.get(change.path)
        if file is None:
            unknown += [change.shown] if change.path.endswith(".py") else []
            continue
        changed = {file.first_lines.get(line, line) for line in change.lines}
        statements = [line for line in file.statements if line in changed]
        missing = [line for line in file.missing if line in changed]
        lost = set(missing)
        branches = [arc for arc in file.missing_branches if arc[0] in changed and arc[0] not in lost]
        if statements:
            rows.append((file, statements, missing, branches))
    total, missed = sum(len(row[1]) for row in rows), sum(len(row[2]) for row in rows)
    percent = 100.0 * (total - missed) / total if total else 100.0
    head = f"{number_of(total, 'changed statement')} since {printable(revision)}: {count(missed)} not executed"
    paper.line((head, "title"), f" ({percent_text(percent)} % were)" if total else "")
    for file, _, missing, branches in rows:
        if missing or branches:
            paper.line()
            paper.line((printable(file.path), "strong"))
            _write_missed(paper, file, missing, branches)
    for path in unknown:
        paper.line((f"{printable(path)}: changed, but not in the recording", "warning"))
    return total, missed


def _write_missed(
    paper: Paper, file: FileCoverage, missing: Sequence[int], branches: Sequence[tuple[int, int]]
) -> None:
    notes = dict.fromkeys(missing, "")
    for line, to in branches:
        notes[line] = "; ".join(filter(None, (notes.get(line, ""), f"not: {file.arc_text(line, to)}")))
    for line in sorted(notes):
        source = file.source_lines[line - 1].rstrip() if line <= len(file.source_lines) else ""
        style = "bad" if not notes[line] else "warning"
        shown = printable(source.expandtabs(4))
        note = f"  ({printable(notes[line])})" if notes[line] else ""
        room = paper.width - 9 - cells(note)
        paper.line((f"{line:>7}  ", "quiet"), (beginning(shown, max(20, room), paper.signs), style), (note, "quiet"))
