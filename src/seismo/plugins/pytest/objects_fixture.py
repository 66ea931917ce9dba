"""The fixture seismo_objects: exact counts of the objects that a block makes and leaves. And where they cannot be had.

Objects that pytest makes are not counted, those of rewritten assertions included: so it is a block inside of the
test that is counted, and each block is a session of its own (seismo.objects).
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Self

import pytest

from seismo.errors import SeismoError, UsageError
from seismo.process.engine import unrecorded

if TYPE_CHECKING:
    from types import TracebackType

    from seismo.sessions.objects import Objects

UNAVAILABLE = "seismo_objects_unavailable"  # the ini option
POLICIES = ("skip", "fail", "run")


class ObjectCounts:
    """What the fixture seismo_objects gives a test: how many objects a block makes, and how many of them are left.

        with seismo_objects:                      with seismo_objects(max_born=20, max_alive=0, of="app.Token"):
            parse(text)                               parse(text)
        seismo_objects.assert_objects(max_born=20)

    born, died, alive: of the last block; alive is what is left with the garbage collected. The numbers are exact: an
    empty block has made nothing, whatever pytest does around it. So that a collection that happens to start inside adds
    nothing to them, the cycle collector is off in a block, and runs at its end.
    """

    def __init__(self, config: pytest.Config) -> None:
        """Ends the test, as the ini option says, where objects cannot be recorded."""
        self._config = config
        self._session: Objects | None = None
        self._budget: dict[str, Any] = {}
        self._collects = True
        self._blocks = 0
        if (session := started(config)) is not None:
            session.__exit__(None, None, None)

    def __call__(self, *, max_born: int | None = None, max_alive: int | None = None, of: Any = None) -> Self:
        """The next block asserts this at its end, unless it raises something else."""
        self._budget = {"max_born": max_born, "max_alive": max_alive, "of": of}
        return self

    def __enter__(self) -> Self:
        self._collects = gc.isenabled()
        gc.disable()
        self._blocks += 1
        self._session = started(self._config)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        # All three by name: the interpreter would make a tuple for *reason, in the block.
        __tracebackhide__ = True
        lost = ""
        if self._session is not None:
            lost = unrecorded(interrupted)
            self._session.__exit__(None, None, None)
        if self._collects:
            gc.enable()
        budget, self._budget = self._budget, {}
        if lost and kind is None:
            unavailable(self._config, lost)
        if self._session is not None and budget and kind is None:
            self._session.assert_objects(**budget)

    @property
    def born(self) -> int:
        """The objects that the last block made."""
        return self._last().born

    @property
    def died(self) -> int:
        """Those of them that are gone."""
        return self._last().died

    @property
    def alive(self) -> int:
        """Those of them that were alive at its end."""
        return self._last().alive

    def assert_objects(self, *, max_born: int | None = None, max_alive: int | None = None, of: Any = None) -> None:
        """Raises AssertionError, with types and lines, if the last block made, or left, more than so many.

        of: a type, its name, or several: only their objects count. Raises UsageError if there was no block.
        """
        __tracebackhide__ = True
        if self._blocks and self._session is None:  # cannot be recorded, and tests run without
            return
        self._last().assert_objects(max_born=max_born, max_alive=max_alive, of=of)

    def _last(self) -> Objects:
        if self._session is None:
            raise UsageError("no block was counted", hint="write: with seismo_objects: ...")
        return self._session


# ---- whether it can be recorded ----


def started(config: pytest.Config) -> Objects | None:
    """A session that has begun; None: it cannot, and tests run without. Ends the test when it cannot and must."""
    import seismo

    session: Objects = seismo.objects(collect=True)
    try:
        session.__enter__()
    except SeismoError as error:
        unavailable(config, ": ".join(error.lines()[:2]))
        return None
    return session


def interrupted() -> str:
    """Why the recording that runs has not seen everything; "": it has."""
    from seismo import _core

    status = _core.status()
    if status["taken"] or status["blind_ns"]:
        return "another tool, such as tracemalloc, took over during the test"
    return ""


def unavailable(config: pytest.Config, why: str) -> None:
    """Does what the ini option says: ends the test as skipped or failed, or comes back."""
    __tracebackhide__ = True
    policy = config.getini(UNAVAILABLE)
    text = f"births and deaths of objects cannot be recorded: {why}"
    if policy not in POLICIES:
        pytest.fail(f"{UNAVAILABLE} cannot be {policy!r}: use one of {', '.join(POLICIES)}", pytrace=False)
    if policy == "fail":
        pytest.fail(text, pytrace=False)
    if policy == "skip":
        pytest.skip(text)
