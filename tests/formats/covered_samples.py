"""A program that was covered, as coverage.py sees it and as seismo does, for the tests of the formats of coverage."""

import contextlib
import io
import textwrap
from pathlib import Path

import coverage

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


def covered(folder, *, branch, contexts=(), programs=None):
    """Runs programs in `folder` under coverage.py; gives its Coverage, with its data saved as `.coverage`.

    contexts: the program runs once in each of them; otherwise once, in none.
    """
    folder = Path(folder).resolve()
    programs = programs if programs is not None else {"app.py": PROGRAM, "lib/part.py": "def f(x):\n    return x\n"}
    session = coverage.Coverage(
        data_file=str(folder / ".coverage"), branch=branch, config_file=False, include=[str(folder / "*")]
    )
    if contexts:
        session.set_option("run:core", "ctrace")  # the core on sys.monitoring, the default from 3.14 on, knows none
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
