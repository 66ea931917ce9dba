"""The archive of several systems, held against what Perfetto's reference says of its manifest (version 1, since v58).

No reader of manifests can be had from a registry (the wheel of perfetto 0.59 has the protos alone), so the documented
rules are followed here: what fails an import, and where on the merged timeline an event lands by the clock snapshots of
its file and the relations of the manifest. tests/formats/test_viewers.py opens the same archive in the page of an
earlier version.
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


def valid(manifest, files):
    """The checks that fail an import, in the order of the reference's table of errors."""
    assert type(manifest["version"]) is int
    assert manifest["version"] == 1
    assert set(manifest) <= {"version", "trace_time", "files", "attributes"}
    paths = [entry["path"] for entry in manifest["files"]]
    assert sorted(paths) == sorted(files), "each file of the archive is listed once, by its exact name"
    time = manifest["trace_time"]
    assert set(time) <= {"clock", "file", "machine"}
    assert time["clock"] in CLOCKS
    assert time["file"] in paths
    for key, value in manifest["attributes"].items():
        assert key
        assert type(value) in (str, int)
        assert type(value) is str or -(2**63) <= value < 2**63
    for entry in manifest["files"]:
        assert set(entry) <= {"path", "machine", "machines", "clocks"}
        assert set(entry["machine"]) == {"name"}, "each of our files is of one machine"
        assert isinstance(entry["machine"]["name"], str)
        assert entry["machine"]["name"]
        clocks = entry.get("clocks")
        if clocks is None:
            continue
        assert set(clocks) <= {"clock", "sync_to", "offset_ns"}
        assert clocks["clock"] in CLOCKS, "a file with clock snapshots is related, not pinned"
        assert set(clocks["sync_to"]) == {"file", "clock"}
        assert clocks["sync_to"]["file"] in paths
        assert clocks["sync_to"]["file"] != entry["path"]
        assert clocks["sync_to"]["clock"] in CLOCKS
        assert type(clocks.get("offset_ns", 0)) is int
    names = [entry["machine"]["name"] for entry in manifest["files"]]
    assert len(set(names)) == len(names), "files of one name are of one machine"


def related(manifest, files):
    """[(file and clock, file and clock, ns that are added)] of a valid manifest."""
    valid(manifest, files)
    found = []
    for entry in manifest["files"]:
        clocks = entry.get("clocks")
        if clocks is not None:
            to = clocks["sync_to"]
            one, other = (entry["path"], CLOCKS[clocks["clock"]]), (to["file"], CLOCKS[to["clock"]])
            found.append((one, other, clocks.get("offset_ns", 0)))
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


@pytest.mark.parametrize(
    "names",
    [("", ""), ("red", "red"), ("a/../b", 'a"b\n'), ("\u202e\x1b[31m", "ä" * 300), ("perfetto_manifest.json", "{")],
)
def test_a_manifest_is_valid_whatever_the_systems_are_called(names):
    """Hosts name themselves: an empty name, or the same one twice, would fail the import or make two machines one."""
    merged = model.merge([ran_on(host, f"b{number}", 11, number * 5_000) for number, host in enumerate(names)])
    out = io.BytesIO()
    formats.by_name("perfetto").write(merged, out)
    manifest, files = opened(out.getvalue())
    valid(manifest, files)
    assert len(files) == 2


def test_the_bound_of_the_clocks_is_an_attribute():
    """Each has a millisecond by its kernel, and may have drifted since."""
    merged = model.merge([ran_on("red", "b1", 11, 0), ran_on("blue", "b2", 22, 5_000_000)])
    out = io.BytesIO()
    formats.by_name("perfetto").write(merged, out)
    manifest, files = opened(out.getvalue())
    ((key, bound),) = manifest["attributes"].items()
    assert key == f"seismo.clock_bound_ns.{sorted(files)[1]}"
    assert 2_000_000 <= bound < 4_000_000
