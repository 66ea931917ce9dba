"""The fixture seismo_check: parts of a test that are counted separately under --seismo-check."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from seismo import _core
from seismo.errors import UsageError

if TYPE_CHECKING:
    from types import TracebackType

    from seismo.plugins.pytest.suite_counts import Counting, CountingBirths


class Blocks:
    """The value of the fixture seismo_check: a function that makes counted blocks.

        with seismo_check("load"):
            load(text)

    The block has its own counts and limits, in addition to those of the test. Without --seismo-check it does nothing.
    """

    def __init__(self, test: str, counting: Counting | CountingBirths | None) -> None:
        self._test, self._counting = test, counting
        if counting is not None:  # imported here, because imports inside the test would count
            import seismo.plugins.pytest.suite_counts
            import seismo.sessions.profile  # noqa: F401

    def __call__(self, name: object) -> AbstractContextManager[None]:
        """Return a context that counts a block; blocks of one name add up. Raise UsageError for an invalid name."""
        if not isinstance(name, str) or not name:
            raise UsageError(f"a block of seismo_check cannot be called {name!r}", hint="give it a name, as a str")
        return nullcontext() if self._counting is None else self._counting.block(self._test, name)


class Block:
    """A block whose calls and lines are counted. As a generator it would add calls of contextlib."""

    def __init__(self, into: dict[str, int]) -> None:
        from seismo.sessions.profile import profile

        self._into = into
        self._session = profile()
        self._lines = 0

    def __enter__(self) -> None:
        self._session.__enter__()
        self._lines = _core.cover_executed()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        from seismo.plugins.pytest.suite_counts import calls_of
        from seismo.process import engine

        lines = _core.cover_executed() - self._lines
        self._session.__exit__(None, None, None)
        _add(self._into, "calls", engine.quietly(lambda: calls_of(self._session.recording)))
        _add(self._into, "lines", lines)


class BirthsBlock:
    """A block whose births of objects are counted."""

    def __init__(self, into: dict[str, int]) -> None:
        self._into = into
        self._before = 0

    def __enter__(self) -> None:
        _core.objects_quiet(True)
        self._before = _core.status()["births"]
        _core.objects_quiet(False)

    # The arguments are named, because collecting them in *args would create a counted tuple.
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        _core.objects_quiet(True)
        _add(self._into, "births", _core.status()["births"] - self._before)
        _core.objects_quiet(False)


def _add(into: dict[str, int], quantity: str, number: int) -> None:
    into[quantity] = into.get(quantity, 0) + number
