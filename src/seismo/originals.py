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
