"""Random recordings of calls and of coverage, the same ones for the same seed."""

import random

from seismo.model import Builder


def calls(seed, pid=None, paths=40, functions=12, start=None):
    """A process of several threads. Its tree depends on the seed alone, and so do its times, which have errors."""
    some = random.Random(seed)
    b = Builder()
    start = start if start is not None else 10**18 + seed
    pid = seed if pid is None else pid
    process = b.process(
        pid, host=f"h{pid % 3}", argv=["app.py", "ü"], start_ns=start, end_ns=start + 10**9, cost_error=0.2
    )
    known = [b.function(f"m{i % 4}", f"f{i}", f"/src/m{i % 4}.py", i + 1, kind=i % 2) for i in range(functions)]
    for number in range(some.randint(1, 3)):
        thread = b.thread(process, "MainThread" if not number else f"w{number}", main=not number, wall_ns=10**9)
        nodes = [-1]
        for _ in range(some.randint(1, paths)):
            own = some.randint(0, 10**7)
            columns = {"calls": some.randint(0, 99), "own_ns": own, "flags": some.choice((0, 1))}
            columns |= {"wait_ns": own // 3, "ready_ns": own // 5} if some.random() < 0.3 else {}
            columns |= {"resumes": some.randint(0, 3), "exceptions": some.randint(0, 2), "awaits": some.randint(0, 1)}
            nodes.append(b.node(some.choice(nodes), thread, some.choice(known), **columns))
    b.loss("late-thread", some.randint(1, 4))
    return b.build({"recorder": "calltree", "seismo": "0.1.0"})


def covered(seed):
    """Lines, arcs and branches that ran in contexts, some of which other recordings have, too."""
    some = random.Random(seed)
    b = Builder()
    b.process(seed, start_ns=seed)
    lines, arcs = [], []
    for number in sorted(some.sample(range(9), 5)):
        function = b.function("m", f"f{number}", "m.py", 100 * number)
        for line in some.sample(range(100), some.randint(0, 90)):
            lines.append(b.line(function, line, some.randint(1, 5), sampled=2, sampled_ns=50, sampled_sq=9.0))
            arcs.append(b.arc(function, line, some.randint(0, 5), some.randint(1, 5)))
        place = {"offset": some.randint(0, 2), "kind": 1, "line": 3, "end_line": 3}
        b.add("branches", function=function, **place, fell=some.randint(0, 9), jumped=2, flags=some.randint(0, 3))
    b.source("m.py", "/src/m.py", some.randint(1, 2), 20, 30)
    for name in some.sample(["", "a", "b", f"c{seed}", f"d{seed}"], some.randint(0, 4)):
        b.context(name, *(some.sample(of, some.randint(0, len(of))) for of in (lines, arcs)))
    return b.build({"recorder": "coverage"})
