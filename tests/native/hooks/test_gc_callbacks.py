"""The cycle collector's pauses are in the journal, and the program sees nothing of how seismo learns of them."""

import gc
import sys
import textwrap

import children
import pytest

import seismo


def look():
    """What a program can see of its list."""
    listed = [id(callback) for callback in gc.callbacks]
    return id(gc.callbacks), listed, sys.getrefcount(gc.callbacks), len(gc.get_referrers(gc.callbacks))


def test_a_pause_has_its_two_ends_its_generation_and_what_it_freed():
    def work():
        for _ in range(50):
            cycle = []
            cycle.append(cycle)
        del cycle
        gc.collect()

    gc.collect()
    gc.disable()
    try:
        with seismo.trace() as t:
            work()
    finally:
        gc.enable()
    calls = t.recording.calls
    (pause,) = calls.pauses
    assert pause.generation == 2
    assert pause.collected >= 50
    names = t.recording.functions["qualname"]
    (call,) = [row for row in calls.window().calls if names[row.function].endswith("work")]
    assert call.start_ns <= pause.start_ns < pause.end_ns <= call.end_ns


def test_the_list_of_the_program_is_as_it_was():
    before = look()
    with seismo.trace():
        during = look()
        gc.collect()
    assert before == during == look()


def test_what_the_program_puts_into_its_list_is_called_as_ever():
    def first(phase, info):
        said.append(("first", phase, sorted(info)))
        if phase == "start" and second not in gc.callbacks:
            gc.callbacks.append(second)

    def second(phase, info):
        said.append(("second", phase, sorted(info)))

    def collect():
        gc.callbacks.append(first)
        gc.collect()
        gc.callbacks.remove(first)
        gc.collect()
        gc.callbacks.remove(second)

    said = []
    collect()
    bare, said = said, []
    with seismo.trace():
        collect()
    assert said == bare
    assert [who for who, _, _ in bare] == ["first", "second", "first", "second", "second", "second"]


def test_a_callback_that_raises_is_told_as_ever(monkeypatch):
    def fails(phase, info):
        raise ValueError(phase)

    def collect():
        gc.callbacks.append(fails)
        gc.collect()
        gc.callbacks.remove(fails)

    told = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda said: told.append((said.err_msg, said.object, str(said.exc_value)))
    )
    collect()
    bare = list(told)
    told.clear()
    with seismo.trace():
        collect()
    assert told == bare
    assert len(bare) == 2


def test_a_callback_may_end_the_trace():
    def stops(phase, info):
        said.append(phase)
        if session is not None and phase == "start":
            session.__exit__(None, None, None)

    said, session = [], None
    gc.callbacks += [stops, lambda phase, info: said.append("other")]
    try:
        session = seismo.trace()
        session.__enter__()
        gc.collect()
        session = None
        first, said[:] = list(said), []
        with seismo.trace():
            gc.collect()
    finally:
        del gc.callbacks[-2:]
    assert first == said == ["start", "other", "stop", "other"]


@pytest.mark.parametrize("ends", ["pass", "os._exit(0)", "raise SystemExit(0)"])
def test_a_program_that_ends_with_a_trace_ends_as_ever(tmp_path, ends):
    code = f"""
        import gc, os, seismo
        gc.callbacks.append(lambda phase, info: None)
        session = seismo.trace(output="x.seismo")
        session.__enter__()
        if os.fork() == 0:
            gc.collect()
            os._exit(0)
        os.wait()
        gc.collect()
        {ends}
    """
    done = children.python("-c", textwrap.dedent(code), cwd=tmp_path, status=None)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
