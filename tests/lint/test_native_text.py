"""What no compiler checks in the native code: where versions are named, what is exported, what it calls."""

import re
from pathlib import Path

from paths import ROOT

VENDOR = ROOT / "native" / "vendor"  # other people's code, kept as they wrote it
FILES = sorted(
    path for path in [*(ROOT / "native").rglob("*.c"), *(ROOT / "native").rglob("*.h")] if VENDOR not in path.parents
)

VERSIONS = re.compile(r"\b(PY_VERSION_HEX|PY_MAJOR_VERSION|PY_MINOR_VERSION|Py_GIL_DISABLED)\b")
# An error is marked in the recording and told at its end; the program that is recorded never sees it.
FORBIDDEN_CALLS = re.compile(r"\b(printf|fprintf|puts|fputs|perror|exit|_exit|abort|Py_FatalError|Py_Exit)\s*\(")
# Whose purpose it is, after the program's end.
ENDS_THE_PROCESS = {"module/exit_status.c"}
DEFINITION = re.compile(
    r"^(?!static\b|SM_INLINE\b|typedef\b|struct\b|union\b|enum\b|#|\s)[^\n;={}()]*?\b(\w+)\([^;{}]*\)\s*\{",
    re.MULTILINE,
)


def code_of(path: Path) -> str:
    """The text of a C file without comments and string contents, line for line."""

    def blank(found: re.Match[str]) -> str:
        return '""' if found[0].startswith('"') else "\n" * found[0].count("\n")

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, path.read_text(), flags=re.DOTALL)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "native").as_posix()


CODES = {path: code_of(path) for path in FILES}


def test_only_compat_names_a_python_version():
    assert [
        name_of(path) for path, code in CODES.items() if VERSIONS.search(code) and path.parent.name != "compat"
    ] == []


def test_native_code_never_prints_or_exits():
    assert {name_of(path) for path, code in CODES.items() if FORBIDDEN_CALLS.search(code)} == ENDS_THE_PROCESS


def test_names_with_external_linkage_have_the_prefix():
    names = [(name_of(path), name) for path, code in CODES.items() for name in DEFINITION.findall(code)]
    macros = str.isupper
    assert [both for both in names if not both[1].startswith(("sm_", "PyInit_")) and not macros(both[1])] == []


def test_headers_are_guarded():
    guard = re.compile(r"^#pragma once$|included several times", re.MULTILINE)
    headers = {name_of(path): path.read_text() for path in FILES if path.suffix == ".h"}
    assert [name for name, text in headers.items() if not guard.search(text)] == []
