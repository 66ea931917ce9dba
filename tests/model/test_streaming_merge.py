"""Many recordings as one file: what merge() gives, in memory that does not grow with their number."""

from __future__ import annotations

import random

import children
import pytest
import random_recordings
from hypothesis import given, settings
from hypothesis import strategies as st
from objects_made import drawn

from seismo.errors import RecordingError
from seismo.model import Builder, Recording, merge, merge_files, merge_into, read


def made(seed: int) -> Recording:
    """Calls of a process that others may be alike in all but their trees."""
    return random_recordings.calls(seed, pid=seed % 3, start=seed % 2, paths=12)


def objects(seed: int) -> Recording:
    """Objects with and without paths, of a few processes."""
    some = random.Random(seed)
    return drawn(seed, pid=some.randint(0, 4), paths=some.random() < 0.7)


@pytest.mark.parametrize("kind", [made, objects, random_recordings.covered])
@given(seeds=st.lists(st.integers(0, 10**6), max_size=5))
@settings(max_examples=30, deadline=None)
def test_the_file_is_what_merge_gives(tmp_path_factory, kind, seeds):
    parts = list(map(kind, seeds))
    if len(parts) > 2:  # its processes begin before and after those of others
        parts = [merge(parts[:2]), *parts[2:]]
    out = tmp_path_factory.mktemp("joined") / "out.seismo"
    merge_into([lambda part=part: part for part in parts], out)
    assert read(out).problems == []
    assert read(out).to_bytes() == merge(parts).to_bytes()


def ran(recording: Recording) -> set[tuple[object, ...]]:
    """What ran in contexts, row by row, by names."""
    names = [row.qualname for row in recording.functions]
    contexts = [row.name for row in recording.contexts]
    rows = (
        [(names[row.function], row.line) for row in recording.lines],
        [(names[row.function], row.from_line, row.to_line) for row in recording.arcs],
    )
    return {(contexts[context], *rows[kind][row]) for context, kind, row in recording.context_rows()}


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5), st.randoms())
@settings(max_examples=30, deadline=None)
def test_contexts_have_what_they_had(seeds, some):
    """Rows get other numbers in a merge and where only some contexts are wanted: each is still the same line or arc."""
    parts = [random_recordings.covered(seed) for seed in seeds]
    whole = merge(parts)
    assert ran(whole) == set().union(*map(ran, parts))
    wanted = [row for row in whole.contexts if some.random() < 0.5]
    names = {row.name for row in wanted}
    part = whole.within(row.id for row in wanted)
    assert ran(part) == {row for row in ran(whole) if row[0] in names}
    assert len(part.lines) == len({row[1:] for row in ran(part) if len(row) == 3})


def test_a_tree_of_calls_beside_objects(tmp_path):
    """A recording that has nothing but calls has functions that the sums of the others know nothing of."""
    parts = [drawn(1, pid=3), made(4), drawn(7, pid=1)]
    for part in parts:
        part.meta["recorder"] = "lifetimes"
    merge_into([lambda part=part: part for part in parts], tmp_path / "out")
    assert read(tmp_path / "out").to_bytes() == merge(parts).to_bytes()


def test_more_losses(tmp_path):
    paths = [tmp_path / f"{seed}.seismo" for seed in range(5)]
    for seed, path in enumerate(paths):
        made(seed).save(path)
    losses = [{"kind": "child-running", "count": 2, "thread": -1, "detail": "there"}]
    merge_files(paths, tmp_path / "out", losses)
    rows = [(row.kind, row.count, row.detail) for row in read(tmp_path / "out").losses]
    assert ("child-running", 2, "there") in rows


def test_what_cannot_be_merged(tmp_path):
    made(1).save(tmp_path / "a")
    other = Builder().build({"recorder": "coverage"})
    with pytest.raises(RecordingError, match="cannot be merged"):
        merge_into([lambda: read(tmp_path / "a"), lambda: other], tmp_path / "out")
    with pytest.raises(RecordingError, match="cannot be opened"):
        merge_files([tmp_path / "a", tmp_path / "none"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert len(list(tmp_path.iterdir())) == 1


def peaks(program: str, *calls: list[object]) -> list[int]:
    """What processes of this program used at most, in KiB: one for each list of its arguments."""
    program += "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    return [int(children.python("-c", program, *words).stdout) for words in calls]


@pytest.mark.matrix
@pytest.mark.parametrize("options", [[], ["--paths", "src=/ci/*/src"]])
def test_memory_of_a_merge_of_coverage_does_not_grow_with_the_number_of_recordings(tmp_path, options):
    """Rows about the same place are one, so what is there at a time is as large as the result, a few times over."""
    builder = Builder()
    for number in range(400):
        function = builder.function("m", f"f{number}", "/ci/1/src/m.py", number)
        for line in range(20):
            builder.line(function, number + line)
    builder.source("/ci/1/src/m.py", "/ci/1/src/m.py")
    builder.build({"recorder": "coverage"}).save(tmp_path / "one")
    program = (
        "import sys\nfrom seismo.cli.main import main\n"
        "one, count, *more = sys.argv[1:]\n"
        "sys.argv = ['seismo', 'merge', '--force', '-o', one + 'out', *[one] * int(count), *more]\n"
        "assert not main()\n"
    )
    few, many = peaks(program, *([tmp_path / "one", count, *options] for count in (8, 32)))
    merged = read(tmp_path / "oneout")
    assert set(merged.lines["hits"]) == {32}
    raw = sum(column.nbytes for table in merged._raw.values() for column in table.values())
    assert (many - few) * 1024 < 32 * raw / 2


def trees_made(number: int) -> Recording:
    """Calls of one process."""
    builder = Builder()
    on = builder.thread(builder.process(pid=number))
    function = builder.function("m", "f")
    for _ in range(12000):
        builder.node(-1, on, function, calls=1)
    return builder.build({"recorder": "calltree"})


def contexts_made(number: int) -> Recording:
    """Tests of one worker's own, each in all lines."""
    builder = Builder()
    function = builder.function("m", "f")
    lines = [builder.line(function, line) for line in range(3200)]
    for test in range(240):
        builder.context(f"{number}:{test}", lines)
    return builder.build({"recorder": "coverage"})


@pytest.mark.matrix
@pytest.mark.parametrize(("make", "kind"), [(trees_made, "nodes"), (contexts_made, "context_hits")])
def test_memory_of_what_stands_side_by_side_does_not_grow_with_the_number_of_recordings(tmp_path, make, kind):
    """What is no sum is in memory for one recording at a time."""
    for number in range(12):
        make(number).save(tmp_path / str(number))
    program = (
        "import sys\nfrom seismo.model import merge_files\n"
        "folder, count = sys.argv[1:]\n"
        "merge_files([f'{folder}/{number}' for number in range(int(count))], folder + '/out')\n"
    )
    few, many = peaks(program, *([tmp_path, count] for count in (2, 12)))
    merged = read(tmp_path / "out")
    assert len(merged._raw[kind]["id"]) == 12 * 12000
    raw = sum(column.nbytes for table in merged._raw.values() for column in table.values())
    assert (many - few) * 1024 < raw / 6
