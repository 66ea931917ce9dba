"""The callers and callees of a function, summed over all its paths.

A call from a caller to a function is an *edge* of the tree. The time of an edge is the total of the called node. In a
recursion, the sum of these totals would count the inner ones twice. Therefore one pass over the tree, parents before
children, keeps the set of interesting edges on each node's path. It adds a total only if the same edge is not yet on
the path. All calls are counted.

A set with one more edge is made once and then looked up, so the pass makes few sets, and none for a node.

Without recursion, the callers' totals add up to the function's total, and so do its own time and its callees' totals.
In a recursion through other functions the sum may be larger, because then a caller is also called.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from seismo.errors import UsageError
from seismo.escape import printable
from seismo.model.enums import LOWER_BOUND
from seismo.report import words as text
from seismo.report.calls.functions import NARROWEST_NAME, FunctionCells, name_spans
from seismo.report.calls.sort_orders import ranked
from seismo.report.tables import Grid
from seismo.report.waiting import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable

    from seismo.model import FunctionRow, Recording, Table
    from seismo.report.paper import Paper

NOBODY = -1  # the caller of a root: the interpreter, or code that was running when the recording began
OWN = -2  # stands for the function's own time among its callees
OVERLAP = 1.001  # shares overlap if they sum to more than this times the whole
MATCHES = 5  # most functions shown for one pattern


@dataclass
class Share:
    """The contribution of one caller or callee, in ns. A function's share of itself is within its other totals."""

    calls: int = 0
    total_ns: float = 0.0
    lower_bound: bool = False
    wait_ns: float = 0.0  # part of the total
    error_ns: float = 0.0  # error of the total
    nodes: list[int] = field(default_factory=list)  # nodes whose totals are added


def callers_and_callees(recording: Recording, function: int) -> tuple[dict[int, Share], dict[int, Share]]:
    """Return the callers and the callees of the function by function id."""
    tree = recording.tree
    parents, functions = tree["parent"], tree["function"]
    calls, flags = tree["calls"], tree["flags"]
    totals, waits = tree["total_ns"], tree["total_wait_ns"]
    callers: dict[int, Share] = defaultdict(Share)
    callees: dict[int, Share] = defaultdict(Share)
    nothing: frozenset[tuple[bool, int]] = frozenset()
    ways: list[frozenset[tuple[bool, int]]] = []  # the edges on the path of each node
    longer = functools.cache(lambda way, edge: way | {edge})
    for row, (parent, callee) in enumerate(zip(parents, functions, strict=True)):
        way, caller = (ways[parent], functions[parent]) if parent >= 0 else (nothing, NOBODY)
        ends = [(callers, caller)] if callee == function else []
        if caller == function:
            ends.append((callees, callee))
        for shares, other in ends:
            share, edge = shares[other], (shares is callees, other)
            share.calls += calls[row]
            share.lower_bound |= bool(flags[row] & LOWER_BOUND)
            if edge not in way:
                share.nodes.append(row)
                way = longer(way, edge)
        ways.append(way)
    for share in (*callers.values(), *callees.values()):
        share.total_ns = sum(totals[node] for node in share.nodes)
        share.wait_ns = sum(waits[node] for node in share.nodes)
        share.error_ns = recording.total_error(share.nodes)
    return callers, callees


def find_functions(functions: Table[FunctionRow], pattern: str) -> list[int]:
    """Return rows of the functions that a pattern matches, by own time.

    The pattern is module:qualname, the qualname, its last part, a glob, or a name that the report cut. The most exact
    interpretation with any match wins. Raises UsageError with close names if there is none.
    """
    modules, qualnames = functions["module"], functions["qualname"]
    order = ranked(functions, "own_ns")
    full = {row: f"{modules[row]}:{qualnames[row]}" if modules[row] else qualnames[row] for row in order}
    glob = pattern.replace("…", "*")
    readings: tuple[Callable[[int], bool], ...] = (
        lambda row: full[row] == pattern,
        lambda row: qualnames[row] == pattern,
        lambda row: full[row].replace(":", ".") == pattern.replace(":", "."),
        lambda row: qualnames[row].rsplit(".", 1)[-1] == pattern,
        lambda row: fnmatchcase(full[row], glob) or fnmatchcase(qualnames[row], glob),
    )
    for reading in readings:
        found = [row for row in order if reading(row)]
        if found:
            return found
    names = {name: None for row in order[:2000] for name in (full[row], qualnames[row])}
    close = get_close_matches(pattern, names, 3)
    hint = f"close to it: {', '.join(close)}" if close else "seismo report FILE --all lists all; globs work: '*parse*'"
    raise UsageError(f"no function of the recording is named {printable(pattern)!r}", hint=hint)


def write_relatives(paper: Paper, recording: Recording, pattern: str, limit: int | None, callers: bool) -> None:
    """Write the callers or callees of the functions that the pattern matches. Raises UsageError if there are none."""
    found = find_functions(recording.functions, pattern)
    cells = FunctionCells(recording, paper.signs)
    for index, function in enumerate(found[:MATCHES]):
        if index:
            paper.line()
        above, below = callers_and_callees(recording, function)
        _write_one(paper, cells, function, above if callers else below, limit, callers)
    if len(found) > MATCHES:
        paper.line()
        more = text.number_of(len(found) - MATCHES, "other function")
        paper.line((f"{paper.signs.cut} {more} of this name or pattern; name one as module:name", "quiet"))


def _write_one(
    paper: Paper, cells: FunctionCells, function: int, shares: dict[int, Share], limit: int | None, callers: bool
) -> None:
    signs = paper.signs
    whole = cells.columns["total_ns"][function]
    own = cells.columns["own_ns"][function], cells.columns["own_error_ns"][function]
    title = "Callers of " if callers else "Callees of "
    paper.line((title, "title"), *name_spans(cells, function, paper.width - len(title), "title"))
    total = cells.time("total_ns", function).strip()
    times = f"{total} total, {text.amount(*own, signs, cells.times)} own"
    if cells.times == "calls":
        times = f"{total} with all that it calls"
    number = cells.calls(function)
    paper.line((f"  {number} call{'' if number == '1' else 's'}, {times}", "quiet"))
    rows = sorted(shares.items(), key=lambda item: _place(cells, *item))
    shown = rows[:limit]
    waits = cells.times in ("cpu", "wall") and any(share.wait_ns >= max(1.0, cells.notable_ns) for _, share in shown)
    texts = []
    for other, share in shown:
        number = text.calls(share.calls, share.lower_bound, signs)
        if other == function:
            texts.append(["(in it)", "", *[""] * waits, number])
            continue
        time = text.aligned(text.amount(share.total_ns, share.error_ns, signs, cells.times))
        wait = text.aligned(text.duration(share.wait_ns, signs)) if share.wait_ns > LEAST * cells.notable_ns else ""
        texts.append([time, text.share(share.total_ns, share.error_ns, whole), *[wait] * waits, number])
    others = [other for other, _ in shown]
    if not callers and shares:
        others.append(OWN)
        texts.append([text.aligned(text.amount(*own, signs, cells.times)), text.share(*own, whole), *[""] * waits, ""])
    grid = Grid(["  total  ", "  share", *["waiting  "] * waits, "calls"], texts, paper.width, least=NARROWEST_NAME)
    if rows:
        paper.line((f"{grid.head}{'caller' if callers else 'callee'}", "quiet"))
    else:
        paper.line(("  none was recorded", "quiet"))
    words = {NOBODY: "(no caller: it is the bottom of a thread's stack)"}
    words[OWN] = "(its own calls)" if cells.times == "calls" else "(its own time)"
    for other, numbers in zip(others, texts, strict=True):
        about = [(words[other], "quiet")] if other < 0 else name_spans(cells, other, max(NARROWEST_NAME, grid.room))
        paper.line(grid.line(numbers), *about)
    paper.cut_short(len(rows) - len(shown))
    total_ns = sum(share.total_ns for other, share in rows if other != function)
    if total_ns > OVERLAP * (whole if callers else whole - own[0]):
        paper.line(("  shares overlap: it is called again by what it calls", "quiet"))


def _place(cells: FunctionCells, other: int, share: Share) -> tuple[float, int, str, int]:
    time = text.rank(share.total_ns, share.error_ns)
    return -time, -share.calls, cells.name(other) if other != NOBODY else "", other
