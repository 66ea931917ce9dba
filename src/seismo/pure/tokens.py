"""Turn the tokens of a stream into calls with times. native/trace/token_machine.c explains the method.

A stream is always read from its beginning, so each call has its true start. The native reader looks for it in the
bytes before a window.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from seismo.pure.numbers import LARGEST, MalformedError, uvarint
from seismo.pure.pieces import AFTER_GAP, loaded

if TYPE_CHECKING:
    from seismo.pure.pieces import Piece, Stream

_EVENT = 30.0  # weight of an event
_DEEPEST = 1 << 20  # calls that are open at once
_WAITING = 1 << 18  # events without a mark, before they get guessed times
_LATEST = 1 << 62
_STEPS, _STEPS_OF_BYTE = 1 << 26, 256  # limits of the total length of paths
WRONG = ("damaged", "unknown", "reserved", "deep", "below", "unlisted", "dropped")
START, END, INSTANT, OTHER, LAST = range(5)  # what happened
BEFORE, AFTER, BEGAN_UNSEEN, ENDED_UNSEEN, YIELDED, UNWOUND, OPEN, RESUMED, UNSURE, GAP = (
    1 << bit for bit in range(10)
)
_LEFT_OUT = 32  # kind of instants
_HOW = (0, YIELDED, UNWOUND)


class Call:
    """A call, or a step of one. `number` counts from the start of its stream; parent and call are such, or -1."""

    __slots__ = (
        *("start_ns", "end_ns", "start_bound_ns", "end_bound_ns"),
        *("call", "depth", "flags", "node", "number", "parent"),
    )

    def __init__(self, number: int, parent: int, node: int, depth: int, flags: int) -> None:
        self.start_ns = self.end_ns = self.end_bound_ns = 0
        self.start_bound_ns = -1
        self.number, self.parent, self.call = number, parent, number
        self.node, self.depth, self.flags = node, depth, flags


class Dictionary:
    """The tree of paths by ranks and numbers of children. The place `nodes` + t is the root of thread t."""

    def __init__(self, parents: list[int], threads_of: list[int], threads: int, sound: int) -> None:
        self.parents, self.nodes = parents, len(parents)
        self.sound = sound
        self.ranks: list[list[int]] = [[] for _ in range(threads)]
        self.children: list[list[int]] = [[] for _ in range(self.nodes + threads)]
        for node, (parent, thread) in enumerate(zip(parents, threads_of, strict=True)):
            self.ranks[thread].append(node)
            self.children[parent if parent >= 0 else self.nodes + thread].append(node)

    def rank(self, thread: int, rank: int) -> int:
        """Return the place with this rank, or -1 if the file lacks it."""
        if rank == 0:
            return self.nodes + thread
        of = self.ranks[thread]
        return of[rank - 1] if rank <= len(of) and of[rank - 1] < self.sound else -1

    def path(self, place: int) -> list[int]:
        """Return the nodes from the outermost to this place."""
        found = []
        while 0 <= place < self.nodes:
            found.append(place)
            place = self.parents[place]
        return found[::-1]


class _BlockError(Exception):
    """The block ends here, for one of the reasons in WRONG."""


class Sink:
    """The receiver of the contents of a stream in [start, end); its methods may be overridden."""

    def __init__(self, start: int = -LARGEST - 1, end: int = 2**64) -> None:
        self.wrong = dict.fromkeys(WRONG, 0)
        self.start, self.end = start, end
        self.gaps: list[tuple[int, int, int, int]] = []

    def call(self, stream: Stream, call: Call) -> None:
        """Receive a call that has ended."""

    def event(self, stream: Stream, what: int, of: Any, times: tuple[int, int, int, int]) -> None:
        """Receive an event: `times` are its time and bound, and the readings of the clock before and after (-1)."""

    def gap(self, stream: Stream, start: int, end: int) -> None:
        """Receive an interval in which events are missing."""
        if end >= self.start and start < self.end:
            self.gaps.append((start, end, stream.thread, stream.number))

    def left_out(self, place: int, counts: list[int]) -> None:
        """Receive the calls, resumes and exceptions that a filter left out below a place."""


class Machine:
    """Reads the blocks of one stream."""

    def __init__(self, stream: Stream, tree: Dictionary, weights: list[float], origin: int, sink: Sink) -> None:
        self.stream, self.tree, self.weights, self.origin, self.sink = stream, tree, weights, origin, sink
        self.stack: list[Call] = []
        self.events: list[tuple[float, int, Any]] = []
        self.paused: dict[int, list[int]] = {}  # by node: call of the step that paused last, number of paused steps
        self.number = 0
        self.weight, self.mark, self.unit_base, self.units = 0.0, 0, 0, 0
        self.steps_left = _STEPS
        self.begun = self.is_part = False
        self.started = 0  # flag of calls that begin without an event

    def read(self, data: memoryview, to: int, end: int) -> None:
        """Read the blocks that begin before `to`. `end` is when the thread ended, or -1."""
        whole, following, before = True, -1, None
        for block in self.stream.blocks:
            head = block[0]
            if head.time + self.origin >= to:
                following = head.time + self.origin
                break
            follows = whole and before is not None and not head.flags & AFTER_GAP and head.block == before + 1
            before = head.block
            tokens, whole = loaded(data, block)
            self.sink.wrong["damaged"] += not whole
            self.steps_left += _STEPS_OF_BYTE * len(tokens)
            try:
                self._enter(head, follows)
                self._read(tokens, head.unit)
            except _BlockError as reason:
                self.sink.wrong[str(reason)] += 1
                whole = False
        if following >= self.mark and whole:
            self._settle_before(following)
        elif following < 0 and self.mark < end < _LATEST and whole and self.events:
            self._settle_before(end)
        else:
            self._settle(0, 0.0, False)
        self._end_all(AFTER if following >= 0 else OPEN)
        self._settle(self.mark, 0.0, True)

    # ---- times ----

    def _settle(self, to: int, total: float, known: bool) -> None:
        """Give all waiting events their times. `total` is the weight up to `to`, when the clock was read if `known`."""
        events, self.events = self.events, []
        span, mark, time = max(to - self.mark, 0), self.mark, 0
        for weight, what, of in events:
            share = (span * (weight / total) if total > 0 else float(span)) if known else weight
            passed = int(share) if share < _LATEST else _LATEST
            passed = min(passed, span) if known else passed
            time = min(mark + passed, _LATEST)
            bound = -1 if not known else 0 if weight >= total else max(passed, span - passed)
            if what == START:
                of.start_ns = time
                of.start_bound_ns = -1 if of.flags & BEFORE else bound
            elif what == END:
                of.end_ns, of.end_bound_ns = time, bound
            self.sink.event(self.stream, what, of, (time, bound, mark, mark + span if known else -1))
            if what == END:
                of.end_ns = max(of.end_ns, of.start_ns)
                self.sink.call(self.stream, of)
        if not known and events:
            to = time
        self.weight = 0.0
        self.mark = max(self.mark, to)

    def _settle_before(self, to: int) -> None:
        self._settle(to, self.weight + _EVENT, True)

    def _wait(self, what: int, of: Any = None) -> None:
        self.events.append((self.weight, what, of))

    def _pass(self) -> None:
        self.weight += _EVENT
        if self.place < self.tree.nodes:
            self.weight += self.weights[self.place]

    # ---- the stack ----

    @property
    def place(self) -> int:
        """Return the place in the tree of the innermost call."""
        return self.stack[-1].node if self.stack else self.tree.nodes + self.stream.thread

    def _push(self, node: int, flags: int) -> Call:
        call = Call(self.number, self.stack[-1].number if self.stack else -1, node, len(self.stack), flags)
        self.number += 1
        self.stack.append(call)
        return call

    def _end_innermost(self, how: int) -> None:
        if not self.stack:
            self.sink.wrong["below"] += 1
            return
        call = self.stack.pop()
        call.flags |= how
        if how == YIELDED:
            paused = self.paused.setdefault(call.node, [-1, 0])
            paused[0] = call.call
            paused[1] += 1
        self._wait(END, call)

    def _begin(self, node: int, resumed: bool) -> None:
        call = self._push(node, RESUMED if resumed else 0)
        if resumed:
            paused = self.paused.setdefault(node, [-1, 0])
            call.call = paused[0] if paused[1] else -1
            call.flags |= 0 if paused[1] == 1 and not self.is_part else UNSURE
            paused[0], paused[1] = -1, max(paused[1] - 1, 0)
        self._wait(START, call)

    def _go_to(self, place: int, stays: int) -> None:
        """Make the stack the path of a place."""
        path = self.tree.path(place)
        cost = len(path) + len(self.stack)
        if cost > self.steps_left or len(path) > _DEEPEST:
            raise _BlockError("deep")
        self.steps_left -= cost
        common = 0
        while common < len(path) and common < len(self.stack) and self.stack[common].node == path[common]:
            self.stack[common].flags |= stays
            common += 1
        while len(self.stack) > common:
            self._end_innermost(ENDED_UNSEEN)
        for node in path[common:]:
            self._wait(START, self._push(node, self.started))

    def _end_all(self, how: int) -> None:
        while self.stack:
            self._end_innermost(how)

    # ---- blocks and tokens ----

    def _enter(self, head: Piece, follows: bool) -> None:
        place, time = self.tree.rank(self.stream.thread, head.rank), head.time + self.origin
        if place < 0:
            raise _BlockError("unknown")
        self.unit_base, self.units = time, 0
        if not self.begun:
            self.begun = True
            self.mark, self.started = time, BEFORE
            try:
                self._go_to(place, 0)
            finally:
                self._settle(time, 0.0, True)
                self.started = BEGAN_UNSEEN
            return
        if follows:
            if time > self.mark:
                self._settle_before(time)
            elif len(self.events) > _WAITING:
                self._settle(0, 0.0, False)
            if self.place != place:
                self._pass()
                self._go_to(place, 0)
            return
        self._settle(0, 0.0, False)
        before = self.mark
        self.mark = max(time, before)
        self.sink.gap(self.stream, before, self.mark)
        try:
            self._go_to(place, GAP)
        finally:
            self._settle(self.mark, 0.0, True)

    def _read(self, data: bytes, unit: float) -> None:
        at, end, tree = 0, len(data), self.tree
        while at < end:
            if len(self.stack) >= _DEEPEST:
                raise _BlockError("deep")
            token = data[at]
            at += 1
            if 8 <= token < 128 or token >= 136:
                children, number = tree.children[self.place], token - (136 if token >= 136 else 8)
                if number >= len(children) or children[number] >= tree.sound:
                    raise _BlockError("unknown")
                self._pass()
                self._begin(children[number], token >= 136)
            elif token <= 2:
                self._pass()
                self._end_innermost(_HOW[token])
            elif token == 128:
                self._pass()
                self._end_all(OPEN)
                self._wait(LAST)
            elif token > 128:
                raise _BlockError("reserved")
            else:
                try:
                    operand, at = uvarint(data, at, end)
                    at = self._take_instant(data, at, operand) if token == 7 else at
                except MalformedError:
                    raise _BlockError("reserved") from None
                if token == 3:
                    self.units = min(self.units + operand, 2**64 - 1)
                    passed, left = self.units * unit, _LATEST - self.unit_base
                    time = self.unit_base + int(passed) if passed < float(left) else _LATEST
                    self._settle(time, self.weight, True)
                elif token < 7:
                    self._take_ranked(token, operand)

    def _take_ranked(self, token: int, rank: int) -> None:
        place = self.tree.rank(self.stream.thread, rank)
        if place < 0 or (rank == 0 and token != 6):
            raise _BlockError("unknown")
        before = self.weight
        self._pass()
        if token == 6:
            now = self.weight
            self.weight = (before + now) / 2
            self._go_to(place, 0)
            self.weight = now
            self._wait(OTHER)
        else:
            self._begin(place, token == 5)

    def _take_instant(self, data: bytes, at: int, kind: int) -> int:
        length, at = uvarint(data, at, len(data), len(data))
        if length > len(data) - at:
            raise MalformedError
        self._pass()
        text = data[at : at + length]
        if kind == _LEFT_OUT:
            self.is_part = True
            counts, from_ = [0, 0, 0], 0
            with suppress(MalformedError):
                for i in range(3):
                    counts[i], from_ = uvarint(text, from_, length)
            self.sink.left_out(self.place, [min(count, LARGEST) for count in counts])
        self._wait(INSTANT, (kind, self.stack[-1].number if self.stack else -1, text))
        return at + length
