"""`seismo watch` as a command."""

import json

import children
import pytest

PROGRAM = """\
import sys
from shop import Store

def work(store):
    store.save("adam", password="geheim")

    try:
        store.load("eve")
    except KeyError:
        print("caught")

work(Store())
if sys.argv[1:]:
    raise SystemExit(int(sys.argv[1]))
"""

SHOP = """\
class Store:
    def __init__(self):
        self.rows = {}

    def save(self, name, password):
        # nothing here
        self.rows[name] = len(password)
        return len(self.rows)

    def load(self, name):
        return self.rows[name]

def seen(match):
    print("seen", match.function, match.frame.f_locals["name"])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("program")
    (path / "main.py").write_text(PROGRAM)
    (path / "shop.py").write_text(SHOP)
    return path


def run(folder, *words, stdin=""):
    how = {"encoding": "utf-8", "PYTHONIOENCODING": "utf-8"}
    return children.seismo("watch", *words, cwd=folder, input=stdin, status=None, **how)


def test_it_shows_what_matches_and_the_program_runs_as_bare(folder):
    done = run(folder, 'call("shop.*.save")', "--args", "--returns", "main.py", "3")
    assert done.returncode == 3
    assert done.stdout == "caught\n"
    first, second, *summary = done.stderr.splitlines()
    assert "▸ shop.Store.save(self=<shop.Store at " in first
    assert first.endswith("{rows={}}>, name='adam', password=***)  shop.py:5")
    assert "◂ shop.Store.save → 1  " in second
    assert summary[0] == 'seismo: 1 match: call("shop.*.save")'
    assert "--show-secrets" in summary[1]
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ('line("shpo.py", 7)', "nothing in shpo.py ever ran; did you mean "),
        (
            'call("save") and duration > 1000s',
            "did run (shop.Store.save), but the rest of the expression was never true for them",
        ),
    ],
)
def test_when_nothing_matched_it_says_why(folder, expression, hint):
    done = run(folder, expression, "main.py")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("seismo: nothing matched: ")
    assert hint in lines[1]


def test_json_on_stdout_and_an_action_of_ones_own(folder):
    done = run(folder, 'call("save")', "--json", "-", "--args", "--call", "shop:seen", "--limit", "1", "main.py")
    lines = done.stdout.splitlines()
    assert "seen shop.Store.save adam" in lines
    found = json.loads(next(line for line in lines if line.startswith("{")))
    assert found["args"]["password"] == "***"
    assert "stopped after 1 (--limit)" in done.stderr


def test_the_debugger_opens_at_the_match_and_can_step(folder):
    done = run(folder, 'call("save")', "--pdb", "main.py", stdin="p name\nn\nn\np self.rows\nc\n")
    assert done.returncode == 0
    assert "'adam'" in done.stdout
    assert "{'adam': 6}" in done.stdout
    assert done.stdout.endswith("caught\n")
    done = run(folder, 'call and module("shop")', "--pdb", "main.py", stdin="q\n")
    assert done.returncode == 0
    assert done.stdout.count("(Pdb)") == 1
