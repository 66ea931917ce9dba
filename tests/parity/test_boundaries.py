"""Where a recording begins and ends: in the middle of stacks, in one frame or another, around other tools."""

import contextlib
import sys

import pytest
from lab import SOURCES, leaf, start
from program import MODES
from recorded import RUNNING, SEEDED, image, merged, shown, without

import seismo
from seismo import _core

pytestmark = pytest.mark.parametrize("source", SOURCES)


def repaired(source):
    """Repairs so far. Frame evaluation is not told how frames end that ran at the start: each such end is a repair."""
    return image().losses.get("repaired", 0) if source != "evalframe" else 0


def find(name):
    found = [node for root in image().forests()["MainThread"] for node in root.walk() if node.name == name]
    assert len(found) == 1, [node.name for node in found]
    return found[0]


def text(node):
    """A node as text, without start() above: its frame, too, was running when the recording began."""
    return shown(merged(without([node], lambda node: node.name == "start")))


@pytest.mark.parametrize("c_functions", MODES)
def test_frames_that_run_at_the_start(source, c_functions):
    def outer():
        inner()
        leaf()

    def inner():
        start(source, c_functions=c_functions, running=True)
        leaf()

    outer()
    leaf()
    _core.stop()
    assert repaired(source) == 0
    path = "test_frames_that_run_at_the_start.<locals>"
    node = find("test_frames_that_run_at_the_start")
    assert text(node) == (
        f"test_frames_that_run_at_the_start 0\n  leaf\n  {path}.outer 0\n    leaf\n    {path}.inner 0\n      leaf\n"
    )
    outer_node = next(child for child in node.children if child.name.endswith("outer"))
    assert outer_node.flags & SEEDED
    assert not outer_node.flags & RUNNING  # it has been left


def test_frames_that_run_are_left_out(source):
    def outer():
        inner()
        leaf()

    def inner():
        start(source)
        leaf()

    outer()
    leaf()
    _core.stop()
    assert shown(merged(image().forests()["MainThread"])) == "leaf 3\n"
    assert repaired(source) == 0


@pytest.mark.parametrize("c_functions", [mode for mode in MODES if mode != "none"])
def test_c_functions_that_a_frame_outside_of_the_recording_calls(source, c_functions):
    """They end where they end. What that frame calls next is not in them: in a process that is spawned, nearly all."""
    values = {"a": 1, "b": 2}
    start(source, c_functions=c_functions)
    values.pop("a")
    leaf()
    max((1, 2), key=lambda value: leaf() or value)
    with contextlib.suppress(KeyError):
        values.pop("c")
    leaf()
    _core.stop()
    nodes = [node for root in image().forests()["MainThread"] for node in root.walk()]
    (pop,) = (node for node in nodes if node.name == "dict.pop")
    assert (pop.calls, pop.exceptions, pop.children) == (2, 1, [])
    assert not any(node.flags & RUNNING for node in nodes)
    assert {node.name: node.calls for node in image().forests()["MainThread"]}["leaf"] == 2
    assert len([node for node in nodes if node.name == "leaf"]) == 2


def test_stopped_deeper(source):
    def outer():
        leaf()
        inner()

    def inner():
        leaf()
        _core.stop()
        leaf()

    start(source)
    outer()
    leaf()
    path = "test_stopped_deeper.<locals>"
    forest = image().forests()["MainThread"]
    assert shown(forest) == f"{path}.outer\n  leaf\n  {path}.inner\n    leaf\n"
    assert {node.name for root in forest for node in root.walk() if node.flags & RUNNING} <= {
        f"{path}.outer",
        f"{path}.inner",
    }


def test_stopped_in_a_callback(source):
    def key(x):
        _core.stop()
        return x

    start(source, c_functions="all")
    sorted([1], key=key)
    leaf()
    assert shown(image().forests()["MainThread"]) == "[sorted]\n  test_stopped_in_a_callback.<locals>.key\n"


def test_started_in_a_callback(source):
    def key(x):
        start(source, c_functions="all", running=True)
        leaf()
        return x

    sorted([1], key=key)
    leaf()
    _core.stop()
    node = find("test_started_in_a_callback")
    assert text(node) == (
        "test_started_in_a_callback 0\n  leaf\n  test_started_in_a_callback.<locals>.key 0\n    leaf\n"
    )


def test_started_in_a_generator(source):
    def numbers():
        yield 1
        start(source, running=True)
        leaf()
        yield 2
        leaf()
        yield 3

    for _ in numbers():
        pass
    _core.stop()
    node = find("test_started_in_a_generator")
    assert text(node) == (
        "test_started_in_a_generator 0\n  test_started_in_a_generator.<locals>.numbers 0 r2\n    leaf 2\n"
    )
    assert repaired(source) == 0


def test_generator_made_before(source):
    def numbers():
        for i in range(5):
            yield i * 2

    one = numbers()
    next(one)
    start(source)
    next(one)
    list(one)
    _core.stop()
    assert shown(image().forests()["MainThread"]) == "test_generator_made_before.<locals>.numbers 0 r5\n"


def test_left_by_an_exception(source):
    def outer():
        inner()

    def inner():
        start(source, running=True)
        raise KeyError

    with pytest.raises(KeyError):
        outer()
    _core.stop()
    node = find("test_left_by_an_exception.<locals>.inner")
    # gh-110892; and frame evaluation is told nothing of a frame that ran at the start
    told = source != "evalframe" and (source != "profilefunc" or sys.version_info[:2] != (3, 12))
    assert (node.calls, node.exceptions) == (0, told)


def test_nested_start_is_refused(source):
    start(source)
    try:
        with pytest.raises(RuntimeError, match="running already"):
            start(source, running=True)
        leaf()
    finally:
        _core.stop()
    assert image().calls()["leaf"] == 1


def test_wrong_settings_are_refused(source):
    for options in ({"c_functions": "some"}, {"clock": "sundial"}, {"timing": "never"}, {"source": "rumour"}):
        with pytest.raises(ValueError, match=next(iter(options.values()))):
            _core.start(**options)
    assert not _core.status()["running"]


def test_snapshots_on_the_way(source):
    """A snapshot neither disturbs the path nor counts as part of it."""

    def outer(n):
        leaf()
        if n:
            _core.snapshot()
            _core.check()
            outer(n - 1)
            _core.flush()

    start(source, c_functions="all")
    outer(20)
    _core.stop()
    recorded = image()
    assert recorded.calls()["leaf"] == 21
    assert recorded.calls()["test_snapshots_on_the_way.<locals>.outer"] == 21
    assert recorded.calls(kind=1) == {}
    assert repaired(source) == 0


def test_recordings_one_after_another(source):
    for n in range(1, 8):
        start(source)
        for _ in range(n):
            leaf()
        _core.stop()
        leaf()
        assert shown(image().forests()["MainThread"]) == f"leaf{f' {n}' if n > 1 else ''}\n"


def test_quietly(source):
    """What is called quietly leaves no trace, and what comes after it is recorded."""

    def noisy(n):
        leaf()
        return sorted(range(n), key=lambda x: -x)

    start(source, c_functions="all")
    leaf()
    assert _core.quietly(noisy, 3) == [2, 1, 0]
    with pytest.raises(ZeroDivisionError):
        _core.quietly(lambda: 1 / 0)
    leaf()
    _core.stop()
    calls = image().calls()
    assert calls["leaf"] == 2
    assert not any("noisy" in name for name in calls)
    assert _core.quietly(noisy, 2) == [1, 0]


def test_a_function_has_its_own_module_s_name(source):
    """Not its caller's, whoever calls it first; and so it can be chosen by it, in this recording and all later ones."""
    there = {"__name__": "there"}
    made = "\n" * len(source) + "def {0}():\n    pass\ndef {0}_steps():\n    yield 1"
    exec(compile(made.format("elsewhere"), f"/nowhere/{source}.py", "exec"), there)
    start(source, running=True)
    there["elsewhere"]()
    list(there["elsewhere_steps"]())
    _core.stop()
    assert find("elsewhere").facts["module"] == "there"
    assert find("elsewhere_steps").facts["module"] == "there"
    with seismo.profile(where='module("there")', source=source, c_functions="none", timing="none") as session:
        there["elsewhere"]()
    assert [function.qualname for function in session.recording.functions if function.calls] == ["elsewhere"]
