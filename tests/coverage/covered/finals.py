"""Conditions in a `finally` that is gone through with an exception: the way on is out of the function, or to a handler."""


def fail():
    raise ValueError


def last(x):
    pop = True
    try:
        if x:
            return 1
        pop = False
        fail()
    finally:
        if pop:
            x = 2


def inside(x):
    pop = True
    try:
        try:
            pop = x
            fail()
        finally:
            if pop:
                x = 3
    except ValueError:
        x = 4
    return x


def looped(x):
    for i in range(3):
        try:
            if i == x:
                fail()
        finally:
            while x < 0:
                x += 1
    return x


def generated(x):
    try:
        yield x
        fail()
    finally:
        if x:
            x = 5


def managed(x):
    with open(__file__):
        try:
            fail()
        finally:
            if x:
                x = 6


def attempt(function, *arguments):
    try:
        result = function(*arguments)
        return list(result) if function is generated else result
    except ValueError:
        return None


for function in (last, inside, managed, generated):
    for x in (1, 0):
        attempt(function, x)
attempt(looped, -1)
attempt(looped, 1)
