"""Lines of the program's source files.

Read by ourselves: linecache would be imported into the program, and might be the program's own.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

_LARGEST = 4 << 20  # bytes of a file that is still read
_MOST = 256  # files that are kept

_files: dict[str, list[str]] = {}


def give(file: str, text: str) -> None:
    """Makes the text of something that is no file known: the command of -c."""
    _files[file] = text.splitlines()


def lines_of(file: str) -> list[str]:
    """The lines of a file, without their ends; none if it cannot be read."""
    lines = _files.get(file)
    if lines is None:
        if len(_files) >= _MOST:
            _files.clear()
        lines = _files[file] = _read(file)
    return lines


def line_of(file: str, number: int) -> str:
    """One line without the blanks around it, at most 200 characters; '': not known."""
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
        text = data.removeprefix(b"\xef\xbb\xbf").decode()  # no codec that would be imported
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
