"""The facts above the tables of a recording of objects: how many, over which time, and what was not seen.

The report, the page and the summary in the recorded process share it: no import that the summary could not afford.
"""

from __future__ import annotations

import itertools

from seismo.escape import printable
from seismo.model.enums import OBJECT_ESTIMATED, TYPE_ESTIMATED
from seismo.report.facts import calls, doubt, sources, took, waited
from seismo.report.words import Signs, duration, number_of, sparkline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording

BINS = 60  # columns of the timeline


class Timeline:
    """Live objects over time, in equal parts. `live`: the most in each part. `births`: per second in each part."""

    def __init__(self, recording: Recording, parts: int = BINS) -> None:
        points = _points(recording)
        self.start_ns = points[0][0] if points else 0
        self.end_ns = points[-1][0] if points else 0
        self.highest = max((born - died for _, born, died in points), default=0)
        self.highest_ns = next((time for time, born, died in points if born - died == self.highest), 0)
        span = self.end_ns - self.start_ns
        parts = min(parts, max(1, len(points) - 1)) if span > 0 else 0
        self.live = [0] * parts
        self.births = [0.0] * parts
        if not parts:
            return
        for before, point in itertools.pairwise(points):
            first, last = (min(parts - 1, (time - self.start_ns) * parts // span) for time in (before[0], point[0]))
            for part in range(first, last + 1):
                low, high = (self.start_ns + span * at // parts for at in (part, part + 1))
                shared = max(0, min(high, point[0]) - max(low, before[0]))
                whole = point[0] - before[0]
                self.births[part] += (point[1] - before[1]) * (shared / whole if whole > 0 else part == last)
                self.live[part] = max(self.live[part], before[1] - before[2])
            self.live[last] = max(self.live[last], point[1] - point[2])
        self.births = [births * 1e9 * parts / span for births in self.births]

    @property
    def took_ns(self) -> int:
        """Return the time from its start to its end, in ns."""
        return self.end_ns - self.start_ns


def _points(recording: Recording) -> list[tuple[int, int, int]]:
    """Return (time, born, died) in the order of time, beginning at a point without births."""
    times = recording.object_times
    points = sorted(zip(times["time_ns"], times["born"], times["died"], strict=True))
    starts = [start for start in recording.processes["start_ns"] if start > 0]
    if points and starts and min(starts) < points[0][0] and points[0][1]:
        points.insert(0, (min(starts), 0, 0))
    return points


def by_type_only(recording: Recording) -> bool:
    """Return True if objects were only counted, not followed: deaths of older objects then count as well."""
    return bool(len(recording.types)) and not len(recording.objects)


def peak(recording: Recording) -> tuple[int, bool]:
    """Return the most objects that were alive at once, and False if that is only a lower bound."""
    known = recording.meta.get("peak")
    if isinstance(known, int) and not isinstance(known, bool) and known >= 0:
        return known, True
    types = recording.types
    seen = max(Timeline(recording, 1).highest, sum(types["live"]), *types["peak"]) if len(types) else 0
    return seen, seen == sum(types["peak"]) and not by_type_only(recording)


def facts(recording: Recording, signs: Signs) -> list[tuple[str, str]]:
    """Return the facts about objects as (label, sentence), and those about calls if there is a call tree."""
    found = [took(recording, signs, threads=bool(len(recording.tree))), ("objects", objects(recording, signs))]
    timeline = Timeline(recording)
    if len(timeline.live) > 1:
        found.append(("live", sparkline(timeline.live, signs)))
        after = duration(max(0, timeline.highest_ns - timeline.start_ns), signs)
        words = f"most seen {timeline.highest:,} after {after} of {duration(timeline.took_ns, signs)}"
        found.append(("live", words))
    spans = recording.object_spans
    if len(spans):
        found.append(("spans", _spans(recording)))
    elif never_called(recording):
        found.append(("spans", never_called(recording)))
    names = [str(name) for name in recording.marks["name"]]
    if names:
        shown = ", ".join(map(printable, names[:6])) + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")
        found.append(("marks", f"{number_of(len(names), 'mark')}: {shown}"))
    found += waited(recording, signs)
    return [*found, ("calls", calls(recording))] if any(recording.functions["calls"]) else found


def objects(recording: Recording, signs: Signs) -> str:
    """Return how many were born, died and are alive, in one sentence."""
    most, exact = peak(recording)
    words = counted(recording, signs, f"{sum(recording.types['born']):,}", "of them ")
    return words + f", peak {'' if exact else signs.at_least}{most:,}, of {number_of(len(recording.types), 'type')}"


def counted(recording: Recording, signs: Signs, born: str, of_them: str = "") -> str:
    """Return `12 born, 9 died (1 by the cycle collector), 3 live at the end`. born: the first number in words."""
    types = recording.types
    died, by_gc, live = (sum(types[name]) for name in ("died", "died_by_gc", "live"))
    about = signs.about if any(flags & TYPE_ESTIMATED for flags in types["flags"]) else ""
    collected = f" ({of_them}{about}{by_gc:,} by the cycle collector)" if by_gc else ""
    died_words, live_words = bounded(died, live, recording, signs)
    return f"{born} born, {died_words} died{collected}, {live_words} live at the end"


def bounded(died: int, live: int, recording: Recording, signs: Signs) -> tuple[str, str]:
    """Return the number of dead and of live objects, as bounds if objects were counted by type only."""
    if by_type_only(recording):
        return f"{signs.at_most}{died:,}", f"{signs.at_least}{live:,}"
    return f"{died:,}", f"{live:,}"


def _spans(recording: Recording) -> str:
    spans, functions = recording.object_spans, recording.functions
    calls: dict[str, int] = {}
    for function, number in zip(spans["function"], spans["calls"], strict=True):
        name = functions["qualname"][function] if function >= 0 else "unknown functions"
        module = functions["module"][function] if function >= 0 else ""
        name = printable(f"{module}:{name}" if module else name)
        calls[name] = calls.get(name, 0) + number
    ranked = sorted(calls.items(), key=lambda item: -item[1])
    words = ", ".join(f"{number_of(number, 'call')} of {name}" for name, number in ranked[:3])
    return words + (f" and of {number_of(len(ranked) - 3, 'other function')}" if len(ranked) > 3 else "")


def never_called(recording: Recording) -> str:
    """Return a sentence if the functions of --leaks or --span were never called, else ""."""
    settings = recording.meta.get("settings")
    if not isinstance(settings, dict) or len(recording.object_spans):
        return ""
    asked = settings.get("span")
    if not isinstance(asked, str):
        return ""
    option = "--leaks" if settings.get("leaks") else "--span"
    return f"none: nothing that ran is {printable(asked)} ({option}); names are as in a report: module:name"


def measured(recording: Recording, signs: Signs) -> str:
    """Return what was kept of each object, and the accuracy of the numbers, in words."""
    by = f" (source: {sources(recording)})" if sources(recording) else ""
    if not len(recording.objects):
        return "; ".join([f"births and deaths counted by type{by}", *_times(recording, signs)])
    paths = any(node >= 0 for node in recording.objects["node"])
    words = f"births and deaths counted by type{', creating line and call path' if paths else ' and creating line'}{by}"
    marks = [f"{signs.at_least} before bytes: what the objects keep elsewhere is not counted"]
    if any(flags & OBJECT_ESTIMATED for flags in recording.objects["flags"]):
        marks.append(f"{signs.about} an estimate")
    return "; ".join([words, *marks, *_times(recording, signs)])


def _times(recording: Recording, signs: Signs) -> list[str]:
    """Return the accuracy of the calls' times, if the call tree was recorded as well."""
    if any(recording.functions["calls"]):
        return ["times of calls include the counting of objects"]
    return doubt(recording, signs)


def notes(recording: Recording) -> list[str]:
    """Return what the hook could not see, one sentence for each kind."""
    types = recording.types
    before, unseen, back = (sum(types[name]) for name in ("before", "unseen", "resurrected"))
    sentences = []
    if by_type_only(recording):
        sentences.append("by type only, deaths of objects born before the recording count too: at most so many died")
    if before:
        sentences.append(f"{number_of(before, 'object')} died that had been born before the recording: in no count")
    if unseen:
        sentences.append(
            f"{number_of(unseen, 'object')} died without an event: noticed when others were born at their addresses"
        )
    if back:
        sentences.append(
            f"{number_of(back, 'object')} lived on after a first death (__del__ or a weak reference's callback)"
        )
    return sentences
