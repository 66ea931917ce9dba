"""The settings that a recording carries: those of the settings file that it was made with, for whoever looks at it.

A recording is often read elsewhere than where it was made: in another folder, on another machine, after the file was
changed. So what a settings file says about reports goes into the recording, under "config" in what it says about
itself, and a report takes it from there unless another file is named. What says where output goes is not taken along: a
recording from elsewhere must not choose which files are written here.

A recorded process loads this module when there is a settings file, so it does without typing.
"""

from __future__ import annotations

import json
import os
import zlib

from seismo.coverage.settings import SORTS, Settings, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from seismo.model import Recording

# What is carried: what counts as executable, what a report shows, and what paths are called elsewhere.
NAMES = (
    "exclude",
    "partial",
    "partial_always",
    "report_include",
    "report_omit",
    "report_contexts",
    "include_namespace_packages",
    "ignore_errors",
    "fail_under",
    "precision",
    "show_missing",
    "skip_covered",
    "skip_empty",
    "sort",
    "relative_files",
    "html_title",
    "html_skip_covered",
    "html_skip_empty",
    "html_show_contexts",
    "xml_package_depth",
    "json_pretty_print",
    "json_show_contexts",
    "lcov_line_checksums",
)
_LARGEST = {"fail_under": 100, "precision": 20, "xml_package_depth": 10**6}
_SWITCHES = ("html_skip_covered", "html_skip_empty")  # of those that may be None


def packed(settings: Settings) -> str:
    """What a recording is to carry of settings, as JSON without line ends; "": they are of no file."""
    if not settings.file:
        return ""
    found: dict[str, Any] = {"file": settings.file, "folder": settings.folder, "crc": _crc(settings.file)}
    for name in NAMES:
        value = getattr(settings, name)
        if value != getattr(Settings, name):
            found[name] = value
    if settings.paths:
        found["paths"] = {name: list(paths) for name, paths in settings.paths.items()}
    return json.dumps(found)


def _crc(path: str) -> int:
    """The CRC-32 of a file's content; -1: it cannot be read."""
    try:
        with open(path, "rb") as file:
            return zlib.crc32(file.read())
    except (OSError, ValueError):
        return -1


def for_recordings(metas: Iterable[dict[str, Any]], folder: str | None = None, rcfile: str | None = None) -> Settings:
    """The settings for looking at the recordings with this meta data from the folder (the current one).

    rcfile: a settings file, or "" for none. Without it they are those that the recordings carry, if all that carry any
    agree, and else those of the project in the folder. Raises UsageError, which names file and option.
    """
    folder = os.getcwd() if folder is None else folder
    if rcfile is None and not os.environ.get("COVERAGE_RCFILE"):
        carried = [config for meta in metas for config in _configs(meta)]
        if carried and all(config == carried[0] for config in carried):
            return _unpacked(carried[0], folder)
    return load(folder, rcfile)


def for_recording(recording: Recording, folder: str | None = None, rcfile: str | None = None) -> Settings:
    """The settings for looking at one recording: see `for_recordings` and `Settings.of_recording`."""
    return for_recordings([recording.meta], folder, rcfile).of_recording(recording)


def _configs(meta: dict[str, Any]) -> list[dict[str, Any]]:
    merged = meta.get("merged")
    parts = merged if isinstance(merged, list) and merged else [meta]
    configs = [part.get("config") for part in parts if isinstance(part, dict)]
    return [config for config in configs if isinstance(config, dict) and isinstance(config.get("file"), str)]


def _unpacked(config: dict[str, Any], folder: str) -> Settings:
    """Settings from what a recording says, which may be anything: what cannot be a value of the setting is left out."""
    found: dict[str, Any] = {}
    for name in NAMES:
        value = config.get(name)
        default = getattr(Settings, name)
        if isinstance(default, tuple):
            if isinstance(value, list) and all(isinstance(one, str) for one in value):
                found[name] = tuple(value)
        elif isinstance(default, bool) or name in _SWITCHES:
            if isinstance(value, bool):
                found[name] = value
        elif isinstance(default, str):
            if isinstance(value, str) and (name != "sort" or value.removeprefix("-") in SORTS):
                found[name] = value
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _LARGEST[name]:
            found[name] = value if name == "fail_under" else int(value)
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


def settings_text(settings: Settings) -> str:
    """Which settings are used, for the user; "": those that hold without a file."""
    if not settings.carried:
        return settings.file
    if not settings.changed:
        return f"those that it was recorded with, of {settings.file}"
    return f"those that it was recorded with, of {settings.file}, which has changed since: --rcfile FILE reads it"
