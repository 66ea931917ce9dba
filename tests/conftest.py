"""What holds for all tests."""

import gc
import signal
import sys
from pathlib import Path

import pytest

# The tests are imported by path, so their folder is on no path: `recorded` and others can be imported by all.
sys.path.insert(0, str(Path(__file__).parent))

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that: programs would not stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# These record the test's own process.
RECORDING = {"capi", "cover", "cprofile", "hooks", "lines", "native", "parity", "record", "objects", "watch"}


@pytest.fixture(autouse=True)
def _collected_between_tests(request):
    """What the collector runs is no part of a test, such as the function that Hypothesis has in gc.callbacks."""
    here = request.path.parent.name in RECORDING
    if here:
        gc.disable()
    yield
    if here:
        gc.enable()
