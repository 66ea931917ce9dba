"""Every kind of statement, and each that branches: held against coverage.py, sys.settrace and the interpreter's events.

`run` calls the functions so that, as far as it can, every conditional jump goes both ways. test_branches.py makes FAR
long.
"""

import asyncio
import contextlib
import sys

FAR = 1


def choices(a, b):
    if a:
        x = 1
    elif b:
        x = 2
    else:
        x = 3
    if a and not b:
        x += 1
    if a or (b and x > 2):
        x += 1
    if not (a or b): x += 5
    if a is None: x = 0
    if a is not None and b is None:
        x = 7
    return x


def loops(n, stop):
    out = []
    while n:
        n -= 1
        if n == stop:
            break
        if n % 2:
            continue
        out.append(n)
    else:
        out.append("all")
    for i in range(n):
        if i == stop:
            break
    else:
        out.append("no break")
    for i in (1, 2):
        for j in range(i):
            if j:
                continue
            out.append(j)
    while True:
        n += 1
        if n > 4:
            return out


def spread(a, b, c):
    if (
        a
        and b
        or (
            c
            and a
        )
    ):
        x = 1
    else:
        x = 2
    for (
        p,
        q,
    ) in (
        (1, 2),
        (3, 4),
    ):
        x += p + q
    for y in (
        [a, b]
    ):
        x += 1 if y else 0
    x = (
        b
        if a
        else c
    )
    return x


def values(a, b, c):
    d = a and b or c
    e = a or b and c
    f = (b if a else c) or not b
    g = 0 < (a or 0) < 3 < (b or 4)
    h = [u for u in (a, b, c) if u if u != 2]
    i = {u: v for u in (a, b) for v in (c,) if v or u}
    j = any(u for u in (a, b, c))
    k = (lambda z: z or 5)(c)
    return d, e, f, g, h, i, j, k


def tries(kind):
    out = []
    try:
        if kind == 1:
            raise ValueError(kind)
        if kind == 2: raise KeyError(kind)
        if kind == 3:
            return out
    except ValueError:
        out.append("value")
    except (
        KeyError,
        OSError,
    ) as error:
        out.append(str(error))
    else:
        out.append("none")
    finally:
        if out:
            out.append("finally")
    return out


def escapes(kind):
    if kind == 1: raise ValueError(kind)
    try:
        if kind: raise KeyError(kind)
    except OSError:
        kind = 5
    return kind


def groups(kind):
    try:
        if kind:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2)] if kind > 1 else [ValueError(1)])
    except* ValueError:
        kind = 10
    except* KeyError:
        kind = 20
    return kind


@contextlib.contextmanager
def manager(swallow):
    try:
        yield swallow
    except ValueError:
        if not swallow:
            raise


def withs(swallow, fail):
    with manager(swallow) as m, manager(True):
        if fail:
            raise ValueError
        m = 2
    for _ in range(2):
        with manager(swallow):
            if m:
                continue
            break
    with (
        manager(True) as a,
        manager(swallow),
    ):
        if a: return fail
    return m


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


def matches(value):
    match value:
        case 0:
            out = "zero"
        case None:
            out = "none"
        case [a]:
            out = a
        case [a, *rest] if rest:
            out = rest
        case {"k": v, **more}:
            out = v or more
        case Point(x=0, y=y) | Point(x=y, y=0):
            out = y
        case Point(
            x=a,
            y=[b, c],
        ):
            out = a + b + c
        case str() as text if text and not text.isdigit(): out = text
        case str(): pass
        case other:
            out = other
    match value:
        case 1 | 2 | 3:
            return "small"
        case _ if not value:
            return "empty"
    return locals().get("out")


def asserts(a, b):
    assert a or b, "neither"
    if (n := a) and n > 1:
        return n
    return b


def lines(a):
    if a: return 1
    for i in range(2): a = i
    while a: a -= 1
    return a


def numbers(n):
    for i in range(n):
        if i == 3:
            return
        yield i
    if n > 5:
        yield from numbers(2)


def generators():
    out = [x for x in numbers(6)]
    for x in numbers(3):
        if x:
            out.append(x)
    out += [x for y in (2, 7) for x in numbers(y) if x]
    for x in numbers(9):
        if x == 2:
            break
    return out


async def anumbers(n):
    for i in range(n):
        yield i


async def asyncs(n):
    out = []
    async for i in anumbers(n):
        if i == 1:
            continue
        out.append(i)
    else:
        out.append("end")
    async for (
        i
    ) in (
        anumbers(n)
    ):
        if i == 2:
            break
    out += [i async for i in anumbers(n) if i]
    async with contextlib.AsyncExitStack() as stack:
        if n: await asyncio.sleep(0)
        stack.callback(int)
    return out


def far(a, b):
    """Jumps over more than 255 units, which take EXTENDED_ARG."""
    x = 0
    while a:
        a -= 1
        if b:
            FAR
        elif a > 5:
            FAR
    for i in range(2):
        if i and b:
            FAR
    return x


def attempt(function, *arguments):
    with contextlib.suppress(ValueError, KeyError, AssertionError, ExceptionGroup):
        return function(*arguments)


def one_line(x): return x


def unused_one_line(x): return x


class OneLine: pass


def decorate(function):
    return function


@decorate
@decorate
def decorated(a=lambda x: x or 1):
    def inner():
        if a:
            return a(0)
        return None

    return inner


@decorate
class Decorated:
    if sys.version_info > (3, 0):
        x = 1
    else:
        x = 2

    def method(self): return self.x


def excluded(n):
    if n:  # pragma: no cover
        return 1
    if n == 0:  # pragma: no branch
        n = 2
    if n == 3:
        raise ValueError  # pragma: no cover
    return n


def constants():
    if True:
        a = 1
    if 0:
        a = 2
    if not __debug__:
        a = 3
    if None or a:
        a = 4
    if ():
        a = 5
    while 1:
        if a == 4: break
    while -1:
        if a:
            return a


def run():
    one_line(1)
    decorated()()
    Decorated().method()
    excluded(0)
    constants()
    for a in (0, 1, 2, None):
        for b in (0, 3, None):
            choices(a, b)
            asserts(a or 0, b) if a or b else attempt(asserts, a, b)
            for c in (0, 1):
                spread(a, b, c)
                values(a, b, c)
    for n, stop in ((0, 0), (3, 1), (5, 9), (2, 0)):
        loops(n, stop)
    for kind in range(5):
        tries(kind)
        attempt(escapes, kind)
        attempt(groups, kind)
    for swallow in (True, False):
        for fail in (True, False):
            attempt(withs, swallow, fail)
    for value in (0, None, [1], [1, 2], [], {"k": 1}, {"k": 0}, Point(0, 1), Point(1, 0), Point(1, [2, 3]), "a", "1", "", 3, 4.5):
        matches(value)
    lines(0)
    lines(1)
    generators()
    for n in (0, 1, 4):
        asyncio.run(asyncs(n))
    for a, b in ((0, 0), (8, 0), (3, 1)):
        far(a, b)


if __name__ == "__main__":
    run()
