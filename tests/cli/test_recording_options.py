"""The table of options of recordings, and those who take them: the command line, Python, type checkers, the core."""

import ast
import importlib
from pathlib import Path

import pytest

import seismo
from seismo import _core, options

PACKAGE = Path(seismo.__file__).parent
TYPES = {"profile": "CallOptions", "trace": "TraceOptions", "lines": "LineOptions", "objects": "ObjectOptions"}


def keywords(verb):
    return {setting.name for setting in options.of(verb)}


@pytest.mark.parametrize("verb", TYPES)
def test_the_command_line_has_each_option(verb):
    given = {option.key: option for option in importlib.import_module(f"seismo.cli.{verb}").VERB.options}
    for setting in options.of(verb):
        if setting.name == "objects":
            assert "types" in given  # its one word besides the default
            continue
        assert given[setting.name].names == [setting.word]
        assert given[setting.name].choices == setting.choices_of(verb)


@pytest.mark.parametrize("verb", TYPES)
def test_type_checkers_know_each_option(verb):
    tree = ast.parse((PACKAGE / "options.py").read_text())
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def fields(name):
        own = {part.target.id for part in classes[name].body if isinstance(part, ast.AnnAssign)}
        return own.union(*(fields(base.id) for base in classes[name].bases if base.id in classes))

    assert fields(TYPES[verb]) == keywords(verb)


@pytest.mark.parametrize("verb", TYPES)
def test_python_refuses_what_is_no_option(verb):
    with pytest.raises(TypeError, match=rf"{verb}\(\) got an unexpected keyword argument 'tempo'"):
        getattr(seismo, verb)(tempo=1)


def test_the_core_takes_each_option():
    values = {
        name: setting.choices[0] if setting.choices else 1 if setting.read else None if setting.metavar else False
        for name, setting in options.SETTINGS.items()
    }
    with pytest.raises(ValueError, match="recorder"):
        _core.start(recorder="nothing", **{**values, "where": None})
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    start = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "start")
    defaults = {
        arg.arg: ast.unparse(value) for arg, value in zip(start.args.kwonlyargs, start.args.kw_defaults, strict=True)
    }
    for name, setting in options.SETTINGS.items():
        assert name in defaults
        if setting.choices and name != "source":
            assert defaults[name] == repr(setting.choices[0])


@pytest.mark.parametrize(
    ("settings", "why_not"),
    [
        ({"recorder": "linetimes", "timing": "none"}, "only calls can be recorded without times"),
        ({"recorder": "linetimes", "timing": "every"}, "only calls are timed one by one"),
        ({"recorder": "linetimes", "journal": True}, "a trace is of calls"),
        ({"timing": "none", "journal": True}, "a trace has times"),
    ],
)
def test_the_core_refuses_what_it_cannot_do(settings, why_not):
    with pytest.raises(ValueError, match=why_not):
        _core.start(**settings)
