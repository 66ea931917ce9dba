"""Lines of the program's source files. A linecache could be the program's own module, or new to it."""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

_LARGEST = 4 << 20  # the size in bytes of the largest file that is read
_MOST = 256  # the most files in the cache

_files: dict[str, list[str]] = {}


def give(file: str, text: str) -> None:
    """Register the source text of code that has no file, such as the command of -c."""
    _files[file] = text.splitlines()


def lines_of(file: str) -> list[str]:
    """Return the lines of a file without line ends, or an empty list if it cannot be read."""
    lines = _files.get(file)
    if lines is None:
        if len(_files) >= _MOST:
            _files.clear()
        lines = _files[file] = _read(file)
    return lines


def line_of(file: str, number: int) -> str:
    """Return one line, stripped and at most 200 characters long, or "" if it is unknown."""
    lines = lines_of(file)
    return lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""


def _read(file: str) -> list[str]:
    if file.startswith("<"):
        return []
    try:
        with open(file, "rb") as stream:
            data = stream.read(_LARGEST + 1)
    except (OSError, ValueError):
        return []
    if len(data) > _LARGEST:
        return []
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()  # UTF-8 needs no import of a codec
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
