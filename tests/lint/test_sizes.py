"""Files and functions stay small enough to be read at one sitting."""

import ast
import re
from pathlib import Path

from paths import ROOT
from syntax import statements

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


def test_files_are_short():
    lines = {name_of(path): len(path.read_text().splitlines()) for path in sources(".c", ".h", ".py", ".pyi")}
    long = {name: count for name, count in lines.items() if count > FILE_LINES}
    assert long.keys() == LONG_FILES.keys(), f"{long}; {FILE_LINES} lines is the limit"


def functions(path: Path) -> list[tuple[str, int]]:
    text = path.read_text()
    if path.suffix in (".c", ".h"):
        return [(found[1], found[0].count("\n") + 1) for found in C_FUNCTION.finditer(text)]
    return [
        (node.name, node.end_lineno - node.lineno + 1)
        for node in statements(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_functions_are_short():
    found = [(path, *function) for path in sources(".c", ".h", ".py") for function in functions(path)]
    long = {f"{name_of(path)}:{name}": lines for path, name, lines in found if lines > FUNCTION_LINES}
    assert long.keys() == LONG_FUNCTIONS.keys(), f"{long}; {FUNCTION_LINES} lines is the limit"


def test_c_functions_are_found():
    """The pattern sees the definitions that the C files hold, or the limit above would hold nothing."""
    found = [name for path in sources(".c") for name, _ in functions(path)]
    assert "PyInit__core" in found
    closing_braces = sum(line == "}" for path in sources(".c") for line in path.read_text().splitlines())
    assert len(found) >= 0.9 * closing_braces
