"""The threads of a program that ran at once, and what kept the others from running.

A function's number of threads at once is an estimate: each look of the sampler (native/clock/sampler.c) that found it
running knows how much of the time since the look before the other threads ran.
"""

from __future__ import annotations

from seismo.escape import printable
from seismo.model.enums import LOWER_BOUND
from seismo.model.idle_threads import WAITING
from seismo.report.facts import cpu_ns, is_watch, thread_count
from seismo.report.waiting import known_waits
from seismo.report.words import Signs, duration, function_name, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording

LEAST_NS = 10_000_000  # running time that looks found; of less, the number of threads at once is unknown
NOTABLE = 0.1  # share of the time that the threads ran or waited for each other; lesser causes are not named
MOMENT_NS = 20_000_000  # a lesser cause is not named either
TAKES = ("__enter__", "acquire", "acquire_lock")  # methods of a lock that wait for it
# Functions that wait by means of a lock for what another thread does.
SIGNALS = {"Condition.wait", "Thread._wait_for_tstate_lock"}


def threads_at_once(recording: Recording) -> list[float]:
    """Return for each function how many threads ran at once while it did, itself included; 0 if unknown."""
    nodes = recording._raw["nodes"]
    compared, beside = ([0] * len(recording._raw["functions"]["id"]) for _ in range(2))
    rows = zip(*(nodes[name].tolist() for name in ("function", "compared_ns", "beside_ns")), strict=True)
    for function, its, others in rows:
        compared[function] += its
        beside[function] += others
    return [1 + more / its if its >= LEAST_NS else 0.0 for its, more in zip(compared, beside, strict=True)]


def held_up(recording: Recording, signs: Signs) -> str:
    """Return what kept the threads of a program from running, or "" if nothing did.

    The largest cause comes first, but missing processors, which may be the machine's fault, last. recording: without
    idle time.
    """
    if recording.timeless or is_watch(recording) or len(recording.processes) != 1 or thread_count(recording) < 2:
        return ""
    ran, stop = max(0, cpu_ns(recording)), sum(recording._raw["processes"]["stop_ns"])
    stopped = f"while the world was stopped{_collections(recording, signs)}" if stop else ""
    recording = recording.combined()  # some thread may have met a place only after it was disabled
    nodes = recording._raw["nodes"]
    ready = sum(nodes["ready_ns"])
    inner = dict(enumerate(nodes["lock_ns"].tolist()))
    own, by, others = _other_waits(recording)
    lock = max(0, sum(inner.values()) - stop)
    without_gil = "stop" in known_waits(recording)
    what = "for locks of objects or the interpreter" if without_gil else "for the interpreter's lock"
    causes = [
        (sum(own.values()), f"for _thread:{printable(by)}{_most(recording, own)}"),
        (lock, f"{what}{_most(recording, inner) if without_gil else ''}"),
        (stop, stopped),
        (sum(others.values()), f"in other waits{_most(recording, others)}"),
    ]
    least = max(MOMENT_NS, NOTABLE * (ran + sum(ns for ns, _ in causes)))
    named = [cause for cause in [*sorted(causes, reverse=True), (ready, "for a processor")] if cause[0] >= least]
    return ", ".join(f"{duration(ns, signs)} {words}" for ns, words in named)


def _other_waits(recording: Recording) -> tuple[dict[int, int], str, dict[int, int]]:
    """Divide the waiting of nodes for neither a processor nor the interpreter.

    Return that for locks of the program, the method that waited most, and all other waiting. The latter is without what
    is for another thread: its end, its result, its work.
    """
    nodes, functions = recording._raw["nodes"], recording.functions
    parents, of, flags = (nodes[name].tolist() for name in ("parent", "function", "flags"))
    waits = zip(*(nodes[name].tolist() for name in ("wait_ns", "ready_ns", "lock_ns")), strict=True)
    others = [max(0, wait - ready - lock) for wait, ready, lock in waits]
    modules, names = functions["module"], functions["qualname"]
    found: dict[int, int] = {}
    by: dict[str, int] = {}
    for node, function in enumerate(of):
        caller = parents[node]
        if modules[function] != "_thread" or names[function].rpartition(".")[2] not in TAKES or caller < 0:
            continue
        if names[of[caller]] in SIGNALS:
            continue
        waited = others[node]
        if flags[node] & LOWER_BOUND:  # calls that are not reported any more wait in the caller's time
            waited, others[caller] = waited + others[caller], 0
        while caller >= 0 and modules[of[caller]] in WAITING and parents[caller] >= 0:
            caller = parents[caller]
        found[caller] = found.get(caller, 0) + waited
        by[names[function]] = by.get(names[function], 0) + waited
    left = {node: ns for node, ns in enumerate(others) if ns and modules[of[node]] not in WAITING}
    return found, max(by, key=by.__getitem__, default=""), left


def _most(recording: Recording, waits: dict[int, int]) -> str:
    """Return the function with most of these nodes' waiting: ` in app:add`."""
    of, functions = recording._raw["nodes"]["function"], recording.functions
    sums: dict[int, int] = {}
    for node, ns in waits.items():
        sums[of[node]] = sums.get(of[node], 0) + ns
    most = max(sums, key=sums.__getitem__, default=-1)
    if most < 0:
        return ""
    share = "" if sums[most] >= 0.95 * sum(sums.values()) else ", mostly"
    name = function_name(functions["kind"][most], functions["module"][most], functions["qualname"][most])
    return f"{share} in {printable(name)}"


def _collections(recording: Recording, signs: Signs) -> str:
    """Return what is known of the collector, which stops the world."""
    if recording.calls:
        pauses = [pause.end_ns - pause.start_ns for pause in recording.calls.pauses if pause.end_ns >= 0]
        return f" (the collector: {number_of(len(pauses), 'pause')}, {duration(sum(pauses), signs)})" if pauses else ""
    rows = zip(recording.functions["module"], recording.functions["qualname"], strict=True)
    for row, name in enumerate(rows):
        if name == ("gc", "collect"):
            calls, ns = recording.functions["calls"][row], recording.functions["own_running_ns"][row]
            return f" (gc:collect: {number_of(calls, 'call')}, {duration(ns, signs)} running)"
    return ", as for a collection"
