"""How soon `seismo view` shows a trace of 10^8 calls, how smoothly its timeline moves; beside others on fewer calls.

    python benchmarks/viewer.py [--calls N] [--json FILE]

A loop of small functions is traced in a process of its own, and its timeline opened in a window of 1280 x 720. The
memory of the server is the largest that it had. The same is done with as many calls as speedscope and Perfetto's
page take: in `seismo view`, in the page that `seismo report --html` writes, and in theirs. Needs Chromium and
playwright.
"""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from chromium import code_of, frames, opened, perfetto, program, speedscope, started, wheel
from common import arguments, finish, number, progress, table

import seismo
from seismo import formats
from seismo.report.calls.page import write_calls

CALLS, QUICK_CALLS = 100_000_000, 2_000_000
FEW = 200_000  # calls that every page takes
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
WAYS = ("w", "d", "s")  # in, along, out


def traced(folder: Path, calls: int) -> Path:
    """A trace of so many calls."""
    script, trace = folder / "program.py", folder / f"{calls}.seismo"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "seismo", "trace", "-q", "-o", str(trace), str(script), str(calls)]
    subprocess.run(command, check=True)
    return trace


def key(page: Any, step: int) -> None:
    """Zooms in by steps, moves, zooms out."""
    page.keyboard.press(WAYS[step // 40 % 3])


def timeline(browser: Any, url: str, move: Any) -> dict[str, float]:
    """What our timeline takes at an address."""
    begun = time.monotonic()
    page = opened(browser, url)
    page.wait_for_function(DRAWN)
    paint = time.monotonic() - begun
    found = {"first_paint_ms": 1e3 * paint, **frames(browser, page, move)}
    page.context.close()
    return found


def viewed(browser: Any, trace: Path, move: Any) -> dict[str, float]:
    """What `seismo view` takes for a trace; with the most memory that it had."""
    command = [sys.executable, "-m", "seismo", "view", "--no-open", str(trace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            found = timeline(browser, server.stdout.readline().strip(), move)
            status = Path(f"/proc/{server.pid}/status").read_text()
            return {**found, "server_mb": int(status.partition("VmHWM:")[2].split()[0]) / 1024}
        finally:
            server.send_signal(signal.SIGINT)


def beside(browser: Any, folder: Path) -> dict[str, dict[str, float] | None]:
    """The same calls in every page."""
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
    """The cells of a row."""
    one = found or {}
    names = ("first_paint_ms", "zoom_ms", "zoom_p95_ms", "zoom_longest_ms")
    return [number(one.get(name, math.nan), int(name != "first_paint_ms")) for name in names]


def main() -> None:
    """Records, shows, prints."""
    parser = arguments(__doc__, rounds=1, quick_rounds=1)
    parser.add_argument("--calls", type=int, help=f"of the long trace (default {CALLS:,})")
    options = parser.parse_args()
    if not program():
        print("there is no Chromium here", file=sys.stderr)
        sys.exit(3)
    calls = options.calls or (QUICK_CALLS if options.quick else CALLS)
    with tempfile.TemporaryDirectory() as folder:
        progress(f"{calls:,} calls are recorded")
        trace = traced(Path(folder), calls)
        progress("the long trace is looked at")
        with started() as browser:
            long = viewed(browser, trace, key)
        progress("the short one, in all pages")
        with started() as browser:
            others = beside(browser, Path(folder))
    results = {"long": long, "beside": others, "code_kB": code_of("view.js", "view.css")}
    rows = [[f"`seismo view`, {calls:,} calls", *cells(long)]]
    rows += [[f"{who}, {FEW:,} calls", *cells(found)] for who, found in others.items()]
    text = table(["", "first paint, ms", "frame, ms", "p95", "longest"], rows)
    text += f"\n\nMemory of the server: {number(long['server_mb'], 0)} MB. "
    text += f"Code of the viewer: {number(results['code_kB'], 0)} kB."
    method = (
        "a loop of small functions; headless Chromium, 1280 x 720, in which WebGL is drawn by the processor "
        "(speedscope); from the navigation to the first calls, of others to the open file; of a frame of zooming "
        "and moving (the long trace by keys, the short one by the wheel) the script, style, layout and painting on "
        "the main thread, from the browser's own trace, by that thread's clock"
    )
    finish("viewer", options, method, results, text)


if __name__ == "__main__":
    main()
