"""The few lines on stderr after a program was recorded: what took the time, what was lost, where the recording is.

It runs in the process that was recorded, just before that ends: no argparse, no re.
"""

from __future__ import annotations

from seismo.escape import printable
from seismo.report.calls.facts import without_c
from seismo.report.calls.sort_orders import ranked
from seismo.report.colours import written
from seismo.report.facts import cpu_ns, filter_words, thread_count, wall_ns
from seismo.report.summary_lines import indented, lost_lines
from seismo.report.waiting import waiting_words
from seismo.report.words import (
    Signs,
    aligned,
    calls,
    cells,
    duration,
    error,
    function_name,
    location,
    right,
    share,
    shorten,
    time,
    width_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from seismo.model import Recording
    from seismo.report.summary_lines import Styled

FUNCTIONS = 8


def write(recording: Recording, stream: TextIO, path: str = "", coloured: bool = False) -> None:
    """Writes the summary of the recording on the stream, at most 15 lines. path: of the recording, for a shell."""
    signs = Signs.of(stream)
    stream.write(written(_lines(recording, path, signs, width_of(stream)), coloured))


def _lines(recording: Recording, path: str, signs: Signs, width: int) -> list[Styled]:
    recording = recording.timed("calls" if recording.timeless else "cpu")
    functions = recording.functions
    cpu = cpu_ns(recording)
    at_least = signs.at_least if any(functions["lower_bound"]) else ""
    threads = thread_count(recording)
    first = f"seismo: {at_least}{sum(functions['calls']):,} calls of {len(functions):,} functions"
    first += f" in {duration(wall_ns(recording), signs)}"
    first += f" ({duration(cpu, signs)} CPU)" if cpu >= 0 else ""
    first += f" on {threads:,} threads" if threads > 1 else ""
    lines = [(first, "strong")]
    waited = "" if recording.timeless else waiting_words(sum(functions["wait_ns"]), sum(functions["own_ns"]), signs)
    if len(functions):
        lines += _table(recording, signs, width, FUNCTIONS - bool(waited))
    lines += indented(waited, width, "quiet") if waited else []
    filtered = filter_words(recording)
    lines += indented(f"filter: {filtered}", width, "quiet") if filtered else []
    if without_c(recording) == "default":
        lines.append(("note: C functions were left out (--c-functions all records them)", "quiet"))
    lines += lost_lines(recording, signs, width)
    if path:
        lines.append((f"seismo report {printable(path)}   shows the rest", "quiet"))
    return lines


def _table(recording: Recording, signs: Signs, width: int, most: int) -> list[Styled]:
    functions = recording.functions
    own, errors, all_calls = functions["own_ns"], functions["own_error_ns"], functions["calls"]
    whole = sum(own)
    shown = ranked(functions, "own_ns")[:most]
    counts = [calls(all_calls[row], bool(functions["lower_bound"][row]), signs) for row in shown]
    widest = max(len("calls"), *map(len, counts))
    if recording.timeless:
        return _counts(recording, signs, width, shown, counts)
    doubts = [error(errors[row], own[row], signs) for row in shown]
    apart = 7 if any(doubts) else 0
    lines = [(f"{'own  ':>8} {'':{apart}}{'own %':>7}  {'calls':>{widest}}  function", "quiet")]
    for row, number, doubt in zip(shown, counts, doubts, strict=True):
        head = f"{right(aligned(time(own[row], errors[row], signs)), 8)} {doubt:<{apart}}"
        head += f"{share(own[row], errors[row], whole):>7}  "
        head += f"{number:>{widest}}  "
        lines.append((head + _named(recording, row, width - len(head), width > 80, signs), ""))
    return lines


def _counts(
    recording: Recording, signs: Signs, width: int, shown: Sequence[int], counts: Sequence[str]
) -> list[Styled]:
    """The table of a recording without times: by calls."""
    all_calls = recording.functions["calls"]
    whole = sum(all_calls)
    widest = max(len("calls"), *map(len, counts))
    lines = [(f"{'calls %':>7}  {'calls':>{widest}}  function", "quiet")]
    for row, number in zip(shown, counts, strict=True):
        head = f"{share(all_calls[row], 0.0, whole):>7}  {number:>{widest}}  "
        lines.append((head + _named(recording, row, width - len(head), width > 80, signs), ""))
    return lines


def _named(recording: Recording, row: int, room: int, roomy: bool, signs: Signs) -> str:
    functions = recording.functions
    name = function_name(functions["kind"][row], functions["module"][row], functions["qualname"][row])
    where = location(functions["kind"][row], functions["file"][row], functions["line"][row])
    fits = where and roomy and cells(name) + 2 + cells(where) <= room
    return f"{name}  {where}" if fits else shorten(name, room, signs)
