"""What the probes cost is found before a recording with the settings that it has, and leaves nothing in it."""

import pytest
from lab import SOURCES, start
from recorded import Image, image

import seismo
from seismo import _core


@pytest.mark.crossed
@pytest.mark.parametrize("timing", ["sampled", "every"])
@pytest.mark.parametrize("c_functions", ["none", "auto", "all"])
@pytest.mark.parametrize("source", SOURCES)
def test_costs(source, c_functions, timing):
    kinds = ("python", "resume") + (("c",) if c_functions != "none" else ())
    start(source, c_functions=c_functions, timing=timing, calibrate=True)
    _core.stop()
    status, recorded = _core.status(), image()
    (process,) = recorded.tables["processes"]
    for kind in kinds:
        assert status[f"{kind}_inside"] + status[f"{kind}_outside"] > 0, kind
        assert process[f"{kind}_inside"] == pytest.approx(status[f"{kind}_inside"], rel=0.01), kind
    assert (c_functions != "none") == (process["c_inside"] + process["c_outside"] > 0)
    assert process["piece_ns"] == pytest.approx(status["piece"], rel=0.01)
    assert 0 < process["piece_ns"] < 10_000
    assert 0.1 <= process["cost_error"] < 100, "shapes differ by as much as the machine is disturbed"
    # Frames are evaluated by C calls of their own there. Their cost is a difference, and 0 if that is negative.
    assert process["deep_ns"] >= 0 if source == "evalframe" else process["deep_ns"] == 0
    assert status["c_functions"] == c_functions
    assert not [
        row for row in recorded.functions() if "calibration" in row["file"] or row["qualname"] == "seismo_nothing"
    ]
    assert not set(recorded.losses) - {"cython-unseen"}, "which other tests may have imported"


@pytest.mark.parametrize("session", [seismo.profile(where='function("nothing")'), seismo.lines(only="nothing")])
def test_a_filter_leaves_out_nothing_that_calibration_runs(session):
    """Otherwise the costs would be those of what is not recorded."""
    with session:
        pass
    (process,) = Image(_core.snapshot(session.recorder)).tables["processes"]
    assert process["python_inside"] + process["python_outside"] > 0
    assert session.recorder == "linetimes" or process["piece_ns"] > 0
    assert not [row for row in session.recording.functions if "calibration" in row.file]
