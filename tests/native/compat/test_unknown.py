"""Interpreters that nobody has looked at yet: nothing is recorded there, and recordings can be read."""

import sys

import children
import pytest

from seismo import _core

pytestmark = pytest.mark.skipif(not hasattr(_core, "_looks"), reason="needs a build with SEISMO_TESTING")

SENTENCES = {
    "newer": "this is Python 3.16, which this seismo does not know",
    "moved": "the structures of this Python differ from those of the one that seismo was built for",
    "free-threaded": "this is a free-threaded build of Python",
}
RECORDS = [["profile", "--source", "profilefunc"], ["cover"], ["lines"], ["watch", 'call and function("f")']]
if sys.version_info >= (3, 13, 3):
    RECORDS.append(["objects"])
PROFILE = "seismo.profile(source='profilefunc').__enter__()"
WITHOUT_GIL = {"lines", "cover", "watch", "objects"}  # and calls, but from that source
READ = """
from seismo.cli.main import main
import seismo
for words in (["report"], ["info"], ["export", "--format", "json", "-o", "kept.json"]):
    main([*words, "kept.seismo"])
print(sorted(row.qualname for row in seismo.open("kept.seismo").functions)[-1])
"""


@pytest.mark.crossed
@pytest.mark.parametrize(
    ("unknown", "words"),
    [
        (unknown, words)
        for unknown in SENTENCES
        for words in RECORDS
        if unknown != "free-threaded" or words[0] not in WITHOUT_GIL
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_recording_is_refused(words, unknown, tmp_path):
    (tmp_path / "program.py").write_text("print('it ran')")
    done = children.seismo(*words, "program.py", cwd=tmp_path, SEISMO_PRETEND=unknown, status=2)
    assert SENTENCES[unknown] in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert "it ran" not in done.stdout


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with a recording, kept.seismo."""
    folder = tmp_path_factory.mktemp("kept")
    children.seismo("profile", "-o", "kept.seismo", "-c", "def f(): pass\nf()", cwd=folder)
    return folder


@pytest.mark.parametrize(
    "unknown", ["newer", *(pytest.param(unknown, marks=pytest.mark.matrix) for unknown in ("moved", "free-threaded"))]
)
def test_recordings_are_read(unknown, kept):
    assert children.printed(READ, cwd=kept, env=children.environment(SEISMO_PRETEND=unknown)).endswith("\nf\n")


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
    done = children.python("-c", program, env=children.environment(SEISMO_PRETEND=unknown))
    assert SENTENCES[unknown] in " ".join(done.stdout.split())
