"""What tests of spans share: what calls have kept, and a file that tells of it."""

import pytest
from births import calls_of, kept, start

from seismo import _core


@pytest.fixture(autouse=True)
def _nothing_kept():
    yield
    _core.stop()
    kept.clear()


@pytest.fixture
def handled(path):
    """The file into which calls of handle() are recorded from here on."""
    with path.open("wb") as file:
        start(span=calls_of("handle"), fd=file.fileno())
        yield path
        _core.stop()
