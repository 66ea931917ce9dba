"""The model's verdicts on survivors of calls (seismo.model.objects.leaks) in words. The summary imports it, too."""

from __future__ import annotations

from seismo.escape import printable
from seismo.model.objects import leaks as judged
from seismo.report import words as text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model.objects.leaks import Leak
    from seismo.report.words import Signs

HARMLESS = "quiet"  # the style of verdicts that need only one line
# For each verdict: a short name, words, and a style.
VERDICTS = {
    judged.STEADY: ("leak", "leak: nearly every call leaves some", "bad"),
    judged.RECENT: ("latest calls", "the latest calls: a bounded cache, or a leak that began late", "warning"),
    judged.OCCASIONAL: ("some calls", "some calls: a cache with new keys, or a leak on some path", "warning"),
    judged.WARM_UP: ("warm-up", "warm-up: only the first calls", "quiet"),
    judged.LAST: ("last call", "the last call only: the next would free it", "quiet"),
    judged.FEW: ("few calls", "too few calls for a verdict (4 are needed)", "warning"),
}


def verdict_words(leak: Leak) -> tuple[str, str, str]:
    """Return the verdict's short name, words and style."""
    if leak.verdict == judged.STEADY and leak.calls_with == leak.calls:
        return "leak", "leak: every call leaves some", "bad"
    return VERDICTS.get(leak.verdict, (printable(leak.verdict), printable(leak.verdict), "warning"))


def style(verdict: str) -> str:
    """Return the style of a verdict."""
    return VERDICTS[verdict][2] if verdict in VERDICTS else "warning"


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
