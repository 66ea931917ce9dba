"""Shows which hooks this interpreter offers and which ones seismo would use.

The output has the kind of interpreter, the sources of events with reasons why they can or cannot be used, and the tools
that hold the interpreter's hooks. The clock and its cost, the known bugs of this version, and the time to start a
recording follow.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo import recording_kinds
from seismo.errors import RecordingError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator

_SOME_C = "a C function"  # shown for a hook whose owner cannot be identified
_NO_PROC = "unknown, because /proc cannot be read: neither kinds of waiting nor restarts of the machine are seen"
_FILTER = "a filter of system calls (seccomp) may be the reason for what is unknown"
_RECORDED = {"coverage": "cover", "objects": "objects"}  # hooks of a recording, and the verb that makes it
# Purposes that Python's documentation reserves.
TOOL_IDS = {0: "debuggers", 1: "coverage", 2: "profilers", 5: "optimizers"}


class Bug(NamedTuple):
    """A bug of CPython that a user of seismo may notice. docs/hooks.md has those that seismo makes up for.

    `gh` is its issue, or "" if there is none. `affects` takes a version (major, minor, micro). `does` is seismo's
    reaction to the effect.
    """

    gh: str
    affects: Callable[[tuple[int, int, int]], bool]
    effect: str
    does: str


def _jit() -> str:
    jit = getattr(sys, "_jit", None)
    return "none" if jit is None or not jit.is_available() else "on" if jit.is_enabled() else "off"


BUGS = (
    Bug(
        "156319",
        lambda v: v[:2] == (3, 14) and _jit() == "on",
        "the JIT damages local variables while any monitoring tool is active",
        "asks you to disable the JIT: PYTHON_JIT=0",
    ),
    Bug(
        "130382",
        lambda v: (3, 13, 0) <= v <= (3, 13, 2),
        "the reference tracer does not receive the deaths of most objects",
        "refuses to record objects here",
    ),
    Bug(
        "156371",
        lambda v: (3, 14, 0) <= v <= (3, 14, 7) or v == (3, 15, 0),
        "the reference tracer does not receive the deaths of objects in deeply nested containers",
        "notes this in every recording of objects",
    ),
    Bug(
        "157900",
        lambda v: v >= (3, 13),
        "instruction events that a debugger asks for before sys.settrace are lost where another tool has events",
        "can do nothing: while it records, breakpoint() stops at the next line or at the function's return",
    ),
    Bug(
        "",
        lambda v: v >= (3, 12),
        "sys.setprofile reports its own return to the new function where another tool asks for calls of C functions",
        "can do nothing; with --c-functions none it does not ask for them",
    ),
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `seismo doctor`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")


def run(args: Namespace) -> int:
    """Print the facts. Return 0 if a recording can be made here, else 1."""
    facts = examine()
    if args.json:
        import json

        print(json.dumps(facts, indent=2))
    else:
        _show(facts)
    return 0 if any(source["chosen"] for source in facts["sources"]) else 1


# ---- finding out ----


def examine() -> dict[str, Any]:
    """Return the facts as JSON-serializable data."""
    facts: dict[str, Any] = {"interpreter": _interpreter()}
    try:
        from seismo import _core

        _core.sources()  # raises RecordingError where there is no core
    except (ImportError, RecordingError) as error:
        facts["core"] = f"cannot be loaded: {error}" if isinstance(error, ImportError) else f"none: {error.what}"
        return {**facts, "sources": [], "hooks": _hooks({}), "clock": {}, "bugs": _bugs(), "start": {}}
    facts["core"] = os.path.basename(_core.__file__ or "built in")
    facts["sources"] = [dict(source) for source in _core.sources()]
    hooks = facts["hooks"] = {**_hooks(_core.slots_taken()), "seismo": dict(_core.hub_status())}
    hooks["coverage"] = _coverage(_core.status(recording_kinds.COVERAGE), hooks.get("tool_ids", {}))
    hooks["objects"] = _objects(_core.objects_objection(), _core.status(), hooks.get("references", ""))
    facts["clock"] = dict(_core.clock_info())
    facts["bugs"] = _bugs()
    facts["start"] = _start_up(any(source["chosen"] for source in facts["sources"]))
    facts["waits"] = _core.waits_told()  # after a start, which found out what the kernel refuses
    facts["seccomp"] = _seccomp()
    return facts


def _interpreter() -> dict[str, Any]:
    import platform
    import sysconfig

    return {
        "implementation": sys.implementation.name,
        "version": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "debug_build": hasattr(sys, "gettotalrefcount"),
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "gil": bool(getattr(sys, "_is_gil_enabled", lambda: True)()),
        "jit": _jit(),
        "subinterpreter": _in_subinterpreter(),
    }


def _in_subinterpreter() -> bool:
    try:
        module = __import__("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    except ImportError:  # another interpreter than CPython
        return False
    return bool(module.get_current() != module.get_main())


def _seccomp() -> str:
    """Return whether a sandbox filters the system calls of this process: "none", "strict", "filter", or "unknown"."""
    try:
        with open("/proc/self/status", encoding="utf-8") as status:
            modes = [line.split()[1] for line in status if line.startswith("Seccomp:")]
    except OSError:
        return "unknown"
    return {"0": "none", "1": "strict", "2": "filter"}.get("".join(modes), "unknown")


def _hooks(taken: dict[str, bool]) -> dict[str, Any]:
    """Return the holders of the slots and tool ids; "" for a free one. `taken`: of _core.slots_taken()."""
    hooks: dict[str, Any] = {}
    for slot, shown in (("profile", sys.getprofile()), ("trace", sys.gettrace())):
        hooks[slot] = _callable(shown) or (_SOME_C if taken.get(slot) else "")
    if "references" in taken:
        tracemalloc = sys.modules.get("tracemalloc")
        traces = tracemalloc is not None and tracemalloc.is_tracing()
        hooks["references"] = "" if not taken["references"] else "tracemalloc" if traces else _SOME_C
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        hooks["tool_ids"] = {
            str(number): {"reserved_for": TOOL_IDS.get(number, ""), "holder": monitoring.get_tool(number) or ""}
            for number in range(6)
        }
    return hooks


def _coverage(status: dict[str, Any], tool_ids: dict[str, dict[str, str]]) -> str:
    """Return the hook that `seismo cover` uses or would use, with a tool id of its own."""
    if status.get("running"):
        place = f" with tool id {status['tool_id']}" if int(status.get("tool_id", -1)) >= 0 else ""
        return f"is recording, from {status['source']}{place}"
    if not tool_ids:
        return "would use no hook that other tools need: it puts probes into bytecode, and removes them"
    free = [number for number in ("5", "4", "3", "2", "0", "1") if not tool_ids[number]["holder"]]
    return f"would use tool id {free[0]}" if free else "cannot run: other tools have all tool ids"


def _objects(why_not: str | None, status: dict[str, Any], holder: str) -> str:
    """Return the hook that `seismo objects` uses or would use. `holder` has the reference tracer's slot, "" if free."""
    if why_not:
        return f"cannot run: {why_not}"
    if status["running"] and status["recorder"] == "lifetimes":
        return "is recording births and deaths of objects"
    if not holder:
        return "would use the reference tracer"
    # From 3.15 on, a tool is notified of a new tracer and may drop its state.
    if holder == _SOME_C and sys.version_info >= (3, 15):
        return "cannot run: another tool has the reference tracer and cannot share it"
    return f"would share the reference tracer with {'another tool' if holder == _SOME_C else holder}"


def _callable(hook: object) -> str:
    if hook is None:
        return ""
    module = getattr(hook, "__module__", None) or type(hook).__module__
    return f"{module}.{getattr(hook, '__qualname__', type(hook).__qualname__)}"


def _bugs() -> list[dict[str, str]]:
    version = (sys.version_info.major, sys.version_info.minor, sys.version_info.micro)
    found = [bug for bug in BUGS if bug.affects(version)]
    return [{"issue": bug.gh and f"gh-{bug.gh}", "effect": bug.effect, "seismo": bug.does} for bug in found]


def _start_up(can: bool) -> dict[str, float]:
    """Return the milliseconds of two starts of the engine, of which the first one measures its probes."""
    if not can:
        return {}
    from time import perf_counter

    costs, recorder = {}, recording_kinds.recorder(recording_kinds.CALLS)
    for name in ("start_ms", "start_again_ms"):
        before = perf_counter()
        recorder.begin({}, -1)
        costs[name] = round((perf_counter() - before) * 1e3, 2)
        recorder.end()
    return costs


# ---- showing ----


def _show(facts: dict[str, Any]) -> None:
    import shutil
    import textwrap

    from seismo.escape import printable

    width = max(40, min(shutil.get_terminal_size().columns, 100))
    lines: list[str] = []
    for title, rows in _sections(facts):
        lines += ["", title] if lines else [title]
        for name, text in rows:
            first = f"  {name:<14}  "
            lines += textwrap.wrap(text, width, initial_indent=first, subsequent_indent=" " * 18) or [first.rstrip()]
    print("\n".join(map(printable, lines)))


def _sections(facts: dict[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the title of each section with its rows: a name, and the text beside it."""
    yield "Interpreter", _about_interpreter(facts)
    sources = [(source["name"], f"{_state(source)}: {source['reason']}") for source in facts["sources"]]
    yield "Sources of events", sources or [("none", "nothing can be recorded here")]
    yield "Hooks", _about_hooks(facts["hooks"])
    if facts["clock"]:
        yield "Clock", _about_clock(facts)
    if start := facts["start"]:
        first = f"{start['start_ms']:.1f} ms the first time (it measures its probes)"
        yield "Start-up", [("seismo.start", first), ("", f"{start['start_again_ms']:.1f} ms from then on")]
    bugs = [(bug["issue"] or "no issue", f"{bug['effect']}: seismo {bug['seismo']}") for bug in facts["bugs"]]
    yield f"Known bugs of this Python that affect a recording: {len(bugs) or 'none'}", bugs


def _state(source: dict[str, Any]) -> str:
    return "chosen" if source["chosen"] else "possible" if source["available"] else "no"


def _about_interpreter(facts: dict[str, Any]) -> list[tuple[str, str]]:
    it = facts["interpreter"]
    build = (
        "debug build" if it["debug_build"] else "release build",
        "free-threaded" if it["free_threaded"] else "with the GIL",
        {"none": "no JIT", "on": "JIT on", "off": "JIT off"}[it["jit"]],
        "a subinterpreter" if it["subinterpreter"] else "the main interpreter",
    )
    return [
        (it["implementation"], f"{it['version']}, {it['executable']}"),
        ("platform", it["platform"]),
        ("core", facts["core"]),
        ("build", ", ".join(build)),
    ]


def _about_clock(facts: dict[str, Any]) -> list[tuple[str, str]]:
    clock, waiting = facts["clock"], _waits(facts["waits"])
    ticks = f"{1e3 / clock['ns_per_tick']:,.0f} MHz in steps of at most {clock['step_ns']:.1f} ns"
    rows = [(clock["name"], f"{clock['cost_ns']:.1f} ns a read, {ticks}: {clock['reason']}"), ("waiting", waiting)]
    if facts["seccomp"] == "unknown":
        rows.append(("sandbox", _NO_PROC))
    elif facts["seccomp"] != "none" and "unknown:" in waiting:  # most filters, such as Docker's, refuse nothing
        rows.append(("sandbox", _FILTER))
    return rows


def _about_hooks(hooks: dict[str, Any]) -> list[tuple[str, str]]:
    names = {"profile": "sys.setprofile", "trace": "sys.settrace", "references": "references"}
    rows = [(name, hooks[hook] or "free") for hook, name in names.items() if hook in hooks]
    for number, tool in hooks.get("tool_ids", {}).items():
        meant = f" (meant for {tool['reserved_for']})" if tool["reserved_for"] else ""
        rows.append((f"tool id {number}", f"{tool['holder'] or 'free'}{meant}"))
    if "seismo" in hooks:
        rows.append(("seismo's hooks", _hub(hooks["seismo"])))
    rows += [(f"seismo {name}", hooks[hook]) for hook, name in _RECORDED.items() if hook in hooks]
    return rows


def _waits(waits: str) -> str:
    """Describe how waiting is separated from running here, from the column `waits` of a recording."""
    words = waits.split(", ")
    how = "separated from running by the CPU clock, in stretches of 30 us and more"
    why = {"ready": "waiting for a processor (/proc/self/task/*/syscall)", "lock": "waiting for the interpreter's lock"}
    known = [reason for word, reason in why.items() if word in words]
    unknown = [reason for word, reason in why.items() if word not in words]
    if "in part" in words:
        known, unknown = [], ["the kind of waiting, because the kernel refused what the sampler asks for (close_range)"]
    parts = [f"known parts: {', '.join(known)}"] * bool(known) + [f"unknown: {', '.join(unknown)}"] * bool(unknown)
    return "; ".join([how, *parts])


def _hub(status: dict[str, Any]) -> str:
    """Describe the state of seismo.hooks in this process."""
    if not status["tools"]:
        return f"no tool is set; it would receive its events from {status['hook']}"
    tools = f"{status['tools']} tool{'s' * (status['tools'] > 1)} on {status['hook']}"
    place = f" with tool id {status['tool_id']}" if status["tool_id"] >= 0 else ""
    lost = f"; {status['lost']} events were lost" if status["lost"] else ""
    taken = "" if status["held"] else "; another tool has taken the hook"
    return f"{tools}{place}: {', '.join(status['events']) or 'no event'}{lost}{taken}"
