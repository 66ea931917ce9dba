"""speedscope files: against the schema that speedscope publishes, and back."""

import json
from itertools import chain

import format_samples as samples
import journal_made
import pytest

from seismo import formats
from seismo.formats import speedscope

FORMAT = formats.by_name("speedscope")


def written(recording):
    return samples.valid("speedscope", samples.written(FORMAT, recording))


def replay(profile, frames):
    """What the viewer does with an evented profile: balanced, in order, inside its span.

    Returns the own time by path, and the frames in the order in which they were opened, with their times.
    """
    stack, at, own, opened = [], profile["startValue"], {}, []
    for event in profile["events"]:
        assert event["at"] >= at
        if stack:
            path = tuple(stack)
            own[path] = own.get(path, 0) + event["at"] - at
        at = event["at"]
        if event["type"] == "O":
            assert 0 <= event["frame"] < len(frames)
            stack.append(event["frame"])
            opened.append((frames[event["frame"]]["name"], at))
        else:
            assert stack.pop() == event["frame"]
    assert not stack
    assert at <= profile["endValue"]
    return own, opened


@samples.of_any_recording
def test_arbitrary_recordings_are_valid_and_balanced_and_come_back(recording):
    data = samples.written(FORMAT, recording)
    document = samples.valid("speedscope", data)
    assert 0 <= document["activeProfileIndex"] < len(document["profiles"])
    frames = document["shared"]["frames"]
    whole = sum(sum(replay(profile, frames)[0].values()) for profile in document["profiles"])
    assert whole == sum(map(int, recording.tree["own_ns"]))
    assert whole == sum(profile["endValue"] for profile in document["profiles"])
    back = FORMAT.reader(data)
    anywhere = {"thread_key": lambda row: ""}
    assert samples.by_path(back, "own_ns", **anywhere) == samples.by_path(recording, "own_ns", **anywhere)
    assert len(back.threads) == max(1, len({row.thread for row in recording.tree}))


def test_a_profile_is_a_thread():
    document = written(samples.typical())
    assert [profile["name"] for profile in document["profiles"]] == [
        "MainThread 77 in process 77",
        "worker;1 79 in process 77",
        "MainThread 78 in process 78",
    ]
    assert document["activeProfileIndex"] == 0
    assert document["name"] == "app.py --fast"
    assert document["shared"]["frames"][1] == {"name": "app.maths:fib", "file": "/src/app/maths.py", "line": 10}


@pytest.mark.parametrize("seed", range(3))
def test_calls_of_a_trace_are_opened_and_closed_in_time(seed):
    made = journal_made.made(seed, events=200)[2]
    document = written(made)
    opened = [replay(profile, document["shared"]["frames"])[1] for profile in document["profiles"]]
    names = made.functions["qualname"]
    assert list(chain.from_iterable(opened)) == [
        (f"made:{names[row.function]}", row.start_ns) for row in made.calls.window().calls
    ]


def sampled(unit="milliseconds", **changes):
    profile = {
        "type": "sampled", "name": "t", "unit": unit, "startValue": 0, "endValue": 9,
        "samples": [[0, 1], [0], [0, 1, 1]], "weights": [1, 2.5, 3],
    }  # fmt: skip
    frames = [{"name": "main", "file": "a.py", "line": 3}, {"name": "work", "line": "x", "file": None}]
    document = {"$schema": speedscope.SCHEMA}
    return {**document, "shared": {"frames": frames}, "profiles": [{**profile, **changes}]}


def test_sampled_profiles_of_other_tools_are_read(tmp_path):
    path = tmp_path / "x.json"  # the name does not say it, the content does
    path.write_text(json.dumps(sampled()))
    back = formats.read(path)
    assert {row.qualname: (row.own_ns, row.total_ns) for row in back.functions} == {
        "main": (2_500_000, 6_500_000),
        "work": (4_000_000, 4_000_000),
    }
    path.write_text(json.dumps(sampled(unit="none")))
    assert set(formats.read(path).losses["kind"]) == {"calls-unknown", "unit-assumed"}


EVENTED = {"type": "evented", "unit": "nanoseconds"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"samples": [[2]], "weights": [1]}, "index of a frame"),
        ({"samples": [[True]], "weights": [1]}, "index of a frame"),
        ({"samples": [[0]], "weights": []}, "samples and weights differ"),
        ({"samples": [[0]], "weights": [float("inf")]}, "too large"),
        ({"samples": [[0]], "weights": ["1"]}, "not a number"),
        ({"samples": 1}, "samples is not a list"),
        ({"type": "other"}, "neither"),
        ({**EVENTED, "events": [{"type": "O", "at": 5, "frame": 0}, {"type": "C", "at": 4, "frame": 0}]}, "before"),
        ({**EVENTED, "events": [{"type": "C", "at": 5, "frame": 0}]}, "nor closes the innermost"),
        (
            {**EVENTED, "events": [{"type": "O", "at": 1, "frame": 0}, {"type": "C", "at": 4, "frame": 1}]},
            "nor closes the innermost",
        ),
        ({**EVENTED, "events": [3]}, "an event is not an object"),
    ],
)
def test_what_is_no_profile_is_refused_with_the_reason(tmp_path, changes, reason):
    samples.refused(tmp_path / "x.speedscope.json", json.dumps(sampled(**changes)), reason)
