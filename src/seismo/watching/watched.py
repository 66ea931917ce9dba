"""What a watch looks for, what it shows of that and where, and what comes of it. When it is on, its session says.

The native core decides what matches and calls `_report` for it, inside the program, with tracing suppressed: what runs
here is not watched. Nothing that fails here may reach the program, Ctrl-C apart: an action that raises is told once,
and the watch is taken out.
"""

from __future__ import annotations

import os
import sys
from time import monotonic, time_ns

from seismo.errors import SeismoError, UsageError
from seismo.escape import COLOURS, wants_colour
from seismo.expression import KINDS, parse
from seismo.originals import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.record.engine import HIDE
from seismo.record.forks import new_lock
from seismo.watching import actions as _actions
from seismo.watching import match as _match
from seismo.watching import shown as text
from seismo.watching.describing import Describer
from seismo.watching.jsonlines import line as json_line
from seismo.watching.values import Shower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType
    from typing import Any

    from seismo import _core
    from seismo.model import Recording
    from seismo.watching.recording import File

    Action = str | Callable[[_match.Match], object]
else:
    from seismo import _core

ACTIONS = ("print", "count", "histogram", "stack", "pdb", "keep")
KEPT = 1000  # matches that `matches` holds
_C_KINDS = {"c_call", "c_return", "c_raise"}
HIDDEN = (HIDE, "<frozen importlib", "<frozen runpy")  # beginnings of files, as in native/hub/watch.c


class Watched:
    """What seismo.sessions.watch.Watch is, but for its being a session.

    count: matches so far. matches: the first of them, as Match objects, unless nothing but counting was asked for.
    functions: what was seen of each function that could match. failed: why the watch was taken out, or "".
    """

    def __init__(
        self,
        expression: str,
        action: Action | Iterable[Action] | None = None,
        *,
        args: bool = False,
        returns: bool = False,
        vars: bool = False,  # noqa: A002  as the option
        stack: bool = False,
        count: bool = False,
        histogram: bool = False,
        pdb: bool = False,
        limit: int | None = None,
        output: object = None,
        json: bool = False,
        record: str | os.PathLike[str] | None = None,
        color: str = "auto",
        repr: bool = False,  # noqa: A002  as the option
        show_secrets: bool = False,
        threads: str = "all",
        script: str = "",
    ) -> None:
        self.script = script  # the path of the program's own, if that is what runs
        self.expression = parse(expression).with_script(script)
        kinds = self.expression.kinds if self.expression.names_kind else frozenset(["call"])
        self.only_calls = kinds == {"call"}
        self._kinds = sum(1 << KINDS.index(kind) for kind in kinds)
        if not kinds - _C_KINDS and self.expression.needs & {"duration", "own"}:
            hint = "ask for the Python function around it: call and duration > ..."
            raise UsageError("the time that a C function takes is not watched", expression, hint)
        self._machinery = "importlib" in expression or "runpy" in expression
        names, self._calls = _chosen(action)
        names |= {name for name, on in (("count", count), ("histogram", histogram), ("pdb", pdb)) if on}
        names |= set() if record is None else {"record"}
        stack = stack or "stack" in names
        shows = args or returns or vars or stack or pdb
        self._print = "print" in names or bool(shows and not self._calls and "keep" not in names)
        self._print = self._print or not (names or self._calls)
        self._only_counts = not self._print and not self._calls and not names & {"pdb", "keep"}
        self._names = names
        if limit is not None and not (type(limit) is int and limit > 0):
            raise UsageError(f"limit cannot be {limit!r}", hint="give a whole number above 0")
        for name, value, allowed in (
            ("color", color, COLOURS),
            ("threads", threads, ("all", "current")),
        ):
            if value not in allowed:
                raise UsageError(f"{name} cannot be {value!r}", hint=f"use one of {', '.join(allowed)}")
        self.limit, self._output, self._json = limit, output, json
        self._color, self._this_thread = color, threads == "current"
        self._shower = Shower(secrets=show_secrets, own_repr=repr)
        self._describe = Describer(
            self._shower,
            args=args,
            returns=returns,
            vars=vars,
            stack=stack,
            hide=(HIDE,) if self._machinery else HIDDEN,
        )
        self._writing = new_lock()
        self._native: _core.Watch | None = None
        self._others, self._interpreters = 0, 0  # other interpreters before; how many had gone when it began
        self._before: tuple[int, int, dict[tuple[str, str, str, int], _actions.Row]] = (0, 0, {})
        self._stream: Any = None
        self._opened = False
        self._writer = text.Writer()
        self._debug: Callable[[_match.Match], None] | None = None
        self.span = (0, 0)  # from when to when it was on, unix ns; of several uses the first and the last
        self.file: File | None = None
        self.matches: list[_match.Match] = []
        self.failed = self.unwritten = ""
        if record is not None:
            self.file = _file(record)

    # ---- on and off ----

    def _turn_on(self) -> None:
        """From now on, what matches is told. Raises SeismoError if this program cannot be watched."""
        self._open()
        if "pdb" in self._names:
            self._debug = _actions.debugger(self.stop)
        follows = self._print or self._describe.vars
        native = _core.Watch(
            _core.Filter(self.expression.program),
            self._kinds,
            None if self._only_counts else self._report,
            self._evaluate if self.expression.needs_python else None,
            ends=self._describe.returns or self._describe.vars,
            lines=self._describe.vars,
            tracks=follows,
            all=self._describe.vars,
            times=bool(self._names & {"histogram", "record"}),
            hide=HIDE,
            this_thread=self._this_thread,
            machinery=self._machinery,
            **({} if self.limit is None else {"limit": self.limit}),
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

    def _turn_off(self) -> None:
        """Nothing is told any more; what was counted stays."""
        self.stop()
        self._others = self.interpreters
        native, self._native = self._native, None
        if native is not None:
            self._before = (self._before[0] + native.matched, self._before[1] + native.lost, self._merged(native))
        self._describe.forget()
        self.span = (self.span[0], time_ns())
        if self.file is not None:
            self.unwritten = self.file.end(self)
        with self._writing:
            if self._opened:
                self._stream.close()
                self._opened, self._stream = False, None

    def _drop(self) -> None:
        """In a forked child: nobody is inside of it here, and what was counted is the parent's to tell."""
        self.stop()
        self._native = None

    def stop(self) -> None:
        """Takes the watch out: from now on nothing matches. Idempotent, from any thread, and from actions."""
        if self._native is not None:
            self._native.stop()

    # ---- what came of it ----

    @property
    def count(self) -> int:
        """How many events or calls matched so far."""
        return self._before[0] + (self._native.matched if self._native is not None else 0)

    @property
    def lost(self) -> int:
        """Matches or answers that were lost: no memory, no stack left, or an expression's own failure."""
        return self._before[1] + (self._native.lost if self._native is not None else 0)

    @property
    def masked(self) -> int:
        """Values that were not shown because their names sound secret."""
        return self._describe.masked

    @property
    def interpreters(self) -> int:
        """How many interpreters ran besides the main one, in which nothing is watched."""
        return self._others + (_core.interpreters()[1] - self._interpreters if self._native is not None else 0)

    @property
    def functions(self) -> list[_actions.Row]:
        """What was counted of each function that ran: matches, and durations if a histogram was asked for."""
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
        """What was counted and timed so far, as a recording. UsageError if the watch was made without `record`."""
        if self.file is None:
            raise UsageError("this watch keeps no recording", hint="make it with record=PATH")
        from seismo.model import read
        from seismo.watching.recording import image

        return read(image(self))

    def report(self) -> list[str]:
        """The tables of the count and histogram actions, as lines."""
        lines = _actions.counts(self.functions) if "count" in self._names else []
        if "histogram" in self._names:
            rows = self.functions
            lines += _actions.histograms(rows, self._writer.ascii_only) or [self._no_histogram(rows)]
        return lines

    def _no_histogram(self, rows: list[_actions.Row]) -> str:
        """Why there is no duration to show."""
        if "call" not in self.expression.kinds or not self._kinds & 1 << KINDS.index("call"):
            return "histogram: empty, because only calls have a duration, and the expression matches no calls"
        if not any(row.matches for row in rows):
            return "histogram: empty, because nothing matched"
        return "histogram: empty, because no matched call has ended"

    # ---- inside the program ----

    def _evaluate(self, term: int, frame: FrameType) -> bool | None:
        variables = _core.frame_locals(frame)
        return self.expression.evaluate_term(term, {"arg": variables, "value": variables})

    def _report(self, *event: Any) -> None:
        match = None
        try:
            match = self._describe.match(*event)
            self._act(match)
        except KeyboardInterrupt:
            raise
        except RecursionError:  # the program is at the end of its stack: no failure of the action's
            self._before = (self._before[0], self._before[1] + 1, self._before[2])
        except BaseException as error:  # noqa: BLE001  an action's failure is not the program's
            self._fail(error)
        finally:
            if match is not None:
                match.frame = match.arg = None

    def _act(self, match: _match.Match) -> None:
        if self._print and (match.moment != "line" or match.variables is not None):
            self._write(match)
        if match.moment in ("event", "whole"):
            if len(self.matches) < KEPT:
                self.matches.append(match)
            for call in self._calls:
                call(match)
            if self._debug is not None:
                self._debug(match)

    def _fail(self, error: BaseException) -> None:
        self.stop()
        self.failed = self._shower.show(error)
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = "" if place is None else f" ({self._writer.place(place.tb_frame.f_code.co_filename, place.tb_lineno)})"
        if not isinstance(error, BrokenPipeError):
            try:
                stream = self._stream if hasattr(self._stream, "write") and not self._json else sys.stderr
                stream.write(f"seismo: the watch ends because its action failed: {self.failed}{where}\n")
            except Exception:  # noqa: BLE001  there is nobody to tell
                return

    # ---- output ----

    def _open(self) -> None:
        if self._stream is not None and self._opened:
            return
        output = sys.stderr if self._output is None else self._output
        if isinstance(output, (str, os.PathLike)):
            try:
                output = open(output, "a", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
            except OSError as error:
                raise SeismoError(f"cannot write the output: {error.strerror or error}", str(self._output)) from None
            self._opened = True
        elif output is not None and not hasattr(output, "write"):
            raise UsageError(f"output cannot be a {type(output).__name__}", hint="it is a path or an open text file")
        self._stream = output
        self._writer = text.Writer(_coloured(output, self._color), _needs_ascii(output))

    def _write(self, match: _match.Match) -> None:
        with self._writing:  # who speaks is remembered from one match to the next
            stream = self._stream
            if stream is None:
                return
            if self._json:
                stream.write(json_line(match))
            else:
                stream.write(self._writer.match(match))
            flush = getattr(stream, "flush", None)
            if flush is not None:
                flush()


def _chosen(action: object) -> tuple[set[str], list[Callable[[_match.Match], object]]]:
    """The names and the functions among what was given as action. UsageError for what is neither."""
    given: list[object] = [action] if action is None or isinstance(action, str) or callable(action) else []
    if not given:
        try:
            given = list(action)  # type: ignore[call-overload]
        except TypeError:
            given = [action]
    names: set[str] = set()
    calls: list[Any] = []
    for one in given:
        if one is None:
            continue
        if isinstance(one, str):
            if one not in ACTIONS:
                raise UsageError(
                    f"there is no action {one!r}", hint=f"it is a function, or one of {', '.join(ACTIONS)}"
                )
            names.add(one)
        elif callable(one):
            calls.append(one)
        else:
            hint = f"it is a function that takes the match, or one of {', '.join(ACTIONS)}"
            raise UsageError(f"an action cannot be a {type(one).__name__}: it cannot be called", hint=hint)
    return names, calls


def _file(record: object) -> File:
    from seismo.watching.recording import File

    if not isinstance(record, (str, os.PathLike)):
        raise UsageError(f"record cannot be a {type(record).__name__}", hint="it is the path of a file")
    path = os.fspath(record)
    if not isinstance(path, str) or not path:
        raise UsageError(f"record cannot be {path!a}", hint="it is the path of a file")
    return File(os.path.abspath(path), "--record")


def _coloured(stream: Any, color: str) -> bool:
    try:
        terminal = bool(stream.isatty())
    except (AttributeError, ValueError, OSError):
        terminal = False
    return wants_colour(color, terminal)


def _needs_ascii(stream: Any) -> bool:
    encoding = getattr(stream, "encoding", None)
    return type(encoding) is str and not encoding.lower().replace("-", "").startswith("utf")
