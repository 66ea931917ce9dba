"""Threads side by side: how many ran while a function did, and what kept them from it."""

import pytest

from seismo.model import Builder

MS = 1_000_000
GIL, NO_GIL = "clock, ready, lock", "clock, ready, lock, stop"


class Program:
    """Two threads that ran for 200 ms each, of a program that took one second, and what else they did."""

    def __init__(self, waits=NO_GIL, stop=0):
        self.built = b = Builder()
        ends = {"start_ns": 10**18, "end_ns": 10**18 + 1_000 * MS}
        process = b.process(pid=1, argv=["p.py"], waits=waits, stop_ns=stop * MS, **ends)
        times = {"wall_ns": 1_000 * MS, "cpu_ns": 200 * MS}
        self.threads = [b.thread(process, name=name, **times) for name in ("one", "two")]
        work = b.function("app", "work", "/x/app.py", 1)
        self.work = [b.node(-1, thread, work, calls=1, own_ns=150 * MS) for thread in self.threads]

    def add(self, thread, name, waited=0, under=None, kind=0, module="app", **columns):
        """Add a function that ran for 50 ms and waited."""
        function = self.built.function(module, name, "" if kind else "/x/app.py", 0 if kind else 9, kind)
        parent = self.work[thread] if under is None else under
        own = {"own_ns": (waited + 50) * MS, "wait_ns": waited * MS}
        return self.built.node(parent, self.threads[thread], function, calls=9, **own, **columns)

    def lock(self, thread, under, waited=0, **columns):
        return self.add(thread, "lock.__enter__", waited, under, kind=1, module="_thread", **columns)


@pytest.fixture
def opening(report):
    def lines(program):
        shown = report(program.built.build({"recorder": "calltree"}), 200)
        return [line for line in shown[1:3] if line.startswith("held up")]

    return lines


def test_a_lock_of_the_program_is_named_with_who_waits_for_it(opening):
    program = Program()
    for thread in (0, 1):
        program.lock(thread, program.add(thread, "add"), 400)
    assert opening(program) == ["held up: 800 ms for _thread:lock.__enter__ in app:add"]


def test_a_lock_whose_calls_are_not_reported_any_more_has_the_waiting_of_its_caller(opening):
    """The second thread met the place only after it was disabled on the first, so it has no call there."""
    program = Program()
    program.lock(0, program.add(0, "add", 300), 10, flags=1)
    program.add(1, "add", 290)
    assert opening(program) == ["held up: 600 ms for _thread:lock.__enter__ in app:add"]


def test_a_call_that_waits_while_all_calls_of_locks_are_known_is_another_wait(opening):
    program = Program()
    program.lock(0, program.add(0, "add", 300), 200)
    assert opening(program) == [
        "held up: 300 ms in other waits in app:add, 200 ms for _thread:lock.__enter__ in app:add",
    ]


def test_a_condition_blames_the_function_of_the_program(opening):
    program = Program()
    put = program.add(0, "Queue.put", module="queue")
    program.lock(0, program.add(0, "Condition.__enter__", under=put, module="threading"), 500)
    assert opening(program) == ["held up: 500 ms for _thread:lock.__enter__ in app:work"]


def test_waiting_for_another_threads_work_holds_nobody_up(opening):
    program = Program()
    wait = program.add(0, "Condition.wait", module="threading")
    program.add(0, "lock.acquire", 700, wait, kind=1, module="_thread")
    program.add(1, "_ThreadHandle.join", 700, kind=1, module="_thread")
    assert opening(program) == []


def test_locks_of_objects_and_the_gil_are_told_apart(opening):
    words = {NO_GIL: "locks of objects or the interpreter, mostly in app:count", GIL: "the interpreter's lock"}
    for waits in words:
        program = Program(waits)
        program.add(0, "count", 500, lock_ns=500 * MS)
        program.add(1, "other", 100, lock_ns=100 * MS)
        assert opening(program) == [f"held up: 600 ms for {words[waits]}"]


def test_the_stopped_world_is_no_lock_of_an_object_and_names_the_collector(opening):
    program = Program(stop=450)
    program.add(0, "count", 460, lock_ns=460 * MS)
    assert opening(program) == ["held up: 450 ms while the world was stopped, as for a collection"]
    program.add(1, "collect", kind=1, module="gc")
    assert opening(program) == ["held up: 450 ms while the world was stopped (gc:collect: 9 calls, 50.0 ms running)"]


def test_missing_processors_are_a_cause(opening):
    program = Program()
    program.add(0, "count", 800, ready_ns=800 * MS)
    assert opening(program) == ["held up: 800 ms for a processor"]


def test_threads_that_wait_little_or_alone_are_not_held_up(opening):
    program = Program()
    program.add(0, "count", 15, lock_ns=15 * MS)
    assert opening(program) == []
    alone = Builder()
    thread = alone.thread(alone.process(pid=1, waits=GIL), name="MainThread", wall_ns=900 * MS, cpu_ns=100 * MS)
    function = alone.function("app", "work", "/x/app.py", 1)
    alone.node(-1, thread, function, calls=1, own_ns=900 * MS, wait_ns=800 * MS, lock_ns=800 * MS)
    program.built = alone
    assert opening(program) == []


def test_a_function_states_how_many_threads_ran_beside_it(report):
    program = Program()
    program.add(0, "beside", compared_ns=40 * MS, beside_ns=36 * MS)
    program.add(1, "beside", compared_ns=40 * MS, beside_ns=28 * MS)
    program.add(1, "alone", compared_ns=40 * MS)
    program.add(0, "brief", compared_ns=1 * MS, beside_ns=1 * MS)
    lines = report(program.built.build({"recorder": "calltree"}), 120)
    table = lines[next(at for at, line in enumerate(lines) if line.startswith("Functions")) + 1 :]
    assert "at once" in table[0]
    cells = {name: line[: table[0].index("at once") + len("at once")].split()[-1] for line in table
             for name in ("beside", "alone", "brief") if f"app:{name}" in line}  # fmt: skip
    assert cells["beside"] == "1.8"
    assert cells["alone"] == "1.0"
    assert cells["brief"].endswith(("%", "ms"))  # too few looks: the cell is empty
