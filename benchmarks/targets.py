"""What the project promises: each result of the summary in docs/performance.md, its target, and why it may miss it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """A row of the summary.

    text: what is measured, the row's first cell. benchmark, keys: the way to the number in its JSON. digits: shown.
    limit: the target, None for a number that stands there for comparison. others: limits of single interpreters, by
    label; None where there is none. sign: how the limit is meant. why: the reason, where a reading misses the limit.
    """

    text: str
    benchmark: str
    keys: tuple[str, ...]
    limit: float | None = None
    digits: int = 2
    others: dict[str, float | None] = field(default_factory=dict)
    sign: str = "≤"
    why: str = ""

    def limit_of(self, label: str) -> float | None:
        """The limit on an interpreter."""
        return self.others.get(label, self.limit)

    def missed(self, label: str, value: float) -> bool:
        """Whether the value, rounded as it is shown, misses the limit."""
        limit = self.limit_of(label)
        if limit is None:
            return False
        value = round(value, self.digits)
        return {"≤": value > limit, "<": value >= limit, "≥": value < limit}[self.sign]

    def shown(self) -> str:
        """The target's cell."""
        if self.limit is None:
            return ", ".join(f"{label}: {self.sign} {limit:g}" for label, limit in self.others.items())
        others = [f"{label}: {'–' if limit is None else f'{limit:g}'}" for label, limit in self.others.items()]
        return f"{self.sign} {self.limit:g}" + (f" ({', '.join(others)})" if others else "")


EVENT = (
    "A start is counted without a reading of the clock; ends are reported for young and long functions only, and on "
    "3.11 for all. The programs take 7 to 170 ms. In so short a run many functions are young, and programs with many "
    "functions (sqlglot, regex_compile, logging) pay most for that. On 3.11 the empty hook for Python functions adds "
    "as little as 3 % to a program, so that a small addition is a large ratio."
)
JOURNAL = (
    "Each event appends a byte to the thread's journal, and every 31st reads the clock; a block that is full takes a "
    "lock."
)
WRITER = (
    "The writer compresses the journal and sums it up in levels on a thread of its own, some nanoseconds an event; a "
    "profile has become cheaper since the target was set, and what it adds is what the writer is divided by."
)
EVERY = (
    "With `--timing every`, each event reads the clock, adds the time since the last one to its node and writes three "
    "bytes, however little the hook itself costs: on 3.11 that is as little as 3 % of a program. trace0 asks for the "
    "same events of Python functions; over all programs, it adds as much as this or more."
)
TRUTH = "[accuracy.md](accuracy.md#how-far-from-the-truth) says which code is estimated worst, and why."
WIDTH = (
    "Stated errors contain 4 % of the time, and half of what the cost of a call differs by from one shape to another, "
    "for each call that was only counted. A function with few looks has the error of its prediction."
)
BLOCK = (
    "The first calls of a block find seismo's own code and data outside of the processor's caches, and the interpreter "
    "switches its events on in each function's code when that first runs: some microseconds that belong to nobody."
)
HUB = (
    "A callback of `seismo.hooks` is called through a hub, which first finds the tools that want the event; "
    "`sys.setprofile` has one callback and nothing to find."
)
FRAME = (
    "A `Py_tracefunc` must be given a frame, and the interpreter makes a frame object for it; the floor, an empty "
    "callback of `sys.monitoring`, receives none. The row *÷ the empty profile hook* compares like with like."
)
SECOND = (
    "Tools share the dispatch of an event, not the calls of their callbacks. From 3.12 on dispatch is so cheap that "
    "the second call is a large part of the whole; a Python callback is a Python call at every event."
)
HUNDREDTHS = "The programs run for about two seconds; a few hundredths more or less come and go from run to run."
SUITE = "The suite takes about half a second, of which start-up and the reading of the sources are a good part."
HEAP = (
    "The mean over all events is raised by one case, a heap of a million living lists of which some are replaced in no "
    "order: each birth and death there finds its memory outside the processor's caches."
)
BYTES = (
    "A path takes a record and an entry in a table that is never full. When it first waits it takes 72 bytes more, and "
    "48 when it is first sampled while its function is young, which for many paths is after their first call. So paths "
    "grow once, and not with their calls."
)
READING = "The time is that of reading the file and of adding up what it holds."
START = "Start-up is the loading of the native core and of the modules that record."

_PYTHON, _DEFAULT = ("seismo none",), ("seismo auto",)
_NOTHING, _RELATIONS, _RARE = ("totals", "filters"), ("relations",), ("totals", "rare")
_WHOLE = ("whole", "deltablue")
# The tables of the summary, in the page's order.
_ZOOM = ("200000", "seismo", "zoom_p95_ms")
_SPEEDSCOPE = ("200000", "speedscope")
_VIEW, _PERFETTO = ("beside", "`seismo view`"), ("beside", "Perfetto")
_PROGRAMS, _COUNTED = ("totals", "programs"), ("cost", "ratios")
_STARTS = (*_PROGRAMS, "starts none")
STARTS = (
    "What a start costs beyond its hook is the search of the caller and the child; programs of many small functions "
    "pay most."
)
SHARED = (
    "The machine had two cores and a load of 8 to 20 meanwhile. Half of the frames take less than a millisecond; the "
    "95th percentile is of the few that do much."
)

TARGETS: dict[str, list[Target]] = {
    "calls": [
        Target(
            "micro programs, Python functions only, worst: ÷ floor",
            "overhead",
            ("totals", "micro", *_PYTHON, "worst"),
            1,
            others={"3.11": 1.15},
            why=EVENT,
        ),
        Target(
            "micro programs, default mode, worst: ÷ floor",
            "overhead",
            ("totals", "micro", *_DEFAULT, "worst"),
            1,
            others={"3.11": 1.15},
            why=EVENT,
        ),
        Target(
            "programs, Python functions only, mean: ÷ floor",
            "overhead",
            ("totals", "programs", *_PYTHON, "geomean"),
            0.75,
            others={"3.11": 1.3},
            why=EVENT,
        ),
        Target(
            "programs, Python functions only, worst: ÷ floor",
            "overhead",
            ("totals", "programs", *_PYTHON, "worst"),
            1,
            others={"3.11": 1.8},
            why=EVENT,
        ),
        Target(
            "programs, default mode, mean: ÷ floor",
            "overhead",
            ("totals", "programs", *_DEFAULT, "geomean"),
            0.45,
            others={"3.11": 1.3},
            why=EVENT,
        ),
        Target(
            "programs, default mode, worst: ÷ floor",
            "overhead",
            ("totals", "programs", *_DEFAULT, "worst"),
            1,
            others={"3.11": 1.8},
            why=EVENT,
        ),
        Target(
            "whole processes, Python functions only: ÷ cProfile",
            "whole_process",
            ("totals", *_PYTHON, "to_cprofile"),
            0.25,
            others={"3.11": 0.5, "3.12": 0.5},
            sign="<",
            why=START,
        ),
        Target(
            "whole processes, default mode: ÷ cProfile",
            "whole_process",
            ("totals", *_DEFAULT, "to_cprofile"),
            0.25,
            others={"3.11": 0.75, "3.12": 0.5},
            sign="<",
            why=START,
        ),
        Target(
            "whole processes, Python functions only: ÷ trace0",
            "whole_process",
            ("totals", *_PYTHON, "to_trace0"),
            0.45,
            sign="<",
            why=START,
        ),
        Target("start-up, ms added", "whole_process", ("startup", *_DEFAULT, "added_median"), 5, 1, why=START),
        Target("memory, bytes a distinct path", "memory", ("seismo memory", "bytes_a_path"), 200, 0, why=BYTES),
        Target("memory, bytes a call", "memory", ("seismo memory", "bytes_a_call"), 0, why=BYTES),
        Target(
            "`seismo report` of a million paths, seconds to the first line",
            "report_million",
            ("first_line",),
            2,
            sign="<",
            why=READING,
        ),
    ],
    "accuracy": [
        Target("default mode, worst phase: points", "truth", ("tools", *_DEFAULT, "worst"), 2, 1, why=TRUTH),
        Target(
            "default mode, 19 of 20 single runs, beyond bare: points",
            "truth",
            ("tools", *_DEFAULT, "nineteen"),
            3,
            1,
            why=TRUTH,
        ),
        Target("Python functions only, worst phase: points", "truth", ("tools", *_PYTHON, "worst"), 2, 1, why=TRUTH),
        Target(
            "default mode, stated errors that hold: per cent",
            "truth",
            ("tools", *_DEFAULT, "held"),
            95,
            0,
            sign="≥",
            why=TRUTH,
        ),
        Target("stated errors that hold, other seeds: per cent", "errors", ("held", "all"), 95, 0, sign="≥", why=WIDTH),
        Target(
            "main functions, run of 0.3 s, worst stated error: per cent", "errors", ("worst", "0.3"), 20, 0, why=WIDTH
        ),
        Target("main functions, run of 1 s, worst stated error: per cent", "errors", ("worst", "1"), 10, 0, why=WIDTH),
        Target(
            "beside busy processes, own times within their error: per cent",
            "errors",
            ("busy", "held"),
            95,
            0,
            sign="≥",
            why=WIDTH,
        ),
        Target("beside busy processes, widest stated error: per cent", "errors", ("busy", "stated"), 25, 0, why=WIDTH),
        Target("blocks of 0.1 to 1 ms, mean off, worst shape: per cent", "errors", ("blocks", "off"), 8, 0, why=BLOCK),
        Target("blocks, stated errors that hold: per cent", "errors", ("blocks", "held"), 95, 0, sign="≥", why=BLOCK),
        Target("blocks, widest stated error: per cent", "errors", ("blocks", "stated"), 25, 0, why=BLOCK),
        Target("cProfile, worst phase: points", "truth", ("tools", "cProfile", "worst"), digits=1),
    ],
    "timeline": [
        Target(
            "programs, Python functions only, mean: added time ÷ `seismo profile`'s",
            "timeline",
            ("totals", "trace", "geomean"),
            1.15,
            why=JOURNAL,
        ),
        Target(
            "programs, Python functions only, worst: added time ÷ `seismo profile`'s",
            "timeline",
            ("totals", "trace", "worst"),
            1.35,
            why=JOURNAL,
        ),
        Target(
            "CPU of all threads, the writer included, mean: ÷ `seismo profile`'s",
            "timeline",
            ("totals", "trace", "cpu"),
            1.5,
            why=WRITER,
        ),
        Target(
            "generator programs, worst: added time ÷ `seismo profile`'s",
            "timeline",
            ("totals", "trace", "generators"),
            1.5,
        ),
        Target(
            "default mode, mean: added time ÷ `seismo profile`'s",
            "timeline",
            ("totals", "trace auto", "geomean"),
            1.15,
            why=JOURNAL,
        ),
        Target(
            "bytes a call, mean",
            "timeline",
            ("totals", "trace", "bytes_a_call"),
            1.5,
        ),
        Target(
            "`--timing every`, mean: added time ÷ floor",
            "timeline",
            ("totals", "trace every", "geomean"),
            2.2,
            why=EVERY,
        ),
        Target(
            "`--timing every`, worst: added time ÷ trace0's",
            "timeline",
            ("totals", "trace every", "to_trace0"),
            1,
            why=EVERY,
        ),
        Target(
            "`--timing every`: bytes a call, mean",
            "timeline",
            ("totals", "trace every", "bytes_a_call"),
            4,
        ),
        Target(
            "how far off a time may be, median, worst program: µs",
            "timeline",
            ("totals", "trace", "bound_median_us"),
            2,
            why="The clock is marked every 24 to 31 events, so a time is off by up to what a dozen events take: "
            "less in programs of short functions, more where a function runs for some hundred nanoseconds between two.",
        ),
        Target(
            "how far off a time may be, 99 of 100, worst program: µs",
            "timeline",
            ("totals", "trace", "bound_most_us"),
            50,
        ),
        Target(
            "8 threads: nanoseconds added a call ÷ with one",
            "scaling",
            ("trace_most_to_one",),
            1.1,
        ),
        Target("10^8 calls: memory while recording, MB", "long_trace", ("recording_mb",), 64, 0),
        Target("10^8 calls: seconds to the first line of `seismo report`", "long_trace", ("report_s",), 1),
        Target("10^8 calls: any window as a picture of 1,000 columns, worst: ms", "long_trace", ("worst_ms",), 50, 1),
        Target("10^8 calls: memory of who reads pictures, MB", "long_trace", ("reader_mb",), 300, 0),
    ],
    "hooks": [
        Target(
            "a hook that matches nothing: × bare",
            "hooks",
            (*_NOTHING, "hook", "geomean"),
            1.03,
            others={"3.11": None},
            why=HUB,
        ),
        Target(
            "a watch that matches nothing: × bare",
            "hooks",
            (*_NOTHING, "watch", "geomean"),
            1.03,
            others={"3.11": None},
            why=HUB,
        ),
        Target("the empty profile hook: × bare", "hooks", (*_NOTHING, "floor profile", "geomean")),
        Target("hunter matching nothing: × bare", "hooks", (*_NOTHING, "hunter", "geomean"), digits=1),
        Target(
            "a hook on 1 call in 10,000, worst: × bare",
            "hooks",
            (*_RARE, "hook", "worst"),
            1.1,
            others={"3.11": None},
            why=HUB,
        ),
        Target(
            "a watch on 1 call in 10,000, worst: × bare",
            "hooks",
            (*_RARE, "watch", "worst"),
            1.1,
            others={"3.11": None},
            why=HUB,
        ),
        Target(
            "a Python callback: ÷ `sys.setprofile`",
            "hooks",
            (*_RELATIONS, "python ÷ sys.setprofile", "geomean"),
            1,
            why=HUB,
        ),
        Target("a C callback: ÷ floor", "hooks", (*_RELATIONS, "c ÷ floor c", "geomean"), 1.2, why=FRAME),
        Target(
            "a C callback: ÷ the empty profile hook",
            "hooks",
            (*_RELATIONS, "c ÷ floor profile", "geomean"),
            1.2,
            why=HUB,
        ),
        Target(
            "a second Python callback: ÷ the first",
            "hooks",
            (*_RELATIONS, "python, python", "geomean"),
            0.3,
            why=SECOND,
        ),
        Target("a second C callback: ÷ the first", "hooks", (*_RELATIONS, "c, c", "geomean"), 0.3, why=SECOND),
        Target(
            "a C callback next to a Python callback: ÷ alone",
            "hooks",
            (*_RELATIONS, "python, c", "geomean"),
            0.3,
            why=SECOND,
        ),
        Target("`seismo.cprofile`: ÷ cProfile", "cprofile", ("totals", "seismo", "geomean"), 1, sign="<", why=EVENT),
    ],
    "coverage": [
        Target(
            "lines: × bare",
            "coverage",
            ("totals", "seismo lines", "times"),
            1.05,
            others={"3.11": None},
            why=HUNDREDTHS,
        ),
        Target(
            "branches: × bare",
            "coverage",
            ("totals", "seismo branches", "times"),
            1.05,
            others={"3.11": None},
            why=HUNDREDTHS,
        ),
        Target(
            "lines, worst: time ÷ the fastest peer's",
            "coverage",
            ("against", "lines", "worst"),
            1,
            why=HUNDREDTHS,
        ),
        Target(
            "branches, worst: time ÷ the fastest peer's",
            "coverage",
            ("against", "branches", "worst"),
            1,
            why=HUNDREDTHS,
        ),
        Target(
            "lines: ÷ coverage.py's C tracer",
            "coverage",
            ("against", "lines ctrace", "added"),
            others={"3.11": 0.5},
            why=HUNDREDTHS,
        ),
        Target(
            "branches: ÷ coverage.py's C tracer",
            "coverage",
            ("against", "branches ctrace", "added"),
            others={"3.11": 0.5},
            why=HUNDREDTHS,
        ),
        Target("counts of hits: ÷ floor", "coverage", ("totals", "seismo counts", "to_floor"), 1.3, why=EVENT),
        Target(
            "a test suite with contexts: × bare",
            "coverage",
            ("suite", "packaging", "seismo lines, contexts", "times"),
            1.15,
            why=SUITE,
        ),
        Target(
            "the same suite under pytest-cov: × bare",
            "coverage",
            ("suite", "packaging", "pytest-cov ctrace lines, contexts", "times"),
        ),
        Target("start-up, ms added", "coverage", ("startup", "seismo lines", "added_median"), 25, 1, why=START),
    ],
    "lines": [
        Target("all lines: ÷ floor", "lines", ("totals", "seismo lines", "to_floor"), 1.6, why=EVENT),
        Target("line_profiler: × bare", "lines", ("slow_totals", "line_profiler", "times"), digits=1),
        Target("start-up, ms added", "lines", ("startup", "seismo lines", "added_median"), 25, 1, why=START),
    ],
    "objects": [
        Target("by type: ns an event", "objects", ("totals", "seismo types", "ns"), 5, 1, why=HEAP),
        Target("by line: ns an event", "objects", ("totals", "seismo lines", "ns"), 35, 1, why=HEAP),
        Target("the empty tracer: ns an event", "objects", ("totals", "floor references", "ns"), digits=1),
        Target("memray's object lifetimes: ns an event", "objects", ("totals", "memray", "ns"), digits=0),
        Target("deltablue, by line: × bare", "objects", (*_WHOLE, "seismo lines", "times"), 1.5),
        Target("deltablue under tracemalloc: × bare", "objects", (*_WHOLE, "tracemalloc", "times")),
        Target("deltablue under memray's object lifetimes: × bare", "objects", (*_WHOLE, "memray", "times")),
        Target(
            "table of living objects, worst: bytes an object",
            "objects",
            ("memory", "seismo lines", "worst"),
            40,
            1,
            why=BYTES,
        ),
        Target("start-up, ms added", "objects", ("startup", "seismo lines", "added_median"), 25, 1, why=START),
    ],
    "pages": [
        Target("page of 10,000 paths: kB", "browser", ("10000", "kB"), 900, 0),
        Target("page of 200,000 paths: kB", "browser", ("200000", "kB"), 6000, 0),
        Target("code in a page of calls: kB", "browser", ("code_kB",), 200, 0),
        Target("200,000 paths: first paint, ms", "browser", ("200000", "seismo", "first_paint_ms"), 1000, 0),
        Target("200,000 paths: a frame of zooming, p95: ms", "browser", _ZOOM, 8, 1, why=SHARED),
        Target("200,000 paths in speedscope: first paint, ms", "browser", (*_SPEEDSCOPE, "first_paint_ms"), digits=0),
        Target("200,000 paths in speedscope: a frame, p95: ms", "browser", (*_SPEEDSCOPE, "zoom_p95_ms"), digits=1),
        Target(
            "10^8 calls in `seismo view`: first paint, ms", "viewer", ("long", "first_paint_ms"), 1500, 0, why=SHARED
        ),
        Target("10^8 calls: a frame of zooming, p95: ms", "viewer", ("long", "zoom_p95_ms"), 16, 1),
        Target("10^8 calls: memory of the server, MB", "viewer", ("long", "server_mb"), 300, 0),
        Target("code of the viewer: kB", "viewer", ("code_kB",), 600, 0),
        Target("200,000 calls in `seismo view`: first paint, ms", "viewer", (*_VIEW, "first_paint_ms"), digits=0),
        Target("200,000 calls in Perfetto's page: first paint, ms", "viewer", (*_PERFETTO, "first_paint_ms"), digits=0),
        Target("200,000 calls in `seismo view`: a frame, p95: ms", "viewer", (*_VIEW, "zoom_p95_ms"), digits=1),
        Target("200,000 calls in Perfetto's page: a frame, p95: ms", "viewer", (*_PERFETTO, "zoom_p95_ms"), digits=1),
    ],
    "counts": [
        Target(
            "calls of Python functions, mean: added time ÷ the empty hook's",
            "starts",
            (*_STARTS, "geomean"),
            0.65,
            why=STARTS,
        ),
        Target("calls of Python functions, worst: added time ÷ the empty hook's", "starts", (*_STARTS, "worst")),
        Target(
            "an empty hook on starts alone, mean: ÷ the empty hook's", "starts", (*_PROGRAMS, "floor starts", "geomean")
        ),
        Target(
            "the same calls from all events, mean: ÷ the empty hook's",
            "starts",
            (*_PROGRAMS, "all events none", "geomean"),
        ),
        Target(
            "calls with all C functions, mean: ÷ the empty hook's on these",
            "starts",
            (*_PROGRAMS, "starts all", "geomean"),
        ),
        Target("the same calls under trace0, mean: ÷ the empty hook's", "starts", (*_PROGRAMS, "trace0", "geomean")),
        Target(
            "calls as by default under cProfile, mean: ÷ the empty hook's",
            "starts",
            (*_PROGRAMS, "cProfile", "geomean"),
            digits=1,
        ),
        Target(
            "whole processes, counts alone: ÷ cProfile", "whole_process", ("totals", "seismo counts", "to_cprofile")
        ),
        Target("`seismo check`: false alarms in 30 checks", "check", ("false_alarms",), 0, 0),
        Target("regressions found, of 10", "check", ("found",), 10, 0, sign="≥"),
        Target("regressions of which the right function is named first", "check", ("first",), 10, 0, sign="≥"),
        Target("calls and lines of a test suite: CPU × bare", "check", (*_COUNTED, "calls and lines"), 2),
        Target("births of a test suite: CPU × bare", "check", (*_COUNTED, "births"), 2),
        Target("`--against REV` of a small program: s", "check", ("cost", "small_against", "seconds"), digits=1),
        Target("`seismo query`, 10^7 calls: s to the first aggregate", "query", ("aggregate", "s"), 2),
        Target("the same: MB at its peak", "query", ("aggregate", "mb"), digits=0),
    ],
}
