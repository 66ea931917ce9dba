"""The program of the truth benchmark: seven phases whose shares of the running time are measured bare.

Every phase is one function, called once from run(). Each stresses what profilers get wrong: the more calls a phase
makes for its time, the more of a probe's cost lands in it and the larger it looks beside the phases that just
compute.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def tiny(x: int) -> int:
    return x + 1


def tiny_calls(scale: int) -> None:
    x = 0
    for _ in range(50_000 * scale):
        x = tiny(x)


def small_loop(count: int) -> int:
    total = 0
    for i in range(count):
        total += i
    return total


def small_loops(scale: int) -> None:
    for _ in range(2_000 * scale):
        small_loop(40)


def large_loops(scale: int) -> None:
    for _ in range(4):
        small_loop(60_000 * scale)


def produce(count: int) -> Iterator[int]:
    for i in range(count):  # noqa: UP028 - the generator's own resumes are wanted
        yield i


def generator(scale: int) -> None:
    total = 0
    for value in produce(50_000 * scale):
        total += value


def descend(depth: int) -> int:
    return 0 if depth == 0 else 1 + descend(depth - 1)


def recursion(scale: int) -> None:
    for _ in range(80 * scale):
        descend(400)


class Account:
    def __init__(self) -> None:
        self.balance = 0

    def deposit(self, amount: int) -> None:
        self.balance += amount

    def withdraw(self, amount: int) -> bool:
        if amount > self.balance:
            return False
        self.balance -= amount
        return True


def methods(scale: int) -> None:
    account = Account()
    for i in range(20_000 * scale):
        account.deposit(i)
        account.withdraw(i)


def builtins(scale: int) -> None:
    words = {"a": 1}
    seen: list[int] = []
    for i in range(15_000 * scale):
        seen.append(abs(i))
        words.get("a")
        len(seen)


PHASES: list[Callable[[int], None]] = [tiny_calls, small_loops, large_loops, generator, recursion, methods, builtins]


def run(scale: int) -> dict[str, float]:
    """Run all phases once: {name: seconds}. A scale of 10 takes about a third of a second."""
    seconds = {}
    for phase in PHASES:
        start = perf_counter()
        phase(scale)
        seconds[phase.__name__] = perf_counter() - start
    return seconds
