"""A recording of each kind."""

import children
import pytest
import story_samples as samples


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder of a program and of its recordings, KIND.seismo."""
    folder = tmp_path_factory.mktemp("recordings")
    for kind in samples.VERBS:
        samples.recorded(folder, kind)
    return folder


@pytest.fixture(scope="session")
def counted(folder):
    """A recording of the program without times."""
    children.seismo("profile", "--timing", "none", "-o", "counted.seismo", "app.py", cwd=folder)
    return folder / "counted.seismo"
