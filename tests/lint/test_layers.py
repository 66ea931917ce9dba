"""The law of the layers (docs/architecture.md): an include or import goes down the list or stays in its folder."""

import ast
import re
from functools import cache
from pathlib import Path

from paths import ROOT
from syntax import statements

from seismo import recording_kinds
from seismo.recording_kinds import KINDS, load

NATIVE = ROOT / "native"
PACKAGE = ROOT / "src" / "seismo"

PAGE = (ROOT / "docs" / "architecture.md").read_text()
LAYER_ROW = re.compile(r"^\| (?P<layers>[^|]+) \| [^|]+ \| (?P<may>[^|]+) \|$", re.MULTILINE)


def layers_of_the_page() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the native and the Python layers in their order, and what each may use besides itself.

    Python's have code formatting; text in parentheses is a remark.
    """
    native: dict[str, set[str]] = {}
    python: dict[str, set[str]] = {}
    table = PAGE.partition("\n| layer | what it holds | may use |\n|---|---|---|\n")[2].partition("\n\n")[0]
    files = {"seismo": "__init__", "seismo.__main__": "__main__"}
    for row in LAYER_ROW.finditer(table):
        layers, may = (re.sub(r"`|\s*\([^)]*\)", "", row[name]).split(", ") for name in ("layers", "may"))
        known = {"nothing": set(), "all native folders": set(native)}
        uses = known.get(", ".join(may), {files.get(one, one) for one in may})
        into = python if "`" in row["layers"] else native
        into |= {files.get(layer, layer): uses for layer in layers}
    return native, python


# What a native room may include and a part of the package may import besides itself.
NATIVE_LAYERS, PYTHON_LAYERS = layers_of_the_page()
# These can be used, tested and fuzzed without an interpreter.
WITHOUT_PYTHON = {"vendor/lz4", "base", "file", "trace", "estimate"}
# Names that every module may use: built-ins for code inside of the program, tables that import nothing, progress.
ANYBODY = {"original_builtins", "recording_kinds", "options", "progress"}
PARTS = set(PYTHON_LAYERS).union(*PYTHON_LAYERS.values()) - {"__init__"}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)', re.MULTILINE)


def native_files() -> list[Path]:
    return sorted([*NATIVE.rglob("*.c"), *NATIVE.rglob("*.h")])


def room_of(path: Path) -> str:
    return path.parent.relative_to(NATIVE).as_posix()


def included(path: Path) -> list[Path]:
    """The files of ours that a native file includes."""
    names = [name for quote, name in INCLUDE.findall(path.read_text()) if quote == '"' and "pycore_" not in name]
    return [NATIVE / name if "/" in name else path.parent / name for name in names]


def test_every_native_folder_has_a_layer():
    assert {room_of(path) for path in native_files()} == set(NATIVE_LAYERS)


def test_native_layers_go_down():
    """A source and a recorder never see each other, since module joins them; coverage has sources made for it."""
    rooms = list(NATIVE_LAYERS)
    assert all(allowed <= set(rooms[: rooms.index(room)]) for room, allowed in NATIVE_LAYERS.items())


def test_native_includes_go_down():
    for path in native_files():
        room = room_of(path)
        for quote, name in INCLUDE.findall(path.read_text()):
            if quote == "<" or name.startswith("internal/pycore_"):  # the interpreter's own
                assert room == "compat" or quote == "<", f"{path}: the interpreter's private headers belong to compat"
                assert not (name == "Python.h" and room in WITHOUT_PYTHON), f"{path}: {room} does without Python.h"
        for target in included(path):
            assert target.is_file(), f'{path}: "{target}": paths start at native/ or name a neighbour'
            assert room_of(target) in NATIVE_LAYERS[room] | {room}, f'{path}: "{target}" looks up or sideways'


# A name may stand in several rooms where it is the same part of each, or what it is called in Python.
SAME_PART = {"recorder.c", "save.c", "state.c", "store.c", "store.h", "calibrate.c", "flush.c"}


def test_native_file_names_mean_one_thing():
    found: dict[str, set[str]] = {}
    for path in native_files():
        if room_of(path) != "module" and path.name not in SAME_PART:
            found.setdefault(path.name, set()).add(room_of(path))
    assert {name: rooms for name, rooms in found.items() if len(rooms) > 1} == {}


# Files of a room that know each other, each group with its reason; others stand in an order, as rooms do. A .c and a
# .h file of one name are one thing.
CIRCLES = {
    frozenset(
        {"file/writer", "file/writer_inside"}
    ): "what its files share is in a header of their own, which builds on the one that others see",
    frozenset({"hub/backend", "hub/hub"}): "the hub starts its backend, which hands it events",
}


def unit_of(path: Path) -> str:
    return path.relative_to(NATIVE).with_suffix("").as_posix()


def circles(edges: dict[str, set[str]]) -> set[frozenset[str]]:
    """Groups of nodes that can each be reached from each other."""
    reach: dict[str, set[str]] = {}
    for start in edges:
        found, waiting = {start}, [start]
        while waiting:
            new = edges[waiting.pop()] - found
            found |= new
            waiting += new
        reach[start] = found
    groups = {frozenset(other for other in reach[node] if node in reach[other]) for node in edges}
    return {group for group in groups if len(group) > 1}


def test_native_files_stand_in_no_other_circle():
    edges: dict[str, set[str]] = {}
    for path in native_files():
        edges.setdefault(unit_of(path), set()).update({unit_of(target) for target in included(path)} - {unit_of(path)})
    assert circles(edges) == set(CIRCLES)


# The same for the functions and data that a file has of another, whatever it includes: the header of a room's own files
# declares what is in any of them.
SYMBOL_CIRCLES = {
    frozenset({"hub/backend_monitoring", "hub/backend_slots", "hub/hub"}): "the hub starts its one backend of the two",
    frozenset(
        {"hooks/py311/setter_overrides", "hooks/py311/thread_slots"}
    ): "the slots exchange the methods that set them, which ask the slots",
}
# Names of a definition at the margin that is not static: a function, a pointer to one, data.
DEFINED = re.compile(
    r"^(?!static\b|extern\b|typedef\b|SM_INLINE\b|#|\s)"
    r"(?:[^\n;={}()]*?\b(?P<function>sm_\w+)\([^;{}]*\)\s*\{"
    r"|[^\n;={}()]*\(\*(?P<pointer>sm_\w+)\)\([^;{}]*\)\s*[=;]"
    r"|[^\n;={}()]*?\b(?P<data>sm_\w+)(?:\[[^\]\n]*\])?\s*(?:__attribute__\(\(.*\)\)\s*)?[=;])",
    re.MULTILINE,
)
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def definitions(code: str) -> set[str]:
    return {name for found in DEFINED.finditer(code) for name in found.groupdict().values() if name}


def test_native_files_use_each_other_in_no_other_circle():
    codes = {unit_of(path): COMMENT_OR_TEXT.sub(" ", path.read_text()) for path in sorted(NATIVE.rglob("*.c"))}
    home: dict[str, set[str]] = {}
    for unit, code in codes.items():
        for name in definitions(code):
            home.setdefault(name, set()).add(unit)
    assert {"sm_engine", "sm_this_thread", "sm_watch_keep", "sm_tree_resync", "sm_tables"} <= set(home)
    edges = {
        unit: set().union(*(home[name] for name in re.findall(r"\bsm_\w+", code) if name in home)) - {unit}
        for unit, code in codes.items()
    }
    assert circles(edges) == set(SYMBOL_CIRCLES)


def test_definitions_are_found():
    code = """sm_a *sm_one(int a) {\n}\nint (*sm_two)(void);\n__thread sm_b *sm_three __attribute__((x("y"))) = &z;
static int sm_four;\nvoid sm_five(void);\nextern int sm_six;\nconst sm_t sm_seven[2] = {sm_eight()};\n"""
    assert definitions(code) == {"sm_one", "sm_two", "sm_three", "sm_seven"}


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}


def part_of(path: Path) -> str:
    inside = path.relative_to(PACKAGE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


@cache
def imported_modules(path: Path) -> set[str]:
    """The modules, and the names in them, that a file of seismo imports, wherever it does."""
    found = set()
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "an import names its module in full"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def imported_parts(path: Path) -> set[str]:
    """The parts of seismo that a module's import statements name."""
    names = [name.split(".") for name in imported_modules(path) - {"seismo.__version__"}]
    return {name[1] if name[1:2] and name[1] in PARTS else "__init__" for name in names if name[0] == "seismo"}


# What shows one kind of recordings sees none of what shows another; what they share lies beside their folders.
KIND_ROOMS = {load(entry.report).__module__ for entry in KINDS.values()}


def test_kinds_of_reports_do_not_see_each_other():
    assert len(KIND_ROOMS) == len(KINDS), "each kind has a folder of its own"
    seen = set()
    for path in (PACKAGE / "report").rglob("*.py"):
        rooms = KIND_ROOMS - {"seismo." + ".".join(path.relative_to(PACKAGE).parent.parts)}
        names = imported_modules(path)
        seen |= {(path, room) for name in names for room in rooms if f"{name}.".startswith(f"{room}.")}
    assert not seen, "move up what kinds share; reach a kind by seismo.report.kind"


# Who asks for one kind by its name: doctor, whether objects are recorded in this process.
ASK_FOR_ONE = {"cli/doctor.py"}
KIND_NAMES = {name for name, value in vars(recording_kinds).items() if isinstance(value, str) and value in KINDS}


def test_only_the_table_of_kinds_tells_them_apart():
    """A comparison with the name of a kind is one more place to edit for the next one: make it a field of its entry."""
    found = set()
    names_one = re.compile(r"\b({})\b".format("|".join({*KINDS, *KIND_NAMES} - {"coverage"})))
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if names_one.search(text) else ():
            if isinstance(node, ast.Compare):
                names = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)} & KINDS.keys()
                names |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & KIND_NAMES
                names |= {
                    part.attr
                    for part in ast.walk(node)
                    if isinstance(part, ast.Attribute) and getattr(part.value, "id", "") == "recording_kinds"
                } & KIND_NAMES
                if names - {"coverage"}:  # which is a word of other tools' files, too
                    found.add(path.relative_to(PACKAGE).as_posix())
    assert found == ASK_FOR_ONE


def test_python_imports_go_down():
    modules = sorted(PACKAGE.rglob("*.py"))
    missing = {part_of(path) for path in modules} - PYTHON_LAYERS.keys()
    assert not missing, "a new part of the package needs a layer: here and in docs/architecture.md"
    up = {path: imported_parts(path) - PYTHON_LAYERS[part_of(path)] - ANYBODY - {part_of(path)} for path in modules}
    assert {path: parts for path, parts in up.items() if parts} == {}
