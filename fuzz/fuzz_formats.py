"""Feeds damaged files of other tools to their readers; any exception that is not a SeismoError is a find.

    python fuzz/fuzz_formats.py --seconds 60 [--seed N] [--format NAME]

The files are those that seismo itself writes, of calls, of coverage and of objects, for each format that it also
reads. What is read from damage must be a whole recording: it is saved, read again and written in its own format once
more. A find is saved as find-SEED.NAME, and `--seed SEED --seconds 0` makes it again.
"""

import argparse
import contextlib
import gzip
import io
import os
import random
import re
import sys
import time
import traceback
import zlib
from pathlib import Path

from fuzz_reader import SOURCE, mutate_bytes, objects

from seismo import formats
from seismo.errors import SeismoError
from seismo.model import Builder, Recording, read

READ = [format_ for format_ in formats.FORMATS if format_.reader and format_.name != "seismo"]
NUMBER = re.compile(rb"\d+")
NUMBERS = [b"0", b"-1", b"1e400", b"NaN", b"4294967296", b"9223372036854775807", b"18446744073709551616", b"9" * 5000]


def calls() -> Recording:
    """Return a recording of calls: threads, recursion, C functions."""
    b = Builder()
    process = b.process(pid=1, argv=["a", "b"], host="h")
    threads = [b.thread(process, f"thread {i}") for i in range(2)]
    functions = [b.function(f"m{i % 3}", f"f{i}", f"/m{i % 3}.py", i, kind=i % 2) for i in range(7)]
    functions[3] = b.function(
        "m", "long" * 2000, "/m.py", 3
    )  # cut when it is read, and again when damage makes it longer
    for i in range(30):
        parent = i - 2 if i > 3 else -1
        b.node(parent, threads[i % 2], functions[i % 7], calls=i + 1, own_ns=i * 1000)
    return b.build()


def coverage(contexts: tuple[str, ...]) -> Recording:
    """Return a recording of coverage with branches, of an existing source."""
    b = Builder()
    b.process(pid=1, argv=["a"])
    function = b.function("seismo.escape", "<module>", str(SOURCE), 1)
    b.source(str(SOURCE), str(SOURCE), SOURCE.stat().st_size, crc=zlib.crc32(SOURCE.read_bytes()))
    lines = [b.line(function, i, i) for i in range(1, 20)]
    arcs = [b.arc(function, i, i + 1) for i in range(1, 20)]
    for name in contexts:
        b.context(name, lines[::2], arcs[1::3])
    return b.build({"recorder": "coverage", "branch": True, "counts": not contexts, "folder": str(SOURCE.parent)})


def written(recording: Recording, format_: formats.Format) -> bytes:
    """Return a whole file."""
    out = io.BytesIO()
    format_.write(recording, out)
    return out.getvalue()


def corpus(wanted: str) -> list[tuple[formats.Format, bytes]]:
    """Return whole files of each format."""
    recordings = [calls(), coverage(()), coverage(("", "a|run", "b")), read(objects(20))]
    return [
        (format_, written(recording, format_))
        for format_ in READ
        for recording in recordings
        if wanted in ("", format_.name) and format_.holds(recording.kind)
    ]


def mutate(rnd: random.Random, data: bytes) -> bytes:
    """Return a damaged file. A packed file is damaged inside, since otherwise every mutation ends at the checksum."""
    packed = data.startswith(b"\x1f\x8b") and rnd.random() < 0.9
    raw = bytearray(gzip.decompress(data) if packed else data)
    for _ in range(rnd.randrange(1, 5)):
        places = list(NUMBER.finditer(raw)) if rnd.random() < 0.3 else []
        if places:
            start, end = rnd.choice(places).span()
            raw[start:end] = rnd.choice(NUMBERS)
        else:
            mutate_bytes(rnd, raw)
    if rnd.random() < 0.1:
        del raw[rnd.randrange(len(raw) + 1) :]
    return gzip.compress(bytes(raw), 1) if packed else bytes(raw)


def use(format_: formats.Format, data: bytes) -> None:
    """Run every operation on a file of another tool."""
    assert format_.reader is not None
    try:
        recording = format_.reader(data)
    except (SeismoError, ValueError):  # Format.read() makes the one of the other, and names the file
        return
    again = read(recording.to_bytes())
    assert not again.problems, again.problems
    with contextlib.suppress(SeismoError):  # a source that is not there any more
        written(again, format_)


def attempt(seed: int, seeds: list[tuple[formats.Format, bytes]]) -> bool:
    """Return True if the file from this seed is handled correctly."""
    rnd = random.Random(seed)
    format_, whole = rnd.choice(seeds)
    data = mutate(rnd, whole)
    try:
        use(format_, data)
    except Exception:  # noqa: BLE001  # any at all is what we look for
        traceback.print_exc()
        path = Path(f"find-{seed}.{format_.name}")
        path.write_bytes(data)
        print(f"seed {seed}: {path}", file=sys.stderr)
        return False
    return True


def main() -> int:
    """Run the inputs and return 0 if nothing was found."""
    parser = argparse.ArgumentParser(description="Feeds damaged files of other tools to their readers.")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SECONDS") or 60))
    parser.add_argument("--seed", type=int, default=None, help="begin with this one (default: random)")
    parser.add_argument("--format", default="", help="of this format only")
    options = parser.parse_args()
    seeds = corpus(options.format)
    for format_, whole in seeds:
        use(format_, whole)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    end, tried, found = time.monotonic() + options.seconds, 0, 0
    print(f"from seed {seed}, {len(seeds)} files of {len({format_.name for format_, _ in seeds})} formats", flush=True)
    while True:
        found += not attempt(seed + tried, seeds)
        tried += 1
        if time.monotonic() >= end or found >= 10:
            break
    print(f"{tried} damaged files, {found} finds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
