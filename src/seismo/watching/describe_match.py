"""Conversion of events to matches, inside the program and untraced; its objects are kept as text only."""

from __future__ import annotations

import sys
from time import monotonic

from seismo import _core
from seismo.expression import KINDS
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process.secrets import MASK
from seismo.watching import actions as _actions
from seismo.watching import match as _match
from seismo.watching import source_lines
from seismo.watching.value_repr import Shower, class_name, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from types import CodeType, FrameType


_STACK = 30  # the most frames that --stack shows
_SELF = 100  # a longer text of `self` is shown without the fields
_CALLS_KEPT = 1000  # the most calls whose variables are kept

SHOWN = ("args", "returns", "vars", "stack")  # the parts of a match that are shown on request
DETAILS = (*SHOWN, "repr", "show_secrets")  # with how to show values


class Describer:
    """A factory of Match objects from the events that the native core reports.

    details: the names among DETAILS that were requested
    hide: prefixes of the files whose frames are left out of stacks
    began: start of the watch, as time.monotonic()
    masked: number of values that were masked because their names look secret
    """

    def __init__(self, details: Collection[str], hide: tuple[str, ...]) -> None:
        self.details = details
        self.shower = Shower(secrets="show_secrets" in details, own_repr="repr" in details)
        self.began = 0.0
        self.masked = 0
        self._hide = hide
        self._variables: dict[int, dict[str, str]] = {}

    def forget(self) -> None:
        """Forget the variables of calls that have not ended."""
        self._variables.clear()

    def match(
        self,
        moment: int,
        kind: int,
        how: int,
        frame: FrameType,
        arg: object,
        line: int,
        duration: int,
        own: int,
        call: int,
        nesting: int,
        calls: int,
        depth: int,
        module: str,
        qualname: str,
    ) -> _match.Match:
        """Return the match for an event that native/hub/watch.c reports. Times are in ns, or -1 if unknown."""
        match = _match.Match()
        code = frame.f_code
        match.time = monotonic() - self.began
        match.moment, match.kind, match.how = _match.MOMENTS[moment], KINDS[kind], KINDS[how]
        match.module, match.qualname, match.function = module, qualname, _actions.full_name(module, qualname)
        match.file = code.co_filename
        match.frame, match.arg = frame, arg
        match.call, match.calls, match.nesting, match.depth = call, calls, nesting, depth
        match.thread, match.task = _core.where_am_i()
        match.duration = None if duration < 0 else duration
        match.own = None if own < 0 else own
        starts = match.kind == "call" and moment != _match.END
        match.line = line or (code.co_firstlineno if starts else frame.f_lineno or code.co_firstlineno)
        if not starts:
            match.source = source_lines.line_of(match.file, match.line)
        self._outcome(match, arg)
        shows_variables = "vars" in self.details
        has_changes = match.kind == "line" or moment in (_match.END, _match.WHOLE) or match.how != "call"
        if starts and ("args" in self.details or (shows_variables and not has_changes)):
            match.args = self._arguments(frame, code)
        if shows_variables and has_changes:
            match.variables = self._changes(frame, code, call, moment)
        if shows_variables and starts and moment == _match.EVENT:
            # The arguments are shown already, so note them as the state to compare with.
            self._changes(frame, code, call, moment)
        if "stack" in self.details and moment in (_match.EVENT, _match.WHOLE):
            match.stack = self._frames(frame.f_back)
        return match

    def _outcome(self, match: _match.Match, arg: object) -> None:
        """Set the value that was returned or yielded, the exception, or the name of the C function."""
        if match.how in ("unwind", "raise", "throw", "stop_iteration"):
            match.exception = self.shower.show(arg) if isinstance(arg, BaseException) else "an exception"
        elif match.how in ("return", "yield"):
            if "returns" in self.details or "vars" in self.details or match.kind in ("return", "yield"):
                match.value = self.shower.named(match.qualname.rpartition(".")[2], arg)
        elif match.kind.startswith("c_"):
            match.callee = _callee(arg)

    def _arguments(self, frame: FrameType, code: CodeType) -> dict[str, str]:
        variables = _core.frame_locals(frame)
        return {shown: self._named(name, variables[name]) for name, shown in _parameters(code) if name in variables}

    def _named(self, name: str, value: object) -> str:
        shown = self.shower.named(name, value)
        self.masked += MASK in shown
        if name == "self" and len(shown) > _SELF:
            head, fields, _ = shown.partition(" {")
            shown = f"{head} …>" if fields else shown
        return shown

    def _changes(
        self, frame: FrameType, code: CodeType, call: int, moment: int
    ) -> list[tuple[str, str | None, str | None]]:
        """Return the variables that were added, changed or deleted since the previous event of this call."""
        module_level = not code.co_flags & 1
        now = {}
        for name, value in _core.frame_locals(frame).items():
            if type(name) is not str or (module_level and _is_furniture(name, value)):
                continue
            now[name] = self._named(name, value)
        before = self._variables.pop(call, {}) if call else {}
        if call and moment != _match.END:
            if len(self._variables) >= _CALLS_KEPT:
                self._variables.pop(next(iter(self._variables)), None)
            self._variables[call] = now
        changed: list[tuple[str, str | None, str | None]] = [
            (name, shown, before.get(name)) for name, shown in now.items() if before.get(name) != shown
        ]
        changed += [(name, None, shown) for name, shown in before.items() if name not in now]
        return changed

    def _frames(self, frame: FrameType | None) -> list[tuple[str, int, str, str]]:
        frames: list[tuple[str, int, str, str]] = []
        while frame is not None and len(frames) < _STACK:
            code = frame.f_code
            if not code.co_filename.startswith(self._hide):
                line = frame.f_lineno or code.co_firstlineno
                frames.append((code.co_filename, line, code.co_qualname, source_lines.line_of(code.co_filename, line)))
            frame = frame.f_back
        return frames


def _parameters(code: CodeType) -> list[tuple[str, str]]:
    """Return the parameters in the order of the definition, as pairs of the name and the name with its stars."""
    names = code.co_varnames
    plain, keyword = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    found = [(name, name) for name in names[:plain]]
    several = bool(code.co_flags & 4)
    if several:
        found.append((names[keyword], f"*{names[keyword]}"))
    found += [(name, name) for name in names[plain:keyword]]
    if code.co_flags & 8:
        found.append((names[keyword + several], f"**{names[keyword + several]}"))
    return found


def _callee(function: object) -> str:
    """Return the name of a C function as in source code: len, str.join, os.stat."""
    owner = getattr(function, "__self__", None) if type(function) is type(len) else None
    name = shorten(getattr(function, "__name__", "?"), 100) if type(function) in _C_FUNCTIONS else "?"
    if type(function) is type(str.join):
        return f"{class_name(function.__objclass__)}.{name}"  # type: ignore[attr-defined]
    if owner is None:
        return name
    if type(owner) is type(sys):
        module = owner.__dict__.get("__name__")
        return name if module == "builtins" or type(module) is not str else f"{module}.{name}"
    return f"{class_name(owner if type(owner) is type else type(owner))}.{name}"


_C_FUNCTIONS = (type(len), type(str.join))


def _is_furniture(name: str, value: object) -> bool:
    """Return True for a name that every module has, and for an imported or defined object in a module's namespace."""
    return name.startswith("__") or type(value) in (type(sys), type(_callee), type, type(len))
