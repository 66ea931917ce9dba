"""What counts as a C function, and what it is called: functions that Cython, mypyc and pybind11 made, too."""

import sys
from pathlib import Path

import children
import extensions
import pytest
from lab import WITH_C, leaf, recorded
from recorded import C

pytestmark = pytest.mark.parametrize("source", WITH_C)


@pytest.fixture(scope="session")
def kinds(tmp_path_factory):
    """The extension module, built."""
    flags = ("-std=c11", "-Wall", "-Wextra")
    return extensions.module(Path(__file__).with_name("kinds.c"), extensions.shared(tmp_path_factory, "kinds"), *flags)


def called(source, work):
    """The C functions that work() calls: module and qualified name, calls, exceptions; and the tree."""
    found = recorded(source, work, c_functions="all")
    names = {row["id"]: (row["module"], row["qualname"]) for row in found.functions() if row["kind"] == C}
    rows = {}
    for node in found.tables["nodes"]:
        if node["function"] in names:
            calls, exceptions = rows.get(names[node["function"]], (0, 0))
            rows[names[node["function"]]] = (calls + node["calls"], exceptions + node["exceptions"])
    return rows, found


def test_functions_of_cython(source, kinds):
    """Those that sys.monitoring tells of; the profile function does not, and the recording says so."""

    class Order:
        tax = kinds.tax

    def work():
        for _ in range(3):
            kinds.price(1)
        order = Order()
        order.tax()
        bound = order.tax
        bound()
        kinds.price(leaf)
        try:  # noqa: SIM105 (suppress calls C functions of its own)
            kinds.price()
        except ValueError:
            pass

    sys.modules["_cython_3_9_9"] = kinds
    try:
        rows, found = called(source, work)
    finally:
        del sys.modules["_cython_3_9_9"]
    if source not in ("monitoring", "starts"):
        assert rows == {}
        assert found.losses["cython-unseen"] == 1
        return
    assert rows == {("shop.prices", "price"): (5, 1), ("shop.prices", "Order.tax"): (2, 0)}
    assert "cython-unseen" not in found.losses
    (root,) = found.forests()["MainThread"]
    (price,) = (child for child in root.children if child.name == "price")
    assert [(child.name, child.calls) for child in price.children] == [("leaf", 1)]


def test_without_cython_there_is_no_such_note(source):
    here = [name for name in sys.modules if name.startswith("_cython_3")]
    _, found = called(source, leaf)
    assert ("cython-unseen" in found.losses) == (bool(here) and source not in ("monitoring", "starts"))


def test_methods_of_types_whose_name_has_no_module(source, kinds):
    """As mypyc's: the module is the type's own __module__."""

    def work():
        animal = kinds.Animal()
        animal.speak()
        speak = animal.speak
        speak()
        kinds.Animal.speak(animal)

    assert called(source, work)[0] == {("shop.animals", "Animal.speak"): (3, 0)}


def test_functions_bound_to_capsules(source, kinds):
    """As pybind11's: no methods of the capsule."""
    assert called(source, kinds.add)[0] == {("shop.sums", "add"): (1, 0)}


def test_a_module_that_cython_made(source, tmp_path_factory):
    """The compiler's own, where it is installed."""
    folder = extensions.compiled(tmp_path_factory)
    program = (
        "import seismo, compiled_by_cython as shop\n"
        f"with seismo.profile(c_functions='all', source={source!r}) as p: shop.price(1); shop.price(2)\n"
        "rows = {(row.module, row.qualname): row.calls for row in p.recording.functions}\n"
        "print(rows.get((shop.__name__, 'price')), 'cython-unseen' in list(p.recording.losses['kind']))\n"
    )
    out = children.python("-c", program, env=children.environment(folder))
    assert out.stdout == ("2 False\n" if source in ("monitoring", "starts") else "None True\n")
