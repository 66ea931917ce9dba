"""One run of `seismo check`. Processes that count load seismo.cli.check, but not this module."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from seismo.check import baseline, revision_checkout
from seismo.check.check_result import BORN, Outcome, compared_and_confirmed, of_other_versions
from seismo.check.counted_runs import ALL, RUN_OF_BIRTHS, RUN_OF_CALLS, CountedRuns, FailedError, Side, measure
from seismo.check.cpu_time import compared
from seismo.check.growth_by_size import became_worse, growths, parse_sizes
from seismo.check.limits import DEFAULTS, parse_limit
from seismo.check.measurement import Measurement, stamp_of_here
from seismo.check.revision_checkout import path_of_project, root_of
from seismo.check.writers import FORMATS
from seismo.cli.check import BASELINE, TIME_LIMIT
from seismo.cli.main import show_every_name
from seismo.errors import CheckError, UsageError
from seismo.process.objects.recorder import why_not

if TYPE_CHECKING:
    from seismo.cli.verb import Given
    from seismo.process.run_program import Program


class CheckRun:
    """One run of the command."""

    def __init__(self, given: Given, program: Program) -> None:
        self.given = given
        folder = os.getcwd()
        self.root = root_of(folder)
        self.new = Side(program.command, folder, self.root, paths=path_of_project(self.root))
        self.new.lines = ALL if given.get("lines") == ALL else ""
        self.quiet = bool(given.get("quiet"))
        self.sizes = parse_sizes(given["sizes"]) if "sizes" in given else None
        reason = why_not()
        self.objects = not given.get("no_objects") and not reason
        self.limits = [parse_limit(text) for text in given.get("limit", ())] or [
            one for one in DEFAULTS if self.objects or one.quantity not in BORN
        ]
        self.remarks = [] if self.objects or given.get("no_objects") else [f"births are not counted: {reason}"]
        self.formats: list[tuple[str, str]] = given.get("format") or [("text", "")]
        # A format for programs on stdout must have stdout to itself.
        self.apart = any(kind != "text" and not path for kind, path in self.formats)

    def run(self) -> int:
        """Run the check, write the results and return the exit status."""
        against, update, build = self.given.get("against"), "update" in self.given, "build" in self.given
        if revision := revision_checkout.revision_of(self.new.folder, against or "", update, build):
            outcome = self._with_revision(revision)
        else:
            outcome = self._with_file(against)
        outcome.remarks[:0] = [*self.remarks, *outcome.uncounted]
        self._write(outcome)
        return outcome.status

    # ---- what it is compared with ----

    def _with_revision(self, name: str) -> Outcome:
        with revision_checkout.checked_out(self.new, name, self.given.get("build", "")) as (old, remarks):
            new_runs = self._measured(self.new, True)
            try:
                old_runs = self._measured(old, False)
                revision_checkout.refuse_others(old_runs.measurement(), old, self.root)
            except FailedError as error:
                if "build" not in self.given and (built := revision_checkout.extensions(self.root)):
                    shown = os.path.relpath(built[0], self.root)
                    error.hint = f"the project has compiled modules ({shown}): give --build CMD"
                raise
            outcome = Outcome(new_runs.measurement(), name, remarks=remarks)
            self._compare(old_runs, new_runs, outcome)
            if self.sizes is not None:
                self._grow(outcome, old)
            if self._timed:
                limit = float(self.given.get("time_limit", TIME_LIMIT)) / 100
                outcome.times = compared(self._sized(old), self._sized(self.new), limit, self._note)
        return outcome

    def _with_file(self, given: str | None) -> Outcome:
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
        if update and old is not None and old.stamp.differences(measurement.stamp):
            old = None
        outcome = Outcome(measurement, path if old is not None else "")
        if old is not None:
            if not update:
                outcome.remarks += self._check_versions(old, measurement, path)
            self._compare(old, runs, outcome)
        if self.sizes is not None:
            self._grow(outcome, None)
        if update:
            baseline.write(runs.measurement(), path)
            outcome.updated = path
            outcome.remarks.append(f"the counts are written to {path}")
        return outcome

    def _check_versions(self, old: Measurement, new: Measurement | None, path: str) -> list[str]:
        """Raise CheckError for incompatible versions, also before anything ran (`new` is None). Return remarks."""
        here = stamp_of_here(old.stamp.program, old.stamp.dependencies, self.new.lines)
        return of_other_versions(old.stamp, new.stamp if new is not None else here, path, "tolerate" in self.given)

    def _compare(self, old: CountedRuns | Measurement, new: CountedRuns, outcome: Outcome) -> None:
        def again(kind: str) -> None:
            for side in (old, new):
                # Counts that become the new baseline need no confirming run.
                if isinstance(side, CountedRuns) and not self.given.get("update"):
                    side.again(kind)

        before = old.measurement if isinstance(old, CountedRuns) else lambda: old
        tolerated = self.given.get("tolerate", 0) / 100
        outcome.explain(compared_and_confirmed(before, new.measurement, self.limits, tolerated, again))

    # ---- what is measured ----

    def _measured(self, side: Side, shown: bool) -> CountedRuns:
        """Measure a side by runs of calls and lines, the first of which is shown on request, and one of births."""
        found = CountedRuns(self._sized(side), self._note)
        for number in range(self.given.get("runs", 2)):
            found.again(RUN_OF_CALLS, self._show if shown and not number and not self.quiet else None)
        if self.objects:
            found.again(RUN_OF_BIRTHS)
        return found

    def _sized(self, side: Side, size: int = 0) -> Side:
        """Return the side with the given size, by default the largest."""
        if self.sizes is None:
            return side
        name, value = self.sizes.name, str(size or self.sizes.numbers[-1])
        return replace(side, words=[word.replace(f"{{{name}}}", value) for word in side.words], variables={name: value})

    def _grow(self, outcome: Outcome, old: Side | None) -> None:
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

    @property
    def _timed(self) -> bool:
        return "time" in self.given or "time_limit" in self.given

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
        show_every_name(sys.stdout)
        for kind, path in self.formats:
            text = FORMATS[kind](outcome)
            if not path:
                sys.stdout.write(text)
                sys.stdout.flush()
                continue
            try:
                with open(path, "w", encoding="utf-8", errors="backslashreplace") as stream:
                    stream.write(text)
            except OSError as error:
                raise CheckError(f"the result cannot be written: {error.strerror}", path) from None
