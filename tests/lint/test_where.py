"""The table of CONTRIBUTING.md that says where things are names every file that uses the thing, and no other."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from paths import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
ROWS = re.findall(r"^\| (.+\?) \| `(\S+)`: `(\w+)` \| (.+) \|$", PAGE, re.MULTILINE)
# The folder of each language, to which the table's files of use are relative.
TREES = {"native": "*.[ch]", "src/seismo": "*.py", "web/src": "*.ts"}
C_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@cache
def names_in_c(path: Path) -> set[str]:
    """Return the names in a file, without those that only comments have."""
    return set(re.findall(r"\w+", C_COMMENT.sub("", path.read_text())))


@cache
def imports_and_attributes(path: Path) -> tuple[list[ast.ImportFrom], list[ast.Attribute]]:
    """Return the `from` imports of a module and the attributes that it reads."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return imports, [node for node in nodes if isinstance(node, ast.Attribute)]


def uses_in_c(name: str, home: Path, path: Path) -> bool:
    """Return True if a file, other than the header and the source that define a name, has it outside of comments."""
    return path.with_suffix("") != home.with_suffix("") and name in names_in_c(path)


def uses_in_python(name: str, home: Path, path: Path) -> bool:
    """Return True if a module imports a name from its home, or its home, of which it then reads the name."""
    package = home.parent if home.stem == "__init__" else home.with_suffix("")
    module = ".".join(package.relative_to(ROOT / "src").parts)
    text = path.read_text()
    if name not in text or module.rpartition(".")[0] not in text:
        return False
    imports, attributes = imports_and_attributes(path)
    if any(node.module == module and name in {alias.name for alias in node.names} for node in imports):
        return True
    aliases = [(f"{node.module}.{alias.name}", alias.asname or alias.name) for node in imports for alias in node.names]
    homes = {alias for target, alias in aliases if target == module}
    owners = [node.value for node in attributes if node.attr == name]
    return any(isinstance(owner, ast.Name) and owner.id in homes for owner in owners)


def uses_in_typescript(name: str, home: Path, path: Path) -> bool:
    """Return True if a file imports a name from its home."""
    imports = re.findall(r'import (?:type )?\{([^}]*)\} from "([^"]+)"', path.read_text())
    return any(
        re.search(rf"\b{name}\b", names) and (path.parent / source).resolve().with_suffix(".ts") == home
        for names, source in imports
    )


USES = {"native": uses_in_c, "src/seismo": uses_in_python, "web/src": uses_in_typescript}


def users(home: str, name: str) -> list[str]:
    """Return the files that use what a file defines, relative to the folder of their language."""
    tree = next(tree for tree in TREES if home.startswith(f"{tree}/"))
    files = sorted((ROOT / tree).rglob(TREES[tree]))
    return [
        path.relative_to(ROOT / tree).as_posix()
        for path in files
        if path != ROOT / home and USES[tree](name, ROOT / home, path)
    ]


def test_the_table_is_found():
    assert len(ROWS) >= 20


@pytest.mark.parametrize(("question", "home", "name", "places"), ROWS, ids=[row[0] for row in ROWS])
def test_the_table_names_all_places(question, home, name, places):
    assert re.search(rf"\b{name}\b", (ROOT / home).read_text()), f"{home} does not define {name}"
    assert re.findall(r"`([^`]+)`", places) == users(home, name)


def test_users_are_found():
    """A comment and a name of another module are no use."""
    assert "module/wiring.c" in users("native/recorder/lines/lines.h", "sm_lines_line")
    assert users("src/seismo/cli/main.py", "VERBS") != users("src/seismo/mcp/tools.py", "VERBS")
    assert users("web/src/flame/draw.ts", "draw") == ["flame/FlameView.ts"]
