"""Handmade traces: a program that is played, with the journal and the tree that its recorder would have written.

`Played.truth` has each call with its true times, for comparison with the results of readers.
"""

import json
import random
import struct

from chunks import read_uvarint, uvarint

from seismo.model import Builder
from seismo.model.trace.file_chunks import joined

RETURN, YIELD, UNWIND, MARK, CALL, RESUME, GOTO, INSTANT, CHILD = range(9)
END, RESUME_CHILD = 128, 136


def lz4(data):
    """Return an LZ4 block of the data, compressed greedily with matches of at least four bytes."""
    out, seen, begin, at = bytearray(), {}, 0, 0

    def beyond_15(length):
        return b"" if length < 15 else b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255])

    def sequence(literals, distance=0, length=4):
        out.append(min(len(literals), 15) << 4 | min(length - 4, 15))
        out.extend(beyond_15(len(literals)) + literals)
        if distance:
            out.extend(struct.pack("<H", distance) + beyond_15(length - 4))

    while at + 12 < len(data):
        known = seen.get(data[at : at + 4])
        seen[data[at : at + 4]] = at
        if known is None or at - known > 65535:
            at += 1
            continue
        length = 4
        while at + length < len(data) - 5 and data[known + length] == data[at + length]:
            length += 1
        sequence(data[begin:at], at - known, length)
        at += length
        begin = at
    sequence(data[begin:])
    return bytes(out)


def apart(data):
    """Encode data with codec 2: marks separately, the rest as LZ4."""
    left, gaps, operands, since, at = b"", [], b"", 0, 0
    while at < len(data):
        begin, at = at, at + 1
        for _ in range(2 if data[begin] == 7 else 3 <= data[begin] < 7):
            operand, at = read_uvarint(data, at)
        at += operand if data[begin] == 7 else 0
        if data[begin] == 3:
            gaps.append(len(left) - since)
            operands += data[begin + 1 : at]
            since = len(left)
        else:
            left += data[begin:at]
    usual = max(gaps, key=gaps.count, default=0)
    odd = [place for place, gap in enumerate(gaps) if gap != usual]
    runs = [after - place - 1 for place, after in zip([-1, *odd], [*odd, len(gaps)], strict=True)]
    out = uvarint(len(left)) + uvarint(len(gaps)) + uvarint(usual) + uvarint(runs[0])
    out += b"".join(uvarint(gaps[place]) + uvarint(run) for place, run in zip(odd, runs[1:], strict=True))
    return out + operands + lz4(left)


def piece(thread, stream, block, offset, data, head=None, packed=0):
    """Return the payload of a JRNL chunk.

    `head` has the flags, rank, time and unit of a block's first chunk; `packed` is the codec.
    """
    out = uvarint(thread) + uvarint(stream) + uvarint(block) + uvarint(offset)
    if offset == 0:
        flags, rank, time, unit = head
        out += uvarint(flags) + uvarint(rank) + uvarint(time) + struct.pack("<d", unit)
    return out + bytes([packed]) + uvarint(len(data)) + (bytes, lz4, apart)[packed](data)


class Tree:
    """The paths of all threads, in the order of creation."""

    def __init__(self):
        self.parent, self.thread, self.function = [], [], []
        self.calls, self.resumes, self.exceptions = [], [], []
        self.children = {}  # (thread, node or -1) -> nodes
        self.ranks = {}  # thread -> nodes

    def child(self, thread, node, function):
        """Return the child of a node (-1 for the root) for this function, creating it if necessary."""
        siblings = self.children.setdefault((thread, node), [])
        for other in siblings:
            if self.function[other] == function:
                return other
        new = len(self.parent)
        self.parent.append(node)
        self.thread.append(thread)
        self.function.append(function)
        for counts in (self.calls, self.resumes, self.exceptions):
            counts.append(0)
        siblings.append(new)
        self.ranks.setdefault(thread, []).append(new)
        return new

    def rank(self, node, thread):
        return self.ranks[thread].index(node) + 1 if node >= 0 else 0


class Played:
    """A thread's journal under construction. `ns` is the true time since the process began."""

    def __init__(self, tree, thread, stream, start_ns, unit=8.0, packed=0, piece_bytes=10**9, block_bytes=60000):
        self.tree, self.thread, self.stream, self.unit = tree, thread, stream, unit
        self.packed, self.piece_bytes, self.block_bytes = packed, piece_bytes, block_bytes
        self.ns = self.event_ns = start_ns
        self.pieces = []
        self.stack = []  # rows of truth
        self.truth = []  # rows: node, parent row, start, end (None while open), how
        self.paused = {}  # node -> rows
        self.number = -1
        self.gap = False
        self.begin_block()

    @property
    def node(self):
        return self.truth[self.stack[-1]]["node"] if self.stack else -1

    def begin_block(self):
        self.number += 1
        self.marked = int(self.ns // self.unit)
        self.head = (int(self.gap), self.tree.rank(self.node, self.thread), int(self.marked * self.unit), self.unit)
        self.gap = False
        self.offset, self.bytes = 0, bytearray()

    def cut_piece(self):
        if self.bytes:
            given = (self.thread, self.stream, self.number, self.offset, bytes(self.bytes), self.head, self.packed)
            self.pieces.append(piece(*given))
            self.offset += len(self.bytes)
            self.bytes = bytearray()

    def put(self, token):
        """Write an event, after the stack was updated."""
        if len(self.bytes) >= self.piece_bytes:
            self.cut_piece()
        self.bytes += token
        self.event_ns = self.ns
        if self.offset + len(self.bytes) > self.block_bytes:
            self.cut_piece()
            self.begin_block()

    def pass_time(self, ns):
        self.ns += ns

    def short_calls(self, count):
        """Play calls of function 0 that last a microsecond, one each millisecond."""
        for number in range(count):
            for ns in (0, 1_000):
                self.ns = number * 1_000_000 + ns
                self.leave(RETURN) if ns else self.call(0)
                self.mark()
        self.ns = count * 1_000_000
        self.end()

    def mark(self):
        """Write a mark with the time of the last event."""
        units = int(self.event_ns // self.unit)
        if units >= self.marked:
            self.bytes += bytes([MARK]) + uvarint(units - self.marked)
            self.marked = units

    def enter(self, node, resumed=False, far=False):
        tree = self.tree
        number = tree.children[self.thread, self.node].index(node) if tree.parent[node] == self.node else 999
        if far or number >= 120:
            token = bytes([RESUME if resumed else CALL]) + uvarint(tree.rank(node, self.thread))
        else:
            token = bytes([number + (RESUME_CHILD if resumed else CHILD)])
        (tree.resumes if resumed else tree.calls)[node] += 1
        first = None
        if resumed:
            first = self.paused[node].pop() if self.paused.get(node) else None
        self.truth.append(
            {
                "node": node,
                "parent": self.stack[-1] if self.stack else -1,
                "start": self.ns,
                "end": None,
                "how": "open",
                "first": len(self.truth) if not resumed else first,
                "resumed": resumed,
            }
        )
        self.stack.append(len(self.truth) - 1)
        self.put(token)

    def call(self, function, far=False):
        self.enter(self.tree.child(self.thread, self.node, function), far=far)

    def leave(self, token):
        row = self.truth[self.stack.pop()]
        row["end"], row["how"] = self.ns, {RETURN: "return", YIELD: "yield", UNWIND: "unwind"}[token]
        if token == UNWIND:
            self.tree.exceptions[row["node"]] += 1
        if token == YIELD:
            self.paused.setdefault(row["node"], []).append(row["first"])
        self.put(bytes([token]))

    def go_to(self, node):
        """Replace the stack by a node's path."""
        path = []
        at = node
        while at >= 0:
            path.insert(0, at)
            at = self.tree.parent[at]
        here = [self.truth[row]["node"] for row in self.stack]
        common = 0
        while common < min(len(path), len(here)) and path[common] == here[common]:
            common += 1
        while len(self.stack) > common:
            row = self.truth[self.stack.pop()]
            row["end"], row["how"] = self.ns, "unseen"
        for new in path[common:]:
            parent = self.stack[-1] if self.stack else -1
            row = {"node": new, "parent": parent, "start": self.ns, "end": None, "how": "open"}
            self.truth.append({**row, "first": len(self.truth), "resumed": False, "began": "unseen"})
            self.stack.append(len(self.truth) - 1)
        self.put(bytes([GOTO]) + uvarint(self.tree.rank(node, self.thread)))

    def instant(self, kind, name, data=None, span=1):
        raw = name.encode("utf-8", "replace")
        text = (uvarint(span) if kind in (3, 4, 5, 6) else b"") + uvarint(len(raw)) + raw
        text += b"" if data is None else json.dumps(data).encode()
        self.put(bytes([INSTANT]) + uvarint(kind) + uvarint(len(text)) + text)

    def say(self, every_ns, *instants):
        """Write instants at this interval."""
        for said in instants:
            self.pass_time(every_ns)
            self.instant(*said)
            self.mark()

    def end(self, in_order=True):
        for row in self.stack:
            self.truth[row]["end"] = self.ns
        self.stack = []
        if in_order:
            self.put(bytes([END]))
            self.mark()
        self.cut_piece()


def in_memory(pieces, nodes, threads):
    """Return a journal of these pieces, for a recording with these numbers of nodes and threads."""
    return joined([("JRNL", payload) for payload in pieces], nodes, threads)


def recording(
    tree,
    played,
    functions,
    threads=1,
    process_start=10**18,
    end_ns=None,
    names=None,
    place=("made", "made.py"),
    thread="thread {}",
    meta=None,
    **process,
):
    """Return the recording of played journals.

    `functions` is a number; every third function is a generator. `place` is their module and file.
    """
    b = Builder()
    last = max((p.ns for p in played), default=0)
    end_ns = last if end_ns is None else end_ns
    start = {"start_ns": process_start, "end_ns": process_start + end_ns}
    b.process(**{"pid": 7, "argv": ["made.py"], **start, **process})
    for number in range(threads):
        b.thread(0, thread.replace("{}", str(number)), **start, wall_ns=end_ns, main=number == 0)
    for number in range(functions):
        name = names[number] if names else f"f{number}"
        b.function(place[0], name, place[1], number + 1, flags=number % 3 == 2)
    for node in range(len(tree.parent)):
        b.node(
            tree.parent[node],
            tree.thread[node],
            tree.function[node],
            calls=tree.calls[node],
            resumes=tree.resumes[node],
            exceptions=tree.exceptions[node],
            own_ns=100 * (tree.calls[node] + tree.resumes[node]),
        )
    made = b.build({"recorder": "calltree", **(meta or {})})
    made._journal = in_memory([payload for p in played for payload in p.pieces], len(tree.parent), threads)
    return made


def play(seed, events=300, threads=2, functions=6, wild=True):
    """Return (tree, journals) of a random program on each thread."""
    rnd = random.Random(seed)
    tree, all_played = Tree(), []
    for thread in range(threads):
        for stream in range(rnd.choice([1, 1, 2])):
            sizes = {
                "piece_bytes": rnd.choice([1, 7, 10**9]),
                "block_bytes": rnd.choice([40, 200, 60000]),
                "packed": int(3 * rnd.random()),
                "unit": rnd.choice([1.0, 8.0, 10.5]),
            }
            p = Played(tree, thread, stream, rnd.randrange(1000), **sizes)
            for _ in range(rnd.randrange(events)):
                step(rnd, p, functions, wild)
            p.end(rnd.random() < 0.7)
            all_played.append(p)
    return tree, all_played


def lone(start_ns=0, **how):
    """Return (tree, journal) for a program with one thread."""
    tree = Tree()
    return tree, Played(tree, 0, 0, start_ns, **how)


def with_a_gap():
    """Return a recording of a call, a gap from 0 to 10,000 ns and another call."""
    tree, p = lone()
    p.call(0)
    p.mark()
    p.pass_time(10_000)
    p.cut_piece()
    p.gap = True
    p.begin_block()
    p.call(1)
    p.mark()
    p.end()
    return recording(tree, [p], 3)


def made(seed, threads=2, **how):
    """Return (tree, journals, recording) of a random program; options are those of `play`."""
    tree, played = play(seed, threads=threads, **how)
    return tree, played, recording(tree, played, 6, threads=threads)


def step(rnd, p, functions, wild):
    """Play one event, some time, and sometimes a mark."""
    p.pass_time(rnd.choice([20, 50, 300, 20000]))
    ready = [node for node in p.tree.children.get((p.thread, p.node), ()) if p.paused.get(node)]
    what = rnd.random()
    if ready and what < 0.3:
        p.enter(rnd.choice(ready), resumed=True, far=rnd.random() < 0.2)
    elif what < 0.5 or not p.stack:
        p.call(rnd.randrange(functions), far=rnd.random() < 0.1)
    elif what < 0.9:
        is_generator = p.tree.function[p.node] % 3 == 2
        p.leave(rnd.choice([RETURN, RETURN, UNWIND, *([YIELD] * 4 if is_generator else [])]))
    elif what < 0.93 and wild:
        p.go_to(rnd.choice([-1, *p.tree.ranks[p.thread]]))
    elif what < 0.97:
        p.instant(rnd.choice([1, 2, 3, 4, 99]), rnd.choice(["x", "é" * 3, ""]), rnd.choice([None, {"n": 1}]))
    if rnd.random() < 0.4:
        p.mark()
