"""What a verb is told to write never takes the place of a file that may be somebody's, unless it is told so."""

import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder with a recording of lines, of calls and of coverage."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "app.py").write_text("def f(): return 1\nf()\n")
    for verb in ("lines", "profile", "cover"):
        assert seismo(folder, verb, "-q", "-o", f"{verb}.seismo", "app.py").returncode == 0
    return folder


def seismo(folder, *words):
    return subprocess.run([sys.executable, "-m", "seismo", *words], cwd=folder, capture_output=True, text=True)


WAYS = [
    ("out.html", ["report", "lines.seismo", "--html", "out.html"], True),
    ("pages/index.html", ["report", "cover.seismo", "--html", "pages"], True),
    ("out.json", ["export", "profile.seismo", "-f", "json", "-o", "out.json"], True),
    ("callgrind.out.1", ["export", "profile.seismo", "-f", "callgrind", "-o", "callgrind.out.1"], True),
    ("out.speedscope.json", ["export", "profile.seismo", "-o", "out.speedscope.json"], True),
    ("coverage.xml", ["export", "cover.seismo", "-o", "coverage.xml"], True),
    ("coverage.json", ["export", "cover.seismo", "-o", "coverage.json"], True),
    ("out.seismo", ["export", "profile.seismo", "-o", "out.seismo"], True),
    ("out.collapsed", ["export", "profile.seismo", "-f", "collapsed", "-o", "out.collapsed"], False),
    ("out.pstats", ["export", "profile.seismo", "-o", "out.pstats"], False),
]


@pytest.mark.parametrize(("name", "words", "known"), WAYS)
def test_a_file_that_is_there(recorded, name, words, known):
    path = recorded / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"precious")
    refused = seismo(recorded, *words)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert path.read_bytes() == b"precious"
    assert seismo(recorded, *words, "--force").returncode == 0
    assert path.read_bytes() != b"precious"
    assert seismo(recorded, *words).returncode == (0 if known else 2)  # its own output, where that can be told


@pytest.mark.parametrize("target", ["empty.json", "/dev/null"])
def test_what_costs_nobody_anything(recorded, target):
    (recorded / "empty.json").write_bytes(b"")
    assert seismo(recorded, "export", "profile.seismo", "-f", "json", "-o", target).returncode == 0
