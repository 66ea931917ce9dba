"""Objects made and destroyed: the interpreter's reference tracer for any number of Python callbacks.

    def seen(batch):
        for type, count, address, event in batch: ...

    with set_ref_tracer(seen):
        work()

Inside the interpreter's hook no object may be made, so a callback does not run there: it gets batches, on the main
thread between two of its instructions (as signal handlers run), at `flush()`, `remove()` and the program's end. A batch
is a list of tuples, all threads' events in the order in which they happened:

    (type, 1, address, "create")       an object of this type was made at this address
    (type, 1, address, "destroy")      and destroyed; also objects from before, whose "create" nobody heard
    (type, count, 0, event)            so many in no order, at addresses unknown: there was no room for each of them
    (None, 1, 0, "removed")            another tool took the hook (tracemalloc.start() does): nothing was heard from a
                                       moment before this batch until it could be had again
    (None, count, 0, "lost")           so many events of which not even the type could be kept

`type` is the type itself: it is kept alive until its batch was delivered. What a callback makes and destroys while it
runs is in no batch. Needs CPython 3.13.3 or later.
"""

from seismo import _core
from seismo.errors import UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    Event = Literal["create", "destroy", "removed", "lost"]
    Batch = list[tuple[type | None, int, int, Event]]


def set_ref_tracer(
    callback: "Callable[[Batch], object]", *, threads: 'Literal["current", "all"]' = "all"
) -> "_core.RefTracer":
    """Call `callback(batch)` with the objects made and destroyed from now on; several may listen at once.

    The result's `remove()` ends it, after a last batch; it is a context manager. `flush()` delivers at once, `status()`
    says how it goes: `taken`, how often another tool took the hook, and `blind_ns`, for how long nothing was heard.
    A callback that raises is removed; the exception goes to `sys.unraisablehook`, or out of the `flush()` or `remove()`
    that delivered. UsageError: no callable, unknown threads, or this interpreter cannot do it (before 3.13.3).
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
    """Return the callback that was set last and still listens, or None."""
    callback: Callable[[Any], object] | None = _core.get_ref_tracer()
    return callback
