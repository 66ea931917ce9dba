"""`seismo completion`, in the shells themselves."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import children
import pytest

import seismo as package
from seismo.cli import completion
from seismo.cli.main import VERBS

HOME = os.path.dirname(os.path.dirname(package.__file__))
CASES = [
    ("seismo repo", {"report"}),
    ("seismo ", set(VERBS)),
    ("seismo help exp", {"export"}),
    ("seismo report --so", {"--sort"}),
    ("seismo report --sort cum", {"cumtime", "cumulative"}),
    ("seismo export -f coll", {"collapsed", "collapsed-long", "collapsed-us", "collapsed-calls"}),
    ("seismo profile --clock t", {"tsc"}),
    ("seismo watch call --col", {"--color"}),
    ("seismo watch call --color al", {"always"}),
    ("seismo completion f", {"fish"}),
    ("seismo report app", {"app.seismo", "app.pstats"}),
    ("seismo profile ser", {"server.py"}),
    ("seismo profile -q -o x.seismo ser", {"server.py"}),
    ("seismo watch call ser", {"server.py"}),
]


@pytest.fixture
def folder(tmp_path):
    """Has recordings, another file, and a script."""
    for name in ("app.seismo", "app.pstats", "app.log", "server.py", "server.log", "a b.seismo", "with space.py"):
        (tmp_path / name).write_bytes(b"")
    return tmp_path


@pytest.fixture
def script(tmp_path_factory):
    """Gives the path of a shell's script."""

    def made(shell):
        done = children.seismo("completion", shell)
        path = tmp_path_factory.mktemp("completion") / f"seismo.{shell}"
        path.write_text(done.stdout)
        return path

    return made


def needs(shell):
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


def bash(path, line, folder):
    """What bash would offer: its words are split as it does, but for quotes."""
    words = [word for word in re.split(r"([=])|\s+", line) if word is not None]
    words = [word for index, word in enumerate(words) if word or index == len(words) - 1]
    program = (
        f"source {path}; COMP_WORDS=({' '.join(map(_word, words))}); COMP_CWORD={len(words) - 1}; _seismo; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", program], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return set(done.stdout.split("\n")) - {""}


def _word(text):
    return "'" + text.replace("'", "'\\''") + "'"


@needs("bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        *CASES,
        ("seismo report --sort=cum", {"cumtime", "cumulative"}),
        ("seismo report --color=", {"auto", "always", "never"}),
        ("seismo report --limit ", set()),
        ("seismo report a", {"app.seismo", "app.pstats", "a b.seismo"}),
        ("seismo profile server.py --so", set()),
        ("seismo profile -m server --so", set()),
        ("seismo profile -m ser", set()),
        ("seismo watch ", set()),
    ],
)
def test_bash_offers(script, folder, line, offered):
    assert bash(script("bash"), line, folder) == offered


@needs("bash")
def test_bash_offers_each_option_of_each_verb(script, folder):
    path = script("bash")
    for command in completion.commands():
        names = {name for flag in command.flags for name in flag.names}
        before = "call " * command.before
        assert bash(path, f"seismo {command.verb} {before}-", folder) == names


@needs("fish")
@pytest.mark.parametrize(("line", "offered"), [*CASES, ("seismo report --sort=cum", {"cumtime", "cumulative"})])
def test_fish_offers(script, folder, line, offered):
    command = f"source {script('fish')}; complete -C {_word(line)}"
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / ".config"), "HOME": str(folder)}
    done = subprocess.run(
        ["fish", "--no-config", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    found = {row.split("\t")[0].removeprefix("--sort=") for row in done.stdout.splitlines()}
    if "." in "".join(offered):  # fish offers what fits best first, and the rest after it
        assert found >= offered - {"app.pstats"}
    else:
        assert found == offered


@needs("fish")
def test_fish_leaves_the_program_s_own_options_alone(script, folder):
    command = f"source {script('fish')}; complete -C 'seismo profile server.py --'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", command], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == ""


def typed(command, lines, folder, wanted):
    """Types lines into a shell on a terminal until it shows what is wanted; gives all it showed."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "PS1": "$ ", "HOME": str(folder), "ZDOTDIR": str(folder)}
    shell = children.popen(command, stdin=follower, stdout=follower, stderr=follower, cwd=folder, env=environment)
    os.close(follower)
    shown = ""
    try:
        for line in lines:
            os.write(leader, line.encode())
        until = time.monotonic() + 60
        while not re.search(wanted, shown) and time.monotonic() < until:
            if select.select([leader], [], [], 0.2)[0]:
                shown += os.read(leader, 65536).decode(errors="replace")
    finally:
        shell.kill()
        shell.wait()
        os.close(leader)
    assert re.search(wanted, shown), shown
    return shown


@needs("bash")
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("seismo rep\t--sort=cumu\t", "seismo report --sort=cumulative "),
        ("seismo info a\\ \t", r"seismo info a\\ b.seismo"),
        ("seismo profile with\t", r"seismo profile with\\ space.py"),
        ("seismo profile server.py server.l\t", "seismo profile server.py server.log"),
    ],
)
def test_keys_pressed_in_bash(script, folder, line, wanted):
    typed(["bash", "--norc", "--noprofile", "-i"], [f"source {script('bash')}\n", line], folder, wanted)


@needs("zsh")
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("seismo repo\t--sort cumu\t", "seismo report .*--sort cumulative"),
        ("seismo export -f collapsed-u\t", "seismo export -f collapsed-us"),
        ("seismo info app.s\t", "seismo info app.seismo"),
        ("seismo profile -q serv\t", "seismo profile -q server.py"),
        ("seismo watch call --color al\t", "seismo watch call --color always"),
        ("seismo profile server.py server.l\t", "seismo profile server.py server.log"),
        ("seismo completion f\t", "seismo completion fish"),
    ],
)
def test_keys_pressed_in_zsh(script, folder, line, wanted):
    start = f"autoload -U compinit; compinit -u -D; source {script('zsh')}\n"
    typed(["zsh", "-f", "-i"], [start, line], folder, wanted)


def test_a_shell_that_is_none(seismo):
    done = seismo("completion", "basch")
    assert done.returncode == 2
    assert "did you mean bash?" in done.stderr
    assert seismo("completion").returncode == 2
