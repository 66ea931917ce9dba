"""Stacks of objects, for formats that show the origin of a weight.

A stack is the call path on which objects were created, the function and line that created them, and their type. Without
recorded paths it is that function and the type, and for recordings by type only the type. Threads are merged, because
a line creates the same on all of them. Of a path with more than MAX_DEPTH frames, the first ones are written, then
`<deeper>` and the function that created the objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.formats.base import MAX_DEPTH
from seismo.formats.call_trees import DEEPER, frames
from seismo.formats.function_names import SYNTHETIC, Frame
from seismo.model.objects.groups import ObjectGroup, by_path, by_type

if TYPE_CHECKING:
    from seismo.model import Recording

NO_FUNCTION = Frame(SYNTHETIC, "", "<no Python function>", "", 0)

_VALUES = {"births": "born", "bytes": "bytes", "survivors": "live"}


def stacks(recording: Recording, weight: str) -> dict[tuple[Frame, ...], int]:
    """Return the stacks with their weights (one of WEIGHTS), sorted, without those of weight 0."""
    functions = frames(recording)
    found: dict[tuple[Frame, ...], int] = {}
    for group in by_path(recording) or by_type(recording):
        value = getattr(group, _VALUES[weight])
        if value:
            stack = (*_path(group, functions), Frame(SYNTHETIC, "", group.type, "", 0))
            found[stack] = found.get(stack, 0) + value
    return dict(sorted(found.items()))


def _path(group: ObjectGroup, functions: list[Frame]) -> list[Frame]:
    """Return the functions of a group, the root first. The last occurrence of the creating function gets its line."""
    path = [functions[number] for number in group.path]
    if not path:
        return [NO_FUNCTION] if group.rows else []  # without rows, only types were recorded
    maker = len(path) - 1 - group.path[::-1].index(group.function) if group.function in group.path else -1
    if maker >= 0 and group.line > 0:
        path[maker] = path[maker]._replace(line=group.line)
    if len(path) > MAX_DEPTH:
        path = [*path[:MAX_DEPTH], DEEPER, path[maker if maker >= MAX_DEPTH else -1]]
    return path
