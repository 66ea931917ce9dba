"""Feeds damaged programs to the native filters, and damaged texts to the parser.

    python fuzz/fuzz_filter.py --seconds 60 [--seed N]

A program is taken or refused with ValueError, whatever its bytes; one that is taken is then asked about code objects
and events, where a core built by SEISMO_SANITIZE=1 turns a read out of bounds into a stop. A text is an expression or a
UsageError, and what is an expression is one again in its canonical form. A find is printed with its seed, and
`--seed SEED --seconds 0` makes it again.
"""

import argparse
import os
import random
import sys
import time
import traceback

from seismo import _core
from seismo.errors import UsageError
from seismo.expression import KINDS, parse

TEXTS = (
    'call and module("app.db", "*[a-z]") and duration > 50ms',
    'raise and exception("KeyError", "app.*")',
    'call("app.*.save") or c_call("len", "[!x]?") and not thread("w-*")',
    'line("app/pay.py", 120, 200-300) or line in (1-5, 9) and depth <= 3',
    'not (function("a") or qualname("b*c") and (task("t") or file("/x/*")))',
    'arg("user").id == 7 or value("x")["key"][-1] in (1, "a", None, -2.5) and own != 5us',
)
INTERESTING = (0, 1, 2, 6, 7, 14, 64, 127, 128, 255)
WORDS = (*KINDS, "and", "or", "not", "(", ")", '"x*"', "5", "5ms", "line", "in", "==", "<", ",", ".", "is", "arg", "-")


def mutate(rnd: random.Random, data: bytearray) -> None:
    """Make one change somewhere."""
    at = rnd.randrange(len(data) + 1)
    match rnd.randrange(6):
        case 0 if at < len(data):
            data[at] ^= 1 << rnd.randrange(8)
        case 1 if at < len(data):
            data[at] = rnd.choice(INTERESTING)
        case 2:
            data[at:at] = rnd.randbytes(rnd.randrange(1, 9))
        case 3:
            del data[at : at + rnd.randrange(1, 9)]
        case 4:
            data[at : at + 4] = rnd.choice((0, 1, 2**31, 2**32 - 1, len(data))).to_bytes(4, "little")
        case _:
            start = rnd.randrange(len(data) + 1)
            data[at:at] = data[start : start + rnd.randrange(24)]


def mended(data: bytearray) -> bytes:
    """Return the data with a correct count of instructions and size, so that the filter reads the rest."""
    if len(data) < 24:
        return bytes(data)
    count = min(int.from_bytes(data[8:12], "little"), (len(data) - 16) // 8)
    data[:8] = b"smfl\1\0\0\0"
    data[8:12] = count.to_bytes(4, "little")
    data[12:16] = (len(data) - 16 - 8 * count).to_bytes(4, "little")
    return bytes(data)


def use(program: bytes) -> None:
    """Run every operation on a program."""
    try:
        native = _core.Filter(program)
    except ValueError:
        return
    assert native.kinds < 1 << len(KINDS)
    for code in (use.__code__, mutate.__code__):
        yes, maybe = native.of_code(code, globals())
        assert not yes & maybe
    where, unknown = ("app.db", "A.save", "/src/app/pay.py"), (None, None)
    for kind in range(len(KINDS)):
        native.of_event(kind, *where, unknown, 120, (*unknown, KeyError(), *unknown, *unknown, None))
        native.of_event(
            kind, *where, ("builtins", "len"), 120, ("w-1", None, KeyError(), None, 3, None, 60_000_000, None)
        )


def read(text: str) -> None:
    """Run every operation on a text."""
    try:
        expression = parse(text)
    except UsageError as error:
        str(error)
        return
    assert parse(str(expression)).program == expression.program
    expression.evaluate({"kind": "call", "module": "app", "arg": {"user": {"id": 7}}})
    use(expression.program)


def attempt(seed: int, programs: list[bytes]) -> bool:
    """Return True if the input from this seed is handled correctly."""
    rnd = random.Random(seed)
    data = bytearray(rnd.choice(programs))
    for _ in range(rnd.randrange(1, 5)):
        mutate(rnd, data)
    text = bytearray(rnd.choice(TEXTS).encode())
    for _ in range(rnd.randrange(1, 4)):
        mutate(rnd, text)
    words = " ".join(rnd.choice(WORDS) for _ in range(rnd.randrange(12)))
    try:
        use(mended(data) if rnd.random() < 0.8 else bytes(data))
        read(text.decode(errors=rnd.choice(("replace", "surrogateescape"))))
        read(words)
    except Exception:  # noqa: BLE001  # any at all is what we look for
        traceback.print_exc()
        print(f"seed {seed}", file=sys.stderr)
        return False
    return True


def main() -> int:
    """Run the inputs and return 0 if nothing was found."""
    parser = argparse.ArgumentParser(description="Feeds damaged programs and texts to the filters.")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SECONDS") or 60))
    parser.add_argument("--seed", type=int, default=None, help="begin with this one (default: random)")
    options = parser.parse_args()
    programs = [parse(text).program for text in TEXTS]
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    end, tried, found = time.monotonic() + options.seconds, 0, 0
    print(f"from seed {seed}", flush=True)
    while True:
        found += not attempt(seed + tried, programs)
        tried += 1
        if time.monotonic() >= end or found >= 10:
            break
    print(f"{tried} damaged programs, {found} finds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
