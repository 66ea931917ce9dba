"""Extraction of the part of a call tree that some code ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.model.columns import ints, with_rows
from seismo.model.enums import BEFORE_START
from seismo.model.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Callable


def subtree_of(recording: Recording, is_its: Callable[[str], bool]) -> Recording:
    """Return the recording of some code: its functions, all they called, and threads that began in the meantime.

    `is_its` returns True for a file (co_filename) of the code. Callers of the code, and threads that were running when
    the recording began, are left out.
    """
    nodes = recording._raw["nodes"]
    files = recording.functions["file"]
    its = {row for row, file in enumerate(files) if is_its(file)}
    flags, parents, functions = (nodes[name].tolist() for name in ("flags", "parent", "function"))
    kept = [False] * len(flags)
    for row, (parent, function) in enumerate(zip(parents, functions, strict=True)):
        begun = parent < 0 and not flags[row] & BEFORE_START
        kept[row] = begun or function in its or (parent >= 0 and kept[parent])
    rows = [row for row, keep in enumerate(kept) if keep]
    roots = ints(parent if parent >= 0 and kept[parent] else -1 for parent in parents)
    tables = with_rows({**recording._raw, "nodes": {**nodes, "parent": roots}}, {"nodes": rows})
    return Recording(tables, recording._strings, recording.meta, recording.problems, recording.times)
