"""Programs whose line hits are held against other tools'. Nothing in them loops within one line: sys.settrace reports a
jump back to the line that it is in as another hit, sys.monitoring does not (docs/lines.md)."""

# fmt: off
# ruff: noqa: B018, SIM, PLR, RUF, C408, RET, TRY, PERF, C4, S102, E704

import asyncio
import contextlib


def branches(n):
    total = 0
    for i in range(n):
        if i % 2:
            total += 1
        elif i % 3:
            total += 2
        else:
            continue
        while total > 5:
            total -= 3
            if total == 4:
                break
        else:
            total += 1
    return total


def one(): return 1


def multiline(a, b=2):
    return dict(  # noqa: C408
        x=a,
        y=[
            b,
            one(),
        ],
    )


def exceptions(n):
    try:
        if n > 1:
            raise ValueError(n)
        [][n]
    except ValueError as error:
        result = str(error)
    except (KeyError, IndexError):
        result = "index"
    else:
        result = "no"
    finally:
        one()
    with contextlib.suppress(ZeroDivisionError):
        1 / 0
    return result


def matching(value):
    match value:
        case {"a": x} if x > 1:
            return x
        case [1, *rest]:
            return rest
        case str() | int():
            return value
        case _:
            pass
    return None


def numbers(n):
    for i in range(n):
        got = yield i
        if got:
            yield (got)


def delegating(n):
    result = yield from numbers(n)
    return result


async def sleeps(n):
    for _ in range(n):
        await asyncio.sleep(0)
    async with Context() as c:
        c.append(n)
    async for i in agen(n):
        c.append(i)
    return c


class Context:
    """A docstring."""

    kind: str = "context"

    async def __aenter__(self):
        await asyncio.sleep(0)
        return []

    async def __aexit__(self, *error):
        return False

    @property
    def decorated(self):
        return self.kind


async def agen(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


def closures():
    count = 0

    def add(by):
        nonlocal count
        count += by
        return count

    for by in (1, 2, 3):
        add(by)
    return sorted(
        [3, 1, 2],
        key=lambda v: -v,
    )


def recursion(n):
    if n:
        return recursion(n - 1) + 1
    return 0


def main():
    branches(20)
    multiline(1)
    exceptions(0)
    exceptions(2)
    for value in ({"a": 2}, [1, 2], "s", 1.5):
        matching(value)
    it = delegating(3)
    next(it)
    it.send(5)
    list(it)
    it = numbers(3)
    next(it)
    it.close()
    with contextlib.suppress(KeyError):
        it = delegating(2)
        next(it)
        it.throw(KeyError)
    asyncio.run(sleeps(3))
    closures()
    recursion(30)
    Context().decorated
    exec("def made(n):\n    n += 1\n    return n\nfor i in (1, 2):\n    made(i)\n", {})
