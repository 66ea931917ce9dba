"""Speed of the pages in Chromium: first paint and smoothness.

page  The page of calls of synthetic recordings (a tree like that of a server with its libraries, functions by a power
      law, times with errors): its size, first paint and a frame of zooming.
view  `seismo view` of a trace of 10^8 calls of small functions, with the peak memory of its server.

A frame is the main thread's time for one step of zooming (script, style, layout, painting), from the browser's own
trace and by that thread's clock. This needs Chromium and playwright.
"""

from __future__ import annotations

import array
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import arguments, finish, leave_out, most_resident, number, output_of, progress, table

from seismo.model import Builder
from seismo.report.calls import KIND

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 120
WAIT_MS = 180_000
CATEGORIES = ["devtools.timeline", "blink", "cc", "toplevel", "v8"]
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
CALLS, QUICK_CALLS = 100_000_000, 2_000_000
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


def frames(browser: Any, page: Any, move: Callable[[Any, int], None]) -> float:
    """Return the main thread's time for a frame (script, style, layout, painting) in ms, the 95th percentile.

    Times are by the thread's own clock, which excludes other work of the machine.
    """
    handle, name = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    page.evaluate(TWO_FRAMES)
    browser.start_tracing(page=page, path=name, categories=CATEGORIES)
    for step in range(STEPS):
        move(page, step)
        page.evaluate(TWO_FRAMES)
    browser.stop_tracing()
    events = json.loads(Path(name).read_text())["traceEvents"]
    Path(name).unlink()
    took = sorted(one["tdur"] / 1e3 for one in events if one["name"] == "ProxyMain::BeginMainFrame" and "tdur" in one)
    return took[int(0.95 * len(took))]


def looked_at(url: str, drawn: str, move: Callable[[Any, int], None]) -> dict[str, float]:
    """Return the time until a page of 1280 x 720 has drawn, by this expression, and its frames during some moves."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
        page.set_default_timeout(WAIT_MS)
        begun = time.monotonic()
        page.goto(url, wait_until="commit")
        page.wait_for_function(drawn)
        paint = time.monotonic() - begun
        found = {"first_paint_ms": 1e3 * paint, "zoom_p95_ms": frames(browser, page, move)}
        browser.close()
    return found


def wheel(page: Any, step: int) -> None:
    """Zoom in by steps of Ctrl and the wheel, and out again, around a moving position."""
    page.mouse.move(100 + (step * 37) % 400, 300)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120 if step % 40 < 20 else 120)
    page.keyboard.up("Control")


# ---- the page of calls ----


def recording(paths: int):
    """Return a synthetic recording with this number of paths."""
    rng = random.Random(1)
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


def with_errors(made):
    """Return the recording with a different error for each time, the worst case for compression."""
    rng = random.Random(2)
    made = made.timed("cpu")
    estimated = dict(made._estimated)
    for name in ("own_error_ns", "total_error_ns"):
        own = estimated["own_ns" if name.startswith("own") else "total_ns"]
        estimated[name] = memoryview(array.array("d", [value * rng.uniform(0, 0.4) for value in own]))
    made.__dict__["_estimated"] = estimated
    whole = made.timed
    made.timed = lambda times: made if times == "cpu" else whole(times)
    return made


# ---- the viewer ----


def traced(folder: Path, calls: int) -> Path:
    """Return a trace with this number of calls."""
    script, trace = folder / "program.py", folder / f"{calls}.seismo"
    script.write_text(PROGRAM)
    output_of([sys.executable, "-m", "seismo", "trace", "-q", "-o", str(trace), str(script), str(calls)])
    return trace


def keys(page: Any, step: int) -> None:
    """Zoom in by steps, move, then zoom out."""
    page.keyboard.press(WAYS[step // 40 % 3])


# ---- results ----


def row(text: str, kilobytes: float | None, found: dict[str, float] | None = None) -> list[str]:
    """Return a row of the table."""
    size = "" if kilobytes is None else number(kilobytes, 0)
    return [text, size, *([number(found["first_paint_ms"], 0), number(found["zoom_p95_ms"], 1)] if found else ["", ""])]


def of_pages(folder: Path, quick: bool) -> tuple[dict[str, Any], list[list[str]]]:
    results: dict[str, Any] = {"code_kB": code_of("calls.js", "page.css")}
    rows, page = [], folder / "page.html"
    for paths in [10_000] if quick else [10_000, 200_000]:
        progress(f"{paths:,} paths")
        KIND.page(with_errors(recording(paths)), page)
        size = page.stat().st_size / 1000
        found = looked_at(page.as_uri(), "() => document.documentElement.dataset.drawn", wheel)
        results[str(paths)] = {"kB": size, "seismo": found}
        rows.append(row(f"a page of {paths:,} paths", size, found))
    return results, [*rows, row("code in a page of calls", results["code_kB"])]


def of_view(folder: Path, quick: bool) -> tuple[dict[str, Any], list[list[str]]]:
    calls = QUICK_CALLS if quick else CALLS
    progress(f"{calls:,} calls are recorded")
    trace = traced(folder, calls)
    progress("the trace is viewed")
    command = [sys.executable, "-m", "seismo", "view", "--no-open", str(trace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            long = looked_at(server.stdout.readline().strip(), DRAWN, keys)
            long["server_mb"] = most_resident(server.pid) / 2**20
        finally:
            server.send_signal(signal.SIGINT)
    results = {"long": long, "code_kB": code_of("view.js", "view.css")}
    return results, [
        row(f"`seismo view`, {calls:,} calls", None, long),
        row("memory of its server", long["server_mb"] * 1024),
        row("code of the viewer", results["code_kB"]),
    ]


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
        "headless Chromium, 1280 x 720; from the navigation to the first drawing; the trace moves by keys, the page by "
        "the wheel"
    )
    finish("browser", options, method, results, table(["", "kB", "first paint, ms", "frame, p95, ms"], rows))


if __name__ == "__main__":
    main()
