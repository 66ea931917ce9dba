"""The lines of a project's files that changed since a revision according to git, with uncommitted and new files.

The files on disk are compared with the merge base of the revision and HEAD, so later changes on main do not count. A
renamed file has changed only where its text did. An untracked file has changed in all lines, unless git ignores it.

git runs without the user's customizations: no external diff, text conversion, pager, file-system monitor or locks. A
diff is parsed by the line counts of its hunks, so that no text of a file can be mistaken for a header.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from dataclasses import dataclass

from seismo.errors import SeismoError, UsageError

# The number of old lines, the first new line and their number in the head of a hunk, `@@ -3 +3,2 @@ def f():`.
_HUNK = re.compile(rb"@@ -[0-9]+(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")


@dataclass(frozen=True)
class Change:
    """The changed lines of a file, as numbered now. path: absolute, without links; shown: git's name."""

    path: str
    shown: str
    lines: frozenset[int]


def changes(revision: str, folder: str) -> list[Change]:
    """Return the changed files of the folder's repository by path, without deleted ones.

    Raise UsageError for an unknown revision, or SeismoError if there is no git or no repository.
    """
    root = os.fsdecode(_git(folder, "rev-parse", "--show-toplevel").rstrip(b"\n"))
    if not root:
        raise SeismoError("this is a bare repository", folder, "run it in a work tree")
    start = _start(root, revision)
    options = "--no-color --no-ext-diff --no-textconv --no-relative --find-renames --unified=0 --inter-hunk-context=0"
    options += " --ignore-submodules=all --src-prefix=a/ --dst-prefix=b/"
    found = _from_diff(_git(root, "diff", *options.split(), start, "--"))
    for name in filter(None, _git(root, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0")):
        found.setdefault(name, set()).update(_all_lines(os.path.join(root, os.fsdecode(name))))
    made = []
    for raw, lines in found.items():
        shown = os.fsdecode(raw)
        made.append(Change(os.path.realpath(os.path.join(root, shown)), shown, frozenset(lines)))
    return sorted(made, key=lambda change: change.path)


def _start(root: str, revision: str) -> str:
    hint = "it is a branch, a tag or a commit, such as main or HEAD~3"
    unknown = UsageError(f"git knows no revision {revision!a}", root, hint)
    if revision.startswith("-") or not revision or "\0" in revision:
        raise unknown
    try:
        commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except SeismoError:
        raise unknown from None
    name = commit.decode("ascii").strip()
    try:
        return _git(root, "merge-base", name, "HEAD").decode("ascii").strip() or name
    except SeismoError:  # no common history, or no commit yet
        return name


def _git(folder: str, *words: str) -> bytes:
    """Return git's output. Raise SeismoError with the first line of its error message."""
    safe = ["--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]
    safe += ["-c", "core.quotePath=true"]
    environment = {**os.environ, "LC_ALL": "C"}
    command = ["git", *safe, *words]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise SeismoError("git is not installed", hint="install git, which finds the changed lines") from None
    except OSError as error:
        raise SeismoError(f"git cannot be run: {error.strerror or error}", folder) from None
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0].removeprefix("fatal: ")
        hint = "git finds the changed lines" if "not a git repository" in message else ""
        raise SeismoError(f"git fails: {message or f'status {done.returncode}'}", folder, hint)
    return done.stdout


def _from_diff(diff: bytes) -> dict[bytes, set[int]]:
    """Return the changed lines of each new file in a diff without context."""
    found: dict[bytes, set[int]] = {}
    lines = iter(diff.split(b"\n"))
    current: set[int] = set()
    for line in lines:
        if line.startswith(b"diff --git "):
            current = set()
        elif line.startswith(b"+++ "):
            name = _name(line[4:])
            if name:
                current = found.setdefault(name, set())
        elif line.startswith(b"@@ "):
            hunk = _HUNK.match(line)
            if not hunk:
                raise SeismoError("git's diff cannot be read", line.decode("utf-8", "replace"))
            removed, first, added = (int(number or 1) for number in hunk.groups())
            current.update(range(first, first + added))
            for _ in range(removed + added):  # regardless of their content
                next(lines, b"")
    return found


def _name(text: bytes) -> bytes:
    """Return the file of a `+++` line without its prefix, or b"" for none."""
    if text == b"/dev/null":
        return b""
    name = text.removesuffix(b"\t")
    if name.startswith(b'"'):  # git quotes special names as C does, with escapes that Python has, too
        name = ast.literal_eval(f"b{name.decode('ascii')}")
    return name.removeprefix(b"b/")


def _all_lines(path: str) -> range:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:  # a dangling link, a folder, or deleted meanwhile
        return range(0)
    return range(1, content.count(b"\n") + 2)
