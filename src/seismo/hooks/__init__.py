"""Profile and trace functions in any number, for one thread or for all.

    with set_profile(func): ...                                   func(frame, event, arg), as sys.setprofile calls it
    handle = set_trace(func, threads="all", where='module("app.*")')
    handle.remove()

sys.setprofile, sys.settrace and sys.monitoring remain available to other tools, which receive the same events.
docs/hooks.md has the details.
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

# The facts that a term of `where` may use. The duration of a call is known only at its end, which is another event.
_FACTS = ("module", "function", "qualname", "name", "file", "line", "callee", "exception", "depth", "thread", "task")
_CALLS = ("call", "resume", "throw", "return", "yield", "unwind")
_PROFILE_KINDS = (*_CALLS, "c_call", "c_return", "c_raise")
_TRACE_KINDS = (*_CALLS, "line", "raise", "stop_iteration", "opcode")


def _filter(where: str, trace: bool) -> _core.Filter:
    """Return the native form of an expression. Raise UsageError if it is invalid or undecidable by these hooks."""
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
    """Set the profile function of all running threads, and of later threads of the threading module.

    This is threading.setprofile_all_threads (3.12) for every version of Python.
    """
    import threading

    from seismo._core import _setprofile_everywhere

    threading.setprofile(func)
    _setprofile_everywhere(func)


def settrace_all_threads(func: Function | None) -> None:
    """Set the trace function of all running threads, and of later threads of the threading module.

    This is threading.settrace_all_threads (3.12) for every version of Python.
    """
    import threading

    from seismo._core import _settrace_everywhere

    threading.settrace(func)  # type: ignore[arg-type]
    _settrace_everywhere(func)
