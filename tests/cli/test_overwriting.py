"""What a verb is told to write never takes the place of a file that may be somebody's, unless it is told so."""

import sys

import children
import pytest


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder with a recording of lines, of calls and of coverage, one that was cut short, and a damaged one."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "app.py").write_text("def f(): return 1\nf()\n")
    for verb in ("lines", "profile", "cover"):
        assert seismo(folder, verb, "-q", "-o", f"{verb}.seismo", "app.py").returncode == 0
    (folder / "dies.py").write_text("def f(): return 1\nf()\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    seismo(folder, "profile", "-q", "-o", "cut.seismo", "dies.py")
    # Where a chunk ends the file would only lack its end.
    (folder / "damaged.seismo").write_bytes((folder / "profile.seismo").read_bytes()[:-1])
    return folder


def seismo(folder, *words):
    return children.seismo(*words, cwd=folder, status=None)


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
    ("out.csv", ["query", "profile.seismo", "from functions", "-o", "out.csv"], False),
    ("merged", ["merge", "profile.seismo", "-o", "merged"], False),
    ("recorded", ["profile", "-q", "-o", "recorded", "-c", "pass"], True),
    ("covered", ["cover", "-q", "-o", "covered", "app.py"], True),
]


@pytest.mark.parametrize(("name", "words", "known"), WAYS)
def test_a_file_that_is_there(recorded, name, words, known):
    path = recorded / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"precious")
    refused = seismo(recorded, *words)
    assert refused.returncode == 2
    assert f"{name} exists" in refused.stderr
    assert "--force overwrites it" in refused.stderr
    assert path.read_bytes() == b"precious"
    assert seismo(recorded, words[0], "--force", *words[1:]).returncode == 0
    assert path.read_bytes() != b"precious"
    assert seismo(recorded, *words).returncode == (0 if known else 2)  # its own output, where that can be told


def test_a_foreign_file_is_called_so_and_one_of_seismo_is_not(recorded):
    (recorded / "page.html").write_text("<p>mine")
    done = seismo(recorded, "report", "lines.seismo", "--html", "page.html")
    assert done.stderr.splitlines()[0] == "seismo: page.html exists and was not written by seismo"
    assert seismo(recorded, "export", "profile.seismo", "-f", "json", "-o", "both.json").returncode == 0
    done = seismo(recorded, "export", "profile.seismo", "-f", "speedscope", "-o", "both.json")
    assert done.stderr.splitlines()[0] == "seismo: both.json exists"


@pytest.mark.parametrize("target", ["empty.json", "/dev/null"])
def test_what_costs_nobody_anything(recorded, target):
    (recorded / "empty.json").write_bytes(b"")
    assert seismo(recorded, "export", "profile.seismo", "-f", "json", "-o", target).returncode == 0


WATCH = ["watch", 'call("f")', "--args"]


@pytest.mark.parametrize("words", [["-o", "out.txt"], ["--json", "out.txt"]], ids=" ".join)
def test_what_a_watch_writes(recorded, words):
    path = recorded / "out.txt"
    path.write_bytes(b"precious")
    refused = seismo(recorded, *WATCH, *words, "app.py")
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert path.read_bytes() == b"precious"
    for force in (["--force"], []):  # then it is known by its beginning
        assert seismo(recorded, *WATCH, *words, *force, "app.py").returncode == 0
        assert b"f" in path.read_bytes() != b"precious"
    others = b"+1,2\n-3,4\n" if words[0] == "-o" else b'{"moments": 1}\n'  # of the same beginning, nearly
    path.write_bytes(others)
    assert seismo(recorded, *WATCH, *words, "app.py").returncode == 2
    assert path.read_bytes() == others


def test_two_watches_do_not_write_into_one_file(recorded):
    (recorded / "waits.py").write_text("def f(): print('READY', flush=True)\nf()\ninput()")
    command = [sys.executable, "-m", "seismo", *WATCH, "-o", "two.txt", "waits.py"]
    with children.popen(command, cwd=recorded) as first:
        assert first.stdout.readline() == "READY\n"
        second = seismo(recorded, *WATCH, "-o", "two.txt", "app.py")
        assert second.returncode == 2
        assert "another run is writing into this file" in second.stderr
        first.communicate("\n")
    assert first.returncode == 0
    assert "f(" in (recorded / "two.txt").read_text()


@pytest.mark.parametrize("name", ["pstats", "json", "collapsed", "callgrind", "speedscope", "pprof"])
def test_an_export_of_what_was_cut_short_says_so(recorded, name):
    cut, whole, damaged = (
        children.seismo("export", f"{file}.seismo", "-f", name, "-o", "cut.out", "--force", cwd=recorded).stderr
        for file in ("cut", "profile", "damaged")
    )
    lists_losses = name in ("json", "pprof")
    assert ("the end is missing" in cut) == ("cut off or damaged" in damaged) == (not lists_losses)
    assert "missing" not in whole
