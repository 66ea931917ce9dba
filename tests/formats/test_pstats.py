"""pstats files, in pstats.Stats, gprof2dot and back."""

import cProfile
import io
import marshal
import pstats
import sys
from functools import partial
from graphlib import CycleError, TopologicalSorter

import format_samples as samples
import gprof2dot
import pytest
from hypothesis import given, settings

from seismo import formats
from seismo.formats import pstats as pstats_format
from seismo.formats.function_names import PYTHON, C, Frame
from seismo.formats.pstats import _place, read_marshal

FORMAT = formats.by_name("pstats")


def written(recording, tmp_path):
    path = str(tmp_path / "x.pstats")
    formats.write(recording, path)
    return path


written_bytes = partial(samples.written, FORMAT)


def printed(path):
    out = io.StringIO()
    pstats.Stats(path, stream=out).sort_stats("cumulative").print_stats().print_callers().print_callees()
    return out.getvalue()


def test_pstats_prints_it(tmp_path):
    text = printed(written(samples.typical(), tmp_path))
    assert "/src/app/maths.py:10(fib)" in text
    assert "{built-in method builtins.len}" in text
    assert "{method 'append' of 'list' objects}" in text
    assert "{method 'popleft' of 'collections.deque' objects}" in text
    assert "63/1 " in text  # all calls of fib / those that no fib called


def test_callers_that_only_resumed_have_their_time_and_no_call(tmp_path):
    """A generator that one function begins and another goes on with, where it works."""
    recording = samples.resumed()
    stats = pstats.Stats(written(recording, tmp_path)).stats
    assert stats["m.py", 20, "finish"][2] == pytest.approx(5e-6)
    callers = stats["m.py", 1, "gen"][4]
    assert [callers["m.py", line, name][0] for line, name in ((10, "start"), (20, "finish"))] == [1, 0]
    assert callers["m.py", 20, "finish"][3] == pytest.approx(0.0900001)
    printed(written(recording, tmp_path))


def test_fib_has_the_total_of_its_outermost_call(tmp_path):
    stats = pstats.Stats(written(samples.fib_tree(), tmp_path)).stats
    primitive, calls, own, total, callers = stats["fib.py", 3, "fib"]
    assert (primitive, calls) == (1, 2**20 - 1)
    assert own == pytest.approx(50 * (2**20 - 1) / 1e9)
    assert total == pytest.approx(own)
    # a caller's entry has the calls first, as in cProfile's own files
    assert callers["fib.py", 3, "fib"][:2] == (2**20 - 2, 2)
    assert callers["fib.py", 1, "<module>"][:2] == (1, 1)


def test_mutual_recursion_is_counted_as_cprofile_does(tmp_path):
    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    profile = cProfile.Profile()
    profile.runcall(even, 10)
    profile.create_stats()
    b = samples.Builder()
    thread = b.thread(b.process())
    node = -1
    for level in range(11):
        function = (even, odd)[level % 2]
        code = function.__code__
        key = b.function("m", function.__name__, code.co_filename, code.co_firstlineno)
        node = b.node(node, thread, key, calls=1, own_ns=1000)
    ours = marshal.loads(written_bytes(b.build()))
    for place, (primitive, calls, _, _, callers) in ours.items():
        theirs = profile.stats[place]
        assert (primitive, calls) == theirs[:2]
        assert {key: value[:2] for key, value in callers.items()} == {
            key: value[:2] for key, value in theirs[4].items() if key[2] in ("even", "odd")
        }


def test_gprof2dot_reads_it(tmp_path):
    profile = gprof2dot.PstatsParser(written(samples.typical(), tmp_path)).parse()
    by_name = {function.name: function for function in profile.functions.values()}
    fib = by_name["maths:10:fib"]
    assert fib.called == 63
    assert fib[gprof2dot.TOTAL_TIME_RATIO] == pytest.approx((6300 + 40) / sum(samples.typical().tree["own_ns"]))


def test_a_file_of_cprofile_is_read(tmp_path):
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def work():
        total = [fib(12), fib(9)]
        total.append(len(total))
        return sorted(total)

    profile = cProfile.Profile()
    profile.runcall(work)
    path = tmp_path / "x.prof"
    profile.dump_stats(path)
    theirs = pstats.Stats(str(path))
    back = formats.read(path)
    rows = {row.qualname: row for row in back.functions}
    for (_, _, name), (_, calls, own, total, _) in theirs.stats.items():
        if name in ("fib", "work"):
            assert rows[name].calls == calls
            assert rows[name].own_ns == pytest.approx(own * 1e9, abs=2)
            assert rows[name].total_ns == pytest.approx(total * 1e9, abs=len(back.tree) + 2)
    assert rows["len"].module == "builtins"
    assert rows["list.append"].kind == 1
    assert list(back.losses["kind"]) == ["paths-rebuilt"]


def _name(row):
    """What a pstats file keeps of a function's name."""
    return _place(Frame(PYTHON if row.file else C, row.module, row.qualname, row.file, row.line))


@settings(max_examples=60, deadline=None)
@given(samples.recordings())
def test_calls_and_own_times_come_back(recording):
    back = FORMAT.reader(written_bytes(recording))
    assert samples.flat(back, "calls", key=_name) == samples.flat(recording, "calls", key=_name)
    assert samples.edges(back, "calls", key=_name) == samples.edges(recording, "calls", key=_name)
    own, own_back = (
        {place: ns for place, (ns,) in samples.flat(one, "own_ns", key=_name).items()} for one in (recording, back)
    )
    assert own_back == pytest.approx(own, rel=1e-12, abs=0.5)


@settings(max_examples=60, deadline=None)
@given(samples.recordings(times=samples.st.integers(0, 10**9)))
def test_totals_come_back_where_nothing_recurs(recording):
    keys = [_name(row) for row in recording.functions]
    rows = list(recording.tree)
    callees = {}
    for row in rows:
        if row.parent >= 0:
            callees.setdefault(keys[rows[row.parent].function], set()).add(keys[row.function])
    try:
        TopologicalSorter(callees).prepare()
    except CycleError:
        return
    if len(set(keys)) < len(keys):
        return
    back = {_name(row): row.total_ns for row in FORMAT.reader(written_bytes(recording)).functions}
    for row in recording.functions:
        if row.calls or row.own_ns:
            assert back[_name(row)] == pytest.approx(row.total_ns, abs=60)


def test_marshal_data_of_every_version_is_read():
    value = {("file.py", 3, "f"): (1, 2**40, 0.5, -1.5, {}), ("é\ud800", -2, "x" * 300): (0, -(2**35), 1e300, 0.0, {})}
    shared = ("s.py", 1, "s")
    value[shared] = (1, 1, 0.0, 0.0, {shared: (1, 1, 0.0, 0.0)})
    for version in range(2, marshal.version + 1):
        assert read_marshal(marshal.dumps(value, version)) == value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (marshal.dumps([1, 2]), "pstats files do not use"),
        (marshal.dumps((lambda: 0).__code__), "pstats files do not use"),
        (marshal.dumps({1: 2}), "is not a function"),
        (marshal.dumps({("f", 1, "g"): 3}), "entry is not"),
        (marshal.dumps({("f", 1, "g"): (1, 1, 0.0, float("nan"), {})}), "not between"),
        (marshal.dumps({("f", 1, "g"): (1, 2**61, 0.0, 0.0, {})}), "not between"),
        (marshal.dumps({("f", 1, "g"): (1, "1", 0.0, 0.0, {})}), "not a number"),
        (marshal.dumps({("f", 1, 1): (1, 1, 0.0, 0.0, {})}), "not named by"),
        (b"(\xff\xff\xff\x7f", "past the end"),
        (b"(\xff\xff\xff\xff", "past the end"),
        (b"u\xff\xff\xff\x7fabc", "past the end"),
        (b"{" + b")\x01" * 1000, "too deeply"),
        (b"r\x00\x00\x00\x00", "is invalid"),
        (b"\xa9\x01r\x00\x00\x00\x00", "is invalid"),
        (b"", "past the end"),
        (b"0", "empty"),
        (b"l\xff\xff\xff\x7f", "too large"),
    ],
)
def test_what_is_no_pstats_file_is_refused_with_the_reason(tmp_path, data, reason):
    samples.refused(tmp_path / "x.pstats", data, reason)


def test_tuples_of_tuples_take_no_time(tmp_path):
    """A key whose hash would take 300 ** 6 steps, made of shared parts."""
    level = b"\xa9\x02i\x01\x00\x00\x00i\x01\x00\x00\x00"
    for place in range(6):
        level = b"\xa8" + (300).to_bytes(4, "little") + level + (b"r" + (6 - place).to_bytes(4, "little")) * 299
    samples.refused(tmp_path / "x.pstats", b"{" + level + b"N0", "a key of a dict is not a function")


def test_a_small_file_cannot_stand_for_a_huge_one(tmp_path, monkeypatch):
    """A thousand functions that share one dict of a thousand callers: a million pairs in 30 kB."""
    monkeypatch.setattr(pstats_format, "MAX_NODES", 10_000)
    callers = {("c.py", n, "c"): (1, 1, 0.0, 0.0) for n in range(1000)}
    data = marshal.dumps({("f.py", n, "f"): (1, 1, 0.0, 0.0, callers) for n in range(1000)})
    assert len(data) < 100_000
    samples.refused(tmp_path / "x.pstats", data, "more than 10000 callers")


def test_the_slow_profilers_files_are_read():
    """`profile` notes of a caller only how often it called."""
    stats = {("a.py", 1, "a"): (1, 1, 0.25, 1.0, {}), ("a.py", 9, "b"): (3, 3, 0.75, 0.75, {("a.py", 1, "a"): 3})}
    rows = {row.qualname: row for row in FORMAT.reader(marshal.dumps(stats)).functions}
    assert (rows["b"].calls, rows["b"].own_ns) == (3, 750_000_000)
    assert rows["a"].total_ns == 1_000_000_000


def test_recursion_limit_is_no_matter():
    """A chain of more functions than Python has frames."""
    count = sys.getrecursionlimit() * 3
    stats = {}
    for n in range(count):
        cost = (1, 1, 1e-6, (count - n) * 1e-6)
        stats["a.py", n, "f"] = (*cost, {("a.py", n - 1, "f"): cost} if n else {})
    back = FORMAT.reader(marshal.dumps(stats))
    assert max(back.tree["depth"]) == count - 1
    assert max(back.functions["total_ns"]) == count * 1000
