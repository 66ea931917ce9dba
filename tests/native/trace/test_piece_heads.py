"""What a finished trace says of itself so that little of it need be read: its directory, the heads of its pieces."""

import random

import journal_made
import pytest
from chunks import chunk, frames, payloads, read_uvarint, tokens, told, uvarint, without
from hypothesis import given, settings
from hypothesis import strategies as st

import seismo
from seismo.model import merge, read
from seismo.pure.compression import unpacked
from seismo.pure.pieces import _parse

SEEDS = st.integers(0, 2**32)
OWN = (32, 33)
END = chunk(b"END ", b"\0")


def made(seed, **settings):
    return journal_made.made(seed, **settings)[2]


def said(recording, *window):
    found = recording.calls.window(*window, limit=0)
    return found.instants, found.gaps


def content(recording):
    """All of it but what is damaged, in which a walk and the directory may differ."""
    tables = {kind: [bytes(column) for column in table.values()] for kind, table in recording._raw.items()}
    return tables, list(recording.calls.window().calls), said(recording)


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_instants_and_gaps_are_those_of_a_file_that_is_read_whole(seed):
    """Of any window, with the same times to the nanosecond, though other blocks are not read."""
    rnd = random.Random(seed)
    data = made(seed).to_bytes()
    told, plain = read(data), read(without(data, b"HEAD") + END)
    assert said(told) == said(plain)
    for _ in range(5):
        first, last = sorted(rnd.randrange(told.calls.end_ns + 2) for _ in range(2))
        assert said(told, first, last) == said(plain, first, last)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_the_second_reader_finds_the_same_heads(seed):
    pieces, heads = [], []
    data = made(seed).to_bytes()
    for start, end, kind in frames(data):
        if kind == b"JRNL":
            pieces.append(data[start + 12 : end])
        elif kind == b"HEAD":
            heads += told(data[start + 12 : end])
            assert len(heads) == len(pieces)
    assert len(heads) == len(pieces)
    for payload, (head, length, kinds) in zip(pieces, heads, strict=True):
        assert length == len(payload)
        assert payload.startswith(head)
        piece = _parse(memoryview(bytes(12) + payload), 12, length)
        assert piece.body == len(head)
        body = unpacked(piece.codec, payload[piece.body :], piece.raw)
        found = {operand for token, operand in tokens(body) if token == 7} - set(OWN)
        assert kinds == sum(1 << kind if kind < 32 else 1 for kind in found)


def test_instants_need_only_their_blocks():
    """Blocks in which nothing is said, and that are not beside one in which something is, may be damaged."""
    rnd = random.Random(3)
    for seed in range(40):
        data = made(seed, events=400).to_bytes()
        bent, places = bytearray(data), [frame for frame in frames(data) if frame[2] == b"JRNL"]
        tellers = payloads(data, b"HEAD")
        heads = [one for payload in tellers for one in told(payload)]
        keys = []
        for start, _, _ in places:
            thread, at = read_uvarint(data, start + 12)
            stream, at = read_uvarint(data, at)
            keys.append((thread, stream, read_uvarint(data, at)[0]))
        speaking = {key for key, (_, _, kinds) in zip(keys, heads, strict=True) if kinds}
        near = {(thread, stream, block + more) for thread, stream, block in speaking for more in (-1, 0, 1)}
        hurt = 0
        for key, (start, end, _) in zip(keys, places, strict=True):
            if key not in near:
                bent[rnd.randrange(start, end)] ^= 1 << rnd.randrange(8)
                hurt += 1
        assert said(read(bytes(bent))) == said(read(data))
        if hurt:
            return
    pytest.fail("no recording had a block to damage")


def noise_for_pieces(data):
    noise = bytearray(data)
    for start, end, kind in frames(data):
        if kind == b"JRNL":
            noise[start:end] = random.Random(1).randbytes(end - start)
    return bytes(noise)


def test_opening_a_finished_file_touches_no_piece():
    """Its tables, and where its blocks are, are the same when nothing but noise is in the place of its journal."""
    data = made(11).to_bytes()
    opened, whole = read(noise_for_pieces(data)), read(data)
    assert opened.problems == []
    assert opened.calls.blocks == whole.calls.blocks
    assert [bytes(column) for column in opened._raw["nodes"].values()] == [
        bytes(column) for column in whole._raw["nodes"].values()
    ]
    assert opened.calls.window().problems


def test_a_damaged_directory_is_noticed_and_the_file_is_walked():
    data = made(11).to_bytes()
    whole = content(read(data))
    ((start, end, _),) = [frame for frame in frames(data) if frame[2] == b"END "]
    for place in range(start, end):
        bent = bytearray(data)
        bent[place] ^= 4
        again = read(bytes(bent))
        assert content(again) == whole
        assert again.problems


def test_a_wrong_directory_with_a_right_checksum_is_none():
    """It may name other kinds, other places, more or fewer chunks: what does not fit the file says nothing of it."""
    data = made(11).to_bytes()
    whole = content(read(data))
    rnd = random.Random(5)
    ((start, end, _),) = [frame for frame in frames(data) if frame[2] == b"END "]
    for _ in range(200):
        payload = bytearray(data[start + 12 : end])
        for _ in range(rnd.randrange(1, 3)):
            payload[rnd.randrange(len(payload))] = rnd.randrange(256)
        if rnd.random() < 0.2:
            del payload[rnd.randrange(len(payload)) :]
        if bytes(payload) != data[start + 12 : end]:
            assert content(read(data[:start] + chunk(b"END ", bytes(payload)))) == whole


def test_what_is_appended_to_a_finished_file_is_read():
    """A recording that goes on has a directory in its middle, which says nothing of what came later."""
    data = made(11).to_bytes()
    name = chunk(b"META", b'{"later": 1}')
    assert read(data + name).meta["later"] == 1
    assert read(data + name + END).meta["later"] == 1


def with_heads(data, bend):
    """The file with other chunks of heads, whose checksums are right."""
    out = bytearray(data[:16])
    for start, end, kind in frames(data):
        payload = data[start + 12 : end]
        if kind != b"END ":
            out += chunk(kind, bend(payload) if kind == b"HEAD" else payload)
    return bytes(out) + END


def test_hostile_heads_show_nothing_that_is_not_there_and_hide_nothing_silently():
    """Right checksums over wrong heads: they are believed where they fit, and no block is read that is another one."""

    def bend(payload):
        bent = bytearray(payload)
        for _ in range(rnd.randrange(1, 4)):
            bent[rnd.randrange(len(bent))] = rnd.choice([0, 1, 3, 127, 128, 255, rnd.randrange(256)])
        return bytes(bent)

    for seed in (8, 12, 21, 33):
        rnd = random.Random(seed)
        data = made(seed, events=80).to_bytes()
        whole, instants = sorted(read(data).calls.window().calls), read(data).calls.instants
        for _ in range(100):
            again = read(with_heads(data, bend))
            window = again.calls.window(limit=100_000)
            said(again)
            lost = window.problems or window.gaps
            assert lost or sorted(window.calls) == whole
            if not again.calls.sums.problems:
                assert not window.problems
                assert again.calls.instants == instants


def heads_of(payload):
    """The chunk's entries, each with the numbers that its head begins with."""
    entries = []
    for head, length, kinds in told(payload):
        numbers, at = [], 0
        for _ in range(4):
            value, at = read_uvarint(head, at)
            numbers.append(value)
        entries.append((numbers, head[at:], length, kinds))
    return entries


def packed(entries):
    out = uvarint(len(entries))
    for numbers, rest, length, kinds in entries:
        head = b"".join(map(uvarint, numbers)) + rest
        out += uvarint(len(head)) + head + uvarint(length) + uvarint(kinds)
    return out


@pytest.mark.parametrize("field", ["thread", "stream", "block", "offset"])
def test_a_head_that_hides_a_block_is_not_believed(field):
    """A block that is told to be another one would be taken for that once more: then the pieces say what they are."""
    data = made(11, events=400).to_bytes()
    whole = read(data)
    place = ["thread", "stream", "block", "offset"].index(field)

    def bend(payload):
        entries = heads_of(payload)
        several = [numbers for numbers, *_ in entries if numbers[2] > 0 and numbers[3] == 0]
        for numbers in several[:1]:
            numbers[place] = numbers[place] - 1 if numbers[place] else numbers[place] + 1
        assert several
        return packed(entries)

    again = read(with_heads(data, bend))
    assert sorted(again.calls.window().calls) == sorted(whole.calls.window().calls)
    assert again.calls.window().problems == []


def test_a_window_that_ends_at_a_wrong_head_says_so():
    """The block behind the window is known by its head alone, which tells a later time than the block has."""
    data = made(11, events=400).to_bytes()
    whole = read(data).calls
    streams = {}
    for block in whole.blocks:
        streams.setdefault((block.thread, block.stream), []).append(block)
    place, times = next(
        (place, [block.time_ns for block in blocks])
        for place, blocks in streams.items()
        if len(blocks) > 2 and blocks[1].time_ns < blocks[2].time_ns
    )

    def bend(payload):
        entries = heads_of(payload)
        for index, (numbers, rest, length, kinds) in enumerate(entries):
            if numbers == [*place, 1, 0]:
                flags, at = read_uvarint(rest, 0)
                rank, at = read_uvarint(rest, at)
                time, at = read_uvarint(rest, at)
                later = uvarint(flags) + uvarint(rank) + uvarint(time + 1) + rest[at:]
                entries[index] = (numbers, later, length, kinds)
        return packed(entries)

    again = read(with_heads(data, bend)).calls
    assert sum(one != other for one, other in zip(again.blocks, whole.blocks, strict=True)) == 1
    assert again.window(0, times[1] + 1, thread=place[0]).problems
    assert whole.window(0, times[1] + 1, thread=place[0]).problems == []


def test_what_is_merged_has_heads():
    parts = [made(seed) for seed in (1, 2)]
    merged = merge(parts).to_bytes()
    assert said(read(merged)) == said(read(without(merged, b"HEAD") + END))
    assert any(kind == b"HEAD" for _, _, kind in frames(merged))


def test_a_trace_says_which_of_its_blocks_have_instants(path):
    """Most of the blocks of a long loop say nothing; the marks of the program are in the others."""
    space = {}
    exec("def leaf(): pass\ndef work():\n    for _ in range(60000): leaf()", space)
    with seismo.trace(output=path, c_functions="none"):
        for number in range(3):
            space["work"]()
            seismo.mark("here", n=number)
    data = path.read_bytes()
    heads = [one for payload in payloads(data, b"HEAD") for one in told(payload)]
    assert len(heads) == len(payloads(data))
    marked = [kinds for _, _, kinds in heads if kinds & 1 << 1]
    assert 1 <= len(marked) < len(heads) / 2
    found = read(data).calls.instants
    assert [row.data["n"] for row in found if row.kind == "mark"] == [0, 1, 2]
    assert found == read(without(data, b"HEAD") + END).calls.instants
    blocks = read(data).calls.blocks
    assert read(without(data, b"HEAD") + END).calls.blocks == blocks
    assert read(noise_for_pieces(data)).calls.blocks == blocks  # what is told of them agrees, and is believed


def test_a_window_in_which_more_is_said_than_its_heads_tell_says_so():
    """It shows what it reads, and says that lists lack it: they read only the blocks that tell of something."""
    data = made(11, events=400).to_bytes()

    def bend(payload):
        return packed([(numbers, rest, length, 0) for numbers, rest, length, _ in heads_of(payload)])

    whole, again = read(data).calls, read(with_heads(data, bend)).calls
    (problem,) = again.sums.problems
    assert "marks" in problem
    window = again.window()
    assert window.instants == whole.window().instants
    assert any("that lists lack" in problem for problem in window.problems)
    assert len(again.instants) < len(whole.instants)
    assert whole.window().problems == []
    first = whole.instants[0].time_ns
    assert any("lists lack" in problem for problem in again.window(first, first + 1).problems)
