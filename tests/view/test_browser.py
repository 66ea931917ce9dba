"""The viewer in a real browser: what it draws, and that it can be used by mouse and by keyboard alone."""

import contextlib
import threading
import time
from types import SimpleNamespace

import pytest
from browser import MILLISECONDS, drag_over_all, page
from browsers import violations

import seismo
from seismo.view.routes import Routes, ServedRecording
from seismo.view.server import Server

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


def inner(number):
    return number + 1


def outer():
    for number in range(3000):
        inner(number)


def fails():
    raise OSError(HOSTILE)


@contextlib.contextmanager
def served(folder):
    """The address of a server of the recordings in a folder."""
    server = Server(Routes([ServedRecording(str(path), seismo.open(path)) for path in sorted(folder.iterdir())]))
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server.url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    with seismo.trace() as t:
        with seismo.span(HOSTILE):
            outer()
        for number in range(10):
            seismo.count("queue", number)
        with pytest.raises(OSError, match="script"):
            fails()
        worker = threading.Thread(target=outer, name=HOSTILE)
        worker.start()
        worker.join()
    t.save(folder / "a.seismo")
    with seismo.trace() as t:
        outer()
    t.save(folder / "b.seismo")
    with served(folder) as url:
        yield url


def drawn(view):
    """Waits until the calls in sight are on the canvas."""
    view.locator(".canvas[aria-busy=false]").wait_for()


def changed(view, before):
    """Waits until the timeline looks otherwise."""
    end = time.monotonic() + MILLISECONDS / 1000
    while view.locator(".canvas canvas").screenshot() == before:
        assert time.monotonic() < end


def sight(view):
    return view.locator(".sight").inner_text()


def test_the_keyboard_alone_will_do(browser, address):
    """Zoom, pan, choose a call, step to what it calls, find the next, help, and everything again."""
    with page(browser) as view:
        view.goto(address)
        drawn(view)
        whole = sight(view)
        view.keyboard.press("Enter")  # the first call in sight
        view.locator(".panel h2").wait_for()
        view.keyboard.press("/")
        view.keyboard.type(r":outer$")
        view.locator("text=1 function").wait_for()
        view.keyboard.press("Enter")
        view.wait_for_function("() => document.querySelector('.panel h2')?.innerText.endsWith(':outer')")
        view.keyboard.press("Escape")
        view.keyboard.press("ArrowDown")
        view.wait_for_function("() => document.querySelector('.panel h2')?.innerText.endsWith(':inner')")
        view.keyboard.press("ArrowUp")
        view.wait_for_function("() => document.querySelector('.panel h2')?.innerText.endsWith(':outer')")
        view.keyboard.press("Escape")
        view.keyboard.press("w")
        view.wait_for_function("whole => document.querySelector('.sight').innerText !== whole", arg=whole)
        view.keyboard.press("f")
        view.wait_for_function("whole => document.querySelector('.sight').innerText === whole", arg=whole)
        view.keyboard.press("/")
        view.keyboard.type(r":inner$")
        view.locator("text=1 function").wait_for()
        view.keyboard.press("Enter")
        view.wait_for_function("() => document.querySelector('.panel h2')?.innerText.endsWith(':inner')")
        start = view.locator(".panel dd").nth(1).inner_text()
        view.keyboard.press("Enter")
        view.wait_for_function("start => document.querySelectorAll('.panel dd')[1].innerText !== start", arg=start)
        view.keyboard.press("Escape")
        view.keyboard.press("?")
        view.locator("dialog[open]").wait_for()
        view.keyboard.press("Escape")
        view.locator("dialog").wait_for(state="detached")


def test_a_chosen_call_shows_its_source_and_stays_in_sight(browser, address):
    with page(browser, viewport={"width": 1280, "height": 420}) as view:
        view.goto(address)
        drawn(view)
        view.keyboard.press("/")
        view.keyboard.type(r":fails$")
        view.locator("text=1 function").wait_for()
        view.keyboard.press("Enter")
        view.locator(".panel .source .code", has_text="raise OSError(HOSTILE)").wait_for()
        assert view.locator(".panel .path").inner_text().endswith(f":{fails.__code__.co_firstlineno}")
        box, panel = (view.locator(one).bounding_box() for one in (".canvas canvas", ".panel"))
        assert box["y"] + box["height"] <= panel["y"] + 1
        before = view.locator(".canvas canvas").screenshot()
        view.keyboard.press("Escape")
        view.keyboard.press("Escape")
        changed(view, before)  # the chosen call was drawn as such above the panel


def test_a_key_waits_for_the_calls_it_is_about(browser, address):
    """Whoever is quicker than the server need not press Enter again."""
    with page(browser) as view:
        view.route("**/rows?*", lambda route: None)
        view.goto(address)
        view.locator(".canvas[aria-busy=true]").wait_for()
        view.keyboard.press("Enter")
        assert view.locator(".panel").count() == 0
        view.unroute("**/rows?*")  # what was asked for comes now
        view.locator(".panel h2").wait_for()


def test_wheel_drag_and_minimap(browser, address):
    with page(browser) as view:
        view.goto(address)
        drawn(view)
        whole = sight(view)
        box = view.locator(".canvas canvas").bounding_box()
        view.mouse.move(box["x"] + 300, box["y"] + 100)
        view.keyboard.down("Control")
        view.mouse.wheel(0, -200)
        view.keyboard.up("Control")
        view.wait_for_function("whole => document.querySelector('.sight').innerText !== whole", arg=whole)
        near = sight(view)
        view.mouse.down()
        view.mouse.move(box["x"] + 200, box["y"] + 100, steps=3)
        view.mouse.up()
        view.wait_for_function("near => document.querySelector('.sight').innerText !== near", arg=near)
        moved = sight(view)
        small = view.locator(".map canvas").bounding_box()
        view.mouse.click(small["x"] + small["width"] - 5, small["y"] + 10)
        view.wait_for_function("moved => document.querySelector('.sight').innerText !== moved", arg=moved)


def test_a_touchpad_pans_zooms_and_scrolls(browser, address):
    """Two fingers sideways move in time, a pinch (to browsers the wheel with Ctrl) zooms, up and down scrolls."""
    with page(browser, viewport={"width": 1280, "height": 400}) as view:
        view.goto(address)
        drawn(view)
        box = view.locator(".canvas canvas").bounding_box()
        view.mouse.move(box["x"] + 300, box["y"] + 100)

        def pinch(by):
            fields = f"{{deltaY: {by}, ctrlKey: true, bubbles: true, cancelable: true, clientX: 300, clientY: 300}}"
            return view.eval_on_selector(".canvas canvas", f"it => it.dispatchEvent(new WheelEvent('wheel', {fields}))")

        whole = sight(view)
        assert not pinch(-30), "the page itself is not zoomed"
        view.wait_for_function("whole => document.querySelector('.sight').innerText !== whole", arg=whole)
        length = sight(view).partition("·")[2]
        near = sight(view)
        view.mouse.wheel(40, 3)
        view.wait_for_function("near => document.querySelector('.sight').innerText !== near", arg=near)
        assert sight(view).partition("·")[2] == length
        before, moved = view.locator(".canvas canvas").screenshot(), sight(view)
        view.mouse.wheel(0, 120)
        changed(view, before)
        assert sight(view) == moved


def test_a_thread_s_name_stays_in_sight_and_folds_it(browser, address):
    """Scrolled into the calls of a thread, one still reads whose they are, and can fold them."""
    with page(browser, viewport={"width": 1280, "height": 330}) as view:
        view.goto(address)
        drawn(view)
        box = view.locator(".canvas canvas").bounding_box()
        view.mouse.move(box["x"] + 600, box["y"] + 60)
        before = view.locator(".canvas canvas").screenshot()
        view.mouse.wheel(0, 44 + 40)  # beyond the counter, and the thread's own title
        changed(view, before)
        view.mouse.move(box["x"] + 20, box["y"] + 40)
        assert view.eval_on_selector(".canvas canvas", "it => it.style.cursor") == "pointer"
        before = view.locator(".canvas canvas").screenshot()
        view.mouse.click(box["x"] + 20, box["y"] + 40)
        changed(view, before)
        assert view.locator(".panel").count() == 0, "no call was chosen"


def test_the_help_begins_at_its_beginning(browser, address):
    """In a window that is lower than the help: the focus is on the button at its end."""
    with page(browser, viewport={"width": 1280, "height": 400}) as view:
        view.goto(address)
        drawn(view)
        view.keyboard.press("?")
        view.locator("dialog[open]").wait_for()
        assert view.eval_on_selector("dialog", "it => [it.scrollHeight > it.clientHeight, it.scrollTop]") == [True, 0]


def test_what_the_program_said_is_told(browser, tmp_path):
    """A mark's name, time and values: under the pointer, and by the key M for who has none."""
    with seismo.trace() as t:
        outer()
        seismo.mark("half way", rows=17)
        with seismo.span("the rest", part=2):
            outer()
            time.sleep(0.05)  # wide enough for the pointer
    t.save(tmp_path / "a.seismo")
    with served(tmp_path) as url, page(browser, viewport={"width": 1280, "height": 720}) as view:
        view.goto(url)
        drawn(view)
        status = view.locator(".tools [role=status]")
        for _ in range(100):  # marks come after the calls
            view.keyboard.press("m")
            if "half way" in status.inner_text():
                break
            view.wait_for_timeout(100)
        assert "rows=17" in status.inner_text()
        view.keyboard.press("f")
        box = view.locator(".canvas canvas").bounding_box()
        told = set()
        for x in range(0, 1280, 3):
            view.mouse.move(box["x"] + x, box["y"] + 30 + 20)
            tip = view.locator(".tip")
            if tip.count():
                told.add(tip.inner_text())
        assert any("half way" in text and "rows=17" in text for text in told)
        assert any("the rest" in text and "part=2" in text for text in told)


def test_two_traces_side_by_side(browser, address):
    with page(browser) as view:
        view.goto(address)
        drawn(view)
        view.locator("select").nth(1).select_option(label="b.seismo")
        view.wait_for_function("() => document.querySelectorAll('.trace .canvas canvas').length === 2")
        view.locator("select").first.select_option(label="b.seismo")
        view.wait_for_function("() => document.querySelectorAll('.trace .canvas canvas').length === 1")
        drawn(view)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_it_fits_narrow_and_dark_windows(browser, address, width, scheme):
    with page(browser, viewport={"width": width, "height": 720}, color_scheme=scheme) as view:
        view.goto(address)
        drawn(view)
        assert view.locator("img").count() == 0, "hostile names are drawn, or in text nodes"
        assert view.evaluate("document.documentElement.scrollWidth") <= width
        ground = view.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, ground[4:-1].split(","))) < 200) == (scheme == "dark")


def test_a_stretch_has_its_functions_and_its_flame_graph(browser, address):
    """The functions that the recording has, and a flame graph with no second timeline around it."""
    with page(browser, viewport={"width": 1280, "height": 720}) as view:
        view.goto(address)
        drawn(view)
        drag_over_all(view)
        row = view.locator(".panel tr", has=view.locator("td.name", has_text=":inner"))
        row.wait_for()
        assert row.locator("td").nth(3).inner_text() == "6,000"
        view.get_by_role("button", name="Flame graph of this stretch").click()
        frame = view.frame_locator("main.report iframe")
        frame.locator(".flame canvas").wait_for()
        assert frame.locator(".tabs, .sight").count() == 0
        frame.get_by_role("searchbox").fill(":outer$")  # where a busy machine stopped it, its rank says nothing
        frame.locator("tbody tr", has_text=":outer").first.wait_for()
        picked = frame.get_by_label("Width").locator("option").all_text_contents()
        assert picked[0] == "time", "a journal does not tell running from waiting"


def test_two_recordings_side_by_side(browser, tmp_path):
    """Reports of calls, too: both, or what changed from one to the other."""
    for name, rounds in (("a", 1), ("b", 2)):
        with seismo.profile() as p:
            for _ in range(rounds):
                outer()
        p.save(tmp_path / f"{name}.seismo")
    with served(tmp_path) as url, page(browser) as view:
        view.goto(url)
        view.get_by_label("beside").select_option(label="b.seismo")
        view.frame_locator('iframe[title="Report of a.seismo"]').get_by_text("3,000").first.wait_for()
        view.frame_locator('iframe[title="Report of b.seismo"]').get_by_text("6,000").first.wait_for()
        view.get_by_role("button", name="Changes").click()
        changes = view.frame_locator('iframe[title="Changes from a.seismo to b.seismo"]')
        changes.get_by_text("+3,000").first.wait_for()


def test_a_server_that_is_gone_is_said(browser, tmp_path):
    with seismo.trace() as t:
        outer()
    t.save(tmp_path / "a.seismo")
    context = browser.new_context()
    view = context.new_page()
    with served(tmp_path) as url:
        view.goto(url)
        drawn(view)
    view.keyboard.press("/")
    view.keyboard.type("inner")
    view.keyboard.press("Enter")
    view.locator("text=does not answer any more").wait_for()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_readers_with_other_means_can_use_it(browser, address, scheme):
    """axe-core finds nothing wrong: of the timeline, of a chosen call, of the help."""
    with page(browser, color_scheme=scheme) as view:
        view.goto(address)
        drawn(view)
        assert violations(SimpleNamespace(page=view)) == []
        view.keyboard.press("Enter")
        view.locator(".panel h2").wait_for()
        assert violations(SimpleNamespace(page=view)) == []
        view.keyboard.press("?")
        view.locator("dialog[open]").wait_for()
        assert violations(SimpleNamespace(page=view)) == []
