"""Files of version 1: their columns as those of today."""

import struct

import pytest
from chunks import table

from seismo.model import merge, read

HEADER = b"\x8fseismo\n\x01\0\0\0\0\0\0\0"
PROCESSES, THREADS, FUNCTIONS, NODES, LINES = 0, 1, 2, 3, 5


def reals(*values):
    """A column of reals."""
    return 2, struct.pack(f"<{len(values)}d", *values)


def recording(*tables):
    """A file of one process and one thread, which ran 2 ms in segments that were timed by chance."""
    process = {1: [77], 11: reals(10.0), 18: reals(0.1), 20: reals(8.0), 23: [5], 24: [6], 28: reals(900.0)}
    first = table(PROCESSES, 1, process) + table(THREADS, 1, {9: [2_000_000], 8: [1]})
    return read(HEADER + first + table(FUNCTIONS, 2, {0: [0, 1], 5: [1, 2]}) + b"".join(tables))


# Of a node: 64 segments that were timed always, 100 samples for 128 each, 30 young ones, and one that a tick found.
SUMS = {9: [100], 10: [10_000], 11: reals(1.5e6), 22: reals(9.0), 23: reals(7.0), 24: [30], 25: reals(60.0)}
SUMS |= {26: reals(7_000.5), 27: reals(1.0), 28: reals(2.0), 29: reals(3e5)}
SUMS |= {18: [500], 19: reals(4.0), 20: [300], 21: [200]}
NODE = {1: [-1], 4: [20_000], 5: [3], 6: [2], 7: [64], 8: [6_400], 12: [4], 13: [40], 14: [1], 15: [50_000], 16: [17]}
NODE |= {17: reals(8.0), 30: [5], 31: [6]}


def only(recording, kind):
    (row,) = zip(*(column.tolist() for column in recording._raw[kind].values()), strict=True)
    return dict(zip(recording._raw[kind], row, strict=True))


def test_what_was_sampled_is_what_looks_found():
    made = recording(table(NODES, 1, NODE | SUMS))
    node = only(made, "nodes")
    assert (node["parent"], node["calls"], node["resumes"], node["exceptions"], node["flags"]) == (-1, 20_000, 3, 2, 17)
    assert (node["timed"], node["timed_ns"], node["entered"]) == (64, 6_400, 64)
    assert node["sampled"] == 100 + 30 + 1
    assert node["sampled_ns"] == 128 * 10_000 + 7_000 + 50_000
    assert node["sampled_sq"] == 128**2 * 1.5e6 + 3e5 + 9.0
    waits = ("awaits", "await_ns", "wait_ns", "wait_sq", "ready_ns", "lock_ns")
    assert [node[name] for name in waits] == [4, 40, 500, 4.0, 300, 200]
    process = made.processes[0]
    assert (process.pid, process.boot_ns, process.unix_bound_ns, process.piece_ns) == (77, 5, 6, 0)
    assert (process.python_inside, process.cost_error) == (10.0, 0.1)
    own = made.functions[0].own_ns - 500
    assert own == pytest.approx(2_000_000 + 6_400 - (20_003 - 64) * 10.0 * 20_000 / 20_003)


def test_lines_have_all_of_their_time_by_looks():
    line = {1: [0], 2: [7], 3: [20_000], 4: [3], 5: [30_000], 6: [64], 7: [6_400], 8: reals(8.0), 12: [1], 13: [50_000]}
    line |= {14: reals(9_000.0), 15: reals(81.0), 16: [4], 17: [40], 30: reals(1.0), 31: reals(2.0), 32: reals(3.0)}
    row = only(recording(table(LINES, 1, line | SUMS)), "lines")
    assert (row["line"], row["hits"], row["flags"], row["inner_ns"], row["inner_var"]) == (7, 20_000, 3, 9_000.0, 81.0)
    assert row["sampled"] == 64 + 100 + 30 + 1
    assert row["sampled_ns"] == 6_400 + 128 * 10_000 + 7_000 + 50_000
    assert row["sampled_sq"] == 128**2 * 1.5e6 + 3e5 + 9.0
    waits = ("awaits", "await_ns", "wait_ns", "wait_sq", "ready_ns", "lock_ns")
    assert [row[name] for name in waits] == [4, 40, 500, 4.0, 300, 200]


def test_such_times_are_said_to_be_approximate():
    """Also after the recording was merged and saved, which makes a file of today; and only if there are any."""
    made = recording(table(NODES, 1, NODE | SUMS))
    saved = read(merge([made, made]).to_bytes())
    assert [row.kind for row in made.losses] == ["older-times"]
    assert [row.kind for row in saved.losses] == ["older-times", "truncated"]  # it had no end
    assert saved.to_bytes()[8:10] == b"\x02\0"
    assert list(recording(table(LINES, 1, {1: [0], 2: [7], 3: [5]})).losses) == []


def test_numbers_that_are_too_large_stay_in_range():
    most = 2**63 - 1
    damaged = NODE | SUMS | {10: [most], 15: [most], 26: reals(float("nan")), 29: reals(1e39), 9: [-5], 24: [most]}
    node = only(recording(table(NODES, 1, damaged)), "nodes")
    assert node["sampled_ns"] == most
    assert 0 <= node["sampled"] <= most


@pytest.mark.parametrize("column", [7, 10, 26, 33, 255])
def test_encodings_that_do_not_fit_cost_the_chunk_or_nothing(column):
    """Nothing else is harmed: a column of 8 bytes a row, of none, of an encoding that does not exist."""
    for data in ((2, bytes(7)), (0, b""), (9, b"\0")):
        made = recording(table(NODES, 1, {1: [-1], column: data}), table(NODES, 1, NODE))
        assert [row.calls for row in made.tree] == [20_000]
