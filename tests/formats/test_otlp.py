"""OpenTelemetry profiles, in the classes that OpenTelemetry generates for consumers."""

from collections import defaultdict
from functools import partial
from importlib import metadata

import children
import format_samples as samples
import pytest
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData

from seismo import formats
from seismo.errors import FormatError

FORMAT = formats.by_name("otlp")
TABLES = ("mapping", "location", "function", "link", "attribute", "stack", "string")
written = partial(samples.written, FORMAT)


def checked(data):
    """The message, which follows the rules of its protocol: null entries first, no duplicates, indices in range."""
    message = ProfilesData.FromString(data)
    tables = {name: getattr(message.dictionary, f"{name}_table") for name in TABLES}
    for name, table in tables.items():
        assert table[0] == type(table[0])()
        entries = [entry if name == "string" else entry.SerializeToString() for entry in table]
        assert len(set(entries)) == len(entries) or name == "function"  # kinds of functions are lost
    for resource in message.resource_profiles:
        for profile in resource.scope_profiles[0].profiles:
            assert tables["string"][profile.sample_type.type_strindex]
            for sample in profile.samples:
                assert len(sample.values) == 1
                assert 0 < sample.stack_index < len(tables["stack"])
                keys = [tables["attribute"][index].key_strindex for index in sample.attribute_indices]
                assert len(set(keys)) == len(keys)
                assert 0 not in keys
    for stack in tables["stack"][1:]:
        assert all(0 < index < len(tables["location"]) for index in stack.location_indices)
    for location in tables["location"][1:]:
        assert 0 < location.lines[0].function_index < len(tables["function"])
    return message


def value(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def rows(message):
    """Yield (resource's attributes, type, names from the root on, attributes, value) of each sample."""
    tables = message.dictionary
    text = tables.string_table
    for resource in message.resource_profiles:
        of_resource = {pair.key: value(pair.value) for pair in resource.resource.attributes}
        for profile in resource.scope_profiles[0].profiles:
            for sample in profile.samples:
                found = [tables.attribute_table[index] for index in sample.attribute_indices]
                locations = tables.stack_table[sample.stack_index].location_indices
                functions = [tables.location_table[index].lines[0].function_index for index in locations]
                yield (
                    of_resource,
                    text[profile.sample_type.type_strindex],
                    tuple(text[tables.function_table[index].name_strindex] for index in reversed(functions)),
                    {text[one.key_strindex]: value(one.value) for one in found},
                    sample.values[0],
                )


def sums(message):
    found = defaultdict(int)
    for _, type_, path, _, amount in rows(message):
        found[type_, path] += amount
    return found


def test_opentelemetry_reads_processes_threads_and_values():
    recording = samples.typical()
    message = checked(written(recording))
    text = message.dictionary.string_table
    first = message.resource_profiles[0].scope_profiles[0]
    assert (first.scope.name, text[first.profiles[0].sample_type.type_strindex]) == ("seismo", "time")
    assert text[first.profiles[0].sample_type.unit_strindex] == "nanoseconds"
    assert (first.profiles[0].time_unix_nano, first.profiles[0].duration_nano) == (1_790_000_000_000_000_000, 10**9)
    found = list(rows(message))
    for type_, column in (("time", "own_ns"), ("calls", "calls"), ("exceptions", "exceptions"), ("await", "await_ns")):
        assert sum(row[4] for row in found if row[1] == type_) == sum(recording.tree[column])
    of = {tuple(sorted(row[0].items())) for row in found}
    assert {dict(one)["process.pid"]: dict(one).get("host.name") for one in of} == {77: "box", 78: None}
    assert found[0][0]["service.name"] == "app.py"
    assert found[0][0]["process.command_line"] == "app.py --fast"
    names = {(row[3]["thread.name"], row[3]["thread.id"]) for row in found}
    assert names == {("MainThread", 77), ("worker%3B1", 79), ("MainThread", 78)}
    bounds = [row for row in found if "seismo.lower_bound" in row[3]]
    assert [(row[1], row[2][-1], row[4]) for row in bounds] == [("calls", "builtins.len", 5)]
    fib = next(one for one in message.dictionary.function_table if text[one.name_strindex] == "app.maths.fib")
    assert (text[fib.filename_strindex], fib.start_line) == ("/src/app/maths.py", 10)


def test_a_stack_begins_with_the_innermost_function_and_is_written_once():
    message = checked(written(samples.fib_tree(3)))
    assert {path: amount for (type_, path), amount in sums(message).items() if type_ == "calls"} == {
        ("__main__.<module>",): 1,
        ("__main__.<module>", "__main__.fib"): 1,
        ("__main__.<module>", "__main__.fib", "__main__.fib"): 2,
        ("__main__.<module>", "__main__.fib", "__main__.fib", "__main__.fib"): 4,
    }
    assert len(message.dictionary.stack_table) == 1 + 4


@samples.of_any_recording
def test_arbitrary_recordings_are_valid_and_lose_no_count(recording):
    found = sums(checked(written(recording)))
    for type_, column in (("calls", "calls"), ("time", "own_ns")):
        assert sum(amount for key, amount in found.items() if key[0] == type_) == sum(recording.tree[column])


@pytest.mark.parametrize("make", [samples.hostile, samples.empty, samples.idle])
def test_hostile_and_empty_recordings_are_valid(make):
    checked(written(make()))


def test_a_dataset_has_a_resource_for_each_host_and_its_tasks(tmp_path):
    samples.of_hosts(tmp_path / "runs", ["a;1", "b", "a;1", ""])
    children.seismo("export", "runs", "-o", "x.otlp", cwd=tmp_path)
    found = defaultdict(int)
    for of, type_, _, attributes, amount in rows(checked((tmp_path / "x.otlp").read_bytes())):
        assert "process.pid" not in of
        assert "thread.id" not in attributes
        found[of["host.name"], attributes.get("seismo.task")] += amount * (type_ == "calls")
    assert found == {("h0", "a%3B1"): 1 + 1 + 1 + 100, ("h1", "b"): 1 + 10, ("h1", None): 1 + 1000}


@pytest.mark.parametrize("installed", ["1.46.0", None])
def test_another_version_of_the_messages_is_refused(installed, monkeypatch, tmp_path):
    def version(name):
        if installed is None:
            raise metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(FormatError, match=rf"opentelemetry-proto 1.45.\*, and {installed or 'no version'} is") as error:
        formats.write(samples.typical(), tmp_path / "x.otlp")
    assert "seismo[otlp]" in error.value.hint
    assert not (tmp_path / "x.otlp").exists()
