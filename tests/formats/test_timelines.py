"""Calls in time in the formats of their viewers: what was played is what a viewer's own parser reads."""

import io
import json
import shlex
from array import array

import journal_made
import pytest
from format_samples import written

from seismo import formats
from seismo.cli.main import main
from seismo.errors import FormatError
from seismo.formats import chrome, perfetto, speedscope
from seismo.formats.trace_tracks import flag_words

messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed")


def recording(seed=3, **settings):
    return journal_made.made(seed, events=200, **settings)[2]


def slices(packets):
    """[(track, name iid, start, end, depth)] of track events, in the order of beginnings. All are nested."""
    found, open_slices = [], {}
    for packet in packets:
        event = packet.track_event
        stack = open_slices.setdefault(event.track_uuid, [])
        if event.type == 1 and event.name_iid:
            row = [event.track_uuid, event.name_iid, packet.timestamp, None, len(stack)]
            stack.append(row)
            found.append(row)
        elif event.type == 2 and event.track_uuid < 1 << 40:
            stack.pop()[3] = packet.timestamp
    assert not any(open_slices[track] for track in open_slices if track < 1 << 40)
    return found


@pytest.mark.parametrize("format_", [chrome.FORMAT, perfetto.FORMAT, speedscope.FORMAT], ids=lambda one: one.name)
def test_functions_of_a_kind_that_a_later_version_has_are_written(format_):
    made = recording()
    made._raw["functions"]["kind"] = array("q", [7] * len(made.functions))
    assert written(format_, made)


@pytest.mark.parametrize("seed", range(3))
def test_perfetto_holds_every_call_as_it_nested(seed):
    made = recording(seed)
    trace = messages.Trace.FromString(written(perfetto.FORMAT, made))
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} <= {1}
    names = {n.iid: n.name for packet in trace.packet for n in packet.interned_data.event_names}
    found = slices([packet for packet in trace.packet if packet.HasField("track_event")])
    rows = list(made.calls.window().calls)
    first = {}
    for row in rows:
        first.setdefault((row.thread, row.stream), row.depth)
    assert [(names[f[1]], f[2], f[3]) for f in found] == [
        (f"made:{made.functions['qualname'][row.function]}", row.start_ns, row.end_ns) for row in rows
    ]
    assert [f[4] for f in found] == [row.depth - first[row.thread, row.stream] for row in rows]
    notes = {n.iid: n.name for packet in trace.packet for n in packet.interned_data.debug_annotation_names}
    begins = [packet.track_event for packet in trace.packet if packet.track_event.type == 1]
    said = [{notes[one.name_iid]: one for one in event.debug_annotations} for event in begins if event.name_iid]
    assert [one["note"].string_value if "note" in one else "" for one in said] == [
        flag_words(row.flags) for row in rows
    ]
    bounds = [one["bound_ns"].uint_value if "bound_ns" in one else 0 for one in said]
    assert bounds == [max(0, row.start_bound_ns, row.end_bound_ns) for row in rows]
    places = {
        p.iid: (p.file_name, p.line_number) for packet in trace.packet for p in packet.interned_data.source_locations
    }
    assert [places[event.source_location_iid] for event in begins if event.name_iid] == [
        ("made.py", made.functions["line"][row.function]) for row in rows
    ]
    threads = [p.track_descriptor for p in trace.packet if p.track_descriptor.HasField("thread")]
    said = {(row.thread, row.stream) for row in made.calls.instants}
    assert len({thread.uuid for thread in threads}) == len(threads) == len(first.keys() | said)
    assert {t.thread.thread_name for t in threads} >= {f"thread {thread}" for thread, _ in first}


def test_perfetto_has_what_the_program_said():
    tree, p = journal_made.lone()
    p.call(0)
    p.instant(1, "here", {"n": 3})
    p.instant(2, "queue", {"value": 2.5})
    p.instant(3, "load", {"rows": 7}, span=9)
    p.mark()
    p.instant(4, "load", span=9)
    p.mark()
    p.end()
    made = journal_made.recording(tree, [p], 1)
    trace = messages.Trace.FromString(written(perfetto.FORMAT, made))
    events = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
    assert [event.name for event in events if event.type == 3] == ["here"]
    assert [event.double_counter_value for event in events if event.type == 4] == [2.5]
    begun = [event for event in events if event.type == 1 and event.name == "load"]
    ended = [event for event in events if event.type == 2 and event.track_uuid >= 1 << 42]
    assert begun[0].track_uuid == ended[0].track_uuid
    data = [one.string_value for event in events if event.type in (1, 3) for one in event.debug_annotations]
    assert [json.loads(one) for one in data if one.startswith("{")] == [{"n": 3}, {"rows": 7}]
    shown = [one for one in json.loads(written(chrome.FORMAT, made))["traceEvents"] if one.get("cat") == "program"]
    # Each process numbers its spans: the viewer takes an `id` for the same thing in all of them, a local `id2` not.
    span = {"local": "0x9"}
    assert [(one["ph"], one["name"], one.get("args"), one.get("id"), one.get("id2")) for one in shown] == [
        ("i", "here", {"data": {"n": 3}}, None, None),
        ("C", "queue", {"value": 2.5}, None, None),
        ("b", "load", {"data": {"rows": 7}}, None, span),
        ("e", "load", None, None, span),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_chrome_holds_every_call(seed):
    made = recording(seed)
    document = json.loads(written(chrome.FORMAT, made))
    rows = list(made.calls.window().calls)
    calls = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert [(round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in calls] == [
        (row.start_ns, row.end_ns - row.start_ns) for row in rows
    ]
    assert [e.get("args", {}).get("note", "") for e in calls] == [flag_words(row.flags) for row in rows]
    assert any("left by an exception" in e.get("args", {}).get("note", "") for e in calls)
    bounds = [max(0, row.start_bound_ns, row.end_bound_ns) for row in rows]
    assert [e.get("args", {}).get("bound_ns", 0) for e in calls] == bounds
    tracks = {
        (one["pid"], one["tid"]): one["args"]["name"] for one in document["traceEvents"] if one["name"] == "thread_name"
    }
    assert [tracks[e["pid"], e["tid"]].partition(" (")[0] for e in calls] == [f"thread {row.thread}" for row in rows]
    places = {name: place for name, *place in document["otherData"]["functions"]}
    assert [places[e["name"]] for e in calls] == [["made.py", made.functions["line"][row.function]] for row in rows]


@pytest.mark.parametrize("module", [chrome, perfetto, speedscope], ids=["chrome", "perfetto", "speedscope"])
def test_what_a_viewer_does_not_take_is_cut(module, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(module, "MOST", 500)
    tree, p = journal_made.lone(block_bytes=200)
    p.short_calls(3000)
    made = journal_made.recording(tree, [p], 1)
    whole = len(made.calls.window().calls)
    cut = formats.trace_tracks.trace_tracks(made, 500)
    assert 0 < len(cut.calls) <= 1000 < whole
    made.save(tmp_path / "long.seismo")
    entry = module.FORMAT
    monkeypatch.setattr(formats, "by_name", lambda name: __import__("dataclasses").replace(entry, most_calls=500))
    assert main(["export", str(tmp_path / "long.seismo"), "-f", entry.name, "-o", str(tmp_path / "out")]) == 0
    ends, rest, view = capsys.readouterr().err.splitlines()
    assert "seismo: the file ends at 0." in ends
    assert view.endswith(f"seismo view {tmp_path}/long.seismo")
    assert (tmp_path / "out").stat().st_size < 400_000
    words = shlex.split(rest.partition("the rest: seismo ")[2])
    assert main(words) == 0
    assert (tmp_path / "out-rest").exists()


@pytest.mark.parametrize("name", ["chrome", "perfetto"])
def test_a_profile_is_refused(name):
    made = recording()
    made._journal = None
    with pytest.raises(FormatError, match="hold a trace") as error:
        formats.write(made, io.BytesIO(), name)
    assert "seismo trace" in error.value.hint
    assert name not in formats.names("calltree")
    assert name in formats.names("calltree", trace=True)


@pytest.mark.parametrize("name", ["chrome", "perfetto", "firefox"])
def test_other_tools_timelines_are_refused_by_name_and_by_content(name, tmp_path, capsys):
    entry = formats.by_name(name)
    data = written(entry, recording())
    named, other = tmp_path / f"x{entry.suffixes[0]}", tmp_path / ("x.json" if data.startswith(b"{") else "x.bin")
    for path in (named, other):
        path.write_bytes(data)
        for words in (
            ["report", path],
            ["merge", "-o", tmp_path / "m.seismo", path, path],
            ["view", path, "--no-open"],
        ):
            assert main([*map(str, words)]) == 2
            assert str(path) in capsys.readouterr().err
    for path, reason in ((named, f"{name} files are written, but not read"), (other, f"{name.capitalize()}.*not read")):
        if path.suffix != ".bin":
            with pytest.raises(FormatError, match=reason) as error:
                formats.read(path)
            assert str(path) in str(error.value)
