"""Repositories that tests make."""

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """Run git in a folder as an author that the machine's own settings do not matter to. Return its output."""
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path, message: str = "one") -> None:
    """Commit all that is in a folder, which becomes a repository if it is none."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
