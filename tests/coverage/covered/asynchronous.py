"""Coroutines and tasks, with asyncio's own modules imported anew: for the comparison with coverage.py."""

import sys

for module in [name for name in sys.modules if name.partition(".")[0] == "asyncio"]:
    del sys.modules[module]

import asyncio


class Turns:
    def __init__(self, n):
        self.n = n

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.n:
            self.n -= 1
            return self.n
        raise StopAsyncIteration

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await asyncio.sleep(0)
        return True


async def turns(n):
    async for i in Turns(n):
        if i == 1:
            continue
        n += i
    else:
        n = 5
    async for i in Turns(3):
        break
    async with Turns(1) as t:
        if t:
            raise ValueError
    return [i async for i in Turns(n) if i], [await one(i) for i in range(3)]


async def never(n):
    async for i in Turns(n):
        if i:
            pass


async def last(n):
    total = 0
    async for i in Turns(n):
        total += i
        if total > 3:
            break
    else:
        total = -1


async def plain(n):
    async for i in Turns(n):
        await one(i)


async def left(n):
    async for i in Turns(n):
        return i


async def broken_off(n):
    async for i in Turns(n):
        if i:
            break
    n += 1


async def fails():
    async for i in Turns(None):
        await one(i)


async def listed(n):
    return [
        i
        async for i in Turns(n)
        if i
    ]


async def one(n):
    await asyncio.sleep(0)
    if n == 2:
        return 2
    return n


async def made(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)


async def main():
    await turns(2)
    for each in plain(0), plain(2), last(9), last(1), left(3), broken_off(5), listed(3):
        await each
    try:
        await fails()
    except TypeError:
        pass
    first = asyncio.create_task(one(1))
    second = asyncio.create_task(asyncio.sleep(100))
    await asyncio.gather(first, one(2))
    second.cancel()
    try:
        await second
    except asyncio.CancelledError:
        pass
    async with asyncio.TaskGroup() as group:
        group.create_task(one(3))
    async for i in made(3):
        if i == 1:
            break
    try:
        async with asyncio.timeout(0):
            await asyncio.sleep(10)
    except TimeoutError:
        pass
    lock, queue = asyncio.Lock(), asyncio.Queue(1)
    async with lock:
        await queue.put(1)
    await queue.get()


asyncio.run(main())
