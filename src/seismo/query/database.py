"""A database in memory that gives SQL read access to recordings, and to nothing else.

SQL is not trusted: an agent may have written it, misled by a name in a recording. DuckDB's settings forbid files, the
network, extensions, Python variables and temporary files, limit the memory, and are then locked. Each query is one
statement in a read-only transaction that is rolled back at the end, so it cannot change the database or leave a
temporary table. The list of reading statements only serves to give a clear error.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from seismo.errors import UsageError, did_you_mean, install_command
from seismo.model.recording import FOREVER
from seismo.model.trace.arrow_stream import CallStream
from seismo.query.duckdb_pushdown import register
from seismo.query.sql_tables import TABLES, Source, count, expressions, given, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

MEMORY = "2GB"
BATCH = 2048  # rows per fetch
MOST = 500  # the most characters of a line of an error
LOOK = 0.05  # seconds between two checks for Ctrl-C
READING = {"(", "select", "from", "with", "values", "table", "describe", "desc", "show", "summarize"}
READING |= {"pivot", "pivot_wider", "unpivot", "pivot_longer"}
WORD = re.compile(r"\w+")
NO_TEXT = re.compile("[\0\ud800-\udfff]")
# DuckDB can neither interrupt nor limit its parser. It takes quadratic time and memory for unclosed brackets, and
# exponential time for an error inside nested WITH clauses.
LONGEST = 20_000  # the most characters of a query
BRACKETS, WITHS = 100, 6
# Words by which a query may reach tables that it does not name, so that all tables have to exist.
ALL_TABLES = {"show", "query_table", "query", "information_schema", "sqlite_master", "pragma_show_tables"}


class QueryError(UsageError):
    """SQL is wrong, would write, or exceeds a limit. `where` shows the place, with a mark under it."""

    def lines(self) -> list[str]:
        """Return the parts as the base class does, with the line of SQL and its mark on separate lines."""
        return [line for part in super().lines() for line in part.split("\n")]


class Result:
    """The result of a query. columns: their names, which are distinct; types: their SQL types."""

    def __init__(self, database: Database, cursor: Any) -> None:
        self._database = database
        self._cursor = cursor
        database.latest = self
        description = cursor.description or []
        self.columns = _unlike([str(column[0]) for column in description])
        self.types = [str(column[1]) for column in description]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows, fetched on demand. Raise QueryError for errors that only occur during the reading."""
        while True:
            if self._database.latest is not self:
                raise QueryError("another query has begun before all rows of this one were read")
            rows = self._database.work(functools.partial(self._cursor.fetchmany, BATCH))
            if not rows:
                return
            yield from rows


class Database:
    """A set of recordings as tables (seismo.query.sql_tables.TABLES) that SQL can query until it is closed."""

    def __init__(
        self,
        recordings: Iterable[Source | tuple[str, Any]],
        *,
        memory: str = MEMORY,
        seconds: float | None = None,
        output: str | None = None,
        views: Mapping[str, str] | None = None,
        folder: str = "",
        filesystem: Any = None,
    ) -> None:
        """Open the recordings.

        recordings: sources, or pairs of a name and a recording
        views: other tables instead, each by the SQL that reads its files in `folder`
        filesystem: of fsspec, if `folder` is a URL
        memory: the most memory that a query may use, as DuckDB parses it ("2GB")
        seconds: the most time that a query may take, or None for no limit
        output: a file that `write_parquet` may write

        Raise UsageError if DuckDB is not installed or rejects the amount of memory.
        """
        self.sources = [one if isinstance(one, Source) else Source(*one) for one in recordings]
        self._seconds = seconds
        self._duckdb = _duckdb()
        self._worker = ThreadPoolExecutor(1, "seismo query")
        self._views = dict(views or {})
        self._tables: set[str] = set()
        self.latest: Result | None = None  # the result whose rows can be read
        self._streams: list[tuple[str, Any]] = []
        config = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "python_enable_replacements": False,
            "temp_directory": "",
            "memory_limit": memory,
        }
        try:
            self._connection = self._duckdb.connect(":memory:", config=config)
            if output is not None:
                self._connection.execute(f"set allowed_paths = [{quoted(output)}]")
            if filesystem is not None:
                self._connection.register_filesystem(filesystem)
            if folder:
                self._connection.execute(f"set allowed_directories = [{quoted(folder)}]")
            self._connection.execute("set enable_external_access = false")
            self._connection.execute("set lock_configuration = true")
        except self._duckdb.Error as error:
            why = str(error).strip().partition("\n")[0]
            raise UsageError(f"DuckDB does not start: {why}", f"memory {memory}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database, so that results can no longer be read."""
        self._worker.shutdown()
        self._connection.close()
        self._streams.clear()

    @property
    def problems(self) -> list[tuple[str, str]]:
        """Return what was missing while calls were read, as pairs of a recording's name and a sentence."""
        return [(name, problem) for name, stream in self._streams for problem in getattr(stream, "problems", ())]

    def run(self, sql: str) -> Result:
        """Run one query. Raise QueryError if it is wrong, would write, or exceeds a limit."""
        return Result(self, self._execute(self._checked(sql)))

    def write_parquet(self, sql: str, path: str) -> None:
        """Write the result of a query to the file that `output` named. Raise QueryError as run() does."""
        self._execute(f"copy ({self._checked(sql)}\n) to {quoted(path)} (format parquet)")

    def _checked(self, sql: str) -> str:
        """Return the query in the text, without the semicolon. Raise QueryError unless it is one reading statement."""
        self.latest = None
        self._connection.abort()  # ends the previous query
        with suppress(self._duckdb.Error):  # there was no transaction, or it has ended
            self._connection.rollback()
        starts, words = self._tokens(sql)
        statements = self.work(functools.partial(self._connection.extract_statements, sql))
        if len(statements) != 1:
            what = f"{len(statements)} statements are given" if statements else "no SQL is given"
            raise QueryError(what, hint="give one query, such as: select * from functions")
        at = 0
        if words[0] == "explain":
            options = words[1:3] in (["(", "analyze"], ["(", "format"])
            at = words.index(")") + 1 if options else 2 if words[1] == "analyze" else 1
        if words[at] not in READING:
            raise QueryError(
                f"only queries can be run, and this statement begins with {words[at].upper()}",
                hint="recordings are read, never changed; write SELECT, FROM, WITH, DESCRIBE or SUMMARIZE",
            )
        self._provide(sql)
        return self._with_windows(sql.encode(), starts, words)

    def _tokens(self, sql: str) -> tuple[list[int], list[str]]:
        """Return the byte offset of each token that is not a comment, and its text in lower case."""
        if len(sql) > LONGEST:
            hint = "compare with a table or a condition instead of a long list"
            raise QueryError(f"the query has {len(sql):,} characters; the limit is {LONGEST:,}", hint=hint)
        if wrong := NO_TEXT.search(sql):
            raise QueryError(f"the SQL contains {wrong[0]!a}, which is not a valid character")
        data = sql.encode()
        places = [*self._duckdb.tokenize(sql), (len(data), None)]
        comment = self._duckdb.token_type.comment
        tokens = [(at, end) for (at, kind), (end, _) in itertools.pairwise(places) if kind != comment]
        words = [data[at:end].decode().strip().casefold() for at, end in tokens]
        steps = [(word in ("(", "[", "{")) - (word in (")", "]", "}")) for word in words]
        if words.count("with") > WITHS or max(itertools.accumulate(steps), default=0) > BRACKETS:
            hint = f"the limits are {WITHS} WITH clauses and {BRACKETS} nested brackets"
            raise QueryError("the query is nested too deeply", hint=hint)
        return [at for at, _ in tokens], words

    def _execute(self, sql: str) -> Any:
        self._connection.execute("begin transaction read only")
        return self.work(functools.partial(self._connection.execute, sql))

    def work(self, what: Callable[[], Any]) -> Any:
        """Return what(), run by the worker thread, which Ctrl-C can stop. Raise QueryError if that fails or lasts."""
        until = math.inf if self._seconds is None else time.monotonic() + self._seconds
        doing = self._worker.submit(what)
        try:
            # The wait is in short steps, because a library that installs a signal handler below Python's (polars does)
            # may let a longer wait continue after Ctrl-C.
            while not doing.done() and time.monotonic() < until:
                wait([doing], min(LOOK, max(0.0, until - time.monotonic())))
            if not doing.done():
                self._stop(doing)
                raise QueryError(
                    f"the query took longer than {self._seconds:g} s, and was stopped", hint="ask for less"
                )
            return doing.result()
        except self._duckdb.OutOfMemoryException:
            raise QueryError(
                "the query needs more memory than it may use", hint="ask for less, or allow more: --memory 8GB"
            ) from None
        except self._duckdb.Error as error:
            raise _in_words(error, self._views or TABLES) from None
        except KeyboardInterrupt:
            self._stop(doing)
            raise

    def _stop(self, doing: Future[Any]) -> None:
        """Stop the worker's query. It is interrupted repeatedly, as DuckDB ignores interrupts before a query runs."""
        while not doing.done():
            self._connection.interrupt()
            wait([doing], LOOK)

    def _provide(self, sql: str) -> None:
        """Create the missing tables that the text may name. Creating all of them would take longer."""
        words = set(WORD.findall(sql.casefold()))
        everything = words & ALL_TABLES or any(word.startswith("duckdb_") for word in words)
        for name in self._views or TABLES:
            if name not in self._tables and (everything or name in words):
                if self._views:
                    self._connection.execute(f"create view {name} as {self._views[name]}")
                else:
                    self._make(name)
                self._tables.add(name)

    def _with_windows(self, data: bytes, starts: list[int], words: list[str]) -> str:
        """Return the query without its semicolon, with a view in place of each calls_between().

        Views take no arguments, so each pair of times gets its own view.
        """
        data = data[: starts[words.index(";")] if ";" in words else None]
        for at in range(len(words) - 2, -1, -1):
            if words[at : at + 2] == ["calls_between", "("]:
                end = words.index(")", at)
                view = self._between("".join(words[at + 2 : end]))
                data = data[: starts[at]] + view.encode() + data[starts[end] + 1 :]
        return data.decode()

    def _between(self, times: str) -> str:
        """Return the name of the view of calls_between(FROM, TO), which reads only this part of the traces."""
        if self._views:
            raise QueryError("a dataset has no calls in time", hint="query the recording of the trace")
        try:
            start, end = (int(float(word.replace("_", ""))) for word in times.split(","))
        except (ValueError, OverflowError):
            hint = "such as calls_between(5e6, 6e6); other conditions go on start_ns of `calls`"
            raise QueryError("calls_between takes two numbers, of nanoseconds", times[:80], hint) from None
        name = f"calls between {start} and {end}"
        if name not in self._tables:
            self._make("calls", name, (start, end))
            self._tables.add(name)
        return quoted(name, chr(34))

    def _make(self, name: str, view: str = "", window: tuple[int, int] = (0, FOREVER)) -> None:
        """Create the view of a table. window: limits its calls to these ns, within the windows of the sources."""
        view = view or name
        parts = []
        for number, source in enumerate(self.sources):
            of = f"{view} of {number}"
            start, end = max(source.window[0], window[0]), min(source.window[1], window[1])
            table = given(name, Source(source.name, source.recording, start, max(start, end)))
            self._streams.append((source.name, table))
            register(self._connection, of, table, count(name, source))
            made = expressions(name, number, functools.partial(self._before, number))
            columns = ", ".join(f"{value} as {quoted(column, chr(34))}" for column, value in made)
            parts.append(f"select {quoted(source.name)} as recording, {columns} from {quoted(of, chr(34))}")
        self._connection.execute(f"create view {quoted(view, chr(34))} as {' union all '.join(parts)}")
        for _, stream in self._streams:
            if isinstance(stream, CallStream):
                stream.problems = []  # `calls` is a column, too, and only reading the rows counts

    def _before(self, number: int, name: str) -> int:
        return sum(count(name, source) for source in self.sources[:number])


def _in_words(error: BaseException, tables: Iterable[str]) -> QueryError:
    """Return DuckDB's error as a QueryError: the problem, the line of SQL with a mark, and a hint."""
    text, _, place = str(error).partition("\nLINE ")
    what, *more = [line.strip() for line in text.strip().split("\n") if line.strip()] or ["the query fails"]
    what = what.rstrip("!.")
    place = f"line {place.strip(chr(10))}" if place else ""
    table = re.search(r"Table with name (\S+) does not exist", text)
    if table:
        what = f"there is no table {table[1]}"
        more = [f"{did_you_mean(table[1], tables)}--tables shows them: {', '.join(list(tables)[:9])} ..."]
    elif "file system operations are disabled" in text or "disabled through configuration" in text:
        what, more = "a query reads recordings, and neither files nor the network", []
    elif "configuration has been locked" in text:
        what, more = "a query cannot change settings", []
    elif "launched in read-only mode" in text:
        what, more = "a query cannot write: recordings are read, never changed", []
    return QueryError(_plain(what)[:MOST], place[:MOST], " ".join(more)[:MOST])


def _plain(what: str) -> str:
    """Return `Binder Error: Referenced ...` in lower case, as `binder error: referenced ...`."""
    return re.sub(
        r"^([\w ]+) Error: (\w(?![A-Z]))?", lambda found: f"{found[1].lower()} error: {(found[2] or '').lower()}", what
    )


def _unlike(names: list[str]) -> list[str]:
    """Return the names, with a number after repeated ones, because JSON objects and Parquet need distinct names."""
    found: list[str] = []
    for name in names:
        number, shown = 1, name
        while shown in found:
            shown, number = f"{name}_{number}", number + 1
        found.append(shown)
    return found


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise UsageError("queries need DuckDB, which is not installed", hint=install_command("query")) from None
    return duckdb
