"""The archive of several systems, held against what Perfetto's reference says of its manifest (version 1, since v58).

No page with a reader of manifests can be had from a registry, so the documented rules are followed here: which fields
there are, and where on the merged timeline an event lands by the clock snapshots of its file and the relations of the
manifest. tests/formats/test_viewers.py opens the same archive in the page of an earlier version.
"""

import io
import json
import tarfile

import pytest
from test_viewers import ran_on

from seismo import formats, model

perfetto = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

CLOCKS = {"REALTIME": 1, "REALTIME_COARSE": 2, "MONOTONIC": 3, "MONOTONIC_COARSE": 4, "MONOTONIC_RAW": 5, "BOOTTIME": 6}


def opened(data):
    """The manifest, and the other files by their names."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive}
    manifests = [name for name, content in files.items() if content.lstrip().startswith(b'{"perfetto_manifest"')]
    assert len(manifests) == 1
    return json.loads(files.pop(manifests[0]))["perfetto_manifest"], files


def related(manifest, files):
    """[(file and clock, file and clock, ns that are added)], after the checks that fail an import."""
    assert manifest["version"] == 1
    entries = {entry["path"]: entry for entry in manifest["files"]}
    assert set(entries) == set(files)
    found = []
    for path, entry in entries.items():
        assert set(entry) <= {"path", "machine", "machines", "clocks"}
        assert isinstance(entry["machine"]["name"], str)
        assert entry["machine"]["name"]
        clocks = entry.get("clocks")
        if clocks is None:
            continue
        assert set(clocks) <= {"clock", "machine", "sync_to", "offset_ns"}
        to = clocks["sync_to"]
        assert to["file"] in entries
        assert clocks["clock"], "a file with clock snapshots is related, not pinned"
        found.append(((path, CLOCKS[clocks["clock"]]), (to["file"], CLOCKS[to["clock"]]), clocks.get("offset_ns", 0)))
    names = [entry["machine"]["name"] for entry in entries.values()]
    assert len(set(names)) == len(names)
    return found


def shifts(edges, root):
    """{(file, clock): what is added to it on the merged timeline}."""
    known = {root: 0}
    while True:
        more = {}
        for one, other, offset in edges:
            if other in known and one not in known:
                more[one] = known[other] + offset
            if one in known and other not in known:
                more[other] = known[one] - offset
        if not more:
            return known
        known |= more


def test_by_the_documented_rules_each_call_is_where_we_say():
    merged = model.merge([ran_on("red", "b1", 11, 0), ran_on("blue", "b2", 11, 5_000_000)])
    out = io.BytesIO()
    formats.by_name("perfetto").write(merged, out)
    manifest, files = opened(out.getvalue())
    edges = related(manifest, files)
    assert [edge[2] for edge in edges] == [0]
    found = {}
    for path, content in files.items():
        trace = perfetto.Trace.FromString(content)
        for packet in trace.packet:
            if packet.HasField("clock_snapshot"):
                first, *others = packet.clock_snapshot.clocks
                edges += [
                    ((path, one.clock_id), (path, first.clock_id), first.timestamp - one.timestamp) for one in others
                ]
        found[path] = [packet.timestamp for packet in trace.packet if packet.track_event.type == 1]
    time = manifest["trace_time"]
    known = shifts(edges, (time["file"], CLOCKS[time["clock"]]))
    # Both ways lead to the same: through the manifest, and through the time of the day.
    of_day = [known[path, 1] for path in files]
    assert of_day[0] == of_day[1]
    machines = {entry["path"]: entry["machine"]["name"] for entry in manifest["files"]}
    shown = {machines[path]: [at + known[path, 6] for at in begins] for path, begins in found.items()}
    assert shown == {"red": [0, 1_000_000], "blue": [5_000_000, 6_000_000]}
