"""A second reader of a journal's levels, in plain Python, written from docs/format.md alone; and what they must be."""

from collections import Counter

from chunks import HEADER, chunk, read_uvarint

from seismo.pure.compression import unpacked
from seismo.pure.pieces import streams_of
from seismo.pure.tokens import BEFORE, END, LAST, OPEN, OTHER, START, Dictionary, Machine, Sink

SLICES, DEPTHS = 16, 4096


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self):
        value, self.at = read_uvarint(self.data, self.at)
        return value


def row(cursor, depth, start):
    what = cursor.take()
    found = {"depth": depth + what // 4, "kind": what % 4}
    if found["kind"] == 0:
        found["rank"] = cursor.take()
        found["start"] = start - cursor.take()
        found["end"] = start + cursor.take()
        found["flags"] = cursor.take()
    elif found["kind"] == 1:
        found["calls"] = cursor.take()
        found["start"] = start + cursor.take()
        found["end"] = found["start"] + cursor.take()
        above = found["busy"] = found["end"] - found["start"] - cursor.take()
        found["functions"] = []
        for _ in range(cursor.take()):
            rank = cursor.take()
            above -= cursor.take()
            found["functions"].append((rank, above))
    elif found["kind"] == 2:
        found["rank"] = cursor.take()
        found["start"] = start + cursor.take()
        found["flags"] = cursor.take()
    else:
        raise AssertionError(f"row of kind {found['kind']}")
    return found


def sheet(payload):
    """((thread, stream, level, number), slices), each slice a dict."""
    head = Cursor(payload)
    thread, stream, level, number, start, took = (head.take() for _ in range(6))
    codec = payload[head.at]
    head.at += 1
    raw = head.take()
    body = bytes(payload[head.at :])
    cursor = Cursor(unpacked(codec, body, raw))
    slices, time, block = [], 0, 0
    while cursor.at < raw:
        flags = cursor.take()
        begin = time + cursor.take()
        time = begin + cursor.take()
        block += cursor.take()
        skip, calls, count = cursor.take(), cursor.take(), cursor.take()
        rows, depth = [], 0
        for _ in range(count):
            rows.append(row(cursor, depth, begin))
            depth = rows[-1]["depth"]
        slices.append(
            {"flags": flags, "start": begin, "end": time, "block": block, "skip": skip, "calls": calls, "rows": rows}
        )
    assert (slices[0]["start"], slices[-1]["end"]) == (start, start + took)
    return (thread, stream, level, number), slices


def read(payloads):
    """{(thread, stream): {level: [slices]}}, sheets put together by their numbers."""
    sheets = {}
    for payload in payloads:
        (thread, stream, level, number), slices = sheet(payload)
        assert number not in sheets.setdefault((thread, stream), {}).setdefault(level, {})
        sheets[thread, stream][level][number] = slices
    found = {}
    for key, levels in sheets.items():
        for level, numbered in levels.items():
            assert sorted(numbered) == list(range(len(numbered)))
            assert all(len(slices) == SLICES for number, slices in numbered.items() if number + 1 < len(numbered))
            found.setdefault(key, {})[level] = [one for number in sorted(numbered) for one in numbered[number]]
    return found


class Replay(Sink):
    """The calls of a stream, in the order of their ends, and the numbers of the events that each begins and ends with.

    Ends at a gap have the gap's number.
    """

    def __init__(self):
        super().__init__()
        self.began, self.ended, self.last = {}, {}, False
        self.calls, self.number, self.at_gap, self.gap_numbers = [], 0, False, []

    def gap(self, stream, start, end):
        self.number += 1
        self.gap_numbers.append(self.number)
        self.at_gap = True

    def event(self, stream, what, of, times):
        self.at_gap = self.at_gap and what == END
        self.number += not self.at_gap
        if what == START:
            self.began[of.number] = -1 if of.flags & BEFORE else self.number
        elif what == END:
            self.ended[of.number] = self.number
        self.last = self.last or what == LAST

    def call(self, stream, call):
        self.calls.append(call)

    def leave_open(self):
        """Take the calls that no event has ended from those that have ended, and return them."""
        is_open = [call for call in self.calls if call.flags & OPEN and not self.last]
        self.calls = self.calls[: len(self.calls) - len(is_open)]
        for call in is_open:
            del self.ended[call.number]
        return is_open


class EvenMachine(Machine):
    """Gives events the times that levels have: spread evenly between marks, or that of a block's last mark."""

    def _settle(self, to, total, known):
        super()._settle(*((to, total) if known else (self.mark, 0.0)), True)

    def _settle_before(self, to):
        self._settle(self.mark, 0.0, True)
        self.mark = max(self.mark, to)

    def _take_ranked(self, token, rank):
        if token != 6:
            super()._take_ranked(token, rank)
            return
        self._pass()
        self._go_to(self.tree.rank(self.stream.thread, rank), 0)
        self._wait(OTHER)


def checked(payloads, sheets, nodes):
    """The levels in these sheets, as read() gives them, which say what the pieces of the journal do.

    nodes: (parent, thread, function) of each.
    """
    data, places = bytearray(HEADER), []
    for payload in payloads:
        places += [len(data) + 12, len(payload)]
        data += chunk(b"JRNL", payload)
    parents, threads, functions = zip(*nodes, strict=True)
    tree = Dictionary(list(parents), list(threads), max(threads) + 1, len(parents))
    found = read(sheets)
    for stream in streams_of(memoryview(data), places, 2**31)[0]:
        if levels := found.get((stream.thread, stream.number)):
            replay = Replay()
            EvenMachine(stream, tree, [0.0] * len(parents), 0, replay).read(memoryview(data), 2**62, -1)
            check(levels, replay, [None, *tree.ranks[stream.thread]], functions)
    return found


def check(levels, replay, nodes, functions):
    """Asserts that a stream's levels say what its tokens do. nodes: by rank; functions: by node."""
    still_open = replay.leave_open()
    for level, slices in levels.items():
        done, before = 0, None
        for number, one in enumerate(slices):
            ended = replay.calls[done : done + one["calls"]]
            assert len(ended) == one["calls"]
            first = replay.ended[replay.calls[done - 1].number] if done else -1
            check_slice(one, ended, first, replay, nodes, functions, level)
            last = replay.ended[ended[-1].number] if ended else first
            if number + 1 == len(slices) and done + one["calls"] == len(replay.calls):
                last = replay.number
            elif number + 1 < len(slices) and slices[number + 1]["flags"] & 1:
                last = min(event for event in replay.gap_numbers if event >= last)
            check_open(one, [*replay.calls, *still_open], replay, first, last, nodes)
            if before is not None:
                assert one["start"] >= before["end"]
            done, before = done + one["calls"], one
        below = levels.get(level - 1)
        if below is not None:
            assert [sum(s["calls"] for s in below[i * SLICES : (i + 1) * SLICES]) for i in range(len(slices))] == [
                one["calls"] for one in slices
            ]
        last = slices[-1]["flags"] & 2
        assert bool(last) == (done == len(replay.calls) and not still_open) or not last


def check_slice(one, ended, first, replay, nodes, functions, level):
    crossing = {call.depth: call for call in ended if replay.began[call.number] <= first}
    inside = {}
    for call in ended:
        if replay.began[call.number] > first and call.depth < DEPTHS:
            inside.setdefault(call.depth, []).append(call)
    rows = {kind: {r["depth"]: r for r in one["rows"] if r["kind"] == kind} for kind in range(3)}
    assert set(rows[0]) == {depth for depth in crossing if depth < DEPTHS}
    for depth, found in rows[0].items():
        call = crossing[depth]
        assert nodes[found["rank"]] == call.node
        assert near(found["start"], call.start_ns)
        assert near(found["end"], call.end_ns)
    assert set(rows[1]) == set(inside)
    # The reader in Python gives whole ns to each call, and the levels 64ths: where calls follow in step, all of its
    # roundings may go one way.
    rounding = 2 + len(ended)
    for depth, found in rows[1].items():
        calls = inside[depth]
        busy = Counter()
        for call in calls:
            busy[functions[call.node]] += call.end_ns - call.start_ns
        assert found["calls"] == len(calls)
        assert near(found["start"], calls[0].start_ns)
        assert near(found["end"], calls[-1].end_ns)
        assert near(found["busy"], sum(busy.values()), len(one["rows"]) + rounding)
        times = [ns for _, ns in found["functions"]]
        assert times == sorted(times, reverse=True)
        for rank, ns in found["functions"]:
            most = busy[functions[nodes[rank]]]
            assert ns <= most + rounding
            assert level or near(ns, most, rounding)


def check_open(one, calls, replay, first, last, nodes):
    wanted = {
        call.depth: call
        for call in calls
        if first < replay.began[call.number] <= last < replay.ended.get(call.number, 10**18)
    }
    found = {r["depth"]: r for r in one["rows"] if r["kind"] == 2}
    assert set(found) == {depth for depth in wanted if depth < DEPTHS}
    for depth, row in found.items():
        assert nodes[row["rank"]] == wanted[depth].node
        assert near(row["start"], wanted[depth].start_ns)


def near(one, other, most=2):
    return abs(one - other) <= most
