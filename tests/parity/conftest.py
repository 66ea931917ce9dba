"""What the tests of parity froze is thawed after each file."""

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def _thawed():
    """Recording freezes the heap; `gc.get_referrers` sees nothing frozen, so other tests' tools would be misled."""
    yield
    gc.unfreeze()
