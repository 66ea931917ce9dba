"""The table of options of recordings, and those who take them: the command line, Python, type checkers, the core."""

import ast
import shlex
import sys
from pathlib import Path

import pytest

import seismo
from seismo import _core, options
from seismo.cli.main import home
from seismo.plugins.ipython.magics import VERBS as MAGICS
from seismo.plugins.pytest_plugin import pytest_addoption

PACKAGE = Path(seismo.__file__).parent
TYPES = {"profile": "CallOptions", "trace": "TraceOptions", "lines": "LineOptions", "objects": "ObjectOptions"}
VERBS = [*TYPES, "cover", "check"]


@pytest.mark.parametrize("verb", VERBS)
def test_the_command_line_has_each_option(verb):
    given = {option.name: option for option in home(verb).VERB.options}
    for setting in options.of(verb):
        if setting.name == "objects":
            assert "types" in given  # its one word besides the default
            continue
        assert given[setting.name] is setting


@pytest.mark.parametrize(("verb", "type_"), [*TYPES.items(), ("seismo.cover", "CoverOptions")])
def test_type_checkers_know_each_option(verb, type_):
    tree = ast.parse((PACKAGE / "options.py").read_text())
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def fields(name):
        own = {part.target.id for part in classes[name].body if isinstance(part, ast.AnnAssign)}
        return own.union(*(fields(base.id) for base in classes[name].bases if base.id in classes))

    assert fields(type_) == {setting.name for setting in options.of(verb)}


@pytest.mark.parametrize("verb", [*TYPES, "cover"])
def test_python_refuses_what_is_no_option(verb):
    with pytest.raises(TypeError, match=rf"{verb}\(\) got an unexpected keyword argument 'tempo'"):
        getattr(seismo, verb)(tempo=1)


@pytest.mark.parametrize("name", options.SETTINGS)
def test_the_core_takes_each_option(name):
    """All else is checked before the source is looked for."""
    setting = options.SETTINGS[name]
    recorder = {"profile": "calltree", "trace": "calltree", "lines": "linetimes", "objects": "lifetimes"}[
        setting.verbs[0]
    ]
    for value in setting.choices or ([None] if name in ("where", "span") else [1] if setting.read else [False, True]):
        given = {"recorder": "nothing", name: value} if name == "source" else {"source": "nothing", name: value}
        with pytest.raises(ValueError, match=r"no (recorder|source) 'nothing'"):
            _core.start(**{"recorder": recorder, **given})
    if setting.choices and name != "source":  # which there are is the interpreter's
        with pytest.raises(ValueError, match=f"{name} cannot be 'another'"):
            _core.start(recorder=recorder, **{name: "another"})


def test_the_core_takes_each_option_of_coverage():
    flags = {setting.name: False for setting in options.COVERAGE if setting.is_flag}
    with pytest.raises(TypeError, match="expected a Filter, not str"):
        _core.start(recorder="coverage", where="nothing", **flags)


def test_guests_have_the_options_that_say_so():
    parser = pytest.Parser(_ispytest=True)
    pytest_addoption(parser)
    for guest, begin in (("pytest-cover", "seismo_cover_"), ("pytest-check", "seismo_")):
        for setting in options.of(guest):
            name = begin + setting.name
            value = True if setting.is_flag else 7.0 if setting.read else "7"
            words = [f"--{name.replace('_', '-')}", *([] if setting.is_flag else ["7"])]
            assert vars(parser.parse_known_args(words))[name] == value
    for verb, known in MAGICS.items():
        mine = {setting.word: setting for setting in options.of(verb)}
        for word in known.keys() & mine.keys():
            assert known[word] != mine[word].is_flag, word
        assert known.keys() >= {setting.word for setting in options.of(f"%{verb}")}


@pytest.mark.parametrize(
    ("settings", "why_not"),
    [
        ({"recorder": "linetimes", "timing": "none"}, "only calls can be recorded without times"),
        ({"recorder": "linetimes", "timing": "every"}, "only calls are timed one by one"),
        ({"recorder": "linetimes", "journal": True}, "a trace is of calls"),
        ({"timing": "none", "journal": True}, "a trace has times"),
        ({"recorder": "lifetimes", "max_paths": 1}, r"lifetimes .*\{'max_paths': 1\}"),
    ],
)
def test_the_core_refuses_what_it_cannot_do(settings, why_not):
    with pytest.raises(ValueError, match=why_not):
        _core.start(**settings)


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("profile", "--c-functions all --flush 2.5"),
        ("trace", "--min-duration 10us --depth 5 --where 'module(\"*\")'"),
        ("lines", "--rate 500"),
        ("cover", "--branch --contexts test --context night"),
        pytest.param(
            "objects",
            "--paths --leaks 'call(\"f\")' --holders 2",
            marks=pytest.mark.skipif(sys.version_info < (3, 13, 3), reason="objects need CPython 3.13.3"),
        ),
    ],
)
def test_info_shows_the_verb_and_its_options_as_they_were_given(seismo, tmp_path, verb, given):
    (tmp_path / "app.py").write_text("def f(): return 1\nf()\n")
    seismo(verb, "-q", *shlex.split(given), "-o", "r.seismo", "app.py", status=0)
    lines = seismo("info", "r.seismo", status=0).stdout.splitlines()
    (made,) = (line for line in lines if line.startswith("made by "))
    assert made.endswith(f", recorder {verb}")
    assert f"settings  {given}" in lines
