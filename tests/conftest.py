"""What holds for all tests: the folders that they import from, the fixtures that several of them use."""

import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis.strategies import none

TESTS = Path(__file__).parent
# The tests are imported by path, so their folders are on no path. `common` has what several folders share; a module
# beside the tests of one folder is theirs.
BESIDE = [
    "coverage", "cprofile", "formats", "hooks", "model", "native/estimate", "native/file", "native/trace", "parity",
    "plugins", "report",
]  # fmt: skip
sys.path[:0] = [str(TESTS / folder) for folder in ["common", *BESIDE]]

from browser import browser  # noqa: E402, F401
from recording_itself import run  # noqa: E402, F401
from same import Lab  # noqa: E402

# The folders of tests that record their own process.
RECORDING = {"capi", "coverage", "cprofile", "hooks", "native", "parity", "process", "sessions", "watching"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what `make test` leaves to the matrix, before `-m` chooses."""
    firsts = {}
    for item in items:
        if item.get_closest_marker("crossed"):
            first = firsts.setdefault(item.function, item.callspec.params)
            if sum(value != first[name] for name, value in item.callspec.params.items()) > 1:
                item.add_marker("matrix")
    if "CI" not in os.environ or "ASAN_OPTIONS" in os.environ:  # the fuzzers go on under the sanitizers
        fewer_examples({item.function for item in items if hasattr(item, "function")})


def fewer_examples(functions):
    """Take a third of Hypothesis' examples; without CI, others each time."""
    for function in functions:
        if own := getattr(function, "_hypothesis_internal_use_settings", None):
            function._hypothesis_internal_use_settings = settings(own, max_examples=-(-own.max_examples // 3))


def pytest_collection_finish():
    """What pytest has found is thousands of objects and stays: a collection in a test need not look at them again.

    Hypothesis looks for who refers to its generator of random numbers when it is first used, so that comes before.
    """
    given(none())(lambda _: None)()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _signals_reach_children():
    """Children inherit which signals are ignored: Ctrl-C, where a shell runs the tests in the background, and the
    hang-up under nohup. A handler of ours is not inherited."""
    for number, handler in {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: lambda *_: None}.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _collected_between_tests(request):
    """What the collector runs is no part of a test, such as the function that Hypothesis has in gc.callbacks."""
    here = request.path.relative_to(TESTS).parts[0] in RECORDING
    if here:
        gc.disable()
    yield
    if here:
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _unseen_by_the_collector():
    """What earlier files have left is for no collection of this one's tests either: each would go through all of it."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def thawed():
    """For tests that look for objects among all that there are."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def lab(tmp_path):
    """A folder with programs that are run bare and recorded."""
    return Lab(tmp_path)
