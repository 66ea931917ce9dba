"""Other tools' traces become recordings with a tree and a journal; what is written and read back is the same."""

import gzip
import json
import random
import subprocess
import sys
import zlib
from collections import Counter

import journal_made
import pytest
from format_samples import written
from test_timelines import trace_class

from seismo import formats, model
from seismo.cli.main import main
from seismo.errors import FormatError
from seismo.formats import chrome, chrome_read, perfetto, perfetto_read
from seismo.formats.protobuf import bytes_field, number_field
from seismo.model.kinds import CallFlags


def made_of(events, **more):
    return chrome_read.read(json.dumps({"traceEvents": events, **more}).encode())


def event(phase, ts, name="f", pid=1, tid=1, **more):
    return {"ph": phase, "ts": ts, "name": name, "pid": pid, "tid": tid, **more}


def shape(recording):
    """[(thread, function, start, end, depth, flags)] in the order of beginnings."""
    names, threads = recording.functions["qualname"], recording.threads["native_id"]
    return [
        (threads[row.thread], names[row.function], row.start_ns, row.end_ns, row.depth, int(row.flags))
        for row in recording.calls.window().calls
    ]


def sums(recording):
    """What a recording counts of each function."""
    return sorted((row.module, row.qualname, row.calls, row.resumes, row.exceptions) for row in recording.functions)


def agrees(recording):
    """Whether the tree and the journal count the same, as `seismo info --verify` asks; the file is whole as well."""
    found, again = recording.calls.sums, model.read(recording.to_bytes())
    assert not found.problems
    assert not again.problems
    for name in ("calls", "resumes", "exceptions"):
        assert list(getattr(found, name)) == list(recording.tree[name])
    return shape(again) == shape(recording)


def nesting(recording, later):
    """The calls in the order of their beginnings; the ends of those that have one, for the others end with a thread."""
    kept = CallFlags.OPEN | CallFlags.UNWOUND | CallFlags.YIELDED | CallFlags.RESUMED
    return [
        (name, start + later, None if flags & CallFlags.OPEN else end + later, depth, flags & kept)
        for _, name, start, end, depth, flags in shape(recording)
    ]


# ---- round trips ----


@pytest.mark.parametrize("seed", range(12))
def test_perfetto_gives_back_what_was_written(seed):
    _, _, made = journal_made.made(seed, events=300)
    back = perfetto_read.read(written(perfetto.FORMAT, made))
    start = back.calls.start_ns - made.calls.start_ns
    assert nesting(back, start) == nesting(made, 0)
    assert sums(back) == [row for row in sums(made) if any(row[2:]) or row[:2] in {one[:2] for one in sums(back)}]
    assert agrees(back)
    kinds = Counter(row.kind for row in back.calls.instants)
    assert kinds == Counter(
        "mark" if row.kind == "counter" and not row.data else row.kind for row in made.calls.instants
    )


@pytest.mark.parametrize("seed", range(6))
def test_chrome_gives_back_the_times_and_counts(seed):
    _, _, made = journal_made.made(seed, events=300, wild=False)
    back = chrome_read.read(written(chrome.FORMAT, made))
    start = back.calls.start_ns - made.calls.start_ns
    assert sorted((name, begin + start, end + start) for _, name, begin, end, _, _ in shape(back)) == sorted(
        row[1:4] for row in shape(made)
    )
    called = [row for row in sums(made) if any(row[2:])]
    assert [row for row in sums(back) if any(row[2:])] == called
    assert {(row.qualname, row.file, row.line) for row in back.functions} <= {
        (row.qualname, row.file, row.line) for row in made.functions
    }
    assert agrees(back)


def test_what_the_program_said_comes_back():
    tree, p = journal_made.lone()
    p.call(0)
    p.say(
        500,
        (1, "here", {"n": 3}),
        (2, "queue", {"value": 2.5}),
        (3, "load", {"rows": 7}, 9),
        (4, "load", None, 9),
    )
    p.end()
    made = journal_made.recording(tree, [p], 1)
    for entry in (chrome.FORMAT, perfetto.FORMAT):
        back = entry.reader(written(entry, made))
        said = [(row.kind, row.name, row.data) for row in back.calls.instants]
        assert said[:2] == [("mark", "here", {"n": 3}), ("counter", "queue", {"value": 2.5})]
        assert [row[0] for row in said[2:]] == ["begin", "end"]
        assert said[2] == ("begin", "load", {"rows": 7})
        (begin, end) = (row for row in back.calls.instants if row.kind in ("begin", "end"))
        assert begin.span == end.span
        assert {row.name for row in back.threads} == {"thread 0"}


# ---- Chrome's events ----


def test_events_in_any_order_nest_by_their_times():
    events = [
        event("X", 10, "outer", dur=100),
        event("X", 20, "inner", dur=10.5),
        event("X", 20, "innermost", dur=1),
        event("X", 111, "next", dur=1),
        event("X", 10.25, "elsewhere", tid=2, dur=3),
        event("X", 5, "child", pid=9, dur=1),
        event("M", 0, "thread_name", args={"name": "Main"}),
        event("M", 0, "process_name", pid=9, args={"name": "child.py"}),
    ]
    for seed in range(5):
        random.Random(seed).shuffle(events)
        made = made_of(events)
        assert not len(made.losses)
        depths = {name: (start, end, depth) for _, name, start, end, depth, _ in shape(made)}
        assert depths["outer"] == (5_000, 105_000, 0)
        assert depths["inner"] == (15_000, 25_500, 1)
        assert depths["innermost"] == (15_000, 16_000, 2)
        assert depths["next"][2] == depths["elsewhere"][2] == depths["child"][2] == 0
        assert depths["child"][0] == 0
        assert sorted(made.processes["pid"]) == [1, 9]
        assert {row.qualname: row.own_ns for row in made.functions}["outer"] == 100_000 - 10_500
        assert "Main" in list(made.threads["name"])
        assert agrees(made)


def test_pairs_that_do_not_match_are_said():
    made = made_of(
        [
            event("E", 1),
            event("B", 2, "open"),
            event("B", 3, "closed"),
            event("E", 5, "closed"),
            event("E", 1, tid=2),
            event("X", 7, "whole", tid=2, dur=2),
            event("B", 8, "inside", tid=2),
            event("E", 8.5, tid=2),
        ]
    )
    assert {(row.kind, row.count) for row in made.losses} == {("unbalanced", 2)}
    rows = {name: (start, end, depth, flags) for _, name, start, end, depth, flags in shape(made)}
    assert rows["open"] == (1_000, 4_000, 0, CallFlags.OPEN)
    assert rows["closed"] == (2_000, 4_000, 1, 0)
    assert rows["inside"][2] == 1
    assert agrees(made)


def test_calls_that_overlap_are_on_lanes_of_their_own():
    made = made_of([event("X", at, f"task{at}", dur=10) for at in range(20)])
    assert list(made.losses["kind"]) == ["overlapping"]
    rows = shape(made)
    assert len(rows) == 20
    assert sum(end - start == 10_000 for _, _, start, end, _, _ in rows) >= 8
    assert len({row.stream for row in made.calls.window().calls}) == 8
    assert agrees(made)


def test_other_phases_are_counted_and_marks_kept():
    made = made_of(
        [
            event("X", 1, dur=9, args={"x": 1}),
            event("s", 2, id=1),
            event("f", 3, id=1),
            event("P", 3),
            event("?", 3),
            event("i", 4, "here", s="t", args={"n": 1.5}),
            event("C", 5, "memory", args={"used": 7, "free": 2.5, "name": "no"}),
            event("b", 6, "request", id="0x1", cat="net"),
            event("e", 7, "request", id="0x1", cat="net"),
        ]
    )
    losses = {row.kind: (row.count, row.detail) for row in made.losses}
    assert losses["arguments-dropped"][0] == 1
    assert losses["events-skipped"][0] == 4
    assert "2 of flows" in losses["events-skipped"][1]
    assert [(row.kind, row.name, row.time_ns, row.data) for row in made.calls.instants] == [
        ("mark", "here", 3_000, {"n": 1.5}),
        ("counter", "memory.used", 4_000, {"value": 7}),
        ("counter", "memory.free", 4_000, {"value": 2.5}),
        ("begin", "request", 5_000, None),
        ("end", "request", 6_000, None),
    ]


def test_times_are_exact_whatever_their_size():
    made = made_of([event("X", 1_700_000_000_000_000.001, dur=0.25)])
    assert made.functions["calls"][0] == 1
    text = b'[{"ph":"X","pid":1,"tid":1,"name":"f","ts":1700000000000000.123,"dur":0.001},'
    text += b'{"ph":"X","pid":1,"tid":1,"name":"g","ts":1.700000000000001e15,"dur":1E-3}]'
    made = chrome_read.read(text)
    assert [(row[1], row[2], row[3]) for row in shape(made)] == [("f", 0, 1), ("g", 877, 878)]


def test_a_trace_of_a_killed_program_is_read_up_to_its_end():
    whole = json.dumps([event("X", number, f"f{number}", dur=0.5) for number in range(50)])
    assert len(chrome_read.read(whole.encode()).functions) == 50
    for cut in range(200, len(whole) - 1, 7):
        made = chrome_read.read(whole[:cut].encode())
        assert 1 <= len(made.functions) <= 50
        assert "truncated" in list(made.losses["kind"])
    with pytest.raises(ValueError, match="Expecting"):
        chrome_read.read(whole.replace("}, {", "}, }}} {", 3).encode())


@pytest.mark.parametrize(
    "bad",
    [
        "[]",
        "{}",
        '{"traceEvents": []}',
        '{"traceEvents": 7}',
        '[{"ph": 3}]',
        '[{"ph": "X", "ts": "soon"}]',
        '[{"ph": "X", "ts": 1e300}]',
        '[{"ph": "X", "ts": null}]',
        '[{"ph": "X", "ts": NaN}]',
        "[" * 100_000,
        '[{"ph": "X", "ts": ' + "9" * 5000 + "}]",
    ],
)
def test_what_is_no_trace_is_an_error_that_names_the_file(bad, tmp_path):
    path = tmp_path / "x.trace.json"
    path.write_text(bad)
    with pytest.raises(FormatError) as error:
        formats.read(path)
    assert str(path) in str(error.value)


def test_a_trace_is_known_by_its_content(tmp_path, capsys):
    trace = {"traceEvents": [event("X", 1, "main", dur=10)]}
    for name, data in {
        "a.json": json.dumps(trace).encode(),
        "b.json": json.dumps({"displayTimeUnit": "ms", "otherData": {}, **trace}).encode(),
        "c.json": json.dumps(trace["traceEvents"]).encode(),
        "d.json.gz": gzip.compress(json.dumps(trace).encode()),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert main(["report", str(tmp_path / name)]) == 0
        assert "1 call of 1 function" in capsys.readouterr().out
    for command in (
        ["report", "a.json", "--around", "0s"],
        ["export", "a.json", "-o", "a.pftrace"],
        ["diff", "a.json", "b.json"],
    ):
        words = [str(tmp_path / word) if word[1:2] == "." else word for word in command]
        assert main(words) == 0
    assert main(["merge", "-o", str(tmp_path / "m.seismo"), str(tmp_path / "a.json"), str(tmp_path / "c.json")]) == 0
    assert len(model.read(tmp_path / "m.seismo").calls.window().calls) == 2


# ---- VizTracer ----

PROGRAM = """
import threading
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def main():
    fib(7)
    thread = threading.Thread(target=fib, args=(5,))
    thread.start()
    thread.join()
main()
"""


def test_viztracers_file(tmp_path):
    """What VizTracer itself writes: every one of its events is a call, with its file, line and times."""
    pytest.importorskip("viztracer", reason="viztracer is not installed")
    (tmp_path / "app.py").write_text(PROGRAM)
    words = [
        sys.executable,
        "-m",
        "viztracer",
        "-o",
        str(tmp_path / "viz.json"),
        str(tmp_path / "app.py"),
    ]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    document = json.loads((tmp_path / "viz.json").read_text())
    events = [one for one in document["traceEvents"] if one["ph"] == "X"]
    made = formats.read(tmp_path / "viz.json")
    assert made.meta["source_format"] == "viztracer"
    assert not len(made.losses)
    fib = next(row for row in made.functions if row.qualname == "fib")
    assert (fib.calls, fib.file, fib.line) == (41 + 15, str(tmp_path / "app.py"), 3)
    assert len(made.calls.window().calls) == len(events)
    lengths = Counter(round(one["dur"] * 1000) for one in events)
    assert Counter(row.end_ns - row.start_ns for row in made.calls.window().calls) == lengths
    assert any(row.kind == 1 and row.module == "_thread" for row in made.functions)
    assert agrees(made)


# ---- Perfetto's events ----


def packets(*made, sequence=7):
    """A trace of perfetto's own message class, by dicts of fields."""
    trace = trace_class()()
    for one in made:
        packet = trace.packet.add()
        packet.trusted_packet_sequence_id = one.pop("sequence", sequence)
        fill(packet, one)
    return trace.SerializeToString()


def fill(message, values):
    for name, value in values.items():
        if isinstance(value, dict):
            getattr(message, name).SetInParent()
            fill(getattr(message, name), value)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, dict):
                    fill(getattr(message, name).add(), each)
                else:
                    getattr(message, name).append(each)
        else:
            setattr(message, name, value)


THREAD = {"track_descriptor": {"uuid": 3, "thread": {"pid": 5, "tid": 6, "thread_name": "worker"}}}


def begin(at, name, **more):
    return {"timestamp": at, "track_event": {"type": 1, "track_uuid": 3, "name": name, **more}}


def end(at):
    return {"timestamp": at, "track_event": {"type": 2, "track_uuid": 3}}


def test_perfetto_interned_names_end_where_the_sequence_is_cleared():
    said = {"sequence_flags": 1, "interned_data": {"event_names": [{"iid": 1, "name": "first"}]}}
    other = {"sequence_flags": 1, "interned_data": {"event_names": [{"iid": 1, "name": "second"}]}}
    event = {"track_event": {"type": 1, "track_uuid": 3, "name_iid": 1}}
    data = packets(
        {**said, "timestamp": 1},
        {"timestamp": 10, "sequence_flags": 2, **event},
        end(20),
        {**other, "timestamp": 21},
        {"timestamp": 30, "sequence_flags": 2, **event},
        end(40),
        {"timestamp": 50, "sequence_flags": 2, "sequence": 8, **event},
        end(60),
        dict(THREAD),
    )
    made = perfetto_read.read(data)
    assert [row[:4] for row in shape(made)] == [(6, "first", 0, 10), (6, "second", 20, 30), (6, "", 40, 50)]
    assert list(made.threads["name"]) == ["worker"]
    assert agrees(made)


def test_perfetto_unsorted_and_unbalanced():
    data = packets(dict(THREAD), end(1), begin(30, "b"), end(40), begin(10, "a"), end(20), begin(50, "open"))
    made = perfetto_read.read(data)
    assert [(row.kind, row.count) for row in made.losses] == [("unbalanced", 1)]
    assert [row[1:5] for row in shape(made)] == [("a", 9, 19, 0), ("b", 29, 39, 0), ("open", 49, 49, 0)]


def test_perfetto_rows_that_are_no_threads_are_rows_of_their_process():
    data = packets(
        {"track_descriptor": {"uuid": 1, "process": {"pid": 5, "process_name": "app"}}},
        {"track_descriptor": {"uuid": 3, "parent_uuid": 1, "name": "requests"}},
        {"track_descriptor": {"uuid": 4, "parent_uuid": 1, "name": "queue", "counter": {}}},
        begin(10, "GET"),
        {"timestamp": 12, "track_event": {"type": 4, "track_uuid": 4, "double_counter_value": 2.5}},
        {"timestamp": 13, "track_event": {"type": 3, "track_uuid": 3, "name": "hit"}},
        end(20),
    )
    made = perfetto_read.read(data)
    assert list(made.processes["pid"]) == [5]
    assert "requests" in list(made.threads["name"])
    assert [(row.kind, row.name, row.data) for row in made.calls.instants] == [
        ("mark", "hit", None),
        ("counter", "queue", {"value": 2.5}),
    ]


def packet_sizes(data):
    """The lengths of packets that are below 128 bytes."""
    sizes, at = [], 0
    while at < len(data):
        assert data[at + 1] < 128
        sizes.append(data[at + 1])
        at += 2 + data[at + 1]
    return sizes


def test_perfetto_packed_packets_clocks_and_defaults():
    """Fields beyond those that the public numbers of this test's own message class have: by hand."""

    def packet(*parts):
        return bytes_field(1, b"".join(parts) + number_field(10, 7))

    def event(kind, name=b""):
        return bytes_field(11, number_field(9, kind) + (bytes_field(23, name) if name else b""))

    def clock(number, time, incremental=0, unit=0):
        return bytes_field(
            1, number_field(1, number) + number_field(2, time) + number_field(3, incremental) + number_field(4, unit)
        )

    thread = bytes_field(60, number_field(1, 3) + bytes_field(4, number_field(1, 5) + number_field(2, 6)))
    snapshot = bytes_field(6, clock(6, 1_000_000) + clock(1, 5_000_000_000_000) + clock(64, 100, 1, 1000))
    defaults = bytes_field(59, number_field(58, 64) + bytes_field(11, number_field(11, 3)))
    events = packet(number_field(8, 5), event(1, b"f")) + packet(number_field(8, 10), event(2))
    data = packet(thread) + packet(snapshot, defaults) + packet(bytes_field(50, zlib.compress(events)))
    made = perfetto_read.read(data)
    assert [row[:4] for row in shape(made)] == [(6, "f", 0, 10_000)]
    assert made.calls.start_ns == 5_000_000_000_000 + 5_000
    bomb = packet(bytes_field(50, zlib.compress(b"\0" * (64 << 20), 9)))
    with pytest.raises(ValueError, match="too much"):
        perfetto_read.read(bomb)
    nested = packet(bytes_field(50, zlib.compress(packet(bytes_field(50, zlib.compress(events))))))
    with pytest.raises(ValueError, match="hold packed"):
        perfetto_read.read(nested)


def test_perfetto_cut_short_and_other_sources():
    data = packets(dict(THREAD), *(begin(at, f"f{at}") if at % 2 else end(at) for at in range(1, 41)))
    ends = {sum(2 + size for size in sizes[:count]) for sizes in [packet_sizes(data)] for count in range(len(sizes))}
    for cut in range(60, len(data) - 1, 3):
        made = perfetto_read.read(data[:cut])
        assert ("truncated" in list(made.losses["kind"])) == (cut not in ends)
    for bad in (b"", b"\x00\x01", b"\x0a\x00", b"\x0a\x02\x40\x01", b"\xff" * 100):
        with pytest.raises(ValueError, match=r"no track events|no packet"):
            perfetto_read.read(bad)
    skipped = bytes_field(1, bytes_field(1, b"") + bytes_field(9, b""))
    losses = {row.kind: row.detail for row in perfetto_read.read(data + skipped).losses}
    assert "scheduling" in losses["events-skipped"]


def test_hostile_tracks_take_bounded_time(tmp_path):
    """Parents in a circle, calls nested a hundred thousand deep, a hundred thousand that overlap."""
    circle = [{"track_descriptor": {"uuid": n, "parent_uuid": n % 3 + 3}} for n in (3, 4, 5)]
    assert len(perfetto_read.read(packets(*circle, begin(1, "f"), end(2))).functions) == 1
    deep = [event("B", at, "f") for at in range(100_000)]
    assert max(row.depth for row in made_of(deep).calls.window().calls) == 99_999
    wide = [event("X", at, "f", dur=10**6) for at in range(100_000)]
    assert made_of(wide).losses["count"][0] >= 99_000
