"""Errors that the program's own signal handlers raise in the middle of what seismo does.

The interpreter runs such a handler between two instructions or in the middle of a system call, so it may raise an
OSError (TimeoutError is one) where only the failure of a file is expected. What a handler raises is the program's: it
is never taken for the failure of a file, and always reaches the program.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401


def is_ours(error: BaseException) -> bool:
    """Whether it came of what seismo did.

    A handler's error comes by way of a function that was given the frame which it interrupted.
    """
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        interrupted, place = place.tb_frame, place.tb_next
        for given in place.tb_frame.f_locals.values():
            values = given if type(given) is tuple else (given,)
            if any(value is interrupted for value in values):
                return False
    return True


def reraise_if_the_programs(error: BaseException) -> None:
    """In an except clause, before the error is dealt with: raises it once more if it is the program's."""
    if not is_ours(error):
        raise error
