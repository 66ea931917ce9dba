"""pprof files, in protobuf's own parser of the public profile.proto, and back."""

import gzip
from functools import partial

import children
import format_samples as samples
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from seismo import formats
from seismo.formats import protobuf
from seismo.pure.numbers import signed, uvarint

FORMAT = formats.by_name("pprof")

# profile.proto of github.com/google/pprof as far as it goes: the fields of each message, numbered from 1; * is repeated
PROTO = {
    "ValueType": "type:int64 unit:int64",
    "Label": "key:int64 str:int64 num:int64 num_unit:int64",
    "Sample": "location_id:uint64* value:int64* label:Label*",
    "Mapping": "id:uint64 memory_start:uint64 memory_limit:uint64 file_offset:uint64 filename:int64 build_id:int64 "
    "has_functions:bool has_filenames:bool has_line_numbers:bool has_inline_frames:bool",
    "Line": "function_id:uint64 line:int64",
    "Location": "id:uint64 mapping_id:uint64 address:uint64 line:Line* is_folded:bool",
    "Function": "id:uint64 name:int64 system_name:int64 filename:int64 start_line:int64",
    "Profile": "sample_type:ValueType* sample:Sample* mapping:Mapping* location:Location* function:Function* "
    "string_table:string* drop_frames:int64 keep_frames:int64 time_nanos:int64 duration_nanos:int64 "
    "period_type:ValueType period:int64 comment:int64* default_sample_type:int64",
}


def _classes():
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools.profiles", syntax="proto3")
    types = descriptor_pb2.FieldDescriptorProto
    for message, fields in PROTO.items():
        added = file.message_type.add(name=message)
        for number, field in enumerate(fields.split(), 1):
            name, _, type_ = field.partition(":")
            label = types.LABEL_REPEATED if type_.endswith("*") else types.LABEL_OPTIONAL
            made = added.field.add(name=name, number=number, label=label)
            if type_.rstrip("*") in PROTO:
                made.type, made.type_name = types.TYPE_MESSAGE, f".perftools.profiles.{type_.rstrip('*')}"
            else:
                made.type = getattr(types, f"TYPE_{type_.rstrip('*').upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return [
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"perftools.profiles.{name}"))
        for name in ("Profile", "Label")
    ]


Profile, Label = _classes()


written = partial(samples.written, FORMAT)


def parsed(recording):
    profile = Profile.FromString(gzip.decompress(written(recording)))
    assert profile.string_table[0] == ""
    assert len(set(profile.string_table)) == len(profile.string_table)
    return profile


def checked(profile):
    """pprof's own Profile.CheckValid: ids unique and not 0, references lead somewhere, as many values as types."""
    ids = {kind: [entry.id for entry in getattr(profile, kind)] for kind in ("mapping", "location", "function")}
    for found in ids.values():
        assert 0 not in found
        assert len(set(found)) == len(found)
    known = {kind: set(found) for kind, found in ids.items()}
    for location in profile.location:
        assert location.mapping_id in known["mapping"]
        assert all(line.function_id in known["function"] for line in location.line)
    for sample in profile.sample:
        assert len(sample.value) == len(profile.sample_type)
        assert known["location"].issuperset(sample.location_id)
        for label in sample.label:
            assert profile.string_table[label.key]
            assert not (label.str and label.num)
    for function in profile.function:
        assert max(function.name, function.system_name, function.filename) < len(profile.string_table)
    return profile


def test_protobuf_reads_it():
    recording = samples.typical()
    profile = checked(parsed(recording))
    text = profile.string_table
    assert [(text[type_.type], text[type_.unit]) for type_ in profile.sample_type] == [
        ("calls", "count"),
        ("resumes", "count"),
        ("exceptions", "count"),
        ("awaits", "count"),
        ("time", "nanoseconds"),
        ("await", "nanoseconds"),
        ("waiting", "nanoseconds"),
    ]
    assert text[profile.default_sample_type] == "time"
    assert sum(sample.value[4] for sample in profile.sample) == sum(recording.tree["own_ns"])
    assert sum(sample.value[0] for sample in profile.sample) == sum(recording.tree["calls"])
    assert profile.time_nanos == 1_790_000_000_000_000_000
    assert profile.duration_nanos == 1_000_000_000
    assert [text[index] for index in profile.comment] == ["written by seismo", "lost: repaired 2 generator%0Aclosed"]
    assert text[profile.mapping[0].filename] == "app.py --fast"
    fib = next(one for one in profile.function if text[one.name] == "app.maths.fib")
    assert (text[fib.system_name], text[fib.filename], fib.start_line) == ("app.maths:fib", "/src/app/maths.py", 10)


def test_paths_begin_with_the_innermost_function():
    profile = parsed(samples.fib_tree(3))
    ids = {profile.string_table[function.name]: function.id for function in profile.function}
    module, fib = ids["__main__.<module>"], ids["__main__.fib"]
    assert [list(sample.location_id) for sample in profile.sample] == [
        [module],
        [fib, module],
        [fib, fib, module],
        [fib, fib, fib, module],
    ]


def test_labels_name_thread_process_and_lower_bounds():
    profile = parsed(samples.typical())
    text = profile.string_table
    found = set()
    for sample in profile.sample:
        labels = {text[label.key]: text[label.str] if label.str else label.num for label in sample.label}
        found.add((labels.get("host"), labels["pid"], labels["thread_id"], labels["thread"]))
        is_len = len(sample.location_id) == 8 and sample.value[0] == 5
        assert ("lower_bound" in labels) == is_len
    assert found == {("box", 77, 77, "MainThread"), ("box", 77, 79, "worker%3B1"), (None, 78, 78, "MainThread")}


def labelled(profile):
    """{(host, task, name of the thread): calls}"""
    text = profile.string_table
    found = {}
    for sample in profile.sample:
        labels = {text[label.key]: text[label.str] for label in sample.label if label.str}
        assert not {"pid", "thread_id"} & {text[label.key] for label in sample.label}
        key = labels.get("host"), labels.get("task"), labels["thread"]
        found[key] = found.get(key, 0) + sample.value[0]
    return found


def test_labels_of_a_dataset_are_its_hosts_and_tasks(tmp_path):
    samples.of_hosts(tmp_path / "runs", ["a;1", "b", "a;1", ""], workers=[2])
    children.seismo("export", "runs", "-o", "x.pb.gz", cwd=tmp_path)
    profile = Profile.FromString(gzip.decompress((tmp_path / "x.pb.gz").read_bytes()))
    assert labelled(checked(profile)) == {
        ("h0", "a%3B1", "MainThread"): 1 + 1 + 1 + 100,
        ("h0", "a%3B1", "other threads"): 1 + 100,
        ("h1", "b", "MainThread"): 1 + 10,
        ("h1", None, "MainThread"): 1 + 1000,
    }


def test_a_dataset_of_too_many_paths_is_summed_with_a_comment(tmp_path, monkeypatch):
    folder = samples.of_hosts(tmp_path / "runs", ["a", "b"])
    from seismo.dataset import Dataset, reduce

    monkeypatch.setattr(reduce, "MOST_BY_TASKS", 3)
    with Dataset(folder) as dataset:
        profile = checked(parsed(dataset.read(by_tasks=True)))
        assert labelled(profile) == {(None, None, "MainThread"): 13} == labelled(parsed(dataset.read()))
        comments = [profile.string_table[index] for index in profile.comment]
        assert any("more than 3 call paths" in text for text in comments)
        monkeypatch.setattr(reduce, "MOST_BY_TASKS", 4)
        assert labelled(parsed(dataset.read(by_tasks=True))).keys() == {
            ("h0", "a", "MainThread"), ("h1", "b", "MainThread")
        }  # fmt: skip


@samples.of_any_recording
def test_arbitrary_recordings_are_valid_and_come_back(recording):
    profile = checked(parsed(recording))
    assert sum(sample.value[4] for sample in profile.sample) == sum(map(int, recording.tree["own_ns"]))
    back = FORMAT.reader(written(recording))
    columns = ("calls", "resumes", "exceptions", "awaits", "own_ns", "await_ns", "flags")
    found, expected = samples.by_path(back, *columns), samples.by_path(recording, *columns)
    only_flag = [path for path, values in expected.items() if not any(values[:-1])]
    for path in only_flag:  # what is 0 in all is no sample
        del expected[path]
    assert {path: values[:-1] for path, values in found.items()} == {
        path: values[:-1] for path, values in expected.items()
    }


def foreign(**changes):
    """A profile as Go's runtime writes it: two types, inlined functions, no labels, locations out of order."""
    strings = ["", "samples", "count", "cpu", "nanoseconds", "main.main", "main.go", "runtime.f", "runtime.go"]
    profile = Profile(string_table=strings, default_sample_type=3, time_nanos=5)
    profile.sample_type.add(type=1, unit=2)
    profile.sample_type.add(type=3, unit=4)
    profile.function.add(id=7, name=5, system_name=5, filename=6, start_line=3)
    profile.function.add(id=9, name=7, system_name=7, filename=8)
    profile.location.add(id=20, address=0x1234).line.add(function_id=7, line=12)
    inlined = profile.location.add(id=10)
    inlined.line.add(function_id=9, line=40)
    inlined.line.add(function_id=7, line=14)
    profile.location.add(id=30, address=0x99)
    profile.sample.add(location_id=[10], value=[2, 20_000_000])
    profile.sample.add(location_id=[30, 20], value=[1, 10_000_000])
    for key, value in changes.items():
        profile.ClearField(key)
        for entry in value:
            if isinstance(entry, dict):
                getattr(profile, key).add(**entry)
            else:
                getattr(profile, key).append(entry)
    return profile.SerializeToString()


@pytest.mark.parametrize("pack", [gzip.compress, bytes])
def test_profiles_of_go_are_read(pack):
    back = FORMAT.reader(pack(foreign()))
    rows = {row.qualname: row for row in back.functions}
    assert (rows["main.main"].own_ns, rows["main.main"].total_ns) == (0, 30_000_000)
    assert (rows["runtime.f"].own_ns, rows["runtime.f"].line) == (20_000_000, 40)
    assert rows["<location 30>"].own_ns == 10_000_000
    assert list(back.losses["kind"]) == ["calls-unknown"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (foreign(string_table=[""]), "index of a string"),
        (foreign(sample_type=[]), "no sample types"),
        (foreign(sample=[{"location_id": [10], "value": [1]}]), "wrong number of values"),
        (b"\x0a\xff\x01", "past the end"),
        (b"\x08" + b"\xff" * 12, "more than 64 bits"),
        (b"\x00\x00", "no number"),
        (b"\x0b", "unsupported kind"),
        (gzip.compress(foreign(), mtime=0)[:-9], "cut short"),
        (gzip.compress(foreign(), mtime=0)[:20] + b"\xff" * 20, "damaged|cut short"),
    ],
)
def test_what_is_no_profile_is_refused_with_the_reason(tmp_path, data, reason):
    samples.refused(tmp_path / "x.pb.gz", data, reason)


@given(st.integers(-(2**63), 2**63 - 1))
def test_varints_are_protobufs(value):
    label = protobuf.number_field(3, value)
    assert label == Label(num=value).SerializeToString()
    if value:
        read, at = uvarint(label, 1, len(label))
        assert signed(read) == value
        assert at == len(label)
