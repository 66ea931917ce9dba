"""seismo.watch from inside a program."""

import asyncio
import io
import json
import sys
import threading

import pytest

import seismo
from seismo.errors import UsageError


class User:
    def __init__(self, id_):
        self.id = id_
        self.password = "geheim"


def save(user, n=3, *rest, token="t", **more):
    total = n
    for i in range(2):
        total += i
    check(user)
    return total


def check(user):
    return user.id


def count_down(n):
    return n if n <= 0 else count_down(n - 1)


def numbers():
    yield 1
    yield 2


def fails():
    return {}["key"]


def catches():
    try:
        passes_on()
    except KeyError:
        return True


def passes_on():
    try:
        fails()
    finally:
        check(User(1))


def watched(expression, function, *args, action=None, **options):
    """The watch after the function ran under it, and what it wrote."""
    out = io.StringIO()
    with seismo.watch(expression, action, output=out, **options) as w:
        function(*args)
    assert w.failed == ""
    assert w.lost == 0
    return w, out.getvalue()


def kinds(w):
    return [(match.moment, match.qualname) for match in w.matches]


def test_calls_as_a_tree_with_arguments_and_returns():
    w, text = watched(f'call("{__name__}.save") or call("check")', save, User(7), args=True, returns=True)
    lines = [line.split("  ", 2)[2] for line in text.splitlines()]
    assert lines[0].startswith(f"▸ {__name__}.save(user=<")
    assert "{id=7, password=***}>, n=3, *rest=(), token=***, **more={})" in lines[0]
    assert lines[1].startswith(f"  ▸ {__name__}.check(user=<")
    assert lines[2].startswith(f"  ◂ {__name__}.check → 7")
    assert lines[3].startswith(f"◂ {__name__}.save → 4")
    assert w.count == 2
    assert w.matches[0].args["n"] == "3"
    assert w.matches[0].frame is None
    assert w.matches[1].nesting == 1
    assert "geheim" not in text


def test_variables_line_by_line():
    _, text = watched('call("save")', save, User(7), vars=True)
    assert "│ total += i" in text
    assert "i: 0 → 1" in text
    assert text.count("total = 3") == 1 + text.count("│ total = 3")


def test_values_at_a_line():
    line = save.__code__.co_firstlineno + 3
    w, text = watched(f'line("test_watch.py", {line})', save, User(7), vars=True)
    assert w.count == 2
    first, second = (match.variables for match in w.matches)
    assert {"user", "n", "token", "total", "i"} <= {name for name, _, _ in first}
    assert second == [("i", "1", "0")]
    assert "total += i" in text


def left_or_exhausted(items):
    for item in items:
        if item:
            break
    return items


def test_a_line_behind_a_loop_is_reached_whenever_the_loop_ends():
    """The interpreter tells no tool of it at the end of the loop (3.14 and later)."""
    line = left_or_exhausted.__code__.co_firstlineno + 4
    for items in ([0], [1], []):
        w, text = watched(f'line("test_watch.py", {line})', left_or_exhausted, items)
        assert w.count == 1
        assert "return items" in text


def test_an_exception_is_reported_once_where_it_is_raised():
    w, text = watched('raise and exception("LookupError")', catches, stack=True)
    assert kinds(w) == [("event", "fails")]
    assert "✗ KeyError('key') in" in text
    assert 'return {}["key"]' in text
    assert [frame[2] for frame in w.matches[0].stack][:2] == ["passes_on", "catches"]


def test_whole_calls_are_known_when_they_end():
    w, _ = watched('call and qualname("fails", "passes_on", "catches") and exception("KeyError")', catches)
    assert kinds(w) == [("whole", "fails"), ("whole", "passes_on")]
    w, text = watched('call("count_down") and duration >= 0ns and own >= 0ns', count_down, 2)
    assert [match.moment for match in w.matches] == ["whole"] * 3
    assert all(match.duration >= match.own >= 0 for match in w.matches)
    assert " (own " in text
    assert watched('call("count_down") and duration > 1000s', count_down, 2)[0].count == 0


def test_arguments_are_asked_after_the_native_part():
    w, _ = watched('call("count_down") and arg("n") == 1', count_down, 3)
    assert w.count == 1
    w, _ = watched('call("check") and arg("user").id == 7', save, User(7))
    assert w.count == 1


def test_generators_are_one_call():
    w, text = watched('call("numbers")', lambda: list(numbers()), returns=True)
    assert w.count == 1
    assert text.count("▸") == text.count("◂") == 1
    w, _ = watched('yield("numbers")', lambda: list(numbers()))
    assert [match.value for match in w.matches] == ["1", "2"]
    w, _ = watched('call("numbers") and duration >= 0ns', lambda: list(numbers()))
    assert kinds(w) == [("whole", "numbers")]


def test_tasks_have_trees_of_their_own():
    async def fetch(n):
        for _ in range(n):
            await asyncio.sleep(0)
        return n

    async def both():
        await asyncio.gather(asyncio.create_task(fetch(2), name="two"), asyncio.create_task(fetch(1), name="one"))

    w, text = watched('call("*fetch")', lambda: asyncio.run(both()), args=True, returns=True)
    assert [(match.task, match.args["n"]) for match in w.matches] == [("two", "2"), ("one", "1")]
    assert all(match.nesting == 0 for match in w.matches)
    assert text.count("── task two ──") == 2
    w, _ = watched('call("*fetch") and task("one")', lambda: asyncio.run(both()))
    assert w.count == 1


def test_threads_have_trees_of_their_own():
    def run():
        workers = [threading.Thread(target=save, args=(User(i),), name=f"worker {i}") for i in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    w, text = watched('call("save") or call("check")', run)
    assert w.count == 6
    assert {match.thread for match in w.matches} == {"worker 0", "worker 1", "worker 2"}
    assert "── thread worker 2 ──" in text
    assert watched('call("save") and thread("worker 1")', run)[0].count == 1
    assert watched('call("save")', run, threads="current")[0].count == 0


def test_depth_counts_python_frames():
    depth = 0
    frame = sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    w, _ = watched('call("count_down")', count_down, 1)
    assert [match.depth for match in w.matches] == [depth + 2, depth + 3]
    assert watched(f'call("count_down") and depth <= {depth + 2}', count_down, 5)[0].count == 1


def test_counting_hands_nothing_to_python():
    w, text = watched('call("count_down")', count_down, 9, action=("count", "histogram"))
    assert (w.count, w.matches, text) == (10, [], "")
    (row,) = [row for row in w.functions if row.matches]
    assert (row.matches, row.timed, sum(row.buckets)) == (10, 10, 10)
    assert 0 <= row.least <= row.sum / row.timed <= row.most
    assert "     10  " in "\n".join(w.report())
    assert f"{__name__}.count_down: 10 calls, mean" in "\n".join(w.report())


def test_a_histogram_says_why_it_is_empty():
    for expression, why in (
        ('call("nosuch")', "nothing matched"),
        ('line and function("numbers")', "only calls have a duration, and the expression matches no calls"),
        ('call("numbers")', "no matched call has ended"),
    ):
        waiting = numbers()
        w, _ = watched(expression, next, waiting, action="histogram")
        assert w.report() == [f"histogram: empty, because {why}"]


def test_json_lines():
    _, text = watched('call("check")', check, User("\x1b"), args=True, returns=True, json=True)
    start, end = map(json.loads, text.splitlines())
    assert (start["moment"], end["moment"]) == ("event", "end")
    assert start["qualname"] == "check"
    assert start["call"] == end["call"] > 0
    assert end["value"] == r"'\x1b'"
    assert end["duration"] >= 0


def test_the_limit_takes_the_watch_out():
    w, text = watched('call("count_down")', count_down, 9, limit=2, returns=True)
    assert w.count == len(w.matches) == 2
    assert text.count("◂") == 2


def test_actions_see_the_frame_and_may_use_watches():
    seen = []

    def act(match):
        seen.append((match.frame.f_code.co_name, match.frame.f_locals["n"]))
        with seismo.watch('call("check")', "count"):
            check(User(1))  # not watched: actions run unseen

    w, text = watched('call("count_down")', count_down, 1, action=act)
    assert seen == [("count_down", 1), ("count_down", 0)]
    assert text == ""
    assert w.count == 2


def test_a_failing_action_is_told_once_and_the_program_goes_on():
    out = io.StringIO()
    with seismo.watch('call("count_down")', lambda _: 1 / 0, output=out) as w:
        assert count_down(3) == 0
    assert w.count == 1
    assert "ZeroDivisionError" in w.failed
    assert out.getvalue().count("seismo: the watch ends because") == 1


def test_several_watches_and_nesting():
    with seismo.watch('call("check")', "keep") as outer:
        with seismo.watch('call("check") or call("save")', "keep") as inner:
            save(User(1))
        save(User(1))
    assert (outer.count, inner.count) == (2, 2)


def test_as_a_decorator_it_adds_up():
    @seismo.watch('call("check")', "keep")
    def work():
        check(User(1))

    work()
    work()
    assert work.watch.count == 2
    check(User(1))
    assert work.watch.count == 2


def test_the_limit_of_recursion_is_the_program_s_own():
    def forever():
        forever()

    with seismo.watch('call("*forever")', "keep") as w, pytest.raises(RecursionError):
        forever()
    assert w.failed == ""
    assert w.count > 100


def test_objects_do_not_live_longer():
    import weakref

    def run():
        user = User(1)
        check(user)
        gone.append(weakref.ref(user))

    gone = []
    _, _ = watched('call("check") or call("*run")', run, args=True, returns=True, vars=True)
    assert gone[0]() is None


def test_c_functions_by_name():
    def run():
        return len("".join([]))

    w, text = watched('c_call and qualname("*run")', run)
    assert [match.callee for match in w.matches][:2] == ["str.join", "len"]
    assert "▸ len" in text


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"action": 5}, "cannot be a int"),
        ({"action": "prnt"}, "no action 'prnt'"),
        ({"limit": 0}, "limit cannot be 0"),
        ({"color": "blue"}, "color cannot be 'blue'"),
        ({"output": 5}, "output cannot be a int"),
        ({"expression": "call("}, "call("),
        ({"expression": "c_call and duration > 1s"}, "C function"),
    ],
)
def test_bad_input(options, what):
    options = {"expression": "call", **options}
    with pytest.raises(UsageError) as error, seismo.watch(options.pop("expression"), **options):
        pass
    assert what in str(error.value)
