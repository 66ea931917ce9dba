"""Pages of recordings in a browser (tests/common/browser.py): what they draw, and what every one of them must keep."""

import contextlib
import time

import pytest
from browser import MILLISECONDS, page
from paths import ROOT

AXE = ROOT / "web/node_modules/axe-core/axe.min.js"


class Shown:
    """A page that is open."""

    def __init__(self, browser, path, *, size=(1280, 720), scheme="light", calm=True, wait=True):
        self.stack = contextlib.ExitStack()
        self.page = self.stack.enter_context(
            page(
                browser,
                viewport={"width": size[0], "height": size[1]},
                color_scheme=scheme,
                reduced_motion="reduce" if calm else "no-preference",
            )
        )
        self.asked = []
        self.page.on("request", self._request)
        self.page.goto(path.resolve().as_uri())
        if wait:
            self.page.wait_for_selector("html[data-drawn]", state="attached")
            self.settle()

    def _request(self, request):
        self.asked.append(request.url)

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def seen(self, pane=".flame"):
        """The frames that are drawn, by name: those of the first pane, or of another."""
        return self.page.eval_on_selector(pane, "pane => pane.view.seen()")

    def names(self, pane=".flame"):
        return {frame["name"] for frame in self.seen(pane)}

    def click(self, name, pane=".flame"):
        """Clicks on the first frame of this name."""
        frame = next(frame for frame in self.seen(pane) if frame["name"] == name)
        where = {"x": frame["x"] + min(frame["width"] / 2, 8), "y": frame["y"] + 8}
        self.page.locator(f"{pane} canvas").click(position=where)
        self.settle()

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def until(self, condition):
        """Waits until the condition holds: it may take some frames."""
        end = time.monotonic() + MILLISECONDS / 1000
        while not condition():
            assert time.monotonic() < end
            self.settle()

    def close(self):
        """Ends it, and holds it to what every page must keep."""
        self.page.remove_listener("request", self._request)
        self.stack.close()
        assert len(self.asked) == 1, "a page asks for nothing but itself"


def violations(shown):
    """What axe-core finds wrong for readers who see, hear or move otherwise; skips where it is not installed."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed (make webcheck installs it)")
    shown.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = shown.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for one in found["violations"]
        for node in one["nodes"][:3]
    ]
