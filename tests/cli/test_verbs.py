"""The reading verbs, each as a user runs it: what it prints, and what it says when it cannot."""

import json
import os
import pstats
import re

import pytest

from seismo.model import Builder


def failed(done, *lines):
    """Assert that the command ended with 2 and exactly these lines on stderr, and said nothing else."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert [line.removeprefix("seismo: ").strip() for line in done.stderr.splitlines()] == list(lines)
    assert done.stderr.startswith("seismo: ")


def test_report(seismo, recording):
    done = seismo("report", recording)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("app.py 'a b'  took ")
    assert "Functions by own time" in done.stdout
    assert "Call tree by elapsed time" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_report_of_parts(seismo, recording):
    tree = seismo("report", recording, "--tree").stdout
    assert "Functions" not in tree
    assert "__main__:work" in tree
    callers = seismo("report", recording, "--callers", "len", "--callees", "work").stdout
    assert "Callers of builtins:len" in callers
    assert "Callees of __main__:work" in callers
    assert re.search(r"^  1 call, ", seismo("report", recording, "--callees", "<module>").stdout, re.MULTILINE)
    assert "Call tree" not in callers
    assert "… 2 more functions" in seismo("report", recording, "--limit", "1", "--columns", "calls").stdout
    assert "100 % is" in seismo("report", recording, "--all", "--min", "0", "--depth", "9").stdout


def test_report_reads_standard_input(seismo, recording):
    with open(recording, "rb") as file:
        done = seismo("report", "-", stdin=file)
    assert done.stdout == seismo("report", recording).stdout


@pytest.mark.parametrize("verb", ["report", "info"])
def test_files_that_cannot_be_read(seismo, tmp_path, verb):
    failed(seismo(verb, "no.seismo"), "there is no such file", "no.seismo", "to make one: seismo profile SCRIPT")
    (tmp_path / "empty.seismo").write_bytes(b"")
    assert "the file is empty" in seismo(verb, "empty.seismo").stderr
    (tmp_path / "text.seismo").write_text("hello, this is no recording at all")
    done = seismo(verb, "text.seismo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("seismo: ")
    assert len(done.stderr.splitlines()) == 3
    (tmp_path / "script.py").write_text("print()")
    program = ("this is a program, not a recording", "script.py", "to record it: seismo profile script.py")
    failed(seismo(verb, "script.py"), *program)
    there = "the newest recordings there: text.seismo, empty.seismo"
    failed(seismo(verb, "."), "this is a folder, not a recording", ".", there)


def test_a_missing_file_names_what_is_there(seismo, recording):
    there = "the newest recordings there: app-4312.seismo"
    failed(seismo("report", "app.seismo"), "there is no such file", "app.seismo", there)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(seismo, recording):
    recording.chmod(0)
    failed(seismo("report", recording), "the file cannot be read: Permission denied", str(recording))


def test_a_cut_recording_is_shown_with_its_loss(seismo, recording, tmp_path):
    content = recording.read_bytes()
    (tmp_path / "cut.seismo").write_bytes(content[: len(content) - 40])
    done = seismo("report", "cut.seismo", status=0)
    assert "lost      nothing" not in done.stdout
    assert "\nlost      " in done.stdout


def test_numbers_that_cannot_be_true(seismo, tmp_path):
    b = Builder()
    function = b.function("m", "f")
    for _ in range(2):
        b.node(-1, b.thread(b.process(pid=1)), function, calls=2**62, own_ns=2**62)
    b.build({}).save(tmp_path / "large.seismo")
    for words in (["report", "large.seismo"], ["merge", "-o", "out.seismo", "large.seismo", "large.seismo"]):
        done = seismo(*words)
        assert done.returncode in (0, 2)
        assert "Traceback" not in done.stderr


def test_info(seismo, recording):
    done = seismo("info", recording)
    assert (done.returncode, done.stderr) == (0, "")
    for words in (
        "app.py 'a b'",
        "bytes",
        "made by   seismo 0.1.0",
        "3 functions, 3 paths",
        "4312",
        "MainThread (main)",
    ):
        assert words in done.stdout
    content = json.loads(seismo("info", recording, "--json").stdout)
    assert content["calls"] == 1011
    assert content["rows"]["tree"] == 3
    assert content["threads"][0]["name"] == "MainThread"
    assert content["problems"] == []


def test_diff(seismo, recording, slower):
    done = seismo("diff", recording, slower)
    assert (done.returncode, done.stderr) == (0, "")
    assert "__main__:work" in done.stdout
    assert "Changed in calls: none" in done.stdout
    content = json.loads(seismo("diff", recording, slower, "--json").stdout)
    assert content["functions"][0]["qualname"] == "work"
    assert content["functions"][0]["own_new_ns"] == 6_030_000, "with that of len, whose calls are a lower bound"


def test_diff_of_several_runs_a_side(seismo, recording, slower, tmp_path):
    for index in range(2):
        (tmp_path / f"old{index}.seismo").write_bytes(recording.read_bytes())
        (tmp_path / f"new{index}.seismo").write_bytes(slower.read_bytes())
    done = seismo("diff", "--old", "old0.seismo", "old1.seismo", "--new", "new0.seismo", "new1.seismo")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("old       2 runs, 3.03 ms in 1,011 calls of 3 functions: app.py")
    assert re.search(r"\+4\.00 ms +±\d+ % +2\.03 ms  6\.03 ms  x3\.0  __main__:work  app\.py", done.stdout)
    content = json.loads(seismo("diff", "--json", "--old", recording, "--new", slower, "new0.seismo").stdout)
    assert content["new"] == [str(slower), "new0.seismo"]


@pytest.mark.parametrize(
    ("words", "what", "where"),
    [
        (["--old", "R"], "one side has no recording", "--new"),
        (["--old", "--new", "R"], "one side has no recording", "--old"),
        (
            ["R", "--old", "S", "--new", "L"],
            "'app-4312.seismo' is on neither side",
            "--old and --new must name all files",
        ),
        (["R", "./R"], "this recording is given twice", "./R"),
        (["--old", "R", "S", "--new", "S"], "this recording is given twice", "S"),
        (["--old", "R", "--new", "S", "L"], "a recording of lines cannot be compared with one of calls", "L and R"),
        (["--old", "R", "--new", "gone"], "there is no such file", "gone"),
    ],
)
def test_sides_that_cannot_be_compared(seismo, recording, slower, tmp_path, words, what, where):
    Builder().build({"recorder": "linetimes"}).save(tmp_path / "lines.seismo")

    def named(text):
        for letter, path in (("R", recording), ("S", slower), ("L", tmp_path / "lines.seismo")):
            text = re.sub(rf"\b{letter}\b", path.name, text)
        return text

    done = seismo("diff", *map(named, words))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[:2] == [f"seismo: {what}", f"        {named(where)}"]


def test_merge_that_cannot_be_written(seismo, recording, tmp_path):
    failed(
        seismo("merge", "-o", "no/such/folder.seismo", recording),
        "the recording cannot be written: No such file or directory",
        "no/such/folder.seismo",
        "there is no folder no/such: create it, or name another file",
    )
    failed(seismo("merge", "-o", tmp_path, recording), "the output is a folder", str(tmp_path), "name a file: -o OUT")
    assert "there is no such file" in seismo("merge", "-o", "all.seismo", recording, "missing.seismo").stderr
    assert not (tmp_path / "all.seismo").exists()


def test_export(seismo, recording, tmp_path):
    seismo("export", recording, "-o", "app.pstats", status=0)
    assert pstats.Stats(str(tmp_path / "app.pstats")).total_calls == 1011
    assert "functions" in json.loads(seismo("export", recording, "-f", "json").stdout)
    seismo("export", recording, "-f", "json", "-o", "out.data", status=0)
    assert json.loads((tmp_path / "out.data").read_text())["functions"]


def test_export_lists_the_formats(seismo):
    done = seismo("export", "--list", status=0)
    for name in ("pstats", "callgrind", "collapsed", "speedscope", "pprof", "json"):
        assert f"\n{name}" in "\n" + done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_export_errors(seismo, recording, tmp_path):
    assert "name a file with -o, or a format with -f: pstats" in seismo("export", recording).stderr
    for words in (["-f", "nonsense"], ["-o", "x.nonsense"]):
        done = seismo("export", recording, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "pstats" in done.stderr, "what there is, is named"
        assert ("cobertura" in done.stderr) == (words[0] == "-f"), "of the formats that hold this recording"
        assert "Traceback" not in done.stderr
    done = seismo("export", recording, "-o", "no/such/dir.json", status=2)
    assert "no/such/dir.json\n        there is no folder no/such: create it, or name another file" in done.stderr
    assert not list(tmp_path.glob("*.part"))


def test_other_tools_files_are_read(seismo, recording, tmp_path):
    seismo("export", recording, "-o", "app.pstats")
    done = seismo("report", "app.pstats")
    assert (done.returncode, done.stderr) == (0, "")
    assert "__main__:work" in done.stdout or "work" in done.stdout
    seismo("diff", "app.pstats", recording, status=0)


def test_a_file_that_only_its_name_makes_another_tools_says_so(seismo, tmp_path):
    """A newcomer who gives a text file has not heard of collapsed stacks."""
    (tmp_path / "notes.txt").write_text("hello\n")
    failed(
        seismo("report", "notes.txt"),
        "this is neither a recording nor a collapsed file",
        "notes.txt",
        "line 1 does not end with a space and a number",
    )


def test_a_terminal_gets_colours(on_terminal, recording):
    assert "\x1b[1mFunctions by own time" in on_terminal("-m", "seismo", "report", recording)


@pytest.mark.parametrize("option", ["-o", "--json"])
def test_what_a_watch_wrote_is_no_recording(seismo, tmp_path, option):
    (tmp_path / "app.py").write_text("def f(n): return n\nf(1)\nf(2)\n")
    seismo("watch", 'call("f")', option, "matches.json", "-q", "app.py", status=0)
    failed(
        seismo("report", "matches.json"),
        "this is the output of seismo watch, not a recording",
        "matches.json",
        "record the matches as well: seismo watch EXPRESSION --record FILE ...",
    )


def test_a_limit_of_0_shows_all_rows(seismo, recording):
    """As that of diff and query does."""
    every = seismo("report", recording, "--limit", "0", status=0).stdout
    assert "more functions" not in every
    assert "builtins:len" in every


def test_a_page_that_cannot_be_written_says_what_to_do(seismo, recording, tmp_path):
    for out, hint in (("nowhere/x.html", "there is no folder nowhere"), (".", "name a file in it")):
        done = seismo("report", recording, "--html", out, "--force", status=2)
        assert "the page cannot be written" in done.stderr
        assert hint in done.stderr


def test_names_that_the_output_s_encoding_lacks_are_escaped(seismo, tmp_path):
    """A terminal of one byte a character shows a function of another script, and no traceback."""
    b = Builder()
    thread = b.thread(b.process(pid=1, argv=["app.py"]), name="MainThread")
    b.node(-1, thread, b.function("m", "gr\u00f6\u00dfe_\u65e5", "app.py", 1), calls=1, own_ns=1000)
    b.build({"recorder": "calltree"}).save(tmp_path / "names.seismo")
    done = seismo("report", "names.seismo", PYTHONIOENCODING="latin-1", encoding="latin-1", status=0)
    assert "Traceback" not in done.stderr
    assert "gr\u00f6\u00dfe_\\u65e5" in done.stdout
