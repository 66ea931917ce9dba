"""A real browser for the tests of pages: Chromium of the system, driven by playwright.

Neither is needed to run the other tests: where one is missing, what needs it is skipped, and says so. A page of ours
may ask nobody for anything: what its policy refuses, and every other error in it, fails the test.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("chromium", "chromium-browser", "google-chrome")
MILLISECONDS = 60_000  # for anything to appear, on a busy machine


def chromium() -> str:
    """The path of the browser; "": there is none."""
    named = os.environ.get("SEISMO_CHROMIUM", "")
    return named or next((path for path in map(shutil.which, NAMES) if path), "")


@contextlib.contextmanager
def started() -> Iterator[Any]:
    """A browser (playwright's Browser). Skips the test where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser, and is not installed")
    path = chromium()
    if not path:
        pytest.skip(f"there is no Chromium here ({', '.join(NAMES)}, or SEISMO_CHROMIUM)")
    options = ["--disable-dev-shm-usage", "--force-color-profile=srgb"]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


@contextlib.contextmanager
def page(browser: Any, **options: Any) -> Iterator[Any]:
    """A page that must not complain: an error that it meets fails the test. options: as of a context."""
    context = browser.new_context(**options)
    context.set_default_timeout(MILLISECONDS)
    made = context.new_page()
    complaints: list[str] = []
    made.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    made.on("pageerror", lambda error: complaints.append(str(error)))
    yield made
    assert not complaints, complaints
    context.close()


def drag_over_all(view: Any) -> None:
    """Picks the whole stretch that a timeline shows."""
    box = view.locator(".canvas canvas").bounding_box()
    view.mouse.move(box["x"] + 1, box["y"] + 10)
    view.mouse.down()
    view.mouse.move(box["x"] + box["width"] - 1, box["y"] + 10, steps=4)
    view.mouse.up()


def cells_of(view: Any, rows: str, classes: bool = False) -> list[list[str]]:
    """The text of the cells of these rows of a page; classes: after the row's classes."""
    found: list[list[str]] = view.eval_on_selector_all(
        rows,
        """(rows, classes) => rows.map(row => [
          ...(classes ? [row.className] : []), ...Array.from(row.cells, cell => cell.textContent.trim())])""",
        classes,
    )
    return found
