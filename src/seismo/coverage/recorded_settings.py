"""The coverage settings that a recording carries: those of the settings file that it was made with.

A recording is often read elsewhere: in another folder, on another machine, after the file was changed. So the settings
for reports are stored in the recording's metadata, under "config". A report uses them unless another file is named.
Output paths are not stored, because a recording from elsewhere must not choose which files are written here.

A recorded process loads this module if there is a settings file, so it avoids typing.
"""

from __future__ import annotations

import os
import zlib

from seismo.coverage.settings import OPTIONS, SORTS, Settings, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from seismo.model import Recording

# The stored settings: exclusions, the contents of reports, and path aliases.
NAMES = (
    *("exclude", "partial", "partial_always", "relative_files"),
    *(name for name, section, _, how in OPTIONS if section != "run" and how not in ("path", "patterns")),
)
_LARGEST = {"fail_under": 100, "precision": 20}


def packed(settings: Settings) -> dict[str, Any]:
    """Return the settings of a file for a recording to carry."""
    found: dict[str, Any] = {"file": settings.file, "folder": settings.folder, "crc": _crc(settings.file)}
    for name in NAMES:
        value = getattr(settings, name)
        if value != getattr(Settings, name):
            found[name] = value
    if settings.paths:
        found["paths"] = {name: list(paths) for name, paths in settings.paths.items()}
    return found


def _crc(path: str) -> int:
    """Return the CRC-32 of a file's content, or -1 if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return zlib.crc32(file.read())
    except (OSError, ValueError):
        return -1


def for_recordings(metas: Iterable[dict[str, Any]], folder: str | None = None, rcfile: str | None = None) -> Settings:
    """Return the settings for reports about recordings with this metadata. folder: by default the current one.

    rcfile is a settings file, or "" for none. Without it, the settings are those that the recordings carry, if all that
    carry any agree, and otherwise those of the project in the folder. Raise UsageError, which names file and option.
    """
    folder = os.getcwd() if folder is None else folder
    if rcfile is None and not os.environ.get("COVERAGE_RCFILE"):
        carried = [config for meta in metas for config in _configs(meta)]
        if carried and all(config == carried[0] for config in carried):
            return _unpacked(carried[0], folder)
    return load(folder, rcfile)


def for_recording(recording: Recording, folder: str | None = None, rcfile: str | None = None) -> Settings:
    """Return the settings for a report about one recording: see `for_recordings` and `Settings.of_recording`."""
    return for_recordings([recording.meta], folder, rcfile).of_recording(recording)


def _configs(meta: dict[str, Any]) -> list[dict[str, Any]]:
    merged = meta.get("merged")
    parts = merged if isinstance(merged, list) and merged else [meta]
    configs = [part.get("config") for part in parts if isinstance(part, dict)]
    return [config for config in configs if isinstance(config, dict) and isinstance(config.get("file"), str)]


def _unpacked(config: dict[str, Any], folder: str) -> Settings:
    """Return the settings from a recording's metadata, which is untrusted. Wrong types and values are ignored."""
    found: dict[str, Any] = {}
    for name in NAMES:
        value, default = config.get(name), getattr(Settings, name)
        if _is_valid(name, value, default):
            found[name] = value if default is None else type(default)(value)
    paths = config.get("paths")
    if isinstance(paths, dict):
        groups = {name: value for name, value in paths.items() if isinstance(value, list)}
        found["paths"] = {name: tuple(one for one in value if isinstance(one, str)) for name, value in groups.items()}
    there = config.get("folder")
    return Settings(
        **found,
        folder=there if isinstance(there, str) and os.path.isabs(there) else folder,
        file=config["file"],
        carried=True,
        changed=_crc(config["file"]) not in (-1, config.get("crc")),
    )


def _is_valid(name: str, value: object, default: object) -> bool:
    if isinstance(default, tuple):
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if isinstance(default, bool) or default is None:
        return isinstance(value, bool)
    if isinstance(default, str):
        return isinstance(value, str) and (name != "sort" or value.removeprefix("-") in SORTS)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _LARGEST[name]


def settings_text(settings: Settings) -> str:
    """Return a description of the settings in use, for the user, or "" for the defaults."""
    if not settings.carried:
        return settings.file
    if not settings.changed:
        return f"as recorded, from {settings.file}"
    return f"as recorded, from {settings.file}, which has changed since: --rcfile FILE reads it"
