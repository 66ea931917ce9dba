"""Programs whose births and deaths are known exactly, by type and by the line that makes them."""

import sys
import threading
import weakref

import pytest
from births import TRASHCAN, Thing, needs_tracer, recorded
from threads import in_threads

from seismo import _core

pytestmark = needs_tracer


class Slotted:
    __slots__ = ("value",)


class Failure(Exception):
    pass


def lines_of(births, function, type_):
    """{line, from the function's own: (born, died)} of a type."""
    first = next(row["line"] for row in births.tables["functions"] if row["qualname"].endswith(function))
    found = {}
    for row in births.objects():
        if row["type"] == type_ and row["function"].endswith(function):
            born, died = found.get(row["line"] - first, (0, 0))
            found[row["line"] - first] = (born + row["born"], died + row["died"])
    return found


def lists():
    kept = []
    for _ in range(300):
        kept.append([1, 2])
        [3, 4].sort()
    return [kept]


def tuples(value):
    for _ in range(300):
        pair = (value, value)
    return (pair, value)


def closures():
    made = []
    for _ in range(10):

        def inner():
            return free

        made.append(inner)
    free = 1
    return made


def generators():
    total = 0
    for _ in range(50):
        for value in (item for item in (1, 2, 3)):
            total += value
    return total


def classes():
    for _ in range(20):

        class Local:
            pass

        Local()


def failures():
    for _ in range(30):
        try:
            raise Failure("no")
        except Failure:
            pass


def comprehensions():
    squares = [Thing() for _ in range(40)]
    named = {index: Thing() for index in range(40)}
    return squares, named


def calls(*values, **named):
    return values, named


@pytest.mark.parametrize(
    ("program", "type_", "expected"),
    [
        pytest.param(lists, "list", {1: (1, 0), 3: (300, 0), 4: (300, 300), 5: (1, 0)}, id="lists"),
        pytest.param(lambda: tuples(Thing()), "tuple", {2: (300, 299), 3: (1, 0)}, id="tuples"),
        pytest.param(closures, "function", {4: (10, 0)}, id="functions"),
        pytest.param(classes, "classes.<locals>.Local", {6: (20, 20)}, id="classes"),
        pytest.param(failures, "Failure", {3: (30, 30)}, id="exceptions"),
        pytest.param(comprehensions, "Thing", {1: (40, 0), 2: (40, 0)}, id="comprehensions"),
    ],
)
def test_each_line_has_the_births_and_deaths_of_its_objects(program, type_, expected):
    with recorded() as births:
        kept = program()
    assert lines_of(births, "tuples" if type_ == "tuple" else program.__name__, type_) == expected
    del kept


def test_a_generator_is_made_where_its_function_begins():
    with recorded() as births:
        generators()
    assert lines_of(births, "generators.<locals>.<genexpr>", "generator") == {0: (50, 50)}


def test_types_and_lines_say_the_same():
    def churn():
        kept = []
        for index in range(500):
            kept.append(Thing())
            Slotted()
            if index % 5 == 0:
                kept.pop(0)
        return kept

    with recorded() as births:
        kept = churn()
    assert births.type("Thing", "born", "died", "live", "peak") == (500, 100, 400, 400)
    assert births.type("Slotted", "born", "died", "live", "peak") == (500, 500, 0, 1)
    assert births.total("Thing", "born") == 500
    assert births.total("Thing", "live") == len(kept)
    with recorded(objects="types") as births:
        del kept
        again = churn()
    assert births.type("Thing", "born", "died", "before") == (500, 100, 400)
    assert births.tables["objects"] == []
    del again


def test_what_was_there_before_is_told_apart():
    old = [Thing() for _ in range(50)]
    with recorded() as births:
        new = [Thing() for _ in range(20)]
        old.clear()
        new.pop()
    assert births.type("Thing", "born", "died", "before") == (20, 1, 50)


def test_the_caller_s_line_has_what_a_c_function_makes():
    text = "one two three four"

    def program():
        parts = text.split()
        return sorted(parts)

    with recorded() as births:
        kept = program()
    assert lines_of(births, "program", "list") == {1: (1, 1), 2: (1, 0)}
    assert lines_of(births, "program", "str") == {1: (4, 0)}
    del kept


def test_arguments_are_the_caller_s():
    def program(thing):
        calls(thing, thing, key=thing)

    with recorded() as births:
        program(Thing())
    assert lines_of(births, "program", "dict") == {1: (1, 1)}


def test_sizes_are_those_of_empty_objects_and_items_are_added_at_death():
    word = "é" * 100
    with recorded() as births:
        kept = [Thing(), Slotted(), [], (Slotted(),), b"x" * sys.getrefcount(word), {}, 1.5 * len(word)]
        del kept[:]
        for _ in range(10):
            tuple([word] * 7)
            word.join((word, word))
            "ab".ljust(50)
            bytes(100)
            2 ** (len(word) + 200)
    types = births.types()
    for empty in (Slotted(), [], (), "", 1.5):
        assert types[type(empty).__name__]["size"] == sys.getsizeof(empty)
    assert types["dict"]["size"] <= sys.getsizeof({})
    assert births.total("tuple", "item_bytes") >= 10 * (sys.getsizeof((word,) * 7) - sys.getsizeof(()))
    assert births.total("bytes", "item_bytes") >= 10 * 100
    joined = sys.getsizeof(word * 3) - sys.getsizeof("")
    padded = sys.getsizeof("ab".ljust(50)) - sys.getsizeof("")
    assert types["str"]["item_bytes"] >= 10 * (joined + padded)
    assert types["int"]["item_bytes"] >= 10 * (sys.getsizeof(2**300) - sys.getsizeof(0))
    outside = {name for name in ("list", "dict", "tuple", "str") if types[name]["flags"] & 8}
    assert outside == {"list", "dict"}
    assert types["Thing"]["flags"] & 1
    assert types["tuple"]["flags"] & 4


def test_generators_have_no_count_of_items():
    def endless():
        while True:
            yield 1

    with recorded() as births:
        for _ in range(10):
            next(endless())
    assert births.type("generator", "born", "died", "item_bytes") == (10, 10, 0)
    assert births.type("generator", "flags")[0] & 8


def test_names():
    def local():
        class Inner:
            class Nested:
                pass

        return Inner.Nested()

    named = type("Nämé", (), {})
    odd = type("Odd", (), {"__module__": 7})
    meta = type("Meta", (type,), {"__module__": "other"})
    with recorded() as births:
        kept = [local(), named(), odd(), meta("Made", (), {})(), threading.Lock()]
    rows = {(row["module"], row["name"]) for row in births.tables["types"]}
    here = __name__
    assert (here, "test_names.<locals>.local.<locals>.Inner.Nested") in rows
    assert (here, "Nämé") in rows
    assert ("", "Odd") in rows
    assert ("other", "Meta") in rows
    assert any(module == "_thread" for module, _ in rows)
    del kept


def test_classes_made_again_are_one_type_and_leave_no_memory():
    def make():
        class Again:
            pass

        return Again()

    with recorded() as births:
        for _ in range(200):
            make()
        before = _core.status()["keys_bytes"]
        for _ in range(2000):
            make()
        after = _core.status()["keys_bytes"]
    assert after == before
    assert births.type("Again", "born") == (2200,)


def test_code_made_again_is_one_line_and_leaves_no_memory():
    source = "def f():\n    return [1], (2, x)\n"

    def make(x):
        names = {"x": x}
        exec(source, names)
        made = names["f"]()
        names.clear()  # no cycle
        return made

    with recorded() as births:
        for _ in range(200):
            make(object())
        before = _core.status()["keys_bytes"]
        for _ in range(1000):
            make(object())
        after = _core.status()["keys_bytes"]
    assert after - before < 8000  # bytes, of 1,000 codes: other threads of the process run new lines meanwhile
    assert births.total("list", "born", "f") == 1200
    assert {row["line"] for row in births.objects() if row["function"] == "f"} == {2}


def test_threads_count_exactly():
    def work():
        kept = []
        for _ in range(3000):
            kept.append(Thing())
            if len(kept) == 10:
                kept.clear()
        for _ in (Slotted() for _ in range(1000)):
            pass

    with recorded(clock="monotonic") as births:
        in_threads(*[work] * 4)
    assert births.type("Thing", "born", "died") == (12000, 12000)
    assert births.type("Slotted", "born", "died") == (4000, 4000)
    assert births.total("Thing", "born") == 12000


def test_an_object_dropped_by_another_thread_dies_where_it_was_made():
    def program(done):
        made = [Thing() for _ in range(100)]
        in_threads(made.clear)
        done.append(made)

    done = []
    with recorded() as births:
        program(done)
    assert lines_of(births, "program", "Thing") == {1: (100, 100)}


@pytest.mark.skipif(TRASHCAN, reason="this version does not tell of deaths that its trashcan puts off (gh-156371)")
def test_a_deep_structure_dies_whole():
    def program():
        nested = None
        for _ in range(50_000):
            nested = [nested]

    with recorded() as births:
        program()
    assert lines_of(births, "program", "list") == {3: (50_000, 50_000)}


def test_what_init_leaves_behind_dies_in_the_line_that_made_the_object():
    class Holder:
        def __init__(self):
            thing = Slotting()
            self.kept = weakref.ref(thing, print), weakref.ref(thing, repr)

    class Slotting:
        pass

    def program():
        for _ in range(100):  # often enough for the call to be specialised
            Holder()

    with recorded() as births:
        program()
    found = {row["type"].rpartition(".")[2]: (row["born"], row["died"]) for row in births.objects()}
    assert found["Holder"] == found["Slotting"] == (100, 100)


def test_ages():
    def program():
        kept = [Thing() for _ in range(100)]
        for _ in range(1000):
            Slotted()
        kept.clear()

    with recorded() as births:
        program()
    ids = {row["type"]: row["id"] for row in births.objects() if row["function"].endswith("program")}
    ages = {}
    for row in births.tables["lifetimes"]:
        ages.setdefault((row["object"], row["unit"]), {})[row["bucket"]] = row["count"]
    assert ages[ids["Slotted"], 0] == {0: 1000}
    old = ages[ids["Thing"], 0]  # 4^5 = 1,024
    assert sum(old.values()) == 100
    assert set(old) <= {5, 6}
    assert sum(ages[ids["Thing"], 1].values()) == 100
    assert sum(ages[ids["Slotted"], 1].values()) == 1000


def test_code_that_is_made_where_hidden_code_was():
    """Code that dies takes with it what was known by its address: else the next one there had no births, or false."""
    source = "def made(value):\n    return [value]\n"
    at = {"/gone/hidden.py": set(), "/gone/shown.py": set()}
    with recorded(hide="/gone/hidden.py") as births:
        for i in range(2_000):
            file = ("/gone/hidden.py", "/gone/shown.py")[i // 5 % 2]
            names = {}
            exec(compile(source, file, "exec"), names)
            at[file].add(id(names["made"].__code__))
            for _ in range(10):
                names["made"](i)
            names.clear()  # no cycle is left: it dies now
    assert at["/gone/hidden.py"] & at["/gone/shown.py"]
    assert births.total("list", "born", "made") == 10_000
