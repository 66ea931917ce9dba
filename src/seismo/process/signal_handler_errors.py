"""Errors that the program's own signal handlers raise while code of seismo runs.

The interpreter runs such a handler between two instructions or within a system call. So the handler may raise an
OSError (TimeoutError is one) where only a file's failure is expected. Such an error must propagate to the program, and
not count as the failure of a file.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")
    E = TypeVar("E")


def is_ours(error: BaseException) -> bool:
    """Return True unless a signal handler raised it, whose call took the interrupted frame as an argument."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        interrupted, place = place.tb_frame, place.tb_next
        for given in place.tb_frame.f_locals.values():
            values = given if type(given) is tuple else (given,)
            if any(value is interrupted for value in values):
                return False
    return True


def reraise_if_the_programs(error: BaseException) -> None:
    """Re-raise the program's errors; called in an except clause before the error is handled."""
    if not is_ours(error):
        raise error


def tried(function: Callable[..., T], *args: Any, otherwise: E) -> T | E:
    """Call a function of the system and return its result, or `otherwise` if it fails. Raise the program's errors."""
    try:
        return function(*args)
    except (OSError, ValueError) as error:
        reraise_if_the_programs(error)
        return otherwise
