# ruff: noqa: SIM105  contextlib would import collections
"""Events that a program adds to the timeline: `seismo.mark`, `seismo.span`, `seismo.count`.

Such calls can stay in a program. While no timeline is recorded, each costs a call and a check of a flag.
"""

from __future__ import annotations

from _contextvars import ContextVar  # the module contextvars only re-exports this
from itertools import count as _numbers

from seismo.errors import RecordingError, UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _contextvars import Token
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, ParamSpec, Self, TypeVar

    from seismo import _core

    P = ParamSpec("P")
    R = TypeVar("R")

    from seismo.process import engine

    journaling, instant = _core.journaling, _core.instant
else:
    try:
        from seismo._core import instant, journaling
        from seismo.process import engine
    except (ImportError, RecordingError):  # no native core for this interpreter, so nothing is recorded

        def journaling() -> bool:
            """Return False: a timeline is never recorded."""
            return False


_MARK, _COUNT, _BEGINS, _ENDS = 1, 2, 3, 4  # kinds of events as in docs/format.md
_LONGEST = 1000  # the most characters of a name or a value
_LARGEST = 1 << 256
_GENERATORS, _COROUTINE = 0x220, 0x80  # inspect's CO_ flags; importing inspect is slow
_ours: ContextVar[int] = ContextVar("seismo.span", default=0)  # the number of the span that is open in this context
_next = _numbers(1).__next__


def mark(name: str, /, **values: object) -> None:
    """Add an event here and now. `values` that are str, numbers, bool or None are kept, of others only the type."""
    if journaling():
        _note(_MARK, 0, name, values)


def count(name: str, value: float, /) -> None:
    """Record the current value of a quantity, such as the length of a queue."""
    if journaling():
        _note(_COUNT, 0, name, {"value": value})


class span:  # noqa: N801  used like a function: with seismo.span("load"): ...
    """A named interval of the program: a context manager, or a decorator of a function.

        with seismo.span("load", rows=n): ...
        @seismo.span("load")

    A span belongs to the context in which it begins (contextvars), so it follows a task across threads. The parent of a
    span is the span in which it began. A span object may be entered again before it is left, also in other threads and
    tasks. Each entry is a separate span. `values` are as for `mark`.
    """

    __slots__ = ("_name", "_open", "_values")

    def __init__(self, name: str, /, **values: object) -> None:
        self._name, self._values = name, values
        # For each open span's number, the token that resets the context.
        self._open: dict[int, Token[int]] | None = None

    def __enter__(self) -> Self:
        if journaling():
            outer, number = _ours.get(), _next()
            if self._open is None:
                self._open = {}
            self._open[number] = _ours.set(number)
            _note(_BEGINS, number, self._name, {**self._values, **({"in": outer} if outer else {})})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if not self._open:
            return  # no timeline was recorded when the span began
        number = _ours.get()  # the number of this context's open span
        if number not in self._open:
            number = next(reversed(self._open), 0)  # the span began in another context, so end the last open one
        token = self._open.pop(number, None)
        if token is None:
            return  # another thread has ended the span
        try:
            _ours.reset(token)
        except ValueError:
            pass  # the span began in another context, whose value cannot be reset here
        if journaling():
            _note(_ENDS, number, self._name, {"error": kind.__name__} if kind is not None else {})

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a wrapper that runs a function or coroutine in a new span. Raise UsageError for a generator."""
        from functools import wraps

        name, values = self._name, self._values
        flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
        if flags & _GENERATORS:
            raise UsageError(
                "seismo.span cannot decorate a generator function",
                hint="begin the span inside of it: with seismo.span(...)",
            )

        def plain(*args: P.args, **kwargs: P.kwargs) -> R:
            with span(name, **values):
                return function(*args, **kwargs)

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with span(name, **values):
                return await function(*args, **kwargs)  # type: ignore[misc]

        wrapper: Any = wraps(function)(coroutine if flags & _COROUTINE else plain)
        return wrapper  # type: ignore[no-any-return]


def _note(kind: int, number: int, name: object, values: dict[str, object]) -> None:
    text = _text(name)
    if not instant(kind, number, text, _json(values)) and values:
        instant(kind, number, text, _json({"left out": f"{len(values)} values, which are too long"}))


def _text(text: object) -> str:
    """Return a name for the journal: escaped, and cut to the maximum length."""
    return engine.printable(str(text)[:_LONGEST])


def _json(values: dict[str, object]) -> str:
    """Return the values as JSON, or "" if there are none. Values of other types are not inspected."""
    return engine.json_text({_text(name): _plain(value) for name, value in values.items()}) if values else ""


def _plain(value: object) -> object:
    if type(value) is str:
        return _text(value)
    if type(value) is float:
        return value if value - value == 0 else str(value)  # JSON has no infinity
    if type(value) is int:
        return value if -_LARGEST < value < _LARGEST else "an int of many digits"
    return value if value is None or type(value) is bool else f"<{type(value).__name__}>"
