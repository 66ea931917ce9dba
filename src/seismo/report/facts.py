"""What there is to say about a recording before its numbers: what ran, when, how it was measured, what was lost.

In plain words, because a reader who does not know what a loss means cannot judge what it does to the numbers. Shared by
the report, the summary and `seismo info`; no import that the summary could not afford.
"""

from __future__ import annotations

import os

from seismo.escape import printable
from seismo.report import waiting
from seismo.report.objects import facts as object_facts
from seismo.report.words import Signs, count, duration, number_of, pieces, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.model import Recording
    from seismo.report.paper import Paper

# What is good to know, but no loss: estimates, repairs, and what a reader of another tool's file had to assume.
NOTES = (
    "sites-off",
    "repaired",
    "cython-unseen",
    "time-unexplained",
    "threads-folded",
    "clock-drift",
    "calls-unknown",
    "unit-assumed",
    "paths-rebuilt",
    "errors-dropped",
    "branches-unknown",
    "tracers-dropped",
    "calls-unended",
    "objects-sampled",
    "refs-trashcan",
    "refs-unspecialised",
    "survivors-old",
)

LABEL = 10  # columns that the labels of the facts take
_UNKNOWN = 2**62  # a time that is longer is none

# For each kind the words for it; {n} is its count, {s} and {es} the plural's, {time} the count as a time, {detail} what
# the recorder adds. A kind that is not here is told by its detail.
LOSSES = {
    "paths-folded": "{n} call{s} came after the limit on distinct paths: counted, but flat, under <folded paths>",
    "repaired": "the call stack was put right {n} time{s} (coroutine switches or interpreter bugs)",
    "threads-folded": "{n} finished thread{s} folded: counted with others of their name, numbers left out, and entry",
    "late-thread": "{n} thread{s} noticed late: the first calls on them are missing",
    "other-interpreters": "{n} interpreter{s} besides the main one (subinterpreters, InterpreterPoolExecutor) ran "
    "unrecorded",
    "hook-lost": "the interpreter's hook was taken away {n} time{s}: what ran meanwhile is missing",
    "tool-id-lost": "another tool took the interpreter's hook {n} time{s}: what ran meanwhile is missing{detail}",
    "cut-short": "the end is missing ({detail} was killed, could not write, or still runs): what happened in up to "
    "{time} before that, and the call that was under way, is not here",
    "clock-drift": "the processor's counter ran off the monotonic clock {n} time{s} by more than 1 in 1,000",
    "write-failed": "the file could not be written {n} time{s}{detail}",
    "sites-off": "{n} call site{s} that had long called one function switched off: C functions called there since are "
    "not counted ({at_least} where they are known)",
    "cython-unseen": "the interpreter's profile function does not report calls of Cython 3's functions: their time is "
    "their callers'",
    "truncated": "the file is cut short: only what was flushed before its end is here{detail}",
    "chunk-bad": "{n} damaged piece{s} of the file left out{detail}",
    "out-of-memory": "memory ran out {n} time{s}: some calls are missing",
    "lines-outside": "{n} hit{s} of lines that are not in their functions' own line tables: counted on other lines",
    "branches-unknown": "{n} branch{es} left out: the file does not say where they lead",
    "tracers-dropped": "{n} file{s} that a plugin of coverage.py traced taken for Python",
    "paths-rebuilt": "paths rebuilt from {n} pair{s} of caller and callee{detail}",
    "child-unrecorded": "{n} child process{es} could not be recorded{detail}",
    "child-unread": "{n} part{s} of child processes could not be read{detail}",
    "child-running": "{n} child process{es} still ran at the end: what they did is not here, but in parts that "
    "seismo merge adds{detail}",
    "calls-unended": "{n} matched call{s} had not ended when the watch did: counted, without a time",
    "matches-lost": "{n} match{es} lost: no memory, no room on the stack, or an answer that failed",
    "limit-reached": "the watch stopped after {n} match{es}: later ones are missing",
    "objects-sampled": "the table of live objects was full: of later ones 1 in {n} was followed, and what is marked "
    "{about} is estimated from these",
    "objects-lost": "{n} object{s} could not be followed for want of memory: their births are counted, no more",
    "sites-full": "{n} birth{s} counted by type only: there was no room for more creating lines",
    "spans-lost": "{n} call{s} of the functions that were asked for could not be followed",
    "refs-taken": "another tool took the interpreter's hook {n} time{s}{detail}",
    "refs-blind": "births and deaths within {time} are missing{detail}",
    "refs-trashcan": "this version of Python does not tell when deeply nested containers die: some of what is shown as "
    "live is not",
    "refs-unspecialised": "with call paths the interpreter makes some objects for calls that it makes without any in "
    "the bare program (tuples of arguments, bound methods, super objects)",
    "survivors-old": "what the calls left alive was counted for the last time {time} before the last flush",
    "time-unexplained": "{time} of the threads' time belong to no recorded function",
}


def command_line(recording: Recording) -> str:
    """The program and its arguments as one would type them; empty when the recording does not say."""
    lines: dict[str, None] = {}
    for process in recording.processes:
        words = _words(str(process.argv))
        if words:
            if os.path.basename(words[0]).startswith("python"):
                words[0] = "python"  # which one is told beside the time
            lines[" ".join(map(_quoted, words))] = None
    first = next(iter(lines), "")
    return printable(first + (f" and {number_of(len(lines) - 1, 'other program')}" if len(lines) > 1 else ""))


def _words(argv: str) -> list[str]:
    import json

    try:
        words = json.loads(argv) if argv else []
    except (ValueError, RecursionError):
        return [argv]
    return [str(word) for word in words] if isinstance(words, list) else [argv]


def _quoted(word: str) -> str:
    if word and all(char.isalnum() or char in "-_./=:,+%@^~" for char in word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def wall_ns(recording: Recording) -> float:
    """The time in which at least one of the processes ran, in ns; 0 when unknown. Runs may lie days apart."""
    processes = recording.processes
    spans = sorted(
        (start, end) for start, end in zip(processes["start_ns"], processes["end_ns"], strict=True) if start > 0
    )
    wall = until = 0
    for start, end in spans:
        wall += max(0, end - max(start, until))
        until = max(until, end)
    return float(wall or max(recording.threads["wall_ns"], default=0))


def thread_count(recording: Recording) -> int:
    """How many threads there were; a row may stand for several."""
    return sum(max(1, folded) for folded in recording.threads["folded"])


def cpu_ns(recording: Recording) -> int:
    """The CPU time of all threads that have one, in ns; -1 when none has."""
    known = [cpu for cpu in recording.threads["cpu_ns"] if cpu >= 0]
    return sum(known) if known and any(known) else -1


def filter_words(recording: Recording) -> str:
    """Which functions the recording was limited to; empty: to none."""
    settings = recording.meta.get("settings")
    if is_watch(recording):
        expression = settings.get("expression") if isinstance(settings, dict) else None
        return f"only what matched {printable(expression) if isinstance(expression, str) else 'several expressions'}"
    merged = recording.meta.get("merged")
    parts = [part for part in merged if isinstance(part, dict)] if isinstance(merged, list) else []
    if any(part.get("recorder") == "watch" for part in parts):
        return "parts of it were made by seismo watch and hold only what matched there"
    where = settings.get("where") if isinstance(settings, dict) else None
    if not isinstance(where, str) or not where:
        return ""
    whom = "the lines that called them" if recording.kind == "linetimes" else "their callers' own time"
    return f"only functions where {printable(where)}; the time of others is in {whom}"


def without_c(recording: Recording) -> str:
    """How it is that no process recorded C functions, "default" or "asked"; empty: one did, or it is not known."""
    sources = {str(row.source) for row in recording.processes}
    if recording.kind != "calltree" or not sources:
        return ""
    merged = recording.meta.get("merged")
    parts = [part for part in merged if isinstance(part, dict)] if isinstance(merged, list) else []
    asked = [part.get("settings") for part in parts or [recording.meta]]
    if all(isinstance(settings, dict) and settings.get("c_functions") == "none" for settings in asked):
        return "asked"
    return "default" if sources == {"evalframe"} else ""


def is_watch(recording: Recording) -> bool:
    """Whether `seismo watch` made it: it then holds matches, function by function, and calls nothing of the others."""
    return recording.meta.get("recorder") == "watch"


def header(recording: Recording, signs: Signs) -> list[tuple[str, str]]:
    """The facts as (label, sentence), in the order to show them; what the recording does not say is left out."""
    facts: list[tuple[str, str]] = []
    program = command_line(recording)
    if program:
        facts.append(("program", program))
    ran = ", ".join(part for part in (_when(recording), _interpreter(recording), _processes(recording)) if part)
    if ran:
        facts.append(("ran", ran))
    if recording.kind == "coverage":
        facts += _covered(recording, signs)
        measured = _how_covered(recording)
    else:
        facts.append(("took", _took(recording, signs)))
        if recording.kind == "linetimes":
            facts.append(("lines", _timed_lines(recording)))
        elif recording.kind == "lifetimes":
            facts += object_facts.facts(recording, signs)
        waited = waiting.sentence(recording, signs)
        facts += [("waiting", waited)] if waited else []
        if recording.kind not in ("linetimes", "lifetimes") or any(recording.functions["calls"]):
            facts.append(("matches", _matches(recording)) if is_watch(recording) else ("calls", _calls(recording)))
        measured = how_measured(recording, signs)
    if measured:
        facts.append(("measured", measured))
    filtered = filter_words(recording)
    if filtered:
        facts.append(("filter", filtered))
    facts += [("note", sentence) for sentence in notes(recording, signs)]
    facts += [("lost", sentence) for sentence in losses(recording, signs)] or [("lost", "nothing")]
    if recording.kind == "lifetimes":
        facts.append(("unseen", object_facts.UNTOLD))
    return facts


def _when(recording: Recording) -> str:
    starts = [start for start in recording.processes["start_ns"] if start > 0]
    if not starts:
        return ""
    from datetime import UTC, datetime

    try:
        return f"{datetime.fromtimestamp(min(starts) / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):  # a clock or a file far off
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


def _took(recording: Recording, signs: Signs) -> str:
    parts = []
    wall, cpu = wall_ns(recording), cpu_ns(recording)
    own = sum(recording.functions["own_ns"])
    parts.append(f"{duration(wall, signs)} wall" if wall > 0 else f"{duration(own, signs)} in functions")
    if cpu >= 0:
        parts.append(f"{duration(cpu, signs)} CPU")
    one_for_all = is_watch(recording) or (recording.kind == "lifetimes" and not len(recording.tree))
    if not one_for_all:
        parts.append(number_of(max(1, thread_count(recording)), "thread"))
    return ", ".join(parts)


def _calls(recording: Recording) -> str:
    functions = recording.functions
    total = sum(functions["calls"])
    at_least = "at least " if any(functions["lower_bound"]) else ""
    resumes = sum(functions["resumes"])
    unknown = any(str(kind) == "calls-unknown" for kind in recording.losses["kind"])
    words = "unknown" if unknown and not total else f"{at_least}{number_of(total, 'call')}"
    words += f" of {number_of(len(functions), 'function')}"
    words += f" on {number_of(len(recording.tree), 'path')}"
    return words + (f", {count(resumes)} resumes of generators and coroutines" if resumes else "")


def _timed_lines(recording: Recording) -> str:
    kinds, files = recording.functions["kind"], recording.functions["file"]
    rows = [(row.hits, row.function) for row in recording.lines if kinds[row.function] == 0]
    functions = {function for _, function in rows}
    words = f"{number_of(sum(hits for hits, _ in rows), 'hit')} of {number_of(len(rows), 'line')}"
    words += f" in {number_of(len(functions), 'function')}"
    return words + f" of {number_of(len({files[function] for function in functions}), 'file')}"


def _covered(recording: Recording, signs: Signs) -> list[tuple[str, str]]:
    """What a recording of coverage holds."""
    wall = wall_ns(recording)
    facts = [("took", f"{duration(wall, signs)} wall")] if wall > 0 else []
    # One line may have several rows: of several code objects, or of one that was loaded as __main__ and by its name.
    files, lines = recording.functions["file"], recording.lines
    executed = {(files[function], line) for function, line in zip(lines["function"], lines["line"], strict=True)}
    words = f"{number_of(len(executed), 'line')} of {number_of(len({file for file, _ in executed}), 'file')}"
    facts.append(("executed", words))
    names = [name for name in recording.contexts["name"] if name]
    if names:
        facts.append(("contexts", number_of(len(names), "context")))
    return facts


def _how_covered(recording: Recording) -> str:
    sources = sorted({str(row.source) for row in recording.processes if row.source})
    merged = recording.meta.get("merged")
    parts = [part for part in merged if isinstance(part, dict)] if isinstance(merged, list) else []
    parts = parts or [recording.meta]
    counted = "how often each line ran" if all(part.get("counts") for part in parts) else "whether each line ran"
    if any(
        part.get("branch") for part in parts
    ):  # their number is the sources' to tell: not each recorded step is a branch
        counted += ", and which branches were taken"
    return f"{counted} (source: {printable(' and '.join(sources))})" if sources else ""


def _matches(recording: Recording) -> str:
    functions = recording.functions
    total = number_of(sum(functions["calls"]), "match", "matches")
    return f"{total} in {number_of(len(functions), 'function')}, shown as calls"


def how_measured(recording: Recording, signs: Signs) -> str:
    """By which source and clock, and what the times are worth; empty for a recording that does not say."""
    rows = list(recording.processes)
    sources = sorted({str(row.source) for row in rows if row.source})
    clocks = sorted({str(row.clock).partition(":")[0] for row in rows if row.clock})  # without why it was chosen
    parts = []
    if recording.kind == "lifetimes":
        parts.append(object_facts.how_measured(recording, signs))
    elif is_watch(recording):
        parts.append("every match counted, every matched call timed, the cost of watching included")
        parts.append("each function stands alone: own and total are its time without matched calls inside")
    elif sources and recording.kind == "linetimes":
        parts.append(f"every hit counted (source: {printable(' and '.join(sources))})")
    elif sources:
        parts.append(f"every call counted{_exceptions(recording, signs)} (source: {printable(' and '.join(sources))})")
    if clocks and recording.kind != "lifetimes":
        read = max((row.clock_ns for row in rows), default=0)
        cost = f", {duration(read, signs)} a read" if read > 0 else ""
        parts.append(f"clock: {printable(' and '.join(clocks))}{cost}")
    timed = recording.lines if recording.kind == "linetimes" else recording.functions
    if recording.kind == "lifetimes" and any(timed["calls"]):
        parts.append("times of calls include the counting of objects")
    elif any(error > 0 for error in timed["own_error_ns"]):
        parts.append(f"times less the cost of measuring, {signs.error} in 19 of 20 cases")
    return "; ".join(parts)


def _exceptions(recording: Recording, signs: Signs) -> str:
    """Which calls were not counted, in a few words: the notes and losses have more."""
    words = [f"where {signs.at_least} stands"] if any(recording.functions["lower_bound"]) else []
    words += ["what was lost"] if losses(recording, signs) else []
    return f" except {' and '.join(words)}" if words else ""


def notes(recording: Recording, signs: Signs) -> list[str]:
    """What was estimated or repaired, a sentence a kind."""
    said = object_facts.notes(recording) if recording.kind == "lifetimes" else []
    without = without_c(recording)
    if without:
        why = ", but makes every instruction slow on 3.11" if without == "default" else ""
        said.append(f"C functions were left out: their time is their callers' (--c-functions all records them{why})")
    return said + [sentence for kind, sentence in _sentences(recording, signs) if kind in NOTES]


def losses(recording: Recording, signs: Signs) -> list[str]:
    """What the recording lacks, a sentence a kind and a problem of its reading; empty when nothing is lost."""
    lost = [sentence for kind, sentence in _sentences(recording, signs) if kind not in NOTES]
    return lost + [printable(problem) for problem in _other_problems(recording.problems, lost)]


def unended(signs: Signs, *recordings: tuple[str, Recording]) -> list[tuple[str, str]]:
    """Of recordings with what they are called: which have no end, as facts to write beside what is shown of them."""
    return [
        ("lost", f"{name}: {sentence}" if name else sentence)
        for name, recording in recordings
        for kind, sentence in _sentences(recording, signs)
        if kind in ("cut-short", "truncated")
    ]


def _sentences(recording: Recording, signs: Signs) -> list[tuple[str, str]]:
    summed: dict[str, int] = {}
    details: dict[str, list[str]] = {}
    for row in recording.losses:
        kind = str(row.kind)
        summed[kind] = summed.get(kind, 0) + int(row.count)
        detail = str(row.detail)
        if detail and detail not in details.setdefault(kind, []):
            details[kind].append(detail)
    return [(kind, _loss(kind, number, details.get(kind, []), signs)) for kind, number in summed.items() if number]


def _loss(kind: str, number: int, details: list[str], signs: Signs) -> str:
    shown = "; ".join(details[:2]) + (f" and {len(details) - 2:,} more" if len(details) > 2 else "")
    pattern = LOSSES.get(kind)
    if pattern is None:
        many = f"{number:,} times: " if number > 1 else ""
        return printable(f"{many}{shown}" if shown else f"{kind}: {number:,}")
    return printable(
        pattern.format(
            n=f"{number:,}",
            s="" if number == 1 else "s",
            es="" if number == 1 else "es",
            time=duration(number, signs) if number < _UNKNOWN else "an unknown time",
            detail=shown if kind == "cut-short" else f": {shown}" if shown else "",
            at_least=signs.at_least,
            about=signs.about,
        )
    )


def _other_problems(problems: Iterable[str], said: list[str]) -> list[str]:
    """The reader's problems that no loss has already told, at most five of them."""
    new = [problem for problem in problems if not any(problem in sentence for sentence in said)]
    return new[:5] + ([f"and {len(new) - 5:,} more problems (see seismo info)"] if len(new) > 5 else [])


def write_facts(paper: Paper, facts: list[tuple[str, str]]) -> None:
    """Writes labels and their sentences, the sentences wrapped beside the labels; a label is written once a run."""
    before = ""
    for label, sentence in facts:
        style = "warning" if label == "lost" and sentence != "nothing" else ""
        room = paper.width - LABEL
        lines = [part for line in wrapped(sentence, room) for part in pieces(line, room, paper.signs)]
        for index, line in enumerate(lines):
            shown = label if index == 0 and label != before else ""
            paper.line((f"{shown:<{LABEL}}", "label"), (line, style))
        before = label
