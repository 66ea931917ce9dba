"""Watching from inside: `with seismo.watch('call("app.*.save")') as w: ...`, `@seismo.watch(...)`, `w.count`.

The native core selects the matches and passes them to seismo.watching.active_watch, inside the program. Any number of
watches may run at the same time, also during recordings.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.sessions.session import Session
from seismo.watching.actions import chosen
from seismo.watching.active_watch import ActiveWatch, EventSelection
from seismo.watching.describe_match import DETAILS
from seismo.watching.match_printer import Printer

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import TextIO

    from seismo.watching.actions import Action


class Watch(ActiveWatch, Session):
    """A session that shows or counts matches, or passes them to functions. The counts of repeated uses are added.

    seismo.watching.active_watch.ActiveWatch describes its construction, `count`, `matches`, `functions` and `failed`.
    stop() ends it early.
    """

    name = "watch"

    def _forked(self) -> None:
        if self.file is not None:
            self.file.forked()
        super()._forked()

    def __repr__(self) -> str:
        state = "running" if self._native is not None else "ended"
        return f"<seismo watch {str(self.expression)!r}: {state}, {self.count} matches>"


def watch(
    expression: str,
    action: Action | Iterable[Action] | None = None,
    *,
    args: bool = False,
    returns: bool = False,
    vars: bool = False,  # noqa: A002  like the option
    stack: bool = False,
    limit: int | None = None,
    output: str | os.PathLike[str] | TextIO | None = None,
    json: bool = False,
    record: str | os.PathLike[str] | None = None,
    color: str = "auto",
    repr: bool = False,  # noqa: A002  like the option
    show_secrets: bool = False,
    threads: str = "all",
) -> Watch:
    """Show, count or handle events that match the expression, while the `with` block or the decorated function runs.

        with seismo.watch('call("app.*.save")', args=True, returns=True) as w: ...     w.count, w.matches
        with seismo.watch('raise and exception("KeyError")', lambda match: ...): ...
        @seismo.watch('call and duration > 50ms', "histogram")

    - expression: see docs/expressions.md.
    - action: a function to call with each Match while the program waits, "print" (the default), "keep" (only add it to
      `matches`), "count", "histogram", "stack" or "pdb"; or several of these.
    - args, returns, vars, stack: what to show.
    - limit: the number of matches after which the watch ends.
    - output: a path or text file instead of sys.stderr; json: write JSON lines instead of text.
    - record: the path of a recording to write at the end; `w.recording` is its content.
    - color: "auto", "always" or "never".
    - repr: show objects by the program's own __repr__.
    - show_secrets: also show values whose names look secret.
    - threads: "all" or "current".

    Raise UsageError for an invalid expression or option, SeismoError if this program cannot be watched.
    """
    actions = chosen(action)
    wanted = (args, returns, vars, stack or "stack" in actions[0], repr, show_secrets)
    return Watch(
        EventSelection(expression, limit=limit, threads=threads),
        actions,
        {detail for detail, is_wanted in zip(DETAILS, wanted, strict=True) if is_wanted},
        Printer(output, json=json, color=color),
        record,
    )
