"""Files that are cut, damaged, hostile or from the future."""

import random
import struct
import time

import pytest
from chunks import chunk, table, uvarint
from objects_made import told

from seismo import _core
from seismo.errors import RecordingError
from seismo.model import Builder, Recording, merge, read
from seismo.model.objects.groups import by_line, by_path, by_type, by_type_and_line
from seismo.model.objects.leaks import leaks, spans

MAGIC = b"\x8fseismo\n\x02\0\0\0\0\0\0\0"


def strings(first, *texts):
    return chunk(b"STRS", uvarint(first) + uvarint(len(texts)) + b"".join(uvarint(len(t)) + t for t in texts))


END = chunk(b"END ", b"\0")
BASE = table(0, 1, {1: [5]}) + table(1, 1, {}) + table(2, 2, {0: [0, 1]})


def sample():
    b = Builder()
    p = b.process(pid=3, argv=["x"])
    threads = [b.thread(p, f"t{i}") for i in range(2)]
    functions = [b.function("mod", f"f{i}", "m.py", i) for i in range(6)]
    for i in range(40):
        b.node(i - 2 if i > 1 else -1, threads[i % 2], functions[i % 6], calls=i * 50, own_ns=i * 1000)
    b.loss("repaired", 2)
    return b.build({"format": 1}).to_bytes()


def everything(recording: Recording):
    """Uses all of a recording, so that whatever is unsound in it shows."""
    for t in (recording.functions, recording.tree, recording.threads, recording.processes, recording.losses):
        rows = list(t)
        assert len(rows) == len(t)
        t.__arrow_c_stream__()
    for node in recording.tree:
        assert -1 <= node.parent < node.id
        assert node.calls >= 0
        assert node.own_ns >= 0
        assert node.own_ns == node.own_ns
        if node.parent >= 0:
            assert recording.tree["thread"][node.parent] == node.thread
    assert sum(recording.tree["own_ns"]) == pytest.approx(sum(recording.functions["own_ns"]), rel=1e-6)
    recording.combined().functions  # noqa: B018
    again = merge([read(recording.to_bytes())])
    assert len(again.tree) == len(recording.tree)


OBJECTS = ("types", "objects", "lifetimes", "object_times", "object_spans", "object_survivors", "holders", "marks")


def all_of_objects(recording: Recording):
    """everything() of a recording of births and deaths."""
    everything(recording)
    for name in OBJECTS:
        for column, code in _core.schema()[name]:
            if code == "q" and column not in ("function", "node", "line", "parent", "time_ns", "start_ns", "end_ns"):
                assert min(getattr(recording, name)[column], default=0) >= 0
        getattr(recording, name).__arrow_c_stream__()
    assert max(recording.objects["node"], default=-1) < len(recording.tree)
    for row in recording.holders:
        assert -1 <= row.parent < row.id
        assert row.parent < 0 or recording.holders[row.parent].object == row.object
    for group_by in (by_type, by_line, by_type_and_line, by_path):
        assert sum(group.unseen for group in group_by(recording)) >= 0
    leaks(recording), spans(recording)
    combined = recording.combined()
    assert sum(combined.lifetimes["count"]) == sum(recording.lifetimes["count"])
    recording.subtract(recording)
    again = merge([read(recording.to_bytes()), told()])
    assert len(again.object_spans) == len(recording.object_spans) + 20


# ---- cut and flipped ----


def test_a_file_cut_at_any_byte_gives_what_is_before():
    data = sample()
    before = -1
    for size in range(1, len(data)):
        if size < 8:
            with pytest.raises(RecordingError, match="not a seismo recording"):
                read(data[:size])
            continue
        recording = read(data[:size])
        rows = len(recording.functions) + len(recording.tree)
        assert rows >= before
        before = rows
        if size % 20 == 0:
            everything(recording)
    assert before == 46
    assert read(data).problems == []
    assert any("cut off" in text for text in read(data[:-1]).problems)


def test_any_flipped_bit_is_noticed_and_costs_one_chunk():
    data = sample()
    whole = read(data)
    rnd = random.Random(1)
    for bit in sorted(rnd.sample(range(16 * 8, len(data) * 8), 60)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        recording = read(bytes(damaged))
        assert recording.problems, bit
        everything(recording)
        lost = [
            len(getattr(whole, name)) - len(getattr(recording, name))
            for name in ("processes", "threads", "functions", "tree", "losses")
        ]
        assert sum(n > 0 for n in lost) <= 1, (bit, lost)


def test_what_follows_a_damaged_place_is_kept():
    data = MAGIC + BASE + table(3, 1, {1: [-1]}) + b"\xff" * 100 + table(3, 1, {0: [1], 1: [-1], 4: [7]}) + END
    recording = read(data)
    assert recording.tree["calls"].tolist() == [0, 7]
    assert len(recording.problems) == 1


def test_a_lost_chunk_of_strings_shifts_no_name():
    names = table(2, 2, {0: [0, 1], 3: [1, 2]})
    data = MAGIC + strings(2, b"second") + names
    assert read(data).functions["qualname"] == ["", "second"]


# ---- without an end ----


def test_a_file_without_an_end_says_so():
    data = MAGIC + BASE
    (said,) = read(data).problems
    assert "cut off after its last write" in said
    assert read(data + END).problems == []
    (loss,) = merge([read(data), read(data + END)]).losses
    assert (loss.kind, loss.count) == ("truncated", 1)
    assert "cut off after its last write" in loss.detail


def test_a_writer_whose_disk_was_full_left_a_sign():
    (said,) = read(MAGIC[:10] + b"\1\0" + MAGIC[12:] + BASE).problems
    assert "its last writes failed" in said
    assert read(MAGIC[:10] + b"\1\0" + MAGIC[12:] + BASE + END).problems == []


def test_the_recorders_own_word_is_enough():
    lost = strings(1, b"cut-short", b"process 5") + table(4, 1, {1: [1], 2: [10**9], 3: [-1], 4: [2]})
    recording = read(MAGIC + BASE + lost)
    assert recording.problems == []
    assert [(row.kind, row.count, row.detail) for row in recording.losses] == [("cut-short", 10**9, "process 5")]
    assert list(read(MAGIC + BASE + lost, running=True).losses) == []


# ---- hostile ----


def objects(**tables):
    """Rows of the tables about objects: for each a dict of columns."""
    data = MAGIC + BASE + strings(1, b"T")
    for name, columns in tables.items():
        number = list(_core.schema()).index(name)
        numbers = {column: i for i, (column, _) in enumerate(_core.schema()[name])}
        rows = len(next(iter(columns.values())))
        data += table(number, rows, {numbers[column]: values for column, values in columns.items()})
    return read(data + END)


SOUND = {"types": {"name": [1], "born": [9]}, "objects": {"function": [-1], "node": [-1], "born": [9]}}


@pytest.mark.parametrize(
    ("tables", "kind", "left", "problem"),
    [
        ({"lifetimes": {"id": [0, 1], "object": [0, 5], "count": [1, 1]}}, "lifetimes", 1, "lifetimes: 1 rows"),
        ({"lifetimes": {"id": [0, 1], "bucket": [64, 32], "count": [1, 1]}}, "lifetimes", 1, "lives that long"),
        ({"lifetimes": {"unit": [2], "count": [1]}}, "lifetimes", 0, "lives that long"),
        ({"object_survivors": {"span": [0], "count": [1]}}, "object_survivors", 0, "object_survivors: 1 rows"),
        (
            {"object_spans": {"calls": [1]}, "object_survivors": {"object": [7], "count": [1]}},
            "object_survivors",
            0,
            "object_survivors: 1 rows",
        ),
        ({"holders": {"id": [0, 1, 2], "parent": [-1, 0, 1]}}, "holders", 3, ""),
        ({"holders": {"id": [0, 1, 2, 3], "parent": [-1, 2, 1, 3]}}, "holders", 1, "holders: 3 rows"),
        ({"holders": {"id": [0, 1, 2], "parent": [-7, -1, 9]}}, "holders", 1, "holders: 2 rows"),
        ({"holders": {"object": [4], "parent": [-1]}}, "holders", 0, "holders: 1 rows"),
    ],
)
def test_what_is_said_of_missing_objects_is_dropped(tables, kind, left, problem):
    recording = objects(**SOUND, **tables)
    assert len(getattr(recording, kind)) == left
    assert [problem in text for text in recording.problems] == ([True] if problem else [])
    all_of_objects(recording)


def test_holders_are_of_one_row_of_objects():
    recording = objects(
        types=SOUND["types"],
        objects={"id": [0, 1], "node": [-1, -1]},
        holders={"id": [0, 1, 2, 3], "object": [1, 0, 1, 1], "parent": [-1, 0, 0, 2], "count": [1, 2, 3, 4]},
    )
    assert [(row.object, row.parent, row.count) for row in recording.holders] == [(1, -1, 1), (1, 0, 3), (1, 1, 4)]
    all_of_objects(recording)


def test_objects_of_what_is_missing():
    recording = objects(
        types=SOUND["types"],
        objects={"id": [0, 1, 2], "type": [0, 5, 0], "function": [-1, 7, -9], "node": [-1, 3, -8], "born": [1, 2, 3]},
        object_spans={"function": [8], "process": [4]},
        marks={"process": [2], "born": [-5], "time_ns": [-(2**63)]},
    )
    assert [recording.types[row.type].full_name for row in recording.objects] == ["T", "<missing>", "T"]
    assert [row.node for row in recording.objects] == [-1, -1, -1]
    assert [row.function for row in recording.objects][::2] == [-1, -1]
    assert recording.functions[recording.objects[1].function].qualname == "<missing>"
    assert recording.marks["born"].tolist() == [0]
    assert len(recording.problems) == 7
    all_of_objects(recording)


def test_the_nodes_of_objects_have_their_new_ids():
    nodes_of = {"id": [0, 10, 20], "parent": [-1, 99, 0], "calls": [1, 2, 3]}
    recording = objects(
        nodes=nodes_of, types=SOUND["types"], objects={"id": [0, 1, 2], "node": [20, 10, 0], "function": [-1] * 3}
    )
    assert [row.node for row in recording.objects] == [1, -1, 0]
    all_of_objects(recording)


@pytest.mark.parametrize("huge", [2**63 - 1, -(2**63), -1])
def test_absurd_numbers_of_objects(huge):
    columns = {name: [huge] for name, code in _core.schema()["objects"] if code == "q" and name != "id"}
    of_types = {name: [huge] for name, code in _core.schema()["types"] if code == "q" and name != "id"}
    of_spans = {name: [huge] for name, code in _core.schema()["object_spans"] if code == "q" and name != "id"}
    recording = objects(
        types=of_types,
        objects=columns,
        lifetimes={"object": [0], "count": [huge]},
        object_times={"time_ns": [huge], "born": [huge], "died": [huge]},
        object_spans=of_spans,
        object_survivors={"count": [huge]},
        holders={"parent": [-1], "count": [huge], "asked": [huge]},
    )
    all_of_objects(recording)


def nodes(**columns):
    numbers = {name: i for i, (name, _) in enumerate(_core.schema()["nodes"])}
    rows = len(columns["id"])
    return MAGIC + BASE + table(3, rows, {numbers[name]: values for name, values in columns.items()}) + END


def test_parents_that_make_no_tree():
    data = nodes(id=[0, 1, 2, 3, 4, 5], parent=[-1, 2, 1, 3, 99, 4], calls=[1] * 6)
    recording = read(data)
    assert len(recording.tree) == 1  # a cycle, its own parent, a parent that is none, and what is below
    assert any("5 nodes" in text for text in recording.problems)
    everything(recording)


def test_a_parent_on_another_thread():
    two = MAGIC + BASE + table(1, 1, {0: [1]})
    data = two + table(3, 2, {0: [0, 1], 1: [-1, 0], 2: [0, 1]})
    assert len(read(data).tree) == 1


def test_missing_rows_have_a_stand_in():
    recording = read(nodes(id=[0], parent=[-1], function=[7], thread=[3], calls=[9]))
    assert recording.functions[recording.tree[0].function].qualname == "<missing>"
    assert recording.functions[recording.tree[0].function].calls == 9
    assert len(recording.threads) == 2
    everything(recording)
    everything(read(MAGIC + table(3, 1, {1: [-1]})))


@pytest.mark.parametrize("huge", [2**17, 2**24 - 1, 2**31, 2**40, 2**63 - 1, -1, -(2**63)])
def test_impossible_ids(huge):
    recording = read(nodes(id=[0, huge, 1], parent=[-1, -1, -1], calls=[1, 2, 3]))
    assert recording.tree["calls"].tolist() == [1, 3]
    assert recording.problems


def test_ids_of_all_tables_together_are_bounded():
    """An id takes memory up to it: few bytes must not claim much in each table."""
    tables = len(_core.schema())
    image = MAGIC + b"".join(table(number, 1, {0: [60_000]}) for number in range(tables))
    assert len(image) < 1000
    problems = [str(problem) for problem in read(image).problems]
    assert sum("impossible ids" in problem for problem in problems) == tables - 1


def test_gaps_in_ids_are_closed():
    recording = read(nodes(id=[0, 10, 20], parent=[-1, 0, 10], calls=[1, 2, 3]))
    assert [(n.id, n.parent, n.calls) for n in recording.tree] == [(0, -1, 1), (1, 0, 2), (2, 1, 3)]


def test_impossible_values_are_made_0():
    reals = (2, struct.pack("<4d", float("nan"), float("inf"), -1.0, 1e300))
    recording = read(nodes(id=[0, 1, 2, 3], parent=[-1] * 4, calls=[-1] * 4, sampled_sq=reals))
    assert recording.tree["calls"].tolist() == [0] * 4
    assert len(recording.problems) == 2
    everything(recording)


def test_strings_out_of_range_and_bad_utf8():
    data = MAGIC + strings(1, b"\xff\xfe", b"\xed\xb3\xbf", b"ok") + table(2, 4, {0: range(4), 3: [1, 2, 3, 99]})
    recording = read(data)
    assert recording.functions["qualname"] == ["\\xff\\xfe", "\udcff", "ok", ""]
    everything(recording)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x03",
        b"\x03\x05",
        b"\x03" + uvarint(2**62) + b"\0",  # rows without end, but all alike: one
        b"\x03" + uvarint(2**62) + b"\x01\x00\x00\x01\x00",
        b"\x03" + uvarint(2**40) + b"\x01\x63\x00\x01\x00",  # only a column of the future
        b"\x03\x01\x01\x00\x00" + uvarint(2**63) + b"\0",
        b"\x03\x01\x01\x00\x00\x01\x80",  # a varint that does not end
        b"\x03\x01\x01\x00\x00\x0b" + b"\xff" * 10 + b"\x01",  # of more than 64 bits
        b"\x03\x01\x01\x00\x00\x02\x00\x00",  # bytes left over
        b"\x03\x01\x01\x00\x09\x01\x00",  # an encoding of the future in a column that we know
        b"\x03\x01\x01\x00\x02\x08" + bytes(8),  # floats where integers belong
        b"\x03\x01\x01\x0b\x00\x01\x00",  # and the reverse
        b"\x03\x01\x00rest",
        b"\x03\x01" + uvarint(2**63),
        b"\x0d\x00\x01\x00\x00\x00",  # no rows
    ],
)
def test_tables_that_make_no_sense(payload):
    recording = read(MAGIC + BASE + chunk(b"TABL", payload) + table(2, 1, {0: [2]}))
    assert len(recording.functions) == 3  # what follows counts
    assert len(recording.tree) <= 1
    everything(recording)


@pytest.mark.parametrize(
    "payload", [b"", b"\x01", b"\x01\xff\xff\xff\x7f", b"\x01\x01\x05ab", b"\x00\x01\x01a", uvarint(2**63) + b"\x00"]
)
def test_strings_that_make_no_sense(payload):
    recording = read(MAGIC + chunk(b"STRS", payload) + BASE)
    assert recording.problems
    assert len(recording.functions) == 2


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000, b'{"a":' + b"9" * 10_000 + b"}"])
def test_meta_that_makes_no_sense(payload):
    recording = read(MAGIC + chunk(b"META", b'{"good": 1}') + chunk(b"META", payload) + BASE)
    assert recording.meta == {"good": 1}
    assert recording.problems


def test_a_length_beyond_the_file():
    recording = read(MAGIC + struct.pack("<I4sI", 2**32 - 1, b"TABL", 0) + BASE)
    assert len(recording.functions) == 2


def test_false_chunks_without_end_are_not_searched_without_end():
    """Each place looks like the start of a long chunk; none has its checksum."""
    place = struct.pack("<I4sI", 3_000_000, b"TABL", 1)
    data = MAGIC + place * 400_000
    start = time.process_time()
    recording = read(data)
    assert time.process_time() - start < 20  # each place searched in full would take hours
    assert recording.problems


def test_problems_without_end_are_counted_not_listed():
    recording = read(MAGIC + chunk(b"TABL", b"\x03") * 5000 + END)
    assert len(recording.problems) == 101
    assert "4900 more" in recording.problems[-1]


# ---- the future ----


def test_the_future_is_skipped_where_it_can_be():
    data = (
        MAGIC
        + chunk(b"NEW ", b"whatever")
        + BASE
        + table(77, 3, {0: [1, 2, 3]})
        + table(3, 1, {1: [-1], 4: [6], 99: (7, b"???")})
        + END
    )
    recording = read(data)
    assert recording.problems == []
    assert recording.tree["calls"].tolist() == [6]


def test_a_later_version_is_refused_with_a_way_out():
    with pytest.raises(RecordingError, match="version 300") as caught:
        read(b"\x8fseismo\n" + struct.pack("<HHI", 300, 0, 0))
    assert "newer seismo" in caught.value.hint


def test_the_largest_numbers():
    most = 2**63 - 1
    recording = read(nodes(id=[0, 1], parent=[-1, 0], calls=[most] * 2, resumes=[most] * 2, timed_ns=[most] * 2))
    assert recording.functions["calls"][0] == most
    everything(recording)
