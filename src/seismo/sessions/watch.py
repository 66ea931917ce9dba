"""Watching from inside: `with seismo.watch('call("app.*.save")') as w: ...`, `@seismo.watch(...)`, `w.count`.

The native core decides what matches and tells seismo.watching.active_watch of it, inside the program. A watch runs
beside all that records, and any number of watches beside each other.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.sessions.session import Session
from seismo.watching.actions import Actions
from seismo.watching.active_watch import ActiveWatch
from seismo.watching.describe_match import Detail
from seismo.watching.event_selection import EventSelection
from seismo.watching.match_printer import Printer

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import TextIO

    from seismo.watching.actions import Action


class Watch(Session, ActiveWatch):
    """A session that shows, counts or hands on what matches. When it is used again, its counts add up.

    count, matches, functions, failed, and how it is made: see seismo.watching.active_watch.ActiveWatch. stop() ends it
    early.
    """

    name = "watch"

    def __init__(
        self,
        selection: EventSelection,
        actions: Actions,
        detail: Detail,
        printer: Printer,
        record: str | os.PathLike[str] | None = None,
    ) -> None:
        Session.__init__(self)
        ActiveWatch.__init__(self, selection, actions, detail, printer, record)

    def _begin(self) -> None:
        self._turn_on()

    def _end(self) -> None:
        self._turn_off()

    def _forked(self) -> None:
        if self.file is not None:
            self.file.forked()
        super()._forked()

    def _gone(self) -> None:
        self._drop()

    def __repr__(self) -> str:
        state = "running" if self._native is not None else "ended"
        return f"<seismo watch {str(self.expression)!r}: {state}, {self.count} matches>"


def watch(
    expression: str,
    action: Action | Iterable[Action] | None = None,
    *,
    args: bool = False,
    returns: bool = False,
    vars: bool = False,  # noqa: A002  as the option
    stack: bool = False,
    limit: int | None = None,
    output: str | os.PathLike[str] | TextIO | None = None,
    json: bool = False,
    record: str | os.PathLike[str] | None = None,
    color: str = "auto",
    repr: bool = False,  # noqa: A002  as the option
    show_secrets: bool = False,
    threads: str = "all",
) -> Watch:
    """Shows, counts or handles what matches the expression, while the `with` block or the decorated function runs.

        with seismo.watch('call("app.*.save")', args=True, returns=True) as w: ...     w.count, w.matches
        with seismo.watch('raise and exception("KeyError")', lambda match: ...): ...
        @seismo.watch('call and duration > 50ms', "histogram")

    expression: docs/expressions.md. action: a function that is called with each Match while the program waits; "print"
    (the default), "keep" (only into `matches`), "count", "histogram", "stack", "pdb"; or several of these. args,
    returns, vars, stack: what is shown. limit: matches after which the watch takes itself out. output: a path or text
    file instead of sys.stderr; json: JSON lines instead of text. record: the path of a recording to write at the end;
    `w.recording` is its content. color: "auto", "always" or "never". repr: show objects
    by the program's own __repr__. show_secrets: show values whose names look secret, too. threads: "all" or "current".

    Raises UsageError for an expression or option that is none, SeismoError when this program cannot be watched.
    """
    actions = Actions(action)
    stack = stack or "stack" in actions.names
    return Watch(
        EventSelection(expression, limit=limit, threads=threads),
        actions,
        Detail(args=args, returns=returns, vars=vars, stack=stack, repr=repr, show_secrets=show_secrets),
        Printer(output, json=json, color=color),
        record,
    )
