"""A recording that is still written, in a browser: what comes later is shown without opening it again."""

import sys
import threading
import time

import pytest
from browser import MILLISECONDS, page
from children import SECONDS, environment, popen

from seismo import model
from seismo.errors import RecordingError
from seismo.view.routes import Routes, ServedRecording
from seismo.view.server import Server

pytestmark = pytest.mark.browser
PROGRAM = """
import os, sys, threading, time, seismo
def first(number): return number
def until(name):  # a profile is written where something happens
    while not os.path.exists(name):
        for number in range(200): first(number)
        time.sleep(0.01)
print("begun", flush=True)
until("on")
def later(number): return number
def second():
    for number in range(2000): later(number)
thread = threading.Thread(target=second, name="afterwards")
thread.start()
thread.join()
seismo.mark("again")
until("end")
"""


def read(path, function):
    """The recording once the function is in it."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            recording = model.read(path, running=True)
            if function in list(recording.functions["qualname"]) and len(recording.tree):
                return recording
        except RecordingError:
            pass  # it has not been written yet
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(params=["trace", "profile"])
def running(request, tmp_path):
    """A program that is recorded, has begun, and goes on when it is told to; with its recording so far."""
    path, program = tmp_path / "live.seismo", tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "seismo", request.param, "-q", "-o", path, program]
    with popen(command, env=environment(), cwd=tmp_path) as child:
        assert child.stdout.readline() == "begun\n"
        yield request.param, path, read(path, "first")
        (tmp_path / "on").touch()
        (tmp_path / "end").touch()
        child.wait(SECONDS)


def go_on(path):
    path.with_name("on").touch()


def test_what_comes_later_is_shown(running, browser):
    kind, path, recording = running
    server = Server(Routes([ServedRecording(str(path), recording, live=True)]))
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        with page(browser) as view:
            asked = []
            view.on("request", lambda request: asked.append(request.url))
            view.goto(server.url)
            view.locator(".live", has_text="live").wait_for()
            (timeline if kind == "trace" else report)(view, path)
            if kind == "trace":
                assert len([url for url in asked if "/events?" in url]) > 1, "marks are asked for again"
                names = [url for url in asked if url.endswith("/trace")]
                assert len(names) in (2, 3), "names are asked for when there are more, or a thread has got its own"
            path.with_name("end").touch()
            view.locator(".live", has_text="ended").wait_for()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def timeline(view, path):
    """A function and a thread that were not there are found, where the timeline was open already."""
    view.locator(".sight").wait_for()
    view.keyboard.press("/")
    view.keyboard.type(":later$")
    view.locator("text=0 functions").wait_for()
    go_on(path)
    view.locator("text=1 function").wait_for(timeout=MILLISECONDS)
    view.keyboard.press("Enter")
    view.wait_for_function("() => document.querySelector('.panel h2')?.innerText.endsWith(':later')")
    view.locator(".panel dd", has_text="afterwards").wait_for()  # a call may be shown before its new thread's name is


def report(view, path):
    """A report stays as it is until its reader asks for the new one."""
    frame = view.frame_locator("main.report iframe")
    frame.locator("input[type=search]").fill(":first$")
    frame.locator("tbody tr", has_text="first").first.wait_for()
    go_on(path)
    read(path, "later")
    for _ in range(100):  # what is read may be a second old
        view.locator("main.report iframe").evaluate("frame => frame.classList.add('old')")
        view.get_by_role("button", name="Show what there is now").click(timeout=MILLISECONDS)
        view.locator("main.report iframe:not(.old)").wait_for()
        frame.locator("tbody tr").first.wait_for()
        frame.locator("input[type=search]").fill(":later$")
        if "1 function" in frame.locator("#found").inner_text():
            return
    pytest.fail("what came later is not in the report")
