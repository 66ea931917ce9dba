"""Settings files: as coverage.py reads them, our own table over them, and what is wrong in them."""

import os

import pytest

from seismo.coverage.settings import Settings, load
from seismo.errors import UsageError

coverage = pytest.importorskip("coverage")
from coverage.config import read_coverage_config  # noqa: E402

# Our names of what coverage.py calls otherwise.
NAMES = {
    "run_include": "include",
    "run_omit": "omit",
    "exclude_list": "exclude",
    "partial_list": "partial",
    "partial_always_list": "partial_always",
    "html_dir": "html_directory",
}
SAME = [
    "branch", "context", "cover_pylib", "relative_files", "source", "source_pkgs", "source_dirs", "run_include",
    "run_omit", "exclude_list", "partial_list", "partial_always_list", "fail_under", "ignore_errors",
    "include_namespace_packages", "report_include", "report_omit", "report_contexts", "precision", "show_missing",
    "skip_covered", "skip_empty", "html_dir", "html_title", "html_skip_covered", "html_skip_empty", "xml_output",
    "json_output", "lcov_output", "paths", "data_file",
]  # fmt: skip

INI = r"""
[{0}run]
branch = yes
source =
    app
    lib, tools
source_pkgs = one,two
source_dirs = src
omit = */tests/*
    setup.py
include = app/*
context = linux-$FLAVOUR
data_file = ~/.coverage.x
relative_files = True
cover_pylib = 1

[{0}report]
exclude_lines =
    pragma: no cover
    def __repr__
exclude_also =
    if 0:
    raise NotImplementedError, or so
partial_branches = pragma: maybe
partial_also = ^\s*for ever
fail_under = 87.5
precision = 2
show_missing = on
skip_covered = true
skip_empty = no
ignore_errors = true
include = a/*, b/*
omit = c/*
contexts = x.*, y.*
include_namespace_packages = yes

[{0}html]
directory = $HOME/html
title = $$1 ${{NOT_THERE-else}} ${{NOT_THERE}}
skip_covered = yes
skip_empty = no
show_contexts = yes

[{0}xml]
output = c.xml
package_depth = 3

[{0}json]
output = c.json
pretty_print = true
show_contexts = yes

[{0}lcov]
output = c.lcov
line_checksums = yes

[{0}paths]
source =
    src/
    /ci/*/src
others = ~/x
"""
TOML = r"""
[{0}run]
branch = true
source = ["app", "lib"]
omit = ["*/tests/*", "$FLAVOUR/*"]
include = []
context = "linux-${{FLAVOUR}}"

[{0}report]
exclude_also = ["if 0:", "  raise  ", ""]
fail_under = 90
precision = "1"
show_missing = "true"

[{0}html]
skip_covered = false

[{0}paths]
source = ["src/", "C:\\ci\\src"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLAVOUR", "gnu")
    for name in ("COVERAGE_RCFILE", "COVERAGE_FILE", "COVERAGE_CORE", "COVERAGE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def plain(value):
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return () if value is None or value == "" else tuple(value) if isinstance(value, list) else value


def same_as_coverage(folder, rcfile=None):
    theirs = read_coverage_config(rcfile or True, lambda text: None)
    ours = load(str(folder), rcfile)
    for name in SAME:
        assert plain(getattr(ours, NAMES.get(name, name))) == plain(getattr(theirs, name)), name
    assert ours.file == (theirs.config_file or "")
    return ours


FILES = {
    ".coveragerc": INI.format(""),
    ".coveragerc.toml": TOML.format("tool.coverage."),
    "setup.cfg": INI.format("coverage:"),
    "tox.ini": INI.format("coverage:").replace("87.5", "12"),
    "pyproject.toml": TOML.format("tool.coverage."),
}


def test_a_toml_file_of_coverages_own_needs_no_prefix(folder):
    (folder / ".coveragerc.toml").write_text(TOML.format(""))
    assert same_as_coverage(folder).fail_under == 90


def test_defaults_as_coverage_has_them(folder):
    found = same_as_coverage(folder)
    assert found == Settings(folder=str(folder))
    assert found.exclude


def test_each_file_as_coverage_reads_it_in_their_order(folder):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for name in FILES:
        found = same_as_coverage(folder)
        assert (found.file, found.branch, found.source[:2]) == (str(folder / name), True, ("app", "lib"))
        (folder / name).unlink()
    assert same_as_coverage(folder).file == ""


def test_files_without_sections_of_coverage_are_passed_over(folder):
    (folder / "setup.cfg").write_text("[metadata]\nname = coverage-like\n[run]\nbranch = true\n")
    (folder / "tox.ini").write_text("[coverage:report]\nprecision = 3\n")
    found = same_as_coverage(folder)
    assert (found.precision, found.branch) == (3, False)
    (folder / ".coveragerc").write_text("")  # ours as soon as it is there
    assert same_as_coverage(folder).precision == 0


def test_a_named_file_is_the_only_one(folder, monkeypatch):
    (folder / ".coveragerc").write_text("[run]\nbranch = yes\n")
    (folder / "other.ini").write_text("[coverage:report]\nprecision = 3\n")
    assert same_as_coverage(folder, "other.ini").precision == 3
    with pytest.raises(UsageError, match="no such settings file"):
        load(str(folder), "missing.ini")
    monkeypatch.setenv("COVERAGE_RCFILE", "other.ini")
    assert load(str(folder)).precision == 3
    assert load(str(folder), "") == Settings(folder=str(folder))


def test_what_else_coverage_has(folder):
    (folder / ".coveragerc").write_text(
        "[run]\nplugins = django_coverage_plugin\nconcurrency = gevent\ndynamic_context = test_function\n"
        "patch = subprocess, fork\nbrunch = yes\n[report]\nsort = -Cover\nformat = markdown\n"
    )
    found = load(str(folder))
    assert (found.contexts, found.children, found.sort) == ("test", True, "-percent")
    assert found.notes == (
        ".coveragerc: seismo does not support these settings: [run] plugins, [report] format",
        ".coveragerc: unknown settings: [run] brunch",
    )


def test_our_own_table_wins(folder):
    (folder / "pyproject.toml").write_text(
        '[tool.coverage.run]\nbranch = true\nomit = ["x"]\n'
        "[tool.coverage.report]\nexclude_lines = ['one']\nexclude_also = ['two']\n"
        '[tool.seismo.cover]\nomit = "y/*"\ncounts = true\ncontexts = "test"\nsort = "-missing"\n'
        'exclude_also = ["three"]\n'
        "children = true\nfail_under = 80\n[tool.seismo.cover.paths]\nsource = ['src', '/ci/src']\n"
    )
    found = load(str(folder))
    assert found.branch
    assert found.counts
    assert (found.omit, found.contexts, found.sort) == (("y/*",), "test", "-missing")
    assert found.exclude == ("one", "three")
    assert (found.children, found.fail_under, found.paths) == (True, 80, {"source": ("src", "/ci/src")})


def test_our_own_table_beside_another_file(folder):
    (folder / ".coveragerc").write_text("[run]\nbranch = yes\n")
    (folder / "pyproject.toml").write_text("[tool.seismo.cover]\ncounts = true\n")
    found = load(str(folder))
    assert (found.branch, found.counts) == (True, True)
    assert found.file == str(folder / ".coveragerc")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (".coveragerc", "[run]\nbranch = perhaps\n", ["branch cannot be 'perhaps'", "[run]", "true or false"]),
        (".coveragerc", "[run\n", ["cannot be read"]),
        (".coveragerc", "[report]\nfail_under = lots\n", ["fail_under cannot be 'lots'", "a number"]),
        (".coveragerc", "[report]\nfail_under = 101\n", ["fail_under", "from 0 to 100"]),
        (".coveragerc", "[report]\nprecision = 1.5\n", ["precision", "a whole number"]),
        (".coveragerc", "[report]\nexclude_lines =\n  ok\n  (not\n", ["'(not'", "not a regular expression"]),
        (".coveragerc", "[report]\nsort = size\n", ["'size'", "statements"]),
        (".coveragerc", "[run]\ndynamic_context = none\n", ["dynamic_context", "test_function"]),
        (".coveragerc", "[run]\nsource = ${NOT_THERE?}\n", ["environment variable NOT_THERE"]),
        ("pyproject.toml", "[tool.coverage.run]\nsource = 'app'\n", ["tool.coverage.run", "list of texts"]),
        ("pyproject.toml", "[tool.coverage.run]\ncontext = 1\n", ["give a text"]),
        ("pyproject.toml", "[tool.coverage.run\n", ["not valid TOML"]),
        ("pyproject.toml", "[tool.seismo.cover]\nbrunch = true\n", ["brunch is not a setting", "did you mean branch?"]),
        (
            "pyproject.toml",
            "[tool.seismo.cover]\nxyzzy = true\n",
            ["xyzzy is not a setting", "the settings are branch"],
        ),
        ("pyproject.toml", "[tool.seismo]\ncover = 3\n", ["not a table"]),
        ("pyproject.toml", "[tool.seismo.cover]\npaths = 3\n", ["paths is not a table"]),
        ("pyproject.toml", "[tool.seismo.cover]\ncontexts = 'tests'\n", ["contexts cannot be 'tests'"]),
    ],
)
def test_wrong_settings_are_named(folder, name, text, words):
    (folder / name).write_text(text)
    with pytest.raises(UsageError) as raised:
        load(str(folder))
    said = "\n".join(raised.value.lines())
    for word in [*words, str(folder / name)]:
        assert word in said


def test_a_file_that_is_no_text(folder):
    (folder / ".coveragerc").write_bytes(b"[run]\nsource = \xff\n")
    with pytest.raises(UsageError, match="not UTF-8"):
        load(str(folder))
    os.unlink(folder / ".coveragerc")
    (folder / ".coveragerc").mkdir()
    assert load(str(folder)).file == ""
