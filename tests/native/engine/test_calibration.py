"""What the probes cost is found before a recording with the settings that it has, and leaves nothing in it."""

import pytest
from lab import SOURCES, WITH_C, run, start
from recorded import image

from seismo import _core


@pytest.mark.parametrize("timing", ["frugal", "every"])
@pytest.mark.parametrize("c_functions", ["none", "auto", "all"])
@pytest.mark.parametrize("source", SOURCES)
def test_costs(source, c_functions, timing):
    start(source, c_functions=c_functions, timing=timing, calibrate=True)
    _core.stop()
    status, recorded = _core.status(), image()
    (process,) = recorded.tables["processes"]
    for kind in ("python", "resume") + (("c",) if c_functions != "none" else ()):
        assert status[f"{kind}_inside"] + status[f"{kind}_outside"] > 0, kind
        assert process[f"{kind}_inside"] == pytest.approx(status[f"{kind}_inside"] * status["pace"], rel=0.01), kind
    assert (c_functions != "none") == (process["c_inside"] + process["c_outside"] > 0)
    assert process["catch_ns"] >= 0
    assert process["coroutine_ns"] >= 0
    assert (process["from_c_ns"] > 0) <= (source == "evalframe")
    assert 0.03 <= process["cost_error"] <= 0.5
    assert status["c_functions"] == c_functions
    assert not [
        row for row in recorded.functions() if "calibration" in row["file"] or row["qualname"] == "seismo_nothing"
    ]
    assert not set(recorded.losses) - {"cython-unseen"}, "which other tests may have imported"


@pytest.mark.parametrize("source", WITH_C)
def test_a_second_recording_with_other_settings_has_its_own(source):
    for c_functions in ("all", "none", "all"):
        start(source, c_functions=c_functions, calibrate=True)
        _core.stop()
        assert (_core.status()["c_inside"] + _core.status()["c_outside"] > 0) == (c_functions == "all")


@pytest.mark.parametrize("recorder", ["calltree", "linetimes"])
@pytest.mark.parametrize(("calibrating", "recording"), [(1000, 2000), (3000, 2000)])
def test_probes_cost_as_much_more_as_the_processor_was_slower_while_it_recorded(recorder, calibrating, recording):
    """By a neighbour on its core, or by its frequency: a calibration agrees with itself in any case."""
    run(
        """
import sys, time
from recorded import image
recorder, calibrating, recording = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def works():
    until = time.thread_time() + 0.05 # so long that the pace is noted
    while time.thread_time() < until:
        works.__name__.lower()
_core._simulate_pace(calibrating, recording)
for i in range(2):  # the second time with what was calibrated the first
    _core.start(recorder=recorder, running=False)
    works()
    _core.stop()
    status, (process,) = _core.status(), image().tables["processes"]
    factor = recording / calibrating
    assert abs(status["pace"] - factor) < 1e-9, status
    for kind in ("python_inside", "python_outside", "resume_inside", "resume_outside", "c_inside", "c_outside"):
        assert abs(process[kind] - factor * status[kind]) <= 0.001 * process[kind], kind
    assert process["python_inside"] + process["python_outside"] > 0
    assert abs(process["cost_error"] - status["cost_error"] - 0.25 * abs(factor - 1)) < 1e-9
""",
        recorder,
        str(calibrating),
        str(recording),
    )
