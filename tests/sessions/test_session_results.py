"""What sessions show of themselves and save, all in the same way."""

import io
import json
import os
import pstats
import re

import pytest

import seismo
from seismo.errors import RecordingError, UsageError
from seismo.process.objects.recorder import why_not

births = pytest.mark.skipif(bool(why_not()), reason=why_not() or "never")
KINDS = ["profile", "lines", "cover", pytest.param("objects", marks=births)]
# What each shows of fib: its function, its line, its file, what it makes.
SHOWN = {"profile": r"fib", "lines": r"fib", "cover": r"session_results\.py", "objects": r"object"}


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


MAKE = {
    "profile": seismo.profile,
    "lines": lambda: seismo.lines(only="*fib"),
    "cover": lambda: seismo.cover(include=__file__, rcfile=""),
    "objects": seismo.objects,
}


def session(kind):
    with MAKE[kind]() as one:
        fib(16)
        kept = [object() for _ in range(9)]
    del kept
    return one


@pytest.fixture(params=KINDS)
def ended(request):
    return session(request.param)


def test_print_writes_the_lines_of_a_run_s_end(ended, capsys):
    ended.print()
    printed = capsys.readouterr()
    assert printed.err == ""
    assert re.search(SHOWN[ended.name], printed.out)
    assert "seismo report" not in printed.out, "there is no file to show"
    assert "\x1b" not in printed.out
    out = io.StringIO()
    ended.print(out)
    assert out.getvalue() == printed.out
    coloured = io.StringIO()
    ended.print(coloured, color="always")
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured.getvalue()) == printed.out != coloured.getvalue()


def test_a_report_is_that_of_the_command(ended, capsys, tmp_path):
    from seismo.cli.main import main

    path = tmp_path / "part.seismo"
    ended.save(path)
    ended.report(limit=3)
    reported = capsys.readouterr().out
    assert re.search(SHOWN[ended.name], reported)
    if ended.name == "profile":
        ended.report(sort="cumtime", limit=3)
        reported = capsys.readouterr().out
        assert main(["report", str(path), "--sort", "cumtime", "--limit", "3"]) == 0
        assert capsys.readouterr().out == reported


def test_a_notebook_shows_a_table_in_a_fixed_width_font(ended):
    html = ended._repr_html_()
    if ended.name == "profile":  # the flame graph comes first
        drawn, _, html = html.partition("<details><summary>as text</summary>")
        style, _, drawn = drawn.partition("</style>")
        assert style.startswith("<style>")
        assert drawn.startswith('<iframe class="seismo-page" title="flame graph" sandbox="allow-scripts" srcdoc="&lt;!')
        assert re.search("hidden until the notebook is trusted.*</iframe>$", drawn)
        assert drawn.count('"') == 10
        html = html.removesuffix("</details>")
    assert html.startswith('<pre style="font-family: ui-monospace')
    assert html.endswith("</pre>")
    assert re.search(SHOWN[ended.name], html)
    assert "<module>" not in html


def test_html_writes_pages(ended, tmp_path):
    ended.html(tmp_path / "page")
    page = tmp_path / "page/index.html" if ended.name == "cover" else tmp_path / "page"
    assert page.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("name", ["x.pstats", "x.speedscope.json", "x.folded", "x.seismo", "x.pb.gz"])
def test_save_honours_the_suffix(tmp_path, name):
    from seismo import formats

    path = tmp_path / name
    session("profile").save(path)
    read = formats.read(path)
    assert max(read.functions["calls"]) in (0, 3193), "fib(16); collapsed stacks hold no calls"
    if name == "x.pstats":
        assert pstats.Stats(str(path)).total_calls == sum(read.functions["calls"])
    if name == "x.speedscope.json":
        assert "speedscope" in json.loads(path.read_text())["$schema"]


def test_save_as_a_named_format(ended, tmp_path):
    ended.save(tmp_path / "data.bin", format="seismo")
    assert seismo.open(tmp_path / "data.bin").kind == ended.recording.kind


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x.nothing", "(?s)no format is known.*name one of: pstats"),
        ("x", "(?s)no format is known.*name one of: pstats"),
        ("x.html", "(?s)no format is known.*--html OUT"),
        ("x.lcov", "hold coverage, and this is a recording of calls"),
    ],
)
def test_save_with_a_suffix_that_does_not_fit(tmp_path, name, said):
    with pytest.raises(seismo.SeismoError, match=said):
        session("profile").save(tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", MAKE)
def test_nothing_is_recorded_yet(kind):
    one = MAKE[kind]()
    assert repr(one) == f"<seismo.{kind}: not begun>"
    for show in (one.print, one.report, one._repr_html_):
        with pytest.raises(seismo.SeismoError, match="nothing is recorded yet"):
            show()


def test_bad_words():
    one = session("profile")
    with pytest.raises(seismo.SeismoError, match=r"(?s)functions cannot be sorted by 'cumtme'.*did you mean cumtime\?"):
        one.report(sort="cumtme")
    with pytest.raises(seismo.SeismoError, match="limit cannot be 0"):
        one.report(limit=0)
    for show in (one.print, one.report):
        with pytest.raises(seismo.SeismoError, match="color cannot be 'red'"):
            show(color="red")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown_meanwhile_is_not_recorded(kind):
    everything = {"lines": seismo.lines, "cover": lambda: seismo.cover(rcfile="")}
    with (MAKE | everything)[kind]() as one:
        fib(3)
        one.print(io.StringIO())
        one.report(io.StringIO())
        one._repr_html_()
    modules = set(one.recording.functions["module"])
    assert not {module for module in modules if module.startswith(("seismo.report", "seismo.model"))}


@pytest.mark.parametrize("kind", ["profile", "lines"])
def test_report_and_save_take_the_times_that_are_asked_for(kind, tmp_path):
    one = session(kind)
    shown = io.StringIO()
    one.report(shown, time="wait")
    assert "by time waiting" in shown.getvalue()
    one.report(shown, time="wall")
    with pytest.raises(UsageError, match="time cannot be 'idle'"):
        one.report(shown, time="idle")
    with pytest.raises(UsageError, match="time cannot be 'idle'"):
        one.save(tmp_path / "x.pstats", time="idle")
    if kind == "profile":
        sums = {}
        for time in ("cpu", "wall", "wait"):
            one.save(tmp_path / f"{time}.pstats", time=time)
            sums[time] = sum(row[2] for row in pstats.Stats(str(tmp_path / f"{time}.pstats")).stats.values())
        assert sums["cpu"] + sums["wait"] == pytest.approx(sums["wall"], rel=1e-3, abs=1e-5)


def test_coverage_is_shown_by_the_session_s_own_settings(tmp_path, monkeypatch):
    one = session("cover")
    out = io.StringIO()
    percent = one.report(out, sort="-missing", limit=1, color="never")
    assert percent == one.analysis().totals.percent
    assert "session_results.py" in out.getvalue()
    (tmp_path / ".coveragerc").write_text("[report]\nomit = *\n")  # the session was made without any settings
    monkeypatch.chdir(tmp_path)
    one.print(printed := io.StringIO())
    assert "session_results.py" in printed.getvalue()
    assert one.html(tmp_path / "pages") == str(tmp_path / "pages" / "index.html")
    with pytest.raises(UsageError, match="files cannot be sorted by 'hits'"):
        one.report(out, sort="hits")
    with pytest.raises(UsageError, match="limit cannot be 0"):
        one.report(out, limit=0)


@pytest.mark.skipif(not why_not(), reason="births and deaths are recorded here")
def test_objects_that_cannot_be_recorded_are_refused():
    with pytest.raises(RecordingError, match=r"3\.13\.3"), seismo.objects():
        pass


@pytest.mark.parametrize(
    "wrong", [{"objects": "some"}, {"max_live": 0}, {"span": "duration > 1ms"}, {"span": "c_call"}, {"span": 3}]
)
def test_bad_settings_of_objects(wrong):
    with pytest.raises(UsageError):
        seismo.objects(**wrong)


@births
def test_objects_have_no_choice_of_times():
    with pytest.raises(UsageError, match="no choice of times"):
        session("objects").report(io.StringIO(), time="cpu")
