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


@pytest.mark.parametrize("name", ["app.zip", "app.pyz", "archive"])
def test_sources_in_an_archive_are_measured(run, name):
    with zipfile.ZipFile(run.folder / name, "w") as archive:
        archive.writestr("pkg/__init__.py", "")
        archive.writestr("pkg/mod.py", MODULE)
    (run.folder / "main.py").write_text(f"import sys\nsys.path.insert(0, {name!r})\nimport pkg.mod\n")
    done = run("cover", "--branch", "-o", "r.seismo", "main.py")
    assert "problem" not in done.stderr
    shown = run("report", "r.seismo").stdout
    row = next(line for line in shown.splitlines() if f"{name}/pkg/mod.py" in line)
    assert row.split()[1:5] == ["5", "1", "2", "1"]
    assert f"SF:{name}/pkg/mod.py\nDA:1,1" in run("export", "r.seismo", "-f", "lcov").stdout


def test_a_script_that_deletes_itself_has_run(run):
    (run.folder / "gone.py").write_text("import os\nos.remove(__file__)\nx = 1\nif x == 2:\n    x = 3\nx = 4\n")
    done = run("cover", "-o", "r.seismo", "gone.py")
    for text in (done.stderr, run("report", "r.seismo").stdout):
        words = " ".join(text.split())
        assert "no source of what was executed can be read" in words
        assert "gone.py: there is no such source file; lines 1-4, 6 ran" in words
        assert "none" not in words


TEMPLATES = """\
code = compile("def root():\\n    x = 1\\n    return x\\nroot()\\n", {file!r}, "exec")
exec(code, {{}})
"""


@pytest.mark.parametrize("text", ["hello", "<p>{{ x }}</p>\n", ""])
def test_templates_draw_no_warning_and_are_no_files(run, text):
    page = run.folder / "t.html"
    page.write_text(text)
    (run.folder / "main.py").write_text(TEMPLATES.format(file=str(page)))
    done = run("cover", "-o", "r.seismo", "main.py")
    assert "problem" not in done.stderr
    assert "t.html" not in done.stderr + run("report", "r.seismo").stdout
    exported = run("export", "r.seismo", "-f", "lcov")
    assert "t.html" not in exported.stdout + exported.stderr
    shown = " ".join(run("report", "--all", "r.seismo").stdout.split())
    assert "a template" in shown


def test_a_script_of_another_ending_is_a_file(run):
    (run.folder / "tool.cgi").write_text(MODULE)
    run("cover", "-o", "r.seismo", "tool.cgi")
    assert "tool.cgi" in run("report", "r.seismo").stdout
