"""What is held back in the process of the program while seismo starts there.

Ctrl-C. The user means the program, which has not begun: a KeyboardInterrupt in the middle of what starts the recording
would show frames of ours, leave a recording of nothing, or be lost where something of ours is called from C. So the
signal waits, for the few hundredths of a second that the start takes. It does not where the program's text is read and
compiled, which can take as long as it likes and is the same without us.

Lazy imports (3.15): seismo.original_builtins says why.
"""

from __future__ import annotations

from seismo import original_builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_mask: Iterable[int] | None = None  # of the thread that starts; None: nothing is held back
_mode = ""  # of lazy imports, as the program will find it; "" as _mask's None


def defer_interrupts() -> None:
    """From now on Ctrl-C waits."""
    global _mask
    import _signal  # type: ignore[import-not-found]  # signal itself makes enumerations

    if _mask is None:
        _mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGINT,))


def allow_interrupts() -> None:
    """Ctrl-C comes through again: one that waited raises KeyboardInterrupt here."""
    global _mask
    import _signal

    mask, _mask = _mask, None
    if mask is not None:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)


def disable_lazy_imports() -> None:
    """From now on imports are made where they are written."""
    global _mode
    _mode = _mode or original_builtins.imports("normal")


def restore_lazy_imports() -> None:
    """Imports are made as the interpreter was told to make them."""
    global _mode
    mode, _mode = _mode, ""
    original_builtins.imports(mode)
