"""The summary on stderr after a program was recorded: the top functions, the losses, and the recording's path.

It runs in the recorded process, just before its end: no argparse, no re.
"""

from __future__ import annotations

from seismo.escape import printable
from seismo.report.calls.facts import without_c
from seismo.report.calls.imports import with_imports_as_one
from seismo.report.calls.sort_orders import ranked
from seismo.report.colours import written
from seismo.report.facts import filter_words, time_taken
from seismo.report.function_names import COMPILED, fitted, place, shown_name
from seismo.report.summary_lines import indented, lost_lines
from seismo.report.waiting import ELAPSED
from seismo.report.words import (
    Signs,
    aligned,
    calls,
    error,
    right,
    share,
    time,
    width_of,
    wrapped,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from seismo.model import FunctionRow, Recording, Table
    from seismo.report.summary_lines import Styled

FUNCTIONS = 8


def write(recording: Recording, stream: TextIO, path: str = "", coloured: bool = False) -> None:
    """Write the summary of the recording, at most 15 lines. path: the recording's, quoted for a shell."""
    signs = Signs.of(stream)
    stream.write(written(_lines(recording, path, signs, width_of(stream)), coloured))


def _lines(recording: Recording, path: str, signs: Signs, width: int) -> list[Styled]:
    from seismo.model.idle_threads import without_idle

    active, idle = without_idle(recording)
    recording = active.timed("calls" if recording.timeless else ELAPSED)
    functions = with_imports_as_one(recording)
    at_least = signs.at_least if any(functions["lower_bound"]) else ""
    first = f"seismo: {at_least}{sum(functions['calls']):,} calls of {len(functions):,} functions"
    first += time_taken(recording, signs, idle.ns).replace("took", " in", 1)
    lines = [(line, "strong") for line in wrapped(first, width)]
    if len(functions):
        lines += _table(recording, functions, signs, width, FUNCTIONS)
    filtered = filter_words(recording)
    lines += indented(f"filter: {filtered}", width, "quiet") if filtered else []
    if without_c(recording) == "default":
        lines.append(("note: C functions were left out (--c-functions all records them)", "quiet"))
    lines += lost_lines(recording, signs, width)
    if path:
        lines.append((f"seismo report {printable(path)}   shows the rest", "quiet"))
        if recording._journal is not None:  # recording.calls would import its module into every recorded program
            lines.append((f"seismo view {printable(path)}   shows the timeline", "quiet"))
    return lines


def _table(recording: Recording, functions: Table[FunctionRow], signs: Signs, width: int, most: int) -> list[Styled]:
    """Return the table of the top functions. Without times, its own times hold calls."""
    own, errors, all_calls = functions["own_ns"], functions["own_error_ns"], functions["calls"]
    whole, timeless = sum(own), recording.timeless
    shown = [row for row in ranked(functions, "own_ns") if own[row] or all_calls[row]][:most]
    counts = [calls(all_calls[row], bool(functions["lower_bound"][row]), signs) for row in shown]
    widest = max(len("calls"), *map(len, counts))
    doubts = [error(errors[row], own[row], signs) for row in shown]
    apart = 7 if any(doubts) else 0
    titles = f"{'calls %':>7}" if timeless else f"{'own  ':>8} {'':{apart}}{'own %':>7}"
    lines = [(f"{titles}  {'calls':>{widest}}  function", "quiet")]
    for row, number, doubt in zip(shown, counts, doubts, strict=True):
        head = "" if timeless else f"{right(aligned(time(own[row], errors[row], signs)), 8)} {doubt:<{apart}}"
        head += f"{share(own[row], errors[row], whole):>7}  {number:>{widest}}  "
        lines.append((head + _named(functions, row, width - len(head), width > 80, signs), ""))
    return lines


def _named(functions: Table[FunctionRow], row: int, room: int, roomy: bool, signs: Signs) -> str:
    kind, module, qualname, file = (functions[name][row] for name in ("kind", "module", "qualname", "file"))
    where = place(kind, module, file, functions["line"][row])
    shown = fitted(shown_name(kind, module, qualname, file), where if roomy or where == COMPILED else "", room, signs)
    return "  ".join(filter(None, shown))
