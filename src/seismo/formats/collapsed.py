"""Collapsed stacks: one line per path, `a;b;c WEIGHT`, for flamegraph.pl, inferno, speedscope and gprof2dot.

The weight is the own time of the path's last function in ns, or in a second format its calls. A function's name is
repeated on each of its paths, so it is short: `module:qualname` or `module:qualname (C)`. If several functions share
the name, it is `module:qualname (:line)` or, if that is ambiguous, the word of function_names.py with file and line. A
third format has these words for all functions. If there are several threads, each stack begins with `<thread ID NAME>`,
and if there are several processes, with `<process PID>`.

For a recording of objects the stacks are those of allocation_stacks.py: the last frame is a type, and the weight is
selectable.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TextIO

from seismo.formats.allocation_stacks import stacks
from seismo.formats.base import MAX_DEPTH, Format, number, whole
from seismo.formats.call_path_builder import ROOT, Paths
from seismo.formats.call_trees import DEEPER, CallTrees, bounded_paths, frames, pids
from seismo.formats.function_names import PYTHON, C, Frame, escape, parse, unescape, word
from seismo.model import Builder, Recording
from seismo.recording_kinds import CALLS as OF_CALLS
from seismo.recording_kinds import OBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIME = "own_ns"
_OF_C = " (C)"
# A function with its file and line, as only the long names have them, and the endings of short names.
_WITH_FILE = re.compile(r" \([^;\n:][^;\n]*:[0-9]+\)(?:;| [0-9.]+$)", re.MULTILINE)
_SHORT = re.compile(r" \((?:C|:[0-9]+)\)(?:;| [0-9.]+$)", re.MULTILINE)

_PROCESS = re.compile(r"<process (-?[0-9]{1,18})>\Z")
_THREAD = re.compile(r"(?s)<thread (-?[0-9]{1,18}) (.*)>\Z")


def _write(recording: Recording, out: TextIO, weight: str, places: bool = False) -> None:
    """Write the stacks. weight: a column of the tree; places: True for the file and line of each function."""
    forest = CallTrees(recording)
    functions = frames(recording)
    words = [*(map(word, functions) if places else _short(functions)), word(DEEPER)]
    column = recording.tree[weight]
    begin = _beginnings(recording, forest)
    for thread in forest.busy_threads():
        for path, (amount,) in bounded_paths(forest, thread, lambda row: (number(column[row]),)):
            if amount:
                out.write(f"{';'.join([*begin[thread], *(words[row] for row in path)])} {amount}\n")


def _short(functions: list[Frame]) -> Iterator[str]:
    """Yield the functions' short names, which are distinct for different functions."""
    named: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for frame in functions:
        if frame.kind == PYTHON:
            named.setdefault((frame.module, frame.qualname), set()).add((frame.file, frame.line))
    for frame in functions:
        places = named.get((frame.module, frame.qualname), set())
        if frame.kind == PYTHON and len(places) > 1:
            alone = frame.line > 0 and sum(line == frame.line for _, line in places) == 1
            yield word(frame._replace(file="") if alone else frame)
        else:
            bare = word(frame._replace(file="", line=0))
            yield bare + _OF_C if frame.kind == C else bare


def _write_objects(recording: Recording, out: TextIO, weight: str) -> None:
    shown = lru_cache(None)(word)
    out.writelines(f"{';'.join(map(shown, stack))} {amount}\n" for stack, amount in stacks(recording, weight).items())


def _beginnings(recording: Recording, forest: CallTrees) -> list[list[str]]:
    """Return the start of each thread's stacks: nothing, or frames that identify the thread."""
    busy = forest.busy_threads()
    processes = pids(recording)
    several = len({processes[thread] for thread in busy}) > 1
    begin = []
    for row, pid in zip(recording.threads, processes, strict=True):
        parts = [f"<process {pid}>"] if several else []
        if len(busy) > 1:
            parts.append(f"<thread {row.native_id} {escape(row.name)}>")
        begin.append(parts)
    return begin


_WEIGHT = re.compile(r"[0-9]{1,19}(?:\.[0-9]{1,9})?\Z")


def _read(data: bytes, source: str, weight: str) -> Recording:
    """Read collapsed stacks. weight: the column of the tree that has it."""
    builder = Builder()
    paths = Paths(builder)
    content = data.decode("utf-8", "replace")
    # If functions have files, one without is a C function. If C functions are marked, it is a Python function.
    bare = C if _WITH_FILE.search(content) and not _SHORT.search(content) else PYTHON
    function = lru_cache(None)(lambda text: paths.function(_frame(text, bare)))
    for place, line in enumerate(content.split("\n"), 1):
        stack, space, amount = line.rstrip("\r").rpartition(" ")
        if not space and not amount:
            continue
        if not stack or not _WEIGHT.match(amount):
            raise ValueError(f"line {place} does not end with a space and a number")
        thread, words = _thread(paths, stack.split(";"))
        node = ROOT
        for text in words:
            node = paths.child(thread, node, function(text))
        if node != ROOT:  # else it is only a thread's marker
            paths.columns[weight][node] += whole(float(amount) if "." in amount else int(amount), "a weight")
    if weight == _TIME:
        builder.loss("calls-unknown", 1, "collapsed stacks have weights and no calls")
        builder.loss("unit-assumed", 1, "the weights were taken for ns")
    return paths.build(source)


def _frame(text: str, bare: int) -> Frame:
    """Return the function of a word. bare: the kind of a function with a module but neither a place nor a mark."""
    if text.endswith(_OF_C):
        return parse(text.removesuffix(_OF_C))._replace(kind=C)
    frame = parse(text)
    return frame._replace(kind=bare) if frame.kind == C else frame


def _thread(paths: Paths, words: list[str]) -> tuple[int, list[str]]:
    """Return the thread of the stack's first words, and the remaining words."""
    used, pid, native_id, name = 0, 0, 0, ""
    process = _PROCESS.match(words[0])
    if process:
        used, pid = 1, int(process[1])
    thread = _THREAD.match(words[used]) if used < len(words) else None
    if thread:
        used, native_id, name = used + 1, int(thread[1]), unescape(thread[2])
    return paths.thread(tuple(words[:used]), pid, name, native_id), words[used:]


_LOST = (
    "resumes, exceptions, awaits, errors, lower bounds, losses, paths without weight, "
    f"the order of frames beyond {MAX_DEPTH} levels"
)
_SPLIT = "threads and processes where there are several, and functions, paths and weights"
_NO_PLACES = "files and lines of functions,"


def _format(name: str, description: str, lost: str, weight: str = _TIME, places: bool = False, **more: Any) -> Format:
    """Return an entry of the registry. weight, places: as for _write()."""
    return Format(
        name=name,
        description=f"collapsed stacks, {description}",
        suffixes=more.pop("suffixes", ()),
        writer=partial(_write, weight=weight, places=places),
        reader=partial(_read, source=name, weight=weight),
        lost=f"{lost}, {_LOST}" if places else f"{lost}, {_NO_PLACES} {_LOST}",
        kept=_SPLIT,
        counts=weight != _TIME,
        **more,
    )


FORMAT = _format(
    "collapsed",
    "own time in ns (or objects, --weight): flamegraph.pl, inferno, speedscope",
    "calls",
    suffixes=(".collapsed", ".folded", ".txt"),
    of=(OF_CALLS, OBJECTS),
    weighed={OBJECTS: _write_objects},
)
LONG = _format(
    "collapsed-long", "own time in ns, with the files and lines of functions: many times as large", "calls", places=True
)
CALLS = _format("collapsed-calls", "weighted by calls", "times", "calls")
