"""Two measurements held against limits: what is beyond, what is better, and what cannot be decided."""

import pytest
from counts import exact

from seismo.check.change_causes import suspects
from seismo.check.compare import Verdict, compare
from seismo.check.limits import parse_limit
from seismo.check.measurement import ELSEWHERE, Function, Measurement, Range, Stamp, over_runs
from seismo.errors import UsageError


def function(name):
    module, _, qualname = name.partition(":")
    return Function(module, qualname, f"{module}.py")


def measured(depth=None, tests=None, codes=None, **calls):
    """calls: app__load=3 is of app:load."""
    found = Measurement(depth=None if depth is None else Range(depth, depth))
    for name, number in calls.items():
        number = number if isinstance(number, tuple) else (number, number)
        found.functions[function(name.replace("__", ":"))] = {"calls": Range(*number)}
    found.tests = {name: exact(calls=number) for name, number in (tests or {}).items()}
    found.codes = {function(name.replace("__", ":")): code for name, code in (codes or {}).items()}
    return found


def verdict(old, new, limit, tolerated=0.0):
    return compare(old, new, [parse_limit(limit)], tolerated).verdict


@pytest.mark.parametrize(
    ("limit", "now", "said"),
    [
        ("calls <= +1%", 101, Verdict.WITHIN),
        ("calls <= +1%", 102, Verdict.BEYOND),
        ("calls <= +1% +1", 102, Verdict.WITHIN),
        ("calls < +2%", 102, Verdict.BEYOND),
        ("calls <= 99", 100, Verdict.BEYOND),
        ("calls <= -10%", 91, Verdict.BEYOND),
        ("calls <= -10%", 90, Verdict.WITHIN),
        ('calls("app.*") <= +0', 101, Verdict.BEYOND),
        ('calls("other.*") <= +0', 101, Verdict.WITHIN),
        ('each calls("*") <= +0', 101, Verdict.BEYOND),
        ("lines <= +1%", 100, Verdict.UNDECIDED),
    ],
)
def test_a_limit_says_what_is_allowed(limit, now, said):
    assert verdict(measured(app__load=100, other__f=0), measured(app__load=now, other__f=0), limit) is said
    assert str(parse_limit(str(parse_limit(limit)))) == str(parse_limit(limit))


@pytest.mark.parametrize(
    "limit",
    ["", "calls", "calls <=", "calls <= +x", "walls <= 1", "calls <= 1%", "calls(app.*) <= 1", "calls <= 1 +1",
     'depth("app") <= 3', "each depth <= 3", "any calls <= 3", "calls >= 3"],
)  # fmt: skip
def test_a_bad_limit_says_how_to_write_it(limit):
    with pytest.raises(UsageError) as told:
        parse_limit(limit)
    assert told.value.hint


def test_less_is_better_and_within():
    found = compare(measured(app__f=100), measured(app__f=50), [parse_limit("calls <= +1%")])
    assert found.findings[0].verdict is Verdict.BETTER
    assert found.verdict is Verdict.WITHIN


def test_a_new_function_counts_from_nothing():
    found = compare(measured(app__f=1), measured(app__f=1, app__g=5), [parse_limit("each calls <= +1%")])
    assert [(one.subject, one.growth) for one in found.beyond] == [(function("app:g"), float("inf"))]


def test_a_new_test_has_nothing_to_be_compared_with_but_a_budget():
    old, new = measured(tests={"a": 5}), measured(tests={"a": 5, "b": 50})
    assert verdict(old, new, "test calls <= +1%") is Verdict.WITHIN
    assert [one.subject for one in compare(old, new, [parse_limit("test calls <= 20")]).beyond] == ["b"]
    assert verdict(old, measured(tests={"a": 6}), "test calls <= +1%") is Verdict.BEYOND


def test_the_depth_is_of_the_whole_program():
    assert verdict(measured(depth=10), measured(depth=11), "depth <= +0") is Verdict.BEYOND
    assert verdict(measured(depth=10), measured(depth=11), "depth <= 11") is Verdict.WITHIN
    assert verdict(measured(), measured(depth=11), "depth <= +1") is Verdict.UNDECIDED


def test_what_differs_from_run_to_run_is_a_range():
    both = over_runs([measured(app__f=10, app__g=1), measured(app__f=12)])
    assert both.functions == {function("app:f"): {"calls": Range(10, 12)}, function("app:g"): {"calls": Range(0, 1)}}


def test_runs_that_did_not_count_a_quantity_say_nothing_of_it():
    counted = Measurement(functions={function("app:f"): exact(calls=3)})
    born = Measurement(functions={function("app:f"): exact(births=7)})
    assert over_runs([counted, born]).functions[function("app:f")] == exact(calls=3, births=7)


def test_a_small_difference_between_runs_is_no_change_and_a_large_change_is_one():
    old = measured(app__f=(1000, 1010))
    assert verdict(old, measured(app__f=(1012, 1025)), "calls <= +0") is Verdict.WITHIN
    assert verdict(old, measured(app__f=(1300, 1310)), "calls <= +1%") is Verdict.BEYOND


def test_what_differs_much_is_left_out_and_listed():
    found = compare(
        measured(app__poll=(100, 900), app__f=10000), measured(app__poll=(5000, 5001), app__f=10000),
        [parse_limit("calls <= +1%"), parse_limit("each calls <= +1%")],
    )  # fmt: skip
    assert found.left_out == {function("app:poll"): ["calls"]}
    assert found.verdict is Verdict.WITHIN


def test_where_everything_differs_nothing_is_decided():
    old, new = measured(app__poll=(100, 900), app__f=10), measured(app__poll=(100, 800), app__f=10)
    found = compare(old, new, [parse_limit("calls <= +1%")])
    assert found.verdict is Verdict.UNDECIDED
    assert found.findings[0].share > 0.9


def test_a_relative_band_is_for_other_versions():
    old, new = measured(app__f=1000), measured(app__f=1040)
    assert verdict(old, new, "calls <= +1%") is Verdict.BEYOND
    assert verdict(old, new, "calls <= +1%", 0.05) is Verdict.WITHIN


def test_a_renamed_function_is_followed_by_what_it_consists_of():
    old = measured(app__load=100, app__f=1, codes={"app__load": "c1", "app__f": "c2"})
    new = measured(app__read=100, app__f=1, codes={"app__read": "c1", "app__f": "c2"})
    found = compare(old, new, [parse_limit("each calls <= +0")])
    assert found.renamed == {function("app:read"): function("app:load")}
    assert found.verdict is Verdict.WITHIN


def test_functions_of_a_file_that_moved_are_followed_and_a_copy_is_not():
    old = measured(app__f=1, app__g=2, codes={"app__f": "same", "app__g": "same"})
    new = measured(lib__f=1, lib__g=2, codes={"lib__f": "same", "lib__g": "same"})
    assert compare(old, new, []).renamed == {function("lib:f"): function("app:f"), function("lib:g"): function("app:g")}
    copied = measured(app__f=1, app__copy=1, codes={"app__f": "same", "app__copy": "same"})
    assert compare(measured(app__f=1, app__h=1, codes={"app__f": "same", "app__h": "same"}), copied, []).renamed == {}


def test_objects_that_only_got_a_known_line_are_no_more_objects():
    def born(known, elsewhere):
        return Measurement(functions={function("app:f"): exact(births=known), ELSEWHERE: exact(births=elsewhere)})

    assert verdict(born(1000, 500), born(1400, 100), "births <= +1%") is Verdict.WITHIN
    assert verdict(born(1000, 500), born(1400, 500), "births <= +1%") is Verdict.BEYOND
    assert verdict(born(1000, 500), born(1000, 5000), "births <= +1%") is Verdict.WITHIN
    assert verdict(born(1000, 500), born(1000, 5000), "each births <= +1%") is Verdict.WITHIN
    assert suspects(compare(born(1000, 500), born(1000, 5000), [])) == []


def test_stamps_say_what_makes_counts_incomparable():
    old = Stamp("script a.py", "3.13.4", "linux-x86_64", "1.0", {"numpy": "2.1", "old": "1"})
    new = Stamp("script a.py", "3.13.5", "linux-x86_64", "1.1", {"numpy": "2.2"})
    assert old.differences(new) == [
        "Python was 3.13.4 and is 3.13.5",
        "numpy was 2.1 and is 2.2",
        "old was 1 and is absent",
    ]
    assert old.differences(old) == []
