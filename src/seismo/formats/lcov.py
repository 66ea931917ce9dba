"""LCOV: the tracefile of geninfo, which genhtml, editors and code review services read.

A record a file: SF opens it, end_of_record closes it. FN and FNDA tell of functions, DA of lines, BRDA of branches, and
the totals follow. Where hits were counted they are written; otherwise 1 says that it ran. Names of branches are
sentences, as coverage.py writes them ("jump to line 5"), since genhtml shows them. Paths are escaped so that none
forges a record.

Reading takes what lines say; totals are counted anew by whoever needs them. A branch becomes an arc if its name says
where it leads, as coverage.py's and our own do; numbers, as of C compilers, do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from seismo.formats.base import COVERAGE, MAX_LINE, MAX_VALUE, Format, TextSink
from seismo.formats.covered import Covered, field_path, field_text, files_of, has_arcs, has_counts, report_of

if TYPE_CHECKING:
    from seismo.coverage.result import FileCoverage
    from seismo.formats.base import ByteSink
    from seismo.formats.covered import Arc
    from seismo.model import Recording

_JUMP = re.compile(r"jump to line ([0-9]{1,9})\Z")
_RETURN = re.compile(r"return from function ['\"](.*)['\"]\Z")
_LARGEST_RECORD = 1 << 16  # characters of a line: more than any path or name needs


# ---- writing ----


def _write(recording: Recording, file: ByteSink) -> None:
    report = report_of(recording)
    counts, branch = has_counts(recording), has_arcs(recording)
    arcs = {ran.path: ran.arcs for ran in files_of(recording)} if counts and branch else {}
    with TextSink(file) as out:
        for covered in sorted(report.files, key=lambda one: one.path):
            out.write(f"SF:{field_text(covered.path)}\n")
            _lines(out, covered, counts)
            _functions(out, covered, counts)
            if branch:
                _branches(out, covered, arcs.get(covered.absolute, {}))
            out.write("end_of_record\n")


def _hits(covered: FileCoverage, line: int, counts: bool) -> int:
    """How often a statement ran; 1 where only that it did is known."""
    if counts and covered.hits is not None:
        return max(1, covered.hits.get(line, 1))
    return 1


def _lines(out: TextSink, covered: FileCoverage, counts: bool) -> None:
    missing = set(covered.missing)
    for line in covered.statements:
        out.write(f"DA:{line},{0 if line in missing else _hits(covered, line, counts)}\n")
    if covered.statements:
        out.write(f"LF:{len(covered.statements)}\nLH:{len(covered.executed)}\n")


def _functions(out: TextSink, covered: FileCoverage, counts: bool) -> None:
    """A function ran if any statement of its body did; how often is what its first statement says."""
    regions = [region for region in covered.regions if region.kind == "function" and region.lines]
    if not regions:
        return
    statements, executed = set(covered.statements), set(covered.executed)
    found = hit = 0
    known: set[str] = set()
    placed = [
        (min(region.start, min(region.lines)), max(region.start, max(region.lines)), region) for region in regions
    ]
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
        count = _hits(covered, min(inside), counts) if ran else 0
        out.write(f"FN:{first},{last},{name}\nFNDA:{count},{name}\n")
    out.write(f"FNF:{found}\nFNH:{hit}\n")


def _branches(out: TextSink, covered: FileCoverage, hits: dict[Arc, int]) -> None:
    """Ways out of the code come after those that stay in it; none of a line that never ran is said to be missed."""
    taken = _by_line(covered.executed_branches)
    missing = _by_line(covered.missing_branches)
    total = reached = 0
    for line in covered.statements:
        exits = covered.exits.get(line)
        if exits is None:
            continue
        missed = missing.get(line, [])
        total += exits
        reached += exits - len(missed)
        ways: list[tuple[int, str]] = []
        if len(missed) >= exits:
            ways += [(to_line, "-") for to_line in missed]
        else:
            ways += [(to_line, str(max(1, hits.get((line, to_line), 1)))) for to_line in taken.get(line, [])]
            ways += [(to_line, "0") for to_line in missed]
        for to_line, count in sorted(ways, key=lambda way: (way[0] < 0, way)):
            out.write(f"BRDA:{line},0,{field_text(covered.step_text((line, to_line)))},{count}\n")
    if total:
        out.write(f"BRF:{total}\nBRH:{reached}\n")


def _by_line(arcs: list[Arc]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for from_line, to_line in arcs:
        found.setdefault(from_line, []).append(to_line)
    return found


# ---- reading ----


class _Reader:
    """A file that is read line by line."""

    def __init__(self) -> None:
        self.covered = Covered()
        self.file: int | None = None
        self.test = ""
        self.largest = 0
        self.branches = 0
        self.unknown = 0
        self._starts: dict[str, int] = {}  # of the functions of this file
        self._exits: list[tuple[int, str]] = []  # lines from which a named function was left

    def take(self, kind: str, value: str) -> None:
        """Takes a record. ValueError: it cannot be. Kinds that tell nothing that is kept are skipped."""
        if kind == "TN":
            self.test = field_path(value)
            return
        if kind == "SF":
            self._end()
            self.file = self.covered.file(field_path(value))
            return
        if kind == "end_of_record":
            self._end()
            return
        if kind not in ("DA", "BRDA", "FN"):
            return
        if self.file is None:
            raise ValueError("it is of no file: there is no SF before it")
        if kind == "DA":
            self._line(self.file, value)
        elif kind == "BRDA":
            self._branch(self.file, value)
        else:
            self._function(value)

    def _line(self, file: int, value: str) -> None:
        fields = value.split(",")
        if len(fields) < 2:
            raise ValueError("a DA has a line and a count")
        line, hits = _count(fields[0], MAX_LINE), _count(fields[1], MAX_VALUE)
        self.largest = max(self.largest, hits)
        if hits:
            self.covered.line(file, line, hits, (self.test,) if self.test else ())

    def _branch(self, file: int, value: str) -> None:
        line_text, _, rest = value.partition(",")
        _, _, rest = rest.partition(",")
        name, comma, taken = rest.rpartition(",")
        if not comma:
            raise ValueError("a BRDA has a line, a block, a branch and a count")
        line = _count(line_text, MAX_LINE)
        self.branches += 1
        ran = taken != "-" and _count(taken, MAX_VALUE) > 0
        name = field_path(name)
        jump, left = _JUMP.match(name), _RETURN.match(name)
        contexts = (self.test,) if self.test else ()
        if jump and ran:
            self.covered.arc(file, line, int(jump[1]), contexts)
        elif name == "exit the module" and ran:
            self.covered.arc(file, line, -1, contexts)
        elif left and ran:
            self._exits.append((line, left[1]))
        elif not (jump or left or name == "exit the module"):
            self.unknown += 1

    def _function(self, value: str) -> None:
        fields = value.split(",", 2)
        if len(fields) < 2:
            raise ValueError("an FN has a line and a name")
        start = _count(fields[0], MAX_LINE)
        name = field_path(fields[-1] if len(fields) == 2 or fields[1].isdigit() else ",".join(fields[1:]))
        self._starts[name] = start

    def _end(self) -> None:
        """Ends a file: only now all of its functions are known."""
        short: dict[str, list[int]] = {}
        for name, start in self._starts.items():
            short.setdefault(name.partition("@")[0].rpartition(".")[2], []).append(start)
        for line, name in self._exits:
            starts = [start for start in short.get(name, ()) if start <= line]
            if starts and self.file is not None:
                self.covered.arc(self.file, line, -max(starts), (self.test,) if self.test else ())
            else:
                self.unknown += 1
        self.file = None
        self._starts.clear()
        self._exits.clear()


def _count(field: str, most: int) -> int:
    if not (field.isascii() and field.isdigit()) or len(field) > 20 or int(field) > most:
        raise ValueError(f"{field[:20]!r} is no number from 0 to {most}")
    return int(field)


def _read(data: bytes) -> Recording:
    try:
        content = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8 text (byte {error.start})") from None
    reader = _Reader()
    records = 0
    for number, row in enumerate(content.split("\n"), 1):
        row = row.strip()
        if not row or row.startswith("#"):
            continue
        kind, colon, value = row[:_LARGEST_RECORD].partition(":")
        try:
            if not colon and kind != "end_of_record":
                raise ValueError("it is no record of a tracefile")
            reader.take(kind, value)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        records += kind in ("SF", "TN", "end_of_record")
    if content.strip() and not records:
        raise ValueError("it has no record of a tracefile")
    if reader.file is not None:
        raise ValueError("the last end_of_record is missing: it is cut short")
    if reader.unknown:
        detail = "branches whose names do not say where they lead"
        reader.covered.loss("branches-unknown", reader.unknown, detail)
    branch = reader.branches > reader.unknown
    return reader.covered.build("lcov", branch, counts=reader.largest > 1)


FORMAT = Format(
    name="lcov",
    description="the tracefile of LCOV, for genhtml, editors and code review",
    suffixes=(".lcov", ".info"),
    binary=False,
    writer=_write,
    reader=_read,
    lost="contexts, excluded lines, conditions, losses",
    kept="lines with their counts, test names as contexts; branches whose names say where they lead",
    of=COVERAGE,
    needs_sources=True,
)
