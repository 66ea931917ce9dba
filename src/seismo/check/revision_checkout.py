"""Checkout of another revision of the project: `seismo check --against main`.

The worktree is in a temporary folder and is removed afterwards. The same program runs in it, in the same folder, and
entries of sys.path inside the project are redirected to it. The measured code must be in the worktree. If an installed
copy of the project is imported instead, it would be compared with itself, so the check is refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from seismo.check.counted_runs import FailedError, Side, run
from seismo.check.portable_paths import INSTALLED, installed
from seismo.errors import CheckError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.check.measurement import Measurement

EXTENSIONS = (".so", ".pyd")


def root_of(folder: str) -> str:
    """Return the top of the git repository that contains the folder, or the folder itself if there is none."""
    return _tried(folder, "rev-parse", "--show-toplevel") or folder


def revision_of(folder: str, against: str, updates: bool, builds: bool, options: str = "--") -> str:
    """Return what to compare with if git resolves it to a commit, or "" if it is a file or nothing.

    Raise UsageError if it does not go with an update or a build. `options` is the prefix of option names.
    """
    commit = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{against}^{{commit}}")
    if against and not os.path.isfile(os.path.join(folder, against)) and _tried(folder, *commit) is not None:
        if updates:
            raise UsageError(f"{options}update writes a file, and {options}against names a revision of git", against)
        return against
    if builds:
        raise UsageError(
            f"{options}build is for a revision of git", against or f"{options}build", f"give one with {options}against"
        )
    return ""


@contextmanager
def checked_out(side: Side, revision: str, build: str = "") -> Iterator[tuple[Side, list[str]]]:
    """Yield the side at another revision, and remarks about it. Its folder exists inside the block only.

    `build` is a shell command to run in it first. Raise CheckError on failure, or FailedError if the build fails.
    """
    top = root_of(side.folder)
    commit = _git(side.folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    scratch = os.path.realpath(tempfile.mkdtemp(prefix="seismo-check-"))
    there = os.path.join(scratch, os.path.basename(top) or "project")
    try:
        _git(top, "worktree", "add", "--detach", "--quiet", there, commit)
        old, remarks = _moved(side, top, there, revision)
        if build:
            status, output = run(["/bin/sh", "-c", build], replace(old, folder=there))
            if status:
                raise FailedError(f"the build at {revision} failed with exit status {status}", build, output=output)
        yield old, remarks
    finally:
        _tried(top, "worktree", "remove", "--force", there)
        shutil.rmtree(scratch, ignore_errors=True)
        _tried(top, "worktree", "prune")


def _moved(side: Side, top: str, there: str, revision: str) -> tuple[Side, list[str]]:
    """Return the side in the worktree, and remarks."""
    remarks = []

    def turned(path: str) -> str:
        full = os.path.realpath(os.path.join(side.folder, path))
        inside = full == top or full.startswith(top + "/")
        return os.path.join(there, os.path.relpath(full, top)) if inside else path

    folder = turned(side.folder)
    if not os.path.isdir(folder):
        raise CheckError(f"the current folder does not exist at {revision}", os.path.relpath(side.folder, top))
    words = list(side.words)
    if words and not words[0].startswith("-"):
        script = os.path.join(side.folder, words[0])
        target = turned(words[0])
        if os.path.isabs(words[0]):
            words[0] = target
        full = os.path.join(folder, target)
        if full.startswith(there + "/") and not os.path.exists(full) and os.path.isfile(script):
            os.makedirs(os.path.dirname(full), exist_ok=True)
            shutil.copy2(script, full)
            remarks.append(f"{words[0]} does not exist at {revision}: the current one ran on both sides")
    return replace(
        side, words=words, folder=folder, root=there, name=revision, paths=tuple(map(turned, side.paths))
    ), remarks


def path_of_project(top: str) -> tuple[str, ...]:
    """Return the entries of sys.path inside the project, such as that of an editable installation."""
    real = os.path.realpath(top)
    given = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    found: list[str] = []
    for path in (*given, *sys.path[1:]):
        full = os.path.realpath(path)
        inside = full == real or full.startswith(real + "/")
        if inside and not _is_environment(full, real) and full not in found:
            found.append(full)
    return tuple(found)


def _is_environment(path: str, top: str) -> bool:
    if set(path.split("/")) & set(INSTALLED):
        return True
    while path not in (top, "/"):
        if os.path.exists(os.path.join(path, "pyvenv.cfg")):
            return True
        path = os.path.dirname(path)
    return False


def refuse_others(found: Measurement, old: Side, top: str) -> None:
    """Raise CheckError if the measured code is not in the worktree."""
    files = set(found.sources.values())
    inside = {path for path in files if path.startswith(old.root + "/")}
    shadowing = sorted(path for path in files - inside if _belongs_elsewhere(path, old.root, top))
    if shadowing:
        raise CheckError(
            f"the code that ran at {old.name} is not from {old.name}: an installed copy was imported instead",
            shadowing[0],
            "put the project's folder first: PYTHONPATH=. (or src), or uninstall the copy",
        )
    if not inside:
        raise CheckError(
            f"none of the code that ran is in the checkout of {old.name}",
            old.folder,
            "give the program by its path in the repository, or put the project's folder first: PYTHONPATH=. (or src)",
        )


def _belongs_elsewhere(path: str, root: str, top: str) -> bool:
    """Return True for a file of the project outside the worktree: in its own folder, or as an installed package."""
    real = os.path.realpath(top)
    if path.startswith((top + "/", real + "/")) and not _is_environment(path, real):
        return True
    inside = installed(path)
    return bool(inside) and any(os.path.isfile(os.path.join(root, base, inside)) for base in ("", "src"))


def extensions(top: str) -> list[str]:
    """Return compiled modules of the project that git does not track: another revision must be built first."""
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".")
            and not _is_environment(os.path.join(folder, name), top)
            and name != "node_modules"
        ]
        found += [os.path.join(folder, name) for name in files if name.endswith(EXTENSIONS)]
        if len(found) > 3:
            break
    return [path for path in found if _tried(top, "ls-files", "--error-unmatch", "--", path) is None]


def _tried(folder: str, *words: str) -> str | None:
    """Return the output of git, or None if it fails."""
    try:
        return _git(folder, *words)
    except CheckError:
        return None


def _git(folder: str, *words: str) -> str:
    """Return the output of git. Raise CheckError with its message on failure."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
    }
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, env=kept, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise CheckError(f"git cannot be run: {error.strerror}", folder, "install git, or give a file") from None
    if done.returncode:
        message = done.stderr.strip().splitlines()
        raise CheckError("git refuses", message[-1] if message else " ".join(words[:2]), "see: git log")
    return done.stdout.strip()
