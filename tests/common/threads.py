"""Threads of tests: started together, and all joined."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def in_threads(*works: Callable[[], object]) -> None:
    """Run each function on a thread of its own, and wait until all have ended."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
