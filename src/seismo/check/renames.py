"""Matching of renamed functions and moved files by their code.

A function that only the baseline has and one that only the program has now are the same if both have the same code (a
hash without the name) and no third function has it. Among several with the same code, equal names are matched, because
a moved file keeps its names. All others count as removed and added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.check.measurement import Function, Measurement


def followed(old: Measurement, new: Measurement) -> tuple[Measurement, dict[Function, Function]]:
    """Return the old measurement with functions under their new names, and {new: old} for those renamed."""
    renamed = _renames(old, new)
    if not renamed:
        return old, {}
    now = {before: after for after, before in renamed.items()}
    names = ("functions", "codes", "inclusive", "lines", "births", "first", "sources")
    moved: dict[str, Any] = {name: _moved(getattr(old, name), now) for name in names}
    moved["callers"] = {now.get(name, name): _moved(callers, now) for name, callers in old.callers.items()}
    return replace(old, **moved), renamed


def _moved(table: dict[Function, Any], now: dict[Function, Function]) -> dict[Function, Any]:
    return {now.get(name, name): value for name, value in table.items()}


def _renames(old: Measurement, new: Measurement) -> dict[Function, Function]:
    went = _by_code(old, (name for name in old.functions if name not in new.functions))
    came = _by_code(new, (name for name in new.functions if name not in old.functions))
    stayed = {new.codes[name] for name in new.functions if name in old.functions and name in new.codes}
    found: dict[Function, Function] = {}
    for code, names in came.items():
        before = went.get(code, [])
        for name in names:
            same = [one for one in before if one.qualname == name.qualname]
            if len(same) == 1 and sum(one.qualname == name.qualname for one in names) == 1:
                found[name] = same[0]
            elif len(before) == len(names) == 1 and code not in stayed:
                found[name] = before[0]
    return found


def _by_code(side: Measurement, names: Iterable[Function]) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for name in names:
        if code := side.codes.get(name):
            found.setdefault(code, []).append(name)
    return found
