"""Running of a program for a verb, and facts about the user's terminal and folder."""

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
    """Run the program, with begin() before its first instruction and ended(how) after its main module.

    Report a SeismoError of begin() and return the exit status. In all other cases, raise the program's exception, or
    SystemExit at its regular end. A normal return would make the launcher call sys.exit, which would be recorded as a
    call of the program. give_up() is called if nothing of the program has run.
    """
    from seismo import _core
    from seismo.process import run_program as run

    began = False

    def first() -> None:
        nonlocal began
        begin()
        began = True

    try:
        run.run(program, first, ended)
    except BaseException as error:
        if not began or _core.quietly(_never_ran, error):
            give_up()
        if not began and isinstance(error, SeismoError):
            sys.excepthook = sys.__excepthook__
            return failed(error)
        raise
    raise SystemExit(0)


def _never_ran(error: BaseException) -> bool:
    """Return True if runpy did not find the module, which it reports by SystemExit like `python -m`."""
    context = error.__context__
    return isinstance(error, SystemExit) and type(context).__name__ == "_Error" and type(context).__module__ == "runpy"


def stderr_is_open() -> bool:
    """Return True unless the program has closed stderr, in which case it wants no more output there."""
    try:
        os.fstat(2)
        return sys.__stderr__ is not None and not sys.__stderr__.closed
    except OSError:
        return False


def current_folder() -> str:
    """Return the current folder, or "" if it was removed. Call it before the program runs, which may change it."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def shown_path(path: str, folder: str) -> str:
    """Return the path relative to the folder, quoted for a shell."""
    from seismo.escape import shell_word

    if folder and path.startswith(folder.rstrip("/") + "/"):
        path = path[len(folder.rstrip("/")) + 1 :]
        path = f"./{path}" if path.startswith("-") else path
    return shell_word(path)
