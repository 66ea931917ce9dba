"""The public API's types as a user's type checker sees them. Nothing runs this file: mypy reads it.

`make lint` runs mypy on it.
"""

from collections.abc import Iterator
from typing import assert_type

import seismo
from seismo.model import CallFlags, DiffRow, FunctionFlags, FunctionKind, FunctionRow, NodeRow, Table, diff
from seismo.sessions.cover import Cover
from seismo.sessions.lines import Lines
from seismo.sessions.objects import Objects
from seismo.sessions.profile import Profile
from seismo.sessions.trace import Trace
from seismo.sessions.watch import Watch


def sessions() -> None:
    with seismo.profile(output="part.seismo", c_functions="none") as p:
        pass
    assert_type(p, Profile)
    assert_type(p.recording, seismo.Recording)
    p.print(color="never")
    p.report(sort="cumulative", limit=3)
    p.save("part.pstats")
    session = seismo.start(c_functions="none")
    assert_type(session, Profile)
    assert_type(session._repr_html_(), str)
    assert_type(seismo.stop(), seismo.Recording)


def other_sessions() -> None:
    with seismo.trace(depth=9) as t, seismo.lines(only="app.*") as lines, seismo.cover(branch=True) as c:
        pass
    assert_type(t, Trace)
    assert_type(lines, Lines)
    assert_type(c, Cover)
    assert_type(c.report(limit=3), float)
    with seismo.objects() as r, seismo.watch("call") as w:
        pass
    assert_type(r, Objects)
    assert_type(w, Watch)


named = seismo.profile()


@named
def decorated_by_name(number: int) -> str:
    return str(number)


@seismo.profile
def decorated(number: int) -> str:
    return str(number)


@seismo.profile(c_functions="all")
def generator(number: int) -> Iterator[int]:
    yield number


def trace(recording: seismo.Recording) -> None:
    window = recording.calls.window(0, 1_000_000)
    for call in window.calls:
        assert_type(call.start_ns, int)
        assert_type(call.flags, CallFlags)
    for said in recording.calls.instants:
        assert_type(said.name, str)


def objects() -> None:
    with seismo.objects(collect=True, output="part.seismo") as r:
        r.mark("before")
    assert_type(r.born, int)
    assert_type(r.recording, seismo.Recording)
    for row in r.since("before"):
        assert_type(row.type, str)
        assert_type(row.count, int)
    r.assert_objects(max_born=3, of=[dict, "app.*"])


@seismo.watch('call("parse")', "histogram", args=True, threads="current")
def watched(number: int) -> str:
    return str(number)


def watching() -> None:
    with seismo.watch('call("parse")', ["count", print], limit=3, record="part.seismo") as w:
        pass
    assert_type(w.count, int)
    assert_type(w.recording, seismo.Recording)
    assert_type(watched(3), str)
    seismo.watch("call", colour="never")  # type: ignore[call-arg]


@seismo.objects
def counted(number: int) -> str:
    return str(number)


def decorators_keep_types() -> None:
    assert_type(counted(3), str)
    assert_type(decorated(3), str)
    assert_type(decorated_by_name(3), str)
    assert_type(named.recording, seismo.Recording)
    assert_type(generator(3), Iterator[int])


def tables() -> None:
    recording = seismo.open("part.seismo")
    assert_type(recording, seismo.Recording)
    assert_type(recording.functions, Table[FunctionRow])
    for row in recording.functions:
        assert_type(row.qualname, str)
        assert_type(row.calls, int)
        assert_type(row.kind, FunctionKind)
        assert_type(row.flags, FunctionFlags)
        assert_type(row.own_error_ns, float)
        assert_type(row.own_running_ns, float)
        assert_type(row.own_waiting_ns, int)
    assert_type(recording.tree[0], NodeRow)
    assert_type(seismo.merge([recording, recording]), seismo.Recording)
    assert_type(diff(recording, recording), list[DiffRow])
