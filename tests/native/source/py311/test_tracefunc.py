"""Coverage on 3.11: probes in the code that runs, and the trace function where others use it.

The programs of test_native_lines.py run here, too. What is special to this version is what is below.
"""

import copy
import dis
import sys
import textwrap
import threading
import types

import pytest
from covered import Covered, compiled, cover, covering, traced

from seismo import _core

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="3.12 and later have sys.monitoring")

TWO_WAYS = """
    def f(n):
        total = 0
        for i in range(n):
            if i % 2:
                total += i
            else:
                total -= 1
        if n < 0:
            raise ValueError(n)
        return total
    for k in range(40):
        f(k)
"""


def code_of(code: types.CodeType, name: str) -> types.CodeType:
    return next(one for one in code.co_consts if isinstance(one, types.CodeType) and one.co_name == name)


def test_code_looks_as_the_compiler_made_it():
    """While probes stand in it, and when they are gone: for copies, pickles and disassemblers."""
    text = TWO_WAYS + "    seen.append(look(f.__code__))\n"
    code = compiled(text)
    before = [(one.co_code, list(dis.get_instructions(one))) for one in (code, code_of(code, "f"))]
    fresh = compile("\n".join(["0"] * 3), "x", "exec")
    assert fresh.co_code

    def look(one):
        replaced = one.replace(co_name="g")
        return one.co_code, replaced.co_code, copy.copy(one) is one, list(dis.get_instructions(one))

    seen = []
    with covering(branch=True):
        exec(code, {"seen": seen, "look": look})
    assert seen == [(before[1][0], before[1][0], True, before[1][1])]
    assert [(one.co_code, list(dis.get_instructions(one))) for one in (code, code_of(code, "f"))] == before
    raw = code_of(code, "f")._co_code_adaptive  # the line that never ran had a probe
    plain = code_of(code, "f").co_code
    assert len(raw) == len(plain)
    returns = [at for at in range(0, len(plain), 2) if raw[at] == dis.opmap["RETURN_VALUE"]]
    assert [at for at in returns if plain[at] != dis.opmap["RETURN_VALUE"] and plain[at] != 0] == []


def test_a_copy_made_meanwhile_works():
    """code.replace() and a function made of the copy: it has no probes of the original's, but its own."""
    found = cover("""
        import types
        def f(n):
            if n:
                return 1
            return 2
        f(1)
        g = types.FunctionType(f.__code__.replace(co_name="g"), globals())
        assert [g(0), g(1)] == [2, 1]
        assert [f(0), f(1)] == [2, 1]
    """)
    assert set(found.lines) == {1, 2, 3, 4, 5, 6, 7, 8, 9}


def test_specialised_code_keeps_its_probes():
    """Instructions that are fused, or that run the next one as well, do not run past a probe."""
    program = """
        def f(xs, limit):
            text = ""
            found = []
            a = 1
            b = a
            c = b
            for x in xs:
                if x < limit:
                    found.append(x)
                elif x == "never":
                    text += x
                else:
                    text = text + "b"
                    a = x
                    b = a
            while b > 3.5:
                b -= 1.5
            return found, text, a, b, c
        for k in range(60):
            f([1, 2, 3], 10)
        f([1, 2, 30], 10)
        f([1, 2, 30.5, 40], 10)
    """
    truth = set(traced(program))
    code = compiled(program)

    def again(names):
        for context in ("one", "two"):  # the code is specialised by now
            _core.cover_context(context)
            exec(code, {"__name__": "program"})
            names["f"]([1], 5)

    for branch in (False, True):
        found = cover(code, again, branch=branch)
        assert set(found.lines) == truth
        assert found.contexts() == {"one": truth, "two": truth}


JUMPS = """
    log = []
    class Truth:
        def __init__(self, value):
            self.value = value
        def __bool__(self):
            log.append(sys._getframe(1).f_lineno)
            if self.value is None:
                raise KeyError(1)
            return self.value
        def __del__(self):
            log.append("gone")
    class Numbers:
        def __init__(self, end, error):
            self.next, self.end, self.error = 0, end, error
        def __iter__(self):
            return self
        def __next__(self):
            self.next += 1
            if self.next > self.end:
                raise self.error
            log.append(sys._getframe(1).f_code.co_name)
            return self.next
    def branches(value):
        if Truth(value):
            log.append(1)
        a = Truth(value) and 2
        b = Truth(value) or 3
        c = 4 if not Truth(value) else 5
        n = 3
        while Truth(n > 0 if value is not None else None):
            n -= 1
        if value is None:
            log.append(6)
        if value is not None:
            log.append(7)
        m = None
        while m is None:
            m = value
        while m is not None:
            m = None
        return str((type(a), type(b), c, n))
    def loops(end, error):
        total = 0
        for i in Numbers(end, error):
            total += i
            if total > 100:
                break
        return total
    def attempt(function, *args):
        try:
            log.append(function(*args))
        except Exception as error:
            lines = []
            trace = error.__traceback__
            while trace is not None:
                lines.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
                trace = trace.tb_next
            log.append((repr(error), lines, repr(error.__context__)))
    for value in values:
        attempt(branches, value)
    for end in ends:
        attempt(loops, end, StopIteration)
        attempt(loops, end, ValueError("v"))
    (x for x in ()).close()
"""


def test_conditional_jumps_are_done_right():
    """Every kind of conditional jump, while one of its ways has not been taken: values, order, exceptions."""

    def run(values, ends, branch):
        names = {"sys": sys, "values": values, "ends": ends}
        with covering(branch is not None, branch=branch):
            exec(compiled(JUMPS), names)
        return names["log"]

    for values in ([True] * 3, [False] * 3, [None] * 2, [True, False, None, True, False]):
        for ends in ([0], [5, 5], [200], [0, 3, 200]):
            truth = run(values, ends, None)
            assert run(values, ends, False) == truth
            assert run(values, ends, True) == truth


def test_a_loop_can_be_interrupted():
    """A jump backwards that is done by us looks after signals and threads as the interpreter's own does.

    The signal comes again until it has come while the loop went round.
    """
    found = cover(
        """
        import signal, threading
        def loop(stop):
            n = 0
            while not stop:
                n += 1
            return n
        def ring(number, frame):
            stop.extend([1] if frame.f_locals.get("n") else [])
        stop = []
        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        loop(stop)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        stop = []
        thread = threading.Thread(target=stop.append, args=(1,))
        thread.start()
        loop(stop)
        thread.join()
    """,
        branch=True,
    )
    assert {3, 4, 5, 6, 8} <= set(found.lines)
    assert {(4, 5), (4, 6)} <= set(found.arcs)


def test_deep_recursion():
    """Deeper than the C stack bears: the source changes over, and everything is told all the same."""
    program = """
        import sys
        def down(n):
            if n == 0:
                return 0
            below = down(n - 1)
            return below + 1
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(10 ** 6)
        assert down(60_000) == 60_000
        sys.setrecursionlimit(before)
        def after():
            late = 1
            return late
        after()
        def error(n):
            return error(n + 1)
        try:
            error(0)
        except RecursionError:
            caught = True
    """
    for options in ({}, {"branch": True}):
        found = cover(program, **options)
        assert set(found.lines) == set(range(1, 21))
        assert found.losses == {}
    again = cover("a = 1\nb = 2")  # the next recording begins anew
    assert set(again.lines) == {1, 2}


def test_a_tracer_beside_hears_what_it_hears_without_us():
    """sys.settrace, set and taken off in the middle: its events are those of a run without us, and ours are whole."""
    program = """
        def f(n):
            if n:
                a = 1
            else:
                a = 2
            return a
        def g(n):
            for i in range(n):
                yield f(i)
        def h():
            list(g(3))
            f(0)
            try:
                f()
            except TypeError:
                pass
        f(1)
        switch(True)
        h()
        switch(False)
        h()
        f(0)
    """

    def run(code, covered, **options):
        events = []

        def trace(frame, event, arg):
            if frame.f_code.co_filename == code.co_filename:
                events.append((frame.f_code.co_name, event, frame.f_lineno, arg if event == "return" else None))
            return trace

        def switch(on):
            sys.settrace(trace if on else None)
            sys._getframe(1).f_trace = trace if on else None

        with covering(covered, **options):
            try:
                exec(code, {"switch": switch})
                assert sys.gettrace() is None
            finally:
                sys.settrace(None)
        return events

    code = compiled(program)
    truth = run(code, False)
    assert len(truth) > 40
    for options in ({}, {"branch": True}, {"counts": True}):
        assert run(code, True, **options) == truth
        found = Covered(_core.snapshot("coverage"), code.co_filename)
        assert set(found.lines) == set(range(1, 23)) - {4}
        if "branch" in options:
            assert {(2, 3), (2, 5), (8, 9), (8, -7)} <= set(found.arcs)


def test_a_profile_function_beside():
    """Also in the middle of a function that has probes, and by C code (cProfile)."""
    program = """
        import cProfile
        def busy(n):
            total = 0
            for i in range(n):
                total += other(i)
            return total
        def other(i):
            if i > 2:
                return 1
            return 0
        def profiled():
            profiler = cProfile.Profile()
            profiler.enable()
            a = busy(5)
            profiler.disable()
            b = busy(2)
            return a + b, profiler
        result, profiler = profiled()
        calls = {entry.code.co_name: entry.callcount for entry in profiler.getstats() if hasattr(entry.code, "co_name")}
        assert result == 2 and calls["busy"] == 1 and calls["other"] == 5, calls
    """
    for options in ({}, {"branch": True}, {"counts": True}):
        assert set(cover(program, **options).lines) == set(range(1, 21))


def test_another_coverage_tool_inside(tmp_path):
    """coverage.py, started by the program: it measures what it measures alone, and so do we."""
    coverage = pytest.importorskip("coverage")
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent("""
        def f(n):
            if n:
                return 1
            return 2
        def measured():
            f(1)
            tool.start()
            f(0)
            f(1)
            tool.stop()
            f(3)
            return 5
        f(0)
        measured()
        """).lstrip()
    )
    code = compile(path.read_text(), str(path), "exec")

    def run(covered):
        tool = coverage.Coverage(data_file=None, branch=True, include=[str(path)], config_file=False, messages=False)
        tool.set_option("run:core", "ctrace")
        with covering(covered, branch=True):
            exec(code, {"tool": tool})
        return sorted(tool.get_data().arcs(str(path)))

    alone = run(covered=False)
    assert (2, 3) in alone
    assert run(covered=True) == alone
    found = Covered(_core.snapshot("coverage"), code.co_filename)
    assert set(found.lines) == set(range(1, 15))
    assert {(2, 3), (2, 4)} <= set(found.arcs)


def test_threads_that_nobody_announces():
    import _thread

    def run(names):
        done = threading.Lock()
        done.acquire()

        def work():
            try:
                names["g"](3)
            finally:
                done.release()

        _thread.start_new_thread(work, ())
        assert done.acquire(timeout=60)

    for options in ({}, {"counts": True}):
        found = cover("def g(n):\n    if n:\n        x = 1\n    return n\n", run, **options)
        assert set(found.lines) == {1, 2, 3, 4}


def test_a_context_reaches_what_runs():
    """A generator and a caller that were in the middle of something when the context changed."""
    code = compiled("""
        def numbers():
            while True:
                a = 1
                yield a
                b = 2
        def outer():
            one = numbers()
            next(one)
            for name in ("x", "y"):
                context(name)
                next(one)
                c = 3
            context("")
        outer()
    """)
    with covering():
        exec(code, {"context": _core.cover_context, "__name__": "program"})
    found = Covered(_core.snapshot("coverage"), code.co_filename)
    both = {2, 3, 4, 5, 9, 11, 12}
    assert found.contexts() == {"x": both | {10}, "y": both | {13}}
