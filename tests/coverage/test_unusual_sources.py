"""Sources that are no plain files: in an archive, gone when the program has ended, or templates."""

import zipfile

import children
import pytest

MODULE = "def f(x):\n    if x:\n        return 1\n    return 2\n\n\nf(0)\n"


@pytest.fixture
def run(tmp_path):
    def run(*words):
        return children.seismo(*words, cwd=tmp_path, COLUMNS="100")

    run.folder = tmp_path
    return run


def test_sources_in_an_archive_are_measured(run):
    names = ("app.zip", "app.pyz", "archive")
    for number, name in enumerate(names):
        with zipfile.ZipFile(run.folder / name, "w") as archive:
            archive.writestr(f"pkg{number}/__init__.py", "")
            archive.writestr(f"pkg{number}/mod.py", MODULE)
    (run.folder / "main.py").write_text(f"import sys\nsys.path[:0] = {names}\nimport pkg0.mod, pkg1.mod, pkg2.mod\n")
    done = run("cover", "--branch", "-o", "r.seismo", "main.py")
    assert "problem" not in done.stderr
    shown, exported = run("report", "r.seismo").stdout, run("export", "r.seismo", "-f", "lcov").stdout
    for number, name in enumerate(names):
        row = next(line for line in shown.splitlines() if f"{name}/pkg{number}/mod.py" in line)
        assert row.split()[1:5] == ["5", "1", "2", "1"]
        assert f"SF:{name}/pkg{number}/mod.py\nDA:1,1" in exported


def test_a_script_that_deletes_itself_has_run(run):
    (run.folder / "gone.py").write_text("import os\nos.remove(__file__)\nx = 1\nif x == 2:\n    x = 3\nx = 4\n")
    done = run("cover", "-o", "r.seismo", "gone.py")
    for text in (done.stderr, run("report", "r.seismo").stdout):
        words = " ".join(text.split())
        assert "no source of what was executed can be read" in words
        assert "gone.py: there is no such source file; lines 1-4, 6 ran" in words
        assert "none" not in words


TEMPLATES = """\
for file in {files!r}:
    code = compile("def root():\\n    x = 1\\n    return x\\nroot()\\n", file, "exec")
    exec(code, {{}})
"""


def test_templates_draw_no_warning_and_are_no_files(run):
    pages = {"hello.html": "hello", "p.html": "<p>{{ x }}</p>\n", "empty.html": ""}
    for name, text in pages.items():
        (run.folder / name).write_text(text)
    (run.folder / "main.py").write_text(TEMPLATES.format(files=[str(run.folder / name) for name in pages]))
    done = run("cover", "-o", "r.seismo", "main.py")
    assert "problem" not in done.stderr
    assert ".html" not in done.stderr + run("report", "r.seismo").stdout
    exported = run("export", "r.seismo", "-f", "lcov")
    assert ".html" not in exported.stdout + exported.stderr
    shown = " ".join(run("report", "--all", "r.seismo").stdout.split())
    assert shown.count("a template") == len(pages)


def test_a_script_of_another_ending_is_a_file(run):
    (run.folder / "tool.cgi").write_text(MODULE)
    run("cover", "-o", "r.seismo", "tool.cgi")
    assert "tool.cgi" in run("report", "r.seismo").stdout
