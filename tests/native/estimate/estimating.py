"""Recordings for the tests of the estimates: raw statistics of nodes, as the recorder keeps them."""

import array
import itertools

from seismo import _core
from seismo.model import Recording
from seismo.model.table import Strings


def recording(nodes, kinds, processes=1, thread_process=(0,), costs=None, rest_ns=(), flags=()):
    """A recording of raw node statistics: dicts of columns; those not given are 0 (parent: -1).

    rest_ns: of each thread; what is left out is 0, not known. flags: of each function.
    """
    rows = {
        "processes": [{"id": i, **(costs or {})} for i in range(processes)],
        "threads": [
            {"id": i, "process": process, "rest_ns": rest}
            for i, (process, rest) in enumerate(itertools.zip_longest(thread_process, rest_ns, fillvalue=0))
        ],
        "functions": [
            {"id": i, "kind": kind, "flags": of}
            for i, (kind, of) in enumerate(itertools.zip_longest(kinds, flags, fillvalue=0))
        ],
        "nodes": [{"id": i, "parent": -1, **node} for i, node in enumerate(nodes)],
        "losses": [],
    }
    tables = {
        table: {
            name: memoryview(
                array.array("d" if code == "d" else "q", [row.get(name, 0) for row in rows.get(table, [])])
            )
            for name, code in columns
        }
        for table, columns in _core.schema().items()
    }
    return Recording(tables, Strings.of([""]), {})
