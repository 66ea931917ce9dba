"""The coverage settings of a project: coverage.py's settings files, overridden by [tool.seismo.cover].

As in coverage.py, the first of these files is used: .coveragerc, .coveragerc.toml, setup.cfg, tox.ini, pyproject.toml.
The first two belong to coverage.py and count whenever they exist. In the others only coverage sections count, and a
file without any is skipped. A file that is named (--rcfile, COVERAGE_RCFILE) is the only one and must exist.

OPTIONS has the supported options, each with its parser. Other options of coverage.py and unknown ones are listed in
`notes`, once. In [tool.seismo.cover], an unknown name is an error. An invalid value is always an error.

A recorded process loads this module if it measures coverage. So it avoids dataclasses and typing, and imports
configparser or tomllib only for a file that needs it.
"""

from __future__ import annotations

import os

from seismo.errors import UsageError, did_you_mean
from seismo.options import COVERAGE_FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from seismo.model import Recording

# The names of settings files; True if all sections are coverage's.
FILES = {".coveragerc": True, ".coveragerc.toml": True, "setup.cfg": False, "tox.ini": False, "pyproject.toml": False}
SORTS = ("name", "statements", "missing", "branches", "partial", "percent")
_COVERAGE_SORTS = dict(zip(("name", "stmts", "miss", "branch", "brpart", "cover"), SORTS, strict=True))


# The default regular expressions for lines to exclude and for branches that need not be complete. They are those of
# coverage.py, so that a project may switch without a change to its comments. Each is searched for in the whole text
# with re.MULTILINE.
EXCLUDE: tuple[str, ...] = (
    r"#\s*(pragma|PRAGMA)[:\s]?\s*(no|NO)\s*(cover|COVER)",
    # A body that is only `...`, on its own line or after the definition's colon.
    r"^\s*(((async )?def .*?)?[\])]+(\s*->.*?)?:\s*)?\.\.\.\s*(#|$)",
    r"^\s*if (typing\.)?TYPE_CHECKING:",
)
PARTIAL: tuple[str, ...] = (r"#\s*(pragma|PRAGMA)[:\s]?\s*(no|NO)\s*(branch|BRANCH)",)
# These always apply, because their tests have a constant outcome.
PARTIAL_ALWAYS: tuple[str, ...] = (r"^\s*while (True|1|False|0):", r"^\s*if (True|1|False|0):")


class Settings:
    """The settings of coverage: recording, exclusions and reports.

    Patterns of files and folders are kept as written. Relative ones start at `folder`.
    """

    folder = ""  # the absolute folder in which settings were searched
    file = ""  # the path of the settings file, or ""
    carried = False  # True if the recording carries them, from the file as it was then
    changed = False  # True if that file has changed since
    notes: tuple[str, ...] = ()  # sentences about options that were not applied

    # Recording
    branch = False
    counts = False
    contexts = ""  # "test" for a context per test function
    context = ""  # the static context of the whole run
    source: tuple[str, ...] = ()  # packages or folders
    source_pkgs: tuple[str, ...] = ()
    source_dirs: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    omit: tuple[str, ...] = ()
    cover_pylib = False  # True to include the standard library
    children = False
    data_file = ".coverage"  # coverage.py's default, for its data format
    relative_files = False

    # Exclusions
    exclude: tuple[str, ...] = EXCLUDE  # including exclude_also
    partial: tuple[str, ...] = PARTIAL  # including partial_also
    partial_always: tuple[str, ...] = PARTIAL_ALWAYS

    # Reports
    report_include: tuple[str, ...] = ()
    report_omit: tuple[str, ...] = ()
    report_contexts: tuple[str, ...] = ()  # regular expressions
    include_namespace_packages = False
    ignore_errors = False
    fail_under = 0.0
    precision = 0
    show_missing = False
    skip_covered = False
    skip_empty = False
    sort = ""  # one of SORTS, with "-" in front for the largest first, or "" for the name
    paths: Mapping[str, tuple[str, ...]] = {}  # the canonical path and its aliases, by name

    # Formats
    html_directory = "htmlcov"
    html_title = "Coverage report"
    html_skip_covered: bool | None = None  # None for the value of skip_covered
    html_skip_empty: bool | None = None
    xml_output = "coverage.xml"
    json_output = "coverage.json"
    lcov_output = "coverage.lcov"

    def __init__(self, **given: Any) -> None:
        """Set the given values over the defaults."""
        self.folder = os.getcwd() if "folder" not in given else given["folder"]
        for name, value in given.items():
            if name not in NAMES:
                raise TypeError(f"there is no setting {name}")
            setattr(self, name, value)

    def replace(self, **given: Any) -> Settings:
        """Return a copy with other values."""
        return Settings(**{**self.__dict__, **given})

    def overridden(self, **given: Any) -> Settings:
        """Return these settings with the given values. A given source or include replaces all other sources."""
        if "source" in given or "include" in given:
            given = {"source": (), **given, "source_pkgs": (), "source_dirs": ()}
        return self.replace(**given)

    def of_recording(self, recording: Recording) -> Settings:
        """Return these settings with the values of the recorded run.

        The recording has these lists: source_dirs, absolute and including folders of packages; source_pkgs, the
        packages that were not found at the start; include and omit of the run. The recording holds all files that they
        select, and perhaps more.
        """
        parts = recording.parts
        given: dict[str, Any] = {"source": ()}
        for name in COVERAGE_FLAGS:
            given[name] = any(part.get(name) is True for part in parts)
        for name in ("source_dirs", "source_pkgs", "include", "omit"):
            lists = [_strings(part.get("settings"), name) for part in parts]
            kept = [one for of in lists for one in of]
            if name == "include" and not all(lists):
                kept = []
            elif name == "omit":
                kept = [one for one in lists[0] if all(one in of for of in lists)]
            given[name] = tuple(dict.fromkeys(kept))
        return self.replace(**given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and all(getattr(self, name) == getattr(other, name) for name in NAMES)

    __hash__ = None  # type: ignore[assignment]  # instances are mutable


NAMES = frozenset(Settings.__annotations__) | {
    name for name, value in vars(Settings).items() if isinstance(value, (str, bool, int, float)) and name[0] != "_"
}


# ---- the options: setting, section, option, reader ----

OPTIONS = (
    ("branch", "run", "branch", "switch"),
    ("context", "run", "context", "text"),
    ("cover_pylib", "run", "cover_pylib", "switch"),
    ("data_file", "run", "data_file", "path"),
    ("contexts", "run", "dynamic_context", "contexts"),
    ("children", "run", "patch", "patch"),
    ("relative_files", "run", "relative_files", "switch"),
    ("include", "run", "include", "texts"),
    ("omit", "run", "omit", "texts"),
    ("source", "run", "source", "texts"),
    ("source_pkgs", "run", "source_pkgs", "texts"),
    ("source_dirs", "run", "source_dirs", "texts"),
    ("exclude", "report", "exclude_lines", "patterns"),
    ("exclude_also", "report", "exclude_also", "patterns"),
    ("partial", "report", "partial_branches", "patterns"),
    ("partial_also", "report", "partial_also", "patterns"),
    ("partial_always", "report", "partial_branches_always", "patterns"),
    ("fail_under", "report", "fail_under", "percent"),
    ("ignore_errors", "report", "ignore_errors", "switch"),
    ("include_namespace_packages", "report", "include_namespace_packages", "switch"),
    ("report_contexts", "report", "contexts", "texts"),
    ("report_include", "report", "include", "texts"),
    ("report_omit", "report", "omit", "texts"),
    ("precision", "report", "precision", "whole"),
    ("show_missing", "report", "show_missing", "switch"),
    ("skip_covered", "report", "skip_covered", "switch"),
    ("skip_empty", "report", "skip_empty", "switch"),
    ("sort", "report", "sort", "sort"),
    ("html_directory", "html", "directory", "path"),
    ("html_title", "html", "title", "text"),
    ("html_skip_covered", "html", "skip_covered", "switch"),
    ("html_skip_empty", "html", "skip_empty", "switch"),
    ("xml_output", "xml", "output", "path"),
    ("json_output", "json", "output", "path"),
    ("lcov_output", "lcov", "output", "path"),
)

# Options without an effect here: seismo always does this, or they concern the implementation of coverage.py.
_NO_DIFFERENCE = {"run": {"command_line", "concurrency", "core", "debug", "debug_file", "disable_warnings"}}
_NO_DIFFERENCE["run"] |= {"parallel", "sigterm", "timid", "_crash"}
_NO_DIFFERENCE |= {"html": {"show_contexts"}, "json": {"pretty_print", "show_contexts"}}
# Options of coverage.py that seismo lacks.
_NOT_TAKEN = {"run": ("plugins",), "report": ("format",), "html": ("extra_css",)}
_NOT_TAKEN |= {"xml": ("package_depth",), "lcov": ("line_checksums",)}

# The names in [tool.seismo.cover] are those of the settings, with a few differences.
_OURS = {
    name: how
    for name, _, _, how in OPTIONS
    if name not in ("contexts", "children", "data_file") and not name.startswith(("html_", "xml_", "json_", "lcov_"))
} | {"counts": "switch", "contexts": "contexts", "children": "switch"}


def load(folder: str, rcfile: str | None = None) -> Settings:
    """Return the settings for the folder. rcfile: the only settings file to use, or "" for none.

    Raise UsageError, which names file and option.
    """
    found: dict[str, Any] = {}
    notes: list[str] = []
    folder = os.path.abspath(folder)
    used = ""
    if rcfile != "":
        used = _from_coverage(folder, rcfile or os.environ.get("COVERAGE_RCFILE") or None, found, notes)
        ours = _from_pyproject(folder, found)
        used = used or ours
    data_file = os.environ.get("COVERAGE_FILE")
    if data_file:
        found["data_file"] = data_file
    for name in ("exclude", "partial"):
        also = found.pop(f"{name}_also", ())
        if also:
            found[name] = (*found.get(name, getattr(Settings, name)), *also)
    return Settings(folder=folder, file=used, notes=tuple(notes), **found)


def rcfile_of(rcfile: str | None, no_config: bool) -> str | None:
    """Return the settings file of the options, "" for none, or None if unspecified. Raise UsageError."""
    if rcfile and no_config:
        raise UsageError("--rcfile and --no-config cannot be used together", hint="leave one of them out")
    return "" if no_config else rcfile


def _strings(settings: object, name: str) -> list[str]:
    """Return a list of strings from a recording's untrusted settings."""
    found = settings.get(name) if isinstance(settings, dict) else None
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _from_coverage(folder: str, named: str | None, found: dict[str, Any], notes: list[str]) -> str:
    """Read the first file of coverage.py that has settings. Return its path, or ""."""
    files = FILES if named is None or named == ".coveragerc" else {named: True}
    for name, ours in files.items():
        path = os.path.join(folder, os.path.expanduser(name))
        sections = _sections(path, ours)
        if sections is None:
            continue
        if _take_over(path, sections, found, notes) or ours:
            return path
    if named is not None and named != ".coveragerc":
        raise UsageError("there is no such settings file", os.path.join(folder, named), "see --rcfile and --no-config")
    return ""


def _sections(path: str, ours: bool) -> dict[str, dict[str, _Value]] | None:
    """Return the options of a file by coverage.py's sections, or None if it is missing or has no settings."""
    try:
        with open(path, "rb") as file:
            content = file.read()
        if not ours and b"coverage" not in content:
            return None
        text = content.decode().replace("\r\n", "\n").replace("\r", "\n")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise UsageError("the settings file is not UTF-8", path, str(error)) from None
    except OSError as error:
        raise UsageError(f"the settings file cannot be read: {error.strerror or error}", path) from None
    if path.endswith(".toml"):
        data = _toml(text, path)
        tool = data.get("tool")
        inner = tool.get("coverage") if isinstance(tool, dict) else None
        found = {name: (f"tool.coverage.{name}", value) for name, value in (inner or {}).items()}
        if ours:
            found = {**{name: (name, value) for name, value in data.items() if name != "tool"}, **found}
        return {name: _values(path, real, value) for name, (real, value) in found.items() if isinstance(value, dict)}
    parser = _ini(text, path)
    sections = {}
    for real in parser.sections():
        if real.startswith("coverage:") or (ours and real not in sections):
            sections[real.removeprefix("coverage:")] = _values(path, real, parser[real], toml=False)
    return sections


def _values(path: str, section: str, options: Mapping[str, Any], toml: bool = True) -> dict[str, _Value]:
    return {name: _Value(path, section, name, raw, toml) for name, raw in options.items()}


def _toml(text: str, path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"the settings file is not valid TOML: {error}", path) from None


def _ini(text: str, path: str) -> Any:
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text, path)
    except configparser.Error as error:
        reason = str(error).replace(f"file: {path!r}, ", "").replace(repr(path), "").replace("\n", " ")
        raise UsageError(f"the settings file cannot be read: {reason}", path) from None
    return parser


def _take_over(
    path: str, sections: Mapping[str, Mapping[str, _Value]], found: dict[str, Any], notes: list[str]
) -> bool:
    """Apply the options of the sections. Return True if there were any."""
    known = {(section, option): (setting, how) for setting, section, option, how in OPTIONS}
    any_set = False
    without, unknown = [], []
    for name in dict.fromkeys(section for section, _ in known):
        for option, value in sections.get(name, {}).items():
            if (name, option) in known:
                setting, how = known[name, option]
                found[setting] = value.read(how)
            elif option in _NOT_TAKEN.get(name, ()):
                without.append(f"[{value.section}] {option}")
            elif option not in _NO_DIFFERENCE.get(name, ()):
                unknown.append(f"[{value.section}] {option}")
                continue
            any_set = True
    if sections.get("paths"):
        found["paths"] = {name: value.paths() for name, value in sections["paths"].items()}
        any_set = True
    shown = os.path.basename(path)
    if without:
        notes.append(f"{shown}: seismo does not support these settings: {', '.join(without)}")
    if unknown:
        notes.append(f"{shown}: unknown settings: {', '.join(unknown)}")
    return any_set


def _from_pyproject(folder: str, found: dict[str, Any]) -> str:
    """Apply [tool.seismo.cover]. Return the path of the file if it has any options, or ""."""
    path = os.path.join(folder, "pyproject.toml")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return ""
    if "seismo" not in text:
        return ""
    table: Any = _toml(text, path)
    for name in ("tool", "seismo", "cover"):
        table = table.get(name, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise UsageError("this is not a table of settings", f"{path}: [tool.seismo.cover]")
    for name, value in _values(path, "tool.seismo.cover", table).items():
        if name == "paths":
            if not isinstance(value.raw, dict):
                raise value.wrong("is not a table", '[tool.seismo.cover.paths]: name = ["src", ...]')
            paths = _values(path, "tool.seismo.cover.paths", value.raw)
            found["paths"] = {key: one.paths() for key, one in paths.items()}
        elif name in _OURS:
            found[name] = value.read(_OURS[name])
        else:
            hint = did_you_mean(name, _OURS) or f"the settings are {', '.join(sorted(_OURS))}, paths"
            raise value.wrong("is not a setting", hint.rstrip())
    return path if table else ""


_YES, _NO = ("1", "yes", "true", "on"), ("0", "no", "false", "off")


class _Value:
    """One option of a file. toml: True if values are typed. read(how) returns its value, or raises UsageError."""

    def __init__(self, path: str, section: str, option: str, raw: Any, toml: bool) -> None:
        self.file, self.section, self.option, self.raw, self.toml = path, section, option, raw, toml

    def wrong(self, what: str, hint: str) -> UsageError:
        return UsageError(f"{self.option} {what}", f"{self.file}: [{self.section}]", hint)

    def read(self, how: str) -> Any:
        return getattr(self, how)()

    def text(self) -> str:
        if not isinstance(self.raw, str):
            raise self.wrong(f"cannot be {self.raw!r}", "give a text")
        return self.expanded(self.raw)

    def expanded(self, text: str) -> str:
        """Return the text with environment variables inserted: $NAME, ${NAME}, ${NAME-default}, ${NAME?}.

        A variable with ? is required. $$ is a dollar sign.
        """
        if "$" not in text:
            return text
        import re

        def value(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name == "$":
                return "$"
            if name in os.environ:
                return os.environ[name]
            if match[3]:
                raise self.wrong(f"needs the environment variable {name}", f"its value is {text!r}")
            return match[4] or ""

        return re.sub(r"\$(?:(\$|\w+)|\{(\w+)(?:(\?)|-([^}]*))?\})", value, text)

    def path(self) -> str:
        return os.path.expanduser(self.text())

    def paths(self) -> tuple[str, ...]:
        return tuple(map(os.path.expanduser, self.texts()))

    def texts(self) -> tuple[str, ...]:
        """Return a list: in TOML a list of strings, in other files a text with commas and line ends as separators."""
        if self.toml:
            if self.section.startswith("tool.seismo") and isinstance(self.raw, str):
                return (self.expanded(self.raw),)
            if not isinstance(self.raw, list) or not all(isinstance(one, str) for one in self.raw):
                raise self.wrong(f"cannot be {self.raw!r}", 'give a list of texts: ["...", "..."]')
            return tuple(self.expanded(one) for one in self.raw)
        words = self.text().replace("\n", ",").split(",")
        return tuple(word.strip() for word in words if word.strip())

    def patterns(self) -> tuple[str, ...]:
        """Return regular expressions: in TOML a list, in other files one per line."""
        import re

        given = self.texts() if self.toml else tuple(self.text().splitlines())
        kept = tuple(one.strip() for one in given if one.strip())
        for one in kept:
            try:
                re.compile(one)
            except (re.error, RecursionError, OverflowError) as error:
                raise self.wrong(f"cannot be {one!r}", f"this is not a regular expression: {error}") from None
        return kept

    def switch(self) -> bool:
        if isinstance(self.raw, bool):
            return self.raw
        word = self.text().strip().lower() if isinstance(self.raw, str) else ""
        if word not in (*_YES, *_NO):
            raise self.wrong(f"cannot be {self.raw!r}", "give true or false")
        return word in _YES

    def number(self) -> float:
        raw = self.text() if isinstance(self.raw, str) else self.raw
        try:
            if not isinstance(raw, bool):
                return float(raw)
        except (ValueError, TypeError, OverflowError):
            pass
        raise self.wrong(f"cannot be {self.raw!r}", "give a number")

    def percent(self) -> float:
        value = self.number()
        if not 0 <= value <= 100:
            raise self.wrong(f"cannot be {self.raw!r}", "give a percentage from 0 to 100")
        return value

    def whole(self) -> int:
        value = self.number()
        if not (0 <= value < 1e6 and value == int(value)):
            raise self.wrong(f"cannot be {self.raw!r}", "give a whole number, 0 or more")
        return int(value)

    def contexts(self) -> str:
        """Return "test" for the only value of the option, or "" for none."""
        name = "test" if self.section.startswith("tool.seismo") else "test_function"
        value = self.text()
        if value not in ("", name):
            raise self.wrong(f"cannot be {value!r}", f"give {name}, or leave it empty")
        return "test" if value else ""

    def patch(self) -> bool:
        """Return True if subprocesses are to be recorded. The other patches of coverage.py are always in effect."""
        return "subprocess" in self.texts()

    def sort(self) -> str:
        value = self.text()
        sign, name = ("-", value[1:]) if value.startswith("-") else ("", value.removeprefix("+"))
        name = _COVERAGE_SORTS.get(name.lower(), name)
        if name not in SORTS:
            raise self.wrong(
                f"cannot be {value!r}", f"use one of {', '.join(SORTS)}, with - before it for the reverse order"
            )
        return sign + name
