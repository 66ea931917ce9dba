"""A user's type checker and editor see the types of the public API."""

import inspect

import pytest
from paths import ROOT

import seismo

SESSIONS = {"profile": "Profile", "trace": "Trace", "lines": "Lines", "cover": "Cover", "objects": "Objects"}


@pytest.mark.slow
def test_a_type_checker_sees_the_classes_of_sessions(monkeypatch):
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    monkeypatch.chdir(ROOT)  # with pyproject.toml, which makes mypy strict
    found, _, status = api.run(["tests/typing/public_api.py"])
    assert status == 0, found


@pytest.mark.parametrize("verb", SESSIONS)
def test_help_names_the_class_of_the_session(verb):
    assert inspect.signature(getattr(seismo, verb)).return_annotation == f"{SESSIONS[verb]} | Callable[P, R]"
