"""What two threads can reach names what guards it, where it is declared: so that each "the GIL" is found when there is
none."""

import re

from paths import ROOT

NATIVE = ROOT / "native"
ROOMS = ("clock", "engine", "recorder")
# Variables of a file, and structures that several files share: each with the comment before it.
DECLARED = re.compile(
    r"(?P<comment>(?:^/\*(?:(?!\*/).)*\*/\n)?)"
    r"(?P<text>^static (?:struct \{$.*?^\}|(?!const |inline |struct )[\w ]+?\*?\w+(?:\[\w+\])*(?: = [^;{]*)?;)[^\n]*"
    r"|^typedef struct(?: sm_\w+)? \{.*?^\}[^\n]*(?:state;)|^struct sm_\w+ \{.*?^\};)",
    re.MULTILINE | re.DOTALL,
)
GUARD = re.compile(r"\bguards?\b|\bGIL\b|\block\b|\batomic\b|`disk`|`lists`|`sums`|never changed", re.IGNORECASE)


def unguarded(code: str) -> list[str]:
    return [
        found["text"].splitlines()[0]
        for found in DECLARED.finditer(code)
        if not GUARD.search(found["comment"] + found["text"]) and "sm_worker" not in found["text"]
    ]


def test_shared_state_names_its_guard():
    files = [path for room in ROOMS for path in sorted((NATIVE / room).rglob("*.[ch]"))]
    missing = {path.relative_to(NATIVE).as_posix(): unguarded(path.read_text()) for path in files}
    assert {path: lines for path, lines in missing.items() if lines} == {}


def test_unguarded_state_is_found():
    code = """static int plain;\n/* Guard: the GIL. */\nstatic int kept;
static struct {\n    int of; /* some */\n} one;
static struct { /* with the engine's lock */\n    int of;\n} two;\nstatic const int fixed = 1;
typedef struct {\n    int a;\n} sm_x_state;\nstatic uint32_t count; /* atomic */\n"""
    assert unguarded(code) == ["static int plain;", "static struct {", "typedef struct {"]
