"""Numbers and names as short text: three significant digits with a unit, thousands separators, names by their ends.

All functions are plain string operations and fast to import, because the summary after a recording uses them, too.
`Signs` holds the few characters beyond ASCII of a report and their replacements for streams that cannot encode them.
"""

from __future__ import annotations

import os
from unicodedata import combining, east_asian_width

from seismo.escape import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

NARROWEST, WIDEST = 60, 240  # columns: with fewer a table makes no sense; with more, lines are hard to follow
PIECES = 20  # most lines for a single word
UNKNOWN = 0.995  # ratio of error to time from which a time is shown as an upper bound only


class Signs:
    """The characters beyond ASCII that a report may use, or their replacements in ASCII if `plain`."""

    def __init__(self, plain: bool = False) -> None:
        self.micro = "us" if plain else "µs"
        self.error = "+-" if plain else "±"
        self.at_least = ">=" if plain else "≥"
        self.cut = "~" if plain else "…"
        self.hot = ">" if plain else "▸"
        self.arrow = "->" if plain else "→"
        self.times = "x" if plain else "×"
        self.full, self.empty = ("#", ".") if plain else ("█", "░")
        self.about = "~" if plain else "≈"
        self.at_most = "<=" if plain else "≤"
        self.held = "<-" if plain else "←"
        self.steps = "_.-:=+*#" if plain else "▁▂▃▄▅▆▇█"  # the first stands for nothing, the others for heights
        # The prefixes of a drawn tree: of a branch, of the last branch, and of the lines below each of the two.
        self.fork, self.end, self.beside, self.below = (
            ("|- ", "`- ", "|  ", "   ") if plain else ("├─ ", "└─ ", "│  ", "   ")
        )

    @classmethod
    def of(cls, stream: TextIO) -> Signs:
        """Return the signs that the stream's encoding can carry."""
        encoding = getattr(stream, "encoding", None) or "utf-8"  # a StringIO has None and takes any character
        try:
            "µ±≥…▸→×█░≈≤←▁▂▃▄▅▆▇├─└│".encode(encoding)
        except (UnicodeError, LookupError):
            return cls(plain=True)
        return cls()


def duration(ns: float, signs: Signs) -> str:
    """Return a time in three significant digits: `1.23 ms`, `45.6 µs`, `789 ns`, `0`, or `<1 ns` below a nanosecond."""
    if ns <= 0:
        return "0"
    if ns < 1:
        return "<1 ns"
    for unit, size in (("ns", 1.0), (signs.micro, 1e3), ("ms", 1e6)):
        digits = three_digits(ns / size)
        if digits != "1000":
            return f"{digits} {unit}"
    seconds = ns / 1e9
    return f"{three_digits(seconds)} s" if seconds < 999.5 else f"{seconds:,.0f} s"


def three_digits(value: float) -> str:
    """Return a number from 0 to 1000 in three significant digits; `1000` if it rounds to that or is larger."""
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    return f"{value:.0f}" if value < 999.5 else "1000"


def size(number: float) -> str:
    """Return a size in three significant digits: `1.23 MB` (10^6), exact below a thousand bytes: `456 B`."""
    if number < 1_000:
        return f"{number:.0f} B"
    for unit in ("kB", "MB", "GB"):
        number /= 1_000
        digits = three_digits(number)
        if digits != "1000":
            return f"{digits} {unit}"
    return f"{number / 1_000:,.2f} TB"


def sparkline(values: Iterable[float], signs: Signs) -> str:
    """Return a bar for each value, scaled to the largest; values up to 0 have a sign of their own."""
    heights = list(values)
    highest = max(heights, default=0) or 1
    most = len(signs.steps) - 1
    return "".join(
        signs.steps[min(most, max(1, round(most * value / highest))) if value > 0 else 0] for value in heights
    )


def aligned(time: str) -> str:
    """Return a duration for a right-aligned column: units are padded to two characters, so that digits align."""
    if time.endswith(" s"):
        return time + " "
    return time + "   " if time == "0" else time


def count(number: float) -> str:
    """Return a count with thousands separators."""
    return f"{number:,.0f}"


def calls(number: int, lower_bound: bool, signs: Signs) -> str:
    """Return a number of calls, with `≥` in front if it is a lower bound."""
    return (signs.at_least if lower_bound else "") + f"{number:,}"


def percent(part: float, whole: float) -> str:
    """Return part / whole as `12.3 %`, `<1 %` below one, or "" if there is no whole."""
    if whole <= 0:
        return ""
    share = 100 * part / whole
    if share < 1:
        return "<1 %" if share > 0 else "0 %"
    return f"{share:.1f} %" if share < 99.95 else f"{share:.0f} %"


def is_unknown(ns: float, error_ns: float) -> bool:
    """Return True if only an upper bound of the time is known, because its error is as large as the time."""
    return error_ns > 0 and error_ns >= UNKNOWN * ns


def rank(ns: float, error_ns: float) -> float:
    """Return the value to sort a time by, in ns: its lower bound if it is unknown, lest a guess leads."""
    return max(0.0, ns - error_ns) if is_unknown(ns, error_ns) else ns


def time(ns: float, error_ns: float, signs: Signs) -> str:
    """Return a time: `1.23 ms`, or its upper bound if it is unknown: `< 6 ms`."""
    return f"< {_rounded_up(ns + error_ns, signs)}" if is_unknown(ns, error_ns) else duration(ns, signs)


def amount(value: float, error: float, signs: Signs, times: str) -> str:
    """Return a time as time() does, or a number of calls where `times` is "calls"."""
    return count(value) if times == "calls" else time(value, error, signs)


def _rounded_up(ns: float, signs: Signs) -> str:
    """Return an upper bound of the time, rounded up to one digit, or to two if the first is 1 or 2."""
    ns, step = min(ns, 1e30), 0.1  # a file may contain any number
    while ns > 30 * step:
        step *= 10
    bound = max(1.0, -(-ns // step) * step)
    units = (("ns", 1.0), (signs.micro, 1e3), ("ms", 1e6), ("s", 1e9))
    unit, size = next(((unit, size) for unit, size in units if bound < 999.5 * size), units[-1])
    return f"{bound / size:,.1f}".removesuffix(".0") + f" {unit}"


def error(error_ns: float, time_ns: float, signs: Signs) -> str:
    """Return the error relative to the time: `±3 %`; "" below 1 %, and where time() returns an upper bound."""
    if error_ns <= 0 or is_unknown(time_ns, error_ns):
        return ""
    share = 100 * error_ns / time_ns
    return f"{signs.error}{share:.0f} %" if share >= 1 else ""


def share(ns: float, error_ns: float, whole_ns: float) -> str:
    """Return a time's share as percent() does, or the upper bound of an unknown time: `< 3 %`."""
    if not is_unknown(ns, error_ns) or whole_ns <= 0:
        return percent(ns, whole_ns)
    most = 100 * (ns + error_ns) / whole_ns
    return "<1 %" if most <= 1 else f"< {-int(-most // 1)} %" if most < 100 else ""


def number_of(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 call`, `2 calls`, `12,345 functions`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def cells(text: str) -> int:
    """Return the columns of a terminal that the text takes: two for a wide letter, none for a combining mark."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def shorten(text: str, width: int, signs: Signs) -> str:
    """Return the name or path in at most `width` columns, without its beginning if it is too long.

    The end distinguishes names best. Whole parts are kept if possible. `<locals>` goes first, and `<module>` keeps its
    module, without which it means nothing.
    """
    if cells(text) <= width:
        return text
    text = text.replace(".<locals>.", signs.cut)  # long and of little use
    if cells(text) <= width:
        return text
    if width <= len(signs.cut):
        return signs.cut[:width]
    room = width - len(signs.cut)
    tail = _fitting(text[::-1], room)[::-1]
    for at in range(len(tail)):  # a whole part begins after a separator
        before = text[len(text) - len(tail) + at - 1]
        if (before in "./:\\" or before in signs.cut) and not tail[at:].startswith("<"):
            return signs.cut + tail[at:]
    return signs.cut + tail


def line_and_type(place: str, type_: str, function: str, width: int, signs: Signs) -> str:
    """Return `app.py:12  app.Session  handle` in at most `width` columns.

    The function is dropped first, then the type's modules.
    """
    place = shorten(place, max(8, width - 10), signs)
    room = width - cells(place) - 2
    shown = place + "  " + shorten(type_, max(8, room), signs)
    return f"{shown}  {function}" if function and cells(shown) + 2 + cells(function) <= width else shown


def beginning(text: str, width: int, signs: Signs) -> str:
    """Return the text in at most `width` columns, without its end if it is too long."""
    if cells(text) <= width:
        return text
    return _fitting(text, max(0, width - len(signs.cut))) + signs.cut


def _fitting(text: Iterable[str], width: int) -> str:
    taken: list[str] = []
    used = 0
    for char in text:
        used += cells(char)
        if used > width:
            break
        taken.append(char)
    return "".join(taken)


def width_of(stream: TextIO) -> int:
    """Return the columns of COLUMNS, else of the stream's terminal, else 80, limited to NARROWEST..WIDEST."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError, AttributeError):
            columns = 0
    return max(NARROWEST, min(WIDEST, columns or 80))


def pieces(text: str, width: int, signs: Signs) -> list[str]:
    """Split the text into pieces of at most `width` columns, before a slash if possible, to show long paths whole."""
    found: list[str] = []
    while cells(text[: width + 1]) > width and len(found) < PIECES:
        piece = _fitting(text, width) or text[0]
        folder = piece.rfind("/")
        found.append(piece[:folder] if folder > width // 2 else piece)
        text = text[len(found[-1]) :]
    return [*found, beginning(text, width, signs)]


def left(text: str, width: int) -> str:
    """Return the text padded on the right to `width` columns."""
    return text + " " * (width - cells(text))


def right(text: str, width: int) -> str:
    """Return the text padded on the left to `width` columns."""
    return " " * (width - cells(text)) + text


def wrapped(text: str, width: int) -> list[str]:
    """Split the text at blanks into lines of at most `width` columns; a longer word stays whole."""
    return filled(text.split(" "), width)


def filled(pieces: Iterable[str], width: int) -> list[str]:
    """Return the pieces on lines of at most `width` columns, with blanks between them; a longer piece stays whole."""
    lines: list[str] = []
    for piece in pieces:
        if lines and cells(lines[-1]) + 1 + cells(piece) <= width:
            lines[-1] += " " + piece
        else:
            lines.append(piece)
    return lines


PYTHON, C, SYNTHETIC = 0, 1, 2  # the kinds of functions


def function_name(kind: int, module: str, qualname: str) -> str:
    """Return `module:qualname`, escaped for display, or the qualname alone if there is no module."""
    if kind == SYNTHETIC or not module:
        return printable(qualname)
    return printable(f"{module}:{qualname}")


def location(file: str, line: int) -> str:
    """Return `file.py:12` without folders, or "" if unknown."""
    if not file:
        return ""
    parts = file.replace("\\", "/").rsplit("/", 2)
    name = "/".join(parts[-2:]) if parts[-1].startswith("__") else parts[-1]  # __init__.py alone is ambiguous
    return printable(f"{name}:{line}" if line > 0 else name)
