"""The plugin of --seismo-check: a pytest run that is compared with an earlier one.

Counts are reproducible only with a fixed PYTHONHASHSEED, which must be set when the interpreter starts. So the pytest
that the user started (Front) starts another one with the same arguments (Main), which runs the tests, counts, reports
and fails. After its tests, Main starts pytest once more without output (Again), with the same tests in reverse order.
Again is a new process, whose caches are as empty as Main's were. If the two runs differ, the test gets a band of
allowed counts, or is left out (seismo.check.compare). Births of objects are counted in a further run. For a revision of
git, the same runs are made in a checkout. A count beyond a limit is confirmed by an additional run of each side.

Reordering keeps the tests of a module or class together, so that fixtures of that scope are set up as often as before.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seismo.check import baseline
from seismo.check.check_result import Outcome, compared_and_confirmed, of_other_versions
from seismo.check.compare import Verdict
from seismo.check.counted_runs import RUN_OF_BIRTHS, Side
from seismo.check.limits import DEFAULTS, TEST_DEFAULTS, Limit, parse_limit
from seismo.check.revision_checkout import checked_out, path_of_project, refuse_others, revision_of, root_of
from seismo.errors import CheckError, SeismoError, UsageError
from seismo.plugins.pytest import junit, parametrized_growth
from seismo.plugins.pytest.check_runs import AGAIN, OUTCOMES, SuiteSide, arrange, interpreter, wanted
from seismo.plugins.pytest.recorded_run import is_worker, words
from seismo.plugins.pytest.suite_counts import Counting, CountingBirths, test_of
from seismo.process.objects.recorder import why_not
from seismo.recording_kinds import KINDS

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from seismo.check.measurement import Measurement

BASELINE = "seismo-check-tests.txt"
OPTIONS = "--seismo-"
PARTS = "SEISMO_CHECK_PARTS"  # names the folder for the counts of xdist's workers
LIMITS = (*DEFAULTS, *TEST_DEFAULTS)
OVER = "seismo_budget: "  # the first words of a budget's failure message
MOST = 10  # findings to show at most


def plugin_of(config: pytest.Config) -> Front | Run:
    """Return the plugin for this process. Raise UsageError for options that exclude each other."""
    options = config.known_args_namespace
    for name in ("cover", *(entry.verb for entry in KINDS.values() if entry.pytest)):
        given = getattr(options, f"seismo_{name}")
        if given not in (None, []) and not (name == "cover" and options.seismo_no_cover):
            raise UsageError(f"--seismo-check and --seismo-{name} record the same things differently: take one of them")
    if is_worker():
        if not (folder := os.environ.pop(PARTS, "")):
            raise SeismoError("workers on other machines cannot be checked", hint="run the tests on this one")
        return Run(config, folder)
    if folder := os.environ.pop(AGAIN, ""):
        return Again(config, folder)
    return Main(config) if os.environ.get("PYTHONHASHSEED") == "0" else Front()


class Front:
    """The process that the user started, which starts another one with fixed hashes."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int | None:
        """Run pytest again with the same arguments."""
        given = config.invocation_params
        if config.option.help or config.option.version or config.option.collectonly:
            return None
        if any(not isinstance(plugin, str) for plugin in given.plugins or ()):
            raise pytest.UsageError("--seismo-check starts another pytest, which cannot get plugins that are objects")
        command = [*interpreter(), *map(str, given.args)]
        return subprocess.call(command, cwd=given.dir, env={**os.environ, "PYTHONHASHSEED": "0"})


class Run:
    """The plugin of a process that counts into a folder; in workers of xdist, this class itself."""

    def __init__(self, config: pytest.Config, folder: str) -> None:
        """Start counting. Raise SeismoError if that is not possible."""
        self.options = options = config.known_args_namespace
        self.pid, self.folder = os.getpid(), folder
        self.counting: Counting | CountingBirths | None = None
        if not (getattr(options, "numprocesses", None) or getattr(options, "tx", None)) or is_worker():
            counting = CountingBirths if wanted(folder).get("births") else Counting
            # The work of installed plugins around a test is not counted.
            files = (getattr(plugin, "__file__", None) for plugin, _ in config.pluginmanager.list_plugin_distinfo())
            self.counting = counting(folder, [str(file) for file in files if file])

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Fix sources of variation: run benchmarks once, and seed Hypothesis (see also settle)."""
        config.option.benchmark_disable = True
        if getattr(config.option, "hypothesis_seed", "") is None:
            config.option.hypothesis_seed = "0"

    @pytest.hookimpl(tryfirst=True)  # before pytest groups tests that share a parametrized fixture
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Run the wanted tests in the wanted order."""
        arrange(self.folder, config, items)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin counting tests."""
        if self.counting is not None:
            self.counting.begin_tests(session.config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Stop counting before the work of other plugins."""
        self.end()

    def end(self) -> None:
        """Stop counting."""
        if self.counting is not None and self.pid == os.getpid():
            self.counting.end()

    def pytest_unconfigure(self) -> None:
        """Stop counting in any case."""
        self.end()


class Again(Run):
    """The plugin of a run that another process started, with the tests and the order that it chose."""

    def __init__(self, config: pytest.Config, folder: str) -> None:
        super().__init__(config, folder)
        self._outcomes: dict[str, str] = {}
        self._over: dict[str, str] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        """Set the folder for workers, which read it as soon as they start."""
        os.environ[PARTS] = self.folder

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the outcome of a test."""
        if not report.passed:
            self._outcomes[report.nodeid] = report.outcome
            if (text := str(report.longrepr)).startswith(OVER):
                self._over[report.nodeid] = text
        elif report.when == "call":
            self._outcomes.setdefault(report.nodeid, report.outcome)

    def end(self) -> None:
        """Stop counting, and write the outcomes of the tests."""
        super().end()
        if self.pid == os.getpid() and Path(self.folder).is_dir():
            outcomes = {"outcomes": self._outcomes, "over": self._over}
            Path(self.folder, OUTCOMES).write_text(json.dumps(outcomes), encoding="utf-8")


class Main(Again):
    """The run that the user sees: it counts, starts the other runs, compares and fails."""

    def __init__(self, config: pytest.Config) -> None:
        self._scratch = tempfile.mkdtemp(prefix="seismo-check-")
        self.start_folder = os.getcwd()
        self.root = root_of(self.start_folder)
        options = config.known_args_namespace
        against, update, build = options.seismo_against or "", options.seismo_update, bool(options.seismo_build)
        self.revision = revision_of(self.start_folder, against, update, build, OPTIONS)
        self.file = os.path.abspath(against) if against else os.path.join(self.root, BASELINE)
        if not self.revision:
            self._check_file(update)
        self._births = not options.seismo_no_objects and not why_not()
        self._limits = [parse_limit(text) for text in options.seismo_limit]
        self.outcome: Outcome | None = None
        self.notes: list[str] = []
        self._over_budget: dict[str, str] = {}
        try:
            super().__init__(config, tempfile.mkdtemp(dir=self._scratch))
        except BaseException:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise

    def _check_file(self, update: bool) -> None:
        """Raise CheckError for an unusable file before the tests run, which may take an hour."""
        if update:
            baseline.replaced(self.file)
        elif os.path.exists(self.file):
            baseline.read(self.file)
        else:
            hint = "give --seismo-against REV, or write this file with --seismo-update"
            raise CheckError("there is nothing to compare with", self.file, hint)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:  # type: ignore[override]
        """Compare and set the exit status before other plugins report."""
        if self.pid != os.getpid():
            return
        self.end()
        if session.exitstatus != pytest.ExitCode.OK:
            self.notes.append("tests failed or none ran: nothing is compared, and no baseline is written")
            return
        try:
            self.outcome = self._checked(session)
        except Exception as error:  # noqa: BLE001  the tests' results must still be shown
            hint = getattr(error, "hint", "")
            self.notes.append(words("the check could not be made", error) if not hint else f"{error}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            return
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)
        if self.outcome.status or self._over_budget:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        junit.add_results(session.config, self.outcome, self._over_budget)

    def _checked(self, session: pytest.Session) -> Outcome:
        args = [str(word) for word in session.config.invocation_params.args]
        if session.config.pluginmanager.has_plugin("_cov") or session.config.pluginmanager.has_plugin("pytest_cov"):
            args.append("--no-cov")
        os.environ.pop(PARTS, None)
        side = Side(args, self.start_folder, self.root, paths=path_of_project(self.root))
        known = session.config.pluginmanager.list_name_plugin()
        new = SuiteSide(side, self._scratch, {name for name, plugin in known if plugin is not None})
        passed = {name for name, outcome in self._outcomes.items() if outcome == "passed"}
        new.unsteady |= self._outcomes.keys() - passed
        outcome = self._with_revision(new, passed) if self.revision else self._with_file(new, passed)
        outcome.remarks[:0] = new.runs[0].uncounted
        if not self._births and not self.options.seismo_no_objects:
            outcome.remarks.insert(0, f"births of objects are not counted: {why_not()}")
        if moody := sorted(new.unsteady & passed):
            outcome.remarks.append(f"left out, since they fail in another order: {', '.join(moody[:5])}")
        self._over_budget = new.over
        return outcome

    def _with_file(self, new: SuiteSide, passed: set[str]) -> Outcome:
        update = bool(self.options.seismo_update)
        old = None if update else baseline.read(self.file)
        common = passed if old is None else passed & old.tests.keys()
        if not common and old is not None:
            raise CheckError("none of these tests is in the baseline", self.file, "--seismo-update adds them")
        new.add(self.folder, common)
        new.again(common, 0)
        if self._births:
            new.again(common, 0, births=True)
            if update:
                new.again(common, None, births=True)
        measurement = new.measurement()
        outcome = Outcome(measurement, os.path.relpath(self.file, self.start_folder) if old is not None else "")
        if old is not None:
            tolerated = self.options.seismo_tolerate is not None
            outcome.remarks += of_other_versions(old.stamp, measurement.stamp, self.file, tolerated, OPTIONS)
            all_of_old = {test_of(name) for name in old.tests} <= passed
            self._compare(old, new, outcome, common, all_of_old)
        if update:
            baseline.write(new.measurement(), self.file)
            outcome.updated = self.file
            outcome.remarks.append(f"the counts are written to {os.path.relpath(self.file, self.start_folder)}")
        return outcome

    def _with_revision(self, new: SuiteSide, passed: set[str]) -> Outcome:
        with ExitStack() as stack:
            checkout = checked_out(new.side, self.revision, self.options.seismo_build or "")
            there, remarks = stack.enter_context(checkout)
            there = replace(there, words=_turned(new.side, there))
            old = SuiteSide(there, self._scratch, new.plugins)
            old.again(passed, None)
            common = {name for name in old.runs[0].tests if name in passed}
            if not common:
                raise CheckError(f"none of these tests exists at {self.revision}", hint="was everything renamed?")
            new.add(self.folder, common)
            for side in (new, old):
                side.again(common, 0)
                if self._births:
                    side.again(common, 0, births=True)
            refuse_others(old.measurement(), there, self.root)
            outcome = Outcome(new.measurement(), self.revision, remarks=list(remarks))
            self._compare(old, new, outcome, common, True)
        return outcome

    def _compare(
        self, old: SuiteSide | Measurement, new: SuiteSide, outcome: Outcome, common: set[str], sums: bool
    ) -> None:
        """Compare, and run each side again for findings beyond a limit. `sums`: both sides have all tests."""
        is_file = not isinstance(old, SuiteSide)
        before = old.measurement if isinstance(old, SuiteSide) else lambda: old

        def again(kind: str) -> None:
            births = kind == RUN_OF_BIRTHS
            for side in (old, new):
                if isinstance(side, SuiteSide):
                    # For a baseline file, births are counted in pytest's own order, as --seismo-update does.
                    side.again(common, None if births and is_file else 1, births)

        limits = self._limits_of(before(), new.measurement(), outcome, sums)
        tolerated = (self.options.seismo_tolerate or 0) / 100
        found = compared_and_confirmed(before, new.measurement, limits, tolerated, again)
        outcome.worse = parametrized_growth.worse(found.old, found.new)
        outcome.explain(found, OPTIONS)
        if not sums:
            outcome.remarks.append("not all tests of the baseline ran, so only the limits of single tests apply")

    def _limits_of(self, old: Measurement, new: Measurement, outcome: Outcome, sums: bool) -> list[Limit]:
        """Return the given limits, or else the default limits on quantities that both sides have counted."""
        if self._limits:
            return [limit for limit in self._limits if sums or limit.scope == "test"]
        known = {*old.quantities} & {*new.quantities}
        of_tests = {name for counts in old.tests.values() for name in counts}
        limits = [
            limit
            for limit in LIMITS
            if limit.quantity in known and (limit.quantity in of_tests if limit.scope else sums)
        ]
        if self._births and "births" not in old.quantities:
            outcome.remarks.append("the baseline has no births: --seismo-update adds them")
        return limits

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Write the findings."""
        if self.pid != os.getpid() or (self.outcome is None and not self.notes):
            return
        from seismo.check.writers import text

        terminalreporter.write_sep("=", "seismo check")
        for name, message in self._over_budget.items():
            terminalreporter.write_line(f"{name} makes more objects than it may", red=True)
            terminalreporter.write_line(message)
        for note in self.notes:
            terminalreporter.write_line(note, yellow=True)
        if self.outcome is not None:
            for line in text(_bounded(self.outcome)).splitlines():
                terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        """Remove the environment variable and the scratch folder in any case."""
        super().pytest_unconfigure()
        if self.pid == os.getpid():
            os.environ.pop(PARTS, None)
            shutil.rmtree(self._scratch, ignore_errors=True)


def _turned(side: Side, there: Side) -> list[str]:
    """Return pytest's arguments for the checkout, with the project's paths moved there and missing files left out."""
    found = []
    for word in side.words:
        path, colons, rest = word.partition("::")
        if path.startswith(side.root + "/"):
            path = there.root + path[len(side.root) :]
        is_path = not word.startswith("-") and os.path.exists(os.path.join(side.folder, word.partition("::")[0]))
        if is_path and not os.path.exists(os.path.join(there.folder, path)):
            continue
        found.append(path + colons + rest)
    return found


def _bounded(outcome: Outcome) -> Outcome:
    """Return the outcome with fewer findings: for each verdict, the sums and the largest changes."""
    comparison = outcome.comparison
    if comparison is None:
        return outcome
    kept, left = [], 0
    for verdict in Verdict:
        of = [one for one in comparison.findings if one.verdict is verdict]
        sums = [one for one in of if one.subject is None]
        single = sorted((one for one in of if one.subject is not None), key=lambda one: -abs(one.growth))
        kept += [*sums, *single[:MOST]]
        left += len(single[MOST:])
    remarks = [*outcome.remarks, f"{left:,} more tests are not shown"] if left else outcome.remarks
    return replace(outcome, comparison=replace(comparison, findings=kept), remarks=remarks)
