"""Many recordings as one file: what merge() gives, in memory that does not grow with their number."""

from __future__ import annotations

import random
import sys

import children
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.errors import RecordingError
from seismo.model import Builder, Recording, merge, merge_files, merge_into, read


def made(seed: int) -> Recording:
    """A recording with several processes, threads and trees; some are alike in all but their trees."""
    some = random.Random(seed)
    builder = Builder()
    functions = [builder.function("m", f"f{number}", "m.py", number) for number in some.sample(range(9), 5)]
    for process in range(some.randint(1, 3)):
        of = builder.process(pid=process, start_ns=some.randint(0, 2), argv="[]")
        for thread in range(some.randint(0, 3)):
            on = builder.thread(name=f"t{thread}", process=of)
            nodes = [-1]
            for _ in range(some.randint(0, 12)):
                parent = some.choice(nodes)
                nodes.append(builder.node(parent, on, some.choice(functions), calls=some.randint(1, 9)))
    builder.loss("late-thread", some.randint(1, 4))
    return read(builder.build({"recorder": "calltree", "seed": seed % 3}).to_bytes())


@given(st.lists(st.integers(0, 10**6), max_size=6))
@settings(max_examples=60, deadline=None)
def test_the_file_is_what_merge_gives(tmp_path_factory, seeds):
    folder = tmp_path_factory.mktemp("joined")
    parts = [made(seed) for seed in seeds]
    whole = merge(parts)
    merge_into([lambda part=part: part for part in parts], folder / "a.seismo")
    assert (folder / "a.seismo").read_bytes() == whole.to_bytes()
    two = merge([merge(parts[:2]), *parts[2:]]) if len(parts) > 2 else whole
    merge_into([lambda part=part: part for part in (two, made(1))], folder / "b.seismo")
    assert (folder / "b.seismo").read_bytes() == merge([two, made(1)]).to_bytes()


def test_more_losses(tmp_path):
    paths = []
    for seed in range(5):
        paths.append(tmp_path / f"{seed}.seismo")
        made(seed).save(paths[-1])
    losses = [{"kind": "child-running", "count": 2, "thread": -1, "detail": "there"}]
    merge_files(paths, tmp_path / "out", losses)
    rows = [(row.kind, row.count, row.detail) for row in read(tmp_path / "out").losses]
    assert ("child-running", 2, "there") in rows


def test_recordings_of_other_tables_are_folded(tmp_path):
    program = tmp_path / "x.py"
    program.write_text("import sys\nfor i in range(int(sys.argv[1])):\n    if i > 2: print(i)\n")
    paths = []
    for number in range(5):
        paths.append(tmp_path / f"{number}.seismo")
        command = [sys.executable, "-m", "seismo", "cover", "-q", "--counts", "--branch", "-o", paths[-1], program]
        children.run([*command, str(number)], check=True)
    merge_files(paths, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == merge(map(read, paths)).to_bytes()


def test_what_cannot_be_merged(tmp_path):
    made(1).save(tmp_path / "a")
    other = Builder().build({"recorder": "coverage"})
    with pytest.raises(RecordingError, match="cannot be merged"):
        merge_into([lambda: read(tmp_path / "a"), lambda: other], tmp_path / "out")
    with pytest.raises(RecordingError, match="cannot be opened"):
        merge_files([tmp_path / "a", tmp_path / "none"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert len(list(tmp_path.iterdir())) == 1


def test_memory_does_not_grow_with_the_number_of_recordings(tmp_path):
    """Of each recording no more than a twentieth of its tree is kept."""
    builder = Builder()
    of = builder.process(pid=1)
    on = builder.thread(process=of)
    function = builder.function("m", "f")
    for _ in range(20000):
        builder.node(-1, on, function, calls=1)
    builder.build({"recorder": "calltree"}).save(tmp_path / "one")
    program = (
        "import resource, sys\nfrom seismo.model import merge_files\n"
        "merge_files([sys.argv[1]] * int(sys.argv[2]), sys.argv[1] + 'out')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    few, many = (
        int(children.run([sys.executable, "-c", program, str(tmp_path / "one"), str(count)], check=True).stdout)
        for count in (8, 43)
    )
    assert len(read(tmp_path / "oneout")._raw["nodes"]["id"]) == 43 * 20000
    assert many - few < 35 * 20000 * 160 / 1024 / 20


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
        "import resource, sys\nfrom seismo.cli.main import main\n"
        "one, count, *more = sys.argv[1:]\n"
        "sys.argv = ['seismo', 'merge', '--force', one + 'out', *[one] * int(count), *more]\n"
        "assert not main()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    few, many = (
        int(
            children.run(
                [sys.executable, "-c", program, str(tmp_path / "one"), str(count), *options], check=True
            ).stdout
        )
        for count in (8, 32)
    )
    merged = read(tmp_path / "oneout")
    assert set(merged.lines["hits"]) == {32}
    raw = sum(column.nbytes for table in merged._raw.values() for column in table.values())
    assert (many - few) * 1024 < 32 * raw / 2
