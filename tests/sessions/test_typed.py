"""A user's editor sees the classes of sessions; `make lint` checks tests/typing, as a user's type checker does."""

import inspect

import pytest

import seismo

SESSIONS = {"profile": "Profile", "trace": "Trace", "lines": "Lines", "cover": "Cover", "objects": "Objects"}


@pytest.mark.parametrize("verb", SESSIONS)
def test_help_names_the_class_of_the_session(verb):
    assert inspect.signature(getattr(seismo, verb)).return_annotation == f"{SESSIONS[verb]} | Callable[P, R]"
