"""Groups of objects in words: their types, the creating line with its text, their lifetimes, and verdicts on survivors.

A lifetime is known within a factor of four (the histogram's buckets). The median is interpolated within its bucket by
rank, and shown in one digit with the sign of an estimate.

Any program's first births are in the import system, which makes all code and constants of imported modules. So imports
are separate from other lines of the standard library, and both follow the program's own lines.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.model.objects import leaks as judged
from seismo.model.objects.groups import ObjectGroup, bucket_range, by_type_and_line
from seismo.report import words as text
from seismo.report.libraries import STANDARD, of_functions
from seismo.report.objects.facts import by_type_only
from seismo.report.sources import Sources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model import Recording
    from seismo.model.objects.leaks import Leak
    from seismo.report.words import Signs

TAB = 4
IMPORTS = "imports"
NO_LINE = "no Python line"  # made by the interpreter itself, or by a C thread
_FROZEN = "<frozen "
_MACHINERY = "<frozen importlib"
HARMLESS = "quiet"  # the style of verdicts that need only one line
# For each verdict: words, and a style.
VERDICTS = {
    judged.STEADY: ("leak: nearly every call leaves some", "bad"),
    judged.RECENT: ("the latest calls: a bounded cache, or a leak that began late", "warning"),
    judged.OCCASIONAL: ("some calls: a cache with new keys, or a leak on some path", "warning"),
    judged.WARM_UP: ("warm-up: only the first calls", HARMLESS),
    judged.LAST: ("the last call only: the next would free it", HARMLESS),
    judged.FEW: ("too few calls for a verdict (4 are needed)", "warning"),
}


class ObjectWords:
    """The words for the parts of a recording of objects. All results are escaped for display."""

    def __init__(self, recording: Recording, signs: Signs) -> None:
        self.recording = recording
        self.signs = signs
        self._types = [row.full_name for row in recording.types]
        self._type_of = recording.objects["type"].tolist()
        self._born_of = recording.objects["born"].tolist()
        functions = recording.functions
        self._modules, self._names = functions["module"], functions["qualname"]
        self.sources = Sources(recording)
        self.whole = sum(recording.types["born"])
        self.calls = sum(one.calls for one in judged.spans(recording))
        # Signs before the number of dead and of live objects if these are only bounds.
        types_only = by_type_only(recording)
        self._died_at, self._live_at = (signs.at_most, signs.at_least) if types_only else ("", "")

    @functools.cached_property
    def lines(self) -> list[ObjectGroup]:
        """Return the groups by type and line, summed once."""
        return by_type_and_line(self.recording)

    @functools.cached_property
    def _libraries(self) -> dict[int, str]:
        return _owners(self.recording)

    def library(self, group: ObjectGroup) -> str:
        """Return the library whose line made the objects, or "" for the program itself or no line."""
        return self._libraries.get(group.function, "")

    def of_libraries(
        self,
        groups: Sequence[ObjectGroup],
        number: Callable[[ObjectGroup], float],
        shown: Callable[[float], str] = "{:,.0f}".format,
    ) -> str:
        """Return the libraries' sums of a number, the largest first, or "" if there is none. shown: formats a number.

        They are as `34,000 by imports, 1,200 by lines of the standard library`.
        """
        sums: dict[str, float] = {}
        for group in groups:
            if library := self.library(group):
                sums[library] = sums.get(library, 0) + number(group)
        return ", ".join(
            f"{shown(total)} by {library if library == IMPORTS else f'lines of {library}'}"
            for library, total in sorted(sums.items(), key=lambda item: -item[1])
            if total
        )

    @functools.cached_property
    def running_ns(self) -> Sequence[float]:
        """Return the own running time of each function, without waiting; 0 if no call tree was recorded."""
        own: Sequence[float] = self.recording.timed("cpu").functions["own_ns"]
        return own

    def types(self, group: ObjectGroup, most: int = 3) -> str:
        """Return the types of a group, most births first, each with its share."""
        if group.type:
            return printable(group.type)
        born: dict[str, int] = {}
        for row in group.rows:
            name = self._types[self._type_of[row]]
            born[name] = born.get(name, 0) + self._born_of[row]
        ranked = sorted(born.items(), key=lambda item: (-item[1], item[0]))
        whole = sum(born.values()) if len(ranked) > 1 else 0
        shown = [f"{printable(name)} {_share(count, whole)}".rstrip() for name, count in ranked[:most]]
        more = [f"{len(ranked) - most:,} more"] if len(ranked) > most else []
        return ", ".join(shown + more)

    def function(self, number: int) -> str:
        """Return `module:qualname`, or "" for no function."""
        return text.function_name(text.PYTHON, self._modules[number], self._names[number]) if number >= 0 else ""

    def place(self, group: ObjectGroup) -> str:
        """Return `app.py:12`."""
        return place(group.file, group.line)

    def path(self, group: ObjectGroup) -> list[str]:
        """Return the functions from the thread's first down to the creating one."""
        return [self.function(number) for number in group.path]

    def source(self, group: ObjectGroup) -> str:
        """Return the text of the line, or "" if there is none or the file has changed."""
        if group.function < 0:
            return ""
        source = self.sources.of(group.file)
        return "" if source.problem else printable(source.text(group.line).expandtabs(TAB).strip())

    def changed(self) -> list[str]:
        """Return the files that have changed, so that their lines could not be shown."""
        return [printable(file) for file, source in self.sources.read.items() if source.problem and source.lines]

    def life(self, group: ObjectGroup) -> str:
        """Return the median age at death in the group, as births meanwhile and time: `3 / 2 µs`."""
        if not group.rows:
            return ""
        if 2 * group.live > group.born:
            return "lives on"
        births, ns = median(group.in_births), median(group.in_ns)
        if births is None and ns is None:
            return ""
        shown = [f"{one_digit(births):,.0f}" if births is not None else "?"]
        shown += [rough_duration(ns, self.signs)] if ns is not None else []
        return self.signs.about + " / ".join(shown)

    # ---- cells of tables ----

    def count(self, number: int, group: ObjectGroup) -> str:
        """Return a count, marked as an estimate if the group's are."""
        return f"{self.signs.about if group.approximate and number else ''}{number:,}"

    def some(self, number: int, group: ObjectGroup) -> str:
        """Return a count, or "" for 0."""
        return self.count(number, group) if number else ""

    def died(self, group: ObjectGroup) -> str:
        """Return the number that died."""
        return f"{self._died_at}{group.died:,}" if self._died_at else self.count(group.died, group)

    def live(self, group: ObjectGroup) -> str:
        """Return the number alive at the end, or "" if there are surely none."""
        return f"{self._live_at}{group.live:,}" if self._live_at else self.some(group.live, group)

    def peak(self, group: ObjectGroup) -> str:
        """Return the peak; of several lines together it is at most the sum of theirs."""
        sign = self.signs.at_most if group.peak_at_most else self.signs.about if group.approximate else ""
        return f"{self._live_at or sign}{group.peak:,}"

    def size(self, number: int, at_least: bool) -> str:
        """Return a number of bytes with its unit aligned; a lower bound if the types keep memory elsewhere."""
        if not number:
            return ""
        shown = text.size(number)
        return (self.signs.at_least if at_least else "") + (shown + " " if shown.endswith(" B") else shown)

    def live_bytes(self, group: ObjectGroup) -> str:
        """Return the bytes of the objects alive at the end."""
        return self.size(group.bytes_live, group.live_at_least or bool(self._live_at))

    def own_ns(self, group: ObjectGroup) -> float:
        """Return the own time of the function that made them, or 0 without a call tree."""
        return self.running_ns[group.function] if group.function >= 0 else 0.0

    def own(self, group: ObjectGroup) -> str:
        """Return the share of that time in the own time of all functions."""
        return text.percent(self.own_ns(group), self.whole_ns) if group.function >= 0 else ""

    @functools.cached_property
    def whole_ns(self) -> float:
        """Return the own running time of all functions."""
        return sum(self.running_ns)


def place(file: str, line: int) -> str:
    """Return where objects were made, `app.py:12`, escaped for display."""
    if not file:
        return NO_LINE
    return text.location(file.removeprefix(_FROZEN).rstrip(">") if file.startswith(_FROZEN) else file, line)


def _owners(recording: Recording) -> dict[int, str]:
    """Return the library of each function whose lines made objects, or "" for the program itself."""
    functions = {function for function in recording.objects["function"] if function >= 0}
    found = of_functions(recording, functions)
    files = recording.functions["file"]
    for function in functions:
        if found[function] == STANDARD and files[function].startswith(_MACHINERY):
            found[function] = IMPORTS
    return found


def _share(part: int, whole: int) -> str:
    """Return a rough share: `54 %`, or "" if there is no whole."""
    share = 100 * part / whole if whole else 0
    return f"{share:.0f} %" if share >= 1 else "<1 %" if share else ""


def median(lives: Sequence[int]) -> float | None:
    """Return an estimate of the median of lifetimes by its rank within its bucket, or None if there is none."""
    half = sum(lives) / 2
    for bucket, count in enumerate(lives):
        if count >= half > 0:
            return float(bucket_range(bucket)[0] * 4 ** (half / count))
        half -= count
    return None


def one_digit(value: float) -> float:
    """Return the value in one significant digit; at least 1 from one half on."""
    if value < 1:
        return float(round(value))
    size = 10.0 ** math.floor(math.log10(value))
    return round(value / size) * size


def rough_duration(ns: float, signs: Signs) -> str:
    """Return a time in one significant digit: `2 µs`, `400 ms`."""
    ns = one_digit(ns)
    for unit, size in (("ns", 1.0), (signs.micro, 1e3), ("ms", 1e6)):
        if ns < 1e3 * size:
            return f"{ns / size:.0f} {unit}"
    return f"{ns / 1e9:,.0f} s"


def verdict_words(leak: Leak) -> str:
    """Return the verdict in words."""
    if leak.verdict == judged.STEADY and leak.calls_with == leak.calls:
        return "leak: every call leaves some"
    return VERDICTS[leak.verdict][0]


def style(verdict: str) -> str:
    """Return the style of a verdict."""
    return VERDICTS[verdict][1]


def each(number: int, calls: int, approximate: bool, signs: Signs) -> str:
    """Return the mean per call: exact if it is a whole number, else in three digits."""
    if not calls:
        return ""
    mean = number / calls
    if number % calls == 0:
        shown = f"{number // calls:,}"
    elif mean >= 999.5:
        return f"{signs.about}{mean:,.0f}"
    else:
        shown = text.three_digits(mean) if mean >= 0.1 else f"{mean:.2g}" if mean >= 0.001 else "<0.001"
    return (signs.about if approximate else "") + shown
