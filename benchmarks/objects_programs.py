"""What the benchmark of `seismo objects` runs: loops that make one kind of object, programs, a heap of a million.

Each case makes its body once the tool is there, so that what the body keeps alive was born under the tool, and drops
it when the tool is gone. A body does the same each time it runs.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import programs

if TYPE_CHECKING:
    from collections.abc import Callable

    from common import Case

LIVE = 1_000_000


class Thing:
    """An object with a dictionary's worth of attributes, as most are."""

    def __init__(self, value: object) -> None:
        self.value = value


def tuples(values: list[int]) -> None:
    for value in values:
        (value, value)  # noqa: B018 - made and dropped


def lists(values: list[int]) -> None:
    for value in values:
        [value]  # noqa: B018


def floats(values: list[int]) -> None:
    for value in values:
        value * 0.5


def things(values: list[int]) -> None:
    for value in values:
        Thing(value)


def closures(values: list[int]) -> None:
    def keeper(value: int) -> Callable[[], int]:
        return lambda: value

    for value in values:
        keeper(value)


def strings(values: list[int]) -> None:
    for value in values:
        f"<{value}>"


def document(records: int) -> str:
    """JSON as services send it: records of text, numbers, a list and a nested object each."""
    rows: list[dict[str, Any]] = [
        {
            "id": 1000 + i,
            "name": f"record {i}",
            "price": i * 0.25,
            "tags": [f"tag {i % 7}", f"tag {i % 11}"],
            "position": {"x": i * 1.5, "y": -i * 0.5},
        }
        for i in range(records)
    ]
    return json.dumps(rows)


def parse(text: str) -> None:
    json.loads(text)


class Heap:
    """A million lists that live, `churn` of which, in no order, are replaced by new ones each time it runs."""

    def __init__(self, live: int, churn: int) -> None:
        places = list(range(live))
        random.Random(5).shuffle(places)
        self.places = places[:churn]
        self.kept: list[list[None]] = [[None] for _ in range(live)]

    def __call__(self) -> None:
        kept = self.kept
        for place in self.places:
            kept[place] = [None]


def loop(function: Callable[[list[int]], None], count: int) -> Callable[[], Case]:
    """A case: the function over `count` numbers that are there before and none of which is made again."""

    def make() -> Case:
        values = list(range(1_000_000, 1_000_000 + count))
        return lambda: function(values)

    return make


def whole(name: str) -> Callable[[], Case]:
    """A case: one of pyperformance's programs, loaded once."""
    body = programs.load(name)
    return lambda: body


def cases(only: list[str] | None, quick: bool) -> dict[str, Callable[[], Case]]:
    """{name: what makes its body}, 10 to 60 ms each; the quick ones are half as long and fewer."""
    size = 1 if quick else 2
    found: dict[str, Callable[[], Callable[[], Case]]] = {
        "tuples": lambda: loop(tuples, 600_000 * size),
        "lists": lambda: loop(lists, 600_000 * size),
        "floats": lambda: loop(floats, 600_000 * size),
        "strings": lambda: loop(strings, 200_000 * size),
        "objects": lambda: loop(things, 200_000 * size),
        "closures": lambda: loop(closures, 200_000 * size),
        "json": lambda: parsed(10_000 * size),
        "heap of a million": lambda: lambda: Heap(LIVE, 80_000 * size),
        "deltablue": lambda: whole("deltablue"),
        "richards": lambda: whole("richards"),
    }
    names = only or (["tuples", "objects", "json", "heap of a million", "deltablue"] if quick else list(found))
    return {name: found[name]() for name in names}


def parsed(records: int) -> Callable[[], Case]:
    """A case: a JSON document parsed and dropped."""
    text = document(records)
    return lambda: lambda: parse(text)


NAMES = ("tuples", "lists", "floats", "strings", "objects", "closures", "json")
NAMES += ("heap of a million", "deltablue", "richards")
