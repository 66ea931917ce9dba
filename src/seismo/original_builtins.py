"""A copy of the built-in names, made at the import of seismo, for code that runs inside the recorded program.

A program may replace built-ins such as len, isinstance, open and print. A function looks them up in the `__builtins__`
that its module had at the function's creation. By default, all modules share this dict. So a module whose functions run
in the middle of the program begins with

    from seismo.original_builtins import builtins as __builtins__

and is then unaffected by changes to the built-in names.

That import has to run before the functions below it are created. `-X lazy_imports=all` (3.15), which is meant for the
program, would delay it, and would load seismo's other modules in the middle of the recording. So lazy imports are
switched off while seismo's modules load.
"""

from __future__ import annotations

import builtins as _builtins
import sys

builtins = dict(vars(_builtins))
__builtins__ = builtins  # type: ignore[assignment]


def imports(mode: str) -> str:
    """Set the mode of lazy imports, "normal" or "all", and return the previous one, or "" if nothing was done."""
    set_mode = getattr(sys, "set_lazy_imports", None)  # 3.15 and later
    if set_mode is None or not mode:
        return ""
    was: str = sys.get_lazy_imports()  # type: ignore[attr-defined]
    set_mode(mode)
    return was


class AtOnce:
    """A context manager in which imports are not lazy, for modules of seismo that a program may import."""

    def __enter__(self) -> None:
        self._mode = imports("normal")

    def __exit__(self, *_: object) -> None:
        imports(self._mode)


class Restored(AtOnce):
    """A context manager that restores the built-in names, for the end of a recording.

    The code that writes reports, and the standard library that it uses, look names up in the shared dict.
    """

    def __enter__(self) -> None:
        super().__enter__()
        now = vars(_builtins)
        theirs = [(name, now.get(name, self)) for name in builtins]
        self._theirs = [(name, value) for name, value in theirs if value is not builtins[name]]
        for name, _ in self._theirs:
            now[name] = builtins[name]

    def __exit__(self, *_: object) -> None:
        now = vars(_builtins)
        for name, value in self._theirs:
            if value is self:
                now.pop(name, None)
            else:
                now[name] = value
        super().__exit__()
