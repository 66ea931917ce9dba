"""The fixture seismo_objects: exact counts of the objects that a block creates and leaves.

Objects that pytest creates, such as those of rewritten assertions, must not count. So a block inside the test is
counted, and each block is a separate session (seismo.objects).
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Self

import pytest

import seismo
from seismo import _core
from seismo.errors import SeismoError, UsageError
from seismo.process.engine import unrecorded

if TYPE_CHECKING:
    from types import TracebackType

    from seismo.sessions.objects import Objects

UNAVAILABLE = "seismo_objects_unavailable"
POLICIES = ("skip", "fail", "run")


class ObjectCounts:
    """The value of the fixture seismo_objects: the numbers of objects that a block creates and leaves alive.

        with seismo_objects:                      with seismo_objects(max_born=20, max_alive=0, of="app.Token"):
            parse(text)                               parse(text)
        seismo_objects.assert_objects(max_born=20)

    `born`, `died` and `alive` refer to the last block; `alive` is counted after a garbage collection. The numbers are
    exact: an empty block creates nothing, whatever pytest does around it. The cycle collector is off in a block and
    runs at its end, so that a collection inside cannot change the numbers.
    """

    def __init__(self, config: pytest.Config) -> None:
        """Initialize; if objects cannot be recorded, end the test according to the ini option."""
        self._config = config
        self._session: Objects | None = None
        self._budget: dict[str, Any] = {}
        self._collects = True
        self._blocks = 0
        if (session := started(config)) is not None:
            session.__exit__(None, None, None)

    def __call__(self, *, max_born: int | None = None, max_alive: int | None = None, of: Any = None) -> Self:
        """Set limits that the next block asserts at its end, unless it raises another exception."""
        self._budget = {"max_born": max_born, "max_alive": max_alive, "of": of}
        return self

    def __enter__(self) -> Self:
        self._collects = gc.isenabled()
        gc.disable()
        self._blocks += 1
        self._session = started(self._config)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        # The arguments are named, because collecting them in *args would create a counted tuple.
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
        """The objects that the last block created."""
        return self._last().born

    @property
    def died(self) -> int:
        """The objects of the last block that died inside it."""
        return self._last().died

    @property
    def alive(self) -> int:
        """The objects of the last block that were alive at its end."""
        return self._last().alive

    def assert_objects(self, *, max_born: int | None = None, max_alive: int | None = None, of: Any = None) -> None:
        """Raise AssertionError if the last block exceeded a limit; UsageError without a block. of: types to count."""
        __tracebackhide__ = True
        # Here objects cannot be recorded, and the ini option lets tests run anyway.
        if self._blocks and self._session is None:
            return
        self._last().assert_objects(max_born=max_born, max_alive=max_alive, of=of)

    def _last(self) -> Objects:
        if self._session is None:
            raise UsageError("no block was counted", hint="write: with seismo_objects: ...")
        return self._session


# ---- availability ----


def started(config: pytest.Config) -> Objects | None:
    """Return a started session, or None if the ini option lets tests run without; else skip the test or let it fail."""
    session: Objects = seismo.objects(collect=True)
    try:
        session.__enter__()
    except SeismoError as error:
        unavailable(config, ": ".join(error.lines()[:2]))
        return None
    return session


def interrupted() -> str:
    """Return the reason why the running recording is incomplete, or "" if it is complete."""
    status = _core.status()
    if status["taken"] or status["blind_ns"]:
        return "another tool, such as tracemalloc, took over during the test"
    return ""


def unavailable(config: pytest.Config, why: str) -> None:
    """Apply the ini option: end the test as skipped or failed, or return."""
    __tracebackhide__ = True
    policy = config.getini(UNAVAILABLE)
    text = f"births and deaths of objects cannot be recorded: {why}"
    if policy not in POLICIES:
        pytest.fail(f"{UNAVAILABLE} cannot be {policy!r}: use one of {', '.join(POLICIES)}", pytrace=False)
    if policy == "fail":
        pytest.fail(text, pytrace=False)
    if policy == "skip":
        pytest.skip(text)
