"""A replacement for cProfile with the same interface and output: correct with threads, and cheaper.

    import seismo.cprofile as cProfile

    with cProfile.Profile() as profile:
        work()
    profile.print_stats("cumulative")

    python -m seismo.cprofile -s cumulative app.py

docs/cprofile.md lists the differences in counting from cProfile, with the reasons.
"""

from __future__ import annotations

from seismo._core import Profiler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from types import CodeType
    from typing import Any, ParamSpec, Self, TypeAlias, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")
    Label: TypeAlias = tuple[str, int, str]
    Sort: TypeAlias = str | int | tuple[str | int, ...]
    Callers: TypeAlias = dict[Label, tuple[int, int, float, float]]
    Stats: TypeAlias = dict[Label, tuple[int, int, float, float, Callers]]

__all__ = ["Profile", "run", "runctx"]


class Profile(Profiler):
    """A profiler that counts the calls of each function and sums their times, for each of its callers.

    timer: a function that returns the time in seconds, or, with a timeunit, as an integer in units of that many
    seconds; by default the processor's counter or the monotonic clock
    subcalls: True to keep the numbers for each caller, too
    builtins: True to count C functions, too
    threads: "all", or "current" for the thread that enables the profile
    """

    stats: Stats  # statistics in the format of pstats, set by create_stats() and snapshot_stats()

    def print_stats(self, sort: Sort = -1) -> None:
        """Stop, and print a table to stdout, sorted by one key of pstats or by several in a tuple."""
        import pstats

        keys: tuple[Any, ...] = sort if isinstance(sort, tuple) else (sort,)
        stats = pstats.Stats(self)  # type: ignore[arg-type]  # pstats accepts any object with create_stats()
        stats.strip_dirs().sort_stats(*keys).print_stats()

    def dump_stats(self, file: str | bytes | PathLike[str] | PathLike[bytes] | int) -> None:
        """Stop, and write a file that pstats reads. Raise OSError if it cannot be written."""
        import marshal

        with open(file, "wb") as output:
            self.create_stats()
            marshal.dump(self.stats, output)

    def create_stats(self) -> None:
        """Stop, and set `stats`."""
        self.disable()
        self.snapshot_stats()

    def snapshot_stats(self) -> None:
        """Set `stats` to the counts so far, without stopping.

        Functions with the same file, line and name (lambdas in one line, a module that is executed again) are added up.
        cProfile keeps only one of them.
        """
        stats: dict[Label, tuple[int, int, float, float, Callers]] = {}
        entries = self.getstats()
        for entry in entries:
            name = label(entry.code)
            calls = entry.callcount
            before = stats.get(name, (0, 0, 0.0, 0.0, {}))
            stats[name] = (
                before[0] + calls - entry.reccallcount,
                before[1] + calls,
                before[2] + entry.inlinetime,
                before[3] + entry.totaltime,
                before[4],
            )
        for entry in entries:
            caller = label(entry.code)
            for sub in entry.calls or ():
                callee = stats.get(label(sub.code))
                if callee is None:
                    continue
                callers = callee[4]
                known = callers.get(caller, (0, 0, 0.0, 0.0))
                callers[caller] = (
                    known[0] + sub.callcount,
                    known[1] + sub.callcount - sub.reccallcount,
                    known[2] + sub.inlinetime,
                    known[3] + sub.totaltime,
                )
        self.stats = stats

    def run(self, cmd: str) -> Self:
        """Run a statement in __main__ under this profile."""
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self, cmd: str | CodeType, globals: dict[str, Any], locals: dict[str, Any] | None) -> Self:  # noqa: A002
        """Run a statement or code in these namespaces under this profile."""
        self.enable()
        try:
            exec(cmd, globals, locals)  # noqa: S102  the purpose of this method
        finally:
            self.disable()
        return self

    def runcall(self, func: Callable[P, R], /, *args: P.args, **kw: P.kwargs) -> R:
        """Call a function under this profile and return its result."""
        self.enable()
        try:
            return func(*args, **kw)
        finally:
            self.disable()

    def __enter__(self) -> Self:
        self.enable()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.disable()


def label(code: str | CodeType) -> Label:
    """Return the key of a function in pstats: file, line and name, or ("~", 0, description) for a C function."""
    if isinstance(code, str):
        return ("~", 0, code)
    return (code.co_filename, code.co_firstlineno, code.co_name)


def run(statement: str, filename: str | None = None, sort: Sort = -1) -> None:
    """Run a statement in __main__, then print a table or write a file. SystemExit ends only the statement."""
    import __main__

    runctx(statement, __main__.__dict__, __main__.__dict__, filename, sort)


def runctx(
    statement: str | CodeType,
    globals: dict[str, Any],  # noqa: A002  cProfile's name
    locals: dict[str, Any] | None,  # noqa: A002
    filename: str | None = None,
    sort: Sort = -1,
) -> None:
    """Run a statement in these namespaces, then print a table or write a file as run() does."""
    profile = Profile()
    try:
        profile.runctx(statement, globals, locals)
    except SystemExit:
        pass
    finally:
        if filename is None:
            profile.print_stats(sort)
        else:
            profile.dump_stats(filename)
