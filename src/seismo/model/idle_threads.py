"""Find the waits of threads that have no work, and leave them out of a recording.

A worker thread that waits for its next job, and an event loop that waits for the next event, are idle. Their time has
no bearing on the program's speed, and with hundreds of such threads it would hide everything else. A wait is idle if a
primitive (`Queue.get`, a selector, `accept`, a condition) is called

- by the loop of a well-known server, pool or event loop (`LOOPS`), or
- by the function that a thread was started with, at the bottom of that thread's stack.

A wait for a lock, for another thread's end or for a result is not idle, since it delays other work.
"""

from __future__ import annotations

import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model.recording import Recording

# Modules whose frames lie between a loop and the system call that waits.
WAITING = {"threading", "queue", "_queue", "selectors", "select", "_thread", "socket", "_socket", "posix"}
WAITING |= {"_multiprocessing", *(f"multiprocessing.{name}" for name in ("queues", "connection", "synchronize"))}
# Functions of these modules that wait for work.
PRIMITIVES = {
    "queue": {"Queue.get", "SimpleQueue.get"},
    "_queue": {"SimpleQueue.get"},
    "threading": {"Condition.wait", "Event.wait"},
    "socket": {"socket.accept"},
    "_socket": {"socket._accept", "socket.accept"},
    "multiprocessing.queues": {"Queue.get", "SimpleQueue.get"},
    "multiprocessing.connection": {"Connection.recv", "_ConnectionBase.recv", "Listener.accept", "wait"},
}
POLLERS = ("select", "selectors")  # all functions of these modules wait for work
LOOPS = {
    "asyncio.base_events:BaseEventLoop._run_once",
    "concurrent.futures.process:_ExecutorManagerThread.wait_result_broken_or_wakeup",
    "concurrent.futures.process:_process_worker",
    "concurrent.futures.thread:_worker",
    "gunicorn.arbiter:Arbiter.sleep",
    "gunicorn.workers.gthread:ThreadWorker.run",
    "gunicorn.workers.sync:SyncWorker.wait",
    "logging.handlers:QueueListener.dequeue",
    "multiprocessing.pool:Pool._handle_results",
    "multiprocessing.pool:Pool._handle_tasks",
    "multiprocessing.pool:Pool._wait_for_updates",
    "multiprocessing.pool:worker",
    "socketserver:BaseServer.serve_forever",
    "waitress.task:ThreadedTaskDispatcher.handler_thread",
    "waitress.wasyncore:poll",
}


class Idle:
    """The idle time of a recording: in how many threads (0: unknown), and how long, in ns."""

    def __init__(self, threads: int = 0, ns: int = 0) -> None:
        self.threads, self.ns = threads, ns


def idle_nodes(recording: Recording) -> list[int]:
    """Return the nodes of the tree whose own waiting is idle."""
    raw = recording._raw["nodes"]
    parents, of, waits = raw["parent"], raw["function"], raw["wait_ns"]
    functions = recording._table("functions")
    modules, names = functions["module"].strings(), functions["qualname"].strings()
    main = [bool(value) for value in recording._raw["threads"]["main"]]
    threads = raw["thread"]

    def caller(node: int) -> int:
        """Return the node that waits for work by means of this one, or -1."""
        for_work = False
        while node >= 0 and modules[of[node]] in WAITING:
            module, name = modules[of[node]], names[of[node]]
            for_work = for_work or module in POLLERS or name in PRIMITIVES.get(module, ())
            if name.startswith(("Thread.", "_ThreadHandle.")):
                return -1
            node = parents[node]
        return node if for_work else -1

    def starts_thread(node: int) -> bool:
        """Return True if nothing but the start of its thread lies above the node."""
        above = parents[node]
        while above >= 0 and modules[of[above]] == "threading" and names[of[above]].startswith("Thread."):
            above = parents[above]
        return above < 0 and not main[threads[node]]

    def is_loop(node: int) -> bool:
        return f"{modules[of[node]]}:{names[of[node]]}" in LOOPS

    found = []
    for node, wait in enumerate(waits):
        if wait <= 0:
            continue
        above = caller(node)
        # Where C functions are not recorded, the loop itself waits.
        if is_loop(node) or (above >= 0 and (is_loop(above) or starts_thread(above))):
            found.append(node)
    return found


def without_idle(recording: Recording) -> tuple[Recording, Idle]:
    """Return the recording without the waits of idle threads, and what was left out."""
    nodes = idle_nodes(recording)
    if not nodes:
        return recording, Idle()
    raw = recording._raw["nodes"]
    table = dict(raw)
    for name in ("wait_ns", "wait_sq", "ready_ns", "lock_ns"):
        column = array.array(raw[name].format, raw[name])
        for node in nodes:
            column[node] = 0
        table[name] = memoryview(column)
    threads = 0 if recording.threads_are_summed else len({raw["thread"][node] for node in nodes})
    idle = Idle(threads, sum(raw["wait_ns"][node] for node in nodes))
    return recording._with({**recording._raw, "nodes": table}), idle
