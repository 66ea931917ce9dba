"""What tests of all rooms share."""

import pytest


@pytest.fixture
def path(tmp_path):
    """The path of a recording that is to be made."""
    return tmp_path / "r.seismo"
