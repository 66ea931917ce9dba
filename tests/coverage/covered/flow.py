"""Every kind of statement, some of it executed: for the comparison with coverage.py."""

import sys
import threading


def one_line(x): return x  # fmt: skip


def unused_one_line(x): return x  # fmt: skip


class OneLine: pass  # fmt: skip


def branches(a, b=(1)):
    if a and b or (not a):
        b = 2
    elif a:
        b = 3
    else:
        b = 4
    if a: b = 5  # fmt: skip
    if not a: return b  # fmt: skip
    return [x for x in range(3) if x if a]


def loops(n):
    for i in range(n):
        if i == 2:
            break
        if i == 7:
            continue
        n -= 1
    else:
        n = 0
    while n > 0: n -= 1  # fmt: skip
    while True:
        n += 1
        if n > 3:
            break
    while n:
        n -= 1
    else:
        n = 5
    while -1:
        if n:
            return n


def contexts(n):
    with open(sys.executable, "rb") as a, open(sys.executable, "rb") as b:
        if n:
            return a.read(1) + b.read(1)
    with (
        open(sys.executable, "rb") as a,
        open(sys.executable, "rb") as b,
    ):
        for _ in range(2):
            with threading.Lock():
                n += a is not b
    with open(sys.executable, "rb"): n = 3  # fmt: skip
    try:
        with open(sys.executable, "rb"):
            raise ValueError
    except ValueError:
        if n:
            n = 4
    return n


def exceptions(n):
    for kind in (ValueError, KeyError, None):
        try:
            if kind:
                raise kind
        except ValueError:
            n += 1
        except (KeyError, TypeError) as error:
            if error:
                continue
        else:
            n += 2
            if n > 1000:
                break
        finally:
            if n == 0:
                n = 1
            n += 4
    try:
        return n
    finally:
        n = 5


def groups():
    try:
        raise ExceptionGroup("two", [ValueError(1), TypeError(2)])
    except* ValueError as error:
        if error:
            pass
    except* TypeError:
        pass
    except* KeyError:
        pass


def matches(a):
    match a:
        case 1:
            return "one"
        case [x, y] if x > y:
            b = x
        case {"k": v} | [v]:
            b = v
        case int() | str(): return "it"  # fmt: skip
        case None:
            b = 0
        case _:
            b = 1
    match b:
        case 5:
            b = 3
        case 1:
            b = 2
    return b


def generators(n):
    for i in range(n):
        if i:
            yield i
    yield from (j for j in range(n) if j > 1)
    x = yield
    if x:
        yield x


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

    def method(self): return self.x  # fmt: skip


def excluded(n):
    if n:  # pragma: no cover
        return 1
    if n == 0:  # pragma: no branch
        n = 2
    if n == 3:
        raise ValueError  # pragma: no cover
    assert n, "message"
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
        if a == 4: break  # fmt: skip
    return a


def main():
    one_line(1)
    branches(0), branches(1)
    loops(5)
    contexts(0), contexts(1)
    exceptions(0)
    groups()
    for value in (1, [2, 1], {"k": 2}, "x", None, 1.5):
        matches(value)
    list(generators(4))
    list(generators(0))
    decorated()()
    Decorated().method()
    excluded(0)
    constants()
    thread = threading.Thread(target=loops, args=(1,))
    thread.start()
    thread.join()


if __name__ == "__main__":
    main()
