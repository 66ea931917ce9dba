"""The comparison of a recording with the source: which lines and branches were executed, and which are missing.

The recording has the lines and steps that were executed. The source (parsed_source.py, arcs.py) has those that could
have been. Both are mapped to the first lines of logical lines and then compared.

**Lines.** A statement was executed if any line of its logical line was.

**Branches.** If a line has several exits, the recorded steps from it are the executed branches. On 3.11 the interpreter
reports every step from line to line, so the recording has all of them. From 3.12 on, it has only the steps of
conditional jumps. All other lines have a single exit, with one exception: a line of several code objects, such as
`def f(): return 1`, has an exit in each of them. There, a line that was executed in a code object with a single exit
has taken that exit.

A condition that the compiler decides may be none of the constants that count as such (`while -1`). Its line has
several exits in the tree, but no jump. Its exits to executed lines then count as taken.

**Files.** The report has the recorded files that match the patterns of the settings, and the files in source folders of
which nothing ran. Different names of a file (links, relative and absolute paths) are joined by the path without links.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from seismo import progress
from seismo.coverage import parsed_source
from seismo.coverage import read_source as text
from seismo.coverage.coverage_report import Arc, CoverageReport, FileCoverage, Problem
from seismo.coverage.executed_lines import ExecutedLines, has_arcs, read_executed
from seismo.coverage.file_patterns import Files, below, python_files
from seismo.coverage.percentages import runs
from seismo.coverage.read_source import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.coverage.parsed_source import ParsedSource
    from seismo.coverage.settings import Settings
    from seismo.model.recording import Recording

_SHOWN = 5  # lines named in a message
_RUNS = 20  # ranges of lines in a message about a missing file


def analyze(recording: Recording, settings: Settings) -> CoverageReport:
    """Compare a recording of coverage with the source files on this machine.

    Files that cannot be read, parsed or trusted are among the report's problems. Raise UsageError if a pattern or
    regular expression of the settings is invalid.
    """
    branch, counts = has_arcs(recording), any(part.get("counts") is True for part in recording.parts)
    folder = str(recording.meta.get("folder") or settings.folder)
    recorded, generated = read_executed(recording, folder, settings.report_contexts)
    problems: list[Problem] = []
    chosen = _chosen(recorded, settings, problems)
    files = []
    has_contexts = len(recording.contexts) > 0
    foreign = bool(recording.meta.get("source_format"))
    for path in progress.over("analyzing sources", sorted(chosen), len(chosen)):
        modules = chosen[path].modules
        if not foreign and not _should_be_python(path) and modules and not any(modules):  # code of no module
            problems.append(Problem(path, "the code has the name of a file that is not Python: a template", True))
            continue
        try:
            covered, doubts = _file(path, chosen[path], settings, branch, counts)
        except SourceError as error:
            # Templates and the like are compiled to code with their name, so a failure is expected.
            minor = not _should_be_python(path)
            what = f"{error.what}: {error.where}" if error.where != path else error.what
            problems.append(Problem(path, what + ("" if minor else _ran(chosen[path])), minor))
            continue
        if has_contexts:
            _contexts(covered, chosen[path])
        files.append(covered)
        problems += [Problem(path, doubt) for doubt in doubts]
    for name in sorted(generated):
        problems.append(Problem(name, "the code was generated while the program ran: it has no source file", True))
    return CoverageReport(files, problems, branch, counts, has_contexts, settings.precision)


def _chosen(files: dict[str, ExecutedLines], settings: Settings, problems: list[Problem]) -> dict[str, ExecutedLines]:
    folders, packages = _sources(settings, problems)
    include, omit = Files(settings.include, settings.folder), Files(settings.omit, settings.folder)
    if folders or packages:
        include = Files((), settings.folder)  # the source takes precedence
    chosen = {path: of for path, of in files.items() if path not in omit and (not include or path in include)}
    problems += [Problem(name, "no code of this source ran: is its name right?") for name in _unseen(packages, files)]
    # Add the files of which nothing ran.
    for path, of in files.items():
        for module in of.modules.intersection(packages):
            name = os.path.basename(path)
            if name == "__init__.py" and path.endswith(os.path.join(*module.split("."), name)):
                folders.append(os.path.dirname(path))
    for folder in folders:
        for path in python_files(folder, settings.include_namespace_packages):
            path = os.path.realpath(path)
            if path not in chosen and path not in omit:
                chosen[path] = ExecutedLines()
    only, without = Files(settings.report_include, settings.folder), Files(settings.report_omit, settings.folder)
    return {path: of for path, of in chosen.items() if path not in without and (not only or path in only)}


def _sources(settings: Settings, problems: list[Problem]) -> tuple[list[str], set[str]]:
    folders: list[str] = []
    packages = set(settings.source_pkgs)
    named = [(name, True) for name in settings.source_dirs] + [(name, False) for name in settings.source]
    for name, is_folder in named:
        folder = os.path.realpath(os.path.join(settings.folder, name))
        if os.path.isdir(folder):
            folders.append(folder)
        elif is_folder:
            problems.append(Problem(name, "there is no such source folder"))
        else:
            packages.add(name)
    return folders, packages


def _unseen(packages: set[str], files: dict[str, ExecutedLines]) -> list[str]:
    """Return the packages and modules that have no recorded file."""
    seen = set()
    for path, of in files.items():
        seen.update(of.modules)
        if "__main__" in of.modules:  # from python -m app
            seen.add(os.path.splitext(os.path.basename(path))[0])
    return sorted(
        name
        for name in packages
        if name.rpartition(".")[2] not in seen and not any(one == name or one.startswith(f"{name}.") for one in seen)
    )


def _should_be_python(path: str) -> bool:
    ending = os.path.splitext(path)[1]
    return not ending or ending.startswith(".py")


def _ran(of: ExecutedLines) -> str:
    """Return the executed lines of a file without source, as the end of a sentence."""
    lines = sorted(line for line in of.lines() if line > 0)
    return f"; {'line' if len(lines) == 1 else 'lines'} {_named(lines)} ran" if lines else ""


def _named(lines: list[int]) -> str:
    """Return sorted lines as text: 1-4, 7. At most _RUNS runs are included."""
    found = runs(lines)
    named = ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in found[:_RUNS])
    return named + (", ..." if len(found) > _RUNS else "")


def _shown(path: str) -> str:
    folder = os.getcwd()
    return os.path.relpath(path, folder) if below(path, [folder]) else path


def _file(
    path: str, recorded: ExecutedLines, settings: Settings, branch: bool, counts: bool
) -> tuple[FileCoverage, list[str]]:
    """Return the coverage of a file, and sentences about doubts. Raise SourceError if the source cannot be used."""
    data = text.read(path)
    parsed = parsed_source.parse(data, path, settings.exclude, (*settings.partial, *settings.partial_always))
    doubts = _doubts(parsed, data, recorded)
    first = parsed.first_line
    executed = {first(line) for line in recorded.lines()} & parsed.statements
    covered = FileCoverage(
        path=_shown(path),
        absolute=path,
        statements=sorted(parsed.statements),
        executed=sorted(executed),
        missing=sorted(parsed.statements - executed),
        excluded=sorted(parsed.excluded),
        source_lines=parsed.source_lines,
        regions=parsed.regions,
        changed=bool(doubts) and doubts[0] == CHANGED,
        first_lines=parsed.first_lines,
        jumps=recorded.conditions,
    )
    if counts:
        covered.hits = _hits(parsed, recorded, executed)
    if branch:
        covered.steps = parsed.steps
        _branches(covered, parsed, executed_arcs(parsed, recorded, executed))
    return covered, doubts


CHANGED = "the source has changed since the run: the lines shown may be wrong"


def _doubts(parsed: ParsedSource, data: bytes, recorded: ExecutedLines) -> list[str]:
    doubts = []
    version = len(data), zlib.crc32(data)
    known = {(size, crc) for size, crc in recorded.versions if size >= 0}
    if any(size != version[0] or (crc >= 0 and crc != version[1]) for size, crc in known):
        doubts.append(CHANGED)
    if len(known) > 1:
        doubts.append(f"{len(known)} different versions of the source were recorded: their lines are mixed")
    beyond = sorted(line for line in recorded.lines() if line > len(parsed.source_lines) + 1)
    if beyond:
        named = ", ".join(map(str, beyond[:_SHOWN])) + (", ..." if len(beyond) > _SHOWN else "")
        doubts.append(
            f"lines were recorded that the file does not have ({named}): code of another file has its name, or its "
            "line table is wrong"
        )
    return doubts


def _hits(parsed: ParsedSource, recorded: ExecutedLines, executed: Iterable[int]) -> dict[int, int]:
    """Return the hits of each statement: those of its first line if counted, else those of its most frequent line."""
    others: dict[int, int] = {}
    for line, hits in recorded.hits.items():
        first = parsed.first_line(line)
        others[first] = max(others.get(first, 0), hits)
    return {line: recorded.hits.get(line) or others.get(line, 1) for line in sorted(executed)}


def executed_arcs(parsed: ParsedSource, recorded: ExecutedLines, executed: set[int]) -> set[Arc]:
    """Return the executed steps among those that the source allows. executed: the executed statements."""
    taken = _put(parsed, _put(parsed, recorded.arcs)) & parsed.arcs
    for line, ways in parsed.steps.shared.items():
        for code_first, name, ends in ways:
            function = recorded.functions.get((code_first, name))
            if function is None or len(ends) != 1:
                continue
            (end,) = ends
            lines, arcs = function
            has_arc = any(parsed.first_line(start) == line for start, _ in arcs)
            ran = line in {parsed.first_line(one) for one in lines}
            if ran and not has_arc and (end < 0 or end in executed):
                taken.add((line, end))
    quiet = {line for line, exits in parsed.exit_counts.items() if exits > 1} & executed
    quiet.difference_update([line for line, _ in taken])
    for line in quiet:
        if parsed.is_decided(line):
            taken.update([arc for arc in parsed.arcs if arc[0] == line and arc[1] in executed])
    return taken


def _put(parsed: ParsedSource, arcs: Iterable[Arc]) -> set[Arc]:
    """Return the steps between first lines. Steps through a `with` are replaced by direct ones."""
    first, with_steps = parsed.first_line, parsed.steps.with_steps
    found = set()
    for arc in arcs:
        straight = with_steps.get(arc, arc)
        if straight is not None:
            found.add((first(straight[0]), first(straight[1])))
    return found


def _branches(covered: FileCoverage, parsed: ParsedSource, taken: set[Arc]) -> None:
    covered.exits = {line: count for line, count in sorted(parsed.exit_counts.items()) if count > 1}
    excluded, excused = parsed.excluded, parsed.no_branch
    ways: dict[int, tuple[list[int], list[int]]] = {line: ([], []) for line in covered.exits}
    for start, end in parsed.arcs:
        if start not in ways:
            continue
        if (start, end) in taken:
            ways[start][0].append(end)
        elif start not in excused and end not in excluded:
            ways[start][1].append(end)
    covered.branches = {line: (tuple(sorted(to)), tuple(sorted(missing))) for line, (to, missing) in ways.items()}


def _contexts(covered: FileCoverage, recorded: ExecutedLines) -> None:
    lines = {line: sorted(recorded.line_contexts.get(line, ("",))) for line in sorted(recorded.lines())}
    covered.contexts_by_line = lines
    covered.contexts_by_arc = {arc: sorted(recorded.arc_contexts.get(arc, ("",))) for arc in sorted(recorded.arcs)}
