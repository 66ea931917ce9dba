"""What an editor shows beside lines: it has its schema, its lines are those of the source, its words the report's."""

import json
import sys

import children
import jsonschema
import pytest
import story_samples as samples
from made_objects import SOURCE, server
from paths import DOCS, ROOT

from seismo.report import words
from seismo.report.kind import of
from seismo.report.story.document import document as written

SCHEMA = json.loads((DOCS / "report-schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LINES = samples.PROGRAM.splitlines()
SIGNS = words.Signs()


def line_of(text):
    return LINES.index(text) + 1


def valid(text):
    """The document, which has its schema."""
    document = json.loads(text)
    VALIDATOR.validate(document)
    return document


@pytest.fixture
def told(folder):
    def tell(kind, *options):
        return valid(children.seismo("report", folder / f"{kind}.seismo", "--format", "gutter-json", *options).stdout)

    return tell


def files_of(document):
    return document["sections"]["notes"]["rows"]


def notes_of(document, folder):
    """The notes of the program's file, by line."""
    (file,) = [file for file in files_of(document) if file["path"] == str(folder / "app.py")]
    assert file["problem"] == ""
    assert [note["line"] for note in file["lines"]] == sorted(note["line"] for note in file["lines"])
    return {note["line"]: note for note in file["lines"]}


@pytest.mark.parametrize("kind", ["calls", "trace"])
def test_functions_stand_at_their_definitions(folder, told, kind):
    document = told(kind)
    assert document["kind"] == kind
    assert document["complete"] is True
    notes = notes_of(document, folder)
    slow = notes[line_of("def slow(number):")]
    assert (slow["function"], slow["calls"]) == ("__main__:slow", 101)
    assert words.time(slow["own_ns"], slow["own_error_ns"], SIGNS) in slow["words"]
    assert "101 calls" in slow["words"]
    assert dict(slow["details"])["calls"] == "101"
    assert notes[line_of("def main():")]["calls"] == 1
    assert line_of("def never(number):") not in notes
    assert notes[line_of("@staticmethod")]["function"] == "__main__:helped"
    whole = [note for file in files_of(document) for note in file["lines"]]
    assert max(note["heat"] for note in whole) <= 1
    assert all(note["share"] <= 1 for note in whole)


def test_matches_of_a_watch(folder, told):
    document = told("watch")
    assert document["kind"] == "watch"
    assert {line: note["calls"] for line, note in notes_of(document, folder).items()} == {
        line_of("def slow(number):"): 101
    }


def test_lines_have_hits_and_times(folder, told):
    document = told("lines")
    notes = notes_of(document, folder)
    loop = notes[line_of("        total += step * step % 7")]
    assert loop["hits"] == 100 * 5000 + 1000
    whole = [note for file in files_of(document) for note in file["lines"]]
    known = [words.rank(note["own_ns"], note["own_error_ns"]) for note in (loop, *whole)]
    assert loop["heat"] == pytest.approx(known[0] / max(known) if any(known) else 0, abs=0.001)
    assert "501,000 hits" in loop["words"]
    assert words.time(loop["own_ns"], loop["own_error_ns"], SIGNS) in loop["words"]
    assert line_of("    if number > 3:") not in notes


def test_coverage_has_states(folder, told):
    notes = notes_of(told("coverage"), folder)
    states = {line: note["state"] for line, note in notes.items()}
    assert states[line_of("    if number > 3:")] == "missing"
    assert notes[line_of("    if number > 3:")]["words"] == "never ran"
    assert states[line_of("    return total")] == "executed"
    assert set(states.values()) <= {"executed", "missing", "partial"}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before 3.12 branches are recorded by the tracer alone")
def test_branches_that_were_not_taken_make_a_line_partial(folder, told):
    children.seismo("cover", "--branch", "-o", "branches.seismo", "app.py", cwd=folder)
    note = notes_of(told("branches"), folder)[line_of("    if thread.is_alive():")]
    assert note["state"] == "partial"
    assert "1 branch not taken" in note["words"]
    assert "was never true" in note["untaken"][0]["words"] == dict(note["details"])["branch"]


def test_objects_stand_at_the_lines_that_made_them(tmp_path):
    recording = server(tmp_path / "app")
    document = valid(written(of(recording).gutter(recording, "objects.seismo")))
    (file,) = [file for file in files_of(document) if file["path"].endswith("app.py")]
    notes = {note["line"]: note for note in file["lines"]}
    line = SOURCE.splitlines().index("    SESSIONS[request] = Session(request)") + 1
    assert notes[line]["born"] >= notes[line]["live"] > 0
    assert f"{notes[line]['born']:,} born" in notes[line]["words"]
    assert "app.Session" in dict(notes[line]["details"])["types"]


def test_without_times_there_are_calls(folder, counted, told):
    slow = notes_of(told("counted"), folder)[line_of("def slow(number):")]
    assert (slow["calls"], slow["own_ns"]) == (101, None)
    assert slow["words"].startswith("101 calls")
    assert "ns" not in slow["words"].split()


def test_only_what_is_asked_for(folder, told):
    document = told("calls", "--module", "__main__")
    assert [file["path"] for file in files_of(document)] == [str(folder / "app.py")]
    wall = notes_of(told("calls", "--time", "wall"), folder)[line_of("def main():")]
    assert wall["own_ns"] >= notes_of(document, folder)[line_of("def main():")]["own_ns"]


def test_a_file_that_has_changed_is_not_passed_off_as_what_ran(tmp_path):
    recording = server(tmp_path)
    (tmp_path / "app.py").write_text(f"changed = True\n{SOURCE}")
    document = json.loads(written(of(recording).gutter(recording, "objects.seismo")))
    (file,) = [file for file in files_of(document) if file["path"] == str(tmp_path / "app.py")]
    assert file["problem"].startswith("the file has changed since")


def test_hostile_names_are_escaped(tmp_path):
    recording = samples.hostile(tmp_path)
    text = written(of(recording).gutter(recording, "hostile.seismo"))
    assert text.isascii()
    assert all(line.isprintable() for line in text.splitlines())
    document = valid(text)
    shown = [words_ for file in files_of(document) for note in file["lines"] for _, words_ in note["details"]]
    assert any("<script>" in one for one in shown)
    assert all(one.isprintable() for one in shown)
    assert document["complete"] is False


def test_what_the_tests_of_the_editors_read_has_the_schema():
    kinds = ["calls", "coverage", "lines", "objects"]
    paths = sorted((ROOT / "editors/vscode/test/samples").glob("*.json"))
    assert [path.stem for path in paths] == kinds
    for path, kind in zip(paths, kinds, strict=True):
        assert valid(path.read_text())["kind"] == kind
