"""Makes traces: a call tree and its journal out of events, for what other tools recorded and for parts of recordings.

    trace = TraceBuilder(builder)               threads and functions are the builder's
    stream = trace.stream(thread)
    stream.enter(function, 1_000)               ns since the thread's process began
    stream.leave(4_500)
    recording = trace.build(meta)

The tree grows as paths come up, so that a child's number among its siblings, by which the journal names it, is
settled when it is first called. Counts and own times are kept beside it: the segment between two events belongs to the
path that was current. Each event whose time is known gets a mark (docs/format.md), so that it is read back exactly,
with a bound of 0; one without a time is read back between its neighbours. What is kept in memory is the
journal (about eight bytes a call) and the tree.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

from seismo.model.builder import Builder
from seismo.model.timeline.pieces import PIECE, joined, uvarint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seismo.model.recording import Recording

RETURN, YIELD, UNWIND = 0, 1, 2
"""How a call ends, or a step of it: it returned, it paused, an exception left it."""

MARK, COUNTER, SPAN_BEGINS, SPAN_ENDS = 1, 2, 3, 4
"""What an instant can be."""

_MARK, _CALL, _RESUME, _GOTO, _INSTANT, _CALL_CHILD, _END, _RESUME_CHILD = 3, 4, 5, 6, 7, 8, 128, 136
_CHILDREN = 120  # that a byte names
_BLOCK = 60_000  # bytes of a block, which has 65,536 at most
_LONGEST_INSTANT = 4_096
_LATEST = 1 << 53  # ns that a mark gives exactly
_GENERATOR = 1  # FunctionFlags


class TraceBuilder:
    """A recording with a journal, out of the events of its streams. most: paths at most, a ValueError beyond."""

    def __init__(self, builder: Builder | None = None, most: int = 1 << 26) -> None:
        self.builder = Builder() if builder is None else builder
        self.most = most
        self._where: list[tuple[int, int, int]] = []  # of each node: thread, parent (-1: none), function
        self._known: dict[tuple[int, int, int], int] = {}
        self._number: list[int] = []  # among the children of its parent
        self._rank: list[int] = []
        self._children: dict[tuple[int, int], int] = {}
        self._ranks: dict[int, int] = {}
        self._streams: list[Stream] = []
        self._paused: set[int] = set()  # functions
        self.calls: list[int] = []
        self.resumes: list[int] = []
        self.exceptions: list[int] = []
        self.own: list[int] = []

    def stream(self, thread: int) -> Stream:
        """Another stream of a thread of the builder's."""
        stream = Stream(self, thread, sum(one.thread == thread for one in self._streams))
        self._streams.append(stream)
        return stream

    def child(self, thread: int, parent: int, function: int) -> int:
        """The node of a function below a node, or below none (-1). ValueError: there are too many."""
        place = (thread, parent, function)
        node = self._known.get(place)
        if node is None:
            node = self._known[place] = len(self._where)
            if node >= self.most:
                raise ValueError(f"it has more than {self.most} paths")
            self._where.append(place)
            siblings = self._children.get((thread, parent), 0)
            self._children[thread, parent] = siblings + 1
            self._number.append(siblings)
            self._ranks[thread] = rank = self._ranks.get(thread, 0) + 1
            self._rank.append(rank)
            for column in (self.calls, self.resumes, self.exceptions, self.own):
                column.append(0)
        return node

    def build(self, meta: Mapping[str, Any] | None = None) -> Recording:
        """The recording of all events so far. Streams that have not ended yet do so, with what is open in them."""
        ids: list[int] = []
        functions = self.builder._rows["functions"]["flags"]
        for function in self._paused:
            functions[function] = functions[function] or _GENERATOR
        for node, (thread, parent, function) in enumerate(self._where):
            ids.append(
                self.builder.node(
                    ids[parent] if parent >= 0 else -1,
                    thread,
                    function,
                    calls=self.calls[node],
                    resumes=self.resumes[node],
                    exceptions=self.exceptions[node],
                    own_ns=self.own[node],
                )
            )
        payloads = [(PIECE, payload) for stream in self._streams for payload in stream._pieces()]
        made = self.builder.build({"recorder": "calltree", **(meta or {})})
        made._journal = joined(payloads, len(made._raw["nodes"]["id"]), len(made._raw["threads"]["id"]))
        return made


class Stream:
    """The events of one thread, in their order. Times are ns since its process began, or None: somewhere in between.

    Times that go back are taken for the latest before them.
    """

    def __init__(self, trace: TraceBuilder, thread: int, number: int) -> None:
        self.thread, self.number = thread, number
        self.node = -1
        self.now = 0
        self._trace = trace
        self._stack: list[int] = []  # nodes
        self._done: list[bytes] = []
        self._block = 0
        self._bytes = bytearray()
        self._head: bytes | None = None  # of the block that is open; None: none is
        self._marked = 0
        self._gap = False
        self._ended = False

    @property
    def depth(self) -> int:
        """How many calls are open."""
        return len(self._stack)

    def enter(self, function: int, at: int | None, *, resumed: bool = False, seen: bool = True) -> int:
        """A call begins, or goes on (resumed), or had begun unseen. Gives its node."""
        trace = self._trace
        node = trace.child(self.thread, self.node, function)
        self._pass(at)
        if not seen:
            self._stay(at)
            token = self._goto(node)
        else:
            (trace.resumes if resumed else trace.calls)[node] += 1
            number = trace._number[node]
            if number < _CHILDREN:
                token = bytes((number + (_RESUME_CHILD if resumed else _CALL_CHILD),))
            else:
                token = bytes((_RESUME if resumed else _CALL,)) + uvarint(trace._rank[node])
        self._stack.append(node)
        self.node = node
        if resumed:
            trace._paused.add(function)
        self._put(token, at)
        return node

    def leave(self, at: int | None, how: int = RETURN, *, seen: bool = True) -> None:
        """The innermost open call ends: RETURN, YIELD, UNWIND; or it has ended unseen. ValueError: none is open."""
        if not self._stack:
            raise ValueError("no call is open")
        self._pass(at)
        if not seen:
            self._stay(at)
        node = self._stack.pop()
        trace = self._trace
        self.node = self._stack[-1] if self._stack else -1
        if not seen:
            self._put(self._goto(self.node), at)
            return
        if how == UNWIND:
            trace.exceptions[node] += 1
        elif how == YIELD:
            trace._paused.add(trace._where[node][2])
        self._put(bytes((how,)), at)

    def instant(self, kind: int, name: str, at: int | None, data: object = None, span: int = 0) -> bool:
        """A mark, a counter, or the begin or end of a span (by its number). False: it is too long, and left out."""
        raw = name.encode("utf-8", "replace")[:1024]
        said = (uvarint(span) if kind in (SPAN_BEGINS, SPAN_ENDS) else b"") + uvarint(len(raw)) + raw
        if data is not None:
            said += json.dumps(data).encode()
        if len(said) > _LONGEST_INSTANT:
            return False
        self._pass(at)
        self._put(bytes((_INSTANT,)) + uvarint(kind) + uvarint(len(said)) + said, at)
        return True

    def gap(self, at: int) -> None:
        """Events are missing from the last one up to this time."""
        self._seal()
        self._gap = True
        self.now = max(self.now, at)

    def end(self, at: int | None) -> None:
        """The stream ends in order, and what is open with it."""
        if not self._ended:
            self._pass(at)
            self._put(bytes((_END,)), at)
            self._stack.clear()
            self.node, self._ended = -1, True

    def _goto(self, node: int) -> bytes:
        return bytes((_GOTO,)) + uvarint(self._trace._rank[node] if node >= 0 else 0)

    def _stay(self, at: int | None) -> None:
        """An event that changes nothing, before one that is not seen: that is since the event before, so it is then."""
        if at is not None:
            self._put(self._goto(self.node), at)
            self._pass(at)

    def _pass(self, at: int | None) -> None:
        """Time passes at the current path; a block is open afterwards."""
        before = self.now
        if at is not None and at > before:
            self.now = at = min(at, _LATEST)
            if self.node >= 0:
                self._trace.own[self.node] += at - before
        if self._head is None:
            rank = self._trace._rank[self.node] if self.node >= 0 else 0
            began = before if self._gap or self._done else self.now
            self._head = uvarint(int(self._gap)) + uvarint(rank) + uvarint(began) + struct.pack("<d", 1.0)
            self._marked, self._gap = began, False

    def _put(self, token: bytes, at: int | None) -> None:
        self._bytes += token
        if at is not None:
            passed = self.now - self._marked
            self._bytes += bytes((_MARK, passed)) if passed < 0x80 else bytes((_MARK,)) + uvarint(passed)
            self._marked = self.now
        if len(self._bytes) > _BLOCK:
            self._seal()

    def _seal(self) -> None:
        if self._head is not None and self._bytes:
            first = uvarint(self.thread) + uvarint(self.number) + uvarint(self._block) + uvarint(0) + self._head
            self._done.append(first + b"\0" + uvarint(len(self._bytes)) + bytes(self._bytes))
            self._block += 1
        self._bytes.clear()
        self._head = None

    def _pieces(self) -> list[bytes]:
        self.end(self.now)
        self._seal()
        return self._done
