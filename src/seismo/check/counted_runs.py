"""Measuring of a program by child processes that count its actions.

For repeatable counts, a child has PYTHONHASHSEED=0 and no standard input, and its output goes to pipes. The cycle
collector starts with an empty young generation and default thresholds, so that it runs at the same points. The import
system is left out. Calls of all Python and C functions and lines are counted in one run, births of objects in another.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from seismo.check.measurement import Measurement, Stamp, over_runs, stamp_of_here, with_births
from seismo.check.portable_paths import PortablePaths, installed
from seismo.check.read_recordings import of_recordings
from seismo.errors import CheckError, RecordingError
from seismo.escape import printable
from seismo.model import Recording, read
from seismo.model.recording import BEHIND
from seismo.process import merge_parts
from seismo.recording_kinds import CALLS, COVERAGE, OBJECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


RUN_OF_CALLS, RUN_OF_BIRTHS = "calls", "births"
ALL = "all"
# Bytes of a failed run's output that are kept for display.
KEPT = 64 << 10


@dataclass
class Side:
    """One side of a comparison: a program and its environment.

    `words` are the program and its arguments, as after `python`. `folder` is its current folder, `root` the project's.
    `name` is the side's name in errors, such as "main". `paths` precede PYTHONPATH; `variables` are added to the
    environment. `lines` is ALL to count lines of the standard library and of installed files as well, else "".
    """

    words: list[str]
    folder: str
    root: str
    name: str = ""
    paths: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    lines: str = ""

    def environment(self) -> dict[str, str]:
        """Return the environment of a child."""
        paths = [*self.paths, *filter(None, [os.environ.get("PYTHONPATH")])]
        found = {**os.environ, **self.variables, "PYTHONHASHSEED": "0"}
        return found | ({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})


class FailedError(CheckError):
    """Raised if the program failed. `output` is the end of its output."""

    def __init__(self, what: str, where: str = "", hint: str = "", output: bytes = b"") -> None:
        super().__init__(what, where, hint)
        self.output = output


def measure(side: Side, kind: str = RUN_OF_CALLS, show: Callable[[bytes, bool], None] | None = None) -> Measurement:
    """Return the measurement of one run. `kind` is RUN_OF_CALLS (with lines) or RUN_OF_BIRTHS.

    `show(data, is_error)` receives the program's output. Raise FailedError if the program fails, CheckError if nothing
    can be measured.
    """
    with tempfile.TemporaryDirectory(prefix="seismo-check-") as scratch:
        first, lines = Path(scratch, "counted.seismo"), Path(scratch, "lines.seismo")
        command = [sys.executable, "-m", "seismo", "check", "--counted", kind, "-q", "-o", str(first)]
        if kind == RUN_OF_CALLS:
            command += ["--lines", str(lines)]
            command += ["--everywhere"] if side.lines == ALL else []
        status, output = run([*command, *side.words], side, show)
        if status:
            raise FailedError(
                f"the program {_ended(status)}{f' at {side.name}' if side.name else ''}",
                " ".join(side.words),
                "nothing is compared, and no baseline is written",
                b"" if show else output,
            )
        parts, uncounted = _parts(f"{first}.parts")
        recordings = [read_counted(path) for path in (first, *([lines] if kind == RUN_OF_CALLS else []), *parts)]
        calls, by_line, births = (
            [recording for recording in recordings if recording.kind == name] for name in (CALLS, COVERAGE, OBJECTS)
        )
        found = of_recordings(PortablePaths(side.root), calls, by_line, births)
        found.uncounted = uncounted
        return found


def _parts(folder: str) -> tuple[list[Path], list[str]]:
    """Return the parts in the folder, and a sentence for each kind of process without one."""
    if not os.path.isdir(folder):
        return [], []
    paths = sorted(str(path) for path in Path(folder).glob("*.seismo"))
    alive = merge_parts.still_written(paths)
    sentences = [
        f"a process could not be counted: {printable(loss['detail'])}" for loss in merge_parts.marks(folder)[0]
    ]
    if alive:
        running = {os.path.basename(path).partition("-")[0] for path in alive}
        sentences.append(f"processes that still ran when the program had ended are not counted: {len(running)}")
    kept = [Path(path) for path in paths if path not in alive and os.path.getsize(path)]
    return kept, list(dict.fromkeys(sentences))


def _ended(status: int) -> str:
    if status > 0:
        return f"failed with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def read_counted(path: Path) -> Recording:
    """Read the counts of a process; those of a killed one may lack their end. Raise CheckError if others do."""
    try:
        recording = read(path)
    except RecordingError as error:
        raise CheckError("the counts cannot be read", error.what) from None
    lost = [problem for problem in recording.problems if problem == BEHIND or not problem.startswith("cut off")]
    if lost:
        raise CheckError("the counts cannot be read completely", lost[0])
    return recording


def started(command: Sequence[str], side: Side, output: int) -> subprocess.Popen[bytes]:
    """Start a command of a side without input. Raise CheckError if it cannot start."""
    environment, no_input = side.environment(), subprocess.DEVNULL
    try:
        return subprocess.Popen(command, cwd=side.folder, env=environment, stdin=no_input, stdout=output, stderr=output)
    except OSError as error:
        raise CheckError(f"the program cannot be started: {error.strerror}", side.folder) from None


def run(command: Sequence[str], side: Side, show: Callable[[bytes, bool], None] | None = None) -> tuple[int, bytes]:
    """Run a command of a side. Return its exit status and the end of its output.

    Raise CheckError if it cannot start.
    """
    kept = bytearray()
    lock = threading.Lock()

    def relay(stream: IO[bytes], is_error: bool) -> None:
        with stream:
            while data := os.read(stream.fileno(), 1 << 16):
                with lock:
                    kept.extend(data)
                    del kept[:-KEPT]
                    if show is not None:
                        show(data, is_error)

    child = started(command, side, subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    streams = ((child.stdout, False), (child.stderr, True))
    readers = [threading.Thread(target=relay, args=of, daemon=True) for of in streams]
    for reader in readers:
        reader.start()
    try:
        status = child.wait()
    except BaseException:  # on Ctrl-C, the child receives SIGINT, too
        child.terminate()
        child.wait()
        raise
    for reader in readers:
        reader.join(timeout=5)  # a process that it left behind may keep the pipes open
    return status, bytes(kept)


@dataclass
class CountedRuns:
    """The runs of a side. `progress` receives a message before each."""

    side: Side
    progress: Callable[[str], None]
    calls: list[Measurement] = field(default_factory=list)
    objects: list[Measurement] = field(default_factory=list)

    def again(self, kind: str, show: Callable[[bytes, bool], None] | None = None) -> None:
        """Make another run."""
        what = "births" if kind == RUN_OF_BIRTHS else "calls and lines"
        self.progress(f"{self.side.name or 'now'}: counts {what}")
        (self.objects if kind == RUN_OF_BIRTHS else self.calls).append(measure(self.side, kind, show))

    def measurement(self) -> Measurement:
        """All runs together, with the stamp of this interpreter."""
        found = replace(over_runs(self.calls))  # a copy
        if self.objects:
            found = with_births(found, over_runs(self.objects))
        found.uncounted = list(dict.fromkeys(line for run in (*self.calls, *self.objects) for line in run.uncounted))
        found.stamp = stamp_for(self.side, found)
        return found


def stamp_for(side: Side, found: Measurement) -> Stamp:
    """Return the stamp, with the versions of the distributions whose functions ran."""
    import importlib.metadata

    paths = filter(None, (installed(function.file) for function in found.functions))
    packages = {path.partition("/")[0].removesuffix(".py") for path in paths}
    dependencies: dict[str, str] = {}
    if packages:
        try:
            known = importlib.metadata.packages_distributions()
        except Exception:  # noqa: BLE001  metadata of other packages may be broken
            known = {}
        for package in packages:
            for name in known.get(package, ()):
                dependencies[name] = importlib.metadata.version(name)
    dependencies.pop("seismo", None)
    return stamp_of_here(shlex.join(side.words), dependencies, side.lines)
