"""The choice of the events that a watch reports: an expression, a limit and the threads."""

from __future__ import annotations

from seismo import _core
from seismo.errors import UsageError
from seismo.expression import KINDS, parse
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


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
        self.kinds = self.expression.kinds if self.expression.names_kind else frozenset(["call"])
        if not self.kinds - _C_KINDS and self.expression.needs & {"duration", "own"}:
            hint = "ask for the Python function around it: call and duration > ..."
            raise UsageError("the time that a C function takes is not watched", expression, hint)
        if limit is not None and not (type(limit) is int and limit > 0):
            raise UsageError(f"limit cannot be {limit!r}", hint="give a whole number above 0")
        if threads not in THREADS:
            raise UsageError(f"threads cannot be {threads!r}", hint=f"use one of {', '.join(THREADS)}")
        self.limit, self.this_thread, self.script = limit, threads == "current", script
        self.machinery = "importlib" in expression or "runpy" in expression

    @property
    def only_calls(self) -> bool:
        """Return True if only calls can match."""
        return self.kinds == {"call"}

    @property
    def mask(self) -> int:
        """Return the kinds as a bit mask for the native core."""
        return sum(1 << KINDS.index(kind) for kind in self.kinds)

    def evaluate(self, term: int, frame: FrameType) -> bool | None:
        """Evaluate a term of the expression that the native core cannot decide, for the event in this frame."""
        variables = _core.frame_locals(frame)
        return self.expression.evaluate_term(term, {"arg": variables, "value": variables})
