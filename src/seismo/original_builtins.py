"""The built-in names as they are when seismo is imported, for its code that runs inside of the recorded program.

A program may replace what is built in: len, isinstance, open, print. What a function calls by such a name is looked up
in its module's `__builtins__`, which is the shared one unless the module has a dict of its own there when the function
is made. So a module whose functions run in the middle of the program begins with

    from seismo.original_builtins import builtins as __builtins__

and then neither notices what the program does to the built-in names, nor fails by it inside of the program.

That line has to do its work where it stands. `-X lazy_imports=all` (3.15), which is meant for the program, would put it
off until after the functions are made, and the modules of ours that are named on other lines would be loaded in the
middle of the recording. So imports are made at once while our modules load.
"""

from __future__ import annotations

import builtins as _builtins
import sys

builtins = dict(vars(_builtins))
__builtins__ = builtins  # type: ignore[assignment]


def imports(mode: str) -> str:
    """Lets the interpreter make imports in this mode, "normal" or "all", and returns the one until now; "" is none."""
    set_mode = getattr(sys, "set_lazy_imports", None)  # 3.15 and later
    if set_mode is None or not mode:
        return ""
    was: str = sys.get_lazy_imports()  # type: ignore[attr-defined]
    set_mode(mode)
    return was


class AtOnce:
    """A context in which imports are made where they are written: for modules of ours that a program may name."""

    def __enter__(self) -> None:
        self._mode = imports("normal")

    def __exit__(self, *_: object) -> None:
        imports(self._mode)


class Restored(AtOnce):
    """A context in which the built-in names are what they were: for the end of a recording.

    What writes reports, and the parts of the standard library that it uses, go by the shared names.
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
