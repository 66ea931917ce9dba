"""The decorator that runs a function inside a session: plain functions, coroutines, and both kinds of generators.

A generator is in the session while it runs, but not while it is suspended at a yield. A coroutine is in the session
from its start to its end.
"""

from __future__ import annotations

from seismo.errors import UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from typing import Any, ParamSpec, Protocol, TypeVar, overload

    from seismo.sessions.session import Session

    P = ParamSpec("P")
    R = TypeVar("R")
    Options = ParamSpec("Options")
    Made_co = TypeVar("Made_co", covariant=True)  # a kind of session

    class Maker(Protocol[Options, Made_co]):
        """A public function such as seismo.profile: it takes a function to decorate, or the session's options."""

        @overload
        def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...
        @overload
        def __call__(self, *args: Options.args, **options: Options.kwargs) -> Made_co: ...


def also_decorates(make: Callable[Options, Made_co]) -> Maker[Options, Made_co]:
    """Let a function that makes a session decorate a function as well: @seismo.profile beside seismo.profile(...)."""

    def maker(function: Any = None, /, **options: Any) -> Any:
        session: Any = make(**options)  # type: ignore[call-arg]
        return session if function is None else session(function)

    named: Maker[Options, Made_co] = named_as(make, maker)
    return named


def named_as(original: Any, wrapper: Any) -> Any:
    """Return the wrapper with the original's names, text and signature; functools would import collections."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(wrapper, name, getattr(original, name))
    wrapper.__wrapped__ = original  # for inspect.signature
    return wrapper


def decorated(session: Session, function: Callable[..., Any]) -> Any:
    """Return a wrapper that runs the function inside the session. Raise UsageError if it is not callable."""
    from functools import wraps

    if not callable(function):
        raise UsageError(
            f"seismo.{session.name} cannot decorate a {type(function).__name__}", hint="it takes a function"
        )
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    make = next((make for flag, make in _MAKERS.items() if flags & flag), _plain)
    wrapper: Any = wraps(function)(make(session, function))
    setattr(wrapper, session.name, session)
    return wrapper


def _plain(session: Session, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with session:
            return function(*args, **kwargs)

    return wrapper


def _coroutine(session: Session, function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with session:
            return await function(*args, **kwargs)

    return wrapper


def _generator(session: Session, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        inner = function(*args, **kwargs)
        step, value = inner.send, None
        while True:
            try:
                with session:
                    item = step(value)
            except StopIteration as end:
                return end.value
            try:
                step, value = inner.send, (yield item)
            except GeneratorExit:
                with session:
                    inner.close()
                raise
            except BaseException as error:  # noqa: BLE001  the generator handles what was thrown into it
                step, value = inner.throw, error

    return wrapper


def _async_generator(session: Session, function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        step, value = inner.asend, None
        while True:
            try:
                with session:
                    item = await step(value)
            except StopAsyncIteration:
                return
            try:
                step, value = inner.asend, (yield item)
            except GeneratorExit:
                with session:
                    await inner.aclose()
                raise
            except BaseException as error:  # noqa: BLE001  the generator handles what was thrown into it
                step, value = inner.athrow, error

    return wrapper


# By inspect's CO_ flags; importing inspect is slow.
_MAKERS = {0x20: _generator, 0x80: _coroutine, 0x200: _async_generator}
