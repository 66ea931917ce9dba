"""The project's targets: the results in the summary of docs/performance.md, their limits, and reasons for misses."""

# ruff: noqa: E501  one line per row of the table
from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

WHY = {
    "event": "The programs run for 7 to 170 ms, so many of their functions are young and still timed. This cost is largest in programs with many functions (sqlglot, regex_compile, logging). On 3.11 the floor adds as little as 3 % to a program, so a small cost is a large ratio.",
    "journal": "In a trace, each event appends a byte to the thread's journal, every 31st event reads the clock, and a full block takes a lock.",
    "writer": "The writer of a trace compresses and summarizes the journal on its own thread, which takes some nanoseconds an event. The target was set when a profile cost more.",
    "every": "With `--timing every`, each event reads the clock, adds a time and writes three bytes. On 3.11 the floor adds as little as 3 %. trace0 receives the same events of Python functions; over all programs it adds at least as much as seismo.",
    "truth": "[accuracy.md](accuracy.md#how-far-from-the-truth) describes the code with the largest errors.",
    "width": "A stated error contains 4 % of the time and, for each call that was only counted, half of the variation of a call's cost. A function with few samples has the error of its prediction.",
    "block": "During the first calls of a block, seismo's code and data are not in the CPU caches. The interpreter also enables events in each function at its first run. seismo cannot attribute these microseconds to a function.",
    "hub": "The hub must find the tools that want an event, while `sys.setprofile` has a single callback.",
    "frame": "A `Py_tracefunc` receives a frame object, which the interpreter has to make; the floor, an empty callback of `sys.monitoring`, receives none. The row *÷ the empty profile hook* compares two hooks that both receive a frame object.",
    "second": "Several tools share the dispatch of an event, but not the calls of their callbacks. From 3.12 on, dispatch is so cheap that the second call is a large part of the total.",
    "hundredths": "The programs run for about two seconds, and the ratio varies by a few hundredths from run to run.",
    "suite": "The test suite takes about half a second, and much of that is start-up and reading of sources.",
    "heap": "One case raises the mean: a heap of a million living lists of which some are replaced in random order. Each birth and death in this heap misses the CPU caches.",
    "bytes": "The memory of a path is a record and an entry in a hash table. It grows by 72 bytes when the path first waits, and by 48 when it is first sampled while its function is young.",
    "reading": "The report spends this time on reading the file and adding up its rows.",
    "start": "During start-up, seismo loads the native core and the modules that record.",
    "starts": "To count a start, seismo searches for the caller and the child node, which is most expensive in programs with many small functions.",
    "shared": "The machine had two cores and a load of 8 to 20 during this measurement. Half of the frames take less than a millisecond.",
    "marks": "A trace reads the clock every 24 to 31 events, so a time may be wrong by the duration of a dozen events. The error is larger if functions run for some hundred nanoseconds between two events.",
}
# A line that begins with # names a group, which is a table of the page, and its title if that is another. Every other line is a row: its text; the
# benchmark and the path of the number in its results; the target as shown on the page; digits; the reason for a miss.
ROWS = """
# calls: profiles of calls
micro programs, Python functions only, worst: ÷ floor | overhead/totals/micro/seismo none/worst | ≤ 1 (3.11: 1.15) | 2 | event
micro programs, default mode, worst: ÷ floor | overhead/totals/micro/seismo auto/worst | ≤ 1 (3.11: 1.15) | 2 | event
programs, Python functions only, mean: ÷ floor | overhead/totals/programs/seismo none/geomean | ≤ 0.75 (3.11: 1.3) | 2 | event
programs, Python functions only, worst: ÷ floor | overhead/totals/programs/seismo none/worst | ≤ 1 (3.11: 1.8) | 2 | event
programs, default mode, mean: ÷ floor | overhead/totals/programs/seismo auto/geomean | ≤ 0.45 (3.11: 1.3) | 2 | event
programs, default mode, worst: ÷ floor | overhead/totals/programs/seismo auto/worst | ≤ 1 (3.11: 1.8) | 2 | event
whole processes, Python functions only: ÷ cProfile | whole_process/totals/seismo none/to_cprofile | < 0.25 (3.11: 0.5, 3.12: 0.5) | 2 | start
whole processes, default mode: ÷ cProfile | whole_process/totals/seismo auto/to_cprofile | < 0.25 (3.11: 0.75, 3.12: 0.5) | 2 | start
whole processes, Python functions only: ÷ trace0 | whole_process/totals/seismo none/to_trace0 | < 0.45 | 2 | start
start-up, ms added | whole_process/startup/seismo auto/added_median | ≤ 5 | 1 | start
memory, bytes a distinct path | large/paths/bytes_a_path | ≤ 200 | 0 | bytes
memory, bytes a call | large/paths/bytes_a_call | ≤ 0 | 2 | bytes
`seismo report` of a million paths, seconds to the first line | large/million/first_line | < 2 | 2 | reading
# accuracy
default mode, worst phase: points | truth/tools/seismo auto/worst | ≤ 2 | 1 | truth
default mode, 19 of 20 single runs, beyond bare: points | truth/tools/seismo auto/nineteen | ≤ 3 | 1 | truth
Python functions only, worst phase: points | truth/tools/seismo none/worst | ≤ 2 | 1 | truth
Python functions only, 19 of 20 single runs, beyond bare: points | truth/tools/seismo none/nineteen |  | 1
all C functions, worst phase: points | truth/tools/seismo all/worst |  | 1
all C functions, 19 of 20 single runs, beyond bare: points | truth/tools/seismo all/nineteen |  | 1
cProfile, worst phase: points | truth/tools/cProfile/worst |  | 1
cProfile, 19 of 20 single runs, beyond bare: points | truth/tools/cProfile/nineteen |  | 1
by the program's clock, worst phase: points | truth/tools/by the program's clock/worst |  | 1
bare again, worst phase: points | truth/tools/bare again/worst |  | 1
stated errors that hold, other seeds: per cent | truth/tools/seismo auto/held | ≥ 95 | 0 | width
stated error of a phase, median: per cent | truth/tools/seismo auto/stated |  | 0
main functions, run of 0.3 s, worst stated error: per cent | errors/worst/0.3 | ≤ 20 | 0 | width
main functions, run of 0.3 s, median stated error: per cent | errors/median/0.3 |  | 0
main functions, run of 1 s, worst stated error: per cent | errors/worst/1 | ≤ 10 | 0 | width
main functions, run of 1 s, median stated error: per cent | errors/median/1 |  | 0
beside busy processes, own times within their error: per cent | errors/busy/held | ≥ 95 | 0 | width
beside busy processes, widest stated error: per cent | errors/busy/stated | ≤ 25 | 0 | width
blocks of 0.1 to 1 ms, mean off, worst shape: per cent | errors/blocks/off | ≤ 8 | 0 | block
blocks, stated errors that hold: per cent | errors/blocks/held | ≥ 95 | 0 | block
blocks, widest stated error: per cent | errors/blocks/stated | ≤ 25 | 0 | block
# timeline: traces
programs, Python functions only, mean: added time ÷ `seismo profile`'s | timeline/totals/trace/geomean | ≤ 1.15 | 2 | journal
programs, Python functions only, worst: added time ÷ `seismo profile`'s | timeline/totals/trace/worst | ≤ 1.35 | 2 | journal
CPU of all threads, the writer included, mean: ÷ `seismo profile`'s | timeline/totals/trace/cpu | ≤ 1.5 | 2 | writer
generator programs, worst: added time ÷ `seismo profile`'s | timeline/totals/trace/generators | ≤ 1.5 | 2
default mode, mean: added time ÷ `seismo profile`'s | timeline/totals/trace auto/geomean | ≤ 1.15 | 2 | journal
bytes a call, mean | timeline/totals/trace/bytes_a_call | ≤ 1.5 | 2
`--timing every`, mean: added time ÷ floor | timeline/totals/trace every/geomean | ≤ 2.2 | 2 | every
`--timing every`, worst: added time ÷ trace0's | timeline/totals/trace every/to_trace0 | ≤ 1 | 2 | every
`--timing every`: bytes a call, mean | timeline/totals/trace every/bytes_a_call | ≤ 4 | 2
how far off a time may be, median, worst program: µs | timeline/totals/trace/bound_median_us | ≤ 2 | 2 | marks
how far off a time may be, 99 of 100, worst program: µs | timeline/totals/trace/bound_most_us | ≤ 50 | 2
10^8 calls: memory while recording, MB | large/trace/recording_mb | ≤ 64 | 0
10^8 calls: seconds to the first line of `seismo report` | large/trace/report_s | ≤ 1 | 2
10^8 calls: any window as a picture of 1,000 columns, worst: ms | large/trace/worst_ms | ≤ 50 | 1
10^8 calls: memory of who reads pictures, MB | large/trace/reader_mb | ≤ 300 | 0
# hooks
a hook that matches nothing: × bare | hooks/totals/filters/hook/geomean | ≤ 1.03 (3.11: –) | 2 | hub
a watch that matches nothing: × bare | hooks/totals/filters/watch/geomean | ≤ 1.03 (3.11: –) | 2 | hub
the empty profile hook: × bare | hooks/totals/filters/floor profile/geomean |  | 2
hunter matching nothing: × bare | hooks/totals/hunter/hunter/geomean |  | 1
a hook on 1 call in 10,000, worst: × bare | hooks/totals/rare/hook/worst | ≤ 1.1 (3.11: –) | 2 | hub
a watch on 1 call in 10,000, worst: × bare | hooks/totals/rare/watch/worst | ≤ 1.1 (3.11: –) | 2 | hub
a Python callback: ÷ `sys.setprofile` | hooks/relations/python ÷ sys.setprofile/geomean | ≤ 1 | 2 | hub
a C callback: ÷ floor | hooks/relations/c ÷ floor c/geomean | ≤ 1.2 | 2 | frame
a C callback: ÷ the empty profile hook | hooks/relations/c ÷ floor profile/geomean | ≤ 1.2 | 2 | hub
a second Python callback: ÷ the first | hooks/relations/python, python/geomean | ≤ 0.3 | 2 | second
a second C callback: ÷ the first | hooks/relations/c, c/geomean | ≤ 0.3 | 2 | second
a C callback next to a Python callback: ÷ alone | hooks/relations/python, c/geomean | ≤ 0.3 | 2 | second
`seismo.cprofile`: ÷ cProfile | overhead/totals/programs/seismo.cprofile/geomean | < 1 | 2 | event
# coverage
lines: × bare | coverage/totals/seismo lines/times | ≤ 1.05 (3.11: –) | 2 | hundredths
branches: × bare | coverage/totals/seismo branches/times | ≤ 1.05 (3.11: –) | 2 | hundredths
lines, worst: time ÷ the fastest peer's | coverage/against/lines/worst | ≤ 1 | 2 | hundredths
branches, worst: time ÷ the fastest peer's | coverage/against/branches/worst | ≤ 1 | 2 | hundredths
lines: ÷ coverage.py's C tracer | coverage/against/lines ctrace/added | 3.11: ≤ 0.5 | 2 | hundredths
branches: ÷ coverage.py's C tracer | coverage/against/branches ctrace/added | 3.11: ≤ 0.5 | 2 | hundredths
counts of hits: ÷ floor | coverage/totals/seismo counts/to_floor | ≤ 1.3 | 2 | event
a test suite with contexts: × bare | coverage/suite/packaging/seismo lines, contexts/times | ≤ 1.15 | 2 | suite
the same suite under pytest-cov: × bare | coverage/suite/packaging/pytest-cov ctrace lines, contexts/times |  | 2
start-up, ms added | coverage/startup/seismo lines/added_median | ≤ 25 | 1 | start
# lines: times of lines
all lines: ÷ floor | lines/totals/seismo lines/to_floor | ≤ 1.6 | 2 | event
line_profiler: × bare | lines/totals/line_profiler/times |  | 1
start-up, ms added | lines/startup/seismo lines/added_median | ≤ 25 | 1 | start
# objects
by type: ns an event | objects/totals/seismo types/ns | ≤ 5 | 1 | heap
by line: ns an event | objects/totals/seismo lines/ns | ≤ 35 | 1 | heap
the empty tracer: ns an event | objects/totals/floor references/ns |  | 1
deltablue, by line: × bare | objects/whole/programs/deltablue/seismo lines/times | ≤ 1.5 | 2
deltablue under tracemalloc: × bare | objects/whole/programs/deltablue/tracemalloc/times |  | 2
deltablue under memray's object lifetimes: × bare | objects/whole/programs/deltablue/memray/times |  | 2
table of living objects, worst: bytes an object | objects/memory | ≤ 40 | 1 | bytes
start-up, ms added | objects/whole/startup/seismo lines/added_median | ≤ 25 | 1 | start
# pages
page of 10,000 paths: kB | browser/page/10000/kB | ≤ 900 | 0
page of 200,000 paths: kB | browser/page/200000/kB | ≤ 6000 | 0
code in a page of calls: kB | browser/page/code_kB | ≤ 200 | 0
200,000 paths: first paint, ms | browser/page/200000/seismo/first_paint_ms | ≤ 1000 | 0
200,000 paths: a frame of zooming, p95: ms | browser/page/200000/seismo/zoom_p95_ms | ≤ 8 | 1 | shared
10^8 calls in `seismo view`: first paint, ms | browser/view/long/first_paint_ms | ≤ 1500 | 0 | shared
10^8 calls: a frame of zooming, p95: ms | browser/view/long/zoom_p95_ms | ≤ 16 | 1
10^8 calls: memory of the server, MB | browser/view/long/server_mb | ≤ 300 | 0
code of the viewer: kB | browser/view/code_kB | ≤ 600 | 0
# counts: counts alone
calls of Python functions, mean: added time ÷ the empty hook's | overhead/totals/programs/starts none/geomean | ≤ 0.65 | 2 | starts
calls of Python functions, worst: added time ÷ the empty hook's | overhead/totals/programs/starts none/worst |  | 2
an empty hook on starts alone, mean: ÷ the empty hook's | overhead/totals/programs/floor starts/geomean |  | 2
the same calls from all events, mean: ÷ the empty hook's | overhead/totals/programs/all events none/geomean |  | 2
calls with all C functions, mean: ÷ the empty hook's on these | overhead/totals/programs/starts all/geomean |  | 2
the same calls under trace0, mean: ÷ the empty hook's | overhead/totals/programs/trace0/geomean |  | 2
calls as by default under cProfile, mean: ÷ the empty hook's | overhead/totals/programs/cProfile/geomean |  | 1
whole processes, counts alone: ÷ cProfile | whole_process/totals/seismo counts/to_cprofile |  | 2
`seismo check`: false alarms in 30 checks | check/false_alarms | ≤ 0 | 0
regressions found, of 10 | check/found | ≥ 10 | 0
regressions of which the right function is named first | check/first | ≥ 10 | 0
calls and lines of a test suite: CPU × bare | check/cost/ratios/calls and lines | ≤ 2 | 2
births of a test suite: CPU × bare | check/cost/ratios/births | ≤ 2 | 2
`--against REV` of a small program: s | check/cost/small_against/seconds |  | 1
`seismo query`, 10^7 calls: s to the first aggregate | large/query/aggregate/s | ≤ 2 | 2
the same: MB at its peak | large/query/aggregate/mb |  | 0
"""


@dataclass(frozen=True)
class Target:
    """A row of the summary.

    `shown` is the limit as in its cell, with those of single interpreters in brackets (– for none), or "" for no limit.
    """

    text: str
    benchmark: str
    keys: tuple[str, ...]
    shown: str
    digits: int
    why: str

    def missed(self, label: str, value: float) -> bool:
        """Return True if the value, rounded as shown on this interpreter's page, misses the limit."""
        sign = re.search("[≤<≥]", self.shown)
        of_all = re.match(r"[≤<≥] ([\d.]+)", self.shown)
        of_one = re.search(rf"{re.escape(label)}: (?:[≤<≥] )?([\d.]+|–)", self.shown)
        limit = (of_one or of_all or [None, "–"])[1]
        if not sign or limit == "–":
            return False
        value = round(value, self.digits)
        return {"≤": value > float(limit), "<": value >= float(limit), "≥": value < float(limit)}[sign[0]]


def _read() -> dict[str, list[Target]]:
    """Return the groups of ROWS."""
    found: dict[str, list[Target]] = {}
    for line in ROWS.strip().splitlines():
        if line.startswith("#"):
            group = found.setdefault(line[2:].partition(":")[0], [])
            continue
        text, way, target, digits, *why = (cell.strip() for cell in line.split("|"))
        benchmark, *keys = way.split("/")
        group.append(Target(text, benchmark, tuple(keys), target, int(digits), WHY[why[0]] if why else ""))
    return found


TARGETS = _read()
TITLES = {group: title or group for group, title in re.findall(r"^# (\w+)(?:: (.+))?$", ROWS, re.MULTILINE)}


def targets_of(benchmark: str) -> list[Target]:
    """Return the targets of one benchmark."""
    return [one for group in TARGETS.values() for one in group if one.benchmark == benchmark]


def dig(results: Any, *keys: str) -> float:
    """Return a number inside results, or nan if any part of the path is missing."""
    for key in keys:
        results = results.get(key) if isinstance(results, dict) else None
    return float(results) if isinstance(results, (int, float)) else math.nan
