"""How large the page of calls is, how soon it stands, and how smoothly it zooms, beside speedscope with the same data.

    python benchmarks/browser.py [--paths 10000 200000] [--json FILE]

The recordings are made: a tree like that of a server with its libraries, functions by a power law, times with errors.
Needs Chromium and playwright; for speedscope npm, the first time.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from chromium import code_of, frames, opened, program, speedscope, started, wheel
from common import arguments, finish, number, progress, table

from seismo import formats
from seismo.model import Builder
from seismo.report.calls.page import write_calls


def recording(paths: int, seed: int = 1):
    """A recording of so many paths."""
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


def ours(browser: Any, path: Path) -> dict[str, float]:
    """What our page takes."""
    page = opened(browser, path.as_uri())
    page.wait_for_selector("html[data-drawn]", state="attached")
    drawn = float(page.evaluate("document.documentElement.dataset.drawn"))
    paint = page.evaluate("performance.getEntriesByType('paint').at(-1)?.startTime ?? 0")
    found = {"first_paint_ms": max(drawn, paint), **frames(browser, page, wheel(100, 300))}
    page.context.close()
    return found


def measure(paths: int, folder: Path) -> dict[str, Any]:
    """A recording of so many paths in our page and in speedscope."""
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


def main() -> None:
    """Prints a row for each size and page."""
    parser = arguments(__doc__, rounds=1, quick_rounds=1)
    parser.add_argument("--paths", type=int, nargs="+", help="sizes (default 10,000 and 200,000)")
    options = parser.parse_args()
    if not program():
        print("there is no Chromium here", file=sys.stderr)
        sys.exit(3)
    results: dict[str, Any] = {}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for paths in options.paths or ([10_000] if options.quick else [10_000, 200_000]):
            progress(f"{paths:,} paths")
            found = results[str(paths)] = measure(paths, Path(folder))
            for who, size in (("seismo", found["kB"]), ("speedscope", found["peer_kB"])):
                one = found[who] or {}
                values = [one.get(name, math.nan) for name in ("first_paint_ms", "zoom_ms", "zoom_p95_ms")]
                cells = [number(values[0], 0), number(values[1], 1), number(values[2], 1)]
                rows.append([f"{paths:,} paths: {who}", number(size, 0), *cells])
    text = table(["", "file, kB", "first paint, ms", "frame of zooming, ms", "p95"], rows)
    code = code_of("calls.js", "page.css")
    results["code_kB"] = code
    text += f"\n\nCode in a page of calls, script and style: {number(code, 0)} kB."
    method = (
        "made recordings; headless Chromium, 1280 x 720, in which WebGL is drawn by the processor (speedscope); "
        "from the navigation to the first drawing; of a frame of zooming with the wheel the script, style, layout "
        "and painting on the main thread, from the browser's own trace, by that thread's clock"
    )
    finish("browser", options, method, results, text)


if __name__ == "__main__":
    main()
