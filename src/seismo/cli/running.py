"""Runs a program for a verb, and asks where its user is: the terminal, the folder."""

from __future__ import annotations

import os
import sys

from seismo.cli.failures import failed
from seismo.errors import SeismoError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from seismo.process.run_program import Program


def run(program: Program, begin: Callable[[], None], ended: Callable[[str], None], give_up: Callable[[], None]) -> int:
    """Runs the program: begin() last before its first instruction, ended(how) when its main module is through.

    Returns only when begin() raised a SeismoError, which is then said. What the program raises goes up, and so does a
    SystemExit of ours when it ran to its end: the launcher below us calls sys.exit with what we return, and that call
    would be recorded as the program's. give_up(): nothing of the program has run.
    """
    from seismo import _core
    from seismo.process import run_program as run

    failure: list[SeismoError] = []
    began = False

    def first() -> None:
        nonlocal began
        try:
            begin()
        except SeismoError as error:
            failure.append(error)
            raise
        began = True

    try:
        run.run(program, first, ended)
    except SeismoError as error:
        if failure and error is failure[0]:
            sys.excepthook = sys.__excepthook__
            give_up()
            return failed(error)
        raise
    except BaseException as error:
        if not began or _core.quietly(_never_ran, error):
            give_up()
        raise
    raise SystemExit(0)


def _never_ran(error: BaseException) -> bool:
    """Did runpy find no such module? It says so itself, with SystemExit, as `python -m` does."""
    context = error.__context__
    return isinstance(error, SystemExit) and type(context).__name__ == "_Error" and type(context).__module__ == "runpy"


def stderr_is_open() -> bool:
    """Whether the program has left stderr open. One that closed it wants nothing said there, though ours is open."""
    try:
        os.fstat(2)
        return sys.__stderr__ is not None and not sys.__stderr__.closed
    except OSError:
        return False


def is_terminal(fd: int) -> bool:
    """Whether the descriptor is a terminal's."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def current_folder() -> str:
    """Where the user is: to be asked before the program runs, which may go elsewhere. "": it is not there any more."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def shown_path(path: str, folder: str) -> str:
    """The path as the user would type it in the folder, for a shell."""
    from seismo.escape import shell_word

    if folder and path.startswith(folder.rstrip("/") + "/"):
        path = path[len(folder.rstrip("/")) + 1 :]
        path = f"./{path}" if path.startswith("-") else path
    return shell_word(path)
