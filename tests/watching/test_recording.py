"""What a watch counted and timed as a recording. Times are held against one another, exactly; never against a clock."""

import io
import json
import os
import pstats
from functools import partial

import children
import pytest

import seismo
from seismo import formats
from seismo.errors import RecordingError, UsageError
from seismo.model import merge, read
from seismo.report.facts import filter_words, header, losses
from seismo.report.words import Signs
from seismo.watching import actions
from seismo.watching import match_text as text


def notes(recording):
    """Return the notes in the header of a report."""
    return [sentence for label, sentence in header(recording, Signs()) if label == "note"]


def outer(n):
    return inner(n) + inner(n)


def inner(n):
    return sum(range(n))


def count_down(n):
    return n if n <= 0 else count_down(n - 1)


def numbers():
    yield inner(10)
    yield inner(20)


def consumes():
    return [inner(number) for number in numbers()]


def raises():
    swallows()
    fails()


def swallows():
    try:
        fails()
    except KeyError:
        inner(10)


def fails():
    return {}["key"]


def expression(*names, more=""):
    quoted = ", ".join(f'"{name}"' for name in names)
    return f'call and file("*test_recording.py") and qualname({quoted}){more}'


def watched(tmp_path, text, function, *args, error=None, **options):
    with seismo.watch(text, record=tmp_path / "w.seismo", **options) as w:
        if error is None:
            function(*args)
        else:
            with pytest.raises(error):
                function(*args)
    return w, {row.qualname: row for row in w.functions if row.matches}


def test_the_file_holds_counts_and_times_and_says_what_it_is(tmp_path):
    w, rows = watched(tmp_path, expression("outer", "inner"), outer, 1000)
    recording = read(tmp_path / "w.seismo")
    functions = {row.qualname: row for row in recording.functions}
    assert {name: row.calls for name, row in functions.items()} == {"outer": 1, "inner": 2}
    assert functions["outer"].own_ns + functions["inner"].own_ns == rows["outer"].sum > 0
    assert not any(recording.functions["own_error_ns"])
    assert {row.qualname: (row.module, row.line) for row in functions.values()} == {
        "outer": (__name__, outer.__code__.co_firstlineno),
        "inner": (__name__, inner.__code__.co_firstlineno),
    }
    (process,), (thread,) = recording.processes, recording.threads
    assert (process.pid, thread.name, thread.cpu_ns) == (os.getpid(), "all threads", -1)
    assert 0 < process.start_ns <= process.end_ns
    assert recording.meta["recorder"] == "watch"
    assert recording.meta["settings"] == {"expression": w.expression.text}
    assert w.recording.functions["calls"].tolist() == recording.functions["calls"].tolist()
    facts = dict(header(recording, Signs()))
    assert facts["matches"] == "3 matches in 2 functions, shown as calls"
    assert facts["filter"] == f"only what matched {w.expression.text}"
    assert "each function stands alone" in facts["measured"]
    assert facts["took"].endswith(" wall")
    assert facts["lost"] == "nothing"


def test_matched_calls_inside_are_in_no_other_s_time(tmp_path):
    _, rows = watched(tmp_path, expression("outer", "inner"), outer, 1000)
    assert rows["outer"].own + rows["inner"].sum == rows["outer"].sum
    assert rows["inner"].own == rows["inner"].sum
    _, rows = watched(tmp_path, expression("outer"), outer, 1000)
    assert rows["outer"].own == rows["outer"].sum
    _, rows = watched(tmp_path, expression("count_down"), count_down, 9)
    assert rows["count_down"].own == rows["count_down"].most < rows["count_down"].sum


@pytest.mark.parametrize("more", ["", " and duration >= 0ns"], ids=["from-the-start", "at-the-end"])
def test_generators_run_inside_who_asks_them(tmp_path, more):
    names = ("consumes", "numbers", "inner", "consumes.<locals>.<listcomp>")
    _, rows = watched(tmp_path, expression(*names, more=more), consumes)
    assert sum(row.own for row in rows.values()) == rows["consumes"].sum
    assert rows["numbers"].own < rows["numbers"].sum


def test_what_turns_out_not_to_match_counts_to_its_caller(tmp_path):
    text = expression("raises", "swallows", "fails", more=' and exception("KeyError")')
    _, rows = watched(tmp_path, text, raises, error=KeyError)
    assert {name: row.matches for name, row in rows.items()} == {"raises": 1, "fails": 2}
    assert rows["raises"].own + rows["fails"].sum == rows["raises"].sum


def test_events_have_no_time(tmp_path):
    w, _ = watched(tmp_path, 'raise and exception("KeyError")', raises, error=KeyError)
    (row,) = w.recording.functions
    assert (row.qualname, row.calls, row.own_ns) == ("fails", 2, 0)
    assert losses(w.recording, Signs()) == notes(w.recording) == []


def test_what_is_missing_is_said(tmp_path):
    waiting = numbers()
    w, _ = watched(tmp_path, expression("numbers"), next, waiting)
    assert notes(w.recording) == ["1 matched call had not ended when the watch did: counted, without a time"]
    waiting.close()
    w, _ = watched(tmp_path, expression("count_down"), count_down, 9, limit=4)
    assert losses(w.recording, Signs()) == ["the watch stopped after 4 matches: later ones are missing"]
    w, _ = watched(tmp_path, expression("inner"), inner, 9, action=lambda _match: 1 / 0)
    assert "its action failed: ZeroDivisionError" in losses(w.recording, Signs())[0]


def test_other_formats_and_merging(tmp_path):
    first, _ = watched(tmp_path, expression("inner"), outer, 9)
    second, _ = watched(tmp_path, expression("outer"), outer, 9)
    formats.write(first.recording, tmp_path / "w.pstats", "pstats")
    stats = pstats.Stats(str(tmp_path / "w.pstats"), stream=io.StringIO()).stats
    assert [(key[2], value[:2]) for key, value in stats.items()] == [("inner", (2, 2))]
    both = merge([first.recording, second.recording])
    assert {row.qualname: row.calls for row in both.functions} == {"inner": 2, "outer": 1}
    assert filter_words(both) == "only what matched several expressions"
    assert "parts of it" in filter_words(merge([first.recording, seismo.model.Builder().build()]))


def test_bad_files(tmp_path):
    other = tmp_path / "app.py"
    other.write_text("precious")
    with pytest.raises(RecordingError, match="is not a recording"):
        seismo.watch("call", record=other)
    assert other.read_text() == "precious"
    with pytest.raises(RecordingError, match="--record"):
        seismo.watch("call", record=tmp_path / "none" / "w.seismo")
    for bad in (3, b"x", ""):
        with pytest.raises(UsageError, match="record cannot be"):
            seismo.watch("call", record=bad)
    with pytest.raises(UsageError, match="record=PATH"):
        seismo.watch("call").recording  # noqa: B018
    w = seismo.watch(expression("inner"), record=tmp_path / "gone" / ".." / "w.seismo")
    w.file.path = str(tmp_path / "none" / "w.seismo")
    with w:
        inner(3)
    assert "the recording was not written: cannot write the recording: No such file" in w.unwritten


PROGRAM = """\
import ast, sys
for _ in range(3):
    try:
        ast.literal_eval("x")
    except ValueError:
        pass
try:
    int("x")
except ValueError:
    pass
print(sorted({"json", "re", "typing", "seismo.model"} & set(sys.modules)))
"""


def test_the_command(tmp_path):
    (tmp_path / "main.py").write_text(PROGRAM)
    run = partial(children.seismo, cwd=tmp_path, encoding="utf-8", PYTHONIOENCODING="utf-8")
    done = run("watch", 'raise and exception("ValueError")', "--record", "w.seismo", "main.py")
    bare = children.python("main.py", cwd=tmp_path, encoding="utf-8")
    assert done.stdout == bare.stdout  # nothing is loaded into the program that it would not load itself
    first, where, last = done.stderr.splitlines()
    assert first == 'seismo: 4 matches in 2 functions: raise and exception("ValueError")'
    assert where.startswith("seismo: 3 of 4 in the standard library (ast); to leave it out: and not file(")
    assert last == "seismo report w.seismo   shows the recording"
    again = f'raise and exception("ValueError") {where.partition(": and ")[0] and where[where.index("and not") :]}'
    done = run("watch", again, "--record=w.seismo", "--json", "-", "-q", "main.py")
    assert done.stderr == ""
    assert [json.loads(line)["file"] for line in done.stdout.splitlines() if line.startswith("{")] == [
        str(tmp_path / "main.py")
    ]
    shown = run("report", "w.seismo")
    assert "__main__:<module>" in shown.stdout
    assert "Call tree" not in shown.stdout


def test_microseconds_as_the_report_writes_them():
    row = actions.Row(("m", "f", "f.py", 1, True, 1, 1, 1, 2500.0, 2500.0, 2500.0, (0,) * 5 + (1,) + (0,) * 26, 2500.0))
    assert "mean 2.5 µs" in actions.histograms([row])[0]
    assert all(line.isascii() for line in actions.histograms([row], ascii_only=True))
    assert "mean 2.5 us" in actions.histograms([row], ascii_only=True)[0]
    assert text.duration(2500) == "2.5 µs"
