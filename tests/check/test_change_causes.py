"""Whom a change comes from, on measurements made by hand: the right function is named first."""

import pytest
from counts import exact

from seismo.check.baseline import read_text, text_of
from seismo.check.change_causes import suspects
from seismo.check.compare import compare
from seismo.check.measurement import Function, Measurement, over_runs
from seismo.check.writers.wording import reason


def function(name):
    return Function("app", name, "app.py")


def measured(edges, lines=None, codes=None, texts=(), by_line=None):
    """edges: {(caller, callee): calls}, "" calls what is at the top; lines: {name: lines executed}."""
    made = Measurement()
    for (caller, callee), calls in edges.items():
        counts = made.functions.setdefault(function(callee), exact(calls=0, lines=(lines or {}).get(callee, 0)))
        counts.update(exact(calls=counts["calls"].low + calls))
        if caller:
            made.callers.setdefault(function(callee), {})[function(caller)] = calls
    names = {callee for _, callee in edges}

    def below(name, seen=()):
        out = [(callee, calls) for (caller, callee), calls in edges.items() if caller == name and callee not in seen]
        own = sum(calls for (_, callee), calls in edges.items() if callee == name)
        return own + sum(below(callee, (*seen, name)) for callee, _ in out)

    made.inclusive = {function(name): below(name) for name in names}
    made.codes = {function(name): (codes or {}).get(name, f"code-of-{name}") for name in names}
    if texts:
        made.texts = {"app.py": list(texts)}
        made.lines = {function(name): found for name, found in (by_line or {}).items()}
    return made


def first(old, new):
    return [one.function.qualname for one in suspects(compare(old, new, []))]


BEFORE = {("", "main"): 1, ("main", "load"): 1, ("load", "parse"): 100, ("parse", "clean"): 100}


def test_one_who_calls_more_is_named_and_not_what_is_called():
    new = measured({**BEFORE, ("load", "parse"): 200, ("parse", "clean"): 200}, codes={"load": "new"})
    assert first(measured(BEFORE), new) == ["load"]


def test_without_a_changed_code_the_calls_alone_tell():
    new = measured({**BEFORE, ("load", "parse"): 200, ("parse", "clean"): 200})
    assert first(measured(BEFORE), new) == ["load"]


def test_one_who_hands_down_more_is_named_before_those_who_work_on_it():
    new = measured({**BEFORE, ("load", "parse"): 900, ("parse", "clean"): 900}, codes={"main": "new"})
    assert first(measured(BEFORE), new)[0] == "main"


def test_a_function_that_lost_its_cache_is_named_and_not_its_caller():
    old = measured({("", "main"): 1, ("main", "get"): 100, ("get", "make"): 1, ("make", "part"): 50})
    new = measured({("", "main"): 1, ("main", "get"): 100, ("get", "make"): 100, ("make", "part"): 5000},
                   codes={"get": "new"})  # fmt: skip
    assert first(old, new)[0] == "get"
    decorated = measured({("", "main"): 1, ("main", "get"): 1, ("get", "part"): 50})
    bare = measured({("", "main"): 1, ("main", "get"): 100, ("get", "part"): 5000}, codes={"get": "new"})
    assert first(decorated, bare)[0] == "get"


def test_a_function_that_is_called_as_often_but_runs_more_lines():
    old = measured(BEFORE, lines={"parse": 300, "load": 100})
    new = measured(BEFORE, lines={"parse": 3000, "load": 100})
    assert first(old, new) == ["parse"]
    (suspect,) = suspects(compare(old, new, []))
    assert suspect.per_call
    assert suspect.changed is False


def test_where_nothing_grew_nobody_is_named():
    assert first(measured(BEFORE, lines={"load": 9}), measured(BEFORE, lines={"load": 8})) == []


def from_file(made):
    """The measurement as a baseline file has it."""
    return read_text(text_of(made))


MORE = {**BEFORE, ("load", "parse"): 200, ("parse", "clean"): 200}


@pytest.mark.parametrize(
    ("edges", "more", "named"),
    [
        (MORE, {"codes": {"load": "x"}}, "load"),  # in the same line
        (MORE, {"codes": {"load": "x"}, "lines": {"load": 201}}, "load"),
        (MORE, {"lines": {"load": 201}}, "load"),  # there is more data, and nobody knows where it comes from
        (MORE, {"codes": {"main": "x"}, "lines": {"load": 201}}, "main"),  # which hands it down
        ({**BEFORE, ("parse", "clean"): 900}, {"codes": {"parse": "x"}}, "parse"),
        ({**BEFORE, ("load", "help"): 9, ("help", "clean"): 900}, {"codes": {"load": "x"}}, "load"),  # by a new one
        ({**BEFORE, ("load", "help"): 9, ("help", "clean"): 900}, {}, "help"),  # which what did not change calls
        ({**BEFORE, ("load", "parse"): 900, ("parse", "clean"): 900}, {"codes": {"parse": "x"}}, "parse"),  # lost cache
    ],
)
def test_a_file_has_no_callers_and_one_change_still_names_one_function(edges, more, named):
    old = from_file(measured(BEFORE, lines={"load": 101}))
    (suspect,) = suspects(compare(old, measured(edges, **{"lines": {"load": 101}, **more}), []))
    assert suspect.function == function(named)
    assert suspect.called == suspect.callers == suspect.lines == []


def test_what_is_known_of_those_below_is_told():
    old = from_file(measured(BEFORE))
    (suspect,) = suspects(compare(old, measured(MORE, codes={"load": "x"}), []))
    assert [(one.qualname, counts["calls"]) for one, counts in suspect.below] == [
        ("parse", ((100, 100), (200, 200))), ("clean", ((100, 100), (200, 200))),
    ]  # fmt: skip
    assert not suspect.per_call
    assert reason(suspect) == "calls functions that do more"


WITH_TEXTS = measured(
    BEFORE, lines={"load": 100}, texts=["def load():", "    a", "    b"], by_line={"load": {2: 50, 3: 50}}
)


def test_lines_are_followed_when_others_come_before_them():
    new = measured(BEFORE, lines={"load": 150}, texts=["import x", "def load():", "    a", "    c", "    b"],
                   by_line={"load": {3: 50, 4: 50, 5: 50}})  # fmt: skip
    (suspect,) = suspects(compare(WITH_TEXTS, new, []))
    assert [(line.number, line.text, line.old, line.new) for line in suspect.lines] == [(4, "c", None, 50)]
    assert suspect.lines[0].note == "new"
    assert suspect.where == "app.py:4"


@pytest.mark.parametrize(
    ("now", "counts", "lines"),
    [
        (["def load():", "    a2", "    b"], {2: 900, 3: 50}, [(2, "edited", 50, 900)]),
        (["def load():", "    a2", "    b"], {2: 50, 3: 900}, [(3, "", 50, 900), (2, "edited", 50, 50)]),
        (["def load():", "    x", "    y", "    b"], {2: 900, 3: 90, 4: 50},
         [(2, "new or edited", None, 900), (3, "new or edited", None, 90)]),
    ],
)  # fmt: skip
def test_an_edited_line_is_not_one_that_never_ran(now, counts, lines):
    new = measured(
        BEFORE, lines={"load": sum(counts.values())}, texts=now, by_line={"load": counts}, codes={"load": "new"}
    )
    (suspect,) = suspects(compare(WITH_TEXTS, new, []))
    assert [(line.number, line.note, line.old, line.new) for line in suspect.lines] == lines


@pytest.mark.parametrize("calls", [100, 101])
def test_what_differs_from_run_to_run_is_nobodys(calls):
    noisy = over_runs([measured(BEFORE), measured({**BEFORE, ("parse", "clean"): 900})])
    assert "parse" not in first(noisy, measured({**BEFORE, ("parse", "clean"): calls}))
