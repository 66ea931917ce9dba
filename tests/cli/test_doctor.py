"""`seismo doctor`: what it finds in this interpreter, as text and as JSON."""

from __future__ import annotations

import json
import platform
import sys

import children
import pytest

from seismo.cli import doctor

COUNTERS = {"x86_64": ["tsc"], "aarch64": ["cntvct"]}


@pytest.fixture(scope="module")
def facts():
    """What it says as JSON."""
    return json.loads(children.seismo("doctor", "--json").stdout)


def test_text():
    ended = children.seismo("doctor")
    assert ended.stderr == ""
    for word in ("Interpreter", "Sources of events", "chosen", "sys.setprofile", "Clock", "Start-up", "Known bugs"):
        assert word in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 80
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("  seismo cover ")]
    assert ("tool id 5" in line) == (sys.version_info >= (3, 12))


def test_json(facts):
    assert facts["interpreter"]["version"].split(".")[:2] == [str(part) for part in sys.version_info[:2]]
    (chosen,) = (source for source in facts["sources"] if source["chosen"])
    assert chosen["name"] == ("starts" if sys.version_info >= (3, 12) else "evalframe")
    assert all(source["reason"] for source in facts["sources"])
    clock = facts["clock"]
    assert clock["name"] in (*COUNTERS.get(platform.machine(), ()), "monotonic")
    assert clock["cost_ns"] > 0
    assert 0 < clock["step_ns"] < 1e6
    assert facts["start"]["start_ms"] > 0
    assert facts["hooks"]["profile"] == ""


def test_who_holds_what():
    program = (
        "import sys\ndef tracer(*a): pass\nsys.settrace(tracer)\n"
        "if sys.version_info >= (3, 12): sys.monitoring.use_tool_id(1, 'a coverage tool')\n"
        "from seismo.cli.main import main\nsys.exit(main(['doctor', '--json']))\n"
    )
    hooks = json.loads(children.printed(program))["hooks"]
    assert hooks["trace"] == "__main__.tracer"
    if sys.version_info >= (3, 12):
        assert hooks["tool_ids"]["1"] == {"reserved_for": "coverage", "holder": "a coverage tool"}
        assert hooks["tool_ids"]["0"]["holder"] == ""


def test_slots_of_c_functions():
    """cProfile's function shows its profiler, and so has a name; tracemalloc's is known from its module."""
    program = (
        "import json, sys, tracemalloc, _lsprof\nfrom seismo.cli import doctor\nprofiler = _lsprof.Profiler()\n"
        "if sys.version_info < (3, 12): profiler.enable()\ntracemalloc.start()\n"
        "hooks = doctor.examine()['hooks']\nprofiler.disable()\nprint(json.dumps(hooks))\n"
    )
    hooks = json.loads(children.printed(program))
    assert hooks["profile"] == ("_lsprof.Profiler" if sys.version_info < (3, 12) else "")
    assert hooks["trace"] == ""
    assert hooks.get("references") == ("tracemalloc" if sys.version_info >= (3, 13) else None)
    if sys.version_info >= (3, 13, 3):
        assert hooks["objects"] == "would share the reference tracer with tracemalloc"


def test_seismos_own_hooks():
    program = (
        "import json, sys\nimport seismo.hooks\nfrom seismo.cli import doctor\n"
        "with seismo.hooks.set_profile(lambda *args: None, threads='all', where='module(\"no.such\")'):\n"
        "    facts = doctor.examine()\nprint(json.dumps(facts['hooks']))\ndoctor._show(facts)\n"
    )
    first, _, text = children.printed(program).partition("\n")
    hooks = json.loads(first)
    assert hooks["seismo"]["tools"] == 1
    assert "1 tool on" in text
    if sys.version_info >= (3, 12):
        assert hooks["tool_ids"][str(hooks["seismo"]["tool_id"])]["holder"] == "seismo hooks"


@pytest.mark.parametrize(
    ("version", "there", "not_there"),
    [
        ((3, 11, 7), set(), {"157900", ""}),
        ((3, 12, 5), {""}, {"157900"}),
        ((3, 13, 0), {"130382", "157900"}, {"156371"}),
        ((3, 14, 10), {"157900"}, {"156371"}),
        ((3, 15, 0), {"156371"}, set()),
        ((3, 15, 2), {"157900", ""}, {"156371"}),
    ],
)
def test_bugs_by_version(version, there, not_there):
    found = {bug.gh for bug in doctor.BUGS if bug.affects(version)}
    assert there <= found
    assert not not_there & found


def test_what_objects_would_take(facts):
    objects = facts["hooks"]["objects"]
    if sys.version_info >= (3, 13, 3):
        assert objects == "would use the reference tracer"
    else:
        assert objects.startswith("cannot run: reference tracing needs Python 3.13.3 or newer")
