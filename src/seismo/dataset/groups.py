"""Questions about groups of processes: how a function's time spreads over them, and why the slow ones are slow.

A group is a host, a value of a label, a task or a process. What a group does not call counts as 0 there.

The slow groups are the tenth with the most own time, and the rest are the others. A group's excess is its time beyond
the mean of the rest. A function explains of the excess what it has itself beyond its mean over the rest, and groups
count by their excess: one slow group among 200 is not diluted by the nearly slow ones. The parts of all functions add
up to 1. The error of a part is the chance that the rest leaves: how much the function varies there, and the errors of
its times.

Times of a few groups may be known badly, but calls are counted. So a function has another part, by its calls: those
beyond its mean over the rest, each at the time of a call over all groups. It counts where the first part is not sure,
and is at most what the slow groups' times leave possible.
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
NEGLIGIBLE = 0.005
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

    by_calls: the part that follows from its calls and the time of a call over all groups, with its error. Calls and own
    times (ns) are means over the slow groups, weighted by their excess, and over the rest.
    """

    module: str
    qualname: str
    file: str
    line: int
    kind: int
    part: float
    error: float
    by_calls: float
    by_calls_error: float
    slow_calls: float
    rest_calls: float
    slow_own: float
    rest_own: float
    groups: int  # slow groups that call it

    @property
    def is_sure(self) -> bool:
        """Return True if one of the parts exceeds its error; that by calls, if it is not negligible."""
        return self.part > self.error or self.by_calls > max(self.by_calls_error, NEGLIGIBLE)

    @property
    def is_by_calls(self) -> bool:
        """Return True if only the part by calls exceeds its error."""
        return self.is_sure and self.part <= self.error

    @property
    def explained(self) -> tuple[float, float]:
        """Return the part that counts, with its error."""
        return (self.by_calls, self.by_calls_error) if self.is_by_calls else (self.part, self.error)

    @property
    def ratio(self) -> float:
        """Return how many times more often a slow group calls it than one of the rest; infinity if none of these do."""
        return self.slow_calls / self.rest_calls if self.rest_calls else math.inf


class Explanation(NamedTuple):
    """Why the slow groups are slow: functions, those that explain most first.

    slow: names of groups with their own times, the slowest first. rest: the number of other groups. mean: ns
    """

    functions: list[Why]
    slow: list[tuple[str, float]]
    rest: int
    mean: float


def _grouped(by: str, by_name: bool = False) -> str:
    """Return SQL for `grouped` (a row by group and function) and `groups`. Raise UsageError for an unknown `by`."""
    if not (by.startswith(LABEL) and by != LABEL) and by not in BY:
        words = [*BY, f"{LABEL}NAME"]
        raise UsageError(f"--by cannot be {by!a}", hint=did_you_mean(by, words) + f"use one of {', '.join(words)}")
    of = BY.get(by) or f"labels[{quoted(clean(by.removeprefix(LABEL)))}]"
    rows = "calls_by_function"
    if by_name:
        one = "min(function) over (partition by kind, module, qualname, file)"
        same = f"(select function as its, {one} as one from functions) on function = its"
        rows = f"(select * replace (coalesce(one, function) as function) from calls_by_function left join {same})"
    return (
        f"with of as (select process, {of} as grp from processes), "
        "grouped as (select grp, function, sum(calls) as calls, sum(own_ns) as own, sum(own_square::double) as square, "
        f"sum(own_distortion::double) as common from {rows} join of using (process) "
        "where grp is not null group by grp, function), "
        "groups as (select grp, sum(own)::double as own from grouped group by grp) "
    )


def _named(dataset: Dataset, hashes: list[int]) -> dict[int, tuple[Any, ...]]:
    columns = "function, module, qualname, file, line, kind"
    rows = dataset.rows(f"select {columns} from functions where function in (select unnest(?::bigint[]))", [hashes])
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


def spread(dataset: Dataset, by: str, limit: int = 20, *, by_name: bool = False) -> tuple[int, list[Spread]]:
    """Return the number of groups, and how the functions with most own time spread over them.

    by: host, process, task or label:NAME. by_name: functions of the same name and file are one, whatever their lines,
    as in two versions of the code. Raise UsageError for another word, or for fewer than three groups.
    """
    count = _count(dataset, by)
    rows = dataset.rows(
        f"{_grouped(by, by_name)}, top as (select function from grouped group by function "
        "order by sum(own) desc, function limit ?) "
        "select function, count(*), list(own::double order by own), list(calls::bigint order by calls), "
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


def explain(dataset: Dataset, by: str, limit: int = 10, *, by_name: bool = False) -> Explanation:
    """Return which functions explain that the slow groups are slow. by, by_name: as spread() takes, and it raises."""
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
        f"{_grouped(by, by_name)}, slow as (select unnest(?::varchar[]) as grp, unnest(?::double[]) as weight) "
        "select function, coalesce(sum(own) filter (weight is null), 0)::double, "
        "coalesce(sum(own::double * own) filter (weight is null), 0), "
        "coalesce(sum(calls) filter (weight is null), 0)::double, coalesce(sum(weight * own), 0), "
        "coalesce(sum(weight * calls), 0), coalesce(sum(weight * weight * square), 0), "
        "coalesce(sum(weight * common), 0), count(weight), "
        "coalesce(sum(calls::double * calls) filter (weight is null), 0), "
        "sum(own)::double / nullif(sum(calls), 0), "
        "sqrt(sum(square) + sum(common) * sum(common)) / nullif(sum(calls), 0) "
        "from grouped left join slow using (grp) group by function",
        [[name for name, _ in ordered], excess],
    )
    names = _named(dataset, [row[0] for row in rows])
    functions = [Why(*names[row[0]], *_parts(row, excess, count - most)) for row in rows if row[0] in names]
    functions.sort(key=lambda row: (not row.is_sure, -row.explained[0], row[:5]))
    return Explanation(functions[:limit], ordered, count - most, mean)


def _parts(row: tuple[Any, ...], excess: list[float], rest: int) -> tuple[Any, ...]:
    """Return the values of Why from `part` on."""
    _, own, squares, calls, slow_own, slow_calls, error_square, common, groups, call_squares, each, each_error = row
    norm, weights = sum(value * value for value in excess), sum(excess)
    spread_over = student(max(1, rest - 1), DOUBT) ** 2 * (norm + weights * weights / rest)

    def beyond(slow: float, total: float, squared: float) -> tuple[float, float]:
        """Return what the slow have beyond the mean of the rest, and the square of its chance."""
        mean = total / rest
        varies = max(0.0, squared / rest - mean * mean) * rest / max(1, rest - 1)
        return slow - mean * weights, varies * spread_over

    more, chance = beyond(slow_own, own, squares)
    more_calls, calls_chance = beyond(slow_calls, calls, call_squares)
    each, each_error = each or 0.0, each_error or 0.0
    by_times = more / norm, math.hypot(math.sqrt(chance + error_square), common) / norm
    possible = more + math.hypot(math.sqrt(error_square), common)
    calls_error = math.hypot(math.sqrt(calls_chance) * each, more_calls * each_error)
    by_calls = min(more_calls * each, possible) / norm, calls_error / norm
    return (*by_times, *by_calls, slow_calls / weights, calls / rest, slow_own / weights, own / rest, groups)
