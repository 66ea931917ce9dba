"""Recording of births and deaths of objects from inside: `with seismo.objects() as r`, `@seismo.objects`.

The base class is in seismo.sessions.recording_session. A session must not record its own objects, so its first and last
steps disable recording on this thread. An empty block therefore counts no birth, and the counts of other blocks are
exact. All threads are counted.
"""

from __future__ import annotations

import os

from seismo import _core, recording_kinds
from seismo.errors import UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine
from seismo.process.objects import recorder as life
from seismo.sessions.decorator import also_decorates
from seismo.sessions.recording_session import Reported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Self, Unpack

    from seismo.model import Recording
    from seismo.options import ObjectOptions
    from seismo.process.objects.survivors import SurvivorRow, Survivors, Tree

    # A type, its name ("dict", "app.Order", "Order"), a glob of names, or several of them.
    Types = type | str | Iterable[type | str]

_WORST = 8  # rows in the message of a failed budget


class Objects(Reported):
    """A session that records births and deaths. The counts of repeated uses are added.

    `born` counts the objects created in the session, `alive` those that lived at its end or live now, and `died` the
    others. The numbers are exact and cover all threads; in a running session they are current. With objects="types",
    deaths cannot be matched with births, so `alive` is the number of births minus all deaths.
    """

    name = "objects"
    recorder = recording_kinds.OBJECTS

    def __init__(self, output: str | os.PathLike[str] | None, settings: dict[str, object], collect: bool) -> None:
        super().__init__(output, settings)
        self._collect = collect
        self._first = self._last = 0  # numbers of births in the process when the session began and ended
        self._more = 0  # births minus deaths in the process when the session began
        self._marks: dict[str, int] = {}
        self._born = self._alive = 0  # sums over the finished uses
        # For intervals of the last use, the living objects by site.
        self._at_end: dict[tuple[int, int], dict[int, int]] = {}
        self._snapshot: Recording | None = None

    # The first and last statements of these two methods run recorded, so they must create no objects.

    def __enter__(self) -> Self:
        _core.objects_quiet(True)
        try:
            super().__enter__()
        finally:
            _core.objects_quiet(False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        _core.objects_quiet(True)
        try:
            if int(self._inside) == 1:
                self._last = _core.status()["births"]
                if self._collect:
                    life.collect()
            super().__exit__(kind, error, tb)
        finally:
            _core.objects_quiet(False)

    def _begin(self) -> None:
        life.check_possible()
        super()._begin()
        self._count_from_here()

    def _count_from_here(self) -> None:
        self._first, self._more = _core.status()["births"], _more()
        self._marks, self._at_end, self._snapshot = {}, {}, None

    def _end(self) -> None:
        first, last = self._first, self._last
        points = sorted({first, *self._marks.values()})
        if self._lines:
            for begin in points:
                self._at_end[begin, last] = _core.objects_alive(begin, last)
        self._born += last - first
        self._alive += self._living(first, last)
        super()._end()

    def _forked(self) -> None:
        super()._forked()
        self._count_from_here()
        self._born = self._alive = 0

    @property
    def _lines(self) -> bool:
        return engine.users.settings.get("objects") != "types"

    def _living(self, first: int, last: int) -> int:
        """Return the number of living objects among those born in the interval."""
        known = self._at_end.get((first, last))
        if known is None:
            if not self._lines:
                return max(0, _more() - self._more)
            known = _core.objects_alive(first, last)
        return sum(known.values())

    @property
    def born(self) -> int:
        """The objects created while it was recording."""
        return self._counts()[0]

    @property
    def alive(self) -> int:
        """The living objects among those born."""
        return self._counts()[1]

    @property
    def died(self) -> int:
        """The objects among those born that no longer live."""
        born, alive = self._counts()
        return born - alive

    def _counts(self) -> tuple[int, int]:
        _core.objects_quiet(True)
        try:
            born, alive = self._born, self._alive
            if self._inside:
                last = _core.status()["births"]
                born += last - self._first
                alive += self._living(self._first, last)
            return born, alive
        finally:
            _core.objects_quiet(False)

    @property
    def recording(self) -> Recording:
        """The recording; for a running session, its current state. Raise RecordingError if it never began."""
        _core.objects_quiet(True)
        try:
            return super().recording
        finally:
            _core.objects_quiet(False)

    # ---- survivors ----

    def mark(self, name: str) -> int:
        """Name this moment for since(), and store it in the recording. Return the births in the session so far."""
        _core.objects_quiet(True)
        try:
            if not self._inside:
                raise UsageError(f"cannot mark {name!r}: the session does not run", hint="mark inside the `with`")
            self._marks[name] = _core.objects_mark(name)
            return self._marks[name] - self._first
        finally:
            _core.objects_quiet(False)

    def since(self, name: str | None = None, until: str | None = None) -> Survivors:
        """Return the living objects born between two marks, by default from the beginning until now.

        After the session's end, return the objects that were alive then. Raise UsageError for an unknown mark, or with
        objects="types", which does not track living objects.
        """
        return engine.unrecorded(self._since, name, until)

    def _since(self, name: str | None, until: str | None) -> Survivors:
        from seismo.process.objects import survivors

        first = self._first if name is None else self._mark(name)
        if self._inside:
            last = _core.status()["births"]
        elif self._born or self._at_end:
            last = self._last
        else:
            raise UsageError("nothing is recorded yet", hint="use it first: with seismo.objects() as r: ...")
        if self._settings.get("objects") == "types":
            raise UsageError("only types are counted here", hint="leave out objects='types' to track survivors")
        end = last if until is None else self._mark(until)
        if self._inside:
            alive = _core.objects_alive(first, end)
        else:
            alive = dict(self._at_end[first, last])
            if until is not None:
                for site, count in self._at_end[end, last].items():
                    alive[site] = alive.get(site, 0) - count

        def ask(rows: list[SurvivorRow]) -> list[Tree]:
            if not self._inside:
                raise UsageError("the session has ended", hint="ask who holds survivors inside the `with`")
            return survivors.ask(rows, first, end)

        return survivors.survivors(alive, self._now(), ask)

    def _mark(self, name: str) -> int:
        try:
            return self._marks[name]
        except KeyError:
            known = ", ".join(map(repr, self._marks)) or "none"
            raise UsageError(f"there is no mark {name!r}", hint=f"those of this session: {known}") from None

    def _now(self) -> Recording:
        """Return everything that the engine has recorded now, or at the end of this session if it has ended."""
        from seismo.model import read

        if self._inside:
            return read(_core.snapshot())
        if self._snapshot is None:
            self._snapshot = read(self._after)
        return self._snapshot

    # ---- budgets ----

    def assert_objects(
        self, max_born: int | None = None, max_alive: int | None = None, of: Types | None = None
    ) -> None:
        """Raise AssertionError if more objects than allowed were born or are alive; the message lists the largest.

        `of` restricts counting to a type: a class, a name ("dict", "app.Order", "Order"), a glob, or several of them.
        Subclasses do not count. For a session that has ended, living objects are those at its end; with
        seismo.objects(collect=True) the cycle collector ran before.
        """
        message = engine.unrecorded(self._over_budget, max_born, max_alive, of)
        if message:
            raise AssertionError(message)

    def _over_budget(self, max_born: int | None, max_alive: int | None, of: Types | None) -> str:
        wanted = None if of is None else _chooser(of)
        exceeded = []
        if max_born is not None and (wanted is not None or self.born > max_born):
            born = self.born if wanted is None else None
            exceeded += _too_many(self._born_rows(wanted), born, max_born, "was born", "were born")
        if max_alive is not None and (wanted is not None or self.alive > max_alive):
            rows = [
                (row.count, row.type, row.place) for row in self._since(None, None) if not wanted or wanted(row.type)
            ]
            exceeded += _too_many(rows, self.alive if wanted is None else None, max_alive, "is alive", "are alive")
            if exceeded and not self._collect:
                exceeded.append(
                    "(cycles that are garbage count as alive: seismo.objects(collect=True) has them collected)"
                )
        return "\n".join(exceeded)

    def _born_rows(self, wanted: Callable[[str], bool] | None) -> list[tuple[int, str, str]]:
        from seismo.model.objects.groups import by_type, by_type_and_line

        groups = by_type_and_line(self._recording()) or by_type(self._recording())
        return [
            (
                group.born,
                group.type,
                f"{os.path.basename(group.file)}:{group.line} in {group.qualname}" if group.file else "",
            )
            for group in groups
            if wanted is None or wanted(group.type)
        ]


def _more() -> int:
    """Return the number of births minus the number of deaths."""
    status = _core.status()
    return int(status["births"] - status["deaths"])


def _chooser(of: Types) -> Callable[[str], bool]:
    from fnmatch import fnmatchcase

    from seismo.process.objects.reference_labels import type_name

    several = [of] if isinstance(of, (str, type)) else list(of)
    exact = {type_name(one) for one in several if isinstance(one, type)}
    globs = [one for one in several if isinstance(one, str)]
    if not all(isinstance(one, (str, type)) for one in several):
        raise UsageError(
            "of= takes types and names of types", hint="such as of=dict, of='app.Order', of=['list', dict]"
        )

    def wanted(name: str) -> bool:
        return name in exact or any(
            fnmatchcase(name, glob) or fnmatchcase(name.rpartition(".")[2], glob) for glob in globs
        )

    return wanted


def _too_many(rows: list[tuple[int, str, str]], count: int | None, limit: int, one: str, many: str) -> list[str]:
    """Return the lines of a message, or none if the limit holds. `count` is the total, by default that of the rows."""
    rows = sorted((row for row in rows if row[0]), key=lambda row: (-row[0], row[1:]))
    found = sum(row[0] for row in rows) if count is None else count
    if found <= limit:
        return []
    lines = [f"{f'1 object {one}' if found == 1 else f'{found:,} objects {many}'}, and {limit:,} may be:"]
    lines += [f"  {born:,} × {kind}" + (f"  {place}" if place else "") for born, kind, place in rows[:_WORST]]
    if len(rows) > _WORST:
        lines.append(f"  {sum(row[0] for row in rows[_WORST:]):,} others")
    return lines


# ---- the public name ----


@also_decorates
def objects(
    *, collect: bool = False, output: str | os.PathLike[str] | None = None, **options: Unpack[ObjectOptions]
) -> Objects:
    """Record the objects that are born and die in a `with` block, or in a function whenever it runs.

        with seismo.objects() as r: ...     r.born, r.died, r.alive, r.since("mark"), r.recording.objects
        @seismo.objects                     function.objects.assert_objects(max_born=100)

    - objects: "lines" (default: by type and creating line) or "types" (by type only: cheaper, without survivors).
    - paths: also record the call tree, and each line's objects by call path.
    - max_live: the number of living objects (default 16 million) above which only a sample is tracked.
    - span: an expression about functions (docs/expressions.md) or a function's name; births in their calls are
      separated.
    - collect: run the cycle collector at the end, so that garbage cycles do not count as alive.
    - output: a file that is written at the end and periodically before.

    This needs CPython 3.13.3 or newer. Raise UsageError at the start for invalid values, for settings that differ from
    those of a running recording, and beside a recording of calls or lines. Raise RecordingError if this interpreter
    cannot be recorded.
    """
    return Objects(output, engine.given("objects", options), collect)
