"""Who called whom: the call graph that pstats and callgrind keep, made from a tree, and made into a tree again.

**From a tree.** Calls and own times of a function, or of an edge from a caller to a callee, are sums over nodes.
Total times are not: in `f -> g -> f` the inner f's time is in the outer f's. So, as cProfile does, a total counts
the nodes that are outermost: no node above them is of the same function (for a function) or of the same edge (for an
edge). The calls of the outermost nodes are the *primitive* calls. One depth-first pass, with a counter a function
and a counter an edge of how many are open, finds all of that.

**To a tree.** A graph knows pairs, a tree needs paths. The paths are rebuilt with gprof's assumption: what a
function does does not depend on who called it, so its callees are dealt out over its callers in proportion to the
time (or, where no time is known, to the calls) that each brought. What is dealt out are whole calls and whole
nanoseconds, and the rest goes to the last share, so the sums stay exact:

- each function's calls and own time, and each edge's calls, come out as they went in;
- totals come out as they went in where no recursion runs through several functions, up to rounding and to SPREAD;
- an edge that closes a cycle becomes a leaf: its calls and own time are there, what they call is under the outer node,
  so the totals of functions that call each other in a circle come out too low. (Unrolling the circle a few times was
  tried: on a program's imports it took a quarter off the error and made the tree seven times as large.)

A path can be reached in exponentially many ways, so each edge is dealt out over no more than SPREAD nodes of its
caller, those with the largest share (fewer where the graph is huge): the tree has at most SPREAD nodes an edge.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from seismo.formats.base import MAX_REBUILT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from seismo.formats.call_trees import CallTrees
    from seismo.formats.function_names import Frame
    from seismo.model import Builder

SPREAD = 32
ROOT = -1
"""The caller of what was called by nobody that is known."""

REBUILT = (
    "the file keeps callers and callees, not paths: the tree is a likely one, "
    "and total times of functions that call each other in a circle are too low"
)
"""What the recording of a call graph says of itself."""


@dataclass(slots=True)
class Cost:
    """What a function, or an edge, took. Times in ns; `nested_calls` has the calls of all it called in turn, too.

    Of waiting there is what was off the CPU, own and in all.
    """

    calls: int = 0
    primitive: int = 0
    own: float = 0.0
    total: float = 0.0
    nested_calls: int = 0
    resumes: int = 0
    wait: float = 0.0
    total_wait: float = 0.0


@dataclass(slots=True)
class Graph:
    """Costs by function and by (caller, callee), the functions being numbers that the maker chose."""

    functions: dict[int, Cost] = field(default_factory=dict)
    edges: dict[tuple[int, int], Cost] = field(default_factory=dict)


class CallGraphs:
    """Makes graphs of some threads each. What is as large as the forest is made once, for there may be many threads."""

    def __init__(self, forest: CallTrees, keys: Sequence[int]) -> None:
        """keys: the number of each row of functions; equal numbers become one."""
        self._forest = forest
        self._keys = keys
        self._nested = _nested_calls(forest)
        self._edge_at = array("q", bytes(8 * forest.count))

    def of(self, threads: Iterable[int]) -> Graph:
        """The call graph of these threads (rows)."""
        forest, keys, nested, edge_at = self._forest, self._keys, self._nested, self._edge_at
        parent, function = forest.parent, forest.function
        tree = forest.recording.tree
        calls, resumes, own, total = tree["calls"], tree["resumes"], tree["own_ns"], tree["total_ns"]
        wait, total_wait = tree["wait_ns"], tree["total_wait_ns"]
        # Everything by number and in lists, for this loop runs twice a node and there may be a million of them.
        functions, edges = _Sums(), _Sums()
        place_of: dict[int, int] = {}
        edge_of: dict[tuple[int, int], int] = {}
        for thread in threads:
            for step in forest.walk(thread):
                if step < 0:
                    functions.open[place_of[keys[function[~step]]]] -= 1
                    edges.open[edge_at[~step]] -= 1
                    continue
                callee, above = keys[function[step]], parent[step]
                place = place_of.get(callee)
                if place is None:
                    place = place_of[callee] = functions.grow()
                pair = (keys[function[above]] if above >= 0 else ROOT, callee)
                edge = edge_of.get(pair)
                if edge is None:
                    edge = edge_of[pair] = edges.grow()
                edge_at[step] = edge
                for sums, at in ((functions, place), (edges, edge)):
                    sums.calls[at] += calls[step]
                    sums.resumes[at] += resumes[step]
                    sums.own[at] += own[step]
                    sums.wait[at] += wait[step]
                    if not sums.open[at]:
                        sums.primitive[at] += calls[step]
                        sums.total[at] += total[step]
                        sums.total_wait[at] += total_wait[step]
                        sums.nested[at] += nested[step]
                    sums.open[at] += 1
        return Graph(
            {key: functions.cost(place_of[key]) for key in sorted(place_of)},
            {pair: edges.cost(edge) for pair, edge in edge_of.items()},
        )


class _Sums:
    """Costs in columns; `open`: how many of the nodes are open now."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.primitive: list[int] = []
        self.nested: list[int] = []
        self.resumes: list[int] = []
        self.open: list[int] = []
        self.own: list[float] = []
        self.total: list[float] = []
        self.wait: list[float] = []
        self.total_wait: list[float] = []

    def grow(self) -> int:
        """Adds a row of zeros and gives its number."""
        for column in (self.calls, self.primitive, self.nested, self.resumes, self.open):
            column.append(0)
        for times in (self.own, self.total, self.wait, self.total_wait):
            times.append(0.0)
        return len(self.calls) - 1

    def cost(self, at: int) -> Cost:
        """A row."""
        costs = self.own[at], self.total[at], self.nested[at]
        return Cost(self.calls[at], self.primitive[at], *costs, self.resumes[at], self.wait[at], self.total_wait[at])


def _nested_calls(forest: CallTrees) -> array[int]:
    """The calls of each node and of all below it."""
    nested = array("q", forest.recording.tree["calls"])
    parent = forest.parent
    for row in range(forest.count - 1, -1, -1):  # a parent precedes its children, so they are complete here
        above = parent[row]
        if above >= 0:
            nested[above] += nested[row]
    return nested


def into_tree(graph: Graph, functions: Sequence[Frame], builder: Builder, thread: int) -> None:
    """Builds one thread's tree from a graph whose calls and times are whole numbers. The file comment says how.

    functions: what each number of the graph stands for. An edge to a function that has no cost of its own is left out.
    """
    _make_consistent(graph)
    order, closing = _order(graph)
    ids: dict[int, int] = {}
    for key in order:
        frame = functions[key]
        ids[key] = builder.function(frame.module, frame.qualname, frame.file, frame.line, kind=frame.kind)
    callees: dict[int, list[int]] = {}
    for caller, callee in graph.edges:
        callees.setdefault(caller, []).append(callee)
    spread = min(SPREAD, max(1, MAX_REBUILT // len(graph.edges))) if graph.edges else SPREAD
    nodes: dict[int, list[tuple[float, int]]] = {key: [] for key in order}  # of each function: (inner time, node)
    for key in order:
        mine = nodes[key]
        root = graph.edges[ROOT, key]
        if root.calls or root.own or not mine:
            id_ = builder.node(-1, thread, ids[key], calls=root.calls, own_ns=int(root.own))
            mine.append((max(root.total - root.own, 0.0), id_))
        mine.sort(reverse=True)
        del mine[spread:]
        for callee in callees.get(key, ()):
            edge = graph.edges[key, callee]
            leaf = (key, callee) in closing
            for parent, calls, own, inner in _dealt(edge, mine):
                id_ = builder.node(parent, thread, ids[callee], calls=calls, own_ns=own)
                if not leaf:
                    nodes[callee].append((inner, id_))
        nodes[key] = []  # done: what is no longer needed is given back


def _dealt(edge: Cost, callers: list[tuple[float, int]]) -> list[tuple[int, int, int, float]]:
    """An edge's calls, own and inner time over nodes of its caller: (node, calls, own, inner) of each that gets any."""
    weights = [weight for weight, _ in callers]
    whole = sum(weights)
    if whole <= 0:
        weights, whole = [1.0] + [0.0] * (len(callers) - 1), 1.0
    inner = max(edge.total - edge.own, 0.0)
    shares = zip(callers, _parts(edge.calls, weights), _parts(int(edge.own), weights), weights, strict=True)
    dealt: list[tuple[int, int, int, float]] = []
    for (_, node), calls, own, weight in shares:
        below = inner * (weight / whole)
        if calls or own or below > 0 or not dealt:  # one at least, so that the edge is there
            dealt.append((node, calls, own, below))
    return dealt


def _parts(amount: int, weights: Sequence[float]) -> list[int]:
    """A whole amount divided in proportion to the weights, into whole parts whose sum is exactly the amount."""
    sums = list(accumulate(weights))
    parts = []
    given = 0
    for upto in sums[:-1]:
        bound = min(int(amount * (upto / sums[-1])), amount)
        parts.append(bound - given)
        given = bound
    parts.append(amount - given)
    return parts


def complete(graph: Graph, has_calls: bool) -> None:
    """Fills in what a format does not say: totals of functions, own times of edges and, unless `has_calls`, calls.

    A function's total is its own time and that of the calls it made of others; its own time is dealt out over its
    callers by the time that each brought, which is exact for a function that calls nothing.
    """
    incoming: dict[int, list[tuple[int, Cost]]] = {}
    for cost in graph.functions.values():
        cost.total = cost.own
    for (caller, callee), edge in graph.edges.items():
        incoming.setdefault(callee, []).append((caller, edge))
        if caller != callee:
            graph.functions[caller].total += edge.total
    for key, cost in graph.functions.items():
        callers = incoming.get(key, [])
        if not has_calls:
            cost.calls = sum(edge.calls for _, edge in callers)
        own = int(cost.own)
        others = [edge for caller, edge in callers if caller != key]
        for caller, edge in callers:
            if caller == key and cost.calls:  # what recursion took is not told apart: it gets its share of the calls
                edge.own = int(cost.own * min(edge.calls / cost.calls, 1.0))
                own -= int(edge.own)
        # The last share is that of calls by nobody known; where every call has a caller there is none, whatever the
        # totals say, which count more than once what recursion runs through.
        all_known = callers and sum(edge.calls for _, edge in callers) >= cost.calls
        rest = 0.0 if all_known else max(cost.total - sum(edge.total for edge in others), 0.0)
        weights = [edge.total for edge in others] + [rest]
        if not sum(weights):
            weights = [float(edge.calls) for edge in others] + [0.0]
        if sum(weights):
            for edge, part in zip(others, _parts(own, weights), strict=False):
                edge.own = part


def _make_consistent(graph: Graph) -> None:
    """Makes the calls and the own time of each function the sum of its edges, with an edge from ROOT for the rest.

    Where the edges have more than the function (other tools round, or miss calls), the largest edges give way.
    """
    graph.edges = {
        (caller, callee): cost
        for (caller, callee), cost in graph.edges.items()
        if callee in graph.functions and caller in graph.functions
    }
    incoming: dict[int, list[Cost]] = {}
    for (_, callee), cost in graph.edges.items():
        incoming.setdefault(callee, []).append(cost)
    for key, cost in graph.functions.items():
        edges = incoming.get(key, [])
        calls = _cut([edge.calls for edge in edges], cost.calls)
        own = _cut([int(edge.own) for edge in edges], int(cost.own))
        for edge, some_calls, some_own in zip(edges, calls, own, strict=True):
            edge.calls, edge.own = some_calls, some_own
        graph.edges[ROOT, key] = Cost(calls=cost.calls - sum(calls), own=int(cost.own) - sum(own))


def _cut(amounts: list[int], bound: int) -> list[int]:
    """The amounts, the largest ones made smaller until their sum is no more than the bound."""
    excess = sum(amounts) - bound
    if excess <= 0:
        return amounts
    amounts = list(amounts)
    for place in sorted(range(len(amounts)), key=amounts.__getitem__, reverse=True):
        less = min(amounts[place], excess)
        amounts[place] -= less
        excess -= less
    return amounts


def _order(graph: Graph) -> tuple[list[int], set[tuple[int, int]]]:
    """The functions, callers first, and the edges that had to be left out of account because they close a cycle.

    Also gives each function's edge from ROOT its total: what no other edge brought.
    """
    callees: dict[int, list[int]] = {key: [] for key in graph.functions}
    for caller, callee in sorted(graph.edges, key=lambda edge: graph.edges[edge].total, reverse=True):
        if caller != ROOT:
            callees[caller].append(callee)
    # Starting where the program started keeps the edge that closes a cycle the inner one.
    starts = sorted(
        graph.functions, key=lambda key: (graph.edges[ROOT, key].calls > 0, graph.functions[key].total), reverse=True
    )
    left: list[int] = []
    closing: set[tuple[int, int]] = set()
    state: dict[int, int] = {}  # 1: on the path from the start, 2: left
    for start in starts:
        if start in state:
            continue
        state[start] = 1
        path = [(start, iter(callees[start]))]
        while path:
            caller, rest = path[-1]
            callee = next(rest, ROOT)
            if callee == ROOT:
                state[caller] = 2
                left.append(caller)
                path.pop()
            elif callee not in state:
                state[callee] = 1
                path.append((callee, iter(callees[callee])))
            elif state[callee] == 1:
                closing.add((caller, callee))
    brought = dict.fromkeys(graph.functions, 0.0)
    for edge, cost in graph.edges.items():
        if edge[0] != ROOT and edge not in closing:
            brought[edge[1]] += cost.total
    for key, cost in graph.functions.items():
        root = graph.edges[ROOT, key]
        if root.calls or root.own:
            root.total = max(cost.total - brought[key], 0.0)
    left.reverse()
    return left, closing
