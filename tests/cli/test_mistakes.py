"""What a slip of the hand gets: a suggestion, of every verb, whichever way its command line is read."""

import pstats
import shlex

import pytest

from seismo import formats
from seismo.cli import main as command
from seismo.cli.parsing import Parser
from seismo.errors import RecordingError, did_you_mean
from seismo.model import read
from seismo.process.output_file import path_of
from seismo.report.calls.sort_orders import ORDERS
from seismo.report.kind import OF_PSTATS


def options(verb):
    """The long options of a verb, by asking it."""
    module = command.home(verb)
    if hasattr(module, "VERB"):
        return [name for option in module.VERB.options for name in option.names if name.startswith("--")]
    parser = Parser()
    module.add_arguments(parser)
    return [name for name in parser._option_string_actions if name.startswith("--")]


@pytest.mark.parametrize("verb", command.VERBS)
def test_a_mistyped_option_of_every_verb(capsys, verb):
    for option in options(verb):
        slip = f"{option[:4]}{option[5:]}" if len(option) > 6 else f"{option}x"
        if slip in options(verb):
            continue
        before = ["call"] if verb == "watch" else []
        assert command.main([verb, *before, slip, "script.py"]) == 2
        what, hint = capsys.readouterr().err.splitlines()
        assert what == f"seismo: seismo {verb} has no option {slip}"
        assert "did you mean --" in hint
        assert f"seismo {verb} --help" in hint


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        ("report --by typ", "--by cannot be 'typ'", "did you mean type? use one of type, line, path, all"),
        (
            "report --sort cumulativ",
            "--sort cannot be 'cumulativ'",
            "did you mean cumulative? calls: own, total, calls, primitive",
        ),
        ("report --sort lenght", "--sort cannot be 'lenght'", "; coverage: name, statements, "),
        ("report --columns onw", "there is no column 'onw'", "did you mean own? the columns are own"),
        ("profile --timing evry x.py", "--timing cannot be 'evry'", "did you mean every? use one of sampled"),
        ("report --format html", "--format cannot be 'html'", "did you mean --html? use one of markdown"),
        ("report --json", "seismo report has no option --json", "did you mean --format json? see: "),
        ("export -f html RECORDING", "there is no format 'html'", "seismo report FILE --html OUT; known are"),
        ("export -f speedscop RECORDING", "there is no format 'speedscop'", "did you mean speedscope?"),
        ("export -f json --weight byte RECORDING", "cannot be weighted by byte", "did you mean bytes?"),
    ],
)
def test_a_mistyped_value(seismo, recording, words, what, hint):
    done = seismo(*(recording if word == "RECORDING" else word for word in words.split()))
    assert (done.returncode, done.stdout) == (2, "")
    assert what in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_nothing_like_an_option_gets_no_suggestion(capsys):
    assert command.main(["report", "--xyzzy"]) == 2
    assert "did you mean" not in capsys.readouterr().err
    assert did_you_mean("x" * 100_000, ["--sort"]) == ""
    assert did_you_mean("--force", ["--source"]) == did_you_mean("--format", ["--force"]) == ""


def test_words_too_many_and_too_few(seismo, recording):
    done = seismo("info", recording, "more")
    assert done.stderr == (
        "seismo: unexpected argument 'more'\n"
        f"        one file is enough: it has {recording}; seismo merge combines several, seismo diff compares two\n"
    )
    assert "unexpected argument 'zsh'\n        usage: seismo completion " in seismo("completion", "bash", "zsh").stderr
    done = seismo("merge", "-o", "out.seismo")
    assert done.stderr == "seismo: the following arguments are required: FILE\n        see: seismo merge --help\n"
    done = seismo("merge", "out.seismo", recording, recording)
    assert (
        done.stderr == "seismo: the recording to write is not named\n        -o names it: seismo merge -o OUT FILE...\n"
    )
    assert "see: seismo report --help" in seismo("report", recording, "--limit").stderr


def test_what_stands_after_two_dashes_is_no_option(seismo, recording, tmp_path):
    recording.rename(tmp_path / "--srot.seismo")
    seismo("info", "--", "--srot.seismo", status=0)


def test_every_word_that_cprofile_sorts_by(seismo, recording):
    words = pstats.Stats.sort_arg_dict_default
    assert set(words) <= {*ORDERS, *OF_PSTATS}
    assert set(OF_PSTATS.values()) <= set(ORDERS)
    reports = {}
    for word in words:
        done = seismo("report", recording, "--sort", word)
        assert (done.returncode, done.stderr) == (0, "")
        reports[word] = done.stdout
    assert reports["cumulative"] == reports["cumtime"] == seismo("report", recording, "--sort", "total").stdout
    assert reports["tottime"] == reports["time"] == seismo("report", recording).stdout
    assert "Functions by calls (" in reports["ncalls"]
    rows = [line.split()[-1] for line in reports["name"].split("Functions by")[1].splitlines() if "  __main__:" in line]
    assert rows == ["app.py:1", "app.py:3"], "<module> comes before work"
    assert "functions cannot be sorted by 'born'" in seismo("report", recording, "--sort", "born").stderr


@pytest.mark.parametrize("verb", ["profile", "trace", "lines", "cover", "watch", "merge", "export"])
def test_a_recording_cannot_be_named_like_a_page_or_an_export(capsys, monkeypatch, recording, tmp_path, verb):
    monkeypatch.chdir(tmp_path)
    program = ["-c", "raise SystemExit('it ran')"]
    before, option, after = {
        "watch": (["call"], "--record", program),
        "merge": ([str(recording)], "-o", []),
        "export": ([str(recording), "-f", "seismo"], "-o", []),
    }.get(verb, ([], "-o", program))
    folder = f"{tmp_path}/" if verb == "watch" else ""
    there = sorted(tmp_path.iterdir())
    for name, like, made, then in (
        ("x.html", "a page", "x.seismo", "report x.seismo --html x.html"),
        ("x.SVG", "a page", "x.seismo", "report x.seismo --html x.html"),
        ("x.prof", "another tool's file", "x.seismo", "export x.seismo -o x.prof"),
        ("x.json", "another tool's file", "x.seismo", "export x.seismo -o x.json (timeline: -o x.trace.json)"),
        ("x.cov.xml", "another tool's file", "x.cov.seismo", "export x.cov.seismo -o x.cov.coverage.xml"),
        (".coverage", "another tool's file", "recording.seismo", "export recording.seismo -o .coverage"),
    ):
        assert command.main([verb, *before, option, name, *after]) == 2
        what, where, hint = capsys.readouterr().err.splitlines()
        assert what == f"seismo: a recording cannot be named like {like}"
        assert where.strip() == f"{folder}{name}"
        assert hint.strip().replace(folder or "\0", "") == f"{option} {made}, and then: seismo {then}"
    assert sorted(tmp_path.iterdir()) == there


def test_the_two_commands_that_are_named_instead_work(seismo, tmp_path):
    refused = seismo("profile", "-o", "a b.pstats", "-c", "pass")
    option, made, *_ = words = shlex.split(refused.stderr.splitlines()[-1].replace(",", " , "))
    seismo("profile", "-q", option, made, "-c", "pass", status=0)
    seismo(*words[words.index("seismo") + 1 :], status=0)
    assert pstats.Stats(str(tmp_path / "a b.pstats")).total_calls >= 1
    assert seismo("profile", "-q", "-o", "a.name", "-c", "pass").stderr == ""


def test_a_trace_in_json_without_a_timeline_says_how_to_get_one(seismo, traced, tmp_path):
    traced("len('')")
    done = seismo("export", "t.seismo", "-o", "t.json", status=0)
    (said,) = done.stderr.splitlines()
    seismo(*shlex.split(said.rpartition(": seismo ")[2]), status=0)
    assert "traceEvents" in (tmp_path / "t.trace.json").read_text()
    assert seismo("export", "t.seismo", "-f", "json", "-o", "other.json", status=0).stderr == ""


def test_every_suffix_of_a_format_is_known_without_loading_it():
    for suffix in [suffix for format_ in formats.FORMATS for suffix in format_.suffixes if suffix != ".seismo"]:
        with pytest.raises(RecordingError, match="named like another tool's file"):
            path_of("-o", f"x{suffix}")


def test_one_dash_is_standard_output(seismo, recording, tmp_path):
    for words in (["merge", recording, recording, "-o", "-"], ["profile", "-q", "-o", "-", "-c", "pass"]):
        (tmp_path / "copy").write_bytes(seismo(*words, text=False, encoding=None).stdout)
        assert len(read(tmp_path / "copy").functions) >= 1
    assert seismo("export", recording, "-f", "json", "-o", "/dev/stdout").stdout.startswith("{")
    assert not (tmp_path / "-").exists()
