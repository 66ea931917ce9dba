"""The timeline in the page of a trace: no server, the same calls."""

import pytest
from browser import drag_over_all, page
from page_data import data_of

import seismo
from seismo.report.calls.page import calls_page


def inner(number):
    return number + 1


def outer():
    for number in range(2000):
        inner(number)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    with seismo.trace() as t:
        with seismo.span("all"):
            outer()
        seismo.count("queue", 3)
    path = tmp_path_factory.mktemp("page") / "a.seismo"
    t.save(path)
    return seismo.open(path)


def test_the_page_has_every_call(trace):
    """Steps and lengths add up to the calls of the recording, exactly."""
    head, columns = data_of(calls_page(trace))
    rows = trace.calls.window().calls
    said = [row["kind"] for row in head["trace"]["instants"]]
    assert [kind for kind in said if not kind.startswith("collect")] == ["begin", "end", "counter"]
    assert sum(columns["c.threads"]) == len(rows)
    at, starts = 0, []
    for thread in columns["c.threads"]:
        start = 0
        for step in columns["c.step"][at : at + thread]:
            start += step
            starts.append(start)
        at += thread
    assert starts == list(rows["start_ns"])
    ends = [start + length for start, length in zip(starts, columns["c.length"], strict=True)]
    assert ends == list(rows["end_ns"])
    assert columns["c.function"] == list(rows["function"])
    assert columns["c.depth"] == list(rows["depth"])


def test_a_longer_trace_is_not_in_the_page(trace):
    head, columns = data_of(calls_page(trace, most_calls=1000))
    assert head["trace"] is None
    assert "c.step" not in columns


def test_a_profile_has_no_timeline():
    with seismo.profile() as p:
        outer()
    head, _ = data_of(calls_page(p.recording))
    assert "trace" not in head


@pytest.mark.browser
def test_the_timeline_of_a_page_in_a_browser(trace, browser, tmp_path):
    """It draws, is searched, and adds up a stretch, without a server."""
    path = tmp_path / "a.html"
    path.write_text(calls_page(trace))
    with page(browser, viewport={"width": 1280, "height": 720}) as view:
        view.goto(path.as_uri())
        view.locator(".sight").wait_for()
        assert "mostly waits" in view.locator(".trace .legend").inner_text()
        view.keyboard.press("/")
        view.keyboard.type(":inner$")
        view.keyboard.press("Enter")
        view.wait_for_function("() => document.querySelector('.panel h2')?.innerText.endsWith(':inner')")
        view.locator(".panel .source", has_text="return number + 1").wait_for()
        view.keyboard.press("Escape")
        view.keyboard.press("f")
        drag_over_all(view)
        row = view.locator(".panel tr", has=view.locator("td.name", has_text=":inner"))
        assert row.locator("td").nth(3).inner_text() == "2,000"
        view.locator("input[value=calls]").check()
        view.locator(".functions").wait_for()
