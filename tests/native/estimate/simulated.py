"""A process whose every nanosecond is known, recorded by the rules of the recorder of calls.

The time of a thread is a list of pieces: whose own time, and how long. A piece is exact if its function is young (in
its first YOUNG entries), unless it follows the end of a mature callee. All others are sampled: looks come at random,
and each stands for the sampled time of its thread since the one before.
"""

import random
from bisect import bisect_left
from itertools import accumulate

from estimating import recording

YOUNG = 64  # entries
LOOK = 250_000.0  # ns between looks, on average


class Process:
    """Threads that run one after another, and what recording them gives.

    costs: of the probes, by the columns of `processes`. spread: the relative standard deviation of what counting an
    entry costs between functions.
    """

    def __init__(self, seed, *, costs=None, spread=0.0, look=LOOK):
        self.random = random.Random(seed)
        self.costs = costs or {}
        self.spread = spread
        self.look = look
        self.now, self.next_look = 0.0, self.random.random() * look  # ns of sampled time of all threads
        self.nodes, self.truth = [], []  # of each node its columns, and its true own time
        self.entries, self.cost_of = [], []  # of each function
        self.rest = []  # of each thread
        self.pieces = []  # (node, ns), sampled ones of the current thread

    def function(self):
        """Adds a function; its number."""
        self.entries.append(0)
        self.cost_of.append(max(0.0, self.random.gauss(1.0, self.spread)))
        return len(self.entries) - 1

    def thread(self):
        """Begins a thread."""
        self.rest.append(0)
        self.pieces = []

    def node(self, function, parent=-1):
        """Adds a path of the current thread; its number."""
        columns = dict.fromkeys(("calls", "entered", "timed", "timed_ns", "sampled", "sampled_ns", "sampled_sq"), 0.0)
        place = {"function": function, "parent": parent, "thread": len(self.rest) - 1}
        self.nodes.append(columns | place)
        self.truth.append(0.0)
        return len(self.nodes) - 1

    def is_young(self, node):
        """Whether the ends of its calls are reported."""
        return self.entries[self.nodes[node]["function"]] <= YOUNG

    def enter(self, node, ns):
        """A call begins, and runs so long until something else does. Returns whether its end will be reported."""
        columns = self.nodes[node]
        self.entries[columns["function"]] += 1
        exact = self.is_young(node)
        columns["calls"] += 1
        columns["entered"] += exact
        self._piece(node, ns, exact, self._cost(node, "python_inside"))
        return exact

    def go_on(self, node, ns, callee, reported):
        """A node goes on after a call of the callee, whose end was reported or not."""
        cost = 0.0 if reported else self._cost(callee, "python_outside")
        self._piece(node, ns, reported and self.is_young(node), cost)

    def _cost(self, node, which):
        return self.costs.get(which, 0.0) * self.cost_of[self.nodes[node]["function"]]

    def _piece(self, node, ns, exact, counting):
        self.truth[node] += ns
        if exact:
            self.nodes[node]["timed"] += 1
            self.nodes[node]["timed_ns"] += ns + self.costs.get("piece_ns", 0.0)
        else:
            self.pieces.append((node, ns + counting))

    def end_thread(self, looked_at=True):
        """Ends the current thread. looked_at: False, the sampler never came."""
        ends = list(accumulate(ns for _, ns in self.pieces))
        rest, last = ends[-1] if ends else 0.0, 0.0
        while looked_at and self.next_look < self.now + rest:
            time = self.next_look - self.now
            columns = self.nodes[self.pieces[bisect_left(ends, time)][0]]
            columns["sampled"] += 1
            columns["sampled_ns"] += time - last
            columns["sampled_sq"] += (time - last) ** 2
            last = time
            self.next_look += self.random.uniform(0.5, 1.5) * self.look
        self.now += rest
        self.rest[-1] = round(rest)

    def recording(self):
        """What the recorder would have saved."""
        nodes = [
            {name: value if name == "sampled_sq" else round(value) for name, value in columns.items()}
            for columns in self.nodes
        ]
        threads = [0] * len(self.rest)
        kinds = [0] * len(self.entries)
        return recording(nodes, kinds, costs=self.costs, rest_ns=self.rest, thread_process=threads)

    def own_times(self):
        """The true own times of functions."""
        sums = [0.0] * len(self.entries)
        for columns, ns in zip(self.nodes, self.truth, strict=True):
            sums[columns["function"]] += ns
        return sums

    def total_times(self):
        """The true total times of nodes."""
        totals = list(self.truth)
        for node in range(len(totals) - 1, -1, -1):
            parent = self.nodes[node]["parent"]
            if parent >= 0:
                totals[parent] += totals[node]
        return totals
