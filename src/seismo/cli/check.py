"""Counts what a program does, and compares it with what it did before.

A check counts calls, executed lines, and on Python 3.13.3 or newer objects. These numbers are the same in each run of
the same program, so a check does not flake. If one has grown, the check names the function that does more.

  seismo check --against main app.py   compare with another revision of git
  seismo check --update app.py         keep the counts in seismo-check.txt
  seismo check app.py                  compare with this file
  seismo check --limit 'calls("app.*") <= +1%' --against main -m app

Exit status: 0 within all limits, 1 beyond one of them, 2 could not be measured or decided.

A limit is [each|test] QUANTITY[("PATTERN")] <= AMOUNT. QUANTITY is calls, lines, exceptions, births, bytes or depth.
PATTERN selects functions as module:name. AMOUNT is +1%, +10, both, or a number without a sign. `each` applies the limit
to every function, not to their sum. --limit replaces the default limits: calls, lines and births <= +1%, bytes <= +2%.

The program runs several times without standard input and with PYTHONHASHSEED=0. Its output is shown once. Numbers that
differ between runs get a band, or are left out and listed.
"""

from __future__ import annotations

import os
import sys

from seismo.cli.failures import FORESEEN, failed
from seismo.cli.options import Option, number, one_of, settings, whole
from seismo.cli.verb import Verb, require_core
from seismo.errors import CheckError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from seismo.check.check_result import Outcome
    from seismo.check.counted_runs import CountedRuns, Side
    from seismo.check.growth_by_size import Sizes
    from seismo.check.limits import Limit
    from seismo.check.measurement import Measurement
    from seismo.cli.verb import Given
    from seismo.process.run_program import Program

BASELINE = "seismo-check.txt"
FORMATS = ("text", "markdown", "github", "junit", "json")
TIME_LIMIT = 10.0  # limit for --time in percent


def _limit(_name: str, text: str) -> Limit:
    from seismo.check.limits import parse_limit

    return parse_limit(text)


def _sizes(_name: str, text: str) -> Sizes:
    from seismo.check.growth_by_size import parse_sizes

    return parse_sizes(text)


def _format(name: str, text: str) -> tuple[str, str]:
    kind, _, path = text.partition("=")
    return one_of(name, kind, FORMATS), path


def _lines(name: str, text: str) -> str:
    from seismo.check.counted_runs import ALL, OWN

    return one_of(name, text, (OWN, ALL))


OPTIONS = (
    Option(
        "--against",
        "compare with this revision of git (a branch, a tag, a commit), or with this file of --update "
        f"(default: {BASELINE})",
        metavar="REV|FILE",
    ),
    Option("--update", f"write the counts to the file of --against, or to {BASELINE}"),
    Option("--limit", "what is allowed; may be given several times", metavar="LIMIT", read=_limit, many=True),
    *settings("check", "build"),
    Option(
        "--sizes",
        "run the program with these sizes of its input, and report what grows faster than the input: N in 'n=N,N,N' "
        "replaces {{n}} in the program's arguments, and is its environment variable n",
        metavar="SIZES",
        read=_sizes,
    ),
    Option("--time", f"also compare the CPU time of bare runs; the limit is +{TIME_LIMIT:g} %%"),
    Option("--time-limit", "as --time, with this limit in percent", metavar="N", read=number),
    Option("--runs", "count calls and lines in N runs of each side (default: 2)", metavar="N", read=whole),
    Option(
        "--lines",
        "whose lines to count: own (default), without the standard library and installed packages, or all, which takes "
        "longer",
        metavar="own|all",
        read=_lines,
    ),
    *settings("check", "no_objects", "tolerate"),
    Option(
        "--format",
        f"how to write the result: {', '.join(FORMATS)}; =FILE writes to a file; may be given several times",
        metavar="NAME[=FILE]",
        read=_format,
        many=True,
    ),
    Option("-q --quiet", "show neither the program's output nor the progress of seismo"),
)


VERB = Verb("check", "seismo check [options] SCRIPT|-m MODULE|-c CODE [ARGS...]", __doc__ or "", OPTIONS)


def main(words: list[str]) -> int:
    """Run the check and return its exit status."""
    if words[:1] == ["--counted"]:
        from seismo.cli import check_child

        return check_child.main(words[1:])
    try:
        given, program = VERB.read(words)
        if program is None:
            return VERB.help()
        require_core()
        if program.kind == "stdin":
            raise UsageError(
                "a check runs the program several times, so it cannot be read from standard input", hint="name a file"
            )
        return _Checking(given, program).run()
    except FORESEEN as error:
        output = getattr(error, "output", b"")
        if output:
            sys.stderr.flush()
            sys.stderr.buffer.write(output)
            sys.stderr.buffer.flush()
        return failed(error)


class _Checking:
    """One run of the command."""

    def __init__(self, given: Given, program: Program) -> None:
        from seismo.check.counted_runs import Side
        from seismo.check.limits import DEFAULTS
        from seismo.check.revision_checkout import path_of_project, root_of
        from seismo.process.objects.recorder import why_not

        self.given = given
        folder = os.getcwd()
        self.root = root_of(folder)
        self.new = Side(program.command, folder, self.root, paths=path_of_project(self.root))
        self.new.lines = given.get("lines", self.new.lines)
        self.quiet = bool(given.get("quiet"))
        self.sizes: Sizes | None = given.get("sizes")
        reason = why_not()
        self.objects = not given.get("no_objects") and not reason
        self.limits: list[Limit] = given.get("limit") or [
            one for one in DEFAULTS if self.objects or one.quantity not in ("births", "bytes")
        ]
        self.remarks = [] if self.objects or given.get("no_objects") else [f"births are not counted: {reason}"]
        self.formats: list[tuple[str, str]] = given.get("format") or [("text", "")]
        # A format for programs on stdout must have stdout to itself.
        self.apart = any(kind != "text" and not path for kind, path in self.formats)

    def run(self) -> int:
        """Run the check, write the results and return the exit status."""
        from seismo.check import revision_checkout

        against = self.given.get("against")
        if (
            against is not None
            and not os.path.isfile(against)
            and revision_checkout.is_revision(self.new.folder, against)
        ):
            if self.given.get("update"):
                raise UsageError("--update writes a file, and --against names a revision of git", against)
            outcome = self._with_revision(against)
        elif "build" in self.given:
            raise UsageError("--build is for a revision of git", against or "--build", "give one with --against")
        else:
            outcome = self._with_file(against)
        outcome.remarks[:0] = [*self.remarks, *outcome.uncounted]
        self._write(outcome)
        return outcome.status

    # ---- what it is compared with ----

    def _with_revision(self, name: str) -> Outcome:
        from seismo.check import revision_checkout
        from seismo.check.check_result import Outcome
        from seismo.check.counted_runs import FailedError

        remarks: list[str] = []
        with revision_checkout.checked_out(self.new, name, self.given.get("build", "")) as (old, notes):
            remarks += notes
            new_runs = self._measured(self.new, True)
            try:
                old_runs = self._measured(old, False)
                revision_checkout.refuse_others(old_runs.measurement(), old, self.root)
            except FailedError as error:
                self._about_build(error)
                raise
            outcome = self._compared(old_runs, new_runs, Outcome(new_runs.measurement(), name, remarks=remarks))
            if self.sizes is not None:
                self._grow(outcome, old)
            if self._timed:
                from seismo.check.cpu_time import compared

                outcome.times = compared(self._sized(old), self._sized(self.new), self._time_limit, self._note)
        return outcome

    def _about_build(self, error: CheckError) -> None:
        from seismo.check import revision_checkout

        if "build" not in self.given and (built := revision_checkout.extensions(self.root)):
            shown = os.path.relpath(built[0], self.root)
            error.args = (error.what, error.where, f"the project has compiled modules ({shown}): give --build CMD")
            error.hint = error.args[2]

    def _with_file(self, given: str | None) -> Outcome:
        from seismo.check import baseline
        from seismo.check.check_result import Outcome

        path = given or os.path.join(self.root, BASELINE)
        update = bool(self.given.get("update"))
        if self._timed:
            raise UsageError("a file has no times", "--time", "compare with a revision of git: --against REV")
        old: Measurement | None = None
        if update:
            old = baseline.replaced(path)
        elif os.path.exists(path):
            old = baseline.read(path)
        elif given is not None:
            raise CheckError("this is neither a file nor a revision of git", given, "to create the file: --update")
        elif self.sizes is None:
            raise CheckError(
                "there is nothing to compare with",
                path,
                "compare with a revision (--against REV), or create this file (--update)",
            )
        if old is not None and not update:
            import shlex

            program = shlex.join(self._sized(self.new).words)
            if old.stamp.program in ("", program):
                self._check_versions(old, None, path)
            elif given is None and self.sizes is not None:  # --sizes needs no baseline
                old = None
            else:
                raise CheckError(
                    "the baseline is of another program", f"{path}: {old.stamp.program}", "--update replaces it"
                )
        runs = self._measured(self.new, True)
        measurement = runs.measurement()
        outcome = Outcome(measurement, path if old is not None else "")
        if old is not None and not (update and old.stamp.differences(measurement.stamp)):
            if not update:
                outcome.remarks += self._check_versions(old, measurement, path)
            outcome = self._compared(old, runs, outcome)
        elif old is not None:
            outcome.against = ""
        if self.sizes is not None:
            self._grow(outcome, None)
        if update:
            baseline.write(runs.measurement(), path)
            outcome.updated = path
            outcome.remarks.append(f"the counts are written to {path}")
        return outcome

    def _check_versions(self, old: Measurement, new: Measurement | None, path: str) -> list[str]:
        """Raise CheckError for a baseline of incompatible versions; return remarks about the others.

        `new` is None before anything has run.
        """
        from dataclasses import replace

        from seismo.check.check_result import of_other_versions
        from seismo.check.counted_runs import OWN
        from seismo.check.measurement import stamp_of_here

        lines = "" if self.new.lines == OWN else self.new.lines
        here = replace(stamp_of_here(old.stamp.program, old.stamp.dependencies), lines=lines)
        return of_other_versions(old.stamp, new.stamp if new is not None else here, path, "tolerate" in self.given)

    def _compared(self, old: CountedRuns | Measurement, new: CountedRuns, outcome: Outcome) -> Outcome:
        from seismo.check.check_result import compared_and_confirmed
        from seismo.check.compare import Bands

        relative = self.given.get("tolerate", 0) / 100
        # Counts that become the new baseline need no confirming run.
        outcome.explain(
            compared_and_confirmed(
                old, new, self.limits, Bands(relative=relative), confirm=not self.given.get("update")
            )
        )
        return outcome

    # ---- what is measured ----

    def _measured(self, side: Side, shown: bool) -> CountedRuns:
        from seismo.check.counted_runs import measured

        show = self._show if shown and not self.quiet else None
        return measured(self._sized(side), self.given.get("runs", 2), self.objects, show, self._note)

    def _sized(self, side: Side, size: int = 0) -> Side:
        """Return the side with the given size, by default the largest."""
        if self.sizes is None:
            return side
        from dataclasses import replace

        size = size or self.sizes.numbers[-1]
        return replace(side, words=self.sizes.words(side.words, size), variables={self.sizes.name: str(size)})

    def _grow(self, outcome: Outcome, old: Side | None) -> None:
        """Measure the sides with all sizes."""
        from seismo.check.counted_runs import measure
        from seismo.check.growth_by_size import became_worse, growths

        assert self.sizes is not None
        found = []
        for side in (old, self.new) if old is not None else (self.new,):
            by_size = {}
            for size in self.sizes.numbers:
                self._note(f"{side.name or 'now'}: {self.sizes.name}={size}")
                by_size[size] = measure(self._sized(side, size))
            found.append(growths(by_size))
        outcome.growths = list(found[-1].values())
        if old is not None:
            outcome.worse = became_worse(found[0], found[1])
            outcome.worse_decides = True

    @property
    def _timed(self) -> bool:
        return "time" in self.given or "time_limit" in self.given

    @property
    def _time_limit(self) -> float:
        return float(self.given.get("time_limit", TIME_LIMIT)) / 100

    # ---- what is shown ----

    def _show(self, data: bytes, is_error: bool) -> None:
        stream = sys.stderr if is_error or self.apart else sys.stdout
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()

    def _note(self, text: str) -> None:
        if not self.quiet and sys.stderr.isatty():
            sys.stderr.write(f"seismo: {text}\n")
            sys.stderr.flush()

    def _write(self, outcome: Outcome) -> None:
        from seismo.check.writers import FORMATS as WRITERS
        from seismo.cli.main import show_every_name

        show_every_name(sys.stdout)
        for kind, path in self.formats:
            write: Callable[[Outcome], str] = WRITERS[kind]
            text = write(outcome)
            if not path:
                sys.stdout.write(text)
                sys.stdout.flush()
                continue
            try:
                with open(path, "w", encoding="utf-8", errors="backslashreplace") as stream:
                    stream.write(text)
            except OSError as error:
                raise CheckError(f"the result cannot be written: {error.strerror}", path) from None
