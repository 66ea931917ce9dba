"""The formats of coverage: equal to what coverage.py writes of the same data, and read back."""

import io
import json
import os
import re
import sqlite3
import xml.etree.ElementTree as ET
from contextlib import closing, suppress

import children
import coverage
import covered_samples as samples
import format_samples
import pytest
from coverage.numbits import nums_to_numbits
from lxml import etree
from pycobertura import Cobertura
from pycobertura.filesystem import DirectoryFileSystem

from seismo import formats
from seismo.cli.files import open_recording
from seismo.errors import FormatError, SeismoError
from seismo.formats.coverage_base import executed_files, report_of
from seismo.model import merge

NAMES = [format_.name for format_ in formats.FORMATS if format_.of == ("coverage",)]
READABLE = [name for name in NAMES if formats.by_name(name).reader]
WAYS = [(False, ()), (True, ("", "one", "two|x"))]


class Case:
    """A program that ran under coverage.py, and the recording that seismo reads from its data file."""

    def __init__(self, folder, branch, contexts, programs=None):
        self.folder = folder
        self.session = samples.covered(folder, branch=branch, contexts=contexts, programs=programs)
        self.contexts = contexts
        self.recording = formats.read(folder / ".coverage")
        self.report = report_of(self.recording)

    def written(self, name):
        return format_samples.written(name, self.recording)


@pytest.fixture(scope="module", params=WAYS, ids=["lines", "branches-contexts"])
def case(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("covered")
    before = os.getcwd()
    os.chdir(folder)
    try:
        case = Case(folder, *request.param)
        yield case
        case.session.get_data().close(force=True)
    finally:
        os.chdir(before)


@pytest.fixture
def branches(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = Case(tmp_path, True, ("", "a", "b"))
    yield case
    case.session.get_data().close(force=True)


def contexts(recording):
    """{path: {line: the names of its contexts, sorted}}"""
    return {
        path: {line: sorted(ran.line_contexts.get(line, ("",))) for line in ran.hits}
        for path, ran in executed_files(recording).items()
    }


def lines_and_arcs(recording, arcs=True):
    return {path: (set(ran.hits), set(ran.arcs) if arcs else set()) for path, ran in executed_files(recording).items()}


# ---- equal to coverage.py ----


def test_the_data_file_says_what_coverage_reads(case):
    data = case.session.get_data()
    files = executed_files(case.recording)
    assert set(files) == data.measured_files()
    assert case.recording.meta["branch"] is data.has_arcs()
    for path, ran in files.items():
        assert set(ran.hits) == set(data.lines(path))
        names = data.contexts_by_lineno(path)  # in no order
        assert contexts(case.recording)[path] == {line: sorted(names[line]) for line in names}
        if data.has_arcs():
            assert set(ran.arcs) == {arc for arc in data.arcs(path) if 0 not in arc and arc[0] != arc[1]}


def test_coverage_reports_the_same_of_a_written_data_file(case, tmp_path):
    formats.write(case.recording, tmp_path / ".coverage")
    again = coverage.Coverage(data_file=str(tmp_path / ".coverage"), config_file=False)
    again.load()
    said = []
    for session in (case.session, again):
        text = io.StringIO()
        session.report(file=text, show_missing=True)
        report = samples.output(session.json_report, show_contexts=False)  # a session keeps what it was asked for
        said.append(({**json.loads(report), "meta": None}, samples.output(session.lcov_report), text.getvalue()))
    assert said[0] == said[1]
    assert again.get_data().measured_contexts() == set(case.contexts or [""])
    again.get_data().close(force=True)


def test_files_of_which_nothing_ran_are_counted(branches):
    """With a source folder, a report has files that never ran; so has coverage.py's of what is written."""
    (branches.folder / "idle.py").write_text("def f(x):\n    if x:\n        return 1\n")
    recording = branches.recording
    recording.meta["settings"] = {"source_dirs": [str(branches.folder)]}
    totals = report_of(recording).totals
    assert totals.missing > branches.report.totals.missing
    formats.write(recording, "again.coverage")
    again = coverage.Coverage(data_file="again.coverage", config_file=False)
    again.load()
    theirs = json.loads(samples.output(again.json_report))["totals"]
    again.get_data().close(force=True)
    assert theirs["num_statements"] == totals.statements
    assert theirs["missing_lines"] == totals.missing
    assert theirs["missing_branches"] == totals.missing_branches


def comparable(document):
    """A JSON report without its time and version, and with contexts of regions only for their own lines."""
    del document["meta"]["timestamp"], document["meta"]["version"]
    for file in document["files"].values():
        for part in [file, *file["functions"].values(), *file["classes"].values()]:
            for line, names in list(part.get("contexts", {}).items()):
                part["contexts"][line] = sorted(names)
                if part is not file and int(line) not in part["executed_lines"]:
                    del part["contexts"][line]
    return document


def test_json_equals_coverages(case):
    case.session.config.json_show_contexts = bool(case.contexts)
    theirs = comparable(json.loads(samples.output(case.session.json_report)))
    assert comparable(json.loads(case.written("coverage-json"))) == theirs
    assert len(theirs["files"]) == 2
    assert any(name.startswith("same@") for name in theirs["files"]["app.py"]["functions"])


def test_lcov_equals_coverages(case):
    assert case.written("lcov").decode() == samples.output(case.session.lcov_report)


def test_cobertura_equals_coverages(case):
    def flat(data):
        ours = ("version", "timestamp", "missing-branches")
        return [
            (element.tag, (element.text or "").strip(), {k: v for k, v in element.attrib.items() if k not in ours})
            for element in ET.fromstring(data).iter()
            if element.tag not in ("conditions", "condition")
        ]

    assert flat(case.written("cobertura")) == flat(samples.output(case.session.xml_report))


# The elements of coverage-04.dtd with their content and their attributes; + stands for one that must be there.
RATES = "line-rate+ branch-rate+ complexity+"
COUNTS = "lines-covered+ lines-valid+ branches-covered+ branches-valid+ version+ timestamp+"
DOCUMENT_TYPE = f"""
coverage (sources?,packages) {RATES} {COUNTS}
sources (source*)
source (#PCDATA)
packages (package*)
package (classes) name+ {RATES}
classes (class*)
class (methods,lines) name+ filename+ {RATES}
methods (method*)
method (lines) name+ signature+ {RATES}
lines (line*)
line (conditions*) number+ hits+ branch condition-coverage
conditions (condition*)
condition EMPTY number+ type+ coverage+
"""


def test_cobertura_is_valid_and_read_by_pycobertura(case):
    declared = ""
    for name, content, *attributes in map(str.split, DOCUMENT_TYPE.strip().splitlines()):
        declared += f"<!ELEMENT {name} {content}>"
        for word in attributes:
            how = "#REQUIRED" if word.endswith("+") else "#IMPLIED"
            declared += f"<!ATTLIST {name} {word.rstrip('+')} CDATA {how}>"
    document = case.written("cobertura")
    dtd = etree.DTD(io.StringIO(declared))
    assert dtd.validate(etree.fromstring(document)), dtd.error_log
    theirs = Cobertura(io.BytesIO(document), DirectoryFileSystem(str(case.folder)))
    assert sorted(theirs.files()) == ["app.py", "lib/part.py"]
    for file in case.report.files:
        untaken = {line for line, _ in file.missing_branches}
        assert set(theirs.missed_statements(file.path)) == set(file.missing) | untaken
        assert set(theirs.hit_statements(file.path)) == set(file.executed) - untaken
    percent = case.report.totals.percent_statements
    assert theirs.line_rate() == pytest.approx(percent / 100, abs=0.0001)  # it has four digits


# ---- counts ----


def test_counts_are_written_where_they_are_known(branches):
    """Each line ran as often as its number says."""
    ran = executed_files(branches.recording).items()
    recording = samples.by_hand(*((path, {line: line for line in file.hits}, [*file.arcs], {}) for path, file in ran))
    written = format_samples.written("lcov", recording)
    files = re.findall(r"SF:(.*)\n((?:.*\n)*?)end_of_record\n", written.decode())
    assert [path for path, _ in files] == ["app.py", "lib/part.py"]
    records = files[0][1]
    executed = {file.path: set(file.executed) for file in branches.report.files}["app.py"]
    hits = dict(re.findall(r"^DA:(\d+),(\d+)$", records, re.MULTILINE))
    assert {int(line): int(count) for line, count in hits.items() if count != "0"} == {line: line for line in executed}
    assert f"\nLF:{len(hits)}\nLH:{len(executed)}\n" in records
    assert "\nFNDA:7,plain\n" in records
    assert "\nFNDA:0,unused\n" in records
    assert formats.by_name("lcov").reader(written).meta["counts"] is True
    document = ET.fromstring(format_samples.written("cobertura", recording))
    hits = {element.get("number"): element.get("hits") for element in document.iter("line")}
    assert (hits["13"], hits["74"]) == ("0", "74")


# ---- read back ----


def test_what_is_written_is_read(branches):
    """Statements that ran and branches that were taken: the same from every format that holds them."""
    wanted = {file.absolute: (set(file.executed), set(file.executed_branches)) for file in branches.report.files}
    for name in READABLE:
        back = formats.by_name(name).reader(branches.written(name))
        assert back.meta["recorder"] == "coverage"
        assert back.meta["branch"] is True
        assert back.meta["source_format"] == name
        got = lines_and_arcs(back)
        assert set(got) == set(wanted)
        for path, (lines, arcs) in wanted.items():
            if name == "coverage":
                assert got[path][0] >= lines
                assert got[path][1] >= arcs
            else:
                assert got[path] == (lines, arcs)


def test_contexts_come_back(branches):
    assert contexts(formats.by_name("coverage").reader(branches.written("coverage"))) == contexts(branches.recording)
    back = contexts(formats.by_name("coverage-json").reader(branches.written("coverage-json")))
    for file in branches.report.files:
        assert back[file.absolute] == {line: file.contexts_of(line) for line in file.executed}


def test_recordings_of_other_tools_merge(branches):
    data = branches.recording
    other = formats.by_name("coverage-json").reader(branches.written("coverage-json"))
    both = merge([data, other])
    assert lines_and_arcs(both, arcs=False) == lines_and_arcs(data, arcs=False)
    assert merge([other, data]).to_bytes() == both.to_bytes()
    assert both.kind == "coverage"


def test_coverage_reads_of_other_tools_are_explained():
    java = b"""<?xml version="1.0"?><coverage><packages><package><classes><class filename="a.py"><methods><method>
    <lines><line number="1" hits="1"/></lines></method></methods><lines>
    <line number="2" hits="5" branch="true" condition-coverage="50% (1/2)"><conditions>
    <condition number="0" type="jump" coverage="50%"/></conditions></line></lines></class></classes></package>
    </packages></coverage>"""
    recording = formats.by_name("cobertura").reader(java)
    assert recording.meta["branch"] is False
    assert recording.meta["counts"] is True
    assert [(loss.kind, loss.count) for loss in recording.losses] == [("branches-unknown", 1)]
    assert [ran.hits for ran in executed_files(recording).values()] == [{2: 5}]
    c = b"TN:unit\nSF:/a.py\nFN:1,f\nFNDA:3,f\nDA:1,3\nDA:2,0\nBRDA:1,0,0,1\nBRDA:1,0,1,-\nend_of_record\n"
    recording = formats.by_name("lcov").reader(c)
    assert recording.meta["branch"] is False
    assert [(loss.kind, loss.count) for loss in recording.losses] == [("branches-unknown", 2)]
    assert contexts(recording) == {"/a.py": {1: ["unit"]}}


def test_sources_of_cobertura_place_its_paths(tmp_path):
    (tmp_path / "two" / "pkg").mkdir(parents=True)
    (tmp_path / "two" / "pkg" / "a.py").touch()
    document = f"""<coverage><sources><source>{tmp_path}/one</source><source>{tmp_path}/two</source></sources>
    <packages><package><classes><class filename="pkg/a.py"><lines><line number="1" hits="1"/></lines></class></classes>
    </package></packages></coverage>"""
    recording = formats.by_name("cobertura").reader(document.encode())
    assert list(executed_files(recording)) == [f"{tmp_path}/two/pkg/a.py"]


# ---- what does not fit ----


def test_formats_refuse_the_other_kind(branches, tmp_path):
    for name in NAMES:
        with pytest.raises(FormatError, match="hold coverage, and this is a recording of calls") as error:
            formats.write(format_samples.typical(), tmp_path / "x", name)
        assert "seismo cover" in str(error.value)
    for format_ in formats.FORMATS:
        if "calltree" in format_.of:
            with pytest.raises(FormatError, match="hold calls, and this is a recording of coverage"):
                formats.write(branches.recording, tmp_path / "x", format_.name)
    assert not (tmp_path / "x").exists()


def test_export_suggests_what_fits(branches):
    branches.recording.save("app.seismo")
    said = children.seismo("export", "app.seismo", status=2).stderr
    assert "coverage-json, lcov, cobertura, seismo" in said
    assert "pstats" not in said
    assert "pstats files hold calls" in children.seismo("export", "app.seismo", "-f", "pstats", status=2).stderr


def test_files_are_known_by_what_is_in_them(branches):
    os.rename(".coverage", "data.db")
    formats.write(branches.recording, "report.json", "coverage-json")
    formats.write(branches.recording, "report", "cobertura")
    for name, source in (("data.db", "coverage"), ("report.json", "coverage-json"), ("report", "cobertura")):
        assert open_recording(name).meta["source_format"] == source


def test_without_coverage_a_hint_says_so(branches, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "coverage", None)
    with pytest.raises(FormatError) as error:
        branches.written("coverage")
    assert "pip install 'seismo[coverage]'" in str(error.value)


def test_damage_is_an_error_and_no_crash(branches):
    for name in READABLE:
        for data in format_samples.damaged(branches.written(name), 40):
            with suppress(ValueError, SeismoError):
                formats.by_name(name).reader(data)


def database(*statements):
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in statements:
            made.execute(*((statement,) if isinstance(statement, str) else statement))
        made.commit()
        return made.serialize()


SCHEMA = [
    "CREATE TABLE coverage_schema (version integer)",
    "INSERT INTO coverage_schema VALUES (7)",
    "CREATE TABLE meta (key text, value text)",
    "CREATE TABLE file (id integer primary key, path text)",
    "CREATE TABLE context (id integer primary key, context text)",
    "CREATE TABLE line_bits (file_id integer, context_id integer, numbits blob)",
    "CREATE TABLE arc (file_id integer, context_id integer, fromno integer, tono integer)",
    "CREATE TABLE tracer (file_id integer primary key, tracer text)",
    "INSERT INTO file VALUES (1, '/a.py')",
    "INSERT INTO context VALUES (1, '')",
]


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["CREATE VIEW spy AS SELECT 1"], "view 'spy'"),
        (["CREATE TRIGGER t AFTER INSERT ON arc BEGIN DELETE FROM file; END"], "trigger 't'"),
        (["DROP TABLE tracer"], "lacks tables"),
        (["DROP TABLE tracer", "CREATE VIEW tracer AS SELECT 1 AS file_id, 'x' AS tracer"], "view 'tracer'"),
        (["UPDATE coverage_schema SET version = 8"], "version 8, known is 7"),
        ([("INSERT INTO line_bits VALUES (1, 1, ?)", (b"\xff" * ((1 << 21) + 2),))], "too large"),
        (["INSERT INTO line_bits VALUES (1, 9, x'02')"], "unknown file or context"),
        (["INSERT INTO line_bits VALUES (1, 1, x'01')"], "0 is not a line number"),
        (["INSERT INTO meta VALUES ('has_arcs', '1')", "INSERT INTO arc VALUES (1, 1, 'x', 2)"], "not a whole number"),
        (["INSERT INTO meta VALUES ('has_arcs', '1')", "INSERT INTO arc VALUES (1, 1, 1, 99999999)"], "99999999"),
        (["INSERT INTO file VALUES (2, x'00')"], "not a text"),
    ],
)
def test_databases_that_are_none_of_coverage_are_refused(statements, message):
    with pytest.raises(ValueError, match=message):
        formats.by_name("coverage").reader(database(*SCHEMA, *statements))


def test_a_minimal_database_is_read():
    lines = [1, 2, 300]
    data = database(
        *SCHEMA,
        ("INSERT INTO line_bits VALUES (1, 1, ?)", (nums_to_numbits(lines),)),
        "INSERT INTO tracer VALUES (1, 'django')",
    )
    recording = formats.by_name("coverage").reader(data)
    assert lines_and_arcs(recording) == {"/a.py": (set(lines), set())}
    assert [loss.kind for loss in recording.losses] == ["tracers-dropped"]


def json_report(file, version=3):
    return json.dumps({"files": {"a": file}, "meta": {"format": version, "branch_coverage": True}}).encode()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("cobertura", b'<!DOCTYPE x [<!ENTITY a "aaaa">]><coverage>&a;</coverage>', "entity 'a'"),
        ("cobertura", b"<coverage>" + b"<a>" * 200, "nested too deeply"),
        ("cobertura", b"<project/>", "not coverage"),
        ("cobertura", b'<?xml version="1.0" encoding="UTF-0"?><coverage/>', "unknown encoding"),
        ("cobertura", b'<coverage><class filename="a"><line number="x" hits="1"/></class></coverage>', "number='x'"),
        ("cobertura", b'<coverage><class><line number="1" hits="1"/></class></coverage>', "no filename"),
        ("lcov", b"SF:a\nDA:1,1\n", "cut short"),
        ("lcov", b"DA:1,1\n", "line 1: it belongs to no file"),
        ("lcov", b"SF:a\nDA:99999999999,1\nend_of_record\n", "line 2"),
        ("lcov", b"SF:a\nDA:1,-1\nend_of_record\n", "line 2"),
        ("lcov", b"SF:a\nBRDA:1,0\nend_of_record\n", "a BRDA has"),
        ("coverage-json", json_report({}, version=9), "known are 2 and 3"),
        ("coverage-json", json_report({"executed_lines": [True]}), "not a whole number"),
        ("coverage-json", json_report({"executed_lines": [], "executed_branches": [[1]]}), "not a pair"),
    ],
)
def test_what_cannot_be_is_refused(name, data, message):
    with pytest.raises(ValueError, match=message):
        formats.by_name(name).reader(data)
