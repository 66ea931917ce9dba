"""The data files of coverage.py, `.coverage`: the lines, or steps between lines, that ran, with their contexts.

The writer uses coverage.py's CoverageData, so that the file suits the installed version. In branch mode coverage.py has
only arcs, and a line ran if an arc touches it. coverage.py's tracers store every step. Its monitoring core stores an
arc from each executed line to itself, and the branches that were taken. This module writes the latter, which
recordings have. Arcs that follow from the source rather than from an event (the only exit of a class with a body on the
same line) are added from the analysis if the source can be read.

The reader does not use coverage.py: the file is an SQLite database with documented tables, and anything else is
refused. SQLite is robust against damaged databases, but views, triggers and virtual tables may run during a SELECT from
an apparent table. So the reader checks the list of tables first, and an authorizer permits only reads of known columns.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections import defaultdict
from typing import TYPE_CHECKING, Any, BinaryIO

from seismo.coverage.executed_lines import has_arcs
from seismo.errors import FormatError, SeismoError, install_command
from seismo.formats.base import MAX_LINE, MAX_NODES, Format, checked
from seismo.formats.coverage_base import Arc, CoverageBuilder, executed_files, report_of
from seismo.model.columns import bits_of
from seismo.recording_kinds import COVERAGE

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from seismo.coverage.coverage_report import CoverageReport
    from seismo.coverage.executed_lines import ExecutedLines
    from seismo.model import Recording

MAGIC = b"SQLite format 3\0"
VERSION = 7  # of coverage.py's tables, since coverage.py 5
_COLUMNS = {
    "coverage_schema": {"version"},
    "meta": {"key", "value"},
    "file": {"id", "path"},
    "context": {"id", "context"},
    "line_bits": {"file_id", "context_id", "numbits"},
    "arc": {"file_id", "context_id", "fromno", "tono"},
    "tracer": {"file_id", "tracer"},
}
_MAX_HITS = 1 << 27  # the most bits set in all sets of lines (lines times contexts)
_STEPS = 1 << 16  # of SQLite's virtual machine between two progress checks
_MAX_STEPS = 1 << 34


def _write(recording: Recording, out: BinaryIO, report: CoverageReport | None) -> None:
    try:
        from coverage import CoverageData
    except ImportError:
        raise FormatError(
            "a .coverage file is written by coverage.py, which is not installed here", hint=install_command("coverage")
        ) from None
    branch = has_arcs(recording)
    files = executed_files(recording)
    analyzed = _analyzed(recording, report)
    with tempfile.TemporaryDirectory(prefix="seismo-") as folder:
        path = os.path.join(folder, ".coverage")
        data = CoverageData(basename=path)
        try:
            add = data.add_arcs if branch else data.add_lines
            add({})
            # coverage.py reports only on files that the data names, so those of which nothing ran are named, too.
            data.touch_files([_encodable(file) for file in dict.fromkeys([*files, *analyzed])])
            for context, found in sorted(_by_context(files, analyzed, branch).items()):
                data.set_context(_encodable(context))
                add({_encodable(file): places for file, places in found.items()})
            data.write()
        finally:
            data.close(force=True)
        with open(path, "rb") as written:
            shutil.copyfileobj(written, out)


def _encodable(name: str) -> str:
    """Return a name with surrogates escaped, because SQLite stores UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def _analyzed(recording: Recording, report: CoverageReport | None) -> dict[str, list[Arc]]:
    """Return the taken branches of each file by the analysis, or nothing if it fails: lines are written without it."""
    try:
        return {file.absolute: file.executed_branches for file in report_of(recording, report).files}
    except SeismoError:
        return {}


def _by_context(
    files: dict[str, ExecutedLines], analyzed: dict[str, list[Arc]], branch: bool
) -> dict[str, dict[str, list[Any]]]:
    """Return the lines or, with branches, the arcs of each context and file, as coverage.py stores them.

    Arcs that only the analysis has go with the line at which they start.
    """
    found: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))

    def add(path: str, place: Any, contexts: Iterable[str] | None) -> None:
        for context in contexts or ("",):
            found[context][path].append(place)

    for path, ran in files.items():
        for line in ran.hits:
            add(path, (line, line) if branch else line, ran.line_contexts.get(line))
        for arc in ran.arcs if branch else ():
            add(path, arc, ran.arc_contexts.get(arc))
        for arc in analyzed.get(path, ()) if branch else ():
            if arc[0] in ran.hits and arc not in ran.arcs:
                add(path, arc, ran.line_contexts.get(arc[0]))
    return found


def _read(data: bytes) -> Recording:
    try:
        import sqlite3
    except ImportError:
        raise FormatError("this Python was built without SQLite, which .coverage files need") from None
    if not data.startswith(MAGIC):
        raise ValueError("it is not an SQLite database")
    database = sqlite3.connect(":memory:")
    try:
        with contextlib.closing(database):
            database.deserialize(data)
            return _read_database(database)
    except sqlite3.Error as error:
        raise ValueError(f"the database is damaged ({error})") from error
    except (OverflowError, MemoryError) as error:
        raise ValueError("the database is too large") from error


def _read_database(database: sqlite3.Connection) -> Recording:
    _guard(database)
    for (version,) in database.execute("SELECT version FROM coverage_schema"):
        if version != VERSION:
            raise ValueError(f"its tables are those of version {str(version)[:20]}, known is {VERSION}")
    has_arcs_text = dict(database.execute("SELECT key, value FROM meta WHERE key = 'has_arcs'")).get("has_arcs")
    branch = str(has_arcs_text) == "1"
    covered = CoverageBuilder()
    files = {
        id_: covered.file(checked(path, str, "a name")) for id_, path in database.execute("SELECT id, path FROM file")
    }
    names = {id_: checked(name, str, "a name") for id_, name in database.execute("SELECT id, context FROM context")}
    (_read_arcs if branch else _read_lines)(database, covered, files, names)
    tracers = sum(1 for (tracer,) in database.execute("SELECT tracer FROM tracer") if tracer)
    if tracers:
        covered.builder.loss("tracers-dropped", tracers, "files traced by a plugin of coverage.py are read as Python")
    return covered.build("coverage", branch)


def _guard(database: sqlite3.Connection) -> None:
    """Refuse any database that is not coverage.py's, and permit only SELECTs of its columns from now on."""
    import sqlite3

    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA cell_size_check = ON")
    tables = set()
    for kind, name, statement in database.execute("SELECT type, name, sql FROM sqlite_master"):
        known = name in _COLUMNS if kind == "table" else kind == "index"
        if not known or "virtual" in str(statement).lower().split():
            raise ValueError(f"it has a {str(kind)[:20]} {str(name)[:40]!r}, which is not coverage.py's")
        tables.add(name)
    if "coverage_schema" not in tables or not tables.issuperset(_COLUMNS):
        raise ValueError("it lacks tables of coverage.py")
    for name, columns in _COLUMNS.items():
        have = {row[1] for row in database.execute(f"PRAGMA table_info({name})")}
        if not have >= columns:
            raise ValueError(f"its table {name} lacks columns of coverage.py")

    def allowed(action: int, first: str | None, *_: object) -> int:
        reading = action == sqlite3.SQLITE_READ and first in _COLUMNS
        asking = action == sqlite3.SQLITE_SELECT
        length = action == sqlite3.SQLITE_FUNCTION
        return sqlite3.SQLITE_OK if reading or asking or length else sqlite3.SQLITE_DENY

    steps = 0

    def too_long() -> int:
        nonlocal steps
        steps += _STEPS
        return int(steps > _MAX_STEPS)

    database.set_authorizer(allowed)
    database.set_progress_handler(too_long, _STEPS)


def _read_lines(
    database: sqlite3.Connection, covered: CoverageBuilder, files: dict[int, int], names: dict[int, str]
) -> None:
    total = 0
    for file, context, bits in database.execute("SELECT file_id, context_id, numbits FROM line_bits"):
        if file not in files or context not in names or not isinstance(bits, bytes):
            raise ValueError("a set of lines has an unknown file or context")
        if len(bits) > (MAX_LINE >> 3) + 1:
            raise ValueError("a set of lines has numbers that are too large")
        set_ = int.from_bytes(bits, "little")
        total += set_.bit_count()
        if total > _MAX_HITS:
            raise ValueError(f"it has more than {_MAX_HITS} lines in contexts")
        lines = (8 * place + bit for place, byte in enumerate(bits) for bit in bits_of(byte))
        covered.lines(files[file], lines, names[context])


def _read_arcs(
    database: sqlite3.Connection, covered: CoverageBuilder, files: dict[int, int], names: dict[int, str]
) -> None:
    found = database.execute("SELECT file_id, context_id, fromno, tono FROM arc")
    for row, (file, context, begin, end) in enumerate(found):
        if row >= MAX_NODES << 3:
            raise ValueError(f"it has more than {MAX_NODES << 3} arcs in contexts")
        if file not in files or context not in names:
            raise ValueError("an arc has an unknown file or context")
        begin, end = (checked(line, int, "a line number") for line in (begin, end))
        context_names = (names[context],)
        for line in {begin, end}:
            if line > 0:
                covered.line(files[file], line, contexts=context_names)
        if begin != end and begin and end:  # some interpreters report line 0 for code that they added
            covered.arc(files[file], begin, end, contexts=context_names)


FORMAT = Format(
    name="coverage",
    description="the data file of coverage.py, for its own reports; written where coverage.py is installed",
    suffixes=(".coverage",),
    prefixes=(".coverage.",),
    binary=True,
    writer=_write,
    reader=_read,
    lost="hit counts, functions, conditions, losses",
    kept="lines or arcs, contexts",
    of=(COVERAGE,),
)
