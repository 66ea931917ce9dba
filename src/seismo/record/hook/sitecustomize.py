"""Runs at the start of every Python that a program under `seismo profile --children` starts.

Its folder stands first on PYTHONPATH, so site imports this file in place of the machine's own sitecustomize. It takes
the folder away again, from sys.path and from what the program sees in os.environ, starts the recording, and hands over
to the sitecustomize that would have run without it. Nothing here may fail aloud: another interpreter that cannot load
seismo's core runs on as if nothing had been.
"""

import sys


def _begin() -> None:
    import os.path

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    home = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    before = set(sys.modules)
    sys.path.insert(0, home)
    try:
        from seismo.record.children import follow

        follow(here)
    except Exception:  # noqa: BLE001
        for name in set(sys.modules) - before:
            if name == "seismo" or name.startswith("seismo."):
                del sys.modules[name]
    finally:
        sys.path.remove(home)


def _hand_over() -> None:
    """Imports the sitecustomize that site was looking for. ImportError if there is none, as site expects."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  another file than this one: the folder is off the path
    finally:
        # The import system wants an entry to be there for the module it has just run; when it sees an exception it
        # takes it away.
        if "sitecustomize" not in sys.modules and ours is not None:
            sys.modules["sitecustomize"] = ours


_begin()
_hand_over()
