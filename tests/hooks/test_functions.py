"""seismo.hooks: Python functions hear what sys.setprofile and sys.settrace would tell them, any number side by side."""

from __future__ import annotations

import bdb
import gc
import os
import sys
import threading
import weakref
from functools import partial

import children
import pytest
from hooked import Notes, generator, leaf, work
from threads import beside, in_threads

import seismo
from seismo import _core, hooks
from seismo.errors import UsageError


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    status = _core.hub_status()
    assert (status["tools"], status["tool_id"], status["events"]) == (0, -1, [])
    assert sys.getprofile() is None
    assert sys.gettrace() is None


def expected(kind):
    notes, set_function = Notes(), getattr(sys, f"set{kind}")
    set_function(getattr(notes, kind))
    work()
    set_function(None)
    assert len(notes.kept) > 60
    return notes.kept


def as_documented(kept):
    """3.12 reports c_return without c_call where a bound method of a C function is called: leave C functions out."""
    return [note for note in kept if not note[1].startswith("c_")] if sys.version_info[:2] == (3, 12) else kept


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring came with 3.12")
def test_places_that_an_earlier_holder_of_the_id_disabled_are_reported():
    out = children.printed("""
import sys
from seismo import hooks
monitoring = sys.monitoring
def leaf(): pass
for tool in range(6):
    monitoring.use_tool_id(tool, "earlier")
    monitoring.register_callback(tool, monitoring.events.PY_RETURN, lambda *_: monitoring.DISABLE)
    monitoring.set_events(tool, monitoring.events.PY_RETURN)
leaf()
for tool in range(6):
    monitoring.set_events(tool, 0)
    monitoring.register_callback(tool, monitoring.events.PY_RETURN, None)
    monitoring.free_tool_id(tool)
found = []
with hooks.set_profile(lambda frame, event, arg: found.append(event)):
    leaf()
print(*[event for event in found if not event.startswith("c_")][:2])
    """)
    assert out == "call return\n"


@pytest.mark.parametrize("threads", ["current", "all"])
@pytest.mark.parametrize("kind", ["profile", "trace"])
def test_a_function_hears_what_the_interpreter_s_own_tells(kind, threads):
    notes = Notes()
    set_function, current = getattr(hooks, f"set_{kind}"), getattr(hooks, f"get_{kind}")
    with set_function(getattr(notes, kind), threads=threads) as handle:
        assert current() == getattr(notes, kind)
        assert handle.active
        work()
    assert not handle.active
    assert handle.function is None
    assert current() is None
    assert as_documented(notes.kept) == as_documented(expected(kind))
    assert ("c_call" in notes.events("leaf")) == (kind == "profile")


def test_many_tools_hear_the_same():
    profiles, traces = [Notes() for _ in range(3)], [Notes() for _ in range(3)]
    handles = [hooks.set_profile(one.profile) for one in profiles] + [hooks.set_trace(one.trace) for one in traces]
    work()
    for handle in handles:
        handle.remove()
    assert all(one.kept == profiles[0].kept and one.kept for one in profiles)
    assert [one.kept == expected("trace") for one in traces] == [True] * 3


def test_sys_functions_hear_the_same_beside_ours():
    ours, theirs = Notes(), Notes()
    with hooks.set_trace(ours.trace):
        sys.settrace(theirs.trace)
        work()
        sys.settrace(None)
        work()
    assert theirs.kept == expected("trace")
    assert ours.kept == theirs.kept * 2
    ours, theirs = Notes(), Notes()
    with hooks.set_profile(ours.profile):
        sys.setprofile(theirs.profile)
        work()
        sys.setprofile(None)
    assert as_documented(ours.kept) == as_documented(theirs.kept) != []


def test_a_debugger_and_a_tracer_keep_their_own_local_functions():
    class Debugger(bdb.Bdb):
        lines = 0

        def user_line(self, frame):
            self.lines += 1
            self.set_step()

    ours, debugger = Notes(), Debugger()
    with hooks.set_trace(ours.trace):
        debugger.runcall(work)
        work()
    assert debugger.lines > 30
    assert ours.kept == expected("trace") * 2


def test_each_tracer_finds_its_own_in_f_trace():
    seen = []

    def tracer(name, lines):
        def local(frame, event, arg):
            assert frame.f_trace is local
            assert frame.f_trace_lines == lines
            seen.append((name, event))
            return local

        def begin(frame, event, arg):
            if frame.f_code is not leaf.__code__:
                return None
            frame.f_trace_lines = lines
            return local

        return begin

    def writer(frame, event, arg):
        if frame.f_code is leaf.__code__:
            frame.f_trace = lambda *_: seen.append(("written", _[1]))

    with hooks.set_trace(tracer("a", True)), hooks.set_trace(tracer("b", False)), hooks.set_trace(writer):
        leaf(1)
    assert sorted(seen) == sorted(
        [("a", "line"), ("a", "return"), ("b", "return"), ("written", "line"), ("written", "return")]
    )


def test_opcodes_and_jumps():
    events = []

    def opcodes(frame, event, arg):
        frame.f_trace_opcodes = True
        events.append(event)
        return opcodes

    with hooks.set_trace(opcodes):
        leaf(1)
    assert events.count("opcode") > 3
    made = []

    def target():
        made.append(1)
        made.append(2)
        made.append(3)

    def jump(frame, event, arg):
        if frame.f_code is target.__code__ and event == "line" and frame.f_lineno == target.__code__.co_firstlineno + 2:
            frame.f_lineno += 1
        return jump

    with hooks.set_trace(jump):
        target()
    assert made == [1, 3]


def test_threads_that_run_and_threads_to_come():
    begun, go = threading.Event(), threading.Event()

    def first():
        begun.set()
        go.wait(20)
        leaf(1)

    every, here = Notes(), Notes()
    with beside(first) as (running,):
        begun.wait(20)
        with hooks.set_profile(every.profile, threads="all"), hooks.set_profile(here.profile):
            go.set()
            in_threads(partial(leaf, 2))
            running.join()
            leaf(3)
    assert (every.events("leaf").count("call"), here.events("leaf").count("call")) == (3, 1)


def test_a_tool_goes_with_its_thread():
    found = []

    def thread():
        found.append(hooks.set_profile(Notes().profile))
        leaf(1)

    in_threads(thread)
    leaf(2)  # 3.11 and 3.12 clear the thread's state a little after join() returns
    for _ in range(1000):
        if not found[0].active:
            break
        threading.Event().wait(0.01)
    assert not found[0].active
    assert found[0].function is None


def test_where_decides():
    notes, lines = Notes(), Notes()
    profile = hooks.set_profile(notes.profile, where='call and function("leaf")')
    with profile, hooks.set_trace(lines.trace, where='line and function("throws")'):
        work()
    assert {(name, event) for name, event, _, _ in notes.kept} == {("leaf", "call")}
    assert {(name, event) for name, event, _, _ in lines.kept} == {("throws", "line")}
    assert lines.events("throws") == [e for name, e, *_ in expected("trace") if (name, e) == ("throws", "line")]


def test_where_knows_the_c_function():
    notes = Notes()
    with hooks.set_profile(notes.profile, where='c_call("len")'):
        work()
        [].append(leaf(1))
    assert {(event, arg) for _, event, _, arg in notes.kept} == {("c_call", "len")}


def test_where_knows_the_thread_and_the_depth():
    notes, deep = Notes(), Notes()
    with hooks.set_profile(notes.profile, threads="all", where='call and function("leaf") and thread("wanted*")'):
        for name in ("wanted-1", "other"):
            in_threads(partial(leaf, 1), name=name)
    assert notes.events("leaf") == ["call"]
    with hooks.set_profile(deep.profile, where='call and function("leaf") and depth > 10000'):
        work()
    assert deep.kept == []


def test_where_leaves_alone_what_it_does_not_want():
    nothing = Notes()
    with hooks.set_profile(nothing.profile, where='module("no.such.module")'):
        work()
        late = Notes()
        with hooks.set_profile(late.profile, where='function("leaf")'):  # places were switched off before it came
            work()
    assert nothing.kept == []
    assert late.events("leaf").count("call") == [
        name for name, event, *_ in expected("profile") if event == "call"
    ].count("leaf")


def test_removal_from_inside():
    heard = []

    def itself(frame, event, arg):
        heard.append(event)
        own.remove()

    def other(frame, event, arg):
        heard.append("other")

    def remover(frame, event, arg):
        second.remove()

    own = hooks.set_profile(itself)
    leaf(1)
    assert len(heard) == 1
    assert not own.active
    heard.clear()
    second = hooks.set_profile(other)
    with hooks.set_profile(remover):  # the newer one hears first
        leaf(1)
    assert heard in ([], ["other"])


def test_a_function_that_raises_is_taken_off_and_its_exception_propagates():
    def bad(frame, event, arg):
        if frame.f_code is leaf.__code__:
            raise LookupError(event)

    other = Notes()
    for setter in (hooks.set_profile, hooks.set_trace):
        with hooks.set_profile(other.profile):
            handle = setter(bad)
            with pytest.raises(LookupError, match="call"):
                leaf(1)
            assert not handle.active
            leaf(2)
    assert other.events("leaf").count("return") == 4


def test_nothing_is_heard_of_what_a_function_does_itself():
    calls = []

    def profile(frame, event, arg):
        calls.append(frame.f_code.co_name)
        leaf(1)

    with hooks.set_profile(profile):
        generator(1)
    assert "leaf" not in calls


def test_stand_ins_go_by_thread_and_replace_each_other():
    first, second = Notes(), Notes()
    hooks.setprofile(first.profile)
    leaf(1)
    hooks.setprofile(second.profile)
    assert hooks.getprofile() == second.profile
    leaf(1)
    hooks.setprofile(None)
    assert hooks.getprofile() is None
    assert hooks.gettrace() is None
    assert first.kept == second.kept != []
    hooks.settrace_all_threads(first.trace)
    assert hooks.gettrace() == first.trace == threading.gettrace()
    hooks.settrace_all_threads(None)
    assert hooks.gettrace() is threading.gettrace() is None
    with pytest.raises(TypeError):
        hooks.setprofile()


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((3,), {}),
        ((leaf,), {"threads": "some"}),
        ((leaf,), {"threads": 1}),
        ((leaf,), {"where": "call("}),
        ((leaf,), {"where": 7}),
        ((leaf,), {"where": "duration > 5ms"}),
    ],
)
def test_bad_arguments(arguments, options):
    for setter in (hooks.set_profile, hooks.set_trace):
        with pytest.raises(UsageError):
            setter(*arguments, **options)


def test_nothing_is_kept():
    class Function:
        def __call__(self, frame, event, arg):
            return self

    def use():
        kept = Function()
        with hooks.set_trace(kept), hooks.set_profile(kept, where='function("leaf")'):
            work()
        handle = hooks.set_profile(lambda *_: handle)  # a cycle
        handle.remove()
        return weakref.ref(kept), weakref.ref(handle.__class__)

    function, _ = use()
    assert function() is None
    gc.collect()
    before = sys.getrefcount(None), len(gc.get_objects())
    for _ in range(20):
        use()
    gc.collect()
    assert len(gc.get_objects()) - before[1] < 20


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # pytest-xdist's threads
def test_fork_inside_and_out():
    notes = Notes()
    with hooks.set_profile(notes.profile, threads="all"):
        pid = os.fork()
        if pid == 0:
            notes.kept.clear()
            leaf(1)
            os._exit(len(notes.events("leaf")) != 4)
        assert os.waitpid(pid, 0)[1] == 0

    def forks(frame, event, arg):
        if frame.f_code is leaf.__code__ and event == "call":
            handle.remove()
            children.append(os.fork())

    children: list[int] = []
    handle = hooks.set_profile(forks)
    leaf(1)
    if children[0] == 0:
        os._exit(_core.hub_status()["tools"])
    assert os.waitpid(children[0], 0)[1] == 0


def test_the_interpreter_exits_with_functions_set():
    code = """if True:
        import sys, threading
        from seismo import hooks
        heard = []
        def function(frame, event, arg):
            heard.append(event)
            return function
        hooks.set_profile(function, threads="all")
        hooks.set_trace(function, threads="all")
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        class Late:
            def __del__(self): len(heard)
        late = Late()
        print(len(heard) > 0)
    """
    done = children.python("-c", code, status=None)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_beside_a_recording():
    notes = Notes()
    with seismo.profile() as session, hooks.set_profile(notes.profile):
        work()
    rows = {row.qualname: row.calls for row in session.recording.functions}
    assert rows["leaf"] == notes.events("leaf").count("call")
