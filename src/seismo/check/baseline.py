"""A measurement as a text file, readable for people and mergeable by git.

    # seismo check: ...
    format 1
    program script app.py
    python 3.13.4
    platform linux-x86_64
    seismo 0.9.0
    dependency numpy 2.1.0
    depth 14
    function app:load app.py calls=1 lines=12..14 exceptions=0 code=5c1f09aa21b7
    function builtins:len - calls=1200
    test tests/test_app.py::test_load calls=90 lines=400

There is one function or test per line, sorted by name, so that branches that change different functions can be merged.
Sums are left out, because they would always conflict. Words are separated by blanks. Blanks inside words, line ends,
backslashes and invisible characters are written as Python escapes, and an empty text as `-`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from seismo.check.measurement import QUANTITIES, Counts, Function, Measurement, Range, Stamp
from seismo.errors import CheckError
from seismo.model import replaced_file

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = "1"
STAMPED = ("program", "python", "platform", "seismo", "lines")
HEAD = "# seismo check: counts of the program's actions; `seismo check --update` rewrites this file"
MERGE = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
REMEASURE = "measure it again with --update"
FIRST = re.compile(rb"^format \d+\s*$", re.MULTILINE)
COUNT = re.compile(r"(\d{1,19})(?:\.\.(\d{1,19}))?")
ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.?))", re.DOTALL)
LARGEST = 100 << 20  # bytes: of a file that is no baseline


def text_of(measurement: Measurement) -> str:
    """Return the file's text."""
    stamp = measurement.stamp
    lines = [HEAD, f"format {FORMAT}"]
    stamped = {name: getattr(stamp, name) for name in STAMPED}
    lines += [f"{name} {_escaped(value, blanks=True)}" for name, value in stamped.items() if value]
    lines += sorted(f"dependency {_escaped(name)} {_escaped(version)}" for name, version in stamp.dependencies.items())
    if measurement.depth is not None:
        lines.append(f"depth {measurement.depth}")
    functions = []
    for function, counts in measurement.functions.items():
        code = measurement.codes.get(function, "")
        name = f"{_escaped(function.module, colon=True)}:{_escaped(function.qualname)}"
        functions.append(
            f"function {name} {_escaped(function.file)} {_counts(counts)}{f' code={code}' if code else ''}"
        )
    lines += sorted(functions)
    lines += sorted(f"test {_escaped(name)} {_counts(counts)}" for name, counts in measurement.tests.items())
    return "\n".join(line.rstrip(" ") for line in lines) + "\n"


def write(measurement: Measurement, path: str | os.PathLike[str]) -> None:
    """Write the file, whole or not at all. Raise CheckError on failure."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with replaced_file.replaced(os.fspath(path)) as file:
            file.write(text_of(measurement).encode())
    except OSError as error:
        raise CheckError(f"the baseline cannot be written: {error.strerror or error}", os.fspath(path)) from None


def read(path: str | os.PathLike[str]) -> Measurement:
    """Read the file. Raise CheckError if it is missing, is not a baseline, or has an invalid line."""
    return read_text(_data(path).decode("utf-8", "replace"), os.fspath(path))


def replaced(path: str | os.PathLike[str]) -> Measurement | None:
    """Return the contents of a file to be replaced, or None if it is missing or an unreadable baseline.

    Raise CheckError if it is another kind of file, which must be kept.
    """
    if not os.path.exists(path):
        return None
    data = _data(path)
    try:
        return read_text(data.decode("utf-8", "replace"), os.fspath(path))
    except CheckError:
        if not FIRST.search(data):
            raise
        return None


def _data(path: str | os.PathLike[str]) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(LARGEST)
    except OSError as error:
        what = "there is no baseline yet" if isinstance(error, FileNotFoundError) else "the baseline cannot be read"
        hint = "--update writes one" if isinstance(error, FileNotFoundError) else error.strerror or ""
        raise CheckError(what, os.fspath(path), hint) from None
    if data.startswith(b"\x8fseismo\n"):
        raise CheckError("this is a recording, not a baseline", os.fspath(path), "to compare recordings: seismo diff")
    return data


def read_text(text: str, where: str = "the given text") -> Measurement:
    """Return the measurement in a file's text. `where` is its name in errors. Raise CheckError for invalid text."""
    found = Measurement()
    stamp: dict[str, str] = {}
    dependencies: dict[str, str] = {}
    version = ""
    for place, words, line in _lines(text, where):
        kind = words[0]
        if kind == "format" and len(words) == 2:
            version = words[1]
            if version != FORMAT:
                raise CheckError(
                    f"another version of seismo wrote this baseline: it has format {version!a}, and this one reads "
                    f"{FORMAT}",
                    place,
                    REMEASURE,
                )
        elif not version:
            raise CheckError("this is not a baseline of seismo check", place, "give a file that --update has written")
        elif kind in STAMPED:
            stamp[kind] = _plain(line.partition(" ")[2], place)
        elif kind == "dependency" and len(words) == 3:
            dependencies[_plain(words[1], place)] = _plain(words[2], place)
        elif kind == "depth" and len(words) == 2:
            found.depth = _range(words[1], place)
        elif kind == "function" and len(words) >= 3:
            _function(found, words, place)
        elif kind == "test" and len(words) >= 2:
            name = _plain(words[1], place)
            if name in found.tests:
                raise CheckError("this test is listed twice", place, REMEASURE)
            found.tests[name] = _read_counts(words[2:], place)
        else:
            raise CheckError("this line of the baseline cannot be read", place, REMEASURE)
    if not version:
        raise CheckError("this is not a baseline of seismo check", where, "give a file that --update has written")
    found.stamp = Stamp(**stamp, dependencies=dependencies)
    return found


def _lines(text: str, where: str) -> Iterator[tuple[str, list[str], str]]:
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        place = f"{where}, line {number}"
        if line.startswith(MERGE):
            raise CheckError(
                "the baseline has conflict markers of an unfinished merge", place, f"merge it, or {REMEASURE}"
            )
        if words := line.split(" ") if line.strip() and not line.startswith("#") else []:
            yield place, words, line


def _function(found: Measurement, words: list[str], place: str) -> None:
    module, colon, qualname = words[1].partition(":")
    if not colon:
        raise CheckError("a function is written as module:name", place, REMEASURE)
    function = Function(_plain(module, place), _plain(qualname, place), _plain(words[2], place))
    if function in found.functions:
        raise CheckError("this function is listed twice", place, f"was a merge not finished? {REMEASURE}")
    counts = words[3:]
    if counts and counts[-1].startswith("code="):
        found.codes[function] = _plain(counts.pop()[len("code=") :], place)
    found.functions[function] = _read_counts(counts, place)


def _counts(counts: Counts) -> str:
    return " ".join(f"{name}={counts[name]}" for name in QUANTITIES if name in counts)


def _read_counts(words: list[str], place: str) -> Counts:
    found: Counts = {}
    for word in words:
        name, _, number = word.partition("=")
        if name not in QUANTITIES or name in found:
            raise CheckError(f"{word[:60]!a} is not a count", place, REMEASURE)
        found[name] = _range(number, place)
    return found


def _range(text: str, place: str) -> Range:
    matched = COUNT.fullmatch(text)
    if matched is None or not text.isascii():
        raise CheckError(f"{text[:60]!a} is no number", place, REMEASURE)
    low = int(matched[1])
    high = int(matched[2] or low)
    if high < low:
        raise CheckError(f"{text!a} ends before it begins", place, REMEASURE)
    return Range(low, high)


def _escaped(text: str, *, blanks: bool = False, colon: bool = False) -> str:
    if not text:
        return "-"
    if text == "-":
        return "\\x2d"
    escaped = "\\" + " " * (not blanks) + ":" * colon
    kept = [char if char.isprintable() and char not in escaped else _escape(char) for char in text]
    if blanks and kept[-1] == " ":  # editors strip trailing blanks
        kept[-1] = "\\x20"
    return "".join(kept)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _plain(text: str, place: str) -> str:
    def one(found: re.Match[str]) -> str:
        digits = found[1] or found[2] or found[3]
        if not digits or int(digits, 16) > 0x10FFFF:
            raise CheckError(f"{found[0]!a} is not an escape", place, REMEASURE)
        return chr(int(digits, 16))

    return "" if text == "-" else ESCAPE.sub(one, text) if "\\" in text else text
