"""Progress of long work: on a terminal, and nowhere else."""

import os
import re

import children
import pytest

PROGRAM = "def f(n): return n and f(n - 1)\nfor _ in range(3000): f(3)\n"
# The command, with a bar that does not wait for a second of work.
AT_ONCE = "import sys; import seismo.cli.progress as p; p.DELAY = 0; from seismo.cli.main import main; sys.exit(main())"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a trace, a profile and a recording of coverage."""
    folder = tmp_path_factory.mktemp("progress")
    (folder / "app.py").write_text(PROGRAM)
    for verb in ("trace", "profile", "cover"):
        children.seismo(verb, "-q", "-o", f"{verb}.seismo", "app.py", cwd=folder)
    return folder


def on_terminal(folder, words, code=AT_ONCE, stdout=None, status=0):
    """Run the command with stderr, and stdout unless another is given, on a terminal. Return what that shows."""
    ours, theirs = os.openpty()
    try:
        environment = children.environment(TERM="xterm", COLUMNS="120")
        streams = {"stdout": stdout or theirs, "stderr": theirs}
        children.python("-c", code, *words, cwd=folder, env=environment, status=status, **streams)
        os.set_blocking(ours, False)
        shown = b""
        while part := _read(ours):
            shown += part
    finally:
        os.close(ours)
        os.close(theirs)
    return shown.decode()


def _read(fd):
    try:
        return os.read(fd, 65536)
    except BlockingIOError:
        return b""


@pytest.mark.parametrize(
    ("words", "work"),
    [
        (["export", "trace.seismo", "-o", "a.pftrace", "--force"], "writing calls .* 12,00. of 12,00. "),
        (["export", "trace.seismo", "-o", "a.trace.json", "--force"], "writing calls .* 12,00. of 12,00. "),
        (["export", "profile.seismo", "-o", "a.json", "--force"], "writing losses .* "),
        (["merge", "profile.seismo", "trace.seismo", "-o", "m.seismo", "--force"], "writing timelines .* 1 of 1 "),
        (["report", "cover.seismo", "--html", "pages"], "writing files .* 1 of 1 "),
        (["report", "profile.seismo", "--html", "a.html"], "making the page: packing .* 3 of 4 "),
        (["diff", "profile.seismo", "trace.seismo"], "comparing .*"),
        (["info", "trace.seismo", "--verify"], "recounting the calls .*"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_long_work_shows_what_is_done(folder, words, work):
    shown = on_terminal(folder, words)
    assert re.search(rf"seismo: {work}.*0:00:0", shown)
    assert shown.endswith("\x1b[2K") or "\x1b[2K" in shown.rpartition("0:00:0")[2], "the bar is erased at the end"


def test_a_report_is_not_mixed_with_the_bar(folder):
    """Each line of the report begins where a line begins, after the bar was erased."""
    plain = children.seismo("report", "profile.seismo", cwd=folder, COLUMNS="120").stdout
    shown = on_terminal(folder, ["report", "profile.seismo", "--color", "never"])
    assert "making the report" in shown
    lines = [re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", line).split("\r")[-1] for line in shown.split("\r\n")]
    assert [line for line in plain.splitlines() if line and line not in lines] == []


@pytest.mark.parametrize("stderr", ["terminal", "pipe"])
def test_short_work_and_redirected_output_show_nothing(folder, stderr):
    words = ["export", "trace.seismo", "-o", "a.pftrace", "--force"]
    if stderr == "pipe":
        assert children.python("-c", AT_ONCE, *words, cwd=folder).stderr == ""
        return
    never = AT_ONCE.replace("p.DELAY = 0", "p.DELAY = 1e9").replace(
        "sys.exit(main())", "main(); print('rich' in sys.modules)"
    )
    assert on_terminal(folder, words, never) == "False\r\n"


def test_a_reader_that_goes_away_is_no_error(folder):
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        shown = on_terminal(folder, ["report", "profile.seismo", "--all"], stdout=theirs, status=141)
    finally:
        os.close(theirs)
    assert "making the report" in shown
    assert "Error" not in shown


def test_a_mistake_is_reported_below_no_bar(folder):
    shown = on_terminal(folder, ["export", "profile.seismo", "-o", "no/such/folder.json"], status=2)
    assert "seismo: the output cannot be written" in shown.rpartition("\x1b[2K")[2]
