"""Who holds objects: found from their addresses, up to variables of the program; nothing of the program runs."""

import collections
import functools
import gc
import sys
import threading
import types
from typing import ClassVar, NamedTuple

import children
import pytest

from seismo.process.objects import holder_search, reference_labels
from seismo.process.objects.recorder import why_not

# Only a recording of births and deaths leads there, and only to what its interpreters have. On older ones these tests
# may never end: up to 3.12.5, gc.get_referents of all objects puts what is in the free list of `_asyncio` there again,
# and the next collection goes round in it for ever (https://github.com/python/cpython/issues/122695).
pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "never")

ROOT, CYCLE, TOO_FAR, NOBODY = 1, 2, 4, 8
HERE = __name__


class Thing:
    def __init__(self, **fields):
        for name, value in fields.items():
            setattr(self, name, value)


class Slotted:
    __slots__ = ("part", "unset")

    def __init__(self, part):
        self.part = part


class Hostile(dict):
    """Whoever asks it anything is told that something of the program ran."""

    ran: ClassVar[list] = []

    def told(self, *_):
        Hostile.ran.append(sys._getframe(1).f_code.co_name)
        raise ZeroDivisionError

    __eq__ = __repr__ = __len__ = __iter__ = __getitem__ = __contains__ = items = values = keys = told
    __class__ = property(told)

    def __hash__(self):
        return self.told()

    def __getattribute__(self, name):
        Hostile.ran.append(name)
        raise AttributeError(name)


KEPT: dict = {}


class Fields(NamedTuple):
    first: object
    second: object


@pytest.fixture(autouse=True)
def _kept():
    """A new KEPT for each test, which the collector sees: what is older is hidden from it, and takes long to search."""
    global KEPT
    KEPT = {}
    yield
    KEPT = {}
    Hostile.ran.clear()
    vars(Thing).get("shared") and delattr(Thing, "shared")


def rows(*survivors):
    """The tree of who holds them; the caller keeps none of them in a variable of its own."""
    search = holder_search.Search(survivors, seconds=60)  # a busy machine, a debug build
    search.run()
    assert not search.cut
    return [tuple(row) for row in search.tree(survivors)]


def ways(*survivors):
    """Each way from the survivors to an end, as one line."""
    lines = []
    tree = rows(*survivors)
    parents = {row[0] for row in tree}
    for index in range(len(tree)):
        if index not in parents:
            steps = []
            at = index
            while at >= 0:
                parent, flags, _count, _asked, holder, by = tree[at]
                steps.append(f"{holder} {by}".strip() + ("!" if flags & ROOT else ""))
                at = parent
            lines.append(" < ".join(reversed(steps)))
    return lines


def keep(name, held):
    KEPT[name] = held
    return held


def test_module_variables_and_instances():
    address = id(keep("a", Thing(part=Thing(rows=[Thing()]))).part.rows[0])
    assert ways(address) == [f"list [0] < {HERE}.Thing .rows < {HERE}.Thing .part < dict ['a'] < module {HERE} KEPT!"]


def test_slots_named_tuples_and_tuples():
    address = id(keep("s", [Slotted(Fields(1, ("x", Thing())))])[0].part.second[1])
    [way] = ways(address)
    assert way.startswith(f"tuple [1] < {HERE}.Fields .second < {HERE}.Slotted .part < list [0] < dict ['s'] <")


def test_several_are_put_together():
    addresses = [id(held) for held in keep("many", [Thing(number=number) for number in range(10)])]
    tree = rows(*addresses)
    assert [row[1:] for row in tree] == [
        (0, 10, 10, "list", "[…]"),
        (0, 10, 10, "dict", "['many']"),
        (ROOT, 10, 10, f"module {HERE}", "KEPT"),
    ]
    assert [row[0] for row in tree] == [-1, 0, 1]


def test_a_local_variable_of_a_running_function():
    def function():
        local = Thing()
        return ways(id(local))

    assert function() == [f"frame {HERE}:{function.__qualname__} local!"]


def test_a_local_variable_of_another_thread():
    begun, end = threading.Event(), threading.Event()
    found = []

    def worker():
        local = Thing()
        found.append(id(local))
        begun.set()
        end.wait(60)

    thread = threading.Thread(target=worker)
    thread.start()
    begun.wait(60)
    try:
        assert f"frame {HERE}:{worker.__qualname__} local!" in ways(found[0])
    finally:
        end.set()
        thread.join()


def test_closures_and_generators():
    def make():
        inner = Thing()

        def function():
            return inner

        return function, id(inner)

    KEPT["function"], address = make()
    [way] = ways(address)
    assert way.startswith(f"function {HERE}:{make.__qualname__}.<locals>.function inner < dict ['function'] <")

    def generate():
        local = Thing()
        yield id(local)

    KEPT["generator"] = collections.deque([generate()])
    [way] = ways(next(KEPT["generator"][0]))
    assert way.startswith(f"generator {generate.__qualname__} local < collections.deque [0] < dict ['generator'] <")


def test_classes_functions_and_partials(thawed):
    Thing.shared = Slotted(1)
    found = ways(id(Thing.shared))
    assert found == [f"type {HERE}.Thing .shared!"]
    keep("partial", functools.partial(print, Thing()))
    [way] = ways(id(KEPT["partial"].args[0]))
    assert way.startswith("tuple [0] < functools.partial .args < dict ['partial'] <")


def test_a_default_of_a_module_function(thawed):
    found = ways(id(module_function.__defaults__[0]))
    assert found == [f"tuple [0] < function {HERE}:module_function .__defaults__!"]


def module_function(known=Thing()):  # noqa: B008
    return known


def test_a_cycle_that_nobody_holds():
    one = Thing()
    one.other = Thing(back=one)
    address = id(one)
    del one
    tree = rows(address)
    assert tree[0][4:] == (f"{HERE}.Thing", ".back")
    assert any(row[1] & CYCLE for row in tree)
    assert not any(row[1] & ROOT for row in tree)
    gc.collect()


def test_cycles_do_not_hide_the_way_to_a_root():
    keep("parent", Thing(children=[]))
    KEPT["parent"].children += [Thing(parent=KEPT["parent"]) for _ in range(200)]
    found = ways(id(KEPT["parent"]))
    assert found == [f"dict ['parent'] < module {HERE} KEPT!"]


def test_containers_that_are_not_tracked_beside_others():
    text = "".join(["any", "thing", str(len(HERE))])
    address = id(text)
    keep("plain", (1, (2, text)))
    keep("list", [text])
    del text
    gc.collect()  # which forgets tuples of what can be in no cycle
    gc.collect()
    found = ways(address)
    assert any(way.startswith("tuple [1] < tuple [1] < dict ['plain'] <") for way in found), found
    assert any(way.startswith("list [0] < dict ['list'] <") for way in found), found


def test_long_ways():
    """Through chains of objects, with branches and back references."""
    part = Thing()
    end = part
    for _ in range(9):
        end = Thing(part=end, twice=[end, end])
        end.part.above = end
    KEPT["chain"] = end
    address = id(part)
    del part, end
    found = rows(address)
    assert len(found) > 9
    assert any(row[1] & ROOT for row in found)


def test_a_larger_heap_takes_no_more_python():
    """What is not on the way from a survivor to its roots is looked at in C only."""
    address = id(keep("held", [Thing()])[0])
    calls = 0

    def count(*_):
        nonlocal calls
        calls += 1

    def calls_of_a_search():
        nonlocal calls
        calls = 0
        sys.setprofile(count)
        try:
            rows(address)
        finally:
            sys.setprofile(None)
        return calls

    calls_of_a_search()
    before = calls_of_a_search()
    more = [[number, {number}] for number in range(20_000)]
    assert calls_of_a_search() < before + len(more) // 20


def test_the_dead():
    """Nothing is said about an address where nobody lives any more."""

    def dead():
        return id(Thing())

    search = holder_search.Search([dead()])
    search.run()
    assert search.tree([1]) == []


def test_nobody_is_found():
    """What was frozen out of the collector's sight holds unseen."""
    box = []
    gc.freeze()
    try:
        box.append(Thing())
        tree = rows(id(box[0]))
    finally:
        gc.unfreeze()
    assert [(row[1], row[4]) for row in tree] == [(NOBODY, "")]


def test_another_object_at_the_address():
    keep("now", Thing())
    search = holder_search.Search([id(KEPT["now"])])
    search.run()
    assert search.tree([id(KEPT["now"])], lambda held: type(held) is Slotted) == []
    assert search.tree([id(KEPT["now"])], lambda held: type(held) is Thing)


def test_nothing_of_the_program_runs():
    hostile = Hostile(a=1)
    dict.__setitem__(hostile, "held", Thing())
    keep("hostile", [hostile])
    address = id(dict.__getitem__(hostile, "held"))
    del hostile
    [way] = ways(address)
    assert way.startswith(f"{HERE}.Hostile ['held'] < list [0] < dict ['hostile'] <")
    assert Hostile.ran == []


def test_a_metaclass_and_a_lying_module_name():
    class Meta(type):
        def __getattribute__(cls, name):
            Hostile.ran.append(name)
            return super().__getattribute__(name)

    lying = Meta("Lying", (), {"__module__": property(lambda _: 1 // 0)})
    keep("lying", lying()).part = Thing()
    Hostile.ran.clear()
    [way] = ways(id(KEPT["lying"].part))
    Hostile.ran.remove("part") if "part" in Hostile.ran else None
    assert way.startswith("Lying .part < dict ['lying'] <")
    assert Hostile.ran == []


@pytest.mark.skipif(sys.version_info < (3, 13), reason="looking at a frame's variables makes it keep a copy of them")
def test_nothing_is_left_behind():
    keep("x", [Thing()])
    before = sys.getrefcount(KEPT["x"][0])
    address = id(KEPT["x"][0])
    gc.enable()
    rows(address)
    enabled = gc.isenabled()
    gc.disable()
    rows(address)
    after = sys.getrefcount(KEPT["x"][0])
    assert enabled
    assert not gc.isenabled()
    assert after == before


def test_time_is_bounded():
    keep("deep", [Thing()])
    search = holder_search.Search([id(KEPT["deep"][0])], seconds=-1)
    search.run()
    assert search.cut
    assert all(row[1] & TOO_FAR for row in search.tree([id(KEPT["deep"][0])]))


def test_code_that_was_run_in_a_namespace_of_its_own():
    namespace = {"__name__": "plugin"}
    exec("import gc\ndef function(): pass\nvalue = [[]]\n", namespace)
    KEPT["function"] = namespace.pop("function")
    address = id(namespace["value"][0])
    del namespace
    assert ways(address) == ["list [0] < module plugin value!"]


def test_frozen_objects():
    keep("frozen", [Thing()])
    gc.freeze()
    try:
        assert ways(id(Thing)) != []
        holder_search.Search([id(KEPT["frozen"][0])]).run()
    finally:
        gc.unfreeze()


def test_names():
    assert reference_labels.key_name("a'b") == '["a\'b"]'
    assert reference_labels.key_name("x" * 100) == "['" + "x" * 39 + "…']"
    assert reference_labels.key_name(7) == "[7]"
    assert reference_labels.key_name(Thing()) == f"[{HERE}.Thing]"
    assert reference_labels.describe(types) == ("module types", True)
    assert reference_labels.describe(dict) == ("type dict", True)
    assert reference_labels.describe(Thing.__init__) == (f"function {HERE}:Thing.__init__", True)


SERVICE = """\
class Page:
    pass


class Listener:
    pass


CACHE = {}
LISTENERS = []


def handle(number):
    CACHE[f"a {number}"] = [f"b {number}", f"c {number}"]
    CACHE[f"d {number}"] = [f"e {number}", f"f {number}"]
    CACHE[f"g {number}"] = [f"h {number}", f"i {number}"]
    CACHE[f"j {number}"] = [f"k {number}", f"l {number}"]
    CACHE[number] = Page()
    LISTENERS.append(Listener())


for number in range(1_000, 1_500):
    handle(number)
"""


def test_the_summary_names_what_grew_and_its_holders(tmp_path):
    """A cache and a list of listeners, though more strings than anything else live."""
    (tmp_path / "service.py").write_text(SERVICE)
    done = children.seismo("objects", "-o", "service.seismo", "service.py", cwd=tmp_path)
    lines = done.stderr.splitlines()
    for kind, holder in (("Page", "← […] of dict ← CACHE"), ("Listener", "← […] of list ← LISTENERS")):
        (at,) = [number for number, line in enumerate(lines) if f"__main__.{kind}" in line]
        assert lines[at].split()[0] == "500"
        assert lines[at + 1].strip() == f"{holder} of module __main__"
