"""How soon `seismo view` shows a trace of 10^8 calls, and how smoothly its timeline moves, in a headless Chromium.

    python benchmarks/viewer.py [--calls N] [--json FILE]

A loop of small functions is traced in a process of its own. Its timeline is opened in a window of 1280 x 720: from the
navigation to the first calls on the canvas (`first paint`, s); of each frame while zooming in by steps, moving and
zooming out, the script that draws it on the main thread (ms; the 95th percentile and the longest); the largest memory
of the server, which is this process. Needs Chromium and playwright.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import seismo
from seismo.view.answers import Answers, Shown
from seismo.view.server import Server

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
FRAMES = """async () => {
  const times = [];
  const stage = document.querySelector(".canvas");
  const frame = window.requestAnimationFrame;
  window.requestAnimationFrame = draw => frame(now => {
    const begun = performance.now();
    draw(now);
    times.push(performance.now() - begun);
  });
  for (let step = 0; step < 300; step++) {
    const key = step < 100 ? "w" : step < 200 ? "d" : "s";
    stage.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await new Promise(done => frame(() => frame(done)));
  }
  window.requestAnimationFrame = frame;
  return times;
}"""


def shown(path: Path, chromium: str) -> dict[str, float]:
    """What it takes to show the trace."""
    from playwright.sync_api import sync_playwright

    server = Server(Answers([Shown(str(path), seismo.open(path))]))
    threading.Thread(target=server.serve, daemon=True).start()
    with sync_playwright() as play:
        options = ["--no-sandbox"]
        browser = play.chromium.launch(executable_path=chromium, args=options)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        begun = time.monotonic()
        page.goto(server.url)
        page.wait_for_function(DRAWN)
        paint = time.monotonic() - begun
        frames = sorted(page.evaluate(FRAMES))
        browser.close()
    server.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"paint": paint, "p95": frames[int(0.95 * len(frames))], "longest": frames[-1], "server_mb": memory}


def main() -> None:
    """Records, shows, prints."""
    import shutil

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100_000_000)
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome") or "chromium")
    parser.add_argument("--json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program, trace = Path(folder) / "program.py", Path(folder) / "a.seismo"
        program.write_text(PROGRAM)
        command = [sys.executable, "-m", "seismo", "trace", "-q", "-o", trace, program, str(args.calls)]
        subprocess.run(command, check=True)
        found = shown(trace, args.chromium)
    print(f"{args.calls:,} calls")
    print(f"first paint        {found['paint']:8.2f} s   (target 1.5)")
    print(f"a frame's script   {found['p95']:8.1f} ms  p95 (target 16), longest {found['longest']:.1f} ms")
    print(f"the server's memory {found['server_mb']:7.0f} MB  (target 300)")
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
