"""Recordings: built, saved, read, merged, subtracted, combined, compared."""

import itertools
import os
import stat

import pytest
from objects_made import drawn

from seismo.errors import RecordingError
from seismo.model import Builder, DiffRow, FunctionKey, FunctionRow, NodeRow, Recording, diff, merge, read


def content(recording: Recording):
    """All that a recording says."""
    tables = (recording.functions, recording.tree, recording.threads, recording.processes, recording.losses)
    return [list(table) for table in tables], recording.meta


# ---- tables ----


def test_a_table_gives_columns_rows_and_order(make):
    functions = make().functions
    assert functions.columns == list(FunctionRow._fields)
    assert len(functions) == 4
    assert functions["qualname"][:2] == ["f", "Café.g"]
    assert functions["own_ns"].format == "d"
    assert functions["calls"].tolist() == [3, 13, 40, 1]
    assert [functions[i].qualname for i in functions.sort("own_ns")][:2] == ["Café.g", "f"]
    assert functions.sort("qualname", descending=False)[0] == functions["qualname"].index("Café.g")
    assert functions[-1] == list(functions)[-1]
    assert functions[1].lower_bound == 0
    assert functions[2].lower_bound == 1
    with pytest.raises(IndexError):
        functions[4]
    with pytest.raises(KeyError):
        functions["nothing"]
    with pytest.raises(TypeError):
        functions.numbers("module")
    with pytest.raises(TypeError):
        functions.strings("calls")
    assert "4 FunctionRows" in repr(functions)


def test_functions_sum_up_their_nodes(make):
    f, g, c, _ = make().functions
    assert (f.calls, f.own_ns, f.total_ns) == (3, 130, 184)
    assert (g.calls, g.resumes, g.exceptions, g.own_ns, g.total_ns) == (13, 5, 2, 550, 84 + 501)
    assert (g.awaits, g.await_ns) == (1, 7)
    assert (c.kind, c.total_ns) == (1, 4)


def test_the_tree_has_parents_first_and_depths(make):
    tree = make().tree
    assert tree.columns == list(NodeRow._fields)
    assert [node.depth for node in tree] == [0, 1, 2, 2, 0, 1]
    assert all(node.parent < node.id for node in tree)


# ---- builder ----


def test_a_builder_may_go_on_after_build():
    b = Builder()
    thread = b.thread(b.process(), "t")
    b.node(-1, thread, b.function("m", "f"), calls=1, own_ns=5)
    first = b.build()
    b.node(0, thread, b.function("m", "f"), calls=100, own_ns=7)
    second = b.build({"x": 1})
    assert first.functions[0].own_ns == 5
    assert second.functions[0].own_ns == 12
    assert second.functions[0].own_error_ns == 0
    assert second.meta["x"] == 1


def test_a_builder_interns_functions():
    b = Builder()
    assert b.function("m", "f", "x.py", 1, flags=1) == b.function("m", "f", "x.py", 1, flags=2)
    assert b.function("m", "f", "x.py", 2) == 1
    assert b.build().functions[0].flags == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.thread(1), "no process 1"),
        (lambda b: b.node(-1, 5, 0), "no thread 5"),
        (lambda b: b.node(-1, 0, 5), "no function 5"),
        (lambda b: b.node(7, 0, 0), "no parent 7"),
        (lambda b: b.node(0, 1, 0), "another thread"),
        (lambda b: b.add("objects"), "no type 0"),
        (lambda b: b.add("object_spans", function=3), "no function 3"),
    ],
)
def test_a_builder_refuses_what_does_not_exist(call, message):
    b = Builder()
    p = b.process()
    b.thread(p)
    b.thread(p)
    b.function("m", "f")
    b.node(-1, 0, 0)
    with pytest.raises(ValueError, match=message):
        call(b)


# ---- files ----


def test_what_is_saved_is_read_back(make, tmp_path):
    recording = make()
    path = tmp_path / "a.seismo"
    recording.save(path)
    again = read(path)
    assert content(again) == content(recording)
    assert again.problems == []
    assert content(read(str(path))) == content(read(path.read_bytes()))
    assert again.to_bytes() == recording.to_bytes() == path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600  # it holds the program's arguments
    path.chmod(0o640)
    recording.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["a.seismo"]


def test_a_failed_save_leaves_the_old_file_and_no_litter(make, tmp_path):
    with pytest.raises(RecordingError, match="cannot be written"):
        make().save(tmp_path / "no" / "such" / "folder.seismo")
    if os.path.exists("/dev/full"):
        with pytest.raises(RecordingError, match="No space left"):
            make().save("/dev/full")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"x", "not a seismo recording"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "not a seismo recording"),
        (b"\x8fseismo\n\x03\0" + bytes(6), "format version 3, and this seismo reads versions 1 to 2"),
    ],
)
def test_what_is_no_recording_is_refused(data, words, tmp_path):
    path = tmp_path / "x.seismo"
    path.write_bytes(data)
    with pytest.raises(RecordingError, match=words) as caught:
        read(path)
    assert caught.value.where == str(path)
    assert caught.value.hint


def test_a_missing_file_or_a_folder_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="No such file"):
        read(tmp_path / "none")
    with pytest.raises(RecordingError, match="Is a directory"):
        read(tmp_path)


# ---- merge ----


@pytest.mark.parametrize("seed", [None, 0, 4, 8])
def test_merge_is_commutative_and_associative(make, seed):
    if seed is None:
        parts = [make(1), make(2, start=500, scale=3), make(3, scale=2), make(1, scale=7)]
    else:
        parts = [drawn(seed + i, pid=i, paths=bool((seed + i) % 3)) for i in range(4)]
    whole = merge(parts).to_bytes()
    for order in itertools.permutations(parts):
        assert merge(order).to_bytes() == whole
    a, b, c, d = parts
    assert a.merge(b).merge(c.merge(d)).to_bytes() == whole
    assert d.merge(c.merge(b.merge(a))).to_bytes() == whole
    assert merge([read(whole)]).to_bytes() == read(whole).to_bytes() == whole


def test_merge_adds_up_functions_and_losses_and_keeps_trees_apart(make):
    both = make(1).merge(make(2, scale=2))
    assert len(both.processes) == 2
    assert len(both.threads) == 4
    assert len(both.tree) == 12
    by_name = {row.qualname: row for row in both.functions}
    assert by_name["f"].own_ns == 130 * 3
    assert by_name["len"].calls == 80
    assert both.losses[0].count == 6
    assert both.meta["seismo"] == "0.1.0"
    assert [meta["pid"] for meta in both.meta["merged"]] == [1, 2]


def test_problems_outlive_a_merge_as_losses(make):
    damaged = read(make().to_bytes()[:-10])
    assert damaged.problems
    assert "truncated" in damaged.merge(make(2)).losses["kind"]
    assert "truncated" in read(damaged.to_bytes()).losses["kind"]


# ---- subtract ----


def snapshots():
    b = Builder()
    t = b.thread(b.process(), "t", wall_ns=100, cpu_ns=-1)
    f, g = b.function("m", "f"), b.function("m", "g")
    top = b.node(-1, t, f, calls=1, own_ns=10)
    b.node(-1, t, g, calls=4, own_ns=4)
    earlier = b.build()
    b._rows["nodes"]["calls"][0] += 2
    b._rows["nodes"]["timed_ns"][0] += 5
    b._rows["threads"]["wall_ns"][0] += 50
    b.node(top, t, g, calls=3, own_ns=9)
    b.loss("repaired", 1)
    return earlier, b.build()


def test_subtract_leaves_what_happened_in_between():
    earlier, later = snapshots()
    between = later.subtract(earlier)
    assert [(n.function, n.parent, n.calls, n.own_ns) for n in between.tree] == [(0, -1, 2, 5), (1, 0, 3, 9)]
    assert between.threads[0].wall_ns == 50
    assert between.losses["count"].tolist() == [1]
    assert len(later.subtract(later).tree) == 0


def test_subtract_finds_lines_again_behind_what_ran_elsewhere():
    """The row of what ran outside of the recording comes first once it has time, and may be new in a later snapshot."""
    snapshots = []
    for hits, elsewhere in ((2, False), (5, True)):
        b = Builder()
        if elsewhere:
            b.line(b.function("", "<elsewhere>", kind=2), 0, 0, own_ns=1_000)
        helper = b.function("app", "helper", "app.py", 4)
        b.line(helper, 4, hits)
        b.line(helper, 5, hits)
        snapshots.append(b.build({"recorder": "linetimes"}))
    left = snapshots[1].subtract(snapshots[0])
    assert [(row.line, row.hits) for row in left.lines] == [(0, 0), (4, 3), (5, 3)]


def test_subtract_refuses_a_stranger(make):
    earlier, later = snapshots()
    with pytest.raises(RecordingError, match="earlier snapshot"):
        earlier.subtract(later)
    with pytest.raises(RecordingError, match="earlier snapshot"):
        later.subtract(make())


# ---- combined ----


def test_combined_lays_trees_on_one_another(make):
    both = make(1).merge(make(2, scale=2))
    one = both.combined()
    assert len(one.tree) == 6
    assert len(one.threads) == 1
    assert one.threads[0].wall_ns == 10_000 + 5_000 + 20_000 + 5_000
    assert sum(one.tree["own_ns"]) == pytest.approx(sum(both.tree["own_ns"]))
    assert one.functions["own_ns"].tolist() == both.functions["own_ns"].tolist()
    assert one.functions["total_ns"].tolist() == both.functions["total_ns"].tolist()
    assert read(one.to_bytes()).tree["own_ns"].tolist() == one.tree["own_ns"].tolist()


def test_combined_takes_chosen_threads_only(make):
    recording = make()
    one = recording.combined(threads=[1])
    assert [node.calls for node in one.tree] == [3, 1]
    assert one.functions["calls"].tolist() == [0, 3, 0, 1]
    assert len(recording.combined(threads=[]).tree) == 0
    with pytest.raises(ValueError, match="no thread 7"):
        recording.combined(threads=[7])


# ---- diff ----


def functions(*rows):
    b = Builder()
    t = b.thread(b.process(), "t")
    for module, qualname, file, line, calls, own in rows:
        b.node(-1, t, b.function(module, qualname, file, line), calls=calls, own_ns=own)
    return b.build()


def test_diff_ranks_by_the_change_in_own_time():
    old = functions(
        ("m", "f", "/a/m.py", 1, 10, 10**8), ("m", "g", "/a/m.py", 5, 1, 7), ("m", "gone", "/a/m.py", 9, 1, 3)
    )
    new = functions(
        ("m", "f", "/b/m.py", 2, 11, 4 * 10**8), ("m", "g", "/b/m.py", 8, 1, 7), ("m", "new", "/b/m.py", 1, 2, 4)
    )
    rows = diff(old, new)
    assert [row.key.qualname for row in rows] == ["f", "new", "gone", "g"]
    assert rows[0]._replace(own_error=0) == DiffRow(
        FunctionKey(0, "m", "f", "m.py"), 10, 11, 10**8, 4 * 10**8, 0, 10**8, 4 * 10**8, True, 10, 11
    )
    assert rows[0].calls_change == 1
    assert rows[0].own_change == 3 * 10**8
    assert rows[-1].significant is False
    assert [(row.calls_old, row.calls_new) for row in rows] == [(10, 11), (0, 2), (1, 0), (1, 1)]
