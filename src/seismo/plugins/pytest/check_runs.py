"""Runs of one side of --seismo-check: their processes, tests and order."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seismo.check.counted_runs import Side, run, stamp_for
from seismo.check.measurement import Counts, Function, Measurement, over_runs, with_births
from seismo.check.portable_paths import PortablePaths
from seismo.errors import CheckError
from seismo.plugins.pytest.suite_counts import births_of, measurement_of, test_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import pytest


AGAIN = "SEISMO_CHECK_AGAIN"  # names the folder of a run without output
ORDER, OUTCOMES = "order.json", "outcomes.json"
# The attribute with a Hypothesis test's settings, which Hypothesis's plugin uses, too.
SETTINGS = "_hypothesis_internal_use_settings"


def wanted(folder: str) -> dict[str, Any]:
    """Return a run's settings: `only` these tests, the `seed` of their order, and whether `births` are counted."""
    path = Path(folder, ORDER)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def interpreter() -> list[str]:
    """Return the command that starts pytest like this one."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    # The script `pytest` puts no folder on sys.path, unlike `python -m pytest`.
    safe = [] if "-m" in sys.orig_argv or "-P" in flags else ["-P"]
    return [sys.executable, *flags, *safe, "-m", "pytest"]


def arrange(folder: str, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that the run does not want, and bring the others into its order; changes the list."""
    settings = wanted(folder)
    if settings.get("only") is not None:
        kept = set(settings["only"])
        left = [item for item in items if item.nodeid not in kept]
        items[:] = [item for item in items if item.nodeid in kept]
        if left:
            config.hook.pytest_deselected(items=left)
    if settings.get("seed") is not None:
        items[:] = shuffled(items, settings["seed"])
    settle(items)


def settle(items: Iterable[pytest.Item]) -> None:
    """Make Hypothesis try the same examples in each run, without deadlines, because counting takes time."""
    if "hypothesis" not in sys.modules:  # no test uses Hypothesis
        return
    from hypothesis import HealthCheck, settings

    for item in items:
        test = getattr(item, "obj", None)
        test = getattr(test, "__func__", test)
        given = getattr(test, SETTINGS, None)
        if getattr(test, "is_hypothesis_test", False) and isinstance(given, settings):
            steady: Any = {"deadline": None, "database": None, "derandomize": True}
            setattr(test, SETTINGS, settings(given, suppress_health_check=list(HealthCheck), **steady))


def shuffled(items: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """Return the tests of each module and class in another order; seed 0 reverses it, so that each is first once."""
    chance = random.Random(seed)

    def order(found: list[pytest.Item], depth: int) -> list[pytest.Item]:
        groups: dict[int, list[pytest.Item]] = {}
        ended = []
        for item in found:
            chain = item.listchain()
            if depth + 1 < len(chain):
                groups.setdefault(id(chain[depth]), []).append(item)
            else:
                ended.append([item])
        parts = [*ended, *(order(group, depth + 1) for group in groups.values())]
        if seed:
            chance.shuffle(parts)
        else:
            parts.reverse()
        return [item for part in parts for item in part]

    return order(items, 0)


@dataclass
class SuiteSide:
    """All runs of the tests, now or at another revision. `plugins`: the names of pytest's plugins in the user's run."""

    side: Side
    scratch: str
    plugins: Collection[str] = ()
    runs: list[Measurement] = field(default_factory=list)
    births: list[Measurement] = field(default_factory=list)
    unsteady: set[str] = field(default_factory=set)  # tests that failed or were skipped in a run
    # Failure messages of tests that exceeded their budget of objects.
    over: dict[str, str] = field(default_factory=dict)

    def again(self, only: Iterable[str] | None, seed: int | None, births: bool = False) -> None:
        """Make another run, of calls and lines or of births. Raise CheckError if it fails."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        order = {"only": None if only is None else sorted(only), "seed": seed, "births": births}
        Path(folder, ORDER).write_text(json.dumps(order), encoding="utf-8")
        # The run must not change files of the user's run. Without the plugin, pytest may reject its option.
        last = ["-q"]
        last += ["-o", f"cache_dir={folder}/cache"] if "cacheprovider" in self.plugins else []
        last += [f"--junitxml={folder}/junit.xml"] if "junitxml" in self.plugins else []
        side = replace(self.side, variables={**self.side.variables, AGAIN: folder})
        status, output = run([*interpreter(), *self.side.words, *last], side)
        outcomes = Path(folder, OUTCOMES)
        if status not in (0, 1) or not outcomes.exists():
            last_lines = output.decode("utf-8", "replace").strip().splitlines()[-12:]
            where = f" at {self.side.name}" if self.side.name else ""
            raise CheckError(
                f"the tests could not be run again{where}: pytest ended with status {status}",
                hint="\n".join(last_lines),
            )
        found = json.loads(outcomes.read_text(encoding="utf-8"))
        self.over |= found["over"]
        self.unsteady |= {name for name, outcome in found["outcomes"].items() if outcome != "passed"} - found[
            "over"
        ].keys()
        if births:
            self.births.append(births_of(folder, PortablePaths(self.side.root)))
            shutil.rmtree(folder, ignore_errors=True)
        else:
            self.add(folder, only)

    def add(self, folder: str, only: Iterable[str] | None) -> None:
        """Add the run whose recordings are in this folder, and remove the folder."""
        found = measurement_of(folder, PortablePaths(self.side.root), None if only is None else set(only))
        self.runs.append(found)
        shutil.rmtree(folder, ignore_errors=True)

    def measurement(self) -> Measurement:
        """Return the measurement over all runs, without tests that did not pass in each of them."""
        found = over_runs(self.runs)
        if partial := [one for one in self.runs if not one.lines]:  # runs with additional tests have no counts of lines
            whole = over_runs([one for one in self.runs if one.lines] or partial).functions
            found.functions = {name: _with_lines_of(whole, name, counts) for name, counts in found.functions.items()}
        if self.births:
            found = with_births(found, over_runs(self.births))
        found.uncounted = self.runs[0].uncounted
        tests = {name: counts for name, counts in found.tests.items() if test_of(name) not in self.unsteady}
        return replace(found, tests=tests, stamp=stamp_for(replace(self.side, words=["pytest"]), found))


def _with_lines_of(functions: Mapping[Function, Counts], name: Function, counts: Counts) -> Counts:
    """Return the counts of a function, with its lines from other runs."""
    lines = functions.get(name, {}).get("lines")
    found = {quantity: count for quantity, count in counts.items() if quantity != "lines"}
    return found if lines is None else {**found, "lines": lines}
