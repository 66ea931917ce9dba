"""The interpreter's own mistakes about lines and branches: how each shows, so that a change of it is noticed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")


class Tool:
    """A monitoring tool that notes (event, facts) of one code object."""

    def __init__(self, code: Any, answers: dict[str, Any]) -> None:
        mon = sys.monitoring
        self.code, self.told = code, []  # type: ignore[var-annotated]
        self.id = next(i for i in (4, 3, 2) if mon.get_tool(i) is None)
        mon.use_tool_id(self.id, "test")
        self.events = {name: getattr(mon.events, name) for name in answers}
        for name, event in self.events.items():
            mon.register_callback(self.id, event, self._note(name, answers[name]))
        mon.set_local_events(self.id, code, sum(self.events.values()))

    def _note(self, name: str, answer: Any) -> Callable[..., Any]:
        def note(code: Any, *facts: Any) -> Any:
            if code is self.code:
                self.told.append((name, *facts))
            return answer

        return note

    def close(self) -> None:
        mon = sys.monitoring
        mon.set_local_events(self.id, self.code, 0)
        for event in self.events.values():
            mon.register_callback(self.id, event, None)
        mon.free_tool_id(self.id)


def told(code: Any, run: Callable[[], Any], answers: dict[str, Any]) -> list[tuple[Any, ...]]:
    tool = Tool(code, answers)
    try:
        run()
    finally:
        tool.close()
    return tool.told  # type: ignore[no-any-return]


def function(text: str) -> Any:
    space: dict[str, Any] = {}
    exec(compile(text, "<bugs>", "exec", dont_inherit=True), space)
    return space["f"]


def test_a_body_on_the_line_of_its_def() -> None:
    """gh-155992: without PY_START it has no LINE event from 3.13 on. With it, it has, so START is asked for, too."""
    f = function("def f(): pass\n")
    assert ("LINE", 1) in told(f.__code__, f, {"LINE": None, "PY_START": None})
    g = function("def f(): pass\n")
    alone = told(g.__code__, g, {"LINE": None})
    assert alone == ([("LINE", 1)] if sys.version_info < (3, 13) else [])


def test_a_line_event_costs_more_the_longer_the_function_up_to_3_13_2() -> None:
    """gh-127953: only time; what is told is right at any length, each line once."""
    f = function("def f():\n" + " x = 1\n" * 3000)
    assert [facts[1] for facts in told(f.__code__, f, {"LINE": sys.monitoring.DISABLE})] == list(range(2, 3002))


def test_instructions_beside_disabled_lines() -> None:
    """gh-158121: where LINE answers DISABLE, the INSTRUCTION event may be lost (up to 3.14.8 and 3.15.0)."""
    f = function("def f(a=1):\n b = a\n c = b\n return c\n")
    alone = [facts[1] for facts in told(f.__code__, f, {"INSTRUCTION": None})]
    g = function("def f(a=1):\n b = a\n c = b\n return c\n")
    both = [
        facts[1]
        for facts in told(g.__code__, g, {"INSTRUCTION": None, "LINE": sys.monitoring.DISABLE})
        if facts[0] != "LINE"
    ]
    assert set(both) <= set(alone)
    assert len(alone) - len(set(both)) <= 3  # at most those of the lines' first instructions


def test_lines_and_branches_need_no_instruction_events() -> None:
    """gh-157900: a second tool takes INSTRUCTION events from the first. LINE and branches are not concerned."""
    f = function("def f(a=1):\n if a:\n  return 2\n")
    names = ["LINE", "BRANCH"] if sys.version_info < (3, 14) else ["LINE", "BRANCH_LEFT", "BRANCH_RIGHT"]
    second = Tool(f.__code__, {"INSTRUCTION": None, "LINE": None})
    try:
        facts = told(f.__code__, f, dict.fromkeys(names))
    finally:
        second.close()
    assert [fact[1] for fact in facts if fact[0] == "LINE"] == [2, 3]
    assert sum(fact[0] != "LINE" for fact in facts) == 1
