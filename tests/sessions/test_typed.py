"""The public names, and the classes of sessions in help; `make lint` checks tests/typing, as a type checker would."""

import inspect

import pytest

import seismo

SESSIONS = {"profile": "Profile", "trace": "Trace", "lines": "Lines", "cover": "Cover", "objects": "Objects"}


@pytest.mark.parametrize("verb", SESSIONS)
def test_help_names_the_class_of_the_session(verb):
    assert inspect.signature(getattr(seismo, verb)).return_annotation == SESSIONS[verb]


def test_public_names():
    assert len(set(seismo.__all__) - {"__version__"}) <= 16
    assert set(seismo.__all__) <= set(dir(seismo))
    assert all(getattr(seismo, name) is not None for name in seismo.__all__)
    with pytest.raises(AttributeError):
        _ = seismo.nosuch
