"""Times with errors from counts, exact times and samples. native/estimate/estimate.c explains the method.

The order of all operations is that of the native core, so that the results are the same to the last bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seismo.pure.numbers import ints, reals

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUIET, _BUSY = 0.04, 0.06
_WORTH, _FEW, _LEAST_WORTH = 2.0, 8.0, 0.1  # looks; exact pieces
_LEAST_PIECE, _LEAST_LEFT, _LEAST = 1.0, 0.05, 1e-6
_MOST_OFF = 4.0
_PASSES = 10
_DEEP_LEVELS = 6


class _Share:
    """A part of a group's time: ns, and `worth` in looks."""

    __slots__ = ("group", "predicted", "sampled", "time", "worth")

    def __init__(self, group: _Group, worth: float = 0.0) -> None:
        self.group, self.worth = group, worth
        self.sampled = self.predicted = self.time = 0.0


class _Group:
    """A process, or a pool of it (the nodes of one function): a time to divide, the mean time of a look, and sums."""

    def __init__(self, of: _Group | None = None, process: int = -1, function: int = -1) -> None:
        self.process, self.function = process, function
        self.share = _Share(of or self)
        self.time, self.look = 0.0, math.inf
        self.scale = self.rate = self.sum = self.slope = self.overhead = self.positive = 0.0
        self.square = self.ran = self.ready = self.unrest = 0.0  # of processes
        self.pieces = self.piece_ns = self.piece_cost = self.exact = self.left = 0.0  # of pools, as the rest
        self.wait_ns = self.wait_sq = self.chance = 0.0


def _ratio(value: float, by: float) -> float:
    """Divide as C does: damaged files have numbers so large that a divisor becomes 0."""
    if by:
        return value / by
    return math.nan if value == 0 or math.isnan(value) else math.copysign(math.inf, value)


def _hypot(a: float, b: float) -> float:
    return abs(complex(a, b))  # the C library's, which math.hypot is not


def _divide(shares: list[_Share], groups: list[_Group]) -> None:
    """Divide the time of each group, by Newton's method on the rate."""
    for share in shares:
        share.group.sum += share.predicted
    for group in groups:
        group.scale = group.time / max(_LEAST, group.sum)
    for share in shares:
        share.predicted = max(share.predicted * share.group.scale, share.sampled / _MOST_OFF)
    for _ in range(_PASSES):
        for group in groups:
            group.sum = group.slope = 0.0
        for share in shares:
            group = share.group
            rate = share.worth / share.predicted + group.rate if share.predicted > 0 else math.inf
            share.time = _ratio(share.worth + share.sampled / group.look, rate)
            group.sum += share.time
            group.slope += _ratio(share.time, rate)
        for group in groups:
            if group.sum > 0 and group.time > 0:
                step = (group.sum - group.time) / group.time * _ratio(group.sum, group.slope)
                group.rate = max(0.0, group.rate + step)
    for share in shares:
        group = share.group
        share.time *= group.time / group.sum if group.sum > 0 else 0.0


def _chance(part: float, whole: float, look: float, worth: float) -> float:
    """Return the squared error of a part, from looks and a prediction worth so many of them."""
    others = whole - part
    if not (part > 0 and others > 0):
        return 0.0
    return _ratio(4.0, _ratio(worth + part / look, part * part) + _ratio(worth + others / look, others * others))


def _chance_of(share: _Share, whole: float, look: float) -> float:
    off = share.time - share.sampled
    return _chance(share.time, whole, look, share.worth) + off * off


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
        nodes, threads = _lists(tables["nodes"]), _lists(tables["threads"])
        self.nodes, self.threads, self.costs = nodes, threads, _lists(tables["processes"])
        self.kinds = memoryview(tables["functions"]["kind"]).tolist()
        self.distorted = distorted
        self.parent, self.count = nodes["parent"], len(nodes["parent"])
        self.process = [threads["process"][thread] for thread in nodes["thread"]]
        self.processes = [_Group() for _ in self.costs["piece_ns"]]
        self.pools: dict[tuple[int, int], _Group] = {}
        self.pool_of: list[_Group] = []
        for process, function in zip(self.process, nodes["function"], strict=True):
            key = process, function
            if key not in self.pools:
                self.pools[key] = _Group(self.processes[process], process, function)
            self.pool_of.append(self.pools[key])
        self.shares = [_Share(pool, _WORTH) for pool in self.pool_of]
        self.overhead, self.below = [0.0] * self.count, [0.0] * self.count
        self.rests = [0.0] * len(threads["process"])
        # of each node's exact pieces: the cost, and the time less that
        of_pieces = zip(nodes["timed"], self.process, strict=True)
        self.piece_cost = [timed * self.costs["piece_ns"][process] for timed, process in of_pieces]
        self.piece_ns = [float(ns) - cost for ns, cost in zip(nodes["timed_ns"], self.piece_cost, strict=True)]
        self.exact = [max(0.0, ns) for ns in self.piece_ns]

    def columns(self) -> dict[str, memoryview]:
        self._count_pieces()
        sampled = self._fill_pools()
        self._estimate_rest(sampled)
        own = self._estimate_own()
        return {**self._of_nodes(own), **self._of_functions()}

    def _deep_calls(self) -> list[float]:
        """Return the calls some levels below each node."""
        found = [0.0] * self.count
        for node, process in enumerate(self.process):
            above = node
            if self.costs["deep_ns"][process] <= 0:
                continue
            for _ in range(_DEEP_LEVELS):
                above = self.parent[above] if above >= 0 else -1
            if above >= 0:
                found[above] += self.nodes["calls"][node]
        return found

    def _count_pieces(self) -> None:
        costs, deep = self.costs, self._deep_calls()
        rows = zip(*(self.nodes[name] for name in ("calls", "resumes", "entered", "function", "parent")), strict=True)
        for node, (called, resumed, entered, function, parent) in enumerate(rows):
            process, calls, resumes = self.process[node], float(called), float(resumed)
            entries = calls + resumes
            counted = max(0.0, 1 - float(entered) / entries) if entries > 0 else 0.0
            if self.kinds[function] == 1:
                inside, outside = calls * costs["c_inside"][process], calls * costs["c_outside"][process]
            else:
                inside = calls * costs["python_inside"][process] + resumes * costs["resume_inside"][process]
                outside = calls * costs["python_outside"][process] + resumes * costs["resume_outside"][process]
                outside += costs["deep_ns"][process] * min(calls, deep[node])
            self.below[node] += entries
            self.overhead[node] += counted * inside
            if parent >= 0:
                self.below[parent] += entries
                self.overhead[parent] += counted * outside

    def _fill_pools(self) -> list[float]:
        """Sum up the pools and processes. Return the time by looks of each thread, or -1 if it has no nodes."""
        nodes, sampled = self.nodes, [-1.0] * len(self.rests)
        for node, pool in enumerate(self.pool_of):
            pool.pieces += nodes["timed"][node]
            pool.piece_ns += self.piece_ns[node]
            pool.piece_cost += self.piece_cost[node]
            pool.exact += self.exact[node]
            pool.overhead += self.overhead[node]
            pool.wait_ns += nodes["wait_ns"][node]
            pool.wait_sq += nodes["wait_sq"][node]
            process = self.processes[pool.process]
            process.ready += nodes["ready_ns"][node]
            process.square += nodes["sampled_sq"][node]
            process.overhead += self.overhead[node]
            thread = nodes["thread"][node]
            sampled[thread] = max(0.0, sampled[thread]) + nodes["sampled_ns"][node]
        return sampled

    def _predict(self) -> None:
        nodes = self.nodes
        for node, pool in enumerate(self.pool_of):
            share, whole, timed = self.shares[node], pool.share, float(nodes["timed"][node])
            usual = pool.piece_ns / pool.pieces if pool.pieces > 0 else 0.0
            piece = (self.piece_ns[node] + _FEW * usual) / (timed + _FEW)
            share.sampled = float(nodes["sampled_ns"][node])
            share.predicted = max(0.0, self.below[node] - timed) * max(_LEAST_PIECE, piece) + self.overhead[node]
            whole.worth = _WORTH * (pool.pieces + _LEAST_WORTH) / (pool.pieces + _FEW)
            whole.sampled += share.sampled
            whole.predicted += share.predicted

    def _estimate_rest(self, sampled: list[float]) -> None:
        self._predict()
        for thread, process in enumerate(self.threads["process"]):
            group, looks = self.processes[process], max(0.0, sampled[thread])
            rest = self.threads["rest_ns"][thread]
            self.rests[thread] = float(rest) if rest > 0 else looks
            group.time += self.rests[thread] if sampled[thread] >= 0 else 0.0
            group.sum += looks
        for of in self.processes:
            of.scale = of.time / of.sum if of.sum > 0 else 0.0
            of.look = max(_LEAST, of.square / of.sum * of.scale) if of.sum > 0 else math.inf
            of.sum = 0.0
        for node, share in enumerate(self.shares):
            share.sampled *= self.processes[self.process[node]].scale
        pools = list(self.pools.values())
        for pool in pools:
            pool.share.sampled *= self.processes[pool.process].scale
        _divide([pool.share for pool in pools], self.processes)
        for pool in pools:
            pool.time, pool.look = pool.share.time, self.processes[pool.process].look
        _divide(self.shares, pools)
        times = [0.0] * len(self.rests)
        for thread, share in zip(self.nodes["thread"], self.shares, strict=True):
            times[thread] += share.time
        for pool in pools:
            pool.share.time = 0.0
        for node, (thread, share) in enumerate(zip(self.nodes["thread"], self.shares, strict=True)):
            share.time *= self.rests[thread] / max(_LEAST, times[thread])
            self.pool_of[node].share.time += share.time

    def _estimate_own(self) -> list[float]:
        own = []
        for node, (pool, share) in enumerate(zip(self.pool_of, self.shares, strict=True)):
            own.append(_left_of(share.time, self.overhead[node]))
            pool.positive += own[-1]
        for pool in self.pools.values():
            pool.left = _left_of(pool.share.time, pool.overhead)
            self.processes[pool.process].positive += pool.left
        for pool in self.pools.values():
            process = self.processes[pool.process]
            pool.left = _scaled(pool.left, _left_of(process.time, process.overhead), process.positive)
            process.ran += pool.left + pool.exact
        for node, pool in enumerate(self.pool_of):
            own[node] = _scaled(own[node], pool.left, pool.positive) + self.exact[node] + self.nodes["wait_ns"][node]
        for process in self.processes:
            busy = _BUSY * process.ready / (process.ready + process.ran) if process.ready > 0 else 0.0
            process.unrest = _QUIET + busy
        return own

    def _distortion(self, process: int, overhead: float, rest: float, pieces: float, ran: float) -> float:
        relative: float = self.costs["cost_error"][process]
        if relative <= 0:
            return 0.0
        by_probes = relative * (overhead + pieces) + max(0.0, overhead - rest)
        return by_probes + (self.processes[process].unrest * ran if self.distorted else 0.0)

    def _of_nodes(self, own: list[float]) -> dict[str, memoryview]:
        nodes, error, distortion, doubt = self.nodes, [], [], []
        for pool in self.pools.values():
            group = self.processes[pool.process]
            pool.chance = _chance_of(pool.share, group.time, group.look)
        square = [4 * value for value in nodes["wait_sq"]]
        for node, (pool, share) in enumerate(zip(self.pool_of, self.shares, strict=True)):
            ran = own[node] - nodes["wait_ns"][node]
            distortion.append(
                self._distortion(pool.process, self.overhead[node], share.time, self.piece_cost[node], ran)
            )
            by_chance = _chance_of(share, self.rests[nodes["thread"][node]], self.processes[pool.process].look)
            error.append(_hypot(math.sqrt(by_chance + square[node]), distortion[node]))
            self.below[node] = share.time
            doubt.append(_scaled(pool.chance, share.time, pool.share.time))
        total, waits = own[:], [float(value) for value in nodes["wait_ns"]]
        for node in range(self.count - 1, -1, -1):
            parent = self.parent[node]
            if parent >= 0:
                for sums in (self.below, doubt, total, waits, square, distortion):
                    sums[parent] += sums[node]
        total_error: list[float] = []
        depth: list[int] = []
        for node, process in enumerate(self.process):
            rest = self.rests[nodes["thread"][node]]
            by_chance = _chance(self.below[node], rest, self.processes[process].look, _WORTH)
            total_error.append(_hypot(math.sqrt(square[node] + by_chance), distortion[node]))
            square[node] += doubt[node]
            depth.append(0 if self.parent[node] < 0 else depth[self.parent[node]] + 1)
        found = {"own_ns": own, "own_error_ns": error, "total_ns": total, "total_error_ns": total_error}
        found |= {"total_square": square, "total_wait_ns": waits, "total_distortion": distortion}
        return {"depth": ints(depth), **{name: reals(values) for name, values in found.items()}}

    def _of_functions(self) -> dict[str, memoryview]:
        count = len(self.kinds)
        own, error, distortion = [0.0] * count, [0.0] * count, [0.0] * count
        for pool in self.pools.values():
            ran, time, function = pool.exact + pool.left, pool.share.time, pool.function
            own[function] += ran + pool.wait_ns
            distortion[function] += self._distortion(pool.process, pool.overhead, time, pool.piece_cost, ran)
            error[function] += pool.chance + 4 * pool.wait_sq
        error = [_hypot(math.sqrt(square), shared) for square, shared in zip(error, distortion, strict=True)]
        found = {"function_own_ns": own, "function_own_error_ns": error, "function_distortion_ns": distortion}
        return {name: reals(values) for name, values in found.items()}
