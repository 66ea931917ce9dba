"""Feeds damaged recordings to the reader and the model; any exception that is not RecordingError is a find.

    python fuzz/fuzz_reader.py --seconds 60 [--seed N] [--corpus FOLDER]

Most useful with a core built by SEISMO_SANITIZE=1, which turns a read out of bounds into a stop. Half of the damage is
done below the checksums, which are put right again afterwards: else every mutation would end at the first wrong one.
A find is saved as find-SEED.seismo, and `--seed SEED --seconds 0` makes it again.
"""

import argparse
import contextlib
import io
import os
import random
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests" / "native" / "trace"))

import journal_made
from chunks import chunk, frames, uvarint
from object_builder import ObjectBuilder as Builder

from seismo._core import Writer
from seismo.coverage.analysis import analyze
from seismo.coverage.settings import Settings
from seismo.errors import RecordingError
from seismo.model import Recording, diff_objects, merge, read
from seismo.model.objects.groups import by_line, by_path, by_type, by_type_and_line, totals
from seismo.model.objects.leaks import leaks, spans
from seismo.model.read_sum import sum_in
from seismo.model.save import write_tables

INTERESTING = [0, 1, 0x7F, 0x80, 0xFF, 0x100, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1]


# A short one to analyze: it is parsed for each mutation.
SOURCE = Path(__file__).resolve().parents[1] / "src" / "seismo" / "escape.py"
# What coverage and line times record, beside the functions.
TABLES_OF_LINES = ("lines", "arcs", "branches", "contexts", "instructions", "sources")


def add_lines(b: Builder, functions: list[int], count: int, recorder: str) -> None:
    """Add rows of all the tables about lines. One of the sources exists, and one does not."""
    lines = [b.line(functions[i % 9], i + 1, i * i, own_ns=i * 100, inner_ns=i / 3, flags=i % 2) for i in range(count)]
    b.source("x.py", str(SOURCE), SOURCE.stat().st_size)
    b.source("gone.py", "/gone.py")
    if recorder == "linetimes":
        for i in range(count):
            b.add("instructions", function=functions[i % 9], offset=i * 2, line=i, text=f"LOAD_FAST {i}", hits=i)
        return
    arcs = [b.arc(functions[i % 9], i, i + 1 if i % 7 else -1, i) for i in range(count)]
    for i in range(count):
        place = {"function": functions[i % 9], "offset": i * 2, "line": i, "column": i % 80, "end_line": i}
        b.add("branches", **place, kind=i % 6, fell=i, jumped=i % 3, flags=2)
    for i in range(5):
        b.context(f"test_{i % 4}", lines[i::5], arcs[:i])


TABLES_OF_OBJECTS = (
    *("types", "objects", "lifetimes", "object_times"),
    *("object_spans", "object_survivors", "holders", "marks"),
)


def objects(size: int) -> bytes:
    """Return a recording of births and deaths with rows of all its tables, some of them on call paths."""
    b = Builder()
    b.process(pid=1)
    thread = b.thread(0, "main")
    functions = [b.function(f"m{i % 3}", f"f{i}", "x.py", i) for i in range(9)]
    nodes = [b.node(i - 2 if i > 3 else -1, thread, functions[i % 9], calls=i) for i in range(size // 2)]
    for i in range(size):
        type_ = b.type(f"m{i % 3}", f"T{i}", born=i * i, died=i, died_by_gc=i // 2, flags=i % 64, size=16, item_bytes=i)
        row = b.object(type_, functions[i % 9] if i % 4 else -1, i, (nodes[:i] or [-1])[-1], born=i * i, died=i)
        b.lifetime(row, i % 2, i % 33, i)
        b.object_survivor(b.object_span(functions[i % 9], i, 1, start_ns=i, end_ns=i % 5, born=i), row, i % 3)
        b.holder(row, b.holder(row, -1, "dict", f"x{i}", flags=i % 16), "module m")
        b.object_time(i * 10, i * 3, i * 2)
        b.mark(f"mark {i}", i)
    return b.build({"recorder": "lifetimes"}).to_bytes()


def with_levels(recording: Recording) -> bytes:
    """Return a trace with sheets of its levels, and its longest calls as a recorder notes them."""
    recording.calls._journal.build(0)
    chunks = chunks_of(recording.to_bytes())
    sheets = [(b"LEVL", bytearray(sheet)) for sheet in recording.calls._journal.made()]
    longest = bytearray()
    for row in recording.calls.sums.longest:
        for value in (row.thread, row.stream, 1, row.depth, row.start_ns, row.end_ns - row.start_ns):
            longest += uvarint(value)
    return joined([*chunks[:-1], *sheets, (b"LONG", longest), chunks[-1]])


def corpus(folder: Path | None) -> list[bytes]:
    """Return recordings to start from: some made here, for each recorder, and those of a folder."""
    seeds = [objects(size) for size in (1, 5, 60)]
    for recorder in ("coverage", "linetimes"):
        for size in (0, 3, 200):
            b = Builder()
            b.process(pid=1, argv=["a"], clock_ns=20.0)
            functions = [b.function(f"m{i % 3}", f"f{i}", "x.py", i) for i in range(9)]
            add_lines(b, functions, size, recorder)
            meta = {"recorder": recorder, "branch": size > 3, "counts": size > 3, "folder": "/"}
            seeds.append(b.build(meta).to_bytes())
    for size in (0, 1, 5, 60, 500):
        b = Builder()
        processes = [b.process(pid=i, argv=["a", "b"], host="h", clock_ns=20.0, python_inside=5.0) for i in range(2)]
        threads = [b.thread(p, f"thread {p}") for p in processes]
        functions = [b.function(f"m{i % 3}", f"f{i}", "x.py", i, kind=i % 3) for i in range(9)]
        for i in range(size):
            b.node(i - 2 if i > 3 else -1, threads[i % 2], functions[i % 9], calls=i * i, own_ns=i * 100, flags=i % 16)
        b.loss("repaired", size, "somewhere")
        seeds.append(b.build({"n": size}).to_bytes())
    for seed in range(6):
        _, _, made = journal_made.made(seed, events=40 * (seed + 1) if seed < 4 else 4000)
        seeds += [made.to_bytes(), with_levels(made)]
    writer = Writer()  # a recording with the file of its sum
    write_tables(merge([read(seeds[-1]), read(seeds[-3])]), writer)
    writer.chunk("SUMS", read(seeds[-1]).combined().to_bytes())
    seeds.append(writer.finish())
    if folder is not None:
        seeds += [path.read_bytes() for path in sorted(folder.rglob("*.seismo"))]
    return seeds


def chunks_of(data: bytes) -> list[tuple[bytes, bytearray]]:
    """Return (kind, payload) of a whole file's chunks."""
    return [(kind, bytearray(data[start + 12 : end])) for start, end, kind in frames(data)]


def joined(chunks: list[tuple[bytes, bytearray]]) -> bytes:
    """Return a file of the chunks, with correct lengths and checksums; version 1 or 2 by the number of chunks."""
    version = bytes([1 + len(chunks) % 2])
    return b"\x8fseismo\n" + version + bytes(7) + b"".join(chunk(kind, bytes(payload)) for kind, payload in chunks)


def mutate_bytes(rnd: random.Random, data: bytearray) -> None:
    """Make one change somewhere."""
    at = rnd.randrange(len(data) + 1)
    match rnd.randrange(6):
        case 0 if at < len(data):
            data[at] ^= 1 << rnd.randrange(8)
        case 1 if at < len(data):
            data[at] = rnd.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
        case 2:
            data[at:at] = rnd.randbytes(rnd.randrange(1, 8))
        case 3:
            del data[at : at + rnd.randrange(1, 12)]
        case 4:
            data[at : at + 1] = uvarint(rnd.choice(INTERESTING))
        case _:
            start = rnd.randrange(len(data) + 1)
            data[at:at] = data[start : start + rnd.randrange(40)]


def mutate(rnd: random.Random, seeds: list[bytes]) -> bytes:
    """Return a damaged recording."""
    data = rnd.choice(seeds)
    if rnd.random() < 0.3:
        raw = bytearray(data)
        for _ in range(rnd.randrange(1, 5)):
            mutate_bytes(rnd, raw)
        return bytes(raw)
    chunks = chunks_of(data)
    for _ in range(rnd.randrange(1, 4)):
        i = rnd.randrange(len(chunks))
        match rnd.randrange(8):
            case 0:
                chunks.insert(rnd.randrange(len(chunks) + 1), (chunks[i][0], bytearray(chunks[i][1])))
            case 1 if len(chunks) > 1:
                del chunks[i]
            case 2:
                rnd.shuffle(chunks)
            case 3:
                chunks += chunks_of(rnd.choice(seeds))
            case 4:
                chunks[i] = (
                    rnd.choice((b"TABL", b"STRS", b"META", b"JRNL", b"LEVL", b"LONG", b"SUMS", b"END ")),
                    chunks[i][1],
                )
            case _:
                mutate_bytes(rnd, chunks[i][1])
    result = joined(chunks)
    return result[: rnd.randrange(len(result))] if rnd.random() < 0.1 else result


def use(data: bytes) -> None:
    """Run every operation on a recording."""
    found = []
    with contextlib.suppress(ValueError, OSError, OverflowError, RecordingError):
        found.append(sum_in(io.BytesIO(data)))
    for whole in found:
        list(whole.combined().tree)
    try:
        recording = read(data)
    except RecordingError:
        return
    for table in (recording.functions, recording.tree, recording.threads, recording.processes, recording.losses):
        list(table)
        table.__arrow_c_stream__()
    for name in TABLES_OF_LINES:
        table = getattr(recording, name)
        list(table)
        table.__arrow_c_stream__()
    for name in TABLES_OF_OBJECTS:
        table = getattr(recording, name)
        list(table)
        table.__arrow_c_stream__()
    born = [sum(group.born for group in by(recording)) for by in (by_line, by_type_and_line, by_path)]
    assert len(set(born)) == 1
    assert sum(group.born for group in by_type(recording)) == totals(recording).born
    leaks(recording), spans(recording), diff_objects(recording, recording, "line")
    window = recording.calls.window(limit=100_000)
    rows = list(window.calls)
    for row in rows:
        assert row.start_ns <= row.end_ns, row
        assert row.parent < 0 or rows[row.parent].depth == row.depth - 1, row
    recording.calls.window(1000, 2000, limit=1000)
    assert recording.calls.sums.steps >= len(rows)
    if recording.calls:
        recording.calls._journal.build(0)  # what a reader makes for those that are long enough
        list(recording.calls.longest or [])
    for run in recording.calls.overview(columns=100).runs:
        assert run.start_ns <= run.end_ns, run
        assert 0 <= run.most_ns <= run.busy_ns, run
    list(recording.context_rows())
    list(recording.combined().functions)
    analyze(recording, Settings()).totals  # noqa: B018
    recording.subtract(recording)
    again = read(merge([recording, recording]).to_bytes())
    assert not again.problems, again.problems
    assert len(again.tree) == 2 * len(recording.tree)
    assert len(again.object_spans) == 2 * len(recording.object_spans)
    assert {row.name for row in again.contexts} == {row.name for row in recording.contexts}


def attempt(seed: int, seeds: list[bytes]) -> bool:
    """Return True if the recording from this seed is handled correctly."""
    data = mutate(random.Random(seed), seeds)
    try:
        use(data)
    except Exception:  # noqa: BLE001  # any at all is what we look for
        traceback.print_exc()
        path = Path(f"find-{seed}.seismo")
        path.write_bytes(data)
        print(f"seed {seed}: {path}", file=sys.stderr)
        return False
    return True


def main() -> int:
    """Run the inputs and return 0 if nothing was found."""
    parser = argparse.ArgumentParser(description="Feeds damaged recordings to the reader.")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SECONDS") or 60))
    parser.add_argument("--seed", type=int, default=None, help="begin with this one (default: random)")
    parser.add_argument("--corpus", type=Path, default=None, help="a folder with recordings to begin with")
    options = parser.parse_args()
    seeds = corpus(options.corpus)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    end, tried, found = time.monotonic() + options.seconds, 0, 0
    print(f"from seed {seed}, {len(seeds)} recordings", flush=True)
    while True:
        found += not attempt(seed + tried, seeds)
        tried += 1
        if time.monotonic() >= end or found >= 10:
            break
    print(f"{tried} damaged recordings, {found} finds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
