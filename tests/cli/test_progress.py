"""Progress of long work: on a terminal, and nowhere else."""

import os
import re

import children
import pytest

PROGRAM = "def f(n): return n and f(n - 1)\nfor _ in range(3000): f(3)\n"
# The command, with a bar that does not wait for a second of work.
BEGIN = "import sys; import seismo.cli.progress as p; p.DELAY = 0; from seismo.cli.main import main; "
AT_ONCE = BEGIN + "sys.exit(main())"
ONE_BY_ONE = BEGIN + "[print('=====') for words in sys.argv[1:] if not main(words.split())]"
WORK = {
    "export trace.seismo -o a.pftrace --force": "writing calls .* 12,00. of 12,00. ",
    "export profile.seismo -o a.json --force": "writing losses .* ",
    "merge profile.seismo trace.seismo -o m.seismo --force": "writing timelines .* 1 of 1 ",
    "report cover.seismo --html pages": "writing files .* 1 of 1 ",
    "report profile.seismo --html a.html": "making the page: packing .* 3 of 4 ",
    "diff profile.seismo trace.seismo": "comparing .*",
    "info trace.seismo --verify": "recounting the calls .*",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a trace, a profile and a recording of coverage."""
    folder = tmp_path_factory.mktemp("progress")
    (folder / "app.py").write_text(PROGRAM)
    for verb in ("trace", "profile", "cover"):
        children.seismo(verb, "-q", "-o", f"{verb}.seismo", "app.py", cwd=folder)
    return folder


@pytest.fixture
def shown(folder, on_terminal):
    """Runs the command. Gives what the terminal shows."""

    def run(*words, code=AT_ONCE, **options):
        return on_terminal("-c", code, *words, cwd=folder, **options)

    return run


def test_long_work_shows_what_is_done(shown):
    screens = shown(*WORK, code=ONE_BY_ONE).split("=====\r\n")[:-1]
    for screen, (words, work) in zip(screens, WORK.items(), strict=True):
        assert re.search(rf"seismo: {work}.*0:00:0", screen), words
        assert "\x1b[2K" in screen.rpartition("0:00:0")[2], "the bar is erased at the end"


def test_a_report_is_not_mixed_with_the_bar(folder, shown):
    """Each line of the report begins where a line begins, after the bar was erased."""
    plain = children.seismo("report", "profile.seismo", cwd=folder, COLUMNS="120").stdout
    screen = shown("report", "profile.seismo", "--color", "never")
    assert "making the report" in screen
    lines = [re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", line).split("\r")[-1] for line in screen.split("\r\n")]
    assert [line for line in plain.splitlines() if line and line not in lines] == []


def test_short_work_and_redirected_output_show_nothing(folder, shown):
    words = ["export", "trace.seismo", "-o", "a.pftrace", "--force"]
    assert children.python("-c", AT_ONCE, *words, cwd=folder).stderr == ""
    never = AT_ONCE.replace("= 0", "= 1e9").replace("sys.exit(main())", "main(); print('rich' in sys.modules)")
    assert shown(*words, code=never) == "False\r\n"


def test_a_reader_that_goes_away_is_no_error(shown):
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        screen = shown("report", "profile.seismo", "--all", stdout=theirs, status=141)
    finally:
        os.close(theirs)
    assert "making the report" in screen
    assert "Error" not in screen


def test_a_mistake_is_reported_below_no_bar(shown):
    screen = shown("export", "profile.seismo", "-o", "no/such/folder.json", status=2)
    assert "seismo: the output cannot be written" in screen.rpartition("\x1b[2K")[2]
