"""The story of a recording: the report's numbers, JSON that has its schema, and a length to choose."""

import itertools
import json
import os
import re
import shlex
import subprocess

import children
import journal_made
import jsonschema
import pytest
import story_samples as samples
from markdown_it import MarkdownIt
from on_paper import written
from paths import DOCS

from seismo.model import read
from seismo.report import words
from seismo.report.kind import of
from seismo.report.options import Options
from seismo.report.story import Name, Row, Section, Story
from seismo.report.story.document import document
from seismo.report.story.markdown import BYTES, markdown

SCHEMA = json.loads((DOCS / "report-schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SIGNS = words.Signs()


@pytest.fixture(scope="module")
def stories(folder):
    told = {}
    for kind in samples.VERBS:
        recording = read(folder / f"{kind}.seismo")
        told[kind] = of(recording).story(recording, f"{kind}.seismo")
    return {**told, **samples.stories(folder)}


def printed(*arguments):
    return children.seismo("report", *arguments).stdout


def told_of(*arguments):
    """The story that the command prints as JSON."""
    return json.loads(printed(*arguments, "--format", "json"))


def rows_of(text, title):
    """The cells of a section's table in Markdown, by the headings of its columns."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text.split(f"\n## {title}")[1].split("\n## ")[0])
    cells = [[]]
    for before, token in itertools.pairwise(tokens):
        if before.type in ("th_open", "td_open"):
            cells[-1].append("".join(part.content for part in token.children))
        elif token.type == "tr_close":
            cells.append([])
    return [dict(zip(cells[0], row, strict=True)) for row in cells[1:-1]]


# ---- JSON ----


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("kind", samples.VERBS)
def test_the_schema_holds(folder, kind):
    told = told_of(folder / f"{kind}.seismo")
    VALIDATOR.validate(told)
    assert told["kind"] == kind
    assert told["complete"] is True
    assert told["sections"].keys() <= SCHEMA["properties"]["sections"]["properties"].keys()


@pytest.mark.parametrize("name", ["hostile", "large", "empty", "objects", "objects by path"])
def test_the_schema_holds_for_what_is_made(stories, name):
    told = json.loads(document(stories[name]))
    VALIDATOR.validate(told)
    assert told["kind"] == ("objects" if name.startswith("objects") else "calls")
    assert told["complete"] is (name not in ("hostile", "large"))


def test_the_schema_knows_every_section_and_every_section_is_seen(stories):
    seen = {section.name for story in stories.values() for section in story.sections}
    seen -= {"facts", "next"}
    # Gaps, spans and branches, and files of which something cannot be told, these programs have none of.
    rare = {"gaps", "branches", "problems", "pauses", "spans"}
    rare |= {"notes", "findings", "suspects", "worse", "unsteady", "counts"}  # of other documents
    assert seen | rare == set(SCHEMA["properties"]["sections"]["properties"]) | (seen & rare)


def declared(schema, above=()):
    """The names of all fields that a part of the schema has, at any depth."""
    if isinstance(schema, list):
        return set().union(*(declared(part, above) for part in schema))
    if not isinstance(schema, dict):
        return set()
    own = {*schema.get("properties", ()), *schema.get("required", ())}
    name = schema.get("$ref", "").rpartition("/")[2]
    if name and name not in above:
        own |= declared(SCHEMA["$defs"][name], (*above, name))
    return own.union(*(declared(part, above) for part in schema.values()))


def test_each_field_of_a_row_is_in_the_schema(stories):
    for story in stories.values():
        for name, section in json.loads(document(story))["sections"].items():
            for row in section["rows"]:
                assert set(row) <= declared(SCHEMA["properties"]["sections"]["properties"][name]), name


def test_the_spans_that_a_program_named_are_told(tmp_path):
    """Of each name the longest, by the same numbers as in the terminal's report."""
    tree, p = journal_made.lone(unit=1.0)
    p.call(0)
    p.say(1_000, (3, "load", {"rows": 1}, 1), (4, "load", None, 1), (3, "load", {"rows": 2}, 2))
    p.say(6_000, (4, "load", None, 2))
    p.end()
    recording = journal_made.recording(tree, [p], 1)
    told = json.loads(document(of(recording).story(recording, "made.seismo")))
    VALIDATOR.validate(told)
    assert set(told["sections"]["spans"]["rows"][0]) <= declared({"$ref": "#/$defs/spans"})
    (row,) = told["sections"]["spans"]["rows"]
    assert (row["name"], row["values"], row["took_ns"]) == ("load", {"rows": 2}, 6_000)
    assert (row["spans"], row["all_ns"]) == (2, 7_000)


def test_json_is_ascii_and_a_row_a_line(stories):
    text = document(stories["hostile"])
    assert text.isascii()
    assert all(line.isprintable() for line in text.splitlines())
    rows = json.loads(text)["sections"]["functions"]["rows"]
    assert sum(line.startswith('{"function":') for line in text.splitlines()) >= len(rows)
    assert {row["module"] for row in rows} == set(samples.HOSTILE), "every name in full"


# ---- the numbers are the report's ----


def terminal(folder, kind, limit=50, **options):
    recording = read(folder / f"{kind}.seismo")
    return written(of(recording).report, recording, Options(limit=limit, **options), width=240).splitlines()


@pytest.mark.parametrize("kind", ["calls", "trace", "watch"])
def test_functions_have_the_numbers_of_the_report(folder, stories, kind):
    lines = [line.split() for line in terminal(folder, kind, limit=500)]
    told = json.loads(document(stories[kind]))["sections"]["functions"]["rows"]
    assert len(told) > 3 or kind == "watch"
    shown = rows_of(markdown(stories[kind], 500), "Functions by own time")
    assert len(shown) == len(told)
    for row, cells in zip(told, shown, strict=True):
        own = words.time(row["own_ns"], row["own_error_ns"], SIGNS)
        total = words.time(row["total_ns"], row["total_error_ns"], SIGNS)
        assert (cells["own"], cells["total"]) == (own, total)
        assert cells["calls"] == words.calls(row["calls"], row["calls_at_least"], SIGNS)
        module, name = row["module"], row["qualname"]
        imported = name == "<module>" and module != "__main__"
        assert cells["function"] == (f"import {module}" if imported else row["function"])
        last = module if imported else row["function"]
        wanted = {*own.split(), *total.split(), cells["calls"]}
        fitting = [line for line in lines if last in " ".join(line) and line[:2] == own.split()[:2]]
        assert any(wanted <= set(line) for line in fitting), (last, wanted, fitting)


def test_the_tree_has_the_numbers_of_the_report(folder, stories):
    lines = [" ".join(line.split()) for line in terminal(folder, "calls")]
    paths = json.loads(document(stories["calls"]))["sections"]["paths"]["rows"]
    assert max(row["depth"] for row in paths if row["what"] == "function" and row["function"] == "__main__:slow") >= 2
    for row in paths:
        if row["what"] == "function" and row["module"] == "__main__":
            total = words.time(row["total_ns"], row["total_error_ns"], SIGNS)
            share = words.share(row["total_ns"], row["total_error_ns"], row["total_ns"] / (row["total_share"] or 1))
            assert any(f"{total} " in line and row["function"] in line for line in lines), (total, share)


def test_a_line_has_its_function_and_its_source(stories):
    told = json.loads(document(stories["lines"]))["sections"]["lines"]["rows"]
    (loop,) = [row for row in told if row["source"] == "total += step * step % 7"]
    assert loop["hits"] == 100 * 5000 + 1000
    assert loop["function"] == "__main__:slow"
    assert os.path.basename(loop["file"]) == "app.py"


def test_coverage_has_the_numbers_of_the_report(folder, stories, monkeypatch):
    monkeypatch.chdir(folder)
    told = json.loads(document(stories["coverage"]))
    (file,) = told["sections"]["files"]["rows"]
    (line,) = [line.split() for line in terminal(folder, "coverage") if line.startswith("app.py")]
    percent = words.percent(file["percent"], 100).split(".")[0]
    assert [line[1], line[2]] == [str(file["statements"]), str(file["missing"])]
    assert line[3] == percent.split()[0]
    never = samples.PROGRAM.splitlines().index("def never(number):") + 1
    runs = told["sections"]["missing"]["rows"]
    assert (runs[0]["first"], runs[0]["last"]) == (never + 1, never + 3)
    assert (runs[0]["function"], runs[0]["source"]) == ("never", "if number > 3:")
    assert sum(run["statements"] for run in runs) == file["missing"] == told["totals"]["missing"]


def test_waiting_is_ranked_when_it_is_asked_for(folder):
    elapsed, running = told_of(folder / "calls.seismo"), told_of(folder / "calls.seismo", "--time", "cpu")
    assert elapsed["sections"]["functions"]["remark"].endswith("of elapsed time")
    assert " of running" in running["sections"]["functions"]["remark"]


def test_without_times_calls_are_ranked(counted):
    told = told_of(counted)
    VALIDATOR.validate(told)
    assert (told["totals"]["times"], told["totals"]["own_ns"]) == ("calls", None)
    rows = {row["function"]: row for row in told["sections"]["functions"]["rows"]}
    assert (rows["__main__:slow"]["calls"], rows["__main__:slow"]["own_ns"]) == (101, None)
    assert rows["__main__:parse"]["total_calls"] > 100
    (main_path,) = [row for row in told["sections"]["paths"]["rows"] if row.get("function") == "__main__:main"]
    assert main_path["total_ns"] is None
    assert main_path["total_calls"] > 300
    shown = printed(counted, "--format", "markdown")
    assert "## Functions by calls (100 % is " in shown
    assert "## Call tree by calls" in shown
    assert f"{main_path['total_calls']:,} total, 1 call `__main__:main`" in shown
    reports = [shlex.split(step["command"])[3:] for step in told["next"] if step["command"].startswith("seismo report")]
    assert reports
    assert all(printed(counted, *options) for options in reports)


def test_only_what_is_asked_for_is_told(folder):
    told = told_of(folder / "calls.seismo", "--module", "__main__")
    assert {row["module"] for row in told["sections"]["functions"]["rows"]} == {"__main__"}
    told = told_of(folder / "lines.seismo", "--only", "__main__:slow")
    assert {row["function"] for row in told["sections"]["lines"]["rows"]} == {"__main__:slow"}
    told = told_of(folder / "coverage.seismo", "--omit", "*/app.py")
    assert told["sections"]["files"]["rows"] == []
    assert told["totals"]["files"] == 0


# ---- how much of it ----


def test_a_profile_of_ten_thousand_paths_is_short():
    recording = samples.large()
    text = markdown(of(recording).story(recording, "large.seismo"))
    assert 5_000 < len(text.encode()) <= BYTES == 8_000
    for title in ("Functions by own time", "Call tree by elapsed time", "What to look at next"):
        assert f"\n## {title}" in text


@pytest.mark.parametrize("form", [markdown, document])
@pytest.mark.parametrize("name", ["calls", "trace", "lines", "coverage", "watch", "hostile", "objects", "empty"])
def test_no_line_more_than_asked_for(stories, name, form):
    for lines in (1, 2, 3, 5, 9, 16, 30, 100, 10_000):
        text = form(stories[name], lines)
        assert text.count("\n") <= lines
        assert text.endswith("\n")


def test_json_of_any_length_has_its_schema(stories):
    for lines in (1, 8, 20, 50, 110):
        for name in ("trace", "objects", "coverage"):
            VALIDATOR.validate(json.loads(document(stories[name], lines)))


def kept(story, number):
    return {
        (section.name, json.dumps(row.data))
        for section in story.only(set(story.order()[:number])).sections
        for row in section.rows
    }


@pytest.mark.parametrize("name", ["trace", "objects", "lines"])
def test_what_is_cut_is_what_matters_least(stories, name):
    """One row more never costs another, and a short document has the first of all that matters."""
    story = stories[name]
    before = set()
    for number in range(len(story.order()) + 1):
        rows = kept(story, number)
        assert len(rows) == number
        assert before <= rows
        before = rows
    few = story.only(set(story.order()[:18]))
    sizes = {section.name: len(section.rows) for section in few.sections}
    whole = {section.name: len(section.rows) for section in story.sections}
    main = {"trace": ("functions", "paths", "next"), "objects": ("leaks", "types", "next"), "lines": ("lines", "next")}
    for section in main[name]:
        assert sizes[section] >= 1
    assert sizes[main[name][0]] < whole[main[name][0]]


def test_a_row_of_the_tree_is_never_shown_without_those_above(stories):
    for name in ("calls", "hostile", "large"):
        for number in range(len(stories[name].order())):
            for section in stories[name].only(set(stories[name].order()[:number])).sections:
                depths = [row.depth for row in section.rows]
                assert all(depth <= above + 1 for above, depth in zip([-1, *depths], depths, strict=False))


def test_what_is_left_out_is_said(stories):
    told = json.loads(document(stories["trace"], 20))
    whole = json.loads(document(stories["trace"]))
    assert set(told["left_out"]) >= {"Longest imports"}
    shown, all_ = told["sections"]["functions"], whole["sections"]["functions"]
    assert shown["more"] == all_["more"] + len(all_["rows"]) - len(shown["rows"]) > 0
    assert "Left out: " in markdown(stories["trace"], 30)


@pytest.mark.parametrize("kind", ["calls", "lines", "objects", "coverage"])
def test_a_dozen_lines_are_filled_with_what_matters(stories, kind):
    text = markdown(stories[kind], 12)
    assert 10 <= text.count("\n") <= 12
    assert "**took**" in text or "**objects**" in text or "**covered**" in text
    leading = next(section for section in stories[kind].sections if section.name != "facts")
    names = [cell for cell in leading.rows[0].cells if isinstance(cell, Name) and cell]
    assert names
    assert all(f"`{name}`" in text for name in names)
    assert text.count("\n## ") >= 2
    assert "\n- " in text.split("\n## ")[1]


def test_a_long_block_keeps_nothing_short_out():
    rows = [
        Row({"row": number}, [Name(f"row {number}")], 1 - number / 10, code=["line"] * (30 if number == 1 else 0))
        for number in range(4)
    ]
    story = Story("calls", "Calls of", "x", "x.seismo", {}, [Section("sources", "Sources", rows, "code")])
    text = markdown(story, 20)
    assert [f"row {number}" in text for number in range(4)] == [True, False, True, True]


def test_losses_stay_in_the_shortest_document(stories):
    assert "**lost**" in markdown(stories["hostile"], 3)
    assert json.loads(document(stories["hostile"]))["complete"] is False


# ---- what to look at next ----


def test_what_to_look_at_next_can_be_typed(folder, stories):
    commands = set()
    for kind in samples.VERBS:
        steps = json.loads(document(stories[kind]))["next"]
        assert steps or kind == "watch"
        commands.update(step["command"] for step in steps)
    for command, verb, *options in map(shlex.split, sorted(commands)):
        assert command == "seismo"
        if verb != "view":  # which serves until somebody ends it
            children.seismo(verb, *options, cwd=folder)


def test_hostile_names_in_commands_are_words(stories, folder):
    for step in json.loads(document(stories["hostile"]))["next"]:
        assert step["command"].isprintable()
        words_ = subprocess.run(
            ["bash", "-c", f"printf '%s\\0' {step['command'].removeprefix('seismo ')}"],
            stdout=subprocess.PIPE,
            check=True,
            cwd=folder,
        ).stdout
        verb, *rest = words_.decode("utf-8", "surrogateescape").split("\0")
        assert verb in ("report", "info", "lines", "trace")
        if verb == "report":
            assert rest[0] == "hostile.seismo"


def test_the_leading_function_is_the_programs_own(stories):
    for kind in ("calls", "trace"):
        steps = json.loads(document(stories[kind]))["next"]
        assert re.fullmatch(r"seismo report \w+\.seismo --callers __main__:\w+", steps[0]["command"])
        assert any(step["command"].startswith("seismo lines --only __main__:") for step in steps)


# ---- the command ----


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "yaml"], "--format cannot be 'yaml'"),
        (["--max-lines", "9"], "--max-lines needs --format"),
        (["--format", "json", "--tree"], "--tree does not go with --format"),
        (["--format", "markdown", "--html", "x.html"], "--html does not go with --format"),
        (["--format", "markdown", "--all"], "--all does not go with --format"),
        (["--format", "gutter-json", "--max-lines", "3"], "--max-lines does not go with --format gutter-json"),
        (["--format", "gutter-json", "--callers", "main"], "--callers does not go with --format"),
    ],
)
def test_mistakes(folder, options, said):
    assert said in children.seismo("report", folder / "calls.seismo", *options, status=2).stderr


def test_the_document_is_utf_8_in_any_locale(folder):
    ascii_ = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = children.seismo("report", "calls.seismo", "--format", "markdown", cwd=folder, encoding="utf-8", **ascii_)
    assert "±" in done.stdout or "µs" in done.stdout
