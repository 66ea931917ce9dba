"""The tables that the recordings of a dataset share: functions and paths.

A file of them is named by its contents and never changes. A writer adds what it does not find in the files that are
there. Two writers at the same time may add the same rows; readers then take one of them.

A path's number is made of the file that has it (39 bits of the hash of its contents) and of its row there (24 bits).
In the order of functions and paths, these numbers take next to no space, which hashes would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.dataset.content_hash import NOTHING, PLACES, Tree, digest, numbers
from seismo.dataset.files import Folder, write_table
from seismo.dataset.schema import library

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_KNOWN = 250_000  # paths to keep in memory besides those of a recording; others may be written twice


class Known:
    """The functions and paths that a dataset has already, as far as this writer knows."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._functions: dict[bytes, int] = {}  # flags by hash
        self._paths: dict[bytes, int] = {}  # numbers by hash
        # The paths known before self._paths was last reduced; those that are used again go back into it. A path that
        # was written twice has a number far from its neighbours', which takes eight bytes in each later recording.
        self._older: dict[bytes, int] = {}
        for file in self._newest("functions"):
            columns = self._columns(file, "function", "flags")
            for function, flags in zip(*columns, strict=True) if columns else ():
                key = function.to_bytes(8, "little", signed=True)
                self._functions[key] = self._functions.get(key, 0) | flags
        for file in self._newest("paths"):
            if len(self._paths) >= MOST_KNOWN:
                break
            columns = self._columns(file, "hash", "path")
            for path, number in zip(*columns, strict=True) if columns else ():
                self._paths[path.to_bytes(8, "little", signed=True)] = number

    def _newest(self, table: str) -> list[str]:
        return [file for file in reversed(self._folder.listed(table)) if file.endswith(".parquet")]

    def _columns(self, file: str, *columns: str) -> list[list[Any]]:
        """Return columns of a file, or [] if it is damaged: its rows are then written once more."""
        try:
            with self._folder.opened(file) as source:
                found = library("pyarrow.parquet").read_table(source, columns=list(columns))
        except (OSError, ValueError):  # pyarrow.ArrowInvalid is a ValueError
            return []
        return [found[column].to_pylist() for column in columns]

    def add_functions(self, rows: Mapping[bytes, dict[str, Any]]) -> None:
        """Write the functions, by hash, that are new or have new flags."""
        known = self._functions
        new = sorted(key for key, row in rows.items() if key not in known or row["flags"] & ~known[key])
        if not new:
            return
        columns: dict[str, Any] = {name: [rows[key][name] for key in new] for name in rows[new[0]]}
        columns["function"] = numbers(new)
        content = digest(b"".join(new) + repr(columns["flags"]).encode()).hex()
        self._folder.place("functions", f"{content}.parquet", lambda path: write_table(path, "functions", columns))
        for key in new:
            known[key] = known.get(key, 0) | rows[key]["flags"]

    def path_numbers(self, tree: Tree) -> list[int]:
        """Return the number of each node's path, and write the paths that are new."""
        found: list[Any] = list(map(self._paths.get, tree.paths))
        missing = []
        for node in [node for node, number in enumerate(found) if number is None]:
            path = tree.paths[node]
            if path in self._older:
                found[node] = self._paths[path] = self._older[path]
            else:
                missing.append(node)
        new = {tree.paths[node]: node for node in missing}
        order = sorted(new, key=lambda path: (tree.functions[new[path]], path))
        for start in range(0, len(order), 1 << PLACES):
            self._add_paths(order[start : start + (1 << PLACES)], new, tree)
        for node in missing:
            found[node] = self._paths[tree.paths[node]]
        if len(self._paths) > MOST_KNOWN // 2:
            self._older = self._paths if len(self._paths) < MOST_KNOWN else {}
            self._paths = dict(zip(tree.paths, found, strict=True))  # the next recording is most like this one
        return found

    def _add_paths(self, new: list[bytes], nodes: Mapping[bytes, int], tree: Tree) -> None:
        hashes = numbers(new)
        pool = int.from_bytes(digest(b"".join(new)), "little") >> 25
        while not self._is_free(pool, hashes.tolist()):
            pool += 1
        first = pool << PLACES
        parents = [tree.parents[nodes[path]] for path in new]
        columns = {
            "path": range(first, first + len(new)),
            "hash": hashes,
            "parent": numbers(tree.paths[parent] if parent >= 0 else NOTHING for parent in parents),
            "function": numbers(tree.functions[nodes[path]] for path in new),
            "depth": [tree.depths[nodes[path]] for path in new],
        }
        self._folder.place("paths", _name(pool), lambda path: write_table(path, "paths", columns))
        self._paths.update(zip(new, range(first, first + len(new)), strict=True))

    def _is_free(self, pool: int, hashes: list[int]) -> bool:
        """Return True if there is no file of this number, or one with these paths."""
        if not self._folder.has("paths", _name(pool)):
            return True
        return self._columns(self._folder.at("paths", _name(pool)), "hash") == [hashes]


def _name(pool: int) -> str:
    return f"{pool:010x}.parquet"
