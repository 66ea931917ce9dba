"""Which function and which file an expression means: as reports print it, the program's own, the current folder's."""

import children
import pytest

from seismo.expression import parse

MAIN = """\
import lib.main
from lib.main import run

def work():
    return run()

work()
"""
LIBRARY = """\
# as long as the other

def run():

    return 1
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "main.py").write_text(MAIN)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "lib" / "main.py").write_text(LIBRARY)
    return tmp_path


def watch(folder, *words):
    return children.seismo("watch", *words, cwd=folder, encoding="utf-8", PYTHONIOENCODING="utf-8").stderr


@pytest.mark.parametrize(
    ("expression", "matches", "script"),
    [
        ('call("lib.main:run")', "1 match", "main.py"),
        ('call("__main__:work")', "1 match", "main.py"),
        ('call("lib:main.run")', "nothing", "main.py"),
        # both files have a line 5 that runs
        ('line("main.py", 5)', "1 match", "main.py"),
        ('line("main.py", 5)', "1 match", "./main.py"),
        ('line("lib/main.py", 5)', "1 match", "main.py"),
        ('line("*/main.py", 5)', "2 matches", "main.py"),
        ('line("./main.py", 5)', "1 match", "main.py"),
        ('line("./main.py", 5)', "1 match", "./main.py"),
        ('line("./*.py", 5)', "2 matches", "main.py"),
        ('line("./other.py", 5)', "nothing", "main.py"),
    ],
)
def test_what_is_meant(folder, expression, matches, script):
    shown = watch(folder, expression, script).splitlines()
    assert shown[0 if matches == "nothing" else -1].startswith(f"seismo: {matches}")


def test_the_script_of_another_folder_is_the_program_s_own_too(folder):
    shown = watch(folder / "lib", 'line("main.py", 5)', "../main.py")
    assert "│ return run()" in shown
    assert "seismo: 1 match" in shown


def test_a_module_that_runs_has_no_file_before_others(folder):
    assert "seismo: 2 matches in 2 functions" in watch(folder, 'line("main.py", 5)', "-m", "main")


def test_a_name_with_its_module_is_decided_alike_everywhere():
    expression = parse('call("app.core:Store.save")')
    facts = {"kind": "call", "module": "app.core", "qualname": "Store.save"}
    assert expression.evaluate(facts) is True
    assert expression.evaluate({**facts, "module": "app", "qualname": "core.Store.save"}) is False
    assert parse('c_call("posix:stat")').evaluate({"kind": "c_call", "callee": ("posix", "stat")}) is True
