"""A second reader of a journal's levels, in plain Python, written from docs/format.md alone; and what they must be."""

from collections import Counter

from chunks import read_uvarint, tokens

from seismo.pure.compression import unpacked

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


class Replay:
    """The calls of a stream with the times that levels have: events spread evenly between marks.

    `calls`: dicts in the order of ends: rank, depth, start, end, block, began and ended (numbers of events).
    """

    def __init__(self, parents):
        self.parent = [0, *parents]  # by rank
        self.children = {}
        for rank, parent in enumerate(parents, 1):
            self.children.setdefault(parent, []).append(rank)
        self.calls, self.stack, self.event, self.now = [], [], 0, None
        self.block, self.gaps = 0, []  # gaps: numbers of the events that they end with

    def begin(self, rank):
        self.stack.append({"rank": rank, "depth": len(self.stack), "start": self.now, "began": self.event})

    def finish(self):
        call = self.stack.pop()
        self.calls.append({**call, "end": self.now, "ended": self.event, "block": self.block})

    def path(self, rank):
        found = []
        while rank:
            found.insert(0, rank)
            rank = self.parent[rank]
        return found

    def to(self, path, gap=False):
        common = 0
        while common < min(len(path), len(self.stack)) and self.stack[common]["rank"] == path[common]:
            common += 1
        while len(self.stack) > common:
            self.finish()
        self.event += gap
        for rank in path[common:]:
            self.begin(rank)

    def read(self, head, data, follows):
        flags, rank, time, unit = head.flags, head.rank, head.time, head.unit
        self.event += 1
        begins = self.now is None
        self.now = time if begins else max(self.now, time)
        gap = not follows or flags & 1
        if gap:
            self.gaps.append(self.event)
        if gap or (self.stack[-1]["rank"] if self.stack else 0) != rank:
            self.to(self.path(rank), gap)
        for call in self.stack if begins else ():
            call["began"] = -1  # before the stream
        self.block = head.block
        units, waiting = 0, []
        for token, operand in tokens(data):
            if token != 3:
                waiting.append((token, operand))
                continue
            units += operand
            at = max(time + int(units * unit), self.now)
            self.play(waiting, at)
            waiting, self.now = [], at
        self.play(waiting, self.now)

    def play(self, waiting, to):
        since = self.now
        for place, (token, operand) in enumerate(waiting, 1):
            self.event += 1
            self.now = since + (to - since) * place / len(waiting)
            if token < 3:
                if self.stack:
                    self.finish()
            elif token in (4, 5):
                self.begin(operand)
            elif token == 6:
                self.to(self.path(operand))
            elif token == 128:
                while self.stack:
                    self.finish()
            elif token >= 8:
                here = self.stack[-1]["rank"] if self.stack else 0
                self.begin(self.children[here][token - (136 if token >= 136 else 8)])


def replayed(blocks, parents):
    """A stream's replay. blocks: their heads and tokens; parents: ranks by rank, from 1."""
    replay, before = Replay(parents), None
    for head, data in blocks:
        replay.read(head, data, before is not None and head.block == before + 1)
        before = head.block
    return replay


def check(levels, replay, functions):
    """Asserts that a stream's levels say what its tokens do. functions: by rank."""
    begins = {}  # by block: how many calls ended before it
    for number, call in enumerate(replay.calls):
        begins.setdefault(call["block"], number)
    for level, slices in levels.items():
        done, before = 0, None
        for number, one in enumerate(slices):
            ended = replay.calls[done : done + one["calls"]]
            assert len(ended) == one["calls"]
            first = replay.calls[done - 1]["ended"] if done else -1
            check_slice(one, ended, first, functions, level)
            last = ended[-1]["ended"] if ended else first
            if number + 1 == len(slices) and done + one["calls"] == len(replay.calls):
                last = replay.event
            elif number + 1 < len(slices) and slices[number + 1]["flags"] & 1:
                last = min(event for event in replay.gaps if event >= last)
            check_open(one, replay, first, last)
            if before is not None:
                assert one["start"] >= before["end"]
            assert one["skip"] == max(done - begins.get(one["block"], done), 0) or one["flags"] & 1
            done, before = done + one["calls"], one
        below = levels.get(level - 1)
        if below is not None:
            assert [sum(s["calls"] for s in below[i * SLICES : (i + 1) * SLICES]) for i in range(len(slices))] == [
                one["calls"] for one in slices
            ]
        last = slices[-1]["flags"] & 2
        assert bool(last) == (done == len(replay.calls) and not replay.stack) or not last


def check_slice(one, ended, first, functions, level):
    crossing = {call["depth"]: call for call in ended if call["began"] <= first}
    inside = {}
    for call in ended:
        if call["began"] > first and call["depth"] < DEPTHS:
            inside.setdefault(call["depth"], []).append(call)
    rows = {kind: {r["depth"]: r for r in one["rows"] if r["kind"] == kind} for kind in range(3)}
    assert set(rows[0]) == {depth for depth in crossing if depth < DEPTHS}
    for depth, found in rows[0].items():
        call = crossing[depth]
        assert found["rank"] == call["rank"]
        assert near(found["start"], call["start"])
        assert near(found["end"], call["end"])
    assert set(rows[1]) == set(inside)
    for depth, found in rows[1].items():
        calls = inside[depth]
        busy = Counter()
        for call in calls:
            busy[functions[call["rank"]]] += call["end"] - call["start"]
        assert found["calls"] == len(calls)
        assert near(found["start"], calls[0]["start"])
        assert near(found["end"], calls[-1]["end"])
        assert near(found["busy"], sum(busy.values()), 2 + len(one["rows"]) + len(ended) / 20)
        times = [ns for _, ns in found["functions"]]
        assert times == sorted(times, reverse=True)
        for rank, ns in found["functions"]:
            most = busy[functions[rank]]
            assert ns <= most + 2 + len(ended) / 20
            assert level or near(ns, most, 2 + len(ended) / 20)


def check_open(one, replay, first, last):
    wanted = {
        call["depth"]: call
        for call in [*replay.calls, *replay.stack]
        if first < call["began"] <= last < call.get("ended", 10**18)
    }
    found = {r["depth"]: r for r in one["rows"] if r["kind"] == 2}
    assert set(found) == {depth for depth in wanted if depth < DEPTHS}
    for depth, call in wanted.items():
        if depth in found:
            assert (found[depth]["rank"], near(found[depth]["start"], call["start"])) == (call["rank"], True)


def near(one, other, most=2):
    return abs(one - other) <= most
