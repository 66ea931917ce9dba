"""Files and functions stay small enough to be read at one sitting."""

import ast
import re
from pathlib import Path

import pytest
from paths import ROOT

FILE_LINES = 600
FUNCTION_LINES = 80

# Longer ones, each with its reason.
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}

FOLDERS = ["native", "src", "tests", "benchmarks", "fuzz", "tools"]
# A definition as clang-format writes it: it begins at the margin, its closing brace stands alone there.
C_FUNCTION = re.compile(
    r"^(?!typedef|enum|#|//|/\*|\s)[^\n;={}]*\b(\w+)\([^;{}]*\)\s*\{(?:[^\n]*\}$|\n(?:.*\n)*?\})", re.MULTILINE
)


def sources(*suffixes: str) -> list[Path]:
    found = [path for folder in FOLDERS for suffix in suffixes for path in (ROOT / folder).rglob(f"*{suffix}")]
    return sorted(path for path in found if not {"build", "vendor", "__pycache__"} & set(path.relative_to(ROOT).parts))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", sources(".c", ".h", ".py", ".pyi"), ids=name_of)
def test_files_are_short(path):
    lines = len(path.read_text().splitlines())
    assert (lines > FILE_LINES) == (name_of(path) in LONG_FILES), f"{lines} lines; {FILE_LINES} is the limit"


def functions(path: Path) -> list[tuple[str, int]]:
    text = path.read_text()
    if path.suffix in (".c", ".h"):
        return [(found[1], found[0].count("\n") + 1) for found in C_FUNCTION.finditer(text)]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (node.name, node.end_lineno - node.lineno + 1) for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)
    ]


@pytest.mark.parametrize("path", sources(".c", ".h", ".py"), ids=name_of)
def test_functions_are_short(path):
    long = {f"{name_of(path)}:{name}": lines for name, lines in functions(path) if lines > FUNCTION_LINES}
    excused = {name for name in LONG_FUNCTIONS if name.startswith(f"{name_of(path)}:")}
    assert set(long) == excused, f"{long}; {FUNCTION_LINES} lines is the limit"


def test_c_functions_are_found():
    """The pattern sees the definitions that the C files hold, or the limit above would hold nothing."""
    found = [name for path in sources(".c") for name, _ in functions(path)]
    assert "PyInit__core" in found
    closing_braces = sum(line == "}" for path in sources(".c") for line in path.read_text().splitlines())
    assert len(found) >= 0.9 * closing_braces
