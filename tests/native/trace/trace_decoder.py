"""A second reader of journals, in plain Python, written from docs/format.md alone.

It gives events as they were, each with the readings of the clock around it, and the calls that they make.
"""

import struct


class Malformed(Exception):
    pass


def uvarint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def unpack_lz4(data, size):
    """An LZ4 block: sequences of literals and a match, each with a length in nibbles and bytes."""
    out, at = bytearray(), 0

    def longer(length, at):
        while length >= 15:
            length += data[at]
            at += 1
            if data[at - 1] != 255:
                break
        return length, at

    while at < len(data):
        token = data[at]
        literals, at = longer(token >> 4, at + 1)
        out += data[at : at + literals]
        at += literals
        if at == len(data):
            break
        (distance,) = struct.unpack_from("<H", data, at)
        length, at = longer(token & 15, at + 2)
        for _ in range(length + 4):
            out.append(out[-distance])
    if len(out) != size:
        raise Malformed(f"{len(out)} bytes, not {size}")
    return bytes(out)


def unpack_apart(data, size):
    """Marks, and what is between them as an LZ4 block."""
    length, at = uvarint(data, 0)
    count, at = uvarint(data, at)
    usual, at = uvarint(data, at)
    run, at = uvarint(data, at)
    gaps = [usual] * run
    while len(gaps) < count:
        gap, at = uvarint(data, at)
        run, at = uvarint(data, at)
        gaps += [gap] + [usual] * run
    if len(gaps) != count:
        raise Malformed(f"{len(gaps)} gaps, not {count}")
    operands = []
    for _ in range(count):
        begin = at
        _, at = uvarint(data, at)
        operands.append(data[begin:at])
    between, out, done = unpack_lz4(data[at:], length), b"", 0
    for gap, operand in zip(gaps, operands, strict=True):
        if done + gap > len(between):
            raise Malformed("a mark behind the end")
        out += between[done : done + gap] + b"\x03" + operand
        done += gap
    out += between[done:]
    if len(out) != size:
        raise Malformed(f"{len(out)} bytes, not {size}")
    return out


def unpack(codec, data, size):
    return (bytes, lambda data: unpack_lz4(data, size), lambda data: unpack_apart(data, size))[codec](data)


def pieces(payloads):
    """{(thread, stream): {block: {offset: (head or None, bytes)}}}"""
    found = {}
    for data in payloads:
        thread, at = uvarint(data, 0)
        stream, at = uvarint(data, at)
        block, at = uvarint(data, at)
        offset, at = uvarint(data, at)
        head = None
        if offset == 0:
            flags, at = uvarint(data, at)
            rank, at = uvarint(data, at)
            time, at = uvarint(data, at)
            head = (flags, rank, time, *struct.unpack_from("<d", data, at))
            at += 8
        codec = data[at]
        raw, at = uvarint(data, at + 1)
        body = unpack(codec, data[at:], raw)
        found.setdefault((thread, stream), {}).setdefault(block, {})[offset] = (head, bytes(body))
    return found


def tokens(data):
    """(token, operand or None, bytes or None) of a block."""
    at = 0
    while at < len(data):
        token, at = data[at], at + 1
        operand = text = None
        if token in (3, 4, 5, 6, 7):
            operand, at = uvarint(data, at)
        if token == 7:
            length, at = uvarint(data, at)
            text, at = data[at : at + length], at + length
        if 129 <= token <= 135:
            raise Malformed(f"token {token}")
        yield token, operand, text


class Stream:
    """Reads a stream. parents: {node: its parent} of the nodes of its thread, in the order of ids.

    `calls`: dicts in the order of beginnings: node, parent (a number), depth, resumed, how (return, yield, unwind,
    unseen, end), began (seen, unseen, before), and of start and end the readings of the clock around them.
    """

    def __init__(self, parents):
        self.ranks = list(parents)
        self.parent = parents
        self.children = {}
        for number in self.ranks:
            self.children.setdefault(self.parent[number], []).append(number)
        self.calls, self.stack, self.instants, self.gaps = [], [], [], []
        self.waiting = []  # (call or instant, "start" or "end", number of its event; -1: it was before that)
        self.event = 0
        self.clock = None

    def node(self):
        return self.calls[self.stack[-1]]["node"] if self.stack else -1

    def path(self, rank):
        node, found = (self.ranks[rank - 1] if rank else -1), []
        while node >= 0:
            found.insert(0, node)
            node = self.parent[node]
        return found

    def begin(self, node, **about):
        parent = self.stack[-1] if self.stack else -1
        call = {"node": node, "parent": parent, "depth": len(self.stack), "how": None, "resumed": False, "gap": False}
        call |= {"began": "seen", **about}
        self.stack.append(len(self.calls))
        self.calls.append(call)
        self.waiting.append((call, "start", self.event if about.get("began") != "unseen" else -1))

    def finish(self, how):
        call = self.calls[self.stack.pop()]
        call["how"] = how
        self.waiting.append((call, "end", self.event if how != "unseen" else -1))

    def to(self, path, began):
        here = [self.calls[number]["node"] for number in self.stack]
        common = 0
        while common < min(len(here), len(path)) and here[common] == path[common]:
            common += 1
        while len(self.stack) > common:
            self.finish("unseen")
        for node in path[common:]:
            self.begin(node, began=began)

    def read_clock(self, time, at_event):
        """Everything that waits lies between the reading before and this one; the last is at it."""
        for what, end, event in self.waiting:
            exact = at_event and event == self.event
            what[end] = (time if exact else self.clock, time)
        self.waiting = []
        self.clock = time

    def lose_clock(self):
        """Nobody reads the clock any more for what waits."""
        for what, end, _ in self.waiting:
            what[end] = (self.clock, None)
        self.waiting = []

    def block(self, head, data, follows):
        flags, rank, time, unit = head
        follows = follows and not flags & 1
        if self.clock is None:
            self.clock = time
            self.to(self.path(rank), "before")
            self.read_clock(time, False)
        elif follows:
            if time > self.clock:
                self.read_clock(time, False)
            assert self.path(rank)[-1:] == [self.calls[number]["node"] for number in self.stack][-1:]
        else:
            self.lose_clock()
            for number in self.stack:
                node = self.calls[number]["node"]
                self.calls[number]["gap"] |= node in self.path(rank)
            self.gaps.append((self.clock, time))
            self.clock = max(time, self.clock)
            self.to(self.path(rank), "unseen")
            self.read_clock(self.clock, False)
        units = 0
        for token, operand, text in tokens(data):
            self.event += token != 3
            if token < 3:
                self.finish(("return", "yield", "unwind")[token])
            elif token == 3:
                units += operand
                self.read_clock(time + int(units * unit), True)
            elif token in (4, 5):
                self.begin(self.ranks[operand - 1], resumed=token == 5)
            elif token == 6:
                self.to(self.path(operand), "unseen")
                self.waiting.append(({}, "start", self.event))
            elif token == 7:
                self.instants.append({"kind": operand, "bytes": text})
                self.waiting.append((self.instants[-1], "start", self.event))
            elif token == 128:
                while self.stack:
                    self.finish("end")
                self.waiting.append(({}, "start", self.event))
            else:
                resumed = token >= 136
                number = token - (136 if resumed else 8)
                self.begin(self.children[self.node()][number], resumed=resumed)


def read(payloads, nodes):
    """{(thread, stream): Stream} of all payloads of JRNL chunks. nodes: (parent, thread) of each."""
    found, parents = {}, {}
    for node, (parent, thread) in enumerate(nodes):
        parents.setdefault(thread, {})[node] = parent
    for (thread, number), blocks in sorted(pieces(payloads).items()):
        stream, before = Stream(parents.get(thread, {})), None
        for block, parts in sorted(blocks.items()):
            data = b""
            while len(data) in parts:
                data += parts[len(data)][1]
            try:
                stream.block(parts[0][0], data, before is not None and block == before + 1)
            except (KeyError, IndexError):  # a node that is not in the file: who was killed wrote it no more
                break
            before = block
        stream.lose_clock()
        found[thread, number] = stream
    return found


def told(payload):
    """A chunk of heads: for each of the last pieces before it (bytes of its head, length of its payload, kinds)."""
    count, at = uvarint(payload, 0)
    found = []
    for _ in range(count):
        size, at = uvarint(payload, at)
        head, at = payload[at : at + size], at + size
        length, at = uvarint(payload, at)
        kinds, at = uvarint(payload, at)
        found.append((head, length, kinds))
    if at != len(payload):
        raise Malformed("bytes left in heads")
    return found
