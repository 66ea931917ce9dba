"""Times with errors from counts, exact times and samples. native/estimate/estimate.c explains the method.

The order of all operations is that of the native core, so that the results are the same to the last bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seismo.pure.numbers import ints, reals

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_QUIET, _BUSY = 0.04, 0.06
_WORTH, _FEW, _LEAST_WORTH = 2.0, 8.0, 0.1  # looks; exact pieces
_LEAST_PIECE, _LEAST_LEFT, _LEAST = 1.0, 0.05, 1e-6
_MOST_OFF = 4.0
_PASSES = 10
_DEEP_LEVELS = 6


class _Part:
    """A node, or a group of nodes: its share of the time of `group`, and what it has beside that share (ns)."""

    __slots__ = (
        *("group", "process", "worth", "sampled", "predicted", "time"),
        *("overhead", "pieces", "piece_ns", "piece_cost", "exact", "left"),
    )

    def __init__(self, process: int, group: _Group, worth: float) -> None:
        self.process, self.group, self.worth = process, group, worth  # the worth of its prediction, in looks
        self.sampled = self.predicted = self.time = 0.0
        self.overhead = self.pieces = self.piece_ns = self.piece_cost = self.exact = self.left = 0.0


class _Group(_Part):
    """A process, or a pool of it (the nodes of one function): a time to divide, the mean time of a look, and sums."""

    def __init__(self, process: int, group: _Group | None = None) -> None:
        super().__init__(process, group or self, 0.0)
        self.look = math.inf
        self.scale = self.rate = self.sum = self.slope = self.positive = 0.0
        self.square = self.ran = self.ready = self.unrest = 0.0  # of processes
        self.wait_ns = self.wait_sq = self.own_sq = self.shared_ns = self.chance = 0.0  # of pools


def _ratio(value: float, by: float) -> float:
    """Divide as C does: damaged files have numbers so large that a divisor becomes 0."""
    if by:
        return value / by
    return math.nan if value == 0 or math.isnan(value) else math.copysign(math.inf, value)


def _hypot(a: float, b: float) -> float:
    return abs(complex(a, b))  # the C library's, which math.hypot is not


def _divide(groups: Collection[_Group], parts: Collection[_Part]) -> None:
    """Divide the time of each group among its parts, by Newton's method on the rate."""
    for part in parts:
        part.group.sum += part.predicted
    for group in groups:
        group.scale = group.time / max(_LEAST, group.sum)
    for part in parts:
        part.predicted = max(part.predicted * part.group.scale, part.sampled / _MOST_OFF)
    for _ in range(_PASSES):
        for group in groups:
            group.sum = group.slope = 0.0
        for part in parts:
            group = part.group
            rate = part.worth / part.predicted + group.rate if part.predicted > 0 else math.inf
            part.time = _ratio(part.worth + part.sampled / group.look, rate)
            group.sum += part.time
            group.slope += _ratio(part.time, rate)
        for group in groups:
            if group.sum > 0 and group.time > 0:
                step = (group.sum - group.time) / group.time * _ratio(group.sum, group.slope)
                group.rate = max(0.0, group.rate + step)
    for part in parts:
        group = part.group
        part.time *= group.time / group.sum if group.sum > 0 else 0.0


def _chance(part: float, whole: float, look: float, worth: float) -> float:
    """Return the squared error of a part, from looks and a prediction worth so many of them."""
    others = whole - part
    if not (part > 0 and others > 0):
        return 0.0
    return _ratio(4.0, _ratio(worth + part / look, part * part) + _ratio(worth + others / look, others * others))


def _chance_of(part: _Part, whole: float, look: float) -> float:
    off = part.time - part.sampled
    return _chance(part.time, whole, look, part.worth) + off * off


def _scaled(value: float, to: float, by: float) -> float:
    return value * (to / by) if by > 0 else 0.0


def _left_of(time: float, overhead: float) -> float:
    return max(_LEAST_LEFT * time, time - overhead)


def _lists(table: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: memoryview(column).tolist() for name, column in table.items() if name not in ("rows", "id")}


def estimate(tables: Mapping[str, Mapping[str, Any]], distorted: bool = True) -> dict[str, memoryview]:
    """Return own and total times of nodes with errors, and own times of functions, in ns."""
    return _Estimate(tables, distorted).columns()


class _Estimate:
    def __init__(self, tables: Mapping[str, Mapping[str, Any]], distorted: bool) -> None:
        self.table, self.threads, self.costs = (_lists(tables[name]) for name in ("nodes", "threads", "processes"))
        self.kinds = memoryview(tables["functions"]["kind"]).tolist()
        self.distorted = distorted
        self.processes = [_Group(process) for process in range(len(self.costs["piece_ns"]))]
        self.pools: dict[tuple[int, int], _Group] = {}  # by process and function
        self.nodes: list[_Part] = []
        self.rests = [0.0] * len(self.threads["process"])
        columns = (self.table[name] for name in ("thread", "function", "timed", "timed_ns"))
        for thread, function, timed, timed_ns in zip(*columns, strict=True):
            process = self.threads["process"][thread]
            pool = self.pools.get((process, function))
            if pool is None:
                pool = self.pools[process, function] = _Group(process, self.processes[process])
            node = _Part(process, pool, _WORTH)
            node.pieces, node.piece_cost = float(timed), timed * self.costs["piece_ns"][process]
            node.piece_ns = float(timed_ns) - node.piece_cost
            node.exact = max(0.0, node.piece_ns)
            self.nodes.append(node)

    def columns(self) -> dict[str, memoryview]:
        entries = self._count_entries()
        looks = self._fill_groups()
        self._predict(entries)
        self._estimate_rest(looks)
        return {**self._of_nodes(self._estimate_own()), **self._of_functions()}

    def _deep_calls(self) -> list[float]:
        """Return the calls some levels below each node."""
        found, parents = [0.0] * len(self.nodes), self.table["parent"]
        for node, calls in enumerate(self.table["calls"]):
            above = node
            if self.costs["deep_ns"][self.nodes[node].process] <= 0:
                continue
            for _ in range(_DEEP_LEVELS):
                above = parents[above] if above >= 0 else -1
            if above >= 0:
                found[above] += calls
        return found

    def _count_entries(self) -> list[float]:
        """Add up the overhead of each node. Return the entries of it and of its children."""
        found, costs, deep = [0.0] * len(self.nodes), self.costs, self._deep_calls()
        columns = (self.table[name] for name in ("calls", "resumes", "entered", "function", "parent"))
        for number, (called, resumed, entered, function, parent) in enumerate(zip(*columns, strict=True)):
            node, calls, resumes = self.nodes[number], float(called), float(resumed)
            process, entries = node.process, calls + resumes
            counted = max(0.0, 1 - float(entered) / entries) if entries > 0 else 0.0
            if self.kinds[function] == 1:
                inside, outside = calls * costs["c_inside"][process], calls * costs["c_outside"][process]
            else:
                inside = calls * costs["python_inside"][process] + resumes * costs["resume_inside"][process]
                outside = calls * costs["python_outside"][process] + resumes * costs["resume_outside"][process]
                outside += costs["deep_ns"][process] * min(calls, deep[number])
            found[number] += entries
            node.overhead += counted * inside
            if parent >= 0:
                found[parent] += entries
                self.nodes[parent].overhead += counted * outside
        return found

    def _fill_groups(self) -> dict[int, float]:
        """Sum up the pools and processes. Return the time by looks of each thread that has nodes."""
        looks: dict[int, float] = {}
        names = ("thread", "sampled_ns", "sampled_sq", "wait_ns", "wait_sq", "ready_ns", "own_sq", "shared_ns")
        rows = zip(*(self.table[name] for name in names), strict=True)
        for node, (thread, sampled, square, wait, wait_square, ready, own, shared) in zip(
            self.nodes, rows, strict=True
        ):
            pool, process = node.group, self.processes[node.process]
            pool.pieces += node.pieces
            pool.piece_ns += node.piece_ns
            pool.piece_cost += node.piece_cost
            pool.exact += node.exact
            pool.overhead += node.overhead
            pool.wait_ns += wait
            pool.wait_sq += wait_square
            pool.own_sq += own
            pool.shared_ns += shared
            process.ready += ready
            process.square += square
            process.overhead += node.overhead
            looks[thread] = looks.get(thread, 0.0) + sampled
        return looks

    def _predict(self, entries: list[float]) -> None:
        for node, entered, sampled in zip(self.nodes, entries, self.table["sampled_ns"], strict=True):
            pool = node.group
            usual = pool.piece_ns / pool.pieces if pool.pieces > 0 else 0.0
            piece = (node.piece_ns + _FEW * usual) / (node.pieces + _FEW)
            node.sampled = float(sampled)
            node.predicted = max(0.0, entered - node.pieces) * max(_LEAST_PIECE, piece) + node.overhead
            pool.worth = _WORTH * (pool.pieces + _LEAST_WORTH) / (pool.pieces + _FEW)
            pool.sampled += node.sampled
            pool.predicted += node.predicted

    def _estimate_rest(self, looks: Mapping[int, float]) -> None:
        for thread, process in enumerate(self.threads["process"]):
            group, rest = self.processes[process], self.threads["rest_ns"][thread]
            self.rests[thread] = float(rest) if rest > 0 else looks.get(thread, 0.0)
            group.time += self.rests[thread] if thread in looks else 0.0
            group.sum += looks.get(thread, 0.0)
        for group in self.processes:
            group.scale = group.time / group.sum if group.sum > 0 else 0.0
            group.look = max(_LEAST, group.square / group.sum * group.scale) if group.sum > 0 else math.inf
            group.sum = 0.0
        pools = self.pools.values()
        for part in (*self.nodes, *pools):
            part.sampled *= self.processes[part.process].scale
        _divide(self.processes, pools)
        for pool in pools:
            pool.look = pool.group.look
        _divide(pools, self.nodes)
        times = [0.0] * len(self.rests)
        for thread, node in zip(self.table["thread"], self.nodes, strict=True):
            times[thread] += node.time
        for pool in pools:
            pool.time = 0.0
        for thread, node in zip(self.table["thread"], self.nodes, strict=True):
            node.time *= self.rests[thread] / max(_LEAST, times[thread])
            node.group.time += node.time

    def _estimate_own(self) -> list[float]:
        """Return the own time of each node, and set the time that is left of each group without the overhead."""
        for part in (*self.nodes, *self.pools.values()):
            part.left = _left_of(part.time, part.overhead)
            part.group.positive += part.left
        for pool in self.pools.values():
            process = pool.group
            pool.left = _scaled(pool.left, _left_of(process.time, process.overhead), process.positive)
            process.ran += pool.left + pool.exact
        for process in self.processes:
            busy = _BUSY * process.ready / (process.ready + process.ran) if process.ready > 0 else 0.0
            process.unrest = _QUIET + busy
        return [
            _scaled(node.left, node.group.left, node.group.positive) + node.exact + wait
            for node, wait in zip(self.nodes, self.table["wait_ns"], strict=True)
        ]

    def _distortion(self, part: _Part, ran: float) -> float:
        relative: float = self.costs["cost_error"][part.process]
        if relative <= 0:
            return 0.0
        by_probes = relative * (part.overhead + part.piece_cost) + max(0.0, part.overhead - part.time)
        return by_probes + (self.processes[part.process].unrest * ran if self.distorted else 0.0)

    def _of_nodes(self, own: list[float]) -> dict[str, memoryview]:
        for pool in self.pools.values():
            pool.chance = _chance_of(pool, pool.group.time, pool.group.look)
        waits, square = list(map(float, self.table["wait_ns"])), [4 * value for value in self.table["wait_sq"]]
        rests, parents = [self.rests[thread] for thread in self.table["thread"]], self.table["parent"]
        looks = [self.processes[node.process].look for node in self.nodes]
        time = [node.time for node in self.nodes]
        own_sq, shared = self.table["own_sq"][:], self.table["shared_ns"]
        error, distortion, doubt = [], [], []
        for number, node in enumerate(self.nodes):
            distortion.append(self._distortion(node, own[number] - waits[number]) + shared[number])
            square[number] += 4 * own_sq[number]
            by_chance = _chance_of(node, rests[number], looks[number])
            error.append(_hypot(math.sqrt(by_chance + square[number]), distortion[number]))
            doubt.append(_scaled(node.group.chance, node.time, node.group.time))
            own_sq[number] += doubt[number] / 4
        total, shared = own[:], distortion[:]
        for number in range(len(parents) - 1, -1, -1):
            if parents[number] >= 0:
                for sums in (time, doubt, total, waits, square, distortion):
                    sums[parents[number]] += sums[number]
        total_error: list[float] = []
        depth: list[int] = []
        for number, parent in enumerate(parents):
            by_chance = _chance(time[number], rests[number], looks[number], _WORTH)
            total_error.append(_hypot(math.sqrt(square[number] + by_chance), distortion[number]))
            square[number] += doubt[number]
            depth.append(depth[parent] + 1 if parent >= 0 else 0)
        found = {"own_ns": own, "own_error_ns": error, "total_ns": total, "total_error_ns": total_error}
        found |= {"total_square": square, "total_wait_ns": waits, "total_distortion": distortion}
        found |= {"own_sq": own_sq, "shared_ns": shared}
        return {"depth": ints(depth), **{name: reals(values) for name, values in found.items()}}

    def _of_functions(self) -> dict[str, memoryview]:
        own, error, distortion = ([0.0] * len(self.kinds) for _ in range(3))
        for (_, function), pool in self.pools.items():
            ran = pool.exact + pool.left
            own[function] += ran + pool.wait_ns
            distortion[function] += self._distortion(pool, ran)
            distortion[function] += pool.shared_ns
            error[function] += pool.chance + 4 * (pool.wait_sq + pool.own_sq)
        error = [_hypot(math.sqrt(square), shared) for square, shared in zip(error, distortion, strict=True)]
        found = {"function_own_ns": own, "function_own_error_ns": error, "function_distortion_ns": distortion}
        return {name: reals(values) for name, values in found.items()}
