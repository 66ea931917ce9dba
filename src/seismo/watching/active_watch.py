"""The core of a watch: the selected events, the actions, the output and the results.

The native core decides which events match, and calls `_report` for them inside the program. Tracing is suppressed
meanwhile, so this code is not watched. No error here may reach the program, except for KeyboardInterrupt. An action
that raises is reported once and ends the watch.
"""

from __future__ import annotations

import os
from time import monotonic, time_ns

from seismo import _core
from seismo.errors import SeismoError, UsageError
from seismo.expression import KINDS, parse
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process.engine import HIDE, native_filter, one_of
from seismo.watching import actions as _actions
from seismo.watching import match as _match
from seismo.watching.describe_match import SHOWN, Describer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import FrameType
    from typing import Any

    from seismo.model import Recording
    from seismo.watching.match_printer import Printer
    from seismo.watching.watch_recording import File

KEPT = 1000  # the most matches that are kept in `matches`
HIDDEN = (HIDE, "<frozen importlib", "<frozen runpy")  # prefixes of file names, as in native/hub/watch.c

THREADS = ("all", "current")
_C_KINDS = {"c_call", "c_return", "c_raise"}


class EventSelection:
    """The choice of the events that a watch reports.

    limit: number of matches after which the watch stops
    threads: one of THREADS
    script: path of the program's main file, or "" if it has none
    kinds: the kinds of events to look at
    machinery: True if the functions that import and start modules may match, too
    """

    def __init__(self, expression: str, *, limit: int | None = None, threads: str = "all", script: str = "") -> None:
        """Parse the expression. Raise UsageError if it is invalid or cannot be watched, or if the limit is bad."""
        self.expression = parse(expression).with_script(script)
        self.kinds = self.expression.kinds if self.expression.named else frozenset(["call"])
        if not self.kinds - _C_KINDS and self.expression.needs & {"duration", "own"}:
            hint = "ask for the Python function around it: call and duration > ..."
            raise UsageError("the time that a C function takes is not watched", expression, hint)
        if limit is not None and not (type(limit) is int and limit > 0):
            raise UsageError(f"limit cannot be {limit!r}", hint="give a whole number above 0")
        self.limit, self.script = limit, script
        self.this_thread = one_of("threads", threads, THREADS) == "current"
        self.machinery = "importlib" in expression or "runpy" in expression

    def evaluate(self, term: int, frame: FrameType) -> bool | None:
        """Evaluate a term of the expression that the native core cannot decide, for the event in this frame."""
        variables = _core.frame_locals(frame)
        return self.expression.evaluate_term(term, {"arg": variables, "value": variables})


class ActiveWatch:
    """The part of seismo.sessions.watch.Watch that is independent of its session.

    count: number of matches so far
    matches: the first KEPT of them, as Match objects, unless the actions only count
    functions: the counts of each function that ran
    failed: the reason for which the watch ended early, or ""
    """

    def __init__(
        self,
        selection: EventSelection,
        actions: tuple[set[str], list[Callable[[_match.Match], object]]],
        details: Collection[str],
        printer: Printer,
        record: str | os.PathLike[str] | None = None,
    ) -> None:
        """Prepare a watch. Matches are printed if details are requested, or if there is no action and no record.

        actions: as actions.chosen() returns them. details: names of describe_match.DETAILS.
        """
        super().__init__()
        self.selection, self.expression = selection, selection.expression
        names, self._calls = actions
        self._names = names
        self._prints = (
            "print" in names
            or bool(not self._calls and "keep" not in names and any(part in details for part in SHOWN))
            or not (names or self._calls or record is not None)
        )
        self._only_counts = not self._prints and not self._calls and not names & {"pdb", "keep"}
        self._describe = Describer(details, (HIDE,) if selection.machinery else HIDDEN)
        self._printer = printer
        self._native: _core.Watch | None = None
        # Other interpreters in earlier uses, and the count of ended ones when this use began.
        self._others, self._interpreters = 0, 0
        self._before: tuple[int, int, dict[tuple[str, str, str, int], _actions.Row]] = (0, 0, {})
        self._debug: Callable[[_match.Match], None] | None = None
        self.span = (0, 0)  # start of the first use and end of the last one, as Unix time in ns
        self.file: File | None = None
        self.matches: list[_match.Match] = []
        self.failed = self.unwritten = ""
        if record is not None:
            self.file = _file(record)

    # ---- start and stop ----

    def _begin(self) -> None:
        """Start reporting matches. Raise SeismoError if this program cannot be watched."""
        self._printer.open()
        if "pdb" in self._names:
            self._debug = _actions.debugger(self.stop)
        selection = self.selection
        changes = "vars" in self._describe.details  # variables are compared at each line of a call
        native = _core.Watch(
            native_filter(self.expression.program),
            sum(1 << KINDS.index(kind) for kind in selection.kinds),
            None if self._only_counts else self._report,
            selection.evaluate if self.expression.needs_python else None,
            ends=changes or "returns" in self._describe.details,
            lines=changes,
            tracks=self._prints or changes,
            all=changes,
            times="histogram" in self._names or self.file is not None,
            hide=HIDE,
            this_thread=selection.this_thread,
            machinery=selection.machinery,
            **({} if selection.limit is None else {"limit": selection.limit}),
        )
        self._describe.began = monotonic()
        self.span = (self.span[0] or time_ns(), 0)
        if self.file is not None:
            self.file.begin(self)
        try:
            native.start()
        except RuntimeError as reason:
            if self.file is not None:
                self.file.close()
            raise SeismoError("this program cannot be watched", str(reason), "see: seismo doctor") from None
        self._native = native
        self._interpreters = _core.interpreters()[0]

    def _end(self) -> None:
        """Stop reporting matches, and keep the counts."""
        self.stop()
        self._others = self.interpreters
        native, self._native = self._native, None
        if native is not None:
            self._before = (self._before[0] + native.matched, self._before[1] + native.lost, self._merged(native))
        self._describe.forget()
        self.span = (self.span[0], time_ns())
        if self.file is not None:
            self.unwritten = self.file.end(self)
        self._printer.close()

    def _gone(self) -> None:
        """Drop the native watch in a forked child, because its counts belong to the parent."""
        self.stop()
        self._native = None

    def stop(self) -> None:
        """Stop matching. Any thread and any action may call this, also repeatedly."""
        if self._native is not None:
            self._native.stop()

    # ---- results ----

    @property
    def count(self) -> int:
        """Return the number of events or calls that matched so far."""
        return self._before[0] + (self._native.matched if self._native is not None else 0)

    @property
    def lost(self) -> int:
        """Return the number of matches that were lost because memory or stack ran out or the expression failed."""
        return self._before[1] + (self._native.lost if self._native is not None else 0)

    @property
    def masked(self) -> int:
        """Return the number of values that were masked because their names look secret."""
        return self._describe.masked

    @property
    def interpreters(self) -> int:
        """Return the number of other interpreters that ran, which are not watched."""
        return self._others + (_core.interpreters()[1] - self._interpreters if self._native is not None else 0)

    @property
    def functions(self) -> list[_actions.Row]:
        """Return the counts of each function that ran, with durations if a histogram was requested."""
        return list((self._before[2] if self._native is None else self._merged(self._native)).values())

    def _merged(self, native: _core.Watch) -> dict[tuple[str, str, str, int], _actions.Row]:
        rows = dict(self._before[2])
        for fields in native.functions():
            row = _actions.Row(fields)
            key = (row.module, row.qualname, row.file, row.line)
            if key in rows:
                row.add(rows[key])
            rows[key] = row
        return rows

    @property
    def recording(self) -> Recording:
        """Return the counts and times so far as a recording. Raise UsageError if the watch has no `record`."""
        if self.file is None:
            raise UsageError("this watch keeps no recording", hint="make it with record=PATH")
        from seismo.model import read
        from seismo.watching.watch_recording import image

        return read(image(self))

    def report(self) -> list[str]:
        """Return the tables of the count and histogram actions, as lines."""
        lines = _actions.counts(self.functions) if "count" in self._names else []
        if "histogram" in self._names:
            rows = self.functions
            lines += _actions.histograms(rows, self._printer.text.ascii_only) or [self._no_histogram(rows)]
        return lines

    def _no_histogram(self, rows: list[_actions.Row]) -> str:
        if "call" not in self.selection.kinds:
            return "histogram: empty, because only calls have a duration, and the expression matches no calls"
        if not any(row.matches for row in rows):
            return "histogram: empty, because nothing matched"
        return "histogram: empty, because no matched call has ended"

    # ---- inside the program ----

    def _report(self, *event: Any) -> None:
        match = None
        try:
            match = self._describe.match(*event)
            self._act(match)
        except KeyboardInterrupt:
            raise
        except RecursionError:  # the program's stack is exhausted, so the action is not at fault
            self._before = (self._before[0], self._before[1] + 1, self._before[2])
        except BaseException as error:  # noqa: BLE001  an action's failure must not reach the program
            self._fail(error)
        finally:
            if match is not None:
                match.frame = match.arg = None

    def _act(self, match: _match.Match) -> None:
        if self._prints and (match.moment != "line" or match.variables is not None):
            self._printer.write(match)
        if match.moment in ("event", "whole"):
            if len(self.matches) < KEPT:
                self.matches.append(match)
            for call in self._calls:
                call(match)
            if self._debug is not None:
                self._debug(match)

    def _fail(self, error: BaseException) -> None:
        self.stop()
        self.failed = self._describe.shower.show(error)
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        text = self._printer.text
        where = "" if place is None else f" ({text.place(place.tb_frame.f_code.co_filename, place.tb_lineno)})"
        if not isinstance(error, BrokenPipeError):
            self._printer.complain(f"seismo: the watch ends because its action failed: {self.failed}{where}")


def _file(record: object) -> File:
    from seismo.watching.watch_recording import File

    if not isinstance(record, (str, os.PathLike)):
        raise UsageError(f"record cannot be a {type(record).__name__}", hint="it is the path of a file")
    path = os.fspath(record)
    if not isinstance(path, str) or not path:
        raise UsageError(f"record cannot be {path!a}", hint="it is the path of a file")
    return File(os.path.abspath(path), "--record")
