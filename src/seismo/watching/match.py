"""One match: what is known of an event when an action gets it, and what of that stays.

While the actions run, `frame` and `arg` are the program's own objects. Afterwards they are None, so that a kept match
keeps none of the program's objects alive; all that is shown of them is text.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

EVENT, WHOLE, END, LINE = range(4)  # sm_match_moment in native/hub/watch.h
MOMENTS = ("event", "whole", "end", "line")


class Match:
    """A match, or what follows one: the end or a line of a matched call.

    moment: "event" (it matched as it happened), "whole" (a call, known when it ended), "end" or "line" (of a call whose
    start matched). kind: what matched, of seismo.expression.KINDS; how: the event at hand, of the same. function:
    MODULE.QUALNAME, or QUALNAME in the main program; module, qualname, file, line. callee: of a C function's event.
    time: seconds since the watch began. duration, own: ns, or None. calls: of the function so far. call: the call's
    number, 0 if it has none. nesting: matched calls around it. depth: Python frames on the stack. thread, task: names.

    Only if they were asked for: args, {name: text}; value: what was returned or yielded; variables: [(name, text, text
    before or None)], a text of None: deleted; stack: [(file, line, function, source)], innermost first. exception: its
    text. source: the line's own text.

    During an action: frame, and arg (the value, the exception, or the C function).
    """

    __slots__ = (
        "arg",
        "args",
        "call",
        "callee",
        "calls",
        "depth",
        "duration",
        "exception",
        "file",
        "frame",
        "function",
        "how",
        "kind",
        "line",
        "module",
        "moment",
        "nesting",
        "own",
        "qualname",
        "source",
        "stack",
        "task",
        "thread",
        "time",
        "value",
        "variables",
    )

    def __init__(self) -> None:
        self.moment = self.kind = self.how = self.function = self.module = self.qualname = self.file = ""
        self.callee = self.thread = self.task = self.source = ""
        self.line = self.calls = self.call = self.nesting = self.depth = 0
        self.time = 0.0
        self.duration: int | None = None
        self.own: int | None = None
        self.args: dict[str, str] | None = None
        self.value: str | None = None
        self.exception: str | None = None
        self.variables: list[tuple[str, str | None, str | None]] | None = None
        self.stack: list[tuple[str, int, str, str]] | None = None
        self.frame: FrameType | None = None
        self.arg: object = None

    def __repr__(self) -> str:
        return f"<seismo match: {self.moment} {self.kind} {self.function} at {self.file}:{self.line}>"

    def fields(self) -> dict[str, object]:
        """What is known, by name, without what is not: for JSON."""
        found: dict[str, object] = {}
        for name in _ORDER:
            value = getattr(self, name)
            if value not in (None, "") or name == "file":
                found[name] = value
        if self.variables is not None:
            found["variables"] = [{"name": name, "now": now, "before": old} for name, now, old in self.variables]
        if self.stack is not None:
            found["stack"] = [{"file": f, "line": n, "function": q, "source": s} for f, n, q, s in self.stack]
        return found


_ORDER = (
    "moment",
    "kind",
    "how",
    "time",
    "thread",
    "task",
    "function",
    "module",
    "qualname",
    "file",
    "line",
    "source",
    "callee",
    "call",
    "calls",
    "depth",
    "nesting",
    "args",
    "value",
    "exception",
    "duration",
    "own",
)
