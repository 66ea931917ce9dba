"""The built-in names as they are when seismo is imported, for its code that runs inside of the recorded program.

A program may replace what is built in: len, isinstance, open, print. What a function calls by such a name is looked up
in its module's `__builtins__`, which is the shared one unless the module has a dict of its own there when the function
is made. So a module whose functions run in the middle of the program begins with

    from seismo.originals import builtins as __builtins__

and then neither notices what the program does to the built-in names, nor fails by it inside of the program.
"""

from __future__ import annotations

import builtins as _builtins

builtins = dict(vars(_builtins))
__builtins__ = builtins  # type: ignore[assignment]


class Restored:
    """A context in which the built-in names are what they were: for the end of a recording.

    What writes reports, and the parts of the standard library that it uses, go by the shared names.
    """

    def __enter__(self) -> None:
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
