"""A trace that is merged, saved or cut keeps what spares its readers the journal: levels, and the longest calls."""

from itertools import pairwise

import journal_made
import pytest
from chunks import chunk, frames, without
from journals import levels_of
from on_paper import written
from recorded import Image

import seismo
from seismo.model import merge, merge_files, read
from seismo.model.enums import CallFlags
from seismo.model.trace import excerpt
from seismo.report.calls import text as calls_text
from seismo.report.calls import trace
from seismo.report.calls.functions import FunctionCells
from seismo.report.words import Signs

PROGRAM = """
def leaf(): pass
def numbers(n):
    for i in range(n):
        yield i
def work(n):
    for i in numbers(n):
        leaf()
def main(rounds, n):
    for _ in range(rounds): work(n)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Traces of two programs of some 20,000 calls: their files' contents."""
    made = []
    for number, rounds in enumerate((5, 9)):
        namespace = {"__name__": "made"}
        exec(PROGRAM, namespace)
        path = tmp_path_factory.mktemp("whole") / f"{number}.seismo"
        with seismo.trace(output=path, c_functions="none"):
            namespace["main"](rounds, 9_000 // rounds)
        made.append(path.read_bytes())
    return made


def noted(recording):
    return sorted((row.function, row.thread, row.start_ns, row.end_ns, row.depth) for row in recording.calls.longest)


def lengths(recording):
    """How long the longest call of each function took."""
    functions = recording.functions
    return {
        (functions[row.function].module, functions[row.function].qualname): row.end_ns - row.start_ns
        for row in recording.calls.longest
    }


def pictures(recording, end):
    return [list(recording.calls.overview(0, end, columns=columns).runs) for columns in (7, 300)]


def has_all(data):
    """The file has the levels of all its streams, which agree with its tokens, and the longest calls.

    These are of the functions that a reading of all of the journal finds, whose times are not those of the marks alone.
    """
    recording = read(data)
    streams = {(block.thread, block.stream) for block in recording.calls.blocks}
    assert set(levels_of(Image(data))) == streams
    assert {row.function for row in recording.calls.longest} == {row.function for row in recording.calls.sums.longest}
    return recording


def test_a_merge_has_what_its_parts_have(whole, tmp_path):
    paths = [tmp_path / "0.seismo", tmp_path / "1.seismo"]
    for path, data in zip(paths, whole, strict=True):
        path.write_bytes(data)
    merge_files(paths, tmp_path / "merged.seismo")
    data = (tmp_path / "merged.seismo").read_bytes()
    merged = has_all(data)
    end = merged.calls.end_ns
    for one in (merge(map(read, whole)), read(merge(map(read, whole)).to_bytes())):
        assert noted(one) == noted(merged)
        assert pictures(one, end) == pictures(merged, end)
    bare = read(without(data, b"LEVL", b"LONG"))
    assert pictures(merged, end) == pictures(bare, end)
    parts = [lengths(read(data)) for data in whole]
    assert lengths(merged) == {name: max(part.get(name, -1) for part in parts) for name in {**parts[0], **parts[1]}}


@pytest.mark.parametrize("lost", [(b"LEVL", b"LONG"), (b"LONG",), (b"LEVL",)])
def test_what_a_part_lacks_is_made(whole, tmp_path, lost):
    """A program that was killed, or a file of an earlier version, is merged with one that ended in order."""
    (tmp_path / "killed.seismo").write_bytes(without(whole[0], *lost))
    (tmp_path / "whole.seismo").write_bytes(whole[1])
    merge_files([tmp_path / "killed.seismo", tmp_path / "whole.seismo"], tmp_path / "merged.seismo")
    has_all((tmp_path / "merged.seismo").read_bytes())


def test_a_sheet_that_is_damaged_is_made_again(whole):
    data = bytearray(whole[0])
    data[data.index(b"LEVL") + 40] ^= 0xFF
    with_holes = read(bytes(data))
    saved = with_holes.to_bytes()
    has_all(saved)
    end = with_holes.calls.end_ns
    assert pictures(read(saved), end) == pictures(read(whole[0]), end)


def test_a_large_part_has_levels_of_its_own(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(excerpt, "MANY", 1000)
    recording = read(whole[0])
    excerpt.cut_into(recording, tmp_path / "part.seismo", 1, recording.calls.end_ns)
    part = has_all((tmp_path / "part.seismo").read_bytes())
    assert part.tree["calls"].tolist() == recording.cut(1, recording.calls.end_ns).tree["calls"].tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["part.seismo"]


def limits(rows):
    """By function: which of its longest call's flags say that it may have taken longer."""
    told = CallFlags.BEFORE | CallFlags.OPEN | CallFlags.BEGAN_UNSEEN | CallFlags.ENDED_UNSEEN | CallFlags.GAP
    return {row.function: row.flags & told for row in rows}


def test_calls_that_a_cut_ended_are_told_apart_among_the_longest(whole, tmp_path, monkeypatch):
    """Where their recorder or a cut noted them no less than where all of the journal is read for them."""
    recording = read(whole[0])
    work, main, leaf = (recording.functions["qualname"].index(name) for name in ("work", "main", "leaf"))
    rounds = [row for row in recording.calls if row.function == work]
    leaves = sorted((row.start_ns, row.end_ns) for row in recording.calls if row.function == leaf)
    # The cut is between two calls of leaf: a call that it goes through may be the longest.
    cuts = [(end + start) // 2 for (_, end), (start, _) in pairwise(leaves) if start - end >= 2]
    middle = next(at for at in cuts if at > (rounds[2].start_ns + rounds[2].end_ns) // 2)
    monkeypatch.setattr(excerpt, "MANY", 1000)
    ended, begun = CallFlags.OPEN, CallFlags.BEFORE
    for window, flags in (((0, middle), {main: ended}), ((middle, recording.calls.end_ns), {main: begun})):
        excerpt.cut_into(recording, tmp_path / "part.seismo", *window)
        part = read(tmp_path / "part.seismo")
        names = {row.id: row.qualname for row in part.functions}
        assert limits(part.calls.longest) == limits(part.calls.sums.longest)
        told = {names[function]: said for function, said in limits(part.calls.longest).items()}
        assert told["main"] & (ended | begun) == flags[main]
        assert told["leaf"] == 0
        monkeypatch.setattr(trace, "SOME_BYTES", 0)
        text = written(calls_text.write_trace, part, 1000, width=80)  # the frames of the tests' runner take longest
        (line,) = (line for line in text.splitlines() if "made:main" in line)
        assert line.split()[0] == "\N{GREATER-THAN OR EQUAL TO}"
        assert ("still running" in line) == (flags[main] == ended)
        sections = trace.sections(part, FunctionCells(part, Signs()), 1000)
        (row,) = (row for row in sections[0].rows if row.cells[-1] == "made:main")
        assert row.data["ended"] == ("still running" if flags[main] == ended else "")
        assert row.cells[0].startswith("\N{GREATER-THAN OR EQUAL TO} ")


def test_a_call_that_began_and_was_cut_in_one_slice_is_told_apart(tmp_path, monkeypatch):
    """The last thousand calls are summed up together; that one of them was ended by the cut is not lost there."""
    monkeypatch.setattr(excerpt, "MANY", 1000)
    namespace = {}
    exec(PROGRAM + "import time\ndef slow():\n    leaf()\n    time.sleep(0.02)\n    leaf()", namespace)
    with seismo.trace(output=tmp_path / "whole.seismo", c_functions="none"):
        namespace["main"](2, 1000)
        namespace["slow"]()
    recording = read(tmp_path / "whole.seismo")
    (slow,) = (row for row in recording.calls if recording.functions[row.function].qualname == "slow")
    excerpt.cut_into(recording, tmp_path / "part.seismo", 0, slow.start_ns + 10_000_000)
    part = read(tmp_path / "part.seismo")
    told = {part.functions[function].qualname: said for function, said in limits(part.calls.longest).items()}
    assert told["slow"] == CallFlags.OPEN
    assert told["leaf"] == told["main"] == 0
    assert limits(part.calls.longest) == limits(part.calls.sums.longest)


def test_the_longest_calls_of_a_large_trace_are_found_where_nobody_noted_them(whole, monkeypatch):
    """A report left them out, where reading them takes long; nothing else says which calls they are."""
    monkeypatch.setattr(trace, "SOME_BYTES", 100)
    monkeypatch.setattr(trace, "MOST_BYTES", 1000)
    bare = read(without(whole[0], b"LONG"))
    assert bare.calls.noted is None
    longest = sorted(trace.longest_calls(bare), key=lambda row: row.depth)
    assert "main" in [bare.functions[row.function].qualname for row in bare.calls.sums.longest]
    assert len(longest) >= trace.LONGEST
    assert [row.start_ns >= 0 for row in longest] == [True] * len(longest)


@pytest.mark.parametrize("payload", [b"", b"\x80"])
def test_a_piece_without_a_thread_is_left_out_of_a_merge(payload):
    """It is damaged below its checksum; the rest is merged."""
    _, _, made = journal_made.made(3, events=200)
    data = made.to_bytes()
    at = frames(data)[0][0]
    bent = read(without(data[:at] + chunk(b"JRNL", payload) + data[at:], b"END "))
    merged = read(merge([bent, bent]).to_bytes())
    assert sum(merged.calls.sums.calls) == 2 * sum(read(data).calls.sums.calls)
