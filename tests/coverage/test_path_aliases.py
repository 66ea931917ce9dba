"""One program's source under several paths: aliases as coverage.py maps them, recordings merged over them."""

import pytest

from seismo.coverage.path_aliases import Aliases, aliases_of, mapped
from seismo.errors import UsageError
from seismo.model import Builder, merge

files = pytest.importorskip("coverage.files")

TREE = ["src/app/core.py", "src/app/__init__.py", "lib/tool.py", "src/x y/ü.py"]
ALIASES = [
    ("/ci/*/src", "src"),
    ("*/checkout/lib/", "./lib"),
    ("C:\\work\\proj\\src\\", "src/"),
    ("c:\\other\\*\\lib", "lib"),
    ("old", "lib"),
    ("/exact", "src"),
    ("**/deep/src", "src"),
]
PATHS = [
    "/ci/17/src/app/core.py",
    "/ci/a/b/src/app/core.py",
    "/ci/17/src/app/gone.py",
    "/CI/17/SRC/app/core.py",
    "/ci/17/srcs/app/core.py",
    "/a/b/checkout/lib/tool.py",
    "checkout/lib/tool.py",
    "C:\\work\\proj\\src\\app\\core.py",
    "c:\\WORK\\proj\\src\\app\\core.py",
    "C:\\other\\one\\lib\\tool.py",
    "d:\\checkout\\lib\\tool.py",
    "/exact/app/core.py",
    "/exact",
    "/x/deep/src/x y/ü.py",
    "/x/deep/src/app/core.py/no.py",
    "<string>",
    "",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in TREE:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    files.set_relative_directory()
    return tmp_path


def test_paths_are_mapped_as_coverage_maps_them(folder):
    theirs, ours = files.PathAliases(), Aliases()
    for pattern, result in ALIASES:
        theirs.add(pattern, result)
        ours.add(pattern, result)
    for path in [*PATHS, str(folder / "old/tool.py")]:
        assert ours.map(path) == theirs.map(path), path
    assert ours.map(PATHS[0]) == str(folder / "src/app/core.py")
    assert ours.map(PATHS[7]) == str(folder / "src/app/core.py")


def test_what_is_no_alias(folder):
    for pattern in ("/ci/*", "*", "a/**b/c", "/ci/[x"):
        with pytest.raises(UsageError):
            Aliases().add(pattern, "src")
    for words in ("src", "=x", "src="):
        with pytest.raises(UsageError, match="CANONICAL=ALIAS"):
            aliases_of({}, [words])
    assert aliases_of({"empty": (), "one": ("src",)}).map("src/app.py") == "src/app.py"


def test_options_come_before_settings(folder):
    found = aliases_of({"source": ("lib", "/ci/src")}, ["src=/ci/src,/other"])
    assert found.map("/ci/src/app/core.py") == str(folder / "src/app/core.py")
    assert found.map("/other/app/core.py") == str(folder / "src/app/core.py")
    assert found.map("/ci/src/tool.py") == str(folder / "lib/tool.py")  # the first leads nowhere


def recording(path, lines, **meta):
    builder = Builder()
    function = builder.function("app.core", "work", path, 1)
    rows = [builder.line(function, line, flags=1) for line in lines]
    builder.context("test_" + path[-1], rows)
    builder.source(path, path, 6, 1, 77)
    return builder.build({"recorder": "coverage", **meta})


def test_recordings_of_several_places_are_one(folder):
    here = str(folder / "src/app/core.py")
    parts = [
        recording("/ci/17/src/app/core.py", [1, 2], settings={"source_dirs": ["/ci/17/src"]}, folder="/ci/17/src"),
        recording("C:\\work\\proj\\src\\app\\core.py", [2, 3]),
        recording(here, [5]),
        recording("/elsewhere/core.py", [9]),
    ]
    aliases = Aliases()
    for pattern, result in ALIASES:
        aliases.add(pattern, result)
    one = merge([mapped(part, aliases) for part in parts])
    lines = {}
    for row in one.lines:
        lines.setdefault(one.functions["file"][row.function], []).append(row.line)
    assert lines == {here: [1, 2, 3, 5], "/elsewhere/core.py": [9]}
    assert [row.path for row in one.sources] == ["/elsewhere/core.py", here]
    (moved,) = [part for part in one.meta["merged"] if "settings" in part]
    assert moved["settings"]["source_dirs"] == [moved["folder"]] == [str(folder / "src")]


def test_nothing_to_map_leaves_it_as_it_is(folder):
    one = recording("/elsewhere/core.py", [9])
    assert mapped(one, Aliases()) is one
