"""Deferral of interrupts and lazy imports while seismo starts in the program's process.

Ctrl-C. The user wants to interrupt the program, which has not begun. A KeyboardInterrupt during the start would show
seismo's frames, leave an empty recording, or be lost in a call from C. So the signal is blocked during the start, which
takes some hundredths of a second. SIGINT is not blocked while the program's text is read and compiled, which may take
long.

Lazy imports (3.15). The docstring of seismo.original_builtins has the reason.
"""

from __future__ import annotations

from seismo import original_builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_mask: Iterable[int] | None = None  # signal mask of the starting thread, or None if nothing is blocked
_mode = ""  # the program's mode of lazy imports, or "" if it was not changed


def defer_interrupts() -> None:
    """Block SIGINT from now on."""
    global _mask
    import _signal  # type: ignore[import-not-found]  # signal itself makes enumerations

    if _mask is None:
        _mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGINT,))


def allow_interrupts() -> None:
    """Unblock SIGINT: a pending one raises KeyboardInterrupt here."""
    global _mask
    import _signal

    mask, _mask = _mask, None
    if mask is not None:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)


def disable_lazy_imports() -> None:
    """Disable lazy imports from now on."""
    global _mode
    _mode = _mode or original_builtins.imports("normal")


def restore_lazy_imports() -> None:
    """Restore the interpreter's own mode of imports."""
    global _mode
    mode, _mode = _mode, ""
    original_builtins.imports(mode)
