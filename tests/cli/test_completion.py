"""`seismo completion`, in bash, with what shtab makes of the verbs."""

import argparse
import re
import subprocess

import children
import pytest

from seismo.cli.completion import every_verb
from seismo.cli.main import VERBS

shtab = pytest.importorskip("shtab")


@pytest.fixture
def folder(tmp_path):
    """Has recordings and a script."""
    for name in ("app.seismo", "app.pstats", "server.py", "a b.seismo"):
        (tmp_path / name).write_bytes(b"")
    return tmp_path


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "seismo.bash"
    path.write_text(children.seismo("completion", "bash").stdout)
    return path


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("seismo repo", {"report"}),
        ("seismo ", set(VERBS)),
        ("seismo report --so", {"--sort"}),
        ("seismo report --sort cum", {"cumtime", "cumulative"}),
        ("seismo export --format coll", {"collapsed", "collapsed-long", "collapsed-calls"}),
        ("seismo profile --clock t", {"tsc"}),
        ("seismo watch call --color al", {"always"}),
        ("seismo completion f", {"fish"}),
        ("seismo report a", {"app.seismo", "app.pstats", "a b.seismo"}),
        ("seismo profile -q -o x.seismo ser", {"server.py"}),
        ("seismo watch call ser", {"server.py"}),
        ("seismo merge -o out.seismo app.seismo app.p", {"app.pstats"}),
    ],
)
def test_bash_offers(script, folder, line, wanted):
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    program = f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _shtab_seismo; "
    command = ["bash", "--norc", "-c", program + 'printf "%s\\n" "${COMPREPLY[@]}"']
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.split("\n")) - {""} == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_each_verb_and_option(shell):
    text = children.seismo("completion", shell).stdout
    (verbs,) = (one for one in every_verb()._actions if isinstance(one, argparse._SubParsersAction))
    assert set(verbs.choices) == set(VERBS)
    for parser in verbs.choices.values():
        for option in parser._option_string_actions:
            name = f"-[ls] {option.lstrip('-')}" if shell == "fish" else option
            assert re.search(rf"(?<![\w-]){name}(?![\w-])", text), (parser.prog, option)


def test_what_cannot_be_written(seismo, tmp_path):
    done = seismo("completion", "basch", status=2)
    assert "did you mean bash?" in done.stderr
    seismo("completion", status=2)
    (tmp_path / "shtab.py").write_text("raise ImportError")
    done = seismo("completion", "bash", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'seismo[completion]'" in done.stderr
    (tmp_path / "shtab.py").write_text("SUPPORTED_SHELLS = ['bash']\n__version__ = '1.0'")
    done = seismo("completion", "fish", PYTHONPATH=str(tmp_path))
    assert "shtab 1.0 does not support fish" in done.stderr
