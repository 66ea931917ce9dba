"""A real Chromium for the tests of pages: the machine's own, driven by playwright."""

import os
import shutil
import time
from contextlib import contextmanager

import pytest
from paths import ROOT

AXE = ROOT / "web/node_modules/axe-core/axe.min.js"


def chromium():
    """The path of a Chromium; skips the test where there is none, or nothing to drive it with."""
    path = os.environ.get("SEISMO_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not path:
        pytest.skip("there is no Chromium here (Debian: apt-get install chromium)")
    pytest.importorskip("playwright", reason="playwright is not installed (pip install playwright)")
    return path


@contextmanager
def launched():
    """A browser."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--force-color-profile=srgb"])
        yield browser
        browser.close()


class Shown:
    """A page that is open, with what went wrong in it."""

    def __init__(self, browser, path, *, size=(1280, 720), scheme="light", calm=True, wait=True):
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            reduced_motion="reduce" if calm else "no-preference",
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.wrong = []
        self.asked = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)
        self.page.on("dialog", lambda dialog: (self.wrong.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.resolve().as_uri())
        if wait:
            self.page.wait_for_selector("html[data-drawn]", state="attached")
            self.settle()

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
        end = time.monotonic() + 15
        while not condition():
            assert time.monotonic() < end
            self.settle()

    def close(self):
        """Ends it, and holds it to what every page must keep."""
        self.context.close()
        assert self.wrong == []
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
