"""The table of kinds (seismo.recording_kinds).

What each entry names is there, and each option belongs to who takes it.
"""

import re
from pathlib import Path

import children
import pytest

import seismo
from seismo import recording_kinds
from seismo.cli.main import VERBS
from seismo.cli.parsing import Parser
from seismo.model import Builder
from seismo.report.kind import Kind, every, named, of, orders
from seismo.report.options import declare


@pytest.mark.parametrize("name", recording_kinds.KINDS)
def test_an_entry_names_what_there_is(name):
    entry = recording_kinds.KINDS[name]
    assert entry.verb in VERBS
    kind = named(name)
    assert isinstance(kind, Kind)
    assert kind.name == name
    assert kind.what == entry.what
    assert orders(kind)
    assert recording_kinds.load(entry.recorder)(name).name == name


def test_what_a_kind_must_implement_stays_short():
    assert len([name for name, value in vars(Kind).items() if callable(value) or isinstance(value, property)]) <= 12


def test_the_table_imports_nothing():
    program = (
        "import sys; old = set(sys.modules); import seismo.recording_kinds; print(*sorted(set(sys.modules) - old))"
    )
    done = children.python("-c", program)
    assert {name for name in done.stdout.split() if name.startswith("seismo")} == {"seismo", "seismo.recording_kinds"}


def test_what_is_of_no_kind_is_shown_as_calls():
    assert named("watch") is named("") is named(recording_kinds.CALLS)
    assert of(Builder().build({"recorder": "of a later version"})) is named(recording_kinds.CALLS)


def test_recorders_of_the_engine_are_those_that_cannot_be_together():
    from seismo.process import engine

    assert set(engine.SETTINGS["recorder"]) == {name for name, entry in recording_kinds.KINDS.items() if entry.engine}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind in every():
        Builder().build({"recorder": kind.name}).save(f"{kind.what}.seismo")


@pytest.mark.parametrize(
    ("words", "whose"),
    [
        ("lines.seismo --tree", "--tree applies to recordings of calls only"),
        ("lines.seismo --by type", "--by applies to recordings of objects only"),
        ("coverage.seismo --limit 3", "--limit applies to recordings of calls only"),
        ("coverage.seismo --time wall", "--time applies to recordings of calls and lines only"),
        ("objects.seismo --only app", "--only applies to recordings of calls only"),
        ("calls.seismo --show-missing", "--show-missing applies to recordings of coverage only"),
    ],
)
def test_an_option_of_another_kind_is_refused(files, words, whose):
    assert whose in children.seismo("report", *words.split(), status=2).stderr


@pytest.mark.parametrize("kind", every(), ids=lambda kind: kind.what)
def test_what_a_kind_takes_of_others_is_an_option(kind):
    parser = Parser()
    assert set(kind.also) <= {name for one in every() for name in declare(parser, one.what)}


def test_only_the_command_line_and_the_plugins_see_parsed_arguments():
    """What a report shows comes as seismo.report.options.Options: its names and types are known."""
    root = Path(seismo.__file__).parent
    files = [
        file.relative_to(root) for file in root.rglob("*.py") if re.search(r"\bNamespace\b", file.read_text("utf-8"))
    ]
    assert {file.parts[0] for file in files} == {"cli", "plugins"}
