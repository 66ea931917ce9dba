"""The fixture seismo_check: parts of a test that are counted by themselves under --seismo-check."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType

    from seismo.plugins.pytest.counted import Counting


class Blocks:
    """What the fixture gives a test.

        with seismo_check("load"):
            load(text)

    The block has counts and limits of its own, beside those of the test. Without --seismo-check it does nothing.
    """

    def __init__(self, test: str, counting: Counting | None) -> None:
        self._test, self._counting = test, counting

    def __call__(self, name: object) -> AbstractContextManager[None]:
        """A block to be counted. name: what it is called; blocks of one name add up. UsageError for what is no name."""
        if not isinstance(name, str) or not name:
            raise UsageError(f"a block of seismo_check cannot be called {name!r}", hint="give it a name, as a str")
        return nullcontext() if self._counting is None else Block(self._counting, self._test, name)


class Block:
    """One block that is counted. A class of ours, not a generator: contextlib's calls would be counted with it."""

    def __init__(self, counting: Counting, test: str, name: str) -> None:
        from seismo.plugins.pytest.counted import block_of
        from seismo.record import engine
        from seismo.sessions.profile import profile

        self._counting, self._name = counting, block_of(engine.printable(test), name)
        self._session = profile()
        self._lines = 0

    def __enter__(self) -> None:
        from seismo import _core

        self._session.__enter__()
        self._lines = _core.cover_executed()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        from seismo import _core
        from seismo.plugins.pytest.counted import calls_of
        from seismo.record import engine

        lines = _core.cover_executed() - self._lines
        self._session.__exit__(None, None, None)
        calls = engine.quietly(lambda: calls_of(self._session.recording))
        self._counting.note_block(self._name, {"calls": calls, "lines": lines})
