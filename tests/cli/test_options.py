"""What several verbs take is read and explained in the same way by all of them."""

import pytest

from seismo import _core
from seismo.cli.main import main


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("watch call --limit 0 x.py", "give a whole number above 0"),
        ("report --limit -1", "give a whole number, 0 or more"),
        ("report --depth 1.5", "give a whole number above 0"),
        ("profile --max-paths 0.5 x.py", "give a whole number above 0"),
        ("objects --max-live 0.5 x.py", "give a whole number above 0"),
        ("objects --holders -1 x.py", "give a whole number, 0 or more"),
        ("diff --limit -1", "give a whole number, 0 or more"),
        ("report --precision two", "give a whole number, 0 or more"),
        ("cover --fail-under 101 x.py", "give a percentage from 0 to 100"),
        ("report --fail-under 101", "give a percentage from 0 to 100"),
        ("report --min most", "give a percentage from 0 to 100"),
        ("lines --flush never x.py", "give a number above 0"),
        ("cover --color blue x.py", "use one of auto, always, never"),
        ("info --color blue", "use one of auto, always, never"),
    ],
)
def test_a_wrong_value_is_told_with_its_option_and_what_can_be(words, hint, capsys):
    assert main(words.split()) == 2
    option = next(word for word in words.split() if word.startswith("--"))
    value = words.split()[words.split().index(option) + 1]
    assert capsys.readouterr().err == f"seismo: {option} cannot be '{value}'\n        {hint}\n"


def test_help_says_the_core_s_own_defaults(capsys):
    for words, default in (
        ("profile --help", f"(default: {_core.DEFAULTS['max_paths']})"),
        ("objects --help", f"(default: {_core.DEFAULTS['max_live']})"),
        ("cover --help", f"(default: {_core.DEFAULTS['flush_ms'] // 1000})"),
    ):
        assert main(words.split()) == 0
        assert default in " ".join(capsys.readouterr().out.split())
