"""The coverage recorder of this process, shared by `seismo cover`, seismo.cover() and followed children.

Its recording is the engine's second one: it needs no thread and no clock, and runs beside a profile and any number of
watches.

The files to record. The settings (coverage.settings) become an expression about files and modules, which the native
core evaluates once for each code object. Patterns of files are coverage.py's: `*` stays inside of a folder, `**` does
not. The expression's star crosses slashes. So the included files are a superset, and only patterns with an exact
translation omit files. The reader has the patterns in the recording's settings and leaves out the rest, so nothing
wanted is lost.

By default only the program's own code is recorded. This excludes the standard library, installed packages
(site-packages, or a folder of a virtual environment on the path), and seismo.
"""

from __future__ import annotations

import os
import sys

from seismo import _core, recording_kinds
from seismo.coverage.file_patterns import absolute, globs
from seismo.errors import UsageError
from seismo.options import COVERAGE_FLAGS
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine
from seismo.process.recorder_users import RecorderUsers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from seismo.coverage.settings import Settings

LISTS = ("source_dirs", "source_pkgs", "include", "omit")
_HOW = (*COVERAGE_FLAGS, "tests")
_LIBRARY = f"{sys.platlibdir}/python{sys.version_info.major}.{sys.version_info.minor}"  # below a prefix

_context = ""
_fd = -1  # the descriptor that is recorded into, or -1


def options(settings: Settings) -> dict[str, object]:
    """Return a project's settings in the form for start() and for children. Raises UsageError for invalid folders."""
    folders, packages = list(settings.source_dirs), list(settings.source_pkgs)
    for name in settings.source:
        (folders if os.path.isdir(os.path.join(settings.folder, name)) else packages).append(name)
    for name in folders:
        path = os.path.realpath(os.path.join(settings.folder, name))
        if not os.path.isdir(path):
            raise UsageError("a source folder is no folder", name, "a package is named with dots: --source PACKAGE")
        if path == "/":
            raise UsageError("a source folder cannot be the root of all", name)
    found: dict[str, object] = {
        **{name: int(getattr(settings, name)) for name in COVERAGE_FLAGS},
        "tests": int(settings.contexts == "test"),
        "context": settings.context,
        "pylib": int(settings.cover_pylib),
        "source_dirs": [os.path.join(settings.folder, name) for name in folders],
        "source_pkgs": packages,
        "include": absolute(settings.include, settings.folder),
        "omit": absolute(settings.omit, settings.folder),
    }
    if settings.file:
        from seismo.coverage.recorded_settings import packed

        found["config"] = packed(settings)
    return {name: value for name, value in found.items() if value}


def _listed(settings: dict[str, object], name: str) -> list[str]:
    return settings.get(name, [])  # type: ignore[return-value]


# ---- The files to record. ----


def _below(*folders: str) -> list[str]:
    """Return globs for all files below the folders, under their given names and their real ones."""
    names = [sorted({os.path.abspath(path), os.path.realpath(path)}) for path in folders]
    return ["".join(f"[{c}]" if c in "*?[" else c for c in name.rstrip("/")) + "/*" for pair in names for name in pair]


def expression(settings: dict[str, object]) -> str:
    """Return the expression for the functions to record, from the settings of a process."""
    from seismo.expression.lexer import quoted

    def file(patterns: Iterable[str]) -> str:
        return f"file({', '.join(map(quoted, patterns))})"

    terms = [f"not {file(['<*'])}"]
    folders, packages = _listed(settings, "source_dirs"), _listed(settings, "source_pkgs")
    installed = _below(*installed_folders())
    if folders or packages:
        wanted = [file(_below(*folders))] if folders else []
        if packages:
            names = [quoted(name) for package in packages for name in (package, f"{package}.*")]
            wanted.append(f"module({', '.join(names)})")
            main = main_module()
            if any(main == name or main.startswith(f"{name}.") for name in packages):
                wanted.append('module("__main__")')
        terms.append(f"({' or '.join(wanted)})")
        inside = [*folders, *(path for name in packages for path in places_of(name))]
        among = [path for path in inside if _is_below(path, installed_folders())]
        allowed = [glob if os.path.isdir(path) else glob.removesuffix("/*") for path in among for glob in _below(path)]
        terms.append(f"(not {file(installed)} or {file(allowed)})" if allowed else f"not {file(installed)}")
    elif _listed(settings, "include"):
        terms.append(file(glob for pattern in _listed(settings, "include") for glob in globs(pattern)[0]))
    else:
        standard = [] if settings.get("pylib") else _below(*library_folders())
        terms.append(f"not {file([*installed, *standard])}")
    omitted = [found for pattern in _listed(settings, "omit") for found, exact in [globs(pattern)] if exact]
    if omitted:
        terms.append(f"not {file(glob for found in omitted for glob in found)}")
    return " and ".join(terms)


def library_folders() -> list[str]:
    """Return the folders of the standard library."""
    folders = {os.path.dirname(os.__file__ or "/lib")}
    folders |= {f"{prefix}/{_LIBRARY}" for prefix in (sys.base_exec_prefix, sys.base_prefix)}
    return sorted(folders | {os.path.realpath(folder) for folder in folders})


def installed_folders() -> list[str]:
    """Return the folders of installed packages: site-packages, and entries of sys.path in a virtual environment."""
    found = {f"{prefix}/{_LIBRARY}/site-packages" for prefix in (sys.prefix, sys.exec_prefix)}
    found.add(f"{sys.exec_prefix}/bin")  # their commands
    library = library_folders()
    for entry in sys.path:
        path = os.path.abspath(entry)
        packages = os.path.basename(path) in ("site-packages", "dist-packages")
        if packages or (not _is_below(path, library) and os.path.isdir(path) and _in_environment(path)):
            found.add(path)
    return sorted(found)


def _in_environment(path: str) -> bool:
    while path != (above := os.path.dirname(path)):
        path = above
        if os.path.exists(f"{path}/pyvenv.cfg"):
            return True
    return False


def _is_below(path: str, folders: Iterable[str]) -> bool:
    names = (os.path.abspath(path), os.path.realpath(path))
    return any(name == folder or name.startswith(folder + "/") for name in names for folder in folders)


def main_module() -> str:
    """Return the dotted name of the main module: app for `python -m app` and `python dir/app.py`, "" for -c."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if word in ("-X", "-W", "--check-hash-based-pycs"):
            next(words, "")
        elif word == "-m":
            return next(words, "")
        elif word[:2] in ("-m", "-c"):
            return word[2:] if word[1] == "m" else ""
        elif not word.startswith("-"):
            return os.path.splitext(os.path.basename(word.rstrip("/")))[0]
    return ""


def places_of(package: str) -> list[str]:
    """Return the folders of a package, or the file of a module, absolute; [] if it cannot be found. Imports nothing."""
    path: list[str] | None = None
    name = ""
    places: list[str] = []
    for part in package.split("."):
        name = f"{name}.{part}" if name else part
        module = sys.modules.get(name)
        spec: Any = getattr(module, "__spec__", None)
        for finder in sys.meta_path if spec is None else ():
            try:
                spec = finder.find_spec(name, path)
            except Exception:  # noqa: BLE001  a foreign finder may raise anything
                continue
            if spec is not None:
                break
        if spec is None:
            return []
        path = list(spec.submodule_search_locations or ())
        places = path or ([spec.origin] if spec.has_location and spec.origin else [])
        if not path and name != package:
            return []
    return [os.path.abspath(place) for place in places]


# ---- Start and stop. ----


def _agree(settings: dict[str, object]) -> None:
    for name in (*_HOW, "pylib", *LISTS):
        value, has = settings.get(name) or 0, users.settings.get(name) or 0
        if name in settings and value != has:
            shown = ", ".join(_listed(users.settings, name)) if name in LISTS else bool(has)
            raise UsageError(
                f"coverage is being recorded here with {name}={shown or 'nothing'}: a part of it cannot differ",
                hint=f"leave {name} out, or ask for it where the recording starts",
            )


def context(name: str) -> str:
    """Set the context for what runs from now on in all threads, or "" for none. Return the previous one."""
    global _context
    before, _context = _context, name
    _switch()
    return before


# Open parts of a running recording (sessions inside of it), by number. Code belongs to all parts that are open, so the
# name of the context has all their numbers, after the name that others gave.
_parts: list[int] = []
_PART = "seismo.cover "


def begin_part(number: int) -> None:
    """Open the part of this number: what runs from now on belongs to it, too."""
    _parts.append(number)
    _switch()


def end_part(number: int) -> None:
    """Close the part of this number, if it is open."""
    if number in _parts:
        _parts.remove(number)
        _switch()


def is_of_part(name: str, number: int) -> bool:
    """Return True if a context of this name belongs to the part."""
    _, sign, numbers = name.rpartition(_PART)
    return bool(sign) and str(number) in numbers.partition("|")[0].split(",")  # a test's name follows


def _switch() -> None:
    if users:
        part = f"{_PART}{','.join(map(str, _parts))}" if _parts else ""
        _core.cover_context(engine.printable("|".join(filter(None, (_context, part)))))


def so_far() -> bytes:
    """Return the recording up to now as a file's content. Of a recording into a file, much is only in that file."""
    if _fd < 0:
        return _core.snapshot(recording_kinds.COVERAGE)
    if users:
        _core.flush(recording_kinds.COVERAGE)
    try:
        with open(f"/proc/self/fd/{_fd}", "rb") as file:  # reopens the same file, even if it was renamed
            content = file.read()
    except OSError:
        content = b""
    return content if content.startswith(b"\x8fseismo\n") else _core.snapshot(recording_kinds.COVERAGE)


users: RecorderUsers = RecorderUsers(lambda fd: CoverageRecorder().after_fork(fd, users.settings))


def meta(settings: dict[str, object]) -> str:
    """Return the recording's metadata about its settings, as JSON."""
    sought, packages = list(_listed(settings, "source_dirs")), []
    for name in _listed(settings, "source_pkgs"):
        places = [place for place in places_of(name) if os.path.isdir(place)]
        sought += places
        packages += [] if places else [name]
    lists = {"source_dirs": [os.path.realpath(path) for path in sought], "source_pkgs": packages}
    lists |= {name: _listed(settings, name) for name in ("include", "omit")}
    how = {name: bool(settings.get(name)) for name in _HOW}
    context = str(settings.get("context") or "")
    try:
        folder = os.getcwd()
    except OSError:
        folder = ""
    return engine.meta(
        {**how, "context": context, **{name: names for name, names in lists.items() if names}},
        recording_kinds.COVERAGE,
        **{name: how[name] for name in COVERAGE_FLAGS},
        folder=folder,
        **({"config": settings["config"]} if "config" in settings else {}),
    )


class CoverageRecorder(engine.Recorder):
    """The recorder of coverage."""

    users = users
    name = recording_kinds.COVERAGE

    def begin(self, settings: dict[str, object], fd: int, user: object = None) -> bool:
        """Start the recorder, or join it if it runs. Return True if it was started, and so took over fd.

        settings: as from `options`. user: the session, if any. Raises UsageError for a conflict with the running
        recording, and RecordingError if coverage cannot be recorded.
        """

        def begin() -> None:
            global _fd, _context
            how = {name: settings[name] for name in (*_HOW, "apart", "flush_ms") if settings.get(name)}
            how |= {"recorder": self.name, "where": expression(settings)}
            _context = ""
            _parts.clear()
            engine.start_core(how, fd, meta(settings), what="coverage")
            _fd = fd

        started = users.start(user, settings, begin, _agree)
        if started and settings.get("context"):
            context(str(settings["context"]))
        return started

    def end(self, exit_: str = "", user: object = None) -> bool:
        """Remove one user, and all sessions at the end of the whole process. Return True if it was the last."""
        if user is None:
            users.end_sessions()
        return super().end(exit_, user)

    def after_fork(self, fd: int, settings: dict[str, object]) -> None:
        """Forget the parent's events in a forked child, and go on into fd (-1 for memory; -2 to stop silently)."""
        global _fd
        _core.after_fork(fd, meta(settings) if fd != -2 else "{}", self.name)
        _fd = fd
        if fd == -2:
            users.clear()
        elif _context or _parts:
            _switch()
