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
    from typing import Any

    from seismo.sessions.session import Session


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
