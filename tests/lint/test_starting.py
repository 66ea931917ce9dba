"""Tests start Python in one way, tests/common/children.py: in one environment, and never waiting without end."""

import ast

from paths import TESTS

FILES = sorted(path for path in TESTS.rglob("*.py") if path.name != "children.py" and "covered" not in path.parts)
STARTS = {"run", "Popen", "call", "check_call", "check_output"}


def started(path):
    """The lines that start an interpreter with subprocess itself."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if "subprocess" in text and "sys.executable" in text else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STARTS:
            module = node.func.value
            if isinstance(module, ast.Name) and module.id == "subprocess" and "sys.executable" in ast.unparse(node):
                yield node.lineno


def test_no_test_starts_python_by_itself():
    assert [f"{path}:{line}" for path in FILES for line in started(path)] == []


def test_a_start_is_found(tmp_path):
    path = tmp_path / "x.py"
    path.write_text("import subprocess, sys\n\nsubprocess.run([sys.executable])\n")
    assert list(started(path)) == [3]
