"""`program` can be imported by the tests beside it, and what they froze is thawed after each file."""

import gc
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module", autouse=True)
def _thawed():
    """Recording freezes the heap; `gc.get_referrers` sees nothing frozen, so other tests' tools would be misled."""
    yield
    gc.unfreeze()
