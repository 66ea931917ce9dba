"""Interpreters that nobody has looked at yet: nothing is recorded there, and recordings can be read."""

import sys

import children
import pytest
from lab import environment

from seismo import _core

pytestmark = pytest.mark.skipif(not hasattr(_core, "_looks"), reason="needs a build with SEISMO_TESTING")

SENTENCES = {
    "newer": "this is Python 3.16, which this seismo does not know",
    "moved": "the structures of this Python differ from those of the one that seismo was built for",
    "free-threaded": "this is a free-threaded build of Python",
}
RECORDS = [["profile"], ["cover"], ["lines"], ["watch", 'call and function("f")']]
if sys.version_info >= (3, 13, 3):
    RECORDS.append(["objects"])
PROFILE = "seismo.profile(source='profilefunc').__enter__()"
WITHOUT_GIL = {"lines", "cover", "watch", "objects"}  # and calls, but from that source
READS = [["report"], ["info"], ["export", "--format", "json"]]


def seismo(*arguments, folder, pretends="", status=0):
    more = {"SEISMO_PRETEND": pretends} if pretends else {}
    return children.seismo(*arguments, cwd=folder, env=environment(**more), status=status)


@pytest.mark.crossed
@pytest.mark.parametrize(
    ("unknown", "verb"),
    [
        (unknown, verb)
        for unknown in SENTENCES
        for verb in RECORDS
        if unknown != "free-threaded" or verb[0] not in WITHOUT_GIL
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_recording_is_refused(verb, unknown, tmp_path):
    if verb == ["profile"]:
        verb = ["profile", "--source", "profilefunc"]
    (tmp_path / "program.py").write_text("print('it ran')")
    done = seismo(*verb, "program.py", folder=tmp_path, pretends=unknown, status=2)
    assert SENTENCES[unknown] in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert "it ran" not in done.stdout


@pytest.mark.parametrize("unknown", SENTENCES)
def test_recordings_are_read(unknown, tmp_path):
    (tmp_path / "program.py").write_text("def f(): pass\nf()\n")
    seismo("profile", "-o", "kept.seismo", "program.py", folder=tmp_path)
    for verb in READS:
        more = ["-o", "kept.json"] if verb[0] == "export" else []
        seismo(*verb, "kept.seismo", *more, folder=tmp_path, pretends=unknown)
    program = "import seismo; print(sorted(row.qualname for row in seismo.open('kept.seismo').functions)[-1])"
    assert children.printed(program, cwd=tmp_path, env=environment(SEISMO_PRETEND=unknown)) == "f\n"


@pytest.mark.crossed
@pytest.mark.parametrize(
    ("call", "unknown"),
    [
        *((PROFILE, unknown) for unknown in SENTENCES),
        *(("seismo.hooks.setprofile(print)", x) for x in ("newer", "moved")),
    ],
)
def test_a_program_is_told(call, unknown):
    program = (
        f"import seismo, seismo.hooks\ntry: {call}\nexcept (seismo.SeismoError, RuntimeError) as error: print(error)"
    )
    done = children.python("-c", program, env=environment(SEISMO_PRETEND=unknown))
    assert SENTENCES[unknown] in " ".join(done.stdout.split())
