"""How large the page of calls is, how soon it stands, and how smoothly it zooms, in a headless Chromium.

    python benchmarks/browser.py [--paths 10000 200000] [--json FILE]

The recordings are made: a tree like that of a server with its libraries, functions by a power law, times with errors.
The columns: the size of the page; from the navigation to the first drawing (`paint`); and of a frame of zooming about a
moving pointer the script, the style, the layout and the painting on the main thread, as the browser's own trace has
them, the median and the 95th percentile (ms). Needs Chromium and playwright.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from seismo.model import Builder
from seismo.report.calls.page import write_calls


def recording(paths: int, seed: int = 1):
    """A recording of so many paths."""
    rng = random.Random(seed)
    b = Builder()
    thread = b.thread(b.process(waits="ready,lock"), name="MainThread")
    count = max(200, min(6_000, paths // 20))
    functions = []
    for number in range(count):
        package = rng.choice(["app", "django.db", "django.http", "json.encoder", "sqlalchemy.orm", "asyncio.events"])
        place = "/srv" if package == "app" else "/usr/lib/python3.12/site-packages"
        name = f"{rng.choice('GPRSTH')}andler.{rng.choice(['get', 'resolve', 'parse', 'render', 'commit'])}_{number}"
        functions.append(b.function(f"{package}.m{number % 40}", name, f"{place}/{package}/m{number % 40}.py", number))
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
    """The same with an error of its own for each time: what a page deflates worst."""
    import array

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


def durations(events: list[dict]) -> list[float]:
    """The frames' time on the main thread in ms: callbacks of animation (the zoom and the drawing), style to commit."""
    frames = [one["dur"] / 1e3 for one in events if one["name"] == "ProxyMain::BeginMainFrame" and "dur" in one]
    return frames[2:-1]


def measure(playwright, chromium: str, path: Path) -> dict:
    """What the browser says of a page."""
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn]", state="attached", timeout=60_000)
    drawn = float(page.evaluate("document.documentElement.dataset.drawn"))
    paint = page.evaluate("performance.getEntriesByType('paint').at(-1)?.startTime ?? 0")
    trace = Path(tempfile.mkstemp(suffix=".json")[1])
    browser.start_tracing(page=page, path=str(trace), categories=["devtools.timeline", "blink", "cc", "toplevel", "v8"])
    page.evaluate(
        """async () => {
          const view = document.querySelector('.flame').view
          const frame = () => new Promise(requestAnimationFrame)
          for (let step = 0; step < 150; step++) {
            view.zoom(step % 50 < 25 ? 1.25 : 0.8, 40 + (step * 37) % 600)
            await frame()
          }
        }"""
    )
    browser.stop_tracing()
    frames = durations(json.loads(trace.read_text())["traceEvents"])
    script = page.evaluate("document.querySelector('.flame').view.took.slice(-150)")
    browser.close()
    trace.unlink()
    return {
        "drawn_ms": round(drawn),
        "first_paint_ms": round(max(drawn, paint)),
        "frames": len(frames),
        "zoom_ms": round(statistics.median(frames), 2),
        "zoom_p95_ms": round(statistics.quantiles(frames, n=20)[-1], 2),
        "script_p95_ms": round(statistics.quantiles(script, n=20)[-1], 2),
    }


def main() -> int:
    """Prints a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, nargs="+", default=[10_000, 200_000])
    parser.add_argument("--json")
    args = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        print("there is no Chromium here", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        for paths in args.paths:
            path = Path(folder) / "page.html"
            made = with_errors(recording(paths))
            began = time.perf_counter()
            write_calls(made, path)
            row = {
                "paths": paths,
                "written_s": round(time.perf_counter() - began, 2),
                "kB": path.stat().st_size // 1000,
            }
            row |= measure(playwright, chromium, path)
            found.append(row)
            print(json.dumps(row))
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
