"""Imports at run time: every module stands alone, and a recorded process loads nothing but the standard library."""

import ast
import json
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from itertools import accumulate
from pathlib import Path

import children
from paths import ROOT

PACKAGE = ROOT / "src" / "seismo"


def modules() -> dict[str, Path]:
    """All but process/child_startup, which is put in front of a child's path and is no module to import."""
    found = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "child_startup"]
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in found]
    return {name.removesuffix(".__init__"): path for name, path in zip(names, found, strict=True)}


def imports(nodes: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield what is executed by the import of a module itself: nothing in functions, nothing for type checkers."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports(node.orelse)
        elif isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports(ast.iter_child_nodes(node))


def packages(name: str) -> set[str]:
    return set(accumulate(name.split("."), "{}.{}".format))


def test_every_module_imports_alone():
    """None leans on what another one happened to import first: their imports make no circle.

    A module's own packages are there before it, and may import it.
    """
    paths = modules()
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        graph[name] = set()
        for node in imports(ast.parse(path.read_text()).body):
            base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                target = f"{base}{alias.name}" if f"{base}{alias.name}" in paths else base[:-1]
                graph[name] |= {target} | (packages(target) - packages(name))
        graph[name] &= paths.keys()
    order = [name for name in TopologicalSorter(graph).static_order() if not name.endswith("__main__")]
    assert len(order) > 300
    children.python("-c", "import sys; [__import__(name) for name in sys.argv[1:]]", *reversed(order))


# Modules found outside the standard library and outside seismo.
FOREIGN = """
import json, os, sys, sysconfig
standard = [os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
foreign = []
for name, module in sorted(sys.modules.items()):
    path = os.path.realpath(getattr(module, "__file__", None) or "")
    inside = any(path.startswith(folder + os.sep) for folder in standard) and "site-packages" not in path
    if path != os.path.realpath("") and not inside and name.partition(".")[0] not in ("seismo", "__main__"):
        foreign.append(name)
print(json.dumps({"foreign": foreign, "seismo": sorted(name for name in sys.modules if name.startswith("seismo"))}))
"""


def foreign_modules(*arguments: object, folder: Path) -> dict[str, list[str]]:
    # What plugs itself into every interpreter (editable installs, debuggers) is there without us as well.
    bare = set(json.loads(children.python("-c", FOREIGN, cwd=folder).stdout)["foreign"])
    found = json.loads(children.python(*arguments, cwd=folder).stdout.splitlines()[-1])
    return found | {"foreign": [name for name in found["foreign"] if name not in bare]}


def test_import_seismo_needs_the_standard_library_only(tmp_path):
    assert foreign_modules("-c", "import seismo" + FOREIGN, folder=tmp_path)["foreign"] == []


def test_a_profiled_program_finds_the_standard_library_only(tmp_path):
    found = foreign_modules("-m", "seismo", "profile", "-q", "-c", FOREIGN, folder=tmp_path)
    assert found["foreign"] == []
    assert not [name for name in found["seismo"] if name.startswith(("seismo.report", "seismo.formats"))]
