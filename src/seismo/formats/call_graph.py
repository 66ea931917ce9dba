"""The call graph of pstats and callgrind: made from a call tree, and turned back into one.

**From a tree.** The calls and own time of a function, or of an edge from a caller to a callee, are sums over nodes.
Total times are not: in `f -> g -> f` the inner f's time is included in the outer f's. So, as in cProfile, a total
counts only outermost nodes. No node above an outermost node is of the same function (or edge). The calls of outermost
nodes are the *primitive* calls. One depth-first pass computes this, with a counter of open nodes for each function and
edge.

**To a tree.** A graph has pairs, but a tree needs paths. They are rebuilt with gprof's assumption that the behaviour of
a function does not depend on its caller. So its callees are distributed over its callers in proportion to their time
or, without times, to their calls. Whole calls and nanoseconds are distributed, and the last share gets the rest, so
that sums stay exact:

- each function's calls and own time, and each edge's calls, are preserved;
- totals are preserved without mutual recursion, up to rounding and to SPREAD;
- an edge that closes a cycle becomes a leaf with its calls and own time, and its callees stay under the outer node. So
  the totals of mutually recursive functions are too low.

There may be exponentially many paths to a function. So each edge is distributed over at most SPREAD nodes of its
caller, those with the largest share (fewer for huge graphs), and the tree has at most SPREAD nodes per edge.
"""

from __future__ import annotations

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
ROOT = -1  # the caller of functions whose caller is unknown

# The note in a recording that was made from a call graph.
REBUILT = (
    "the file has callers and callees but no paths, so the tree is an estimate, "
    "and total times of mutually recursive functions are too low"
)


@dataclass(slots=True)
class Cost:
    """The cost of a function or an edge, with times in ns."""

    calls: int = 0
    primitive: int = 0  # calls of outermost nodes
    own: float = 0.0
    total: float = 0.0
    nested_calls: int = 0  # including those of all direct and indirect callees
    resumes: int = 0
    wait: float = 0.0  # the part of `own` off the CPU
    total_wait: float = 0.0  # the part of `total` off the CPU
    open: int = 0  # nodes on the current path, while a tree is summed


@dataclass(slots=True)
class Graph:
    """Costs by function and by (caller, callee). Functions are numbers that the creator chose."""

    functions: dict[int, Cost] = field(default_factory=dict)
    edges: dict[tuple[int, int], Cost] = field(default_factory=dict)

    def incoming(self) -> dict[int, list[tuple[int, Cost]]]:
        """Return the callers of each function, with the costs of their edges."""
        found: dict[int, list[tuple[int, Cost]]] = {key: [] for key in self.functions}
        for (caller, callee), cost in self.edges.items():
            found[callee].append((caller, cost))
        return found


def call_graph(forest: CallTrees, keys: Sequence[int], threads: Iterable[int]) -> Graph:
    """Return the call graph of some threads (rows). keys: the number of each function; equal ones are merged."""
    parent, function, nested = forest.parent, forest.function, forest.nested_calls
    tree = forest.recording.tree
    calls, resumes, own, total = tree["calls"], tree["resumes"], tree["own_ns"], tree["total_ns"]
    wait, total_wait = tree["wait_ns"], tree["total_wait_ns"]
    functions: dict[int, Cost] = {}
    edges: dict[tuple[int, int], Cost] = {}
    path: list[tuple[Cost, Cost]] = []  # of the open nodes: their functions and edges
    for thread in threads:
        for step in forest.walk(thread):
            if step < 0:
                for cost in path.pop():
                    cost.open -= 1
                continue
            callee, above = keys[function[step]], parent[step]
            pair = (keys[function[above]] if above >= 0 else ROOT, callee)
            of_function = functions.get(callee) or functions.setdefault(callee, Cost())
            of_edge = edges.get(pair) or edges.setdefault(pair, Cost())
            path.append((of_function, of_edge))
            for cost in path[-1]:
                cost.calls += calls[step]
                cost.resumes += resumes[step]
                cost.own += own[step]
                cost.wait += wait[step]
                if not cost.open:
                    cost.primitive += calls[step]
                    cost.total += total[step]
                    cost.total_wait += total_wait[step]
                    cost.nested_calls += nested[step]
                cost.open += 1
    return Graph({key: functions[key] for key in sorted(functions)}, edges)


def into_tree(graph: Graph, functions: Sequence[Frame], builder: Builder, thread: int) -> None:
    """Build one thread's tree from a graph whose calls and times are whole numbers; see the module's docstring.

    functions: the function of each number of the graph. Each function of an edge has a cost.
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
    nodes: dict[int, list[tuple[float, int]]] = {key: [] for key in order}  # (inner time, node) by function
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
        nodes[key] = []  # frees memory that is no longer needed


def _dealt(edge: Cost, callers: list[tuple[float, int]]) -> list[tuple[int, int, int, float]]:
    """Return an edge's distribution over nodes of its caller, as (node, calls, own, inner)."""
    weights = [weight for weight, _ in callers]
    whole = sum(weights)
    if whole <= 0:
        weights, whole = [1.0] + [0.0] * (len(callers) - 1), 1.0
    inner = max(edge.total - edge.own, 0.0)
    shares = zip(callers, _parts(edge.calls, weights), _parts(int(edge.own), weights), weights, strict=True)
    dealt: list[tuple[int, int, int, float]] = []
    for (_, node), calls, own, weight in shares:
        below = inner * (weight / whole)
        if calls or own or below > 0 or not dealt:  # at least one, so that the edge is kept
            dealt.append((node, calls, own, below))
    return dealt


def _parts(amount: int, weights: Sequence[float]) -> list[int]:
    """Divide a whole amount in proportion to the weights, into whole parts with exactly this sum."""
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
    """Fill in missing data: totals of functions, own times of edges and, unless `has_calls`, calls.

    A function's total is its own time and that of its calls of other functions. Its own time is distributed over its
    callers by the time of their calls, which is exact for a function that calls nothing.
    """
    for cost in graph.functions.values():
        cost.total = cost.own
    for (caller, callee), edge in graph.edges.items():
        if caller != callee:
            graph.functions[caller].total += edge.total
    for key, callers in graph.incoming().items():
        cost = graph.functions[key]
        if not has_calls:
            cost.calls = sum(edge.calls for _, edge in callers)
        own = int(cost.own)
        others = [edge for caller, edge in callers if caller != key]
        for caller, edge in callers:
            if caller == key and cost.calls:  # recursive time is not separated, so it gets its share of the calls
                edge.own = int(cost.own * min(edge.calls / cost.calls, 1.0))
                own -= int(edge.own)
        # The last share is that of calls without a known caller. It is 0 if every call has a caller, even if the
        # totals, which count recursive time more than once, leave a rest.
        all_known = callers and sum(edge.calls for _, edge in callers) >= cost.calls
        rest = 0.0 if all_known else max(cost.total - sum(edge.total for edge in others), 0.0)
        weights = [edge.total for edge in others] + [rest]
        if not sum(weights):
            weights = [float(edge.calls) for edge in others] + [0.0]
        if sum(weights):
            for edge, part in zip(others, _parts(own, weights), strict=False):
                edge.own = part


def _make_consistent(graph: Graph) -> None:
    """Make the calls and own time of each function the sum of its edges, with an edge from ROOT for the rest.

    If the edges have more than the function (other tools round, or miss calls), the largest edges are reduced.
    """
    for key, callers in graph.incoming().items():
        cost, edges = graph.functions[key], [edge for _, edge in callers]
        calls = _cut([edge.calls for edge in edges], cost.calls)
        own = _cut([int(edge.own) for edge in edges], int(cost.own))
        for edge, some_calls, some_own in zip(edges, calls, own, strict=True):
            edge.calls, edge.own = some_calls, some_own
        graph.edges[ROOT, key] = Cost(calls=cost.calls - sum(calls), own=int(cost.own) - sum(own))


def _cut(amounts: list[int], bound: int) -> list[int]:
    """Return the amounts with the largest ones reduced until their sum is at most the bound."""
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
    """Return the functions in order, callers first, and the set of edges that close a cycle.

    Also set the total of each function's edge from ROOT to the time that its other callers do not account for.
    """
    callees: dict[int, list[int]] = {key: [] for key in graph.functions}
    for caller, callee in sorted(graph.edges, key=lambda edge: graph.edges[edge].total, reverse=True):
        if caller != ROOT:
            callees[caller].append(callee)
    # Starting at the program's entry points makes the closing edges the inner ones.
    starts = sorted(
        graph.functions, key=lambda key: (graph.edges[ROOT, key].calls > 0, graph.functions[key].total), reverse=True
    )
    left: list[int] = []
    closing: set[tuple[int, int]] = set()
    is_open: dict[int, bool] = {}  # of the functions that were reached: on the current path
    waiting = starts[::-1]
    while waiting:
        key = waiting[-1]
        if key not in is_open:
            is_open[key] = True
            closing.update((key, callee) for callee in callees[key] if is_open.get(callee))
            waiting += (callee for callee in reversed(callees[key]) if callee not in is_open)
            continue
        waiting.pop()
        if is_open[key]:
            is_open[key] = False
            left.append(key)
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
