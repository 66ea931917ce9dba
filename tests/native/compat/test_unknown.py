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
WITHOUT_GIL = {"lines", "cover", "watch", "objects"}  # and calls, but from that source
USE = """
from seismo.cli.main import main
import seismo, seismo.hooks, sys
def profile(): seismo.profile(source="profilefunc").__enter__()
def hook(): seismo.hooks.setprofile(print)
for use in (profile, hook)[: int(sys.argv[1])]:
    try: use()
    except (seismo.SeismoError, RuntimeError) as error: print(use.__name__, *str(error).split())
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


@pytest.mark.parametrize("unknown", SENTENCES)
def test_a_program_is_told_and_recordings_are_read(unknown, kept):
    uses = ["profile"] if unknown == "free-threaded" else ["profile", "hook"]  # hooks work there
    printed = children.printed(USE, len(uses), cwd=kept, env=children.environment(SEISMO_PRETEND=unknown))
    assert printed.endswith("\nf\n")
    for use, said in zip(uses, printed.splitlines(), strict=False):
        assert said.startswith(f"{use} ")
        assert SENTENCES[unknown] in said
