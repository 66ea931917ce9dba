"""Classify source files as the program's own or a library's.

Reports show the program's own code first, because imports dominate the profile of a script of a few milliseconds.

A recording may come from another machine, so the path decides, not only this interpreter's settings. The standard
library is frozen or below lib/python3.N; installed packages are below site-packages. A program that lies there itself
(`seismo lines -m json.tool`) owns its whole package. Code generated at run time has no path: it belongs to the module
of its globals, or to the module that its name mentions. If no file is the program's own, all count as its own.

The summary imports this module: no regular expressions.
"""

from __future__ import annotations

import os

from seismo.report.words import PYTHON, Signs, duration, percent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from seismo.model import Recording

STANDARD = "the standard library"
INSTALLED = "installed packages"

_FROZEN = "<frozen "


def _is_version(name: str) -> bool:
    return name.startswith("python3.") and name[8:].rstrip("t").isdigit()


def library_of(path: str) -> tuple[str, str]:
    """Return the library of a file, or "" for none, and the path of the package or module that holds the file."""
    if path.startswith(_FROZEN):
        return STANDARD, path
    parts = path.replace("\\", "/").split("/")
    for at in range(len(parts) - 2, 0, -1):
        if parts[at] in ("site-packages", "dist-packages"):
            return INSTALLED, "/".join(parts[: at + 2])
        if _is_version(parts[at]) and parts[at - 1] in ("lib", "lib64"):
            return STANDARD, "/".join(parts[: at + 2])
    here = os.path.dirname(os.__file__ or "")
    if here and path.startswith(here + os.sep):
        return STANDARD, here + os.sep + path[len(here) + 1 :].partition(os.sep)[0]
    # Scripts that an installed package puts into bin/ only call the package.
    return (INSTALLED if len(parts) > 1 and parts[-2] in ("bin", "Scripts") else ""), path


def file_key(name: str, module: str) -> str:
    """Return a key for the file; code generated at run time gets one for each module."""
    return f"{name}\0{module}" if name.startswith("<") and not name.startswith(_FROZEN) else name


def libraries(files: Iterable[tuple[str, str, Iterable[str]]]) -> dict[str, str]:
    """Return the library of each file, or "" for the program's own.

    files: for each its key (file_key), its path if known, and the modules of its functions.
    """
    known: dict[str, tuple[str, str]] = {}
    made: dict[str, set[str]] = {}
    modules_of = {}
    mains = set()
    for name, path, modules in files:
        modules_of[name] = set(modules)
        if name.startswith("<") and not name.startswith(_FROZEN):
            made[name] = modules_of[name]
            continue
        kind, package = known[name] = library_of(path or name)
        if "__main__" in modules_of[name] and package != (path or name).replace("\\", "/"):
            mains.add(package)
        elif "__main__" in modules_of[name] and kind == STANDARD:
            mains.add(package)  # a module outside of a package, such as timeit.py
    result = {name: "" if package in mains else kind for name, (kind, package) in known.items()}
    kinds = {module: kind for name, kind in result.items() for module in modules_of[name]}
    for name, modules in made.items():
        of = {module or _named(name, kinds) for module in modules}
        made_by = {STANDARD if module.startswith("namedtuple_") else kinds.get(module, "") for module in of}
        result[name] = "" if "" in made_by else made_by.pop()
    own = any(not kind for name, kind in result.items() if name in known or "__main__" in made[name])
    return result if own else dict.fromkeys(result, "")


def _named(name: str, known: Container[str]) -> str:
    """Return the known module named in generated code such as `<attrs generated __eq__ app.model.Order>`, or "".

    Used for code whose globals have no module name.
    """
    for word in name.partition("\0")[0].strip("<>").split():
        while "." in word:
            word = word.rpartition(".")[0]
            if word in known:
                return word
    return ""


def of_functions(recording: Recording, ids: Iterable[int] | None = None) -> dict[int, str]:
    """Return the library of each function, or "" for the program's own. ids: of Python functions, by default all."""
    if ids is None:
        ids = [row for row, kind in enumerate(recording.functions["kind"]) if kind == PYTHON]
    names, modules = recording.functions["file"], recording.functions["module"]
    paths = {row.file: row.path for row in recording.sources}
    keys = {function: file_key(names[function], modules[function]) for function in ids}
    files: dict[str, tuple[str, set[str]]] = {}
    for function, key in keys.items():
        files.setdefault(key, (paths.get(names[function], ""), set()))[1].add(modules[function])
    whose = libraries((key, path, members) for key, (path, members) in files.items())
    return {function: whose[key] for function, key in keys.items()}


def library_words(times: Mapping[str, float], whole_ns: float, signs: Signs) -> str:
    """Return the own time of the libraries' lines in words, or "" if there is none."""
    parts = [
        f"{duration(ns, signs)} ({percent(ns, whole_ns) or '0 %'}) in lines of {kind}"
        for kind, ns in sorted(times.items(), key=lambda item: -item[1])
        if kind
    ]
    return ", ".join(parts)
