"""The facts above a recording's numbers: what ran, when, how it was measured, and what was lost.

They are in plain words, because a reader must understand a loss to judge its effect on the numbers. The report, the
summary and `seismo info` share them; nothing is imported that the summary could not afford.
"""

from __future__ import annotations

import os

from seismo.escape import printable
from seismo.report import kind, waiting
from seismo.report.words import (
    Signs,
    beginning,
    cells,
    count,
    duration,
    is_unknown,
    number_of,
    pieces,
    shorten,
    wrapped,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.model import Recording
    from seismo.report.paper import Paper

HELD_UP = "held up"  # the label of what kept threads from running, which the opening states like what it took
LABEL = 10  # columns for the labels of the facts
_UNKNOWN = 2**62  # ns; a longer time stands for "unknown"

# The sentence for each kind of loss. {n} is its count, {s} and {es} the plural's ending, {time} the count as a time,
# {detail} the recorder's addition. A kind without one is described by its detail.
LOSSES = {
    "paths-folded": "{n} call{s} on paths beyond the limit: counted without their paths, under <folded paths>",
    "late-thread": "{n} thread{s} noticed late: the first calls on them are missing",
    "other-interpreters": "{n} interpreter{s} other than the main one (subinterpreters, InterpreterPoolExecutor) ran "
    "and were not recorded",
    "hook-lost": "the interpreter's hook was taken away {n} time{s}: what ran in the meantime is missing",
    "tool-id-lost": "another tool took the interpreter's hook {n} time{s}: what ran in the meantime is missing{detail}",
    "truncated": "the file is cut short: it has only what was flushed before its end{detail}",
    "journal-left-out": "{n} piece{s} of the trace's journal left out{detail}",
    "journal-damaged": "{n} block{s} of the trace's journal end early: what they held is missing",
    "chunk-bad": "{n} damaged piece{s} of the file left out{detail}",
    "out-of-memory": "memory ran out {n} time{s}: some calls are missing",
    "lines-outside": "{n} hit{s} of lines that are not in their functions' own line tables: counted on other lines",
    "instants-long": "{n} mark{s} or count{s} were too long to keep",
    "child-unrecorded": "{n} child process{es} could not be recorded{detail}",
    "child-unread": "{n} part{s} of child processes could not be read{detail}",
    "child-running": "{n} child process{es} still ran at the end: what they did is missing; seismo merge can add their "
    "parts{detail}",
    "matches-lost": "{n} match{es} lost: out of memory or stack, or showing it failed",
    "limit-reached": "the watch stopped after {n} match{es}: later ones are missing",
    "objects-lost": "{n} object{s} could not be followed for lack of memory: only their births are counted",
    "sites-full": "{n} birth{s} counted by type only: there was no room for more creating lines",
    "spans-lost": "{n} call{s} of the chosen functions could not be followed",
    "refs-taken": "another tool took the interpreter's hook {n} time{s}{detail}",
    "refs-blind": "births and deaths within {time} are missing{detail}",
}
# The same for kinds that are only notes: estimates, repairs, and assumptions about another tool's file.
NOTES = {
    "repaired": "the call stack was repaired {n} time{s} (coroutine switches or interpreter bugs)",
    "threads-folded": "{n} finished thread{s} folded: counted together with others of the same entry and name, apart "
    "from numbers",
    "caught-up": "the last {time} before the end are counted in the journal, which has no waiting: their times are "
    "divided as those before",
    "clock-drift": "the processor's counter drifted from the monotonic clock by more than 1 in 1,000, {n} time{s}",
    "sites-off": "{n} call site{s} disabled after calling the same function many times: later calls of C functions "
    "there are not counted ({at_least} where they are known)",
    "cython-unseen": "the interpreter's profile function does not report calls of Cython 3's functions: their "
    "time belongs to their callers",
    "cut-edges": "{n} event{s} may lie on the other side of an end of the window, between two readings of the clock",
    "calls-left-out": "{n} call{s} of the window left out when it was recorded: they are in no number here",
    "branches-unknown": "{n} branch{es} left out: the file does not have their targets",
    "tracers-dropped": "{n} file{s} traced by a plugin of coverage.py treated as Python",
    "paths-rebuilt": "paths rebuilt from {n} pair{s} of caller and callee{detail}",
    "calls-unended": "{n} matched call{s} had not ended when the watch did: counted, without a time",
    "objects-sampled": "the table of living objects was full: 1 in {n} of later objects was followed, and numbers "
    "marked {about} are estimated from these",
    "refs-trashcan": "this version of Python does not report the deaths of deeply nested containers: some objects "
    "shown as alive are dead",
    "refs-unspecialised": "while call paths are recorded, the interpreter makes a few more objects for calls than "
    "otherwise (tuples of arguments, bound methods, super objects)",
    "survivors-old": "objects left alive by the calls were last counted {time} before the last flush",
    "older-times": "made by an older version of seismo, which measured times in another way: they are approximate",
    "time-unexplained": "{time} of the threads' time is unattributed: it belongs to no recorded function",
    **dict.fromkeys(("calls-unknown", "errors-dropped", "unit-assumed"), ""),
}


def command_line(recording: Recording) -> str:
    """Return the program and its arguments as a shell command, or "" if they are unknown."""
    lines: dict[str, None] = {}
    for process in recording.processes:
        words = process.words
        if words:
            if os.path.basename(words[0]).startswith("python"):
                words[0] = "python"  # the exact interpreter is shown beside the time
            lines[" ".join(map(_quoted, words))] = None
    first = next(iter(lines), "")
    return printable(first + (f" and {number_of(len(lines) - 1, 'other program')}" if len(lines) > 1 else ""))


def _quoted(word: str) -> str:
    if word and all(char.isalnum() or char in "-_./=:,+%@^~" for char in word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def wall_ns(recording: Recording) -> float:
    """Return the time in ns in which at least one process ran, or 0 if unknown.

    Gaps between processes are not counted, because merged runs may be from different days.
    """
    processes = recording.processes
    since = min((start for start in processes["start_ns"] if start > 0), default=0) + _cut_from(recording)
    spans = sorted(
        (max(start, since), end)
        for start, end in zip(processes["start_ns"], processes["end_ns"], strict=True)
        if start > 0
    )
    wall = until = 0
    for start, end in spans:
        wall += max(0, end - max(start, until))
        until = max(until, end)
    return float(wall or max(recording.threads["wall_ns"], default=0))


def thread_count(recording: Recording) -> int:
    """Return the number of threads, including those that were folded into one row."""
    return sum(max(1, folded) for folded in recording.threads["folded"])


def first_process(recording: Recording) -> tuple[int, bool]:
    """Return the pid of the process that started first, or 0 if unknown, and whether it has ended in order."""
    first = min(recording.processes, key=lambda row: row.start_ns, default=None)
    return (first.pid, bool(first.exit)) if first else (0, False)


def gone(pid: int) -> bool:
    """Return True if no process on this machine has this pid; False for pid 0, which means unknown."""
    return pid > 0 and not os.path.exists(f"/proc/{pid}")


def cpu_ns(recording: Recording) -> int:
    """Return the CPU time of all threads that have one, in ns, or -1 if none has."""
    known = [cpu for cpu in recording.threads["cpu_ns"] if cpu >= 0]
    return sum(known) if known and any(known) else -1


def filter_words(recording: Recording) -> str:
    """Return the filter that the recording was limited by in words, or "" if there was none."""
    settings = recording.meta.get("settings")
    if is_watch(recording):
        expression = settings.get("expression") if isinstance(settings, dict) else None
        return f"only what matched {printable(expression) if isinstance(expression, str) else 'several expressions'}"
    if any(part.get("recorder") == "watch" for part in recording.parts):
        return "parts of it were made by seismo watch and hold only what matched there"
    where = settings.get("where") if isinstance(settings, dict) else None
    if not isinstance(where, str) or not where:
        return ""
    whom = kind.of(recording).others_are_in
    return f"only functions where {printable(where)}; the time of others is in {whom}"


def is_watch(recording: Recording) -> bool:
    """Return True if `seismo watch` made the recording, so that it holds single matches and nothing of other calls."""
    return recording.meta.get("recorder") == "watch"


def header(recording: Recording, signs: Signs) -> list[tuple[str, str]]:
    """Return the known facts as (label, sentence), in the order to show them."""
    ran = ", ".join(filter(None, (_when(recording), _interpreter(recording), _processes(recording))))
    facts = [fact for fact in (("program", command_line(recording)), ("ran", ran)) if fact[1]]
    facts += [("cut", part) for part in cuts(recording)]
    its = kind.of(recording)
    known = its.facts(recording, signs)
    facts += [fact for fact in known if fact[0] != "note"]
    facts += [("filter", words) for words in (filter_words(recording),) if words]
    facts += [fact for fact in known if fact[0] == "note"]
    facts += [("note", sentence) for loss, sentence in _sentences(recording, signs) if loss in NOTES]
    facts += [("lost", sentence) for sentence in losses(recording, signs)] or [("lost", "nothing")]
    return facts + ([("unseen", its.unseen)] if its.unseen else [])


def _cut_from(recording: Recording) -> int:
    """Return the start of a part of a recording, in ns from the start of its first process; 0 if it is whole."""
    parts = recording.meta.get("cut")
    starts = [part.get("from_ns") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return max((start for start in starts if isinstance(start, int)), default=0)


def cuts(recording: Recording) -> list[str]:
    """Return the ranges of the longer recording that this one was cut from."""
    parts = recording.meta.get("cut")
    ranges = []
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and isinstance(part.get("from_ns"), int) and isinstance(part.get("to_ns"), int):
            only = f", only calls where {printable(str(part['where']))}" if part.get("where") else ""
            ranges.append(f"from {part['from_ns'] / 1e9:,.6f} s to {part['to_ns'] / 1e9:,.6f} s of the recording{only}")
    return ranges


def _when(recording: Recording) -> str:
    starts = [start for start in recording.processes["start_ns"] if start > 0]
    when = _moment(min(starts), "%Y-%m-%d %H:%M:%S") if starts else ""
    return f"{when} UTC" if when else ""


def _moment(unix_ns: int, form: str) -> str:
    """Return a moment in UTC in a form of strftime, or "" if it is out of range: of a wrong clock or a damaged file."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(unix_ns // 10**9, UTC).strftime(form)
    except (OverflowError, ValueError, OSError):
        return ""


def _interpreter(recording: Recording) -> str:
    meta = recording.meta
    implementation = str(meta.get("implementation") or "")
    implementation = {"cpython": "CPython", "pypy": "PyPy"}.get(implementation, implementation)
    version = " ".join(str(part) for part in (implementation, meta.get("python")) if part)
    system = f" on {meta['platform']}" if version and meta.get("platform") else ""
    return printable(version + system)


def _processes(recording: Recording) -> str:
    rows = list(recording.processes)
    if len(rows) > 1:
        return number_of(len(rows), "process", "processes")
    if not rows or rows[0].pid <= 0:
        return ""
    exit_words = str(rows[0].exit)
    return printable(f"pid {rows[0].pid}" + (f", exit {exit_words}" if exit_words not in ("", "0") else ""))


def took(recording: Recording, signs: Signs, threads: bool = True) -> tuple[str, str]:
    """Return the fact "took": wall time, CPU time, and the number of threads if `threads`."""
    wall, cpu = wall_ns(recording), cpu_ns(recording)
    own = sum(recording.functions["own_ns"])
    parts = [f"{duration(wall, signs)} wall" if wall > 0 else f"{duration(own, signs)} in functions"]
    parts += [f"{duration(cpu, signs)} CPU"] if cpu >= 0 else []
    parts += [number_of(max(1, thread_count(recording)), "thread")] if threads else []
    return "took", ", ".join(parts)


def waited(recording: Recording, signs: Signs) -> list[tuple[str, str]]:
    """Return the fact "waiting" if the threads waited notably."""
    words = waiting.sentence(recording, signs)
    return [("waiting", words)] if words else []


def sources(recording: Recording) -> str:
    """Return the hooks that recorded it, or "" if the recording has none."""
    names = sorted({str(row.source) for row in recording.processes if row.source})
    return printable(" and ".join(names))


def clock(recording: Recording, signs: Signs) -> list[str]:
    """Return the clock and the cost of reading it; empty if the recording names no clock."""
    rows = list(recording.processes)
    names = sorted({str(row.clock).partition(":")[0] for row in rows if row.clock})  # without the reason for its choice
    if not names:
        return []
    read = max((row.clock_ns for row in rows), default=0)
    cost = f", {duration(read, signs)} a read" if read > 0 else ""
    return [f"clock: {printable(' and '.join(names))}{cost}"]


def doubt(recording: Recording, signs: Signs) -> list[str]:
    """Return the meaning of the times' errors and of upper bounds, if any time has one."""
    rows = recording.timed_rows
    times = list(zip(rows["own_ns"], rows["own_error_ns"], strict=True))
    if not any(error > 0 for _, error in times):
        return []
    bounds = "; < is an upper bound" if any(is_unknown(ns, error) for ns, error in times) else ""
    return [f"times exclude the cost of measuring; {signs.error} holds in 19 of 20 cases{bounds}"]


def calls(recording: Recording) -> str:
    """Return the number of calls, functions, paths and resumes in words."""
    functions = recording.functions
    total = sum(functions["calls"])
    at_least = "at least " if any(functions["lower_bound"]) else ""
    resumes = sum(functions["resumes"])
    unknown = any(str(kind) == "calls-unknown" for kind in recording.losses["kind"])
    words = "unknown" if unknown and not total else f"{at_least}{number_of(total, 'call')}"
    words += f" of {number_of(len(functions), 'function')} on {number_of(recording.path_count, 'path')}"
    return words + (f", {count(resumes)} resumes of generators and coroutines" if resumes else "")


def losses(recording: Recording, signs: Signs) -> list[str]:
    """Return one sentence for each kind of loss and each problem of reading; empty if nothing is lost."""
    lost = [sentence for loss, sentence in _sentences(recording, signs) if loss not in NOTES]
    return lost + [printable(problem) for problem in _other_problems(recording.problems, lost)]


def unended(recording: Recording, signs: Signs) -> list[str]:
    """Return sentences on the missing end of a recording; empty if it has one."""
    return [sentence for loss, sentence in _sentences(recording, signs) if loss in ("cut-short", "truncated")]


def incomplete(signs: Signs, *recordings: tuple[str, Recording]) -> list[tuple[str, str]]:
    """Return facts for the named recordings that are damaged or have no end, and so hold only a part."""
    facts = []
    for name, recording in recordings:
        missing = unended(recording, signs)
        lacks = [*missing, *map(printable, _other_problems(recording.problems, missing))]
        facts += [("lost", f"{printable(name)}: {sentence}" if name else sentence) for sentence in lacks]
    return facts


def _since(recording: Recording, name: str, signs: Signs) -> str:
    """Return since when this process's events are missing: the time of the last write of its file."""
    for row in recording.processes:
        time = _moment(row.end_ns, "%H:%M:%S")
        if f"process {row.pid}" == name and row.end_ns >= row.start_ns > 0 and time:
            ran = duration(row.end_ns - row.start_ns, signs)
            return f"after {time}.{row.end_ns // 10**8 % 10} UTC ({ran} after its start)"
    return "last"


def _end_missing(recording: Recording, names: list[str], signs: Signs) -> str:
    if len(names) == 1:
        who, what = names[0], f"what it did {_since(recording, names[0], signs)} is missing"
        return printable(f"the end is missing ({who} was killed, could not write, or still runs): {what}")
    what = "; ".join(f"what {name} did {_since(recording, name, signs)}" for name in names[:2])
    more = f"; and the ends of {len(names) - 2:,} more" if len(names) > 2 else ""
    count = f"{len(names):,} processes were killed, could not write, or still run"
    return printable(f"the end is missing ({count}): {what}{more}")


def _sentences(recording: Recording, signs: Signs) -> list[tuple[str, str]]:
    summed: dict[str, int] = {}
    details: dict[str, list[str]] = {}
    for row in recording.losses:
        loss = str(row.kind)
        summed[loss] = summed.get(loss, 0) + int(row.count)
        detail = str(row.detail)
        if detail and detail not in details.setdefault(loss, []):
            details[loss].append(detail)
    return [
        (
            loss,
            _end_missing(recording, details.get(loss, [""]), signs)
            if loss == "cut-short"
            else _loss(loss, number, details.get(loss, []), signs),
        )
        for loss, number in summed.items()
        if number
    ]


def _loss(loss: str, number: int, details: list[str], signs: Signs) -> str:
    shown = "; ".join(details[:2]) + (f" and {len(details) - 2:,} more" if len(details) > 2 else "")
    pattern = LOSSES.get(loss) or NOTES.get(loss)
    if not pattern:
        many = f"{number:,} times: " if number > 1 else ""
        return printable(f"{many}{shown}" if shown else f"{loss}: {number:,}")
    return printable(
        pattern.format(
            n=f"{number:,}",
            s="" if number == 1 else "s",
            es="" if number == 1 else "es",
            time=duration(number, signs) if number < _UNKNOWN else "an unknown time",
            detail=f": {shown}" if shown else "",
            at_least=signs.at_least,
            about=signs.about,
        )
    )


def _other_problems(problems: Iterable[str], sentences: list[str]) -> list[str]:
    """Return the reader's problems that no loss mentions, at most five."""
    new = [problem for problem in problems if not any(problem in sentence for sentence in sentences)]
    return new[:5] + ([f"and {number_of(len(new) - 5, 'more problem')} (see seismo info)"] if len(new) > 5 else [])


def time_taken(recording: Recording, signs: Signs, idle_ns: int = 0) -> str:
    """Return how long the program took, on how many threads, how many ran at once, and how much they ran and waited.

    recording: without idle time. idle_ns: that time.
    """
    threads, cpu = thread_count(recording), cpu_ns(recording)
    took = wall_ns(recording) or sum(recording.functions["own_ns"])
    words = f"took {duration(took, signs)}"
    if is_watch(recording):
        return words
    words += f" on {threads:,} threads" if threads > 1 else ""
    waited_ns = 0 if recording.timeless else sum(recording.timed_rows["wait_ns"])
    parallel = len(recording.processes) == 1 and cpu > 1.05 * took
    at_once = f" ({cpu / took:.1f} threads at once)" if parallel else ""
    parts = [f"{duration(cpu, signs)} running{at_once}"] if cpu >= 0 else []
    parts += [f"{duration(ns, signs)} {what}" for ns, what in ((waited_ns, "waiting"), (idle_ns, "idle")) if ns]
    return f"{words}: {', '.join(parts)}" if parts else words


def write_opening(paper: Paper, recording: Recording, words: str) -> None:
    """Write the command line with `words` about it, and a line for each filter, cut and loss."""
    signs = paper.signs
    program = command_line(recording)
    if program:
        program = shorten(program, max(20, paper.width - cells(words) - 2), signs) + "  "
    for line in wrapped(program + words, paper.width):
        paper.line((line, "strong"))
    filtered, lost = filter_words(recording), losses(recording, signs)
    for sentence in [*cuts(recording), *([filtered] if filtered else [])]:
        paper.line((beginning(sentence, paper.width, signs), "quiet"))
    if lost:
        more = f" (and {number_of(len(lost) - 1, 'more loss', 'more losses')}: see the notes)" if len(lost) > 1 else ""
        paper.line((beginning(f"lost: {lost[0]}", paper.width - len(more), signs) + more, "warning"))


def write_notes(paper: Paper, facts: list[tuple[str, str]]) -> None:
    """Write the notes: when and how the recording was made, and what it lacks."""
    paper.line()
    paper.line(("Notes", "title"))
    write_facts(paper, [fact for fact in facts if fact[0] not in ("took", HELD_UP)])


def write_facts(paper: Paper, facts: list[tuple[str, str]]) -> None:
    """Write labels and their sentences, wrapped beside the labels. A run of equal labels shows the first only."""
    before = ""
    least = max([LABEL, *(len(label) + 2 for label, _ in facts)])
    for label, sentence in facts:
        style = "warning" if label == "lost" and sentence != "nothing" else ""
        room = paper.width - least
        lines = [part for line in wrapped(sentence, room) for part in pieces(line, room, paper.signs)]
        for index, line in enumerate(lines):
            shown = label if index == 0 and label != before else ""
            paper.line((f"{shown:<{least}}", "label"), (line, style))
        before = label
