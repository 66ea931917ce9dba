"""What some code did, without what it ran in."""

from seismo.model import Builder
from seismo.model.combine import subtree_of

BEFORE = 4


def test_code_with_all_it_called_and_the_threads_that_began():
    b = Builder()
    process = b.process()
    main, other, new = (b.thread(process, name=name) for name in ("main", "other", "new"))
    shell, cell, helper, loop = (
        b.function("m", name, file)
        for name, file in (("shell", "s.py"), ("cell", "c"), ("help", "h.py"), ("loop", "l.py"))
    )
    top = b.node(-1, main, shell, calls=0, own_ns=900, flags=BEFORE)
    b.node(top, main, helper, calls=5, own_ns=50)
    its = b.node(top, main, cell, calls=1, own_ns=10)
    b.node(b.node(its, main, helper, calls=2, own_ns=20), main, cell, calls=3, own_ns=1)
    waits = b.node(-1, other, loop, calls=0, own_ns=5000, flags=BEFORE)
    b.node(waits, other, helper, calls=7, own_ns=70)
    b.node(b.node(-1, new, loop, calls=1, own_ns=4), new, helper, calls=1, own_ns=2)
    part = subtree_of(b.build({}), "c".__eq__)
    names = part.functions["qualname"]
    assert [(names[row.function], row.parent, row.calls, row.own_ns) for row in part.tree] == [
        ("cell", -1, 1, 10),
        ("help", 0, 2, 20),
        ("cell", 1, 3, 1),
        ("loop", -1, 1, 4),
        ("help", 3, 1, 2),
    ]
    assert sum(part.functions["own_ns"]) == 37
    assert sum(part.merge().functions["calls"]) == 8


def test_nothing():
    assert len(subtree_of(Builder().build({}), bool).tree) == 0
