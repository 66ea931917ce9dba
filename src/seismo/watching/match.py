"""A match: the data of an event that its actions receive.

While the actions run, `frame` and `arg` are the program's own objects. Afterwards they are None, so that a kept match
keeps none of the program's objects alive. All other data about them is text.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process.engine import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

EVENT, WHOLE, END, LINE = range(4)  # the values of sm_match_moment in native/hub/watch.h
MOMENTS = ("event", "whole", "end", "line")


_FIELDS = (  # in the order in which JSON has them
    *("moment", "kind", "how", "time", "thread", "task", "function", "module", "qualname", "file", "line", "source"),
    *("callee", "call", "calls", "depth", "nesting", "args", "value", "exception", "duration", "own"),
)


class Match:
    """A match of the expression, or the end or a line of a call that matched before. docs/watch.md has the fields.

    moment: "event" (matched as it happened), "whole" (a call that matched at its end), "end" or "line" (of a call whose
    start matched). kind: what matched, and how: the current event, both of seismo.expression.KINDS.
    """

    moment = kind = how = function = module = qualname = file = callee = thread = task = source = ""
    line = calls = call = nesting = depth = 0  # call: its number among the calls, or 0; nesting: of matched calls
    time = 0.0  # seconds since the watch began
    duration: int | None = None  # in ns, as `own`
    own: int | None = None
    exception: str | None = None
    # Only if they were requested.
    args: dict[str, str] | None = None
    value: str | None = None
    variables: list[tuple[str, str | None, str | None]] | None = None  # a None: deleted now, or unknown before
    stack: list[tuple[str, int, str, str]] | None = None  # file, line, function, source; innermost first
    # Only during an action; arg: the value, the exception, or the C function.
    frame: FrameType | None = None
    arg: object = None

    def __repr__(self) -> str:
        return f"<seismo match: {self.moment} {self.kind} {self.function} at {self.file}:{self.line}>"

    def json_line(self) -> str:
        """Return the known fields as a line of JSON in ASCII, with its line end."""
        found: dict[str, object] = {}
        for name in _FIELDS:
            value = getattr(self, name)
            if value not in (None, "") or name == "file":
                found[name] = value
        found["time"] = round(self.time, 6)
        if self.variables is not None:
            found["variables"] = [{"name": name, "now": now, "before": old} for name, now, old in self.variables]
        if self.stack is not None:
            found["stack"] = [{"file": f, "line": n, "function": q, "source": s} for f, n, q, s in self.stack]
        return json_text(found) + "\n"


def is_json_line(begin: bytes) -> bool:
    """Return True if a file that begins with these bytes holds lines of json_line()."""
    return begin.startswith(b'{"moment": "')
