"""--color, NO_COLOR and FORCE_COLOR, on every verb that shows something."""

import re
import sys

import pytest

SHOWING = [["report", "R"], ["info", "R"], ["diff", "R", "S"], ["report", "R", "--callers", "work"]]
SUMMARIES = ["profile", "lines", "cover"] + (["objects"] if sys.version_info >= (3, 13, 3) else [])
PROGRAM = "def work():\n    return [n for n in range(1000)]\n\n\nwork()\n"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "work.py"
    path.write_text(PROGRAM)
    return path


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("words", SHOWING)
def test_what_is_shown_is_the_same_with_colours_and_without(seismo, recording, slower, words):
    words = [{"R": recording, "S": slower}.get(word, word) for word in words]
    without = seismo(*words).stdout
    assert "\x1b" not in without
    with_colours = seismo(*words, "--color", "always").stdout
    assert "\x1b[1m" in with_colours
    assert plain(with_colours) == without
    for options, env in (
        (["--color=always"], {"NO_COLOR": "1"}),
        ([], {"FORCE_COLOR": "1"}),
        (["--color", "auto"], {"FORCE_COLOR": "1"}),
    ):
        assert seismo(*words, *options, **env).stdout == with_colours
    for options, env in (
        (["--color", "never"], {"FORCE_COLOR": "1"}),
        (["--no-color"], {"FORCE_COLOR": "1"}),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}),
        ([], {"FORCE_COLOR": ""}),
    ):
        assert seismo(*words, *options, **env).stdout == without


@pytest.mark.parametrize("verb", SUMMARIES)
def test_summaries(seismo, program, verb):
    coloured = seismo(verb, "--color", "always", "-o", "r.seismo", program).stderr
    assert coloured.startswith("\x1b[1mseismo: ")
    assert "seismo report r.seismo   shows the " in plain(coloured)
    if verb == "profile":  # which of both is one decision for all
        assert "\x1b" not in seismo(verb, "-o", "r.seismo", program).stderr
        forced = {"FORCE_COLOR": "1"}
        assert "\x1b" not in seismo(verb, "--color", "never", "-o", "r.seismo", program, **forced).stderr
        assert "\x1b" in seismo(verb, "-o", "r.seismo", program, **forced).stderr


def test_a_program_that_changes_the_environment_changes_no_colours(seismo, program):
    program.write_text("import os\nos.environ['FORCE_COLOR'] = '1'\n")
    assert "\x1b" not in seismo("profile", "-o", "r.seismo", program).stderr


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_summary_on_a_terminal(on_terminal, program, term):
    said = on_terminal("-m", "seismo", "profile", "-o", "r.seismo", program, TERM=term)
    assert "seismo report " in said
    assert ("\x1b[" in said) == (term != "dumb")
