"""Programs of every kind of control flow, each with the calls that it makes."""

PROGRAMS = {
    "asyncio": (
        """
import asyncio
async def leaf(n):
    await asyncio.sleep(0.001)
    return n
async def main():
    print(sum(await asyncio.gather(*(leaf(i) for i in range(20)))))
    async with asyncio.TaskGroup() as group:
        for i in range(5): group.create_task(leaf(i))
asyncio.run(main())
""",
        {"leaf": 25, "main": 1},
    ),
    "generators": (
        """
def numbers(n):
    for i in range(n): yield i
def chain(n):
    yield from numbers(n)
    yield from numbers(n)
print(sum(chain(10)))
made = chain(3)
next(made)
made.close()
print([x for x in numbers(3) for y in numbers(2)])
""",
        {"numbers": 2 + 1 + 1 + 3, "chain": 2},
    ),
    "recursion": (
        """
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(15))
""",
        {"fib": 1973},
    ),
    "exceptions": (
        """
def fails(n):
    if n == 0: raise KeyError
    fails(n - 1)
for i in range(10):
    try: fails(3)
    except KeyError: pass
print('done')
""",
        {"fails": 40},
    ),
    "threads": (
        """
import threading
def work():
    for i in range(1000): leaf()
def leaf(): pass
threads = [threading.Thread(target=work) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print('done')
""",
        {"work": 8, "leaf": 8000},
    ),
    "executors": (
        """
from concurrent.futures import ThreadPoolExecutor
def task(n): return n
with ThreadPoolExecutor(4) as executor: print(sum(executor.map(task, range(100))))
""",
        {"task": 100},
    ),
    "greenlets": (
        """
import greenlet
def child(n):
    for i in range(n): parent.switch(leaf(i))
    return -1
def leaf(i): return i
parent = greenlet.getcurrent()
children = [greenlet.greenlet(child) for _ in range(3)]
for c in children: c.switch(5)
for i in range(4):
    for c in children: c.switch()
print([c.switch() for c in children])
""",
        {"child": 3, "leaf": 15},
    ),
    "imports": ("import colorsys\ndef f(): pass\nf()\n", {"f": 1}),
    "code made at run time": (
        """
space = {}
for i in range(50):
    exec(f'def made(): return {i}', space)
    space['made']()
print(eval('(lambda: 3)()'))
""",
        {"made": 50, "<lambda>": 1},
    ),
    "three hundred children of one call": (
        """
space = {}
for i in range(300): exec(f"def f{i}(n): return n + {i}", space)
def parent(n):
    for i in range(300): n = space[f"f{i}"](n)
    return n
print(sum(parent(n) for n in range(20)))
""",
        {"parent": 20, "f0": 20, "f299": 20},
    ),
    "a collection in every call": (
        """
import gc, weakref
class Node: pass
def make(n):
    node = Node()
    node.me = node
    weakref.finalize(node, died.append, n)
    del node
    gc.collect(0)
died = []
for n in range(200): make(n)
gc.collect()
print(sum(died), len(gc.callbacks), gc.garbage)
""",
        {"make": 200},
    ),
}
