"""Callbacks in any number that receive the interpreter's events about created and destroyed objects.

    def seen(batch):
        for type, count, address, event in batch: ...

    with set_ref_tracer(seen):
        work()

The interpreter's hook may not create objects, so callbacks do not run inside it. Like signal handlers, they run on the
main thread between two instructions, and receive a batch of events. `flush()`, `remove()` and the program's end deliver
a batch, too. A batch is a list of tuples with the events of all threads in the order in which they happened:

    (type, 1, address, "create")       an object of this type was created at this address
    (type, 1, address, "destroy")      it was destroyed; also reported for objects older than the tracer
    (type, count, 0, event)            several events without order or address, because the buffer was full
    (None, 1, 0, "removed")            another tool took the hook (tracemalloc.start() does); events are missing from
                                       a moment before this batch until the hook was set again
    (None, count, 0, "lost")           events whose type could not be kept either

`type` is the type object, which is kept alive until the batch is delivered. Objects that a callback itself creates and
destroys are in no batch. This needs CPython 3.13.3 or later.
"""

from seismo import _core
from seismo.errors import UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False  # avoids the import of typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    Event = Literal["create", "destroy", "removed", "lost"]
    Batch = list[tuple[type | None, int, int, Event]]


def set_ref_tracer(
    callback: "Callable[[Batch], object]", *, threads: 'Literal["current", "all"]' = "all"
) -> "_core.RefTracer":
    """Call `callback(batch)` with objects created and destroyed from now on; several callbacks may be active at once.

    The result is a context manager. `remove()` delivers a last batch and ends the callback. `flush()` delivers a batch
    at once. `status()` returns counters: `taken`, the number of times another tool took the hook, and `blind_ns`, the
    time without events.

    A callback that raises is removed. Its exception goes to `sys.unraisablehook`, or is raised by the `flush()` or
    `remove()` that delivered the batch. Raise UsageError if the callback is not callable, if threads is unknown, or if
    this interpreter is too old (before 3.13.3).
    """
    if not callable(callback):
        raise UsageError(
            f"a reference tracer must be callable, and this is {type(callback).__name__!r}",
            where="set_ref_tracer(callback)",
            hint="to end one, call remove() of what set_ref_tracer() returned",
        )
    if threads not in ("current", "all"):
        raise UsageError(
            f"threads cannot be {threads!r}", where="set_ref_tracer(threads=...)", hint="'current' or 'all'"
        )
    try:
        return _core.RefTracer(callback, threads == "current")
    except RuntimeError as error:
        import sys

        raise UsageError(
            str(error), where="set_ref_tracer()", hint=f"this is Python {sys.version.split()[0]}"
        ) from None


def get_ref_tracer() -> "Callable[[Batch], object] | None":
    """Return the callback that was set last and is still active, or None."""
    callback: Callable[[Any], object] | None = _core.get_ref_tracer()
    return callback
