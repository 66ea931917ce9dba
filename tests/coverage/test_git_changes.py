"""Which lines changed since a revision: against real repositories."""

import os

import pytest
from repositories import commit, git

from seismo.coverage.git_changes import changes
from seismo.errors import SeismoError, UsageError


class Repository:
    def __init__(self, folder):
        self.folder = folder

    def git(self, *words):
        git(self.folder, *words)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self):
        commit(self.folder)

    def changes(self, revision="HEAD", folder=None):
        found = changes(revision, str(folder or self.folder))
        assert all(change.path == os.path.realpath(self.folder / change.shown) for change in found)
        return {change.shown: sorted(change.lines) for change in found}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    (tmp_path / "r").mkdir()
    made = Repository(tmp_path / "r")
    made.write("app/core.py", "".join(f"line{number} = {number}\n" for number in range(1, 21)))
    made.write("app/other.py", "x = 1\n")
    made.commit()
    return made


def test_uncommitted_staged_committed_and_new(repository):
    text = (repository.folder / "app/core.py").read_text()
    repository.git("tag", "begin")
    text = text.replace("line3 = 3\n", "line3 = 33\nnew = 1\n")
    repository.write("app/core.py", text)
    repository.commit()
    repository.write("app/other.py", "x = 1\ny = 2\n")
    repository.git("add", "-A")
    repository.write("app/core.py", text + "last = 1\n")
    repository.write("app/new.py", "a\nb")
    repository.write(".gitignore", "*.log\n")
    repository.write("noise.log", "ignored\n")
    assert repository.changes("begin") == {
        "app/core.py": [3, 4, 22],
        "app/other.py": [2],
        "app/new.py": [1, 2],
        ".gitignore": [1, 2],
    }
    assert repository.changes() == {
        "app/core.py": [22],
        "app/other.py": [2],
        "app/new.py": [1, 2],
        ".gitignore": [1, 2],
    }
    assert repository.changes(folder=repository.folder / "app") == repository.changes()


def test_removed_lines_change_none(repository):
    assert repository.changes() == {}
    repository.write("app/core.py", "line1 = 1\n")
    os.unlink(repository.folder / "app/other.py")
    assert repository.changes() == {"app/core.py": []}


def test_a_renamed_file_has_changed_where_its_text_did(repository):
    text = (repository.folder / "app/core.py").read_text()
    os.unlink(repository.folder / "app/core.py")
    repository.write("app/kernel.py", text.replace("line9 = 9", "line9 = 99"))
    repository.git("add", "-A")
    assert repository.changes() == {"app/kernel.py": [9]}


def test_from_where_the_histories_parted(repository):
    repository.git("checkout", "-q", "-b", "mine")
    repository.write("app/other.py", "x = 1\nmine = 1\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    repository.write("app/core.py", "theirs = 1\n")
    repository.commit()
    repository.git("checkout", "-q", "mine")
    assert repository.changes("main") == {"app/other.py": [2]}


@pytest.mark.parametrize(
    "name", ["a b.py", 'quo"te.py', "tab\there.py", "ünï.py", "back\\slash.py", "b/x.py", "line\nend.py"]
)
def test_names_of_all_kinds(repository, name):
    repository.write(name, "one\ntwo\n")
    repository.commit()
    repository.write(name, "one\n2\n")
    assert repository.changes() == {name: [2]}


def test_text_that_looks_like_a_diff(repository):
    lines = ["++ b/app/other.py", "@@ -1 +1,5 @@", "-- a/app/core.py", "diff --git a/x b/x", "++ /dev/null"]
    repository.write("app/tricky.py", "start\n")
    repository.commit()
    repository.write("app/tricky.py", "start\n" + "\n".join(lines))  # and no end of line at the end
    repository.write("app/other.py", "x = 2\r\n")
    assert repository.changes() == {"app/tricky.py": [2, 3, 4, 5, 6], "app/other.py": [1]}


def test_the_users_own_git_settings_do_not_matter(repository):
    repository.git("config", "diff.external", "false")
    repository.git("config", "diff.mnemonicPrefix", "true")
    repository.git("config", "diff.noprefix", "true")
    repository.git("config", "color.ui", "always")
    repository.git("config", "diff.context", "7")
    repository.git("config", "diff.interHunkContext", "9")
    repository.git("config", "diff.renames", "false")
    repository.git("config", "core.quotePath", "true")
    repository.git("config", "core.fsmonitor", "echo run > /nonexistent/x; false")
    repository.write("app/core.py", "".join(f"line{number} = {number + number // 10}\n" for number in range(1, 21)))
    assert repository.changes() == {"app/core.py": [*range(10, 21)]}


@pytest.mark.parametrize("revision", ["nosuch", "-q", "--output=x", "", "HEAD~99", "main..HEAD", "a\0b"])
def test_no_such_revision(repository, revision):
    with pytest.raises(UsageError, match="git knows no revision"):
        repository.changes(revision)
    assert not (repository.folder / "x").exists()


def test_no_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "plain").mkdir()
    with pytest.raises(SeismoError, match="not a git repository"):
        changes("HEAD", str(tmp_path / "plain"))


def test_no_git(repository, monkeypatch):
    monkeypatch.setenv("PATH", str(repository.folder))
    with pytest.raises(SeismoError, match="git is not installed"):
        repository.changes()


def test_no_common_history(repository):
    repository.git("checkout", "-q", "--orphan", "other")
    repository.write("app/core.py", "fresh = 1\n")
    repository.commit()
    assert repository.changes("main") == {"app/core.py": [1]}
