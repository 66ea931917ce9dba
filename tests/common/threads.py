"""Threads of tests: started together, and all joined."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def beside(*works: Callable[[], object], **options: Any) -> Iterator[list[threading.Thread]]:
    """Run each function on a thread of its own beside the block, and wait at its end until all have ended.

    Options are those of threading.Thread.
    """
    threads = [threading.Thread(target=work, **options) for work in works]
    for thread in threads:
        thread.start()
    yield threads
    for thread in threads:
        thread.join()


def in_threads(*works: Callable[[], object], **options: Any) -> None:
    """Run each function on a thread of its own, and wait until all have ended."""
    with beside(*works, **options):
        pass
