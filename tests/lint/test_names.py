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
    if done.returncode > 1:
        pytest.skip("not a git repository")
    return done.stdout


def test_files_name_public_things_only():
    words = ["grep", "-n", "-I", "-i", "-P", "--untracked", "-e", f"{PRIVATE.pattern}|{TOOL.pattern}", "--"]
    found = git(*words, ":!native/vendor").splitlines()
    tools = [line for line in found if TOOL.search(line) and line.partition(":")[0] in MAY_NAME_THE_TOOL]
    assert [line[:200] for line in found if PRIVATE.search(line) or line not in tools] == []
    assert tools


def test_history_names_public_things_only():
    messages = git("log", "--format=%h %B")
    assert [line for line in messages.splitlines() if PRIVATE.search(line) or TOOL.search(line)] == []


def test_no_built_thing_is_tracked():
    assert [
        name for name in git("ls-files").splitlines() if re.search(r"\.(so|o|pyc|whl)$|^(build|dist)/|egg-info", name)
    ] == []
