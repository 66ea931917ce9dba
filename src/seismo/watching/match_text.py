"""Matches as text: a tree for each thread and task, with one or a few lines per match.

    +0.0013  ▸ app.save(user=<User at 0x7f… {id=7}>, n=3)  app.py:20
    +0.0021    ▸ app.check()  app.py:31
    +0.0025    ◂ app.check → True  0.4 ms
    ── thread worker-1 ──
    +0.0027  ✗ KeyError('x') in app.load  app.py:44

Lines are indented by the number of matched calls around them. A header line marks each change of thread or task, so
that interleaved threads stay readable. Each match is written by a single call. Names are escaped here; the values of a
match are escaped already.
"""

from __future__ import annotations

import os

from seismo.escape import printable
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.watching.match import Match

_MOST_INDENT = 40  # the deepest level that is indented; deeper ones have a number instead

_SIGNS = {  # each as drawn, and in ASCII
    "call": ("▸", ">"),
    "end": ("◂", "<"),
    "whole": ("●", "*"),
    "raise": ("✗", "!"),
    "line": ("│", "|"),
    "yield": ("◦", "~"),
    "to": ("→", "->"),
    "rule": ("──", "--"),
    "at": ("↑", "^"),
    "micro": ("µs", "us"),
}
_STYLES = {"dim": "2", "call": "1;36", "end": "32", "error": "1;31", "who": "1;35", "name": "33", "slow": "1"}


def is_ours(begin: bytes) -> bool:
    """Return True if a file that begins with these bytes holds such text: a header line, or a time and a sign."""
    first = begin.decode("utf-8", "replace").partition("\n")[0]
    if first.startswith(("── thread ", "── task ")):
        return True
    time, _, rest = first.strip().partition("  ")
    return time[:1] == "+" and time[-5:-4] == "." and bool(rest)


class Writer:
    """A formatter of matches as text. coloured: for terminals. ascii_only: for streams that cannot encode the signs."""

    def __init__(self, coloured: bool = False, ascii_only: bool = False) -> None:
        self.coloured = coloured
        self.signs = {name: signs[ascii_only] for name, signs in _SIGNS.items()}
        self.ascii_only = ascii_only
        self._last: tuple[str, str] | None = None
        self._folder = _folder()

    def match(self, match: Match) -> str:
        """Return the lines of one match as text."""
        lines = self._who(match)
        indent = "  " * min(match.nesting, _MOST_INDENT)
        if match.nesting > _MOST_INDENT:
            indent += f"({match.nesting}) "
        time = self._styled(f"{f'+{match.time:.4f}':>9}", "dim")
        first, more = self._lines(match)
        lines.append(f"{time}  {indent}{first}")
        pad = " " * 11 + indent + "    "
        lines += [pad + line for line in more]
        text = "\n".join(lines) + "\n"
        return text.encode("ascii", "backslashreplace").decode("ascii") if self.ascii_only else text

    def _who(self, match: Match) -> list[str]:
        who = (match.thread, match.task)
        if who == self._last:
            return []
        first, self._last = self._last is None, who
        if first and who in (("MainThread", ""), ("", "")):
            return []
        rule = self.signs["rule"]
        parts = [f"thread {printable(match.thread) or '?'}"] if match.thread != "MainThread" or not match.task else []
        parts += [f"task {printable(match.task)}"] if match.task else []
        return [self._styled(f"{rule} {', '.join(parts)} {rule}", "who")]

    def _lines(self, match: Match) -> tuple[str, list[str]]:
        if match.moment == "line":
            first = self._source(str(match.line), match.source)
        elif match.moment == "end" or (match.moment == "event" and match.how in ("return", "yield", "unwind")):
            first = self._end(match)
        elif match.kind in ("raise", "throw", "stop_iteration"):
            first = self._raise(match)
        elif match.kind in ("line", "opcode"):
            source = self._source(self.place(match.file, match.line), match.source)
            first = f"{source}  {self._styled(f'in {printable(match.function)}', 'dim')}"
        elif match.callee:
            first = self._c_function(match)
        else:
            first = self._call(match)
        more = []
        if match.kind in ("raise", "c_raise") and match.source:
            more.append(self._source(str(match.line), match.source))
        if match.variables is not None:
            more += self._variables(match.variables)
        if match.stack is not None:
            for file, line, function, source in match.stack:
                place = self._styled(f"{self.place(file, line)} in {printable(function)}", "dim")
                more.append(f"{self.signs['at']} {place}{'  ' + printable(source) if source else ''}")
        return first, more

    def _call(self, match: Match) -> str:
        args = ""
        if match.args is not None:
            pairs = [f"{self._styled(printable(name), 'name')}={text}" for name, text in match.args.items()]
            args = f"({', '.join(pairs)})"
        how = {"resume": " goes on", "throw": " is thrown into"}.get(match.kind, "")
        return self._timed(match, self.signs["whole" if match.moment == "whole" else "call"], args + how)

    def _end(self, match: Match) -> str:
        if match.exception is not None:
            return self._timed(match, self._styled(self.signs["raise"], "error"))
        return self._timed(match, self.signs["yield" if match.how == "yield" else "end"])

    def _timed(self, match: Match, sign: str, more: str = "") -> str:
        name = self._styled(printable(match.function), "call")
        place = "" if match.moment == "end" else self._styled(self.place(match.file, match.line), "dim")
        return "  ".join(filter(None, (f"{sign} {name}{more}{self._outcome(match)}", self._duration(match), place)))

    def _outcome(self, match: Match) -> str:
        if match.exception is not None:
            sign = self.signs["raise"] + " " if match.moment == "whole" or match.callee else ""
            return f" {self._styled(sign + match.exception, 'error')}"
        if match.value is not None:
            return f" {self._styled(self.signs['to'] + ' ' + match.value, 'end')}"
        return ""

    def _raise(self, match: Match) -> str:
        sign = self._styled(f"{self.signs['raise']} {match.exception or '?'}", "error")
        word = {"throw": "thrown into", "stop_iteration": "ends a loop in"}.get(match.kind, "in")
        place = self._styled(self.place(match.file, match.line), "dim")
        return f"{sign} {word} {self._styled(printable(match.function), 'call')}  {place}"

    def _source(self, place: str, source: str) -> str:
        return f"{self._styled(place, 'dim')} {self.signs['line']} {printable(source)}"

    def _c_function(self, match: Match) -> str:
        sign = self.signs["raise" if match.kind == "c_raise" else "end" if match.kind == "c_return" else "call"]
        name = self._styled(printable(match.callee), "call")
        place = self._styled(f"{self.place(match.file, match.line)} in {printable(match.function)}", "dim")
        return f"{sign} {name}{self._outcome(match)}  {place}"

    def _variables(self, variables: list[tuple[str, str | None, str | None]]) -> list[str]:
        parts = []
        for name, now, before in variables:
            name = self._styled(printable(name), "name")
            if now is None:
                parts.append(f"del {name}")
            elif before is None:
                parts.append(f"{name} = {now}")
            else:
                parts.append(f"{name}: {before} {self.signs['to']} {now}")
        together = "   ".join(parts)
        plain = len(together) - (9 * len(parts) if self.coloured else 0)
        return [together] if parts and plain <= 100 else parts

    def _duration(self, match: Match) -> str:
        if match.duration is None:
            return ""
        own = f" (own {duration(match.own, self.signs['micro'])})" if match.own is not None else ""
        return self._styled(duration(match.duration, self.signs["micro"]), "slow") + own

    def place(self, file: str, line: int) -> str:
        """Return FILE:LINE, the path without the current folder or the folder site-packages, if it begins with one."""
        if self._folder and file.startswith(self._folder):
            file = file[len(self._folder) :]
        else:
            file = file.rpartition("/site-packages/")[2].rpartition("/dist-packages/")[2]
        return f"{printable(file)}:{line}"

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.coloured else text


def _folder() -> str:
    try:
        return os.getcwd().rstrip("/") + "/"
    except OSError:
        return ""


def duration(ns: float, micro: str = "µs") -> str:
    """Return a time with a suitable unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), (micro, 1e3)):
        if ns >= size:
            number = ns / size
            return f"{number:.1f} {unit}" if number < 100 else f"{number:.0f} {unit}"
    return f"{ns:.0f} ns"
