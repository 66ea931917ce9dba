"""Limits of counts: `calls("app.*") <= +1%`.

    calls <= +1%                    all calls of the program
    lines("app.*") <= +2% +100      the lines of all matching functions together
    each calls("app.*") <= +10      each matching function separately
    test births("*load*") <= 5000   each test with a matching name separately
    depth <= 200                    the greatest depth of calls

An amount with a sign is added to the baseline (as percent, a number, or both); one without a sign is the number itself.
A pattern is matched with names as `module:qualname` and as `module.qualname`: `*` is any text, `?` one character. A
limit without a pattern applies to everything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from seismo.check.measurement import QUANTITIES
from seismo.errors import UsageError, did_you_mean
from seismo.expression.glob import matches

SYNTAX = 'write it as: calls("app.*") <= +1%   or: each lines <= +10   or: depth <= 200'
LIMIT = re.compile(
    r"\s*(?:(?P<scope>each|test)\s+)?(?P<quantity>\w+)\s*(?:\(\s*(?P<quote>[\"'])(?P<pattern>.*)(?P=quote)\s*\))?"
    r"\s*(?P<sign><=|<|=<)\s*(?P<amount>.*?)\s*",
    re.DOTALL,
)
AMOUNT = re.compile(r"(?P<sign>[+-]?)\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<percent>%?)\s*")


@dataclass(frozen=True)
class Limit:
    """One limit. `scope` is "" for a sum of functions, "each" for every function, "test" for every test.

    It allows `fixed` if that is given. Otherwise it allows the baseline's count plus `share` of it (0.01 is one
    percent) plus `more`.
    """

    quantity: str
    pattern: str = ""
    scope: str = ""
    share: float = 0.0
    more: int = 0
    fixed: int | None = None

    def matches(self, name: str) -> bool:
        """Return True if it applies to this function (`module:qualname`) or test."""
        if not self.pattern or matches(self.pattern, name):
            return True
        return self.scope != "test" and ":" in name and matches(self.pattern, name.replace(":", ".", 1))

    def allowed(self, before: int) -> int:
        """Return the count that is allowed for a baseline's count."""
        if self.fixed is not None:
            return self.fixed
        return before + int(before * self.share) + self.more

    def __str__(self) -> str:
        pattern = f'("{self.pattern}")' if self.pattern else ""
        return f"{self.scope} {self.quantity}{pattern} <= {self._amount()}".strip()

    def _amount(self) -> str:
        if self.fixed is not None:
            return str(self.fixed)
        share = f"{self.share * 100:+.6g}%" if self.share or not self.more else ""
        return f"{share} {self.more:+}".strip() if self.more else share


def parse_limit(text: str) -> Limit:
    """Return the limit written in the text. Raise UsageError for invalid text."""
    found = LIMIT.fullmatch(text)
    if found is None:
        raise UsageError("this limit cannot be read", text, SYNTAX)
    quantity = found["quantity"]
    if quantity not in (*QUANTITIES, "depth"):
        known = (*QUANTITIES, "depth")
        raise UsageError(
            f"{quantity!a} cannot be counted", text, f"{did_you_mean(quantity, known)}one of: {', '.join(known)}"
        )
    scope, pattern = found["scope"] or "", found["pattern"] or ""
    if quantity == "depth" and (scope or pattern):
        raise UsageError("depth applies to the whole program", text, "write it as: depth <= 200")
    share, more, fixed = _read_amount(text, found["amount"])
    if found["sign"] == "<":
        more, fixed = (more - 1, fixed) if fixed is None else (more, fixed - 1)
    return Limit(quantity, pattern, scope, share, more, fixed)


def _read_amount(text: str, amount: str) -> tuple[float, int, int | None]:
    share, more, fixed = 0.0, 0, None
    at = 0
    while part := AMOUNT.match(amount, at):
        number = float(part["number"])
        if not part["sign"]:
            if part["percent"] or at or part.end() != len(amount):
                raise UsageError("an amount that is added needs its sign", text, "write +1% or +10")
            fixed = int(number)
        elif part["percent"]:
            share += float(part["sign"] + part["number"]) / 100
        else:
            more += int(float(part["sign"] + part["number"]))
        at = part.end()
    if not amount or at != len(amount):
        raise UsageError("the amount of this limit cannot be read", text, SYNTAX)
    return share, more, fixed


# One percent of additional work is reported; the absolute amounts give small tests some tolerance.
DEFAULTS = tuple(map(parse_limit, ("calls <= +1%", "lines <= +1%", "births <= +1%", "bytes <= +2%")))
TEST_DEFAULTS = tuple(
    map(
        parse_limit,
        ("test calls <= +1% +10", "test lines <= +1% +20", "test births <= +1% +20", "test bytes <= +2% +2000"),
    )
)
