"""Recordings of births and deaths for tests: a handmade one, and random ones."""

import random

from object_builder import ObjectBuilder as Builder

META = {"recorder": "lifetimes", "seismo": "0.1.0"}


def told():
    """Return a recording of a service.

    `handle` leaks a Session per call and fills a cache; most of what `parse` creates is garbage.
    """
    b = Builder()
    b.process(pid=1, start_ns=1000, end_ns=2000)
    handle = b.function("app", "handle", "/src/app.py", 10)
    parse = b.function("app", "parse", "/src/app.py", 30)
    session = b.type("app", "Session", born=20, died=0, flags=3, size=48, peak=20)
    dict_ = b.type("builtins", "dict", born=120, died=110, died_by_gc=40, flags=2 | 8, size=64, peak=60)
    tuple_ = b.type("builtins", "tuple", born=1000, died=998, flags=2 | 4, size=40, item_size=8, item_bytes=16_000)
    float_ = b.type("builtins", "float", born=500, died=500, size=24, peak=3, before=7)
    leaked = b.object(session, handle, 12, born=20, span_born=20, span_live=20)
    cached = b.object(dict_, handle, 13, born=10, died=0, span_born=10, span_live=10)
    b.object(dict_, parse, 31, born=110, died=110, died_by_gc=40, peak=50)
    last = b.object(tuple_, handle, 15, born=700, died=698, peak=4, item_bytes=10_000, span_born=100, span_live=2)
    short = b.object(tuple_, parse, 33, born=300, died=300, peak=2, item_bytes=6_000)
    b.object(float_, parse, 33, born=500, died=500, peak=3)
    for bucket, count in ((0, 100), (4, 150), (5, 30), (9, 20)):
        b.lifetime(short, 0, bucket, count)
    b.lifetime(short, 1, 6, 300)
    for call in range(20):
        b.object_span(handle, call, start_ns=1000 + call, end_ns=1001 + call, born=7, died=5, live=1)
        b.object_survivor(call, leaked, 1)
        if call < 2:
            b.object_survivor(call, cached, 5)
    b.object_survivor(19, last, 2)
    module = b.holder(leaked, -1, "list", "sessions", count=18, asked=20)
    b.holder(leaked, module, "module app", "", flags=1, count=18, asked=20)
    b.mark("before", 100, 1001)
    for time in range(4):
        b.object_time(1000 + 10 * time, 100 * time, 90 * time)
    return b.build(META)


def drawn(seed, pid=1, paths=True, growth=1):
    """Return a random recording. The same seed with a larger `growth` returns a later snapshot of it."""
    rng = random.Random(seed)
    b = Builder()
    process = b.process(pid=pid, start_ns=1000 + pid)
    functions = [
        b.function("app", f"f{i}", "/src/app.py", 10 * i) for i in sorted(rng.sample(range(9), rng.randint(1, 5)))
    ]
    nodes = []
    for _ in range(rng.randint(1, 2) if paths else 0):
        thread = b.thread(process)
        for _ in range(4):
            mine = [node for node in nodes if node[1] == thread]
            parent = rng.choice([(-1, thread), *mine])[0]
            nodes.append((b.node(parent, thread, rng.choice(functions), calls=5 * growth, own_ns=100 * growth), thread))
    types = [
        b.type("app", f"T{i}", **_counts(rng, growth), flags=rng.choice((0, 4, 32)), size=16 * (i + 1), before=growth)
        for i in range(rng.randint(1, 4))
    ]
    places = {
        (rng.choice(types), rng.choice([-1, *functions]), rng.randint(0, 3), rng.choice([-1, *(n for n, _ in nodes)]))
        for _ in range(8)
    }
    objects = [
        b.object(*place, **_counts(rng, growth), flags=rng.choice((0, 1)), span_born=growth, item_bytes=8 * growth)
        for place in sorted(places)
    ]
    for object_ in objects:
        for unit, bucket in sorted({(rng.randint(0, 1), rng.randint(0, 20)) for _ in range(3)}):
            b.lifetime(object_, unit, bucket, rng.randint(1, 9) * growth)
    spans = [
        b.object_span(rng.choice([-1, *functions]), call, start_ns=call, end_ns=call + 1, born=3, died=1, live=1)
        for call in range(3 * growth)
    ]
    for span, object_ in sorted({(rng.choice(spans), rng.choice(objects)) for _ in range(4)}):
        b.object_survivor(span, object_, rng.randint(1, 3))
    for object_ in objects[:2]:
        first = b.holder(object_, -1, rng.choice(("dict", "list")), "a", count=2, asked=3)
        b.holder(object_, first, "module app", rng.choice(("x", "y")), flags=1, count=2, asked=3)
        b.holder(object_, -1, "frame app:main", "v", flags=4, asked=3)
    for time in range(3 * growth):
        b.object_time(pid % 3 + 2 * time, 10 * time, 9 * time)
    b.mark("start", 1, 5)
    if growth > 1:
        b.mark("later", 9, 7)
    return b.build({**META, "pid": pid})


def _counts(rng, growth):
    born, gc = rng.randint(1, 50), rng.randint(0, 3)
    died = rng.randint(gc, max(gc, born))
    return {"born": born * growth, "died": min(born, died) * growth, "died_by_gc": min(gc, born, died) * growth}
