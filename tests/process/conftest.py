"""What several of these tests share: a folder whose programs run bare only once."""

from functools import cache

import pytest
from same import Lab


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder for programs that are recorded in several ways, and whose bare run is the same for each."""
    lab = Lab(tmp_path_factory.mktemp("shared"))
    lab.bare = cache(lab.bare)
    return lab
