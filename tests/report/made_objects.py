"""A recording of objects made by hand: a server whose handler makes, throws away, caches and leaks."""

import textwrap
import zlib

from object_builder import ObjectBuilder as Builder

START = 1_790_000_000 * 10**9
MS = 10**6
SOURCE = textwrap.dedent(
    '''\
    """A server."""
    import re

    SESSIONS = {}


    class Session:
        def __init__(self, key):
            self.key = key
            self.seen = [key]


    def handle(request):
        tokens = [Token(part) for part in request.split()]
        SESSIONS[request] = Session(request)
        pattern = re.compile(tokens[0].text)
        globals()["last"] = Answer(tokens)
        return render(pattern)


    def render(pattern):
        node = Node(); node.itself = node
        return pattern.sub("<", str(node))
    '''
)


def server(folder, *, calls=1_000, paths=False, spans=True, sampled=False, hostile=""):
    """A recording of `calls` calls, 20 or more, of app:handle. hostile: what some names begin with."""
    folder.mkdir(exist_ok=True)
    path = folder / "app.py"
    path.write_text(SOURCE)
    b = Builder()
    end = START + 1_830 * MS
    b.process(pid=4312, argv=["app.py", "--serve"], start_ns=START, end_ns=end, source="reftracer", exit="0")
    main = b.thread(0, name="MainThread", main=1, wall_ns=end - START, start_ns=START, end_ns=end)
    b.source(str(path), str(path), len(SOURCE), crc=zlib.crc32(SOURCE.encode()))
    handle = b.function("app", f"{hostile}handle", str(path), 13)
    functions = {
        "handle": handle,
        "parts": b.function("app", f"{hostile}handle.<locals>.<listcomp>", str(path), 14),
        "render": b.function("app", "render", str(path), 21),
        "init": b.function("app", "Session.__init__", str(path), 8),
        "compile": b.function("re", "_compile", "/usr/lib/python3.14/re/__init__.py", 330),
        "": -1,
    }
    nodes = dict.fromkeys(functions, -1)
    if paths:
        root = b.node(-1, main, b.function("app", "<module>", str(path), 1), calls=1, own_ns=30 * MS)
        nodes["handle"] = b.node(root, main, handle, calls=calls, own_ns=300 * MS)
        for name, own in (("parts", 900), ("render", 500), ("init", 60), ("compile", 40)):
            nodes[name] = b.node(nodes["handle"], main, functions[name], calls=calls, own_ns=own * MS)
    objects = _objects(b, calls, functions, nodes, 1 if sampled else 0, spans, hostile)
    for step in range(201):
        born = round(step / 200 * 1_113 * calls)
        died = max(0, born - step * 2_080 // 200 - step * 37 % 900)
        b.object_time(START + step * 1_830 * MS // 200, born, died)
    if spans:
        _spans(b, handle, objects, calls)
    _holders(b, objects)
    b.mark("warm", 5_000, START + 20 * MS)
    if sampled:
        b.loss("objects-sampled", 4)
    made_by = {"implementation": "CPython", "python": "3.14.8", "platform": "linux", "seismo": "0.1.0"}
    return b.build({"recorder": "lifetimes", **made_by})


def _objects(b, n, functions, nodes, flags, spans, hostile):
    """The rows of types and objects. Returns the ids of the latter."""
    token, session = f"{hostile}Token", f"{hostile}Session"
    rows = [  # module, name, flags, size, function, line, born, died, by gc, peak, lifetimes in births and in ns
        ("app", token, 3, 56, "parts", 14, 600 * n, 600 * n, 0, 600, {3: 90 * n, 5: 510 * n}, {6: 600 * n}),
        ("builtins", "str", 4, 41, "parts", 14, 500 * n, 500 * n, 0, 620, {1: 500 * n}, {5: 500 * n}),
        ("builtins", "str", 4, 41, "render", 23, 9 * n, 9 * n, 0, 9, {1: 9 * n}, {4: 9 * n}),
        ("app", session, 3, 48, "handle", 15, n, 0, 0, n, {}, {}),
        ("builtins", "list", 11, 56, "init", 10, n, 0, 0, n, {}, {}),
        ("builtins", "dict", 11, 64, "handle", 15, 3, 2, 0, 2, {12: 2}, {15: 2}),
        ("app", "Answer", 3, 48, "handle", 17, n, n - 1, 0, 2, {6: n - 1}, {10: n - 1}),
        ("app", "Node", 3, 48, "render", 22, n, n - 20, n - 20, 700, {9: n - 20}, {13: n - 20}),
        ("re", "Pattern", 7, 88, "compile", 340, 12, 0, 0, 12, {}, {}),
        ("types", "CodeType", 4, 160, "", 0, 40, 4, 0, 36, {8: 4}, {12: 4}),
    ]
    types = {}
    for module, name, kind, size, *_ in rows:
        same = [row for row in rows if row[:2] == (module, name)]
        born, died, by_gc, peak = (sum(row[at] for row in same) for at in range(6, 10))
        items = died * 9 if kind & 4 else 0
        types[name] = types.get(name) or b.type(
            module, name, born=born, died=died, died_by_gc=by_gc, peak=peak, flags=kind, size=size,
            item_size=kind >> 2 & 1, item_bytes=items,
        )  # fmt: skip
    objects = []
    for _, name, kind, _, where, line, born, died, by_gc, peak, births, ns in rows:
        inside = spans and where != ""
        row = b.object(
            types[name], functions[where], line, nodes[where], born=born, died=died, died_by_gc=by_gc, peak=peak,
            flags=flags, item_bytes=died * 9 if kind & 4 else 0,
            span_born=born * inside, span_died=died * inside, span_live=(born - died) * inside,
        )  # fmt: skip
        objects.append(row)
        for unit, buckets in enumerate((births, ns)):
            for bucket, count in buckets.items():
                b.lifetime(row, unit, bucket, count)
    return objects


def _spans(b, handle, objects, calls):
    session, listed, kept, answer, node, pattern = (objects[row] for row in (3, 4, 5, 6, 7, 8))
    for call in range(calls):
        left = {session: 1, listed: 1}
        if call < 12:
            left[pattern] = 1
        if call == calls - 1:
            left[answer] = 1
            left[kept] = 1
        if call >= calls - 20:
            left[node] = 1
        start = START + call * 1_830 * MS // calls
        span = b.object_span(
            handle, call, 1, start_ns=start, end_ns=start + MS, born=1_114, died=1_114 - sum(left.values()),
            live=sum(left.values()),
        )  # fmt: skip
        for row, count in left.items():
            b.object_survivor(span, row, count)


def _holders(b, objects):
    session, listed = objects[3], objects[4]
    asked = 100
    table = b.holder(session, -1, "dict", "['…']", count=asked - 10, asked=asked)
    b.holder(session, table, "module app", "SESSIONS", count=asked - 10, asked=asked, flags=1)
    queue = b.holder(session, -1, "list", "[…]", count=10, asked=asked)
    store = b.holder(session, queue, "app.Queue", ".items", count=10, asked=asked)
    b.holder(session, store, "module app", "backlog", count=7, asked=asked, flags=1)
    b.holder(session, store, "frame app:main", "queue", count=3, asked=asked, flags=1)
    one = b.holder(listed, -1, "app.Session", ".seen", count=asked, asked=asked)
    table = b.holder(listed, one, "dict", "['…']", count=asked, asked=asked)
    b.holder(listed, table, "module app", "SESSIONS", count=asked, asked=asked, flags=1)
