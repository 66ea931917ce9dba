"""The hook that runs at the start of every Python started under `seismo profile --children`.

Its folder is first on PYTHONPATH, so site imports this file instead of the machine's own sitecustomize. The hook
removes the folder from sys.path and the environment, starts the recording, and imports the machine's own sitecustomize.
No error here may be visible. If a Python cannot be recorded (another version, no permission), it leaves a mark for the
recording and runs unchanged. Its children are not recorded. This file must run on every version since 2.7.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

import sys


def _begin():
    import os.path

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    packed = os.environ.pop("SEISMO_CHILDREN", None)
    path = os.environ.get("PYTHONPATH", "")
    if path == here:
        del os.environ["PYTHONPATH"]
    elif path.startswith(here + os.pathsep):
        os.environ["PYTHONPATH"] = path[len(here) + 1 :]
    if packed is None:
        return
    home = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    before = set(sys.modules)
    sys.path.insert(0, home)
    try:
        from seismo.original_builtins import AtOnce

        with AtOnce():
            from seismo.process.children import follow

            follow(packed)
    except Exception as error:  # noqa: BLE001
        for name in set(sys.modules) - before:
            if name == "seismo" or name.startswith("seismo."):
                del sys.modules[name]
        _mark(here, packed.partition("\n")[2], error)
    finally:
        sys.path.remove(home)


def _mark(here, folder, error):
    """Leave a mark in the folder of the parts, if the folder still exists."""
    import os.path

    if not os.path.isdir(folder):
        return
    try:
        with open(os.path.join(here, "unrecorded_mark.py")) as file:
            space = {}  # type: dict[str, object]
            exec(file.read(), space)  # noqa: S102  the program may have a module with this name
        why = getattr(error, "reason", "") or getattr(error, "what", "") or error
        text = type(error).__name__ + ": " + str(why)
        space["leave"](folder, text)  # type: ignore[operator]
    except Exception:  # noqa: BLE001
        return


def _hand_over():
    """Import the sitecustomize that site was looking for. ImportError if there is none, as site expects."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  another file than this one: the folder is off the path
    finally:
        # The import system requires an entry for the module that it has just run, and removes it after an exception.
        if "sitecustomize" not in sys.modules and ours is not None:
            sys.modules["sitecustomize"] = ours


_begin()
_hand_over()
