"""A real browser for the tests of pages: the system's Chromium, driven by playwright.

Other tests need neither; where one is missing, tests that need it are skipped with the reason. A page must not request
anything from elsewhere: requests that its policy refuses, and all other errors in it, fail the test.
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
MILLISECONDS = 60_000  # the time limit for anything to appear, on a busy machine


def chromium() -> str:
    """Return the path of the browser, or "" if there is none."""
    named = os.environ.get("SEISMO_CHROMIUM", "")
    return named or next((path for path in map(shutil.which, NAMES) if path), "")


@contextlib.contextmanager
def started() -> Iterator[Any]:
    """Yield a browser (playwright's Browser), or skip the test if there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser, and is not installed")
    path = chromium()
    if not path:
        pytest.skip(f"there is no Chromium here ({', '.join(NAMES)}, or SEISMO_CHROMIUM)")
    options = ["--disable-dev-shm-usage", "--force-color-profile=srgb"]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=options)
        yield browser
        IDLE.clear()
        browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for the tests of a file."""
    with started() as it:
        yield it


# Pages of tests that have ended, by their options: to open one takes a second of the processor, to reuse it a fifth.
IDLE: dict[str, Any] = {}


@contextlib.contextmanager
def page(browser: Any, **options: Any) -> Iterator[Any]:
    """Yield a page; any error or dialog in it fails the test. Options are those of a browser context."""
    key = repr(sorted(options.items()))
    made = IDLE.pop(key, None)
    if made is None:
        context = browser.new_context(**options)
        context.set_default_timeout(MILLISECONDS)
        made = context.new_page()
    complaints: list[str] = []
    listeners = {
        "console": lambda message: message.type == "error" and complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
        "dialog": lambda dialog: (complaints.append(dialog.message), dialog.dismiss()),
    }
    for event, listener in listeners.items():
        made.on(event, listener)
    yield made
    assert not complaints, complaints
    for event, listener in listeners.items():
        made.remove_listener(event, listener)
    made.mouse.move(0, 0)
    made.goto("about:blank")
    if "viewport" in options:
        made.set_viewport_size(options["viewport"])
    IDLE[key] = made


def drag_over_all(view: Any) -> None:
    """Select the whole interval that a timeline shows."""
    box = view.locator(".canvas canvas").bounding_box()
    view.mouse.move(box["x"] + 1, box["y"] + 10)
    view.mouse.down()
    view.mouse.move(box["x"] + box["width"] - 1, box["y"] + 10, steps=4)
    view.mouse.up()


def cells_of(view: Any, rows: str, classes: bool = False) -> list[list[str]]:
    """Return the text of the cells of a page's rows; with `classes`, preceded by the row's classes."""
    found: list[list[str]] = view.eval_on_selector_all(
        rows,
        """(rows, classes) => rows.map(row => [
          ...(classes ? [row.className] : []), ...Array.from(row.cells, cell => cell.textContent.trim())])""",
        classes,
    )
    return found
