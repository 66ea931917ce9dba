"""Imports at run time: every module stands alone, and a recorded process loads nothing but the standard library."""

import json
from pathlib import Path

import children
from paths import ROOT

PACKAGE = ROOT / "src" / "seismo"

# Imports each module named on the command line in a child of its own: one that leans on what another one
# happened to import first would fail here. What they need of others is there already: that takes most of the time.
IMPORT_EACH_ALONE = """
import gc, importlib, os, subprocess, sys, traceback
gc.disable()
names = "import sys; sys.argv[1:] = map(__import__, sys.argv[1:]); print(*sys.modules)"
for name in subprocess.check_output([sys.executable, "-c", names, *sys.argv[1:]], text=True).split():
    if not name.startswith(("seismo", "__main__")):
        try: importlib.import_module(name)
        except ImportError: pass
assert "seismo" not in sys.modules
failed = 0
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            importlib.import_module(name)
        except BaseException:
            print(name, file=sys.stderr)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    failed |= os.waitpid(child, 0)[1]
sys.exit(bool(failed))
"""


def module_names() -> list[str]:
    """All but process/child_startup, which is put in front of a child's path and is no module to import."""
    found = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "child_startup"]
    paths = [path.relative_to(PACKAGE.parent).with_suffix("") for path in found]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    return sorted(name for name in names if not name.endswith("__main__"))


def run(*arguments: object, folder: Path) -> str:
    done = children.python(*arguments, cwd=folder)
    return done.stdout


def test_every_module_imports_alone(tmp_path):
    run("-c", IMPORT_EACH_ALONE, *module_names(), folder=tmp_path)


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
    bare = set(json.loads(run("-c", FOREIGN, folder=folder))["foreign"])
    found = json.loads(run(*arguments, folder=folder).splitlines()[-1])
    return found | {"foreign": [name for name in found["foreign"] if name not in bare]}


def test_import_seismo_needs_the_standard_library_only(tmp_path):
    assert foreign_modules("-c", "import seismo" + FOREIGN, folder=tmp_path)["foreign"] == []


def test_a_profiled_program_finds_the_standard_library_only(tmp_path):
    found = foreign_modules("-m", "seismo", "profile", "-q", "-c", FOREIGN, folder=tmp_path)
    assert found["foreign"] == []
    assert not [name for name in found["seismo"] if name.startswith(("seismo.report", "seismo.formats"))]
