"""Questions about groups of processes: how a function's time spreads over them, and why the slow ones are slow.

A group is a host, a value of a label, a task or a process. What a group does not call counts as 0 there.

The slow groups are the tenth with the most own time, and the rest are the others. A group's excess is its time beyond
the mean of the rest. A function explains of the excess what it has itself beyond its mean over the rest, and groups
count by their excess: one slow group among 200 is not diluted by the nearly slow ones. The parts of all functions add
up to 1. The error of a part is the chance that the rest leaves: how much the function varies there, and the errors of
its times.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.dataset.files import clean
from seismo.errors import UsageError, did_you_mean
from seismo.model.run_variance import DOUBT, student
from seismo.query.sql_tables import quoted

if TYPE_CHECKING:
    from seismo.dataset.folder import Dataset

FEWEST = 3  # groups that can be compared
SLOW = 10  # one of so many is slow
LABEL = "label:"
BY = {"host": "host", "process": "concat_ws(' ', host, pid, start_ns)", "task": "nullif(task, '')"}


class Spread(NamedTuple):
    """A function over all groups: own times in ns, calls, and the number of groups that have it."""

    module: str
    qualname: str
    file: str
    line: int
    kind: int
    groups: int
    own: tuple[float, float, float, float]  # least, median, 95th percentile, most
    calls: tuple[int, int, int, int]


class Why(NamedTuple):
    """A function and what it explains of the slow groups' excess: a part of 1, with its error (95 %).

    Calls and own times (ns) are means over the slow groups, weighted by their excess, and over the rest.
    """

    module: str
    qualname: str
    file: str
    line: int
    kind: int
    part: float
    error: float
    slow_calls: float
    rest_calls: float
    slow_own: float
    rest_own: float
    groups: int  # slow groups that call it

    @property
    def is_sure(self) -> bool:
        """Return True if the part exceeds its error."""
        return self.part > self.error


class Explanation(NamedTuple):
    """Why the slow groups are slow: functions, those that explain most first.

    slow: names of groups with their own times, the slowest first. rest: the number of other groups. mean: ns
    """

    functions: list[Why]
    slow: list[tuple[str, float]]
    rest: int
    mean: float


def _grouped(by: str) -> str:
    """Return SQL that defines `grouped` (a row by group and function) and `groups` (a row by group).

    Raise UsageError for a word that is none.
    """
    if not (by.startswith(LABEL) and by != LABEL) and by not in BY:
        words = [*BY, f"{LABEL}NAME"]
        raise UsageError(f"--by cannot be {by!a}", hint=did_you_mean(by, words) + f"use one of {', '.join(words)}")
    of = BY.get(by) or f"labels[{quoted(clean(by.removeprefix(LABEL)))}]"
    return (
        f"with of as (select process, {of} as grp from processes), "
        "grouped as (select grp, function, sum(calls) as calls, sum(own_ns) as own, sum(own_square::double) as square, "
        "sum(own_distortion::double) as common from calls_by_function join of using (process) "
        "where grp is not null group by grp, function), "
        "groups as (select grp, sum(own)::double as own from grouped group by grp) "
    )


def _named(dataset: Dataset, hashes: list[int]) -> dict[int, tuple[Any, ...]]:
    rows = dataset.rows(
        "select function, module, qualname, file, line, kind from functions "
        "where function in (select unnest(?::bigint[]))",
        [hashes],
    )
    return {row[0]: row[1:] for row in rows}


def _count(dataset: Dataset, by: str) -> int:
    """Return the number of groups. Raise UsageError if there are too few to compare."""
    count = int(dataset.rows(f"{_grouped(by)} select count(*) from groups")[0][0])
    if count < FEWEST:
        if by.startswith(LABEL) and not count:
            dataset.label_values(by.removeprefix(LABEL))
        hint = "a process has a task by the label task: seismo export --label task=NAME" if by == "task" else ""
        raise UsageError(f"there are {count} groups, and {FEWEST} are the fewest to compare", f"--by {by}", hint)
    return count


def spread(dataset: Dataset, by: str, limit: int = 20) -> tuple[int, list[Spread]]:
    """Return the number of groups, and how the functions with most own time spread over them.

    by: host, process, task or label:NAME. Raise UsageError for another word, or for fewer than three groups.
    """
    count = _count(dataset, by)
    rows = dataset.rows(
        f"{_grouped(by)}, top as (select function from grouped group by function order by sum(own) desc, function "
        "limit ?) select function, count(*), list(own::double order by own), list(calls::bigint order by calls), "
        "sum(own) as whole from grouped where function in (from top) group by function order by whole desc, function",
        [limit],
    )
    names = _named(dataset, [row[0] for row in rows])
    found = []
    for function, groups, own, calls, _ in rows:
        if function in names:
            module, qualname, file, line, kind = names[function]
            ranks = _ranks(own, count), _ranks(calls, count)
            found.append(Spread(module, qualname, file, line, kind, groups, *ranks))
    return count, found


def _ranks(values: list[Any], count: int) -> tuple[Any, Any, Any, Any]:
    """Return the least, the median, the 95th percentile and the most of sorted values, with zeros to `count`."""
    absent = count - len(values)

    def at(part: float) -> Any:
        place = max(0, math.ceil(part * count) - 1) - absent
        return values[place] if place >= 0 else 0

    return at(0), at(0.5), at(0.95), at(1)


def explain(dataset: Dataset, by: str, limit: int = 10) -> Explanation:
    """Return which functions explain that the slow groups are slow. by: as in spread(), which raises the same."""
    count = _count(dataset, by)
    most = max(1, count // SLOW)
    ordered = dataset.rows(f"{_grouped(by)} select grp, own from groups order by own desc, grp limit ?", [most])
    whole = dataset.rows(f"{_grouped(by)} select sum(own) from groups")[0][0]
    mean = (whole - sum(own for _, own in ordered)) / (count - most)
    excess = [max(0.0, own - mean) for _, own in ordered]
    norm = sum(value * value for value in excess)
    if norm <= 0:
        return Explanation([], ordered, count - most, mean)
    rows = dataset.rows(
        f"{_grouped(by)}, slow as (select unnest(?::varchar[]) as grp, unnest(?::double[]) as weight) "
        "select function, coalesce(sum(own) filter (weight is null), 0)::double, "
        "coalesce(sum(own::double * own) filter (weight is null), 0), "
        "coalesce(sum(calls) filter (weight is null), 0)::double, coalesce(sum(weight * own), 0), "
        "coalesce(sum(weight * calls), 0), coalesce(sum(weight * weight * square), 0), "
        "coalesce(sum(weight * common), 0), count(weight) from grouped left join slow using (grp) group by function",
        [[name for name, _ in ordered], excess],
    )
    found = _ranked(rows, excess, count - most)[:limit]
    names = _named(dataset, [function for function, _ in found])
    return Explanation(
        [Why(*names[function], *values) for function, values in found if function in names], ordered, count - most, mean
    )


def _ranked(rows: list[tuple[Any, ...]], excess: list[float], rest: int) -> list[tuple[int, tuple[Any, ...]]]:
    """Return the functions with the values of Why from `part` on; those that explain most first, sure ones before."""
    norm, weights = sum(value * value for value in excess), sum(excess)
    wide = student(max(1, rest - 1), DOUBT)
    found = []
    for function, own, squares, calls, slow_own, slow_calls, error_square, common, groups in rows:
        mean = own / rest
        varies = max(0.0, squares / rest - mean * mean) * rest / max(1, rest - 1)
        part = (slow_own - mean * weights) / norm
        chance = wide**2 * varies * (norm + weights * weights / rest) + error_square
        error = math.hypot(math.sqrt(chance), common) / norm
        of_slow = (slow_calls / weights, calls / rest, slow_own / weights, mean)
        found.append((function, (part, error, *of_slow, groups)))
    found.sort(key=lambda row: (row[1][0] <= row[1][1], -row[1][0], row[0]))
    return found
