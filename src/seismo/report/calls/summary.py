"""The summary on stderr after a program was recorded: the top functions, the losses, and the recording's path.

It runs in the recorded process, just before its end: no argparse, no re.
"""

from __future__ import annotations

from seismo.report.calls.facts import without_c
from seismo.report.calls.imports import with_imports_as_one
from seismo.report.calls.sort_orders import ranked
from seismo.report.facts import filter_words, time_taken
from seismo.report.function_names import COMPILED, fitted, place, shown_name
from seismo.report.summary_lines import indented
from seismo.report.waiting import ELAPSED
from seismo.report.words import Signs, aligned, calls, error, number_of, right, share, time, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import FunctionRow, Recording, Table
    from seismo.report.summary_lines import Styled

FUNCTIONS = 8


def lines(recording: Recording, signs: Signs, width: int) -> list[Styled]:
    """Return the summary without the losses, with which it has at most 15 lines."""
    from seismo.model.idle_threads import without_idle

    active, idle = without_idle(recording)
    recording = active.timed("calls" if recording.timeless else ELAPSED)
    functions = with_imports_as_one(recording)
    at_least = signs.at_least if any(functions["lower_bound"]) else ""
    first = f"seismo: {at_least}{number_of(sum(functions['calls']), 'call')} of {number_of(len(functions), 'function')}"
    first += time_taken(recording, signs, idle.ns).replace("took", " in", 1)
    found = [(line, "strong") for line in wrapped(first, width)]
    if len(functions):
        found += _table(recording, functions, signs, width, FUNCTIONS)
    filtered = filter_words(recording)
    found += indented(f"filter: {filtered}", width, "quiet") if filtered else []
    if without_c(recording) == "default":
        found.append(("note: C functions were left out (--c-functions all records them)", "quiet"))
    return found


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
