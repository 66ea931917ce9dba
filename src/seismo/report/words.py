"""Numbers and names as short text: three significant digits with a unit, thousands separators, names by their ends.

Everything here is plain strings and fast to import, because the summary after a recording uses it too. `Signs` are the
few characters beyond ASCII that a report uses, and what stands for them where the output cannot carry them.
"""

from __future__ import annotations

import os
from unicodedata import combining, east_asian_width

from seismo.escape import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

NARROWEST, WIDEST = 60, 240  # columns: in fewer a table makes no sense; in more, lines are hard to follow
PIECES = 20  # lines that a single word may take
UNKNOWN = 0.995  # an error that is this part of its time, which would be rounded to 100 %, says nothing but a bound


class Signs:
    """The characters beyond ASCII that a report may use. `plain`: only ASCII is to be had."""

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
        self.steps = "_.-:=+*#" if plain else "▁▂▃▄▅▆▇█"  # for nothing, then by height
        # What stands before a branch of a drawn tree, before its last one, and below each of the two.
        self.fork, self.end, self.beside, self.below = (
            ("|- ", "`- ", "|  ", "   ") if plain else ("├─ ", "└─ ", "│  ", "   ")
        )

    @classmethod
    def of(cls, stream: TextIO) -> Signs:
        """The signs that the stream's encoding can carry."""
        encoding = getattr(stream, "encoding", None) or "utf-8"  # None: a StringIO, which carries anything
        try:
            "µ±≥…▸→×█░≈≤←▁▂▃▄▅▆▇├─└│".encode(encoding)
        except (UnicodeError, LookupError):
            return cls(plain=True)
        return cls()


def duration(ns: float, signs: Signs) -> str:
    """A time to three significant digits: `1.23 ms`, `45.6 µs`, `789 ns`, `0`; below a nanosecond `<1 ns`."""
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
    """A number from 0 up to 1000 in three significant digits; `1000` when it would round to that or is more."""
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    return f"{value:.0f}" if value < 999.5 else "1000"


def size(number: float) -> str:
    """A number of bytes to three significant digits, exact below a thousand: `1.23 MB` (10^6), `456 B`."""
    if number < 1_000:
        return f"{number:.0f} B"
    for unit in ("kB", "MB", "GB"):
        number /= 1_000
        digits = three_digits(number)
        if digits != "1000":
            return f"{digits} {unit}"
    return f"{number / 1_000:,.2f} TB"


def sparkline(values: Iterable[float], signs: Signs) -> str:
    """A sign for each value by its share of the largest; nothing at all has a sign of its own."""
    heights = list(values)
    highest = max(heights, default=0) or 1
    most = len(signs.steps) - 1
    return "".join(
        signs.steps[min(most, max(1, round(most * value / highest))) if value > 0 else 0] for value in heights
    )


def aligned(time: str) -> str:
    """A duration made ready for a right-aligned column: the unit takes two places, so that the digits line up."""
    if time.endswith(" s"):
        return time + " "
    return time + "   " if time == "0" else time


def count(number: float) -> str:
    """A count with thousands separators."""
    return f"{number:,.0f}"


def calls(number: int, lower_bound: bool, signs: Signs) -> str:
    """A number of calls, with `≥` in front when some may be missing from it."""
    return (signs.at_least if lower_bound else "") + f"{number:,}"


def percent(part: float, whole: float) -> str:
    """The part of the whole as `12.3 %`, `<1 %` below one, empty when there is no whole."""
    if whole <= 0:
        return ""
    share = 100 * part / whole
    if share < 1:
        return "<1 %" if share > 0 else "0 %"
    return f"{share:.1f} %" if share < 99.95 else f"{share:.0f} %"


def is_unknown(ns: float, error_ns: float) -> bool:
    """Whether all that is known of a time is what it cannot be more than: its error is as large as itself."""
    return error_ns > 0 and error_ns >= UNKNOWN * ns


def rank(ns: float, error_ns: float) -> float:
    """What a time is ranked by, in ns: of one that is not known the lower bound, lest a guess leads the list."""
    return max(0.0, ns - error_ns) if is_unknown(ns, error_ns) else ns


def time(ns: float, error_ns: float, signs: Signs) -> str:
    """A time with an error: `1.23 ms`, or where it is not known its upper bound: `< 6 ms`."""
    return f"< {_rounded_up(ns + error_ns, signs)}" if is_unknown(ns, error_ns) else duration(ns, signs)


def amount(value: float, error: float, signs: Signs, times: str) -> str:
    """A time with an error as time() has it; where `times` is "calls", the number of calls that stands in its place."""
    return count(value) if times == "calls" else time(value, error, signs)


def _rounded_up(ns: float, signs: Signs) -> str:
    """A duration that is no less, in one digit, or in two where the first is 1 or 2: a bound needs no more."""
    ns, step = min(ns, 1e30), 0.1  # a file may say anything
    while ns > 30 * step:
        step *= 10
    bound = max(1.0, -(-ns // step) * step)
    units = (("ns", 1.0), (signs.micro, 1e3), ("ms", 1e6), ("s", 1e9))
    unit, size = next(((unit, size) for unit, size in units if bound < 999.5 * size), units[-1])
    return f"{bound / size:,.1f}".removesuffix(".0") + f" {unit}"


def error(error_ns: float, time_ns: float, signs: Signs) -> str:
    """The error relative to the time: `±3 %`; empty below 1 %, and beside a time that time() gives as a bound."""
    if error_ns <= 0 or is_unknown(time_ns, error_ns):
        return ""
    share = 100 * error_ns / time_ns
    return f"{signs.error}{share:.0f} %" if share >= 1 else ""


def share(ns: float, error_ns: float, whole_ns: float) -> str:
    """A time's part of the whole as percent() gives it; of one that is not known the upper bound: `< 3 %`."""
    if not is_unknown(ns, error_ns) or whole_ns <= 0:
        return percent(ns, whole_ns)
    most = 100 * (ns + error_ns) / whole_ns
    return "<1 %" if most <= 1 else f"< {-int(-most // 1)} %" if most < 100 else ""


def number_of(number: int, one: str, many: str = "") -> str:
    """`1 call`, `2 calls`, `12,345 functions`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def cells(text: str) -> int:
    """How many columns of a terminal the text takes: wide letters two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def shorten(text: str, width: int, signs: Signs) -> str:
    """The name or path in at most `width` columns: what is too long loses its beginning, whole parts of it if possible.

    The end tells names apart. `<locals>` goes first; `<module>` says nothing without the module.
    """
    if cells(text) <= width:
        return text
    text = text.replace(".<locals>.", signs.cut)  # says little, takes much
    if cells(text) <= width:
        return text
    if width <= len(signs.cut):
        return signs.cut[:width]
    room = width - len(signs.cut)
    tail = _fitting(text[::-1], room)[::-1]
    for at in range(len(tail)):  # a part that is whole begins after what stands between two parts
        before = text[len(text) - len(tail) + at - 1]
        if (before in "./:\\" or before in signs.cut) and not tail[at:].startswith("<"):
            return signs.cut + tail[at:]
    return signs.cut + tail


def line_and_type(place: str, type_: str, function: str, width: int, signs: Signs) -> str:
    """`app.py:12  app.Session  handle` in at most `width` columns: the function goes first, then the type's modules."""
    place = shorten(place, max(8, width - 10), signs)
    room = width - cells(place) - 2
    shown = place + "  " + shorten(type_, max(8, room), signs)
    return f"{shown}  {function}" if function and cells(shown) + 2 + cells(function) <= width else shown


def beginning(text: str, width: int, signs: Signs) -> str:
    """The text in at most `width` columns: what is too long loses its end."""
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
    """The columns of the terminal that the stream is, or those in COLUMNS, or 80: NARROWEST to WIDEST of them."""
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
    """The text in pieces of `width` columns at most, broken before a slash: a long path is shown whole."""
    found: list[str] = []
    while cells(text[: width + 1]) > width and len(found) < PIECES:
        piece = _fitting(text, width) or text[0]
        folder = piece.rfind("/")
        found.append(piece[:folder] if folder > width // 2 else piece)
        text = text[len(found[-1]) :]
    return [*found, beginning(text, width, signs)]


def left(text: str, width: int) -> str:
    """The text padded on the right to `width` columns."""
    return text + " " * (width - cells(text))


def right(text: str, width: int) -> str:
    """The text padded on the left to `width` columns."""
    return " " * (width - cells(text)) + text


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at blanks; a single longer word stays whole."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and cells(lines[-1]) + 1 + cells(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


PYTHON, C, SYNTHETIC = 0, 1, 2  # the kinds of functions


def function_name(kind: int, module: str, qualname: str) -> str:
    """`module:qualname`, safe to show; what belongs to no module is named by itself."""
    if kind == SYNTHETIC or not module:
        return printable(qualname)
    return printable(f"{module}:{qualname}")


def location(kind: int, file: str, line: int) -> str:
    """`file.py:12` without its folders, `(C)` for a C function, empty when it is not known."""
    if kind == C:
        return "(C)"
    if not file:
        return ""
    parts = file.replace("\\", "/").rsplit("/", 2)
    name = "/".join(parts[-2:]) if parts[-1].startswith("__") else parts[-1]  # __init__.py alone says nothing
    return printable(f"{name}:{line}" if line > 0 else name)
