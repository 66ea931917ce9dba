"""Collapsed stacks: one line per path, `a;b;c WEIGHT`, for flamegraph.pl, inferno, speedscope and gprof2dot.

The weight is the own time of the path's last function in ns, or in a second format its calls. A function's name is
repeated on each of its paths, so it is short: `module:qualname` or `module:qualname (C)`. If several functions share
the name, it is `module:qualname (:line)` or, if that is ambiguous, the word of function_names.py with file and line. A
third format has these words for all functions. If there are several threads, each stack begins with `<thread ID NAME>`,
and if there are several processes, with `<process PID>`.

A path of n frames has n frames of text, so a chain of n calls has n²/2: ten thousand levels would be half a gigabyte.
Beyond MAX_DEPTH, functions are written under `<deeper>` at the end of the first MAX_DEPTH frames, so that each function
keeps its weight.

For a recording of objects the stacks are those of allocation_stacks.py: the last frame is a type, and the weight is
selectable.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from seismo.formats.allocation_stacks import stacks
from seismo.formats.base import MAX_DEPTH, ByteSink, Format, TextSink, number, whole
from seismo.formats.call_path_builder import ROOT, Paths
from seismo.formats.call_trees import CallTrees, frames, pids
from seismo.formats.function_names import PYTHON, C, Frame, escape, parse, unescape, word
from seismo.model import Builder, Recording
from seismo.recording_kinds import CALLS as OF_CALLS
from seismo.recording_kinds import OBJECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    _Weigh = Callable[[Recording], Callable[[int], int]]

DEEPER = b"<deeper>"

_OF_C = " (C)"
# A function with its file and line, as only the long names have them, and the endings of short names.
_WITH_FILE = re.compile(r" \([^;\n:][^;\n]*:[0-9]+\)(?:;| [0-9.]+$)", re.MULTILINE)
_SHORT = re.compile(r" \((?:C|:[0-9]+)\)(?:;| [0-9.]+$)", re.MULTILINE)

_PROCESS = re.compile(r"<process (-?[0-9]{1,18})>\Z")
_THREAD = re.compile(r"(?s)<thread (-?[0-9]{1,18}) (.*)>\Z")


def _write(recording: Recording, file: ByteSink, weigh: _Weigh, places: bool = False) -> None:
    """Write the stacks. places: True for the file and line of each function."""
    forest = CallTrees(recording)
    functions = frames(recording)
    words = [text.encode() for text in (map(word, functions) if places else _short(functions))]
    weight = weigh(recording)
    begin = _beginnings(recording, forest)
    held: list[bytes] = []
    size = 0
    for thread in forest.busy_threads():
        for line in _lines(forest, thread, begin[thread], words, weight):
            held.append(line)
            size += len(line)
            if size > 1 << 18:
                file.write(b"".join(held))
                held.clear()
                size = 0
    file.write(b"".join(held))


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


def _lines(
    forest: CallTrees, thread: int, begin: bytes, words: list[bytes], weight: Callable[[int], int]
) -> Iterator[bytes]:
    """Yield a thread's lines. One buffer holds the current path during the walk."""
    function = forest.function
    path = bytearray(begin)
    depth = 0
    ends: list[int] = []
    deeper: dict[bytes, int] = {}
    for step in forest.walk(thread):
        if step >= 0:
            depth += 1
            text = words[function[step]]
            if depth <= MAX_DEPTH:
                ends.append(len(path))
                path += b";" + text if path else text
                amount = weight(step)
                if amount:
                    yield b"%b %d\n" % (bytes(path), amount)
            else:
                deeper[text] = deeper.get(text, 0) + weight(step)
            continue
        if depth == MAX_DEPTH and deeper:
            for text, amount in deeper.items():
                if amount:
                    yield b"%b;%b;%b %d\n" % (bytes(path), DEEPER, text, amount)
            deeper.clear()
        if depth <= MAX_DEPTH:
            del path[ends.pop() :]
        depth -= 1


def _write_objects(recording: Recording, file: ByteSink, weight: str) -> None:
    words: dict[Frame, str] = {}
    with TextSink(file) as out:
        for stack, amount in stacks(recording, weight).items():
            for frame in stack:
                if frame not in words:
                    words[frame] = word(frame)
            out.write(f"{';'.join(map(words.__getitem__, stack))} {amount}\n")


def _beginnings(recording: Recording, forest: CallTrees) -> list[bytes]:
    """Return the start of each thread's stacks: empty, or frames that identify the thread."""
    busy = forest.busy_threads()
    processes = pids(recording)
    several = len({processes[thread] for thread in busy}) > 1
    table = recording.threads
    begin = []
    for native_id, name, pid in zip(table["native_id"], table["name"], processes, strict=True):
        parts = [f"<process {pid}>"] if several else []
        if len(busy) > 1:
            parts.append(f"<thread {native_id} {escape(name)}>")
        begin.append(";".join(parts).encode())
    return begin


def _nanoseconds(recording: Recording) -> Callable[[int], int]:
    own = recording.tree["own_ns"]
    return lambda row: number(own[row])


def _calls(recording: Recording) -> Callable[[int], int]:
    calls = recording.tree["calls"]
    return lambda row: int(calls[row])


_WEIGHT = re.compile(r"[0-9]{1,19}(?:\.[0-9]{1,9})?\Z")


def _read(data: bytes, source: str, counts: bool) -> Recording:
    """Read collapsed stacks. counts: True if the weights are calls, False if they are ns."""
    builder = Builder()
    paths = Paths(builder)
    functions: dict[str, int] = {}
    content = data.decode("utf-8", "replace")
    # If functions have files, one without is a C function. If C functions are marked, it is a Python function.
    bare = C if _WITH_FILE.search(content) and not _SHORT.search(content) else PYTHON
    for place, line in enumerate(content.split("\n"), 1):
        stack, space, weight = line.rstrip("\r").rpartition(" ")
        if not space and not weight:
            continue
        if not stack or not _WEIGHT.match(weight):
            raise ValueError(f"line {place} does not end with a space and a number")
        thread, words = _thread(paths, stack.split(";"))
        node = ROOT
        for text in words:
            function = functions.get(text)
            if function is None:
                function = functions[text] = paths.function(_frame(text, bare))
            node = paths.child(thread, node, function)
        if node == ROOT:
            continue  # only a thread's marker
        column = paths.calls if counts else paths.own
        column[node] += whole(float(weight) if "." in weight else int(weight), "a weight")
    if not counts:
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


def _format(
    name: str,
    description: str,
    lost: str,
    weigh: _Weigh = _nanoseconds,
    places: bool = False,
    counts: bool = False,
    **more: Any,
) -> Format:
    """Return an entry of the registry. weigh, places: as for _write; counts: as for _read."""
    return Format(
        name=name,
        description=f"collapsed stacks, {description}",
        suffixes=more.pop("suffixes", ()),
        binary=False,
        writer=partial(_write, weigh=weigh, places=places),
        reader=partial(_read, source=name, counts=counts),
        lost=f"{lost}, {_LOST}" if places else f"{lost}, {_NO_PLACES} {_LOST}",
        kept=_SPLIT,
        counts=counts,
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
CALLS = _format("collapsed-calls", "weighted by calls", "times", _calls, counts=True)
