"""The interpreter's hooks as a service: any number of profile and trace functions, in one thread or in all.

    with set_profile(func): ...                                   func(frame, event, arg), as sys.setprofile calls it
    handle = set_trace(func, threads="all", where='module("app.*")')
    handle.remove()

Nobody is put out: sys.setprofile, sys.settrace and sys.monitoring stay free for debuggers, coverage and profilers, and
theirs and ours receive the same events. docs/hooks.md has the whole of it.
"""

from __future__ import annotations

from seismo.original_builtins import AtOnce

with AtOnce():
    from seismo._core import (
        Hook,
        get_profile,
        get_trace,
        getprofile,
        gettrace,
        set_profile,
        set_trace,
        setprofile,
        settrace,
    )
    from seismo.hooks.references import get_ref_tracer, set_ref_tracer
    from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from seismo import _core

    Function = Callable[[FrameType, str, Any], object]

__all__ = [
    "Hook",
    "get_profile",
    "get_ref_tracer",
    "get_trace",
    "getprofile",
    "gettrace",
    "set_profile",
    "set_ref_tracer",
    "set_trace",
    "setprofile",
    "setprofile_all_threads",
    "settrace",
    "settrace_all_threads",
]

# What a term of `where` can be about here. What a call took is known when it is over, and then it is another event.
_FACTS = ("module", "function", "qualname", "name", "file", "line", "callee", "exception", "depth", "thread", "task")
_CALLS = ("call", "resume", "throw", "return", "yield", "unwind")
_PROFILE_KINDS = (*_CALLS, "c_call", "c_return", "c_raise")
_TRACE_KINDS = (*_CALLS, "line", "raise", "stop_iteration", "opcode")


def _filter(where: str, trace: bool) -> _core.Filter:
    """The native form of an expression; UsageError if it is wrong, or asks for what these hooks do not tell."""
    from seismo._core import Filter
    from seismo.errors import UsageError
    from seismo.expression import parse

    if not isinstance(where, str):
        raise UsageError("where is an expression, as text", hint="see docs/expressions.md")
    kinds = _TRACE_KINDS if trace else _PROFILE_KINDS
    why = (
        f"a {'trace' if trace else 'profile'} function receives events as they happen, of the kinds {', '.join(kinds)}"
    )
    return Filter(parse(where).only(_FACTS, kinds, why).program)


def setprofile_all_threads(func: Function | None) -> None:
    """threading.setprofile_all_threads (3.12), on every version: the threads that run, and by threading later ones."""
    import threading

    from seismo._core import _setprofile_everywhere

    threading.setprofile(func)
    _setprofile_everywhere(func)


def settrace_all_threads(func: Function | None) -> None:
    """threading.settrace_all_threads (3.12), on every version: the threads that run, and by threading later ones."""
    import threading

    from seismo._core import _settrace_everywhere

    threading.settrace(func)  # type: ignore[arg-type]
    _settrace_everywhere(func)
