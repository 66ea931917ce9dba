"""The law of the layers (docs/architecture.md): an include or import goes down the list or stays in its folder."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
PACKAGE = ROOT / "src" / "seismo"

# What a native folder may include besides itself. A source and a recorder never see each other: module joins them.
NATIVE_LAYERS = {
    "base": set(),
    "compat": {"base"},
    "file": {"base"},
    "event": {"base", "compat", "file"},
    "source": {"base", "compat", "event"},
    "recorder": {"base", "compat", "event", "file"},
    "hook": {"base", "compat", "event"},
    "model": {"base"},
    "module": {"base", "compat", "event", "source", "recorder", "hook", "file", "model"},
}
# These can be used, tested and fuzzed without an interpreter.
WITHOUT_PYTHON = {"base", "file", "model"}

# What a part of the Python package may import besides itself.
PYTHON_LAYERS = {
    "errors": set(),
    "escape": set(),
    "expression": {"errors"},
    "model": {"errors", "expression", "_core"},
    "coverage": {"errors", "escape", "expression", "model"},
    "formats": {"errors", "escape", "model", "coverage"},
    "report": {"errors", "escape", "expression", "model", "coverage"},
    "record": {"errors", "escape", "expression", "model", "coverage", "formats", "report", "_core"},
    "hooks": {"errors", "expression", "_core"},
    "cprofile": {"errors", "hooks", "_core"},
    "watching": {"errors", "escape", "expression", "hooks", "model", "record", "_core"},
    "covering": {"errors", "model", "coverage", "report", "record"},
    "plugins": {
        "errors",
        "escape",
        "expression",
        "model",
        "coverage",
        "formats",
        "report",
        "record",
        "_core",
        "__init__",
    },
    "__init__": {"errors", "expression", "model", "record", "hooks", "watching", "covering", "plugins"},
    "cli": {
        "errors",
        "escape",
        "expression",
        "model",
        "coverage",
        "formats",
        "report",
        "record",
        "hooks",
        "watching",
        "_core",
        "__init__",
    },
    "__main__": {"cli"},
}

ANYBODY = {"originals"}  # the built-in names for code that runs inside of the program
PYTHON_LAYERS |= {part: set() for part in ANYBODY}

PARTS = set(PYTHON_LAYERS).union(*PYTHON_LAYERS.values()) - {"__init__"}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)', re.MULTILINE)


def native_files() -> list[Path]:
    return sorted([*NATIVE.rglob("*.c"), *NATIVE.rglob("*.h")])


def test_every_native_folder_has_a_layer():
    assert {path.parent.relative_to(NATIVE).as_posix() for path in native_files()} <= set(NATIVE_LAYERS)


@pytest.mark.parametrize("path", native_files(), ids=lambda path: path.relative_to(NATIVE).as_posix())
def test_native_includes_go_down(path):
    folder = path.parent.name
    for quote, name in INCLUDE.findall(path.read_text()):
        if quote == "<" or name.startswith("internal/pycore_"):  # the interpreter's own
            assert folder == "compat" or quote == "<", "the interpreter's private headers belong to compat"
            assert not (name == "Python.h" and folder in WITHOUT_PYTHON), f"{folder} does without Python.h"
            continue
        target = NATIVE / name if "/" in name else path.parent / name
        assert target.is_file(), f'"{name}": paths start at native/ or name a neighbour'
        assert target.parent.name in NATIVE_LAYERS[folder] | {folder}, f'"{name}" looks up or sideways from {folder}'


def part_of(path: Path) -> str:
    inside = path.relative_to(PACKAGE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def imported_parts(path: Path) -> set[str]:
    """The parts of seismo that a module's import statements name, wherever they stand in it."""
    package = ["seismo", *path.relative_to(PACKAGE).parent.parts]
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base += node.module.split(".") if node.module else []
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] != "seismo" or name[1:] == ["__version__"]:
                continue
            inside = len(name) > 1 and name[1] in PARTS
            parts.add(name[1] if inside else "__init__")
    return parts


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_python_imports_go_down(path):
    part = part_of(path)
    assert part in PYTHON_LAYERS, "a new part of the package needs a layer: here and in docs/architecture.md"
    assert imported_parts(path) <= PYTHON_LAYERS[part] | ANYBODY | {part}
