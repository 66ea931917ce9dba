"""The repository names public things only: no path of the machine it was written on, no private host or tool."""

import re
import subprocess

import pytest
from paths import ROOT

# Each letter class keeps this file from matching itself.
PRIVATE = re.compile(
    r"/[w]ork/|/[r]oot/|/[t]mp/plan|/[o]pt/(wheels|pypi)|[.]library\b.*search"
    r"|[i]ssues show|[C]ONTRACT[.]md|[s]hared/(?!tools/pythons)|\b[s]ub-?agents?\b"
    r"|\b(this|our|the) [s]essions? (notes?|tools?)\b|\b[l]anguage model|\b[A]nthropic|\b[C]laude\b|[a]-seed-",
    re.IGNORECASE,
)
TOOL = re.compile(r"[s]hared/tools/pythons")
# The matrix takes its interpreters from there where it exists.
MAY_NAME_THE_TOOL = {"Makefile", ".ci/run"}


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git repository")
    return done.stdout


def tracked_files() -> list[str]:
    return git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()


def test_files_name_public_things_only():
    found = []
    for name in tracked_files():
        path = ROOT / name
        if not path.is_file() or name.startswith("native/vendor/"):
            continue
        text = path.read_bytes().decode(errors="replace")
        if not (PRIVATE.search(text) or TOOL.search(text)):
            continue  # line by line takes ten times as long
        for number, line in enumerate(text.splitlines(), 1):
            if PRIVATE.search(line) or (TOOL.search(line) and name not in MAY_NAME_THE_TOOL):
                found.append(f"{name}:{number}: {line.strip()[:120]}")
    assert found == []


def test_history_names_public_things_only():
    messages = git("log", "--format=%h %B")
    assert [line for line in messages.splitlines() if PRIVATE.search(line) or TOOL.search(line)] == []


def test_no_built_thing_is_tracked():
    assert [
        name for name in git("ls-files").splitlines() if re.search(r"\.(so|o|pyc|whl)$|^(build|dist)/|egg-info", name)
    ] == []
