"""Path aliases: the paths of recordings from other machines or folders, mapped to local ones.

    aliases.add("/ci/*/src", "src")
    aliases.map("/ci/17/src/app/core.py")     gives "/home/me/src/app/core.py"

An alias maps the path of a source tree elsewhere to its local path. Its pattern is a file pattern (file_patterns.py)
for the start of a path. Case is ignored and both slashes are equivalent, so that Windows paths match. The first alias
that matches and leads to an existing file is used. A path without such an alias is unchanged.
"""

from __future__ import annotations

import functools
import ntpath
import os
import posixpath
import re
from typing import TYPE_CHECKING, Any

from seismo.coverage.file_patterns import expression_of
from seismo.errors import UsageError
from seismo.model.combine import with_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from seismo.model import Recording


class Aliases:
    """The local paths of source trees from elsewhere. Relative paths start at the current folder.

    map(path) returns the local path of a path.
    """

    def __init__(self) -> None:
        self._aliases: list[tuple[re.Pattern[str], str]] = []
        self.map = functools.cache(self._mapped)

    def add(self, pattern: str, result: str) -> None:
        """Map paths that begin with the pattern to the result. Raise UsageError for an invalid pattern."""
        slash = _slash(pattern)
        if len(pattern) > 1:
            pattern = pattern.rstrip("\\/")
        if pattern.endswith("*"):
            raise UsageError("an alias cannot end with a wildcard: it is the root of a tree", pattern)
        if not pattern.startswith("*") and not any(kind.isabs(pattern + slash) for kind in (ntpath, posixpath)):
            pattern = os.path.realpath(pattern)
            slash = "/"
        regex = re.compile(expression_of(pattern if pattern.endswith(slash) else pattern + slash), re.IGNORECASE)
        self._aliases.append((regex, os.path.realpath(result).rstrip("/") + "/"))
        self.map.cache_clear()

    def _mapped(self, path: str) -> str:
        for regex, result in self._aliases:
            begin = regex.match(path)
            if begin is None:
                continue
            rest = path[begin.end() :]
            here = os.path.realpath(result + (rest.replace("\\", "/") if _slash(path) == "\\" else rest))
            if os.path.exists(here):
                return here
        return path


def _slash(path: str) -> str:
    found = re.search(r"[\\/]", path)
    return found[0] if found else "/"


def aliases_of(paths: Mapping[str, Iterable[str]], more: Iterable[str] = ()) -> Aliases:
    """Return the aliases of --paths CANONICAL=ALIAS[,ALIAS...], then those of the setting [paths]. Raise UsageError."""
    found = Aliases()
    for text in more:
        result, equals, patterns = text.partition("=")
        if not (result and equals and patterns):
            raise UsageError(f"--paths cannot be {text!a}", hint="it is CANONICAL=ALIAS, such as src=/ci/*/src")
        for pattern in patterns.split(","):
            found.add(pattern, result)
    for group in paths.values():
        canonical, *others = list(group) or [""]
        for pattern in others:
            found.add(pattern, canonical)
    return found


def mapped(recording: Recording, aliases: Aliases) -> Recording:
    """Return the recording with local paths for the files of its functions, sources and settings."""
    files: dict[str, str] = {}  # maps a function's file to its local path
    paths: dict[str, str] = {}  # maps a source's path to its local path
    for row in recording.sources:
        here = aliases.map(row.path) if row.path else row.path
        if here != row.path:
            paths[row.path] = files[row.file] = here
    for file in set(recording.functions["file"]) - {row.file for row in recording.sources}:
        here = aliases.map(file)
        if here != file:
            files[file] = here
    meta = _mapped_meta(recording.meta, aliases)
    if not files and meta == recording.meta:
        return recording
    return with_files(recording, files, paths, meta)


def _mapped_meta(meta: dict[str, Any], aliases: Aliases) -> dict[str, Any]:
    """Return the metadata with local folders in the settings, including those of merged recordings."""

    def moved(folder: str) -> str:
        return aliases.map(folder + "/").rstrip("/") or "/"

    found = dict(meta)
    if isinstance(meta.get("merged"), list):
        found["merged"] = [_mapped_meta(one, aliases) if isinstance(one, dict) else one for one in meta["merged"]]
    settings, config = meta.get("settings"), meta.get("config")
    if isinstance(settings, dict) and isinstance(settings.get("source_dirs"), list):
        folders = [moved(str(folder)) for folder in settings["source_dirs"]]
        found["settings"] = {**settings, "source_dirs": list(dict.fromkeys(folders))}
    if isinstance(meta.get("folder"), str):
        found["folder"] = moved(meta["folder"])
    if isinstance(config, dict) and isinstance(config.get("folder"), str):
        found["config"] = {**config, "folder": moved(config["folder"])}
    return found
