"""Parametrized tests as runs of one program with several sizes: how what they do grows with a parameter.

A test that is parametrized with whole numbers, such as `@pytest.mark.parametrize("n", [10, 100, 1000])`, says how the
functions that it calls grow with n. Which tests belong together is their *family*: one test function, one parameter
whose values differ, all others the same. A family has three sizes or more, the greatest at least four times the least;
what has fewer is more often a switch than a size.

Of functions, their calls in each test are known; of the test as a whole, its calls and its lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.check.growth import became_worse, growths
from seismo.check.measurement import Function, Measurement, Range

if TYPE_CHECKING:
    import pytest

    from seismo.check.growth import Growth
    from seismo.check.measurement import Counts

FEWEST, SPREAD = 3, 4
Sizes = dict[str, dict[str, int]]


def sizes_of(item: pytest.Item) -> dict[str, int]:
    """{the family that the test would be of: its size in it}, for each of its parameters that is a number above 0."""
    given: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    sizes = {name: value for name, value in given.items() if type(value) is int and value > 0}
    if not sizes:
        return {}
    base = item.nodeid.partition("[")[0]
    found = {}
    for name, value in sizes.items():
        others = "".join(f", {other}={_text(given[other])}" for other in sorted(given) if other != name)
        found[f"{base}[{name}{others}]"] = value
    return found


def _text(value: object) -> str:
    """What tells values of other parameters apart; they may be anything."""
    return repr(value) if isinstance(value, (int, float, str, bool, type(None))) else f"{type(value).__qualname__}"


def families(sizes: Sizes) -> dict[str, set[str]]:
    """{test: the families that it is in}, of those that have sizes enough."""
    members: dict[str, dict[str, int]] = {}
    for test, of in sizes.items():
        for family, size in of.items():
            members.setdefault(family, {})[test] = size
    found: dict[str, set[str]] = {}
    for family, tests in members.items():
        numbers = set(tests.values())
        if len(numbers) == len(tests) >= FEWEST and max(numbers) >= SPREAD * min(numbers):
            for test in tests:
                found.setdefault(test, set()).add(family)
    return found


def grown(measured: Measurement, sizes: Sizes) -> dict[Function, Growth]:
    """How the functions of each family grow, and the family as a whole, under a name that says which family it is."""
    by_family: dict[str, dict[int, Measurement]] = {}
    kept = {test: of for test, of in sizes.items() if test in measured.tests}
    for test, names in families(kept).items():
        counts = measured.tests[test]
        whole: Counts = {quantity: counts[quantity] for quantity in ("calls", "lines") if quantity in counts}
        for family in names:
            functions = {
                _of_family(function, family): {"calls": Range(number, number)}
                for function, number in measured.of_tests.get(test, {}).items()
            }
            functions[_whole(family)] = whole
            by_family.setdefault(family, {})[kept[test][family]] = Measurement(functions=functions)
    found: dict[Function, Growth] = {}
    for measurements in by_family.values():
        found |= growths(measurements)
    return found


def _whole(family: str) -> Function:
    """The family as a function, which is shown under its name."""
    file, _, rest = family.partition("::")
    return Function(file, f":{rest}")


def _of_family(function: Function, family: str) -> Function:
    """The function as one of a family."""
    return function._replace(qualname=f"{function.qualname} in {family}")


def worse(old: Measurement, new: Measurement) -> list[tuple[Growth, Growth | None]]:
    """What became worse than linear; of a function that several families have, where it is steepest."""
    before, now = grown(old, new.sizes), grown(new, new.sizes)
    # Where the old side is a file it has the tests as a whole.
    known = {one for one in now if one in before or (old.of_tests and not one.qualname.startswith(":"))}
    found: list[tuple[Growth, Growth | None]] = []
    seen = set()
    for after, had in became_worse(before, {one: growth for one, growth in now.items() if one in known}):
        name = after.function.qualname.partition(" in ")[0]
        if (after.function.module, name) not in seen:
            seen.add((after.function.module, name))
            found.append((after, had))
    return found
