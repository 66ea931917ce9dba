"""What holds for all tests: the folders that they import from, the fixtures that several of them use."""

import gc
import signal
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# The tests are imported by path, so their folders are on no path. `common` has what several folders share; a module
# beside the tests of one folder is theirs.
BESIDE = [
    "coverage",
    "cprofile",
    "formats",
    "hooks",
    "native/estimate",
    "native/recorder/lines",
    "parity",
    "plugins",
    "report",
]
sys.path[:0] = [str(TESTS / folder) for folder in ["common", *BESIDE]]

from recording_itself import run  # noqa: E402, F401
from same import Lab  # noqa: E402

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that: programs would not stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The folders of tests that record their own process.
RECORDING = {"capi", "coverage", "cprofile", "hooks", "native", "parity", "record", "sessions", "watch"}


@pytest.fixture(autouse=True)
def _collected_between_tests(request):
    """What the collector runs is no part of a test, such as the function that Hypothesis has in gc.callbacks."""
    here = request.path.relative_to(TESTS).parts[0] in RECORDING
    if here:
        gc.disable()
    yield
    if here:
        gc.enable()


@pytest.fixture
def lab(tmp_path):
    """A folder with programs that are run bare and recorded."""
    return Lab(tmp_path)
