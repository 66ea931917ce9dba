"""A program that was covered, as coverage.py sees it and as seismo does, for the tests of the formats of coverage."""

import contextlib
import io
import textwrap
from pathlib import Path

import coverage
from coverage.report_core import get_analysis_to_report

from seismo import formats
from seismo.coverage.result import CoverageReport, FileCoverage, Region
from seismo.coverage.settings import Settings
from seismo.model import Builder

PROGRAM = textwrap.dedent(
    '''\
    """A program with something of everything that a report tells apart."""

    import functools


    def plain(value):
        if value > 1:
            result = "many"
        else:
            result = "few"
        for _ in range(value):
            if value > 10:
                break
        else:
            result += "!"
        return result


    @functools.lru_cache
    def decorated(value):
        """With a docstring."""
        if value:
            return 1
        if value is None:  # pragma: no cover
            return 2
        while True:
            if value == 0:
                break


    class Shape:
        side = 3

        def area(self):
            return (self.side
                    * self.side)

        def never(self):
            def inner():
                return 1
            return inner()

        def area_of(self, other):
            if other:
                pass


    class Empty: pass


    def same():
        return 1


    def same():
        try:
            value = [n for n in range(3)
                     if n]
        finally:
            value = None
        return value


    def unused(a,
               b):
        if a:
            return a
        return [
            a,
            b,
        ]


    if __name__ == "elsewhere":
        unused(1, 2)

    plain(2)
    decorated(0)
    Shape().area()
    Shape().area_of(1)
    same()
    '''
)
HOSTILE = 'def f():  # </script><b>&amp;"\n    return "\\x1b[31m\u202e"\n\n\nif f() == "<i>":\n    f()\n'


def covered(folder, *, branch, contexts=(), programs=None):
    """Runs programs in `folder` under coverage.py; gives its Coverage, with its data saved as `.coverage`.

    contexts: the program runs once in each of them; otherwise once, in none.
    """
    folder = Path(folder).resolve()
    programs = programs if programs is not None else {"app.py": PROGRAM, "lib/part.py": "def f(x):\n    return x\n"}
    session = coverage.Coverage(
        data_file=str(folder / ".coverage"), branch=branch, config_file=False, include=[str(folder / "*")]
    )
    for name, text in programs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with session.collect():
        for context in contexts or [None]:
            if context is not None:
                session.switch_context(context)
            for name, text in programs.items():
                exec(compile(text, str(folder / name), "exec"), {"__name__": "covered"})
    session.save()
    session.get_data().close()
    return session


def output(function, **options):
    """What one of coverage.py's reports writes."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        function(outfile="-", **options)
    return out.getvalue()


def by_hand(*files, counts=True, branch=True):
    """A recording of files: (path, {line: hits}, [arcs], {context: lines})."""
    b = Builder()
    b.process(pid=7, end_ns=1_790_000_000_000_000_000)
    for path, lines, arcs, contexts in files:
        function = b.function("", "<module>", str(path), 1)
        b.source(str(path), str(path))
        rows = {line: b.line(function, line, hits, flags=0 if counts else 1) for line, hits in lines.items()}
        for begin, end in arcs:
            b.arc(function, begin, end, flags=1)
        for name, ran in contexts.items():
            b.context(name, [rows[line] for line in ran])
    return b.build({"recorder": "coverage", "branch": branch, "counts": counts})


class Steps:
    """What coverage.py says of steps between lines."""

    def __init__(self, parser):
        self._parser = parser

    def does(self, arc):
        return self._parser.arc_description(*arc)

    def missing(self, arc):
        return self._parser.missing_arc_description(*arc)


def file_by_coverage(reporter, analysis, ran, counts):
    taken, missing = analysis.executed_branch_arcs(), analysis.missing_branch_arcs()
    return FileCoverage(
        path=reporter.relative_filename(),
        absolute=reporter.filename,
        statements=sorted(analysis.statements),
        executed=sorted(analysis.executed),
        missing=sorted(analysis.missing),
        excluded=sorted(analysis.excluded),
        source_lines=reporter.source().splitlines(),
        has_branches=analysis.has_arcs,
        branches={
            line: (tuple(taken.get(line, ())), tuple(missing.get(line, ()))) for line in sorted({*taken, *missing})
        },
        hits=ran.lines if counts else None,
        regions=[
            Region(part.kind, part.name, part.start, frozenset(part.lines)) for part in reporter.code_regions()
        ],
        line_contexts=ran.contexts(),
        arc_contexts=ran.arc_contexts,
        steps=Steps(reporter.parser),
        exits={line: exits for line, exits in analysis.exit_counts.items() if exits > 1},
    )


def joined_by_coverage(session, recording):
    """Lets the formats know what coverage.py finds in a recording's sources, as if seismo.coverage had found it."""
    ran = {one.path: one for one in formats.covered.files_of(recording)}
    counts = recording.meta["counts"]
    files = [
        file_by_coverage(reporter, analysis, ran[reporter.filename], counts)
        for reporter, analysis in get_analysis_to_report(session, None)
    ]
    report = CoverageReport(sorted(files, key=lambda one: one.path), [], recording.meta["branch"])
    formats.covered._reports[recording] = (Settings(), report)
    return report
