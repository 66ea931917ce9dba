"""`seismo report --live`: what a program that is recorded does now."""

import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from children import SECONDS, environment, popen

SEISMO = [sys.executable, "-m", "seismo"]
BUSY = """
import sys
def leaf(number): return number + 1
def busy():
    for number in range(10000): leaf(number)
print("begun", flush=True)
while True: busy()
"""


def started(verb, folder):
    (folder / "busy.py").write_text(BUSY)
    return popen([*SEISMO, verb, "-q", "-o", "it.seismo", "busy.py"], cwd=folder)


def written(path):
    until = time.monotonic() + SECONDS
    while not (path.exists() and b"leaf" in path.read_bytes()) and time.monotonic() < until:
        time.sleep(0.05)


def test_a_report_renews_itself_until_the_program_ends(tmp_path):
    """Calls are those since the last look; the screen is not left by what is longer than it."""
    main, side = pty.openpty()
    env = environment(TERM="xterm", COLUMNS="100", LINES="12")
    with started("profile", tmp_path) as program:
        written(tmp_path / "it.seismo")
        command = [*SEISMO, "report", "--live", "--no-color", "it.seismo"]
        with subprocess.Popen(command, cwd=tmp_path, stdin=side, stdout=side, stderr=side, env=env) as child:
            os.close(side)
            seen, until = "", time.monotonic() + SECONDS
            while not re.search("process is gone|has ended", seen) and time.monotonic() < until:
                if select.select([main], [], [], 1)[0]:
                    seen += os.read(main, 65536).decode()
                if seen.count("in the last") == 2:
                    program.terminate()
            assert child.wait(SECONDS) == 0
    os.close(main)
    first, *looks = [look.replace("\r", "") for look in seen.split("\x1b[H\x1b[2J")[1:]]
    assert "busy.py  since the start; Ctrl-C ends" in first
    assert all("in the last" in look for look in looks)
    calls = [int(re.search(r"([\d,]+)  __main__:leaf", look)[1].replace(",", "")) for look in [first, *looks[:2]]]
    assert min(calls) > 0
    assert max(look.count("\n") for look in looks[:-1]) <= 11


@pytest.mark.parametrize(("verb", "words"), [("cover", "busy.py .* %"), ("lines", "def leaf")])
def test_other_kinds_renew_themselves_too(verb, words, tmp_path):
    with started(verb, tmp_path) as program:
        written(tmp_path / "it.seismo")
        with popen([*SEISMO, "report", "--live", "it.seismo"], cwd=tmp_path) as child:
            until, seen = time.monotonic() + SECONDS, ""
            while not re.search(words, seen) and time.monotonic() < until:
                seen += child.stdout.readline()
            program.terminate()
            assert re.search(words, seen)
            child.communicate(timeout=SECONDS)
        assert child.returncode == 0


def test_what_does_not_go_with_it(seismo, recording):
    for words in (["--format", "json"], ["--html", "x.html"], ["--around", "end"]):
        done = seismo("report", recording, "--live", *words, status=2)
        assert f"{words[0]} does not go with --live" in done.stderr
    done = seismo("report", recording, "--live", status=0)
    assert "since the start" in done.stdout
    assert "the program has ended" in done.stderr
