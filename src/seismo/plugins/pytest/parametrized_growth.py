"""Growth of parametrized tests: the sizes of a test are compared like the input sizes of a program.

A test that is parametrized with integers, such as `@pytest.mark.parametrize("n", [10, 100, 1000])`, shows how the
functions that it calls grow with n. Tests that belong together are a *family*: one test function and one varying
parameter, with all others equal. A family has at least three sizes, the greatest at least four times the least. A
parameter with fewer values is more likely a switch than a size.

Growth is computed from the calls of each function in a test, and from the calls and lines of the whole test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.check.growth_by_size import Growth, became_worse, growths
from seismo.check.measurement import Counts, Function, Measurement, Range

if TYPE_CHECKING:
    import pytest


FEWEST, SPREAD = 3, 4
Sizes = dict[str, dict[str, int]]


def sizes_of(item: pytest.Item) -> dict[str, int]:
    """Return {family: size} for each parameter of the test that is a positive integer."""
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
    """Return a text that distinguishes values of other parameters, which may be any objects."""
    return repr(value) if isinstance(value, (int, float, str, bool, type(None))) else f"{type(value).__qualname__}"


def families(sizes: Sizes) -> dict[str, set[str]]:
    """Return {test: its families} for families with enough sizes."""
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
    """Return the growth of each family and of the functions in it; the functions have the family in their names."""
    by_family: dict[str, dict[int, Measurement]] = {}
    kept = {test: of for test, of in sizes.items() if test in measured.tests}
    for test, names in families(kept).items():
        counts = measured.tests[test]
        whole: Counts = {quantity: counts[quantity] for quantity in ("calls", "lines") if quantity in counts}
        for family in names:
            functions = {
                function._replace(qualname=f"{function.qualname} in {family}"): {"calls": Range(number, number)}
                for function, number in measured.of_tests.get(test, {}).items()
            }
            file, _, rest = family.partition("::")
            functions[Function(file, f":{rest}")] = whole  # a stand-in for the family as a whole
            by_family.setdefault(family, {})[kept[test][family]] = Measurement(functions=functions)
    found: dict[Function, Growth] = {}
    for measurements in by_family.values():
        found |= growths(measurements)
    return found


def worse(old: Measurement, new: Measurement) -> list[tuple[Growth, Growth | None]]:
    """Return growths that became worse than linear; for a function in several families, only the worst one."""
    before, now = grown(old, new.sizes), grown(new, new.sizes)
    # A baseline file has no counts of functions in a test, only those of the whole test.
    known = {one for one in now if one in before or (old.of_tests and not one.qualname.startswith(":"))}
    found: list[tuple[Growth, Growth | None]] = []
    seen = set()
    for after, had in became_worse(before, {one: growth for one, growth in now.items() if one in known}):
        name = after.function.qualname.partition(" in ")[0]
        if (after.function.module, name) not in seen:
            seen.add((after.function.module, name))
            found.append((after, had))
    return found
