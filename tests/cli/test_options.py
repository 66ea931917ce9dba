"""What is wrong in a command line is explained before anything runs, in the same way by all verbs."""

import pytest

from seismo import _core
from seismo.cli.main import main
from seismo.process.objects.recorder import why_not

POSSIBLE = pytest.mark.skipif(bool(why_not()), reason=why_not() or "never")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("watch call --limit 0 x.py", "give a whole number above 0"),
        ("report --limit -1", "give a whole number, 0 or more"),
        ("profile --max-paths 0.5 x.py", "give a whole number above 0"),
        ("profile --flush nan x.py", "give a number above 0"),
        ("objects --max-live 0.5 x.py", "give a whole number above 0"),
        ("objects --holders -1 x.py", "give a whole number, 0 or more"),
        ("report --precision two", "give a whole number, 0 or more"),
        ("cover --fail-under 101 x.py", "give a percentage from 0 to 100"),
        ("report --min most", "give a percentage from 0 to 100"),
        ("cover --color blue x.py", "use one of auto, always, never"),
    ],
)
def test_a_wrong_value_is_told_with_its_option_and_what_can_be(words, hint, capsys):
    assert main(words.split()) == 2
    option = next(word for word in words.split() if word.startswith("--"))
    value = words.split()[words.split().index(option) + 1]
    assert capsys.readouterr().err == f"seismo: {option} cannot be '{value}'\n        {hint}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["profile"], "the program is missing"),
        (["profile", "-m"], "-m needs a value"),
        (["profile", "--output="], "is empty"),
        (["profile", "--nosuch", "x.py"], "no option --nosuch"),
        (["profile", "-qo", "r", "x.py"], "no option -qo"),
        (["profile", "--clock", "sundial", "x.py"], "--clock cannot be 'sundial'"),
        (["profile", "--c-functions=some", "x.py"], "use one of auto, all, none"),
        (["profile", "--source", "tea-leaves", "x.py"], "use one of"),
        (["profile", "--where", "", "x.py"], "the value of --where is empty"),
        (["profile", "--where", "depth > 5", "x.py"], "depth cannot be used here"),
        (["lines", "--only", "", "x.py"], "the value of --only is empty"),
        (["cover", "--contexts", "x", "x.py"], "use one of test"),
        (["cover", "--include", "a**b", "x.py"], "a file pattern cannot be 'a**b'"),
        (["cover", "--rcfile", "nosuch", "x.py"], "no such settings file"),
        (["cover", "--rcfile", "nosuch", "--no-config", "x.py"], "cannot be used together"),
        (["cover", "nosuch.py"], "cannot open the script"),
        (["watch"], "the expression and the program are missing"),
        (["watch", "x.py"], "the expression is missing"),
        (["watch", 'call("a"', "x.py"], "^"),
        (["watch", "call", "--call", "nothing:here", "x.py"], "the function cannot be loaded"),
        (["watch", "call", "--call", "nothing", "x.py"], "give MODULE:FUNCTION"),
        *(
            pytest.param(["objects", *words, "x.py"], said, marks=POSSIBLE)
            for words, said in (
                (["--leaks", "handle", "--span", "main"], "cannot b"),
                (["--types", "--paths"], "cannot b"),
                (["--types", "--holders", "3"], "cannot b"),
                (["--span", "duration > 1ms"], "cannot be used here"),
                (["--leaks", 'c_call("len")'], "cannot be used here"),
            )
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_said_in_two_lines_and_nothing_is_written(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text("print('it ran')")
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("seismo: ")
    assert said in err
    assert len(err.splitlines()) <= 5
    assert [path.name for path in tmp_path.iterdir()] == ["x.py"]


def test_help_says_the_core_s_own_defaults(capsys):
    for words, default in (
        ("profile --help", f"(default: {_core.DEFAULTS['max_paths']})"),
        ("objects --help", f"(default: {_core.DEFAULTS['max_live']})"),
        ("cover --help", f"(default: {_core.DEFAULTS['flush_ms'] // 1000})"),
    ):
        assert main(words.split()) == 0
        assert default in " ".join(capsys.readouterr().out.split())
