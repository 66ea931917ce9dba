"""Cobertura's XML for CI servers and code review services, valid by its coverage-04.dtd.

The format is Java's: a package is a folder, a class is a file, and paths are relative to one of `sources`. `methods`
are empty, as in coverage.py's files, because consumers would count their lines twice. Hits are counts if they were
counted.

A line's branches are summed up in `condition-coverage`, and the line has a `condition` for each exit. The condition's
number is the target line (negative: out of the code), and its coverage is 100% if it was taken. The DTD has no other
place for a branch's target. coverage.py's attribute `missing-branches` is not in the DTD and is not written.

The reader streams through expat. It loads nothing from outside the file and refuses declared entities, a few of which
may expand to gigabytes.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, TextIO

from seismo.coverage.percentages import Percentages
from seismo.formats.base import MAX_LINE, MAX_VALUE, Format
from seismo.formats.coverage_base import CoverageBuilder, count_in, field_text, report_of, tool_version
from seismo.formats.function_names import unescape
from seismo.recording_kinds import COVERAGE

if TYPE_CHECKING:
    from seismo.coverage.coverage_report import CoverageReport, FileCoverage
    from seismo.model import Recording

DOCTYPE = '<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">'
_DIGITS = re.compile(r"([0-9]+)")
_NUMBER = re.compile(r"-?[0-9]{1,9}\Z")


def _write(recording: Recording, out: TextIO, report: CoverageReport | None) -> None:
    from xml.sax.saxutils import escape, quoteattr  # they import the modules of HTTP and mail

    report = report_of(recording, report)
    branch = report.branch
    ends = [end for end in recording.processes["end_ns"] if end > 0]
    stamp = max(ends) // 1_000_000 if ends else int(time.time() * 1000)
    packages, sources = _packages(report)
    totals = report.totals
    out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{DOCTYPE}\n')
    out.write(f"<coverage {_rates(totals, branch)} ")
    out.write(f'lines-covered="{totals.executed}" lines-valid="{totals.statements}" ')
    out.write(f'branches-covered="{totals.executed_branches}" branches-valid="{totals.branches}" complexity="0" ')
    out.write(f'version={quoteattr(tool_version())} timestamp="{stamp}">\n<sources>\n')
    out.writelines(f"<source>{escape(field_text(source))}</source>\n" for source in sources)
    out.write("</sources>\n<packages>\n")
    for name in sorted(packages, key=_as_people_sort):
        rates = _rates(sum((covered.numbers for _, covered in packages[name]), Percentages()), branch)
        out.write(f'<package name={quoteattr(name)} {rates} complexity="0">\n<classes>\n')
        for path, covered in sorted(packages[name], key=lambda one: _as_people_sort(one[0])):
            title = quoteattr(path.rpartition("/")[2])
            out.write(f"<class name={title} filename={quoteattr(path)} {_rates(covered.numbers, branch)}")
            out.write(' complexity="0">\n<methods/>\n<lines>\n')
            _lines(out, covered, branch)
            out.write("</lines>\n</class>\n")
        out.write("</classes>\n</package>\n")
    out.write("</packages>\n</coverage>\n")


def _packages(report: CoverageReport) -> tuple[dict[str, list[tuple[str, FileCoverage]]], list[str]]:
    """Return the files of each package with their paths, and the folders that the paths are relative to."""
    packages: dict[str, list[tuple[str, FileCoverage]]] = {}
    sources = set()
    for covered in report.files:
        if covered.absolute.endswith(covered.path):
            sources.add(covered.absolute[: -len(covered.path)].rstrip("/\\"))
        path = field_text(covered.path.replace("\\", "/"))
        packages.setdefault((os.path.dirname(path) or ".").replace("/", "."), []).append((path, covered))
    return packages, sorted(sources, key=_as_people_sort)


def _lines(out: TextIO, covered: FileCoverage, branch: bool) -> None:
    missing = set(covered.missing)
    for line in covered.statements:
        hits = 0 if line in missing else covered.hits_of(line)
        exits = covered.exits.get(line) if branch else None
        if exits is None:
            out.write(f'<line number="{line}" hits="{hits}"/>\n')
            continue
        took, missed = covered.branches[line]
        listed = sorted([*((to_line, 100) for to_line in took), *((to_line, 0) for to_line in missed)])
        taken = exits - len(missed)
        out.write(f'<line number="{line}" hits="{hits}" branch="true" ')
        out.write(f'condition-coverage="{100 * taken // exits}% ({taken}/{exits})">')
        if listed:
            conditions = "".join(
                f'<condition number="{to_line}" type="jump" coverage="{percent}%"/>' for to_line, percent in listed
            )
            out.write(f"<conditions>{conditions}</conditions>")
        out.write("</line>\n")


def _rates(numbers: Percentages, branch: bool) -> str:
    """Return the attributes of the rates of lines and branches."""
    branches = _rate(numbers.executed_branches, numbers.branches) if branch else "0"
    return f'line-rate="{_rate(numbers.executed, numbers.statements)}" branch-rate="{branches}"'


def _rate(part: int, whole: int) -> str:
    """Return a fraction as text. Rounding never makes it 0 or 1."""
    if part == whole:
        return "1"
    return f"{min(max(part / whole, 0.0001), 0.9999):.4g}" if part else "0"


def _as_people_sort(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key by which numbers in a name compare by value: file2 before file10."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in _DIGITS.split(name)]


class _Reader:
    def __init__(self) -> None:
        self.covered = CoverageBuilder()
        self.branches = 0
        self.known = 0  # branch lines with known targets
        self._sources: list[str] = []
        self._text: list[str] | None = None
        self._file: int | None = None
        self._line = 0
        self._hit = False
        self._known = False  # the line has a branch with a known target
        self._within: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._within and name != "coverage":
            raise ValueError(f"its outermost element is {name[:40]!r}, not coverage")
        if len(self._within) > 100:
            raise ValueError("its elements are nested too deeply")
        self._within.append(name)
        if name == "source":
            self._text = []
        elif name == "class":
            path = attributes.get("filename")
            if not path:
                raise ValueError("a class has no filename")
            self._file = self.covered.file(self._placed(unescape(path)))
        elif name == "line" and self._file is not None and "methods" not in self._within:
            self._take_line(self._file, attributes)
        elif name == "condition" and self._file is not None and self._line:
            self._take_condition(self._file, attributes)

    def end(self, name: str) -> None:
        self._within.pop()
        if name == "source" and self._text is not None:
            self._sources.append(unescape("".join(self._text).strip()))
            self._text = None
        elif name == "class":
            self._file = None
        elif name == "line":
            self._line = 0
            self._known = False

    def text(self, piece: str) -> None:
        if self._text is not None:
            self._text.append(piece)

    def _placed(self, path: str) -> str:
        """Return the path below the folder in `sources`. If there are several, choose the one that has the file."""
        if os.path.isabs(path):
            return path
        folders = [folder for folder in self._sources if os.path.isabs(folder)]
        if len(folders) > 1:
            folders = [folder for folder in folders if os.path.isfile(os.path.join(folder, path))]
        return os.path.normpath(os.path.join(folders[0], path)) if folders else path

    def _take_line(self, file: int, attributes: dict[str, str]) -> None:
        line = count_in(attributes.get("number", ""), MAX_LINE, "number=")
        hits = count_in(attributes.get("hits", ""), MAX_VALUE, "hits=")
        self._line, self._hit = line, hits > 0
        if hits:
            self.covered.line(file, line, hits)
        if attributes.get("branch") == "true":
            self.branches += 1

    def _take_condition(self, file: int, attributes: dict[str, str]) -> None:
        """Add an exit of a line. Other tools number their conditions from 0, which is no line."""
        number, coverage = attributes.get("number", ""), attributes.get("coverage", "")
        if not _NUMBER.match(number) or not int(number) or coverage not in ("0%", "100%"):
            return
        if not self._known:
            self._known = True
            self.known += 1
        if self._hit and coverage == "100%":
            self.covered.arc(file, self._line, int(number))


def _read(data: bytes) -> Recording:
    from xml.parsers import expat

    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = _refuse_entity
    parser.buffer_text = True
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError) as error:  # LookupError: an unknown encoding
        raise ValueError(f"it is not XML ({error})") from None
    except ValueError as error:
        raise ValueError(f"line {parser.CurrentLineNumber}: {error}") from None
    unknown = reader.branches - reader.known
    if unknown > 0:
        reader.covered.builder.loss("branches-unknown", unknown, "lines whose branches have no targets")
    return reader.covered.build("cobertura", 0 < reader.branches <= reader.known)


def _refuse_entity(name: str, *_: object) -> None:
    raise ValueError(f"it declares an entity {name[:40]!r}, which is not allowed")


FORMAT = Format(
    name="cobertura",
    description="Cobertura's XML (coverage-04.dtd), for CI servers and code review",
    suffixes=(".cobertura.xml", ".coverage.xml"),
    writer=_write,
    reader=_read,
    lost="contexts, functions, excluded lines, losses",
    kept="lines with their counts; branches, of seismo's own files",
    of=(COVERAGE,),
    needs_sources=True,
    mark=b'version="seismo ',
)
