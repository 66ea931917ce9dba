"""LCOV: the tracefile of geninfo, which genhtml, editors and code review services read.

There is a record per file: SF opens it and end_of_record closes it. FN and FNDA describe functions, DA lines and BRDA
branches, followed by totals. Hits are counts if they were counted, and otherwise 1. Names of branches are coverage.py's
sentences ("jump to line 5"), which genhtml shows. Paths are escaped so that none can forge a record.

The reader takes lines and branches and ignores the totals. A branch becomes an arc if its name has its target, like
coverage.py's and seismo's names, but unlike the numbers of C compilers. An exit of the code has a name, and its arc
ends at the first line of that code, so the exit is looked up in the source by its name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TextIO

from seismo.errors import SeismoError
from seismo.formats.base import MAX_LINE, MAX_VALUE, Format
from seismo.formats.coverage_base import Arc, CoverageBuilder, count_in, executed_files, field_text, report_of
from seismo.formats.function_names import unescape
from seismo.recording_kinds import COVERAGE

if TYPE_CHECKING:
    from seismo.coverage.coverage_report import CoverageReport, FileCoverage
    from seismo.model import Recording

_JUMP = re.compile(r"jump to line ([0-9]{1,9})\Z")
_EXIT = re.compile(r"exit |return |finish |run |jump to the function exit\Z")
_LARGEST_RECORD = 1 << 16  # characters of a line, more than any path or name needs


def _write(recording: Recording, out: TextIO, report: CoverageReport | None) -> None:
    report = report_of(recording, report)
    arcs: dict[str, dict[Arc, int]] = {}
    if report.counts and report.branch:
        arcs = {path: ran.arcs for path, ran in executed_files(recording).items()}
    for covered in sorted(report.files, key=lambda one: one.path):
        out.write(f"SF:{field_text(covered.path)}\n")
        _lines(out, covered)
        _functions(out, covered)
        if report.branch:
            _branches(out, covered, arcs.get(covered.absolute, {}))
        out.write("end_of_record\n")


def _lines(out: TextIO, covered: FileCoverage) -> None:
    missing = set(covered.missing)
    out.writelines(f"DA:{line},{0 if line in missing else covered.hits_of(line)}\n" for line in covered.statements)
    if covered.statements:
        out.write(f"LF:{len(covered.statements)}\nLH:{len(covered.executed)}\n")


def _functions(out: TextIO, covered: FileCoverage) -> None:
    """Write the functions. One ran if any statement of its body did; its count is that of its first statement."""
    regions = [region for region in covered.regions if region.kind == "function" and region.lines]
    if not regions:
        return
    statements, executed = set(covered.statements), set(covered.executed)
    found = hit = 0
    known: set[str] = set()
    placed = [(min(region.start, *region.lines), max(region.start, *region.lines), region) for region in regions]
    for first, last, region in sorted(placed, key=lambda one: one[:2]):
        inside = statements & region.lines
        if not inside:
            continue
        found += 1
        ran = bool(executed & inside)
        hit += ran
        name = field_text(region.name)
        if name in known:
            name += f"@{first}"
        known.add(name)
        count = covered.hits_of(min(inside)) if ran else 0
        out.write(f"FN:{first},{last},{name}\nFNDA:{count},{name}\n")
    out.write(f"FNF:{found}\nFNH:{hit}\n")


def _branches(out: TextIO, covered: FileCoverage, hits: dict[Arc, int]) -> None:
    """Write the branches, exits of the code last. Those of a line that never ran have "-" instead of a count."""
    total = reached = 0
    for line, exits in ((line, covered.exits[line]) for line in covered.statements if line in covered.exits):
        taken, missed = covered.branches[line]
        total += exits
        reached += exits - len(missed)
        ways = [(to_line, "-" if len(missed) >= exits else "0") for to_line in missed]
        if len(missed) < exits:
            ways += [(to_line, str(max(1, hits.get((line, to_line), 1)))) for to_line in taken]
        ways.sort(key=lambda way: (way[0] < 0, way))
        texts = ((field_text(covered.arc_text(line, to_line)), count) for to_line, count in ways)
        out.writelines(f"BRDA:{line},0,{text},{count}\n" for text, count in texts)
    if total:
        out.write(f"BRF:{total}\nBRH:{reached}\n")


class _Reader:
    def __init__(self) -> None:
        self.covered = CoverageBuilder()
        self.file: int | None = None
        self.branches = 0
        self.unknown = 0
        self._contexts: tuple[str, ...] = ()
        self._path = ""
        self._exits: list[tuple[int, str]] = []  # line and name of the exits of the code that were taken

    def take(self, kind: str, value: str) -> None:
        """Add a record. Raise ValueError if it is invalid. Other kinds of records are ignored."""
        if kind == "TN":
            self._contexts = (unescape(value),) if value else ()
        elif kind == "end_of_record":
            self._end()
        elif kind == "SF":
            self._end()
            self._path = unescape(value)
            self.file = self.covered.file(self._path)
        elif kind in ("DA", "BRDA"):
            if self.file is None:
                raise ValueError("it belongs to no file: there is no SF before it")
            (self._line if kind == "DA" else self._branch)(self.file, value)

    def _line(self, file: int, value: str) -> None:
        fields = value.split(",")
        if len(fields) < 2:
            raise ValueError("a DA has a line and a count")
        line, hits = count_in(fields[0], MAX_LINE), count_in(fields[1], MAX_VALUE)
        if hits:
            self.covered.line(file, line, hits, self._contexts)

    def _branch(self, file: int, value: str) -> None:
        line_text, _, rest = value.partition(",")
        name, comma, taken = rest.partition(",")[2].rpartition(",")
        if not comma:
            raise ValueError("a BRDA has a line, a block, a branch and a count")
        line = count_in(line_text, MAX_LINE)
        self.branches += 1
        ran = taken != "-" and count_in(taken, MAX_VALUE) > 0
        name = unescape(name)
        jump = _JUMP.match(name)
        if not (jump or _EXIT.match(name)):
            self.unknown += 1
        elif ran and jump:
            self.covered.arc(file, line, int(jump[1]), self._contexts)
        elif ran:
            self._exits.append((line, name))

    def _end(self) -> None:
        """End a file, and look up the exits of its code."""
        if self._exits and self.file is not None:
            named = _named_exits(self._path)
            for exit_ in self._exits:
                if exit_ in named:
                    self.covered.arc(self.file, exit_[0], named[exit_], self._contexts)
                else:
                    self.unknown += 1
        self.file = None
        self._exits.clear()


@lru_cache(maxsize=4)  # a tracefile may return to a file
def _named_exits(path: str) -> dict[tuple[int, str], int]:
    """Map the exits of a source's code, by line and name, to their targets; empty if it cannot be read or parsed."""
    from seismo.coverage import parsed_source, read_source

    try:
        parsed = parsed_source.parse(read_source.read(path), path)
    except SeismoError:
        return {}
    return {(arc[0], parsed.steps.does(arc)): arc[1] for arc in parsed.arcs if arc[1] < 0}


def _read(data: bytes) -> Recording:
    try:
        content = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text (byte {error.start})") from None
    reader = _Reader()
    records = 0
    for number, row in enumerate(content.split("\n"), 1):
        row = row.strip()
        if not row or row.startswith("#"):
            continue
        kind, colon, value = row[:_LARGEST_RECORD].partition(":")
        try:
            if not colon and kind != "end_of_record":
                raise ValueError("it is not a record of a tracefile")
            reader.take(kind, value)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        records += kind in ("SF", "TN", "end_of_record")
    if content.strip() and not records:
        raise ValueError("it has no record of a tracefile")
    if reader.file is not None:
        raise ValueError("the last end_of_record is missing: it is cut short")
    if reader.unknown:
        detail = "branches whose names do not contain their targets"
        reader.covered.builder.loss("branches-unknown", reader.unknown, detail)
    branch = reader.branches > reader.unknown
    return reader.covered.build("lcov", branch)


FORMAT = Format(
    name="lcov",
    description="the tracefile of LCOV, for genhtml, editors and code review",
    suffixes=(".lcov", ".info"),
    writer=_write,
    reader=_read,
    lost="contexts, excluded lines, conditions, losses",
    kept="lines with their counts, test names as contexts; branches whose names contain their targets",
    of=(COVERAGE,),
    needs_sources=True,
)
