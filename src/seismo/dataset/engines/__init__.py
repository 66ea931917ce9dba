"""Engines that add up the tables of a dataset: DuckDB in this process, or Dask, Spark and Ray on many machines.

All do the same reduction: rows with equal keys are added up. An engine reads the Parquet files itself, with its own
operations; its workers need neither seismo nor DuckDB. It returns partial sums, which DuckDB completes:

- A number of 64 bits is added up in two halves, whose sums do not overflow. `halves` has their names.
- Flags are a key, because not every engine can unite bits.
- `rows` counts what was added up.
"""

from __future__ import annotations

import functools
import importlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.errors import UsageError, install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    # Returns the partial sums as Arrow tables.
    Summed = Callable[["Reduction"], Iterator[Any]]

ENGINES = ("duckdb", "dask", "spark", "ray")
PACKAGES = {"dask": "Dask", "spark": "PySpark", "ray": "Ray"}
ROWS = "rows"  # the column that counts
LOW_BITS = 31  # of the lower half of a number
ROWS_OF_PART = 1 << 20  # rows, distinct or not, that a worker has in memory at a time


class Reduction(NamedTuple):
    """A table to add up. files: paths or URLs; integers, floats: columns to sum; rows: how many all files have."""

    files: list[str]
    keys: list[str]
    integers: list[str]
    floats: list[str]
    rows: int

    @property
    def columns(self) -> list[str]:
        """Return the columns that an engine has to read."""
        return [*self.keys, *self.integers, *self.floats]

    @property
    def parts(self) -> int:
        """Return in how many parts a worker's memory holds the result, even if no two rows have equal keys."""
        return self.rows // ROWS_OF_PART + 1


def halves(column: str) -> tuple[str, str]:
    """Return the names of the halves of an integer: its higher bits, and its LOW_BITS lower ones."""
    return f"{column} high", f"{column} low"


def place(file: str, scheme: str = "") -> str:
    """Return a file as workers find it: a URL as it is, or the absolute path, with `scheme` in front."""
    return file if "://" in file else scheme + os.path.abspath(file)


@functools.cache
def module(engine: str, name: str) -> Any:
    """Import a module of an engine. Raise UsageError with the command that installs the engine if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        what = f"--engine {engine} needs {PACKAGES[engine]}, which is not installed"
        raise UsageError(what, hint=install_command(engine)) from None


def started(engine: str) -> AbstractContextManager[Summed]:
    """Return a context in which an engine works: the user's session or cluster if there is one, else a local one."""
    found: AbstractContextManager[Summed] = importlib.import_module(f"seismo.dataset.engines.{engine}").started()
    return found
