"""The tools that the benchmark of `seismo objects` compares, each with its start and its stop inside this process."""

from __future__ import annotations

import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import ratios
from common import load_core, load_floor
from overhead import Tool

NEEDED = (3, 13, 3)  # before, the interpreter does not tell of deaths
MODES: dict[str, dict[str, Any]] = {
    "seismo types": {"objects": "types"},
    "seismo lines": {"objects": "lines"},
    "seismo paths": {"objects": "lines", "paths": True},
}
FLOOR = "floor references"
PEERS = ("tracemalloc", "memray")


def unavailable() -> str:
    """Why this interpreter cannot be measured, in a sentence; "" when it can."""
    if sys.version_info < NEEDED:
        wanted = ".".join(map(str, NEEDED))
        return f"seismo objects needs Python {wanted}: {sys.version.split()[0]} does not tell of all deaths of objects"
    return ""


def recorder() -> Any:
    """Seismo's core, or None, with the reason said, where it has no recorder of births and deaths yet."""
    core: Any = load_core()
    if core is not None:
        try:
            core.start(recorder="lifetimes", objects="types")
            core.stop()
        except (TypeError, ValueError, RuntimeError) as error:
            print(f"seismo is left out: {error}", file=sys.stderr)
            return None
    return core


class Memray:
    """Its tracker of object lifetimes, its output in a folder that goes with the process."""

    def __init__(self) -> None:
        import memray

        self.module: Any = memray
        self.folder = tempfile.TemporaryDirectory()
        self.tracker: Any = None

    def start(self) -> None:
        file = Path(self.folder.name) / "out.bin"
        file.unlink(missing_ok=True)
        self.tracker = self.module.Tracker(file, track_object_lifetimes=True)
        self.tracker.__enter__()

    def stop(self) -> None:
        self.tracker.__exit__(None, None, None)
        self.tracker = None


def tools(core: Any) -> dict[str, Tool]:
    """All tools that this interpreter has, in the order of their turns; memray runs in the first round only."""
    floor = load_floor()
    found = {"bare": Tool(lambda: None, lambda: None)}
    found[FLOOR] = Tool(lambda: floor.start("references"), floor.stop)
    if core is not None:
        for name, mode in MODES.items():
            found[name] = Tool(lambda mode=mode: core.start(recorder="lifetimes", **mode), core.stop)  # type: ignore[misc]
    found["tracemalloc"] = Tool(lambda: tracemalloc.start(1), tracemalloc.stop)
    if ratios.installed("memray"):
        peer = Memray()
        found["memray"] = Tool(peer.start, peer.stop, rounds=1)
    return found
